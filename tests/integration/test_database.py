"""Migrations, refusals, transactions and odd characters, on SQLite and PostgreSQL."""

from __future__ import annotations

import multiprocessing
import sqlite3
from datetime import datetime
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import event, exc, inspect, update
from sqlalchemy.exc import StatementError

from db import migrate
from db.database import Database
from db.engine import make_engine, sqlite_url
from db.errors import DatabaseBusyError, DatabaseNewerError, translate
from db.tables import DocumentRow
from db.values import NewAttempt, NewTask
from octavo import map_op
from pipeline.errors import StorageError
from pipeline.ids import uuid7
from pipeline.states import JobState, Outcome
from tests.integration.conftest import Laboratory


@pytest.fixture
def empty(empty_url: str):
    made = Database(make_engine(empty_url))
    yield made
    made.close()


def test_an_empty_database_is_made_and_the_second_time_nothing_is_done(empty: Database) -> None:
    assert migrate.upgrade(empty) is True
    assert migrate.upgrade(empty) is False
    assert migrate.revision_of(empty) == migrate.head()


def test_the_migrations_make_exactly_the_declared_tables(empty: Database) -> None:
    migrate.upgrade(empty)
    command.check(migrate.alembic_config(empty))


def test_downgrading_takes_every_table_back_and_upgrading_makes_them_again(empty: Database) -> None:
    migrate.upgrade(empty)
    command.downgrade(migrate.alembic_config(empty), "base")
    assert set(inspect(empty.engine).get_table_names()) <= {"alembic_version"}
    command.upgrade(migrate.alembic_config(empty), "head")
    command.check(migrate.alembic_config(empty))


def test_a_database_of_a_newer_version_is_refused_and_left_alone(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseNewerError) as caught:
        migrate.upgrade(database)
    assert "9999" in (caught.value.cause or "")
    assert "upgrade Octavo" in (caught.value.hint or "")
    assert migrate.revision_of(database) == "9999"


def test_a_database_of_other_tables_is_refused_and_left_alone(empty: Database) -> None:
    with empty.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE recipes (name VARCHAR)")
    with pytest.raises(StorageError, match="not Octavo's"):
        migrate.upgrade(empty)
    assert inspect(empty.engine).get_table_names() == ["recipes"]


def _open_and_upgrade(url: str, answers: multiprocessing.Queue) -> None:  # type: ignore[type-arg]
    database = Database(make_engine(url))
    try:
        migrate.upgrade(database)
        answers.put(migrate.revision_of(database))
    except Exception as error:  # noqa: BLE001  # the test tells what it was
        answers.put(repr(error))
    finally:
        database.close()


def test_many_processes_may_make_one_database_at_once(empty_url: str) -> None:
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    makers = [context.Process(target=_open_and_upgrade, args=(empty_url, answers)) for _ in range(3)]
    for maker in makers:
        maker.start()
    found = [answers.get(timeout=60) for _ in makers]
    for maker in makers:
        maker.join(timeout=60)
    answers.close()
    answers.join_thread()
    assert found == [migrate.head()] * 3


def test_a_failed_transaction_leaves_nothing(database: Database) -> None:
    def half() -> None:
        with database.write() as rows:
            rows.contents.add({b"a" * 32: b"text"})
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        half()
    with database.read() as rows:
        assert rows.contents.texts([b"a" * 32]) == {}


def test_a_read_transaction_sees_one_state_of_the_database(database: Database) -> None:
    with database.read() as reader:
        assert reader.contents.texts([b"a" * 32]) == {}
        with database.write() as writer:
            writer.contents.add({b"a" * 32: b"text"})
        assert reader.contents.texts([b"a" * 32]) == {}, "a commit of another became visible in the middle of a read"
    with database.read() as reader:
        assert reader.contents.texts([b"a" * 32]) == {b"a" * 32: "text"}


def test_a_time_without_a_zone_is_refused(database: Database) -> None:
    statement = update(DocumentRow).values(created_at=datetime(2026, 1, 1))  # noqa: DTZ001  # that is the fault
    with database.engine.connect() as connection, pytest.raises(StatementError, match="naive datetime"):
        connection.execute(statement)


ODD = "bell \a, NUL \0, escape \x1b[31m, astral 𝔄, right-to-left \u202e, half a pair \ud800 and \udcff end"


def test_odd_characters_in_names_are_kept_or_replaced_and_break_no_database(database: Database) -> None:
    with database.write() as rows:
        rows.documents.add(id=uuid7(), uri="file:///odd", title=ODD, media_type="text/plain", collection="c")
    with database.read() as rows:
        found = rows.documents.by_uri("file:///odd")
    assert found is not None
    assert found.title == (
        "bell \a, NUL ␀, escape \x1b[31m, astral 𝔄, right-to-left \u202e, half a pair \ufffd and \ufffd end"
    )


def test_odd_characters_in_the_text_of_a_book_are_kept_exactly(lab: Laboratory) -> None:
    text = "Chapter 1 The\0 Fall\n\nA\0B \x01\x02 word \u202eabc. " + "Ünïcödé 漢字 𝔄 \N{ZERO WIDTH JOINER}.\n" * 3
    item = lab.ingest(lab.book(text))[0]
    with lab.database.read() as rows:
        places = rows.documents.pages(item.revision.id, item.chunking_id)
        chunks = list(rows.chunks.of_pages([place.page_id for place in places]))
        texts = rows.contents.texts([chunk.content_sha256 for chunk in chunks])
        assert rows.documents.sections(item.revision.id)
    assert "".join(texts[chunk.content_sha256] for chunk in chunks) == text


def test_an_op_whose_error_message_holds_odd_characters_makes_a_hole_and_nothing_worse(lab: Laboratory) -> None:
    @map_op(name="odd_error", version=1)
    def odd_error(text: str) -> str:
        raise ValueError(ODD)

    lab.teach(odd_error)
    job = lab.run(
        'name = "odd"\n[[step]]\nname = "m"\nkind = "map"\nop = "odd_error"\nattempts = 1\n', lab.book("Some text.\n")
    )
    assert job.state is JobState.HOLES
    (task,) = lab.tasks(job)
    (attempt,) = lab.attempts(task.id)
    assert attempt.outcome == Outcome.FAILED
    assert "NUL ␀" in attempt.message


def test_the_wait_for_a_key_is_found_by_its_partial_index_on_sqlite(sqlite_lab: Laboratory) -> None:
    database = sqlite_lab.database
    seen: list[tuple[str, object]] = []

    def note(_connection, _cursor, statement, parameters, _context, _many) -> None:
        seen.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    with database.write() as rows:
        rows.tasks.finish_waiting([b"k" * 32, b"l" * 32])
        rows.tasks.free_waiting([b"k" * 32])
        rows.tasks.stranded()
        rows.tasks.free_stranded()
        rows.tasks.owners()
    event.remove(database.engine, "before_cursor_execute", note)
    with sqlite3.connect(database.engine.url.database or "") as raw:
        for statement, parameters in seen[1:]:
            plan = " / ".join(str(row[3]) for row in raw.execute("EXPLAIN QUERY PLAN " + statement, parameters))
            index = "ix_tasks_lease_owner" if "lease_owner IS NOT NULL" in statement else "ix_tasks_waiting_key"
            assert index in plan, f"{statement}\n{plan}"
    raw.close()


def test_ids_of_steps_and_tasks_are_never_given_twice(database: Database, lab: Laboratory) -> None:
    """A zombie holds a task by id and epoch: a new task with an old one's id would take its outcome."""
    job = lab.begin('name = "p"\n[[step]]\nname = "m"\nkind = "map"\nop = "extract"\n', lab.book("Text.\n"))
    with lab.database.write() as rows:
        rows.jobs.add_step(job.id, position=0, level=7, name="m")
        old_step = next(step for step in rows.jobs.steps(job.id) if step.level == 7)
        rows.tasks.add(old_step.id, [NewTask(0, b"k" * 32)])
        old_task = rows.tasks.at(old_step.id, 0)
        rows.jobs.drop_steps([old_step.id], heir=0)
        rows.jobs.add_step(job.id, position=0, level=7, name="m")
        new_step = next(step for step in rows.jobs.steps(job.id) if step.level == 7)
        rows.tasks.add(new_step.id, [NewTask(0, b"k" * 32)])
        new_task = rows.tasks.at(new_step.id, 0)
    assert new_step.id != old_step.id
    assert new_task.id != old_task.id


def test_what_a_driver_says_becomes_a_sentence_that_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    path.write_bytes(b"SQLite format 3\0" + b"rubbish" * 500)
    database = Database(make_engine(sqlite_url(path)))
    with pytest.raises(StorageError) as caught:
        migrate.upgrade(database)
    database.close()
    assert str(path) in caught.value.message
    assert caught.value.hint


def test_a_password_never_stands_in_an_error() -> None:
    database = Database(make_engine("postgresql://someone:secret@127.0.0.1:1/none"))
    with pytest.raises(StorageError) as caught, database.read():
        pass
    database.close()
    assert "secret" not in f"{caught.value.message} {caught.value.cause} {caught.value.hint}"


@pytest.mark.parametrize("text", ["deadlock detected", "canceling statement due to lock timeout", "database is locked"])
def test_a_lost_race_for_a_lock_is_an_error_that_may_be_tried_again(text: str) -> None:
    assert isinstance(translate(exc.OperationalError("x", {}, Exception(text)), "here"), DatabaseBusyError)


def _attempt(task_id: int) -> NewAttempt:
    return NewAttempt(task_id=task_id, number=1, epoch=1, owner="o", started_ms=1, ended_ms=2, outcome=Outcome.DONE)


def test_attempts_are_stored_in_order(lab: Laboratory) -> None:
    job = lab.begin('name = "p"\n[[step]]\nname = "m"\nkind = "map"\nop = "extract"\n', lab.book("Text.\n"))
    lab.work(job)
    (task,) = lab.tasks(job)
    with lab.database.write() as rows:
        rows.attempts.add([_attempt(task.id), _attempt(task.id)])
    assert [attempt.number for attempt in lab.attempts(task.id)] == [1, 1, 1]
