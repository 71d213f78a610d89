"""What a person does, in a real browser over a real server: with scripts, and without where it is reading."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import expect

from octavo.web.pages.routes import PARTS
from tests.browser.conftest import Server, Visitor, wait
from tests.integration.conftest import write_novel

# A browser, a server and workers for each: minutes on two cores.
pytestmark = pytest.mark.nightly

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "the-lamp-at-grey-skerry.txt"
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
SLOW = {
    "name": "slow",
    "grain": {"limit": 120},
    "step": [{"name": "count", "kind": "map", "op": "slowly", "attempts": 1}],
}
Visit = Callable[..., Visitor]


def test_the_launch_code_lets_in_by_one_click_and_only_once(server: Server, browser: Any) -> None:
    first, second = browser.new_context(java_script_enabled=False), browser.new_context()
    page = first.new_page()
    page.goto(server.entrance)
    page.click("main button")
    expect(page.locator("h1")).to_contain_text("A book is all it needs")
    other = second.new_page()
    other.goto(server.entrance)
    expect(other.locator("[role=alert]")).to_contain_text("has been used")
    first.close()
    second.close()


def bring_in(visitor: Visitor, path: Path, pipeline: str, *, start: bool = True) -> None:
    page = visitor.go("/documents")
    page.set_input_files("#book", path)
    page.select_option("#pipeline", pipeline)
    page.set_checked("[name=start]", start)
    page.click("text=Bring it in")


def test_a_book_is_brought_in_summarized_and_a_citation_leads_to_its_lines(server: Server, visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    bring_in(visitor, SAMPLE, "summary")
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))
    expect(page.locator("[data-v=state]")).to_contain_text("done", timeout=90_000)
    page.click("text=Read the result beside the book")
    cite = page.locator("#result a.cite").nth(3)
    first, last = (int(part) for part in re.findall(r"\d+", cite.inner_text()))
    start, end = (int(part) for part in re.findall(r"at=(\d+)-(\d+)", cite.get_attribute("href") or "")[0])
    cite.click()
    page.wait_for_url(re.compile(rf"at={start}-{end}"))
    marked = page.locator("#source mark")
    expect(marked.first).to_be_in_viewport()
    text = SAMPLE.read_text(encoding="utf-8")
    shown = "\n".join(marked.all_inner_texts())
    assert shown.split() == text[start:end].split()
    numbers = [int(p.get_attribute("id").removeprefix("L")) for p in page.locator("#source p.cited").all()]
    assert numbers == list(range(first, last + 1))
    assert text.count("\n", 0, start) + 1 == first
    page.go_back()
    expect(page.locator("#source mark")).to_have_count(0)
    assert visitor.faults == []


def test_the_same_is_read_without_scripts(server: Server, visit: Visit) -> None:
    visitor = visit(scripts=False)
    page = visitor.page
    bring_in(visitor, SAMPLE, "summary")
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))
    job = page.url.rpartition("/")[2]
    wait(lambda: server.api(f"/v1/jobs/{job}")["state"] == "done", "the job is done")
    page.reload()
    page.click("text=Read the result beside the book")
    cite = page.locator("#result a.cite").nth(3)
    first = int(re.findall(r"\d+", cite.inner_text())[0])
    cite.click()
    expect(page.locator("#source mark").first).to_be_in_viewport()
    assert page.locator("#source p.cited").first.get_attribute("id") == f"L{first}"
    page.go_back()
    page.locator("#source").get_by_label("Line").fill("300")
    page.click("text=Go")
    expect(page.locator("#L300")).to_be_visible()
    page.goto(f"{server.address}/jobs/{job}")
    page.locator("#map-picture").click(position={"x": 3, "y": 3})
    expect(page.locator("h1")).to_contain_text("Chunk 0 in summarize")
    page.goto(f"{server.address}/jobs/{job}")
    page.locator("#ordinal").fill("5")
    page.locator("form[action$='/at'] button").click()
    expect(page.locator("h1")).to_contain_text("Chunk 5 in summarize")


def start_slow(server: Server, chapters: int) -> str:
    book = server.folder / f"novel of {chapters}.txt"
    book.write_text(write_novel(chapters), encoding="utf-8")
    server.run("ingest", str(book))
    document = server.api(f"/v1/documents?q={chapters}")["items"][0]["id"]
    operation = server.api("/v1/jobs", {"pipeline": SLOW, "documents": [document]})["id"]
    found = wait(lambda: server.api(f"/v1/operations/{operation}")["result"], "the job has begun")
    return str(found["job"])


def test_a_page_is_used_by_keys_alone(server: Server, visit: Visit) -> None:
    server.run("run", str(SAMPLE))
    visitor = visit()
    page = visitor.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_url(re.compile("/documents$"))
    page.keyboard.press("/")
    page.keyboard.type("lamp")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"q=lamp"))
    expect(page.locator("tbody tr").first).to_contain_text("lamp")
    job = server.api("/v1/jobs")["items"][0]["id"]
    visitor.go(f"/jobs/{job}")
    canvas = page.locator("#map-canvas")
    canvas.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("main [role=status]")).to_contain_text(re.compile("chunk 2: (done|known)"))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/tasks/\d+$"))
    assert visitor.faults == []


def test_a_range_of_lines_in_an_address_is_marked(server: Server, visit: Visit) -> None:
    server.run("ingest", str(SAMPLE))
    document = server.api("/v1/documents?q=lamp")["items"][-1]["id"]
    page = visit().go(f"/documents/{document}/read?line=110#L120-L124")
    expect(page.locator("#L120")).to_be_in_viewport()
    assert [p.get_attribute("id") for p in page.locator("p.cited").all()] == [f"L{at}" for at in range(120, 125)]


def test_two_hundred_requests_of_one_visitor_are_not_too_many(server: Server, visit: Visit) -> None:
    visitor = visit()
    statuses = visitor.page.evaluate(
        "Promise.all([...Array(200)].map(() => fetch('/v1/jobs').then((answer) => answer.status)))"
    )
    assert set(statuses) == {200}


@pytest.fixture(scope="module")
def filled(server: Server) -> dict[str, str]:
    """A server with a summary, a glossary, an outline, and a job with holes: every kind of page has something."""
    for pipeline in ("summary", "glossary", "outline"):
        server.run("run", str(SAMPLE), "--pipeline", pipeline)
    job = start_slow(server, 12)
    wait(lambda: server.api(f"/v1/jobs/{job}")["state"] == "holes", "the job ends with holes")
    found = {item["pipeline"]: item["id"] for item in server.api("/v1/jobs")["items"]}
    document = server.api("/v1/documents?q=lamp")["items"][0]["id"]
    hole = server.api(f"/v1/jobs/{job}/tasks?state=failed")["items"][0]
    task = server.api(f"/v1/jobs/{found['summary']}/tasks")["items"][0]["id"]
    operation = server.api("/v1/operations")["items"][0]["id"]
    answer = server.api("/v1/ask", {"question": "Who keeps the lamp?"})["id"]
    trace = wait(lambda: server.api(f"/v1/operations/{answer}")["result"], "the question is answered")["trace"]
    server.run("view", "add", "names", "--pipeline", "glossary", "--documents", str(SAMPLE))
    server.run("sweep", "names")
    first, second = (item["name"] for item in server.api(f"/v1/documents/{document}/entities?limit=2")["items"])
    server.api(f"/v1/documents/{document}/decisions", {"kind": "merge", "name": second, "other": first})
    root = server.api(f"/v1/jobs/{found['summary']}/fold")["items"][0]["node"]
    second_reading(server)
    return {
        "home": "/",
        "documents": "/documents",
        "nothing found": "/documents?q=zzzz",
        "document": f"/documents/{document}",
        "text": f"/documents/{document}/read?at=1200-1300",
        "jobs": "/jobs",
        "job": f"/jobs/{found['summary']}",
        "job with holes": f"/jobs/{job}",
        "summary": f"/jobs/{found['summary']}/read?at=1200-1300",
        "glossary": f"/jobs/{found['glossary']}/read",
        "outline": f"/jobs/{found['outline']}/read",
        "results": f"/jobs/{job}/read",
        "tasks": f"/jobs/{job}/tasks",
        "step": f"/jobs/{found['summary']}/steps/1",
        "task": f"/tasks/{task}?why=true",
        "hole": f"/tasks/{hole['id']}",
        "chunk": f"/chunks/{hole['place']['chunk']}",
        "holes": "/holes",
        "cost": "/cost",
        "workers": "/workers",
        "settings": "/settings",
        "operation": f"/operations/{operation}",
        "answer": f"/operations/{answer}",
        "views": "/views",
        "view": "/views/names",
        "search": "/search?q=lamp",
        "searched nothing": "/search?q=unicorn",
        "search empty": "/search",
        "traces": "/traces",
        "trace": f"/traces/{trace}",
        "entities": f"/documents/{document}/entities",
        "fold": f"/jobs/{found['summary']}/fold",
        "fold node": f"/jobs/{found['summary']}/fold?node={root}",
        "merge step": f"/jobs/{found['glossary']}/steps/1",
        "merge": f"/jobs/{found['glossary']}/merge",
        "merge, shards": f"/jobs/{found['glossary']}/merge?level=1",
        "merge, a shard": f"/jobs/{found['glossary']}/merge?node=1-0",
        "merge, judgement": f"/jobs/{found['glossary']}/merge?node=2-0",
        "merge, a chunk": f"/jobs/{found['glossary']}/merge?node=0-0",
        "edits": f"/documents/{server.api('/v1/documents?q=twice')['items'][0]['id']}/changes",
        "enter": "/enter",
        "reference": "/docs",
        "not there": "/jobs/01900000-0000-7000-8000-000000000000",
    }


def second_reading(server: Server) -> None:
    """A book that was edited, so that there is something between its revisions."""
    book = server.folder / "read twice.txt"
    for name in ("Edith Harrow", "Edith Barrow"):
        book.write_text(write_novel(3).replace("Edith Harrow", name), encoding="utf-8")
        server.run("ingest", str(book))


def test_every_page_of_the_site_is_in_the_walk(filled: dict[str, str]) -> None:
    """A page that is added is walked over too, or the reason why not stands here."""
    beside = {"/static/{stamp}/{name}", "/health", "/jobs/{job_id}/cell/{step}", "/jobs/{job_id}/at"}
    beside |= {"/jobs/{job_id}/map.png", "/documents/{document_id}/strip.png"}  # pictures in pages
    there = {item.path for part in PARTS for item in part.router.routes if "GET" in getattr(item, "methods", ())}
    walked = {path.partition("?")[0] for path in filled.values()}
    shapes = {path: re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)) for path in there - beside}
    assert {path for path, shape in shapes.items() if not any(shape.fullmatch(at) for at in walked)} == set()


def test_no_page_has_a_serious_fault_for_who_does_not_see_or_use_a_mouse(filled: dict[str, str], visit: Visit) -> None:
    """axe-core finds nothing in the light and in the dark, on a wide screen and on a phone; no page is wider."""
    source = AXE.read_text(encoding="utf-8")
    faults = []
    for width, scheme in ((1440, "light"), (390, "dark")):
        visitor = visit(width=width, scheme=scheme, bypass=True)
        for name, path in filled.items():
            page = visitor.go(path)
            page.wait_for_load_state("networkidle") if name not in ("home", "jobs", "workers") else None
            page.evaluate(source)
            found = page.evaluate("axe.run()")
            for item in found["violations"]:
                where = [node["html"][:120] for node in item["nodes"][:3]]
                faults.append(f"{name} {width} {scheme}: {item['id']} {item['impact']} {where}")
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                faults.append(f"{name} {width}: it is {wide} wide")
    assert faults == [], "\n".join(faults)


def test_every_page_is_small_and_asks_nobody_else(filled: dict[str, str], visit: Visit, server: Server) -> None:
    visitor = visit()
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    for name, path in filled.items():
        answer = visitor.page.goto(server.address + path)
        assert answer is not None
        assert len(answer.body()) <= 150_000, name
    assert {address for address in asked if not address.startswith(server.address)} == set()
    expected = "Failed to load resource: the server responded with a status of 404 (Not Found)"
    assert [fault for fault in visitor.faults if fault != expected] == []
