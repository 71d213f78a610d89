"""Views: made by a sweep, renewed where they are stale, served meanwhile, withdrawn with their sources."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import delete, event, func, select

from db.tables import ResultRow, TaskRow, ViewNodeRow
from db.values import View
from octavo import map_op
from pipeline.states import JobState
from tests.integration.conftest import Laboratory, write_novel
from workers import control
from workers.embedded import EmbeddedRunner
from workers.fresh import sources as sources_module
from workers.fresh.refresh import Schedules, refresh
from workers.fresh.sources import selector
from workers.fresh.standing import view_row
from workers.fresh.sweep import Swept, sweep
from workers.outputs.job import find_output

Novel = Callable[..., str]

PIPELINE = """
name = "both"
[[step]]
name = "summarize"
kind = "map"
op = "summarize"
[[step]]
name = "fold"
kind = "fold"
op = "fold_summary"
[[step]]
name = "extract"
kind = "map"
op = "extract"
[[step]]
name = "merge"
kind = "merge"
op = "glossary"
"""


def keep(lab: Laboratory, *selectors: Path | str, pipeline: str | None = None, name: str = "novel", **options) -> View:
    """A view over what the selectors name."""
    path = lab.folder / f"{name}.toml"
    path.write_text(pipeline or PIPELINE)
    with lab.database.write() as rows:
        made = rows.views.add(
            name=name, pipeline=str(path), selectors=[selector(rows, str(item)) for item in selectors], options=options
        )
        assert made
    return now(lab, name)


def now(lab: Laboratory, name: str = "novel") -> View:
    with lab.database.read() as rows:
        found = rows.views.get(name)
    assert found is not None
    return found


def renew(lab: Laboratory, name: str = "novel") -> tuple[Swept, int]:
    """Sweep a view and work on its refresh; gives the op calls that it cost."""
    found = refresh(lab.main, now(lab, name))
    return found, 0 if found.job is None else lab.calls(found.job)


def state(lab: Laboratory, name: str = "novel") -> dict:
    return view_row(lab.main, now(lab, name))


def served(lab: Laboratory, name: str = "novel") -> bytes:
    with lab.database.read() as rows:
        return lab.canonical(find_output(rows, name))


def entries(lab: Laboratory, name: str = "novel") -> dict[str, dict]:
    with lab.database.read() as rows:
        job = find_output(rows, name)
    return {entry["name"]: entry for entry in lab.output(job)["entries"]}


def test_a_sweep_makes_a_view_and_the_next_finds_nothing_to_do(lab: Laboratory, novel: Novel) -> None:
    keep(lab, lab.book(novel(6)))
    assert state(lab)["state"] == "missing"
    found, calls = renew(lab)
    assert not found.fresh
    assert calls > 12
    assert state(lab) | {"documents": 0} == state(lab) | {"documents": 0, "state": "fresh", "fresh": 1, "refresh": 1}
    again, calls = renew(lab)
    assert again.fresh
    assert (again.job, calls, again.changed) == (None, 0, 0)


def test_an_edit_makes_a_document_stale_by_its_source_and_the_refresh_writes_a_small_delta(
    lab: Laboratory, novel: Novel
) -> None:
    book = lab.book(novel(40))
    keep(lab, book)
    renew(lab)
    with lab.database.read() as rows:
        before = rows.views.size(now(lab).id)
    book.write_text(novel(40).replace("Chapter 7\n\nOn", "Chapter 7\n\nLate on"))
    assert [(row["state"], row["why"]) for row in state(lab)["documents"]] == [("stale", ["source"])]
    found, calls = renew(lab)
    assert found.comparison is not None
    assert found.comparison.causes() == {"source": 1}
    assert 2 <= calls <= 12
    assert state(lab)["state"] == "fresh"
    with lab.database.read() as rows:
        after = rows.views.size(now(lab).id)
    assert abs(after[0] - before[0]) <= 3
    assert after[1] - before[1] <= calls, "only what is gone was closed"
    assert served(lab) == lab.canonical(lab.run(PIPELINE, book)), "as a fresh run gives it"


def test_the_tree_of_a_view_is_that_of_its_job_node_for_node(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(12))
    keep(lab, book)
    for numbers in ([*range(1, 13)], [99, *range(1, 13)], [*range(2, 13)]):
        book.write_text(novel(numbers))
        renew(lab)
        with lab.database.engine.connect() as connection:
            nodes = set(connection.execute(select(ViewNodeRow.key).where(ViewNodeRow.until.is_(None))).scalars())
            job = now(lab).served_job_id
            with lab.database.read() as rows:
                steps = [step.id for step in rows.jobs.steps(job)]
            assert nodes == set(connection.execute(select(TaskRow.key).where(TaskRow.step_id.in_(steps))).scalars())


def test_a_folder_view_takes_new_files_in_follows_renamed_ones_and_lets_deleted_ones_go(
    lab: Laboratory, novel: Novel
) -> None:
    folder = lab.folder / "books"
    folder.mkdir()
    for number, name in enumerate("abc"):
        (folder / f"{name}.txt").write_text(novel([number * 10 + 1, number * 10 + 2]))
    keep(lab, folder)
    renew(lab)
    (folder / "b.txt").rename(folder / "bb.txt")
    assert [row["state"] for row in state(lab)["documents"]] == ["fresh", "withdrawn", "fresh", "new"]
    found, calls = renew(lab)
    assert calls == 0
    assert [row["state"] for row in state(lab)["documents"]] == ["fresh"] * 3, "it kept its document"
    (folder / "d.txt").write_text(novel([31]))
    (folder / "a.txt").unlink()
    found, calls = renew(lab)
    assert found.comparison is not None
    assert (len(found.comparison.missing), len(found.comparison.withdrawn)) == (1, 1)
    assert calls > 0
    assert [row["document"] for row in state(lab)["documents"]] == ["bb", "c", "d"]


def test_a_deleted_source_takes_its_facts_along_and_others_lose_one_citation(lab: Laboratory) -> None:
    folder = lab.folder / "books"
    folder.mkdir()
    (folder / "one.txt").write_text("Chapter 1\n\nMarian Vole met Tobias Crane. Marian Vole smiled at Tobias Crane.\n")
    (folder / "two.txt").write_text("Chapter 1\n\nMarian Vole met Edith Harrow. Marian Vole smiled at Edith Harrow.\n")
    keep(lab, folder)
    renew(lab)
    assert {"Marian Vole", "Tobias Crane", "Edith Harrow"} <= set(entries(lab))
    assert entries(lab)["Marian Vole"]["citation_count"] == 2
    (folder / "two.txt").unlink()
    assert entries(lab)["Marian Vole"]["citation_count"] == 2, "until it is swept, what was served is served"
    renew(lab)
    assert "Edith Harrow" not in entries(lab)
    assert entries(lab)["Marian Vole"]["citation_count"] == 1
    (folder / "one.txt").write_text("Chapter 1\n\nMarian Vole met Tobias Crane. Marian Vole smiled at Tobias Crane.\n"
                                    "\nChapter 2\n\nAgnes Thorn met Marian Vole. Agnes Thorn smiled.\n")  # fmt: skip
    renew(lab)
    assert "Agnes Thorn" in entries(lab)
    (folder / "one.txt").write_text("Chapter 2\n\nAgnes Thorn met Marian Vole. Agnes Thorn smiled.\n")
    renew(lab)
    assert "Tobias Crane" not in entries(lab), "so does a deleted chapter"


def test_a_folder_that_is_away_is_not_taken_for_deleted(sqlite_lab: Laboratory, novel: Novel) -> None:
    lab = sqlite_lab
    folders = [lab.folder / name for name in ("here", "there")]
    for folder in folders:
        folder.mkdir()
        (folder / f"{folder.name}.txt").write_text(novel(3))
    keep(lab, *folders)
    renew(lab)
    folders[1].rename(lab.folder / "unmounted")
    found, calls = renew(lab)
    assert calls == 0
    assert found.fresh
    assert "there" in found.troubles[0]
    assert [row["state"] for row in state(lab)["documents"]] == ["fresh", "fresh"]
    assert "there" in state(lab)["trouble"]


def test_a_file_that_can_not_be_read_keeps_what_was_served_and_holds_no_other_up(
    sqlite_lab: Laboratory, novel: Novel
) -> None:
    lab = sqlite_lab
    good, bad = lab.book(novel(3), "good.txt"), lab.book(novel([7, 8]), "bad.txt")
    keep(lab, good, bad)
    renew(lab)
    bad.write_bytes(bytes(range(256)) * 100)
    good.write_text(novel([1, 2, 9]))
    found, calls = renew(lab)
    assert found.troubles
    assert calls > 0
    rows = {row["document"]: row for row in state(lab)["documents"]}
    assert rows["good"]["state"] == "fresh"
    assert (rows["bad"]["state"], rows["bad"]["why"]) == ("stale", ["source"])


def test_what_made_a_view_stale_is_named(lab: Laboratory, novel: Novel) -> None:
    @map_op(version=1)
    def count(text: str, words: bool = False) -> int:
        return len(text.split()) if words else len(text)

    lab.teach(count)
    book = lab.book(novel(4))
    pipeline = 'name = "counted"\n{grain}\n[[step]]\nname = "count"\nkind = "map"\nop = "count"\n{more}'
    keep(lab, book, pipeline=pipeline.format(grain="", more=""))
    assert renew(lab)[1] == 4
    path = lab.folder / "novel.toml"
    path.write_text(pipeline.format(grain="", more="params = { words = true }"))
    assert state(lab)["why"] == ["params"]
    assert renew(lab)[1] == 4
    path.write_text(pipeline.format(grain="[grain]\nlimit = 150", more="params = { words = true }"))
    assert state(lab)["why"] == ["grain"]
    assert renew(lab)[1] > 4

    @map_op(version=2, name="count")
    def recount(text: str, words: bool = False) -> int:
        return -1

    lab.teach(recount)
    assert state(lab)["why"] == ["op"]
    assert served(lab).count(b'"output":-1') == 0, "what was served stays readable when its op is another"
    renew(lab)
    assert state(lab)["state"] == "fresh"
    assert served(lab).count(b'"output":-1') > 4
    path.write_text("nonsense")
    assert "novel.toml" in state(lab)["trouble"]
    found, calls = renew(lab)
    assert (found.comparison, calls) == (None, 0)
    assert served(lab).count(b'"output":-1') > 4


def test_results_that_are_gone_from_the_memo_are_made_again(lab: Laboratory, novel: Novel) -> None:
    keep(lab, lab.book(novel(6)))
    renew(lab)
    before = served(lab)
    with lab.database.engine.begin() as connection:
        lost = connection.execute(select(ResultRow.key).where(ResultRow.op == "summarize").limit(2)).scalars().all()
        connection.execute(delete(ResultRow).where(ResultRow.key.in_(lost)))
    assert state(lab)["why"] == ["results"]
    found, calls = renew(lab)
    assert found.comparison is not None
    assert (found.comparison.nodes, calls) == (2, 2)
    assert state(lab)["state"] == "fresh"
    assert served(lab) == before


def test_the_old_result_is_served_while_the_new_one_is_made_and_when_it_can_not_be(lab: Laboratory) -> None:
    down = threading.Event()
    waiting = threading.Event()

    @map_op(version=1)
    def measure(text: str) -> int:
        waiting.set()
        if down.is_set():
            raise ConnectionError("the provider is down")
        return len(text)

    lab.teach(measure)
    book = lab.book(write_novel(5))
    pipeline = 'name = "m"\n[[step]]\nname = "m"\nkind = "map"\nop = "measure"\nattempts = 100\n'
    keep(lab, book, pipeline=pipeline)
    renew(lab)
    old = served(lab)
    book.write_text(write_novel([1, 2, 33, 4, 5]))
    down.set()
    waiting.clear()
    job = sweep(lab.main, now(lab)).job
    assert job is not None
    runner = EmbeddedRunner(lab.main, job.id)
    thread = threading.Thread(target=runner.work)
    thread.start()
    assert waiting.wait(30)
    assert served(lab) == old
    assert state(lab)["job_state"] == JobState.RUNNING
    runner.stop()
    thread.join(30)
    assert served(lab) == old, "nor is it lost when the process that refreshed ends"
    again = sweep(lab.runtime(), now(lab))
    assert again.joined, "the refresh goes on, it is not begun anew"
    assert again.job is not None
    down.clear()
    done = lab.work(job, lab.runtime())
    assert done.state is JobState.DONE
    assert served(lab) != old
    assert state(lab)["state"] == "fresh"


def test_a_refresh_with_holes_is_not_served_and_is_not_tried_again_by_every_sweep(lab: Laboratory) -> None:
    failing = threading.Event()
    calls: list[int] = []

    @map_op(version=1)
    def measure(text: str) -> int:
        calls.append(1)
        if failing.is_set():
            raise ValueError("no")
        return len(text)

    lab.teach(measure)
    book = lab.book(write_novel(5))
    pipeline = 'name = "m"\n[[step]]\nname = "m"\nkind = "map"\nop = "measure"\nattempts = 1\n'
    keep(lab, book, pipeline=pipeline)
    renew(lab)
    old = served(lab)
    book.write_text(write_novel([1, 2, 33, 4, 5]))
    failing.set()
    found, _ = renew(lab)
    assert found.job is not None
    assert served(lab) == old
    assert state(lab)["job_state"] == JobState.HOLES
    made = len(calls)
    again, _ = renew(lab)
    assert again.job is not None
    assert again.job.id == found.job.id
    assert len(calls) == made
    failing.clear()
    control.retry(lab.database, str(found.job.id))
    assert lab.work(found.job).state is JobState.DONE
    assert served(lab) != old
    assert state(lab)["state"] == "fresh"


def test_two_views_over_one_selection_share_one_refresh(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(5))
    keep(lab, book, name="one")
    first = sweep(lab.main, now(lab, "one"))
    keep(lab, book, name="two")
    second = sweep(lab.main, now(lab, "two"))
    assert first.job is not None
    assert second.job is not None
    assert (second.job.id, second.joined) == (first.job.id, True)
    lab.work(first.job)
    assert [state(lab, name)["state"] for name in ("one", "two")] == ["fresh", "fresh"]
    assert served(lab, "one") == served(lab, "two")


def test_an_older_refresh_that_ends_late_takes_nothing_back(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(4))
    keep(lab, book)
    renew(lab)
    newest = now(lab)
    with lab.database.read() as rows:
        old = rows.jobs.get(newest.served_job_id)
    book.write_text(novel([1, 2, 3, 9]))
    renew(lab)
    with lab.database.write() as rows:
        assert rows.views.publish(old.id, [3], holes=False) == []
    assert now(lab).served_job_id != old.id


def test_a_schedule_is_done_once_however_many_look_and_again_when_it_is_due(lab: Laboratory, novel: Novel) -> None:
    keep(lab, lab.book(novel(3)))
    with lab.database.write() as rows:
        rows.views.schedule(now(lab).id, 3600, 1)
    swept: list[Swept] = []
    clocks = [Schedules(lab.runtime(), swept.append) for _ in range(4)]
    racers = [threading.Thread(target=clock.tick) for clock in clocks]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(30)
    for clock in clocks:
        clock.close()
    assert len(swept) == 1
    assert state(lab)["state"] == "fresh"
    for clock in clocks:
        clock.tick()
        clock.close()
    assert len(swept) == 1, "it is not due yet"
    with lab.database.write() as rows:
        rows.views.schedule(now(lab).id, 3600, 1)
    clocks[0].tick()
    clocks[0].close()
    assert len(swept) == 2


def test_a_sweep_of_many_untouched_files_costs_a_stat_each_and_no_query_each(
    sqlite_lab: Laboratory, novel: Novel, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = sqlite_lab
    folder = lab.folder / "books"
    folder.mkdir()
    for number in range(30):
        path = folder / f"{number}.txt"
        path.write_text(novel([number + 1]))
        os.utime(path, (1_700_000_000,) * 2)
    keep(lab, folder)
    renew(lab)
    statements: list[str] = []
    event.listen(lab.database.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    monkeypatch.setattr(sources_module, "ingest", lambda *_, **__: pytest.fail("a stat is enough"))
    view = now(lab)
    statements.clear()
    assert sweep(lab.main, view).fresh
    assert len(statements) < 40
    with lab.database.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(ViewNodeRow)).scalar_one() > 30


SHOWN = """
name = "shown"
[grain]
limit = 260
[[step]]
name = "extract"
kind = "map"
op = "extract"
[[step]]
name = "merge"
kind = "merge"
op = "glossary"
[[step]]
name = "tell"
kind = "map"
op = "tell"
entities = "merge"
entities_most = 3
"""


def test_a_decision_about_an_entity_makes_a_view_stale_by_its_injected_entities(lab: Laboratory, novel: Novel) -> None:
    told: list[object] = []

    @map_op(version=1)
    def tell(text: str, context: object = None) -> int:
        told.append(context)
        return len(text)

    lab.teach(tell)
    book = lab.book(novel(8))
    keep(lab, book, pipeline=SHOWN)
    renew(lab)
    names = {entity["name"] for one in told if one for entity in one.get("entities", [])}
    item = lab.ingest(book, limit=260)[0]
    with lab.database.write() as rows:
        nobody = rows.decisions.add(item.document.id, kind="rename", body={"name": "Nobody", "other": "No One"})
    assert state(lab)["state"] == "fresh", "it is about none that is shown"
    name = min(names)
    with lab.database.write() as rows:
        rows.decisions.add(item.document.id, kind="rename", body={"name": name, "other": "Zed Zander"})
        rows.decisions.undo(nobody)
    assert state(lab)["why"] == ["injected entities"]
    told.clear()
    found, calls = renew(lab)
    assert found.comparison is not None
    assert found.comparison.causes() == {"injected entities": 1}
    assert calls == len(told)
    shown = [{entity["name"] for entity in one.get("entities", [])} for one in told if one]
    assert all("Zed Zander" in names for names in shown), "only chunks that mention the one who was renamed"
    assert state(lab)["state"] == "fresh"
    path = lab.folder / "novel.toml"
    path.write_text(SHOWN.replace("entities_most = 3", "entities_most = 2"))
    assert state(lab)["why"] == ["injected entities"]
