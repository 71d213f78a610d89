"""The API: lists that go on where they were, problems that say what to do, requests that are done once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.ops.decorators import map_op
from pipeline.retry import CallError, ErrorClass
from tests.integration.web.conftest import GLOSSARY, PROBE, SUMMARY, Site, key, problem, write_novel

SPEC = Path(__file__).resolve().parents[3] / "docs" / "openapi.json"
NOBODY = "01900000-0000-7000-8000-000000000000"


def test_the_committed_description_is_the_one_the_server_gives(site: Site) -> None:
    assert json.loads(SPEC.read_text(encoding="utf-8")) == site.app.openapi(), "run docs/generate.py"


def test_the_description_is_valid_openapi(site: Site) -> None:
    from openapi_spec_validator import validate

    validate(site.app.openapi())


def test_every_action_has_a_name_of_its_own_a_description_and_problems(site: Site) -> None:
    names = []
    for path, methods in site.app.openapi()["paths"].items():
        for action in methods.values():
            names.append(action["operationId"])
            assert action["description"], path
            assert set(action["responses"]) >= {"4XX", "5XX"}, path
            assert "422" not in action["responses"], path
    assert len(names) == len(set(names))


def test_a_list_is_walked_part_by_part_without_loss_or_double(either_site: Site) -> None:
    site = either_site
    for number in range(1, 4):
        site.lab.run(SUMMARY, site.lab.book(write_novel([number, number + 7]), f"book {number}.txt"))
    documents = site.walk("/v1/documents", limit=1)
    assert [item["title"] for item in documents] == [f"book {number}" for number in (3, 2, 1)]
    document, job = documents[0]["id"], site.get("/v1/jobs")["items"][0]["id"]
    task = site.get(f"/v1/jobs/{job}/tasks")["items"][0]["id"]
    lists = [f"/v1/documents/{document}/{name}" for name in ("sections", "chunks", "revisions")]
    lists += [f"/v1/jobs/{job}/{name}" for name in ("tasks", "results", "output", "documents")]
    for path in ["/v1/documents", "/v1/jobs", "/v1/usage", "/v1/pipelines", f"/v1/tasks/{task}/attempts", *lists]:
        whole = site.get(path, limit=500)["items"]
        assert whole, path
        assert site.walk(path, limit=1) == whole, path
        assert site.walk(path, limit=2) == whole, path


def test_the_chunks_are_the_text(novel_site: Site) -> None:
    document = novel_site.get("/v1/documents")["items"][0]["id"]
    chunks = novel_site.walk(f"/v1/documents/{document}/chunks", text=True, limit=2)
    text = "".join(item["text"] for item in chunks)
    assert text == write_novel(12)
    for item in chunks:
        assert text[item["start"] : item["end"]] == item["text"]
        assert text.count("\n", 0, item["start"]) + 1 == item["start_line"]
    found = novel_site.get(f"/v1/chunks/{chunks[3]['id']}")
    assert (found["ordinal"], found["text"], found["document"]) == (3, chunks[3]["text"], document)


@pytest.mark.parametrize(("line", "lines"), [(1, 10), (7, 1), (30, 400), (84, 5)])
def test_a_window_of_lines_is_those_lines(novel_site: Site, line: int, lines: int) -> None:
    document = novel_site.get("/v1/documents")["items"][0]["id"]
    text = write_novel(12)
    every = text.split("\n")[:-1]
    found = novel_site.get(f"/v1/documents/{document}/text", line=line, lines=lines)
    assert [item["text"] for item in found["lines"]] == every[line - 1 : line - 1 + lines]
    for item in found["lines"]:
        assert text[item["start"] : item["start"] + len(item["text"])] == item["text"]
    assert (found["next_line"] is None) == (line - 1 + lines >= len(every))


def test_every_citation_stands_where_it_says(novel_site: Site) -> None:
    text = write_novel(12)
    lines = text.split("\n")
    for job in novel_site.get("/v1/jobs")["items"]:
        output = novel_site.get(f"/v1/jobs/{job['id']}/output")
        said = [*output["head"]["sentences"], *(part for item in output["items"] for part in item.get("sentences", []))]
        cited = [(part["text"], c) for part in said for c in part["citations"]]
        cited += [(item["name"], c) for item in output["items"] for c in item.get("citations", [])]
        assert cited
        for words, c in cited:
            assert (
                text[c["start"] : c["end"]].split() == words.split() or words.split()[0] in text[c["start"] : c["end"]]
            )
            assert text.count("\n", 0, c["start"]) + 1 == c["start_line"]
            assert text[c["start"] : c["end"]][:10].split("\n")[0] in lines[c["start_line"] - 1]


def test_a_page_of_outputs_is_what_the_export_says(novel_site: Site) -> None:
    """Pages are made another way than the whole output: they must say the same."""
    for job in novel_site.get("/v1/jobs")["items"]:
        stored = novel_site.lab.database
        with stored.read() as rows:
            found = rows.jobs.get(UUID(job["id"]))
        assert found is not None
        whole: Any = novel_site.lab.output(found, citations=5)
        items = novel_site.walk(f"/v1/jobs/{job['id']}/output", limit=3)
        if job["pipeline"] == "glossary":
            assert [(e["name"], e["count"], e["citation_count"]) for e in whole["entries"]] == [
                (e["name"], e["count"], e["citation_count"]) for e in items
            ]
        else:
            head = novel_site.get(f"/v1/jobs/{job['id']}/output")["head"]
            assert head["text"] == whole["text"]
            assert [c["title"] for c in whole["chapters"]] == [c["title"] for c in items]
            for chapter, item in zip(whole["chapters"], items, strict=True):
                places = [(c["start"], c["end"]) for c in chapter["citations"]]
                assert places == [(c["start"], c["end"]) for s in item["sentences"] for c in s["citations"]]


LISTS = ["/v1/documents", "/v1/jobs", "/v1/operations", "/v1/usage", "/v1/pipelines"]


def test_a_cursor_is_good_for_its_own_list_and_filters_only(site: Site) -> None:
    for number in range(3):
        site.lab.run(SUMMARY, site.lab.book(write_novel([number + 1]), f"book {number}.txt"))
    cursor = site.get("/v1/jobs", limit=1)["next_cursor"]
    assert site.get("/v1/jobs", limit=2, cursor=cursor)["items"]  # another size is no other list
    client = site.client()
    for path in ("/v1/documents", "/v1/jobs?state=done", "/v1/jobs?pipeline=summary"):
        glue = "&" if "?" in path else "?"
        assert problem(client.get(f"{path}{glue}cursor={cursor}"), 400)["type"] == "urn:octavo:bad-cursor"
    for at in range(0, len(cursor), 7):
        bent = cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]
        problem(client.get("/v1/jobs", params={"cursor": bent}), 400)


def test_a_list_says_where_it_goes_on_in_a_header_too(site: Site) -> None:
    for number in range(3):
        site.lab.ingest(site.lab.book(write_novel([number + 1]), f"book {number}.txt"))
    answer = site.client().get("/v1/documents", params={"limit": 2, "count": True})
    address = answer.headers["Link"].partition("<")[2].partition(">")[0]
    assert [item["title"] for item in site.client().get(address).json()["items"]] == ["book 0"]
    assert answer.json()["total"] == 3
    assert site.get("/v1/documents")["total"] is None


ODD_TEXT = st.text(max_size=80) | st.sampled_from(["", "0", "-1", "null", "[]", "%", "_", "'", "\x00", "e" * 3000])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cursor=ODD_TEXT, value=ODD_TEXT, number=st.integers() | st.sampled_from(["x", "", "1e3", "٣"]))
def test_whatever_stands_in_cursors_ids_and_filters_is_answered_with_4xx_or_a_list(
    site: Site, cursor: str, value: str, number: object
) -> None:
    client = site.client()
    asked = [
        ("/v1/jobs", {"cursor": cursor}),
        ("/v1/documents", {"q": value}),
        ("/v1/documents", {"uri": value}),
        ("/v1/jobs", {"state": value}),
        ("/v1/jobs", {"pipeline": value}),
        ("/v1/jobs", {"limit": str(number)}),
        ("/v1/jobs", {value or "x": "1"}),
        (f"/v1/tasks/{number}", {}),
        (f"/v1/jobs/{NOBODY}/tasks", {"step": value}),
        ("/jobs", {"cursor": cursor}),
        ("/documents", {"q": value}),
        (f"/tasks/{number}", {}),
    ]
    for path, parameters in asked:
        answer = client.get(path, params=parameters)
        assert answer.status_code < 500, (path, parameters, answer.text)
        if path.startswith("/v1") and answer.status_code != 200:
            problem(answer, answer.status_code)


def test_what_is_not_there_is_404_as_a_problem(site: Site) -> None:
    client = site.client()
    paths = [path for path in site.app.openapi()["paths"] if "{" in path]
    for path in paths:
        filled = path.replace("{task}", "999999999").replace("{view}", "none").replace("{node}", "9-9")
        for name in ("document", "job", "chunk", "operation", "upload", "token", "trace"):
            filled = filled.replace("{" + name + "}", NOBODY)
        if "get" in site.app.openapi()["paths"][path]:
            assert problem(client.get(filled), 404)["detail"], path
    assert problem(client.get("/v1/nothing"), 404)
    assert problem(client.delete("/v1/jobs"), 405)


def test_a_parameter_that_is_not_known_is_refused_and_the_known_ones_are_named(site: Site) -> None:
    found = problem(site.client().get("/v1/jobs?stat=done"), 422)
    assert "stat" in found["detail"]
    assert "state" in found["detail"]
    assert found["errors"][0]["at"] == "query.stat"


def test_a_fault_of_octavos_own_is_a_problem_without_its_insides(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from workers.faces import books

    def broken(*_: object) -> object:
        raise RuntimeError("the text of a book")

    monkeypatch.setattr(books, "documents", broken)
    answer = site.client().get("/v1/documents")
    assert "the text of a book" not in problem(answer, 500)["detail"]
    page = site.browser().get("/documents")
    assert page.status_code == 500
    assert "the text of a book" not in page.text
    assert "<h1>" in page.text


def test_what_spends_needs_a_key_and_is_done_once(either_site: Site) -> None:
    site = either_site
    site.lab.ingest(site.lab.book(write_novel(2)))
    document = site.get("/v1/documents")["items"][0]["id"]
    client, body = site.client(), {"pipeline": "summary", "documents": [document]}
    assert problem(client.post("/v1/jobs", json=body), 400)["type"] == "urn:octavo:no-idempotency-key"
    word = key()
    first = client.post("/v1/jobs", json=body, headers=word)
    assert first.status_code == 202
    assert first.headers["Location"] == f"/v1/operations/{first.json()['id']}"
    again = client.post("/v1/jobs", json=body, headers=word)
    assert again.json()["id"] == first.json()["id"]
    assert len(site.walk("/v1/operations")) == 1
    other = client.post("/v1/jobs", json=body | {"pipeline": "glossary"}, headers=word)
    assert problem(other, 422)["type"] == "urn:octavo:other-request"
    stranger = site.client("run").post("/v1/jobs", json=body, headers=word)  # keys are each caller's own
    assert stranger.json()["id"] != first.json()["id"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"pipeline": "summary"},
        {"pipeline": "summary", "documents": []},
        {"pipeline": "summary", "documents": [NOBODY]},
        {"pipeline": "summary", "documents": ["x"]},
        {"pipeline": "no-such", "documents": [NOBODY]},
        {"pipeline": "../../etc/passwd", "documents": [NOBODY]},
        {"pipeline": {"name": "x", "step": []}, "documents": [NOBODY]},
        {
            "pipeline": {"name": "x", "step": [{"name": "a", "kind": "map", "op": "b", "colour": "red"}]},
            "documents": [NOBODY],
        },
        {"pipeline": "summary", "documents": [NOBODY], "more": 1},
    ],
)
def test_a_job_that_can_not_be_begun_is_refused_at_once(site: Site, body: dict[str, Any]) -> None:
    problem(site.client().post("/v1/jobs", json=body, headers=key()), 422)
    assert site.walk("/v1/operations") == []


def _with_holes(site: Site, words: dict[str, str]) -> Any:
    """A job in which chunks with certain words fail for certain reasons."""

    @map_op(name="probe", version="1")
    def probe(text: str) -> object:
        for word, code in words.items():
            if word in text:
                raise CallError(ErrorClass.PERMANENT, code, f"{word} was in it, at {len(text)}")
        return {"length": len(text)}

    site.lab.teach(probe)
    return site.lab.run(PROBE, site.lab.book(write_novel(30)))


def test_holes_are_grouped_and_a_group_alone_is_retried(either_site: Site) -> None:
    site = either_site
    words = {"day 42": "first", "day 71": "first", "day 130": "second"}
    job = _with_holes(site, words)
    groups = {item["error"]: item for item in site.get(f"/v1/jobs/{job.id}/holes")["items"]}
    assert {code: item["count"] for code, item in groups.items()} == {"first": 2, "second": 1}
    assert site.get("/v1/holes")["items"] == site.get(f"/v1/jobs/{job.id}/holes")["items"]
    client, path = site.client(), f"/v1/jobs/{job.id}/retry"
    counted = client.post(path, json={"filter": {"error": "first"}, "dry_run": True}, headers=key())
    assert counted.json()["result"]["count"] == 2
    stale = client.post(path, json={"filter": {"error": "first"}, "expected_count": 3}, headers=key())
    assert problem(stale, 409)["detail"].startswith("There are 2 such holes now")
    assert site.get(f"/v1/jobs/{job.id}")["holes"] == 3
    done = client.post(path, json={"filter": {"error": "first"}, "expected_count": 2}, headers=key())
    assert done.json()["result"]["count"] == 2
    assert done.json()["state"] == "done"
    now = site.get(f"/v1/jobs/{job.id}")
    assert (now["state"], now["holes"]) == ("running", 1)
    assert {item["error"] for item in site.walk(f"/v1/jobs/{job.id}/tasks", state="failed")} == {"second"}
    words.clear()
    site.lab.work(job)
    assert site.get(f"/v1/jobs/{job.id}")["holes"] == 1
    waived = client.post(f"/v1/jobs/{job.id}/waive", json={"filter": {"error": "second"}}, headers=key())
    assert waived.json()["result"]["count"] == 1
    site.lab.work(job)
    ended = site.get(f"/v1/jobs/{job.id}")
    assert (ended["state"], ended["holes"], ended["waived"]) == ("done", 0, 1)


def test_one_hole_is_retried_by_its_place(site: Site) -> None:
    words = {"day 42": "first", "day 71": "first"}
    job = _with_holes(site, words)
    first = site.walk(f"/v1/jobs/{job.id}/tasks", state="failed")[0]
    body = {"filter": {"step": "map", "ordinals": [first["ordinal"]]}}
    assert site.client().post(f"/v1/jobs/{job.id}/retry", json=body, headers=key()).json()["result"]["count"] == 1
    states = {item["ordinal"]: item["state"] for item in site.walk(f"/v1/jobs/{job.id}/tasks")}
    assert states[first["ordinal"]] == "ready"
    assert list(states.values()).count("failed") == 1


def test_what_was_reduced_over_holes_is_planned_anew_when_they_are_retried(site: Site) -> None:
    job = site.lab.run(SUMMARY, site.lab.book(write_novel(6)))
    assert site.client().post(f"/v1/jobs/{job.id}/retry", json={}, headers=key()).json()["result"]["count"] == 0
    assert site.get(f"/v1/jobs/{job.id}")["state"] == "done"


def test_a_job_is_paused_resumed_given_a_priority_and_cancelled(either_site: Site) -> None:
    site = either_site
    job = site.lab.begin(SUMMARY, site.lab.book(write_novel(3)))
    client, path = site.client(), f"/v1/jobs/{job.id}"
    assert client.post(f"{path}/pause").json()["state"] == "paused"
    paused = site.get(path)
    assert paused["because"]
    assert client.post(f"{path}/resume", headers=key()).json()["state"] == "running"
    read = client.get(path)
    seen = {"If-Match": read.headers["ETag"]}
    assert client.put(f"{path}/priority", json={"priority": 2}, headers=seen).json()["priority"] == 2
    stale = client.put(f"{path}/priority", json={"priority": 3}, headers=seen)
    assert problem(stale, 412)
    assert client.post(f"{path}/cancel").json()["state"] == "cancelled"
    assert problem(client.post(f"{path}/pause"), 409)["detail"]


def test_why_a_job_waits_is_said_for_every_reason(site: Site) -> None:
    job = site.lab.begin(SUMMARY, site.lab.book(write_novel(3)))
    said = site.get(f"/v1/jobs/{job.id}")["because"]
    assert said == "no process works on it: resume it"
    assert site.get("/v1/jobs")["items"][0]["because"] == said
    site.client().post(f"/v1/jobs/{job.id}/pause")
    assert "paused" in site.get(f"/v1/jobs/{job.id}")["because"]
    settings = site.web.runtime.settings.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"})
    site.web.runtime.settings = settings
    site.client().post(f"/v1/jobs/{job.id}/pause")
    from workers import control

    control.unpause(site.lab.database, str(job.id))
    assert "no worker is alive" in site.get(f"/v1/jobs/{job.id}")["because"]


def test_the_map_shows_every_chunk_and_a_hole_never_vanishes(
    either_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = either_site
    job = _with_holes(site, {"day 42": "first", "day 130": "second"})
    found = site.get(f"/v1/jobs/{job.id}/map")
    tasks = site.walk(f"/v1/jobs/{job.id}/tasks")
    cells = _cells(found)
    assert len(cells) == found["total"] == len(tasks)
    for task in tasks:
        assert cells[task["ordinal"]] == ("hole" if task["state"] == "failed" else "done")
    monkeypatch.setattr("db.repositories.task_lists.CELLS", 7)
    monkeypatch.setattr("workers.faces.jobs.CELLS", 7)
    small = _cells(site.get(f"/v1/jobs/{job.id}/map"))
    holes = {task["ordinal"] * 7 // len(tasks) for task in tasks if task["state"] == "failed"}
    assert {at for at, code in enumerate(small) if code == "hole"} == holes
    assert len(small) == 7


def _cells(found: dict[str, Any]) -> list[str]:
    cells = ["none"] * found["cells"]
    for first, count, code in found["runs"]:
        cells[first : first + count] = [found["codes"][code]] * count
    return cells


def test_a_book_comes_in_by_pieces_and_goes_on_where_it_broke(site: Site) -> None:
    client, data = site.client(), write_novel(3).encode()
    made = client.post("/v1/uploads", json={"name": "novel.txt", "size": len(data), "pipeline": "summary"})
    assert made.status_code == 201
    path = made.headers["Location"]

    def send(at: int, piece: bytes) -> Any:
        headers = {"Upload-Offset": str(at), "Content-Type": "application/octet-stream"}
        return client.patch(path, content=piece, headers=headers)

    assert send(0, data[:100]).headers["Upload-Offset"] == "100"
    wrong = send(50, data[50:])
    assert problem(wrong, 409)["type"] == "urn:octavo:offset"
    assert wrong.headers["Upload-Offset"] == "100"
    assert client.get(path).json()["received"] == 100
    done = send(100, data[100:]).json()
    assert (done["received"], done["size"]) == (len(data), len(data))
    assert (site.web.uploads / "novel.txt").read_bytes() == data
    operation = site.get(f"/v1/operations/{done['operation']}")
    assert (operation["kind"], operation["state"]) == ("ingest", "waiting")
    assert problem(send(0, b"x"), 409)["type"] == "urn:octavo:complete"
    assert client.delete(path).status_code == 204
    problem(client.get(path), 404)


def test_two_documents_of_a_job_are_told_apart(site: Site) -> None:
    one, two = (site.lab.book(write_novel([n, n + 1]), f"{n}.txt") for n in (1, 20))
    job = site.lab.run(GLOSSARY, one, two)
    documents = site.walk(f"/v1/jobs/{job.id}/documents")
    assert [item["title"] for item in documents] == ["1", "20"]
    tasks = site.walk(f"/v1/jobs/{job.id}/tasks", step="extract")
    assert {task["place"]["document"] for task in tasks} == {item["document"] for item in documents}
    assert site.client().get(f"/jobs/{job.id}/read?document={documents[1]['document']}").status_code == 200


def test_the_same_sent_eight_times_at_once_is_done_once(either_site: Site) -> None:
    site = either_site
    site.lab.ingest(site.lab.book(write_novel(2)))
    body = {"pipeline": "summary", "documents": [site.get("/v1/documents")["items"][0]["id"]]}
    client, same = site.client("run"), key()
    client.get("/v1/jobs")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/jobs", json=body, headers=same), range(8)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(site.walk("/v1/operations")) == 1
