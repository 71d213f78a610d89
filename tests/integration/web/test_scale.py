"""What a page costs does not grow with the library: queries, rows and bytes, of every page and list."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import event
from sqlalchemy.engine.cursor import CursorFetchStrategy
from starlette.testclient import TestClient

from benchmarks.faces.library import Library, build
from benchmarks.faces.pages import pages_of
from db.repositories.search import SEGMENT_BITS
from octavo.web.app import create_app, described
from octavo.web.pages import routes as pages
from octavo.web.state import make_web
from tests.integration.web.conftest import ADDRESS, PORT
from workers.evidence.search import SEGMENTS
from workers.faces.tokens import make_token

QUERIES = 120
ROWS = 3_000
BYTES = 150_000
ALLOWED = 60  # rows by which a page of a larger library may be longer: lists that were not full
# A step's page draws latencies from at most so many attempts (`task_lists.latencies`), and the small library has fewer.
# A search estimates how many chunks have a word in so many parts of the index, of so many chunks each.
ESTIMATED = {"/search": SEGMENTS << SEGMENT_BITS}
SAMPLED = {"step": 1_000, "fold step": 1_000}
# 50 entries with 5 citations each, of which chunk, text, key and output are read; the small library has fewer.
SAMPLED |= dict.fromkeys(("search", "search, rare", "API search"), SEGMENTS << SEGMENT_BITS)
SAMPLED |= dict.fromkeys(("glossary", "entities", "API entities", "API glossary"), 50 * 5 * 4)


# What is no page of the library, a stream, or asks nothing of the database.
BESIDE = {"/static/{stamp}/{name}", "/health", "/jobs/{job_id}/cell/{step}", "/jobs/{job_id}/at"}
BESIDE |= {"/v1/jobs/{job}/events", "/v1/uploads/{upload}"}


@dataclass
class Cost:
    """What a page took."""

    queries: int = 0
    rows: int = 0
    size: int = 0
    route: str = ""


def every_page() -> set[str]:
    """The addresses of all pages and of all that the API gives to be read."""
    found = {path for path, methods in described()["paths"].items() if "get" in methods}
    for part in pages.PARTS:
        found |= {item.path for item in part.router.routes if isinstance(item, APIRoute) and "GET" in item.methods}
    return found - BESIDE


@contextmanager
def metered(library: Library, cost: Cost, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Count what is asked of the database, and the rows that it gives."""

    def asked(*_: Any) -> None:
        cost.queries += 1

    def counting(name: str) -> Any:
        plain = getattr(CursorFetchStrategy, name)

        def fetch(self: Any, *arguments: Any, **more: Any) -> Any:
            found = plain(self, *arguments, **more)
            cost.rows += len(found) if isinstance(found, list) else int(found is not None)
            return found

        return fetch

    engine = library.runtime.database.engine
    event.listen(engine, "before_cursor_execute", asked)
    with monkeypatch.context() as patched:
        for name in ("fetchone", "fetchmany", "fetchall"):
            patched.setattr(CursorFetchStrategy, name, counting(name))
        yield
    event.remove(engine, "before_cursor_execute", asked)


def costs(library: Library, monkeypatch: pytest.MonkeyPatch) -> dict[str, Cost]:
    """What every page costs, once what is kept between requests is there."""
    monkeypatch.setattr("workers.faces.views.GOOD_S", 3600.0)  # what is looked at beside the pages is looked at once
    web = make_web(library.runtime, port=PORT)
    web.hands.close()
    with library.runtime.database.read() as rows:
        view = rows.views.get(library.view)
    assert view is not None
    assert web.standings.of(view, wait_s=120) is not None
    app, routes = create_app(web), []

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)
        if "route" in scope:
            routes.append(scope["route"].path)

    client = TestClient(noting, base_url=ADDRESS, follow_redirects=False)
    client.headers["Authorization"] = f"Bearer {make_token(library.runtime.database, name='x', scope='admin')[1]}"
    found = {}
    for name, path in pages_of(library).items():
        client.get(path)
        cost = Cost()
        with metered(library, cost, monkeypatch):
            answer = client.get(path)
        assert answer.status_code == 200, (name, answer.text[:500])
        cost.size = len(answer.content)
        cost.route = routes[-1]
        found[name] = cost
    web.close()
    return found


def check(found: dict[str, Cost]) -> None:
    over = {
        name: cost
        for name, cost in found.items()
        if cost.queries > QUERIES
        or cost.rows > ROWS + ESTIMATED.get(cost.route, 0)
        or (cost.size > BYTES and not name.startswith("API"))
    }
    assert over == {}


def check_that_none_is_left_out(found: dict[str, Cost]) -> None:
    """Every page of the site and every list of the API is among them."""
    routes = {cost.route for cost in found.values()}
    missing = {path for path in every_page() if not any(path.endswith(route) for route in routes if route != "/")}
    assert missing - {"/"} == set()


def test_a_page_of_a_larger_library_asks_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the chunks and documents: as many queries, and as many rows but for lists that were not full yet."""
    made = []
    for name, chunks, documents in (("small", 520, 60), ("large", 1100, 130)):
        (tmp_path / name).mkdir()
        library = build(tmp_path / name, chunks=chunks, documents=documents)
        made.append(costs(library, monkeypatch))
        library.runtime.close()
    small, large = made
    check(small)
    check(large)
    check_that_none_is_left_out(large)
    grown = {
        name: (small[name], large[name])
        for name in small
        if large[name].queries > small[name].queries + 16  # a node's parent is found by halves
        or large[name].rows > max(small[name].rows, SAMPLED.get(name, 0)) + ALLOWED
    }
    assert grown == {}, grown


@pytest.mark.nightly
def test_no_page_over_fifty_thousand_chunks_and_ten_thousand_documents_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = build(tmp_path, chunks=50_000, documents=10_000)
    check(costs(library, monkeypatch))
    library.runtime.close()
