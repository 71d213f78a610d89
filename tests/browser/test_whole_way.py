"""The whole way of a person through the pages, in one real browser: from a file to the marked lines of a citation."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Server, Visitor, number, wait

pytestmark = pytest.mark.nightly

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "the-lamp-at-grey-skerry.txt"
TELLING = {
    "name": "telling",
    "grain": {"limit": 150},
    "step": [
        {"name": "tell", "kind": "map", "op": "tell", "attempts": 1},
        {"name": "fold", "kind": "fold", "op": "fold_summary", "params": {"sentences": 3, "top_sentences": 5}},
    ],
}


@pytest.fixture
def hold(server: Server) -> Iterator[Path]:
    """Holds every call while it is there; gone at the end, whatever happens."""
    path = server.folder / "hold"
    path.touch()
    yield path
    path.unlink(missing_ok=True)
    (server.folder / "well").unlink(missing_ok=True)


def test_a_book_is_uploaded_watched_killed_repaired_read_and_cited(
    server: Server, visit: Callable[..., Visitor], hold: Path
) -> None:
    visitor = visit()
    page = visitor.go("/documents")
    book = server.folder / "a lamp.txt"
    text = SAMPLE.read_text(encoding="utf-8")
    book.write_text(text, encoding="utf-8")
    page.set_input_files("#book", book)
    page.set_checked("[name=start]", False)
    page.click("text=Bring it in")
    page.wait_for_url(re.compile(r"/documents/[0-9a-f-]{36}$"))
    document = page.url.rpartition("/")[2]
    expect(page.locator("h1")).to_contain_text("a lamp")

    operation = server.api("/v1/jobs", {"pipeline": TELLING, "documents": [document]})["id"]
    page.goto(f"{server.address}/operations/{operation}")  # it goes on by itself
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))
    job = page.url.rpartition("/")[2]

    # It is watched as it goes on, and stands still while it is held.
    done, state = (page.locator(f"[data-v={name}]") for name in ("done", "state"))
    expect(page.locator("#map-canvas")).to_be_visible(timeout=30_000)
    hold.unlink()
    wait(lambda: number(done.inner_text()) > 3, "the page shows that it goes on")
    hold.touch()

    # Its process is killed: who watches is told that it waits and why, it goes on by itself, and what happened is kept.
    killed = server.children()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    happened = page.locator("#happened li").filter(has_text="its process died")
    expect(happened).to_contain_text("another was started", timeout=60_000)
    wait(lambda: server.children() and not set(server.children()) & set(killed), "another process is at it")
    before = number(done.inner_text())
    hold.unlink()
    wait(lambda: number(done.inner_text()) > before, "it goes on by itself")
    expect(state).to_contain_text("finished with holes", timeout=90_000)
    told = server.events(job)
    waited = [event["because"] for event in told if "its process died" in (event.get("because") or "")]
    assert waited, [event.get("because") for event in told]
    assert told[-1]["state"] == "holes"

    # A hole is opened: what it is, where it stands, what its try said.
    holes = server.api(f"/v1/jobs/{job}")["holes"]
    group = page.locator("#hole-groups .card")
    expect(group).to_have_count(1)
    expect(group).to_contain_text("the lamp was out, N letters waited")
    group.locator("text=See them").click()
    page.wait_for_url(re.compile("/tasks"))
    page.locator("tbody a").first.click()
    expect(page.locator("main")).to_contain_text("the lamp was out")
    expect(page.locator(".book")).to_contain_text("quicksilver")

    # One click and one to confirm retry the group.
    (server.folder / "well").touch()
    visitor.go("/holes")
    card = page.locator(".groups .card").filter(has=page.locator(f"a[href='/jobs/{job}']"))
    card.locator(f"text=Retry {holes}…").click()
    card.locator(f"text=Yes, retry {holes}").click()
    page.wait_for_url(re.compile(rf"/jobs/{job}"))
    expect(state).to_contain_text("✓ done", timeout=90_000)
    now = server.api(f"/v1/jobs/{job}")
    assert (now["holes"], now["state"]) == (0, "done")

    # The summary is read, and a citation leads to its very lines, marked.
    page.click("text=Read the result beside the book")
    cite = page.locator("#result a.cite").nth(2)
    first, *rest = (int(part) for part in re.findall(r"\d+", cite.inner_text()))
    start, end = (int(part) for part in re.findall(r"at=(\d+)-(\d+)", cite.get_attribute("href") or "")[0])
    cite.click()
    page.wait_for_url(re.compile(rf"at={start}-{end}"))
    marked = page.locator("#source mark")
    expect(marked.first).to_be_in_viewport()
    assert "\n".join(marked.all_inner_texts()).split() == text[start:end].split()
    lines = [int((p.get_attribute("id") or "L0")[1:]) for p in page.locator("#source p.cited").all()]
    assert lines == list(range(first, (rest or [first])[0] + 1))
    assert text.count("\n", 0, start) + 1 == first

    # The fold leads from its top down to a chunk.
    visitor.go(f"/jobs/{job}/fold")
    while page.locator(".chapter :is(h2, h3) a").count():
        page.locator(".chapter :is(h2, h3) a").first.click()
        page.wait_for_load_state()
    expect(page.locator("h1")).to_contain_text("A chunk's own output")
    assert visitor.faults == []
