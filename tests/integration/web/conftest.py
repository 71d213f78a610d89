"""The application over a laboratory: its guards, API and pages, in this process and without a server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from octavo.web.app import create_app
from octavo.web.state import Web, make_web
from tests.integration.conftest import Laboratory, write_novel
from workers.faces.tokens import make_token

PORT = 8321
ADDRESS = f"http://127.0.0.1:{PORT}"
_words = itertools.count()

GLOSSARY = """
name = "glossary"
[grain]
limit = 400
[[step]]
name = "extract"
kind = "map"
op = "extract"
[[step]]
name = "merge"
kind = "merge"
op = "glossary"
"""
SUMMARY = """
name = "summary"
[grain]
limit = 400
[[step]]
name = "summarize"
kind = "map"
op = "summarize"
params = { sentences = 3 }
[[step]]
name = "fold"
kind = "fold"
op = "fold_summary"
params = { sentences = 3, top_sentences = 5 }
"""
PROBE = """
name = "probe"
[grain]
limit = 400
[[step]]
name = "map"
kind = "map"
op = "probe"
attempts = 1
"""


@dataclass
class Site:
    """The application with tokens of every scope. Nobody works on jobs: a test does, by the laboratory."""

    lab: Laboratory
    web: Web
    app: FastAPI
    tokens: dict[str, str] = field(default_factory=dict)

    def client(self, scope: str | None = "admin", **headers: str) -> TestClient:
        """A program that shows a token of a scope; None: shows nothing."""
        made = TestClient(self.app, base_url=ADDRESS, raise_server_exceptions=False, follow_redirects=False)
        if scope is not None:
            made.headers["Authorization"] = f"Bearer {self.token(scope)}"
        made.headers.update(headers)
        return made

    def token(self, scope: str) -> str:
        if scope not in self.tokens:
            self.tokens[scope] = make_token(self.lab.database, name=scope, scope=scope)[1]
        return self.tokens[scope]

    def browser(self) -> TestClient:
        """A browser that has entered by a launch code."""
        made = self.client(None, **{"Sec-Fetch-Site": "same-origin", "Accept": "text/html"})
        entered = made.post("/enter", data={"secret": self.web.codes.make()})
        assert entered.status_code == 303
        return made

    def get(self, path: str, **parameters: Any) -> Any:
        """A JSON answer of the API; it must be good."""
        answer = self.client().get(path, params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def walk(self, path: str, **parameters: Any) -> list[Any]:
        """All items of a list, part by part."""
        found: list[Any] = []
        cursor = None
        while True:
            page = self.get(path, **parameters, **({"cursor": cursor} if cursor else {}))
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found


def key() -> dict[str, str]:
    """A new Idempotency-Key."""
    return {"Idempotency-Key": f"word-{next(_words)}"}


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The problem document of an answer, which must be one (RFC 9457) of this status."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    assert found["type"].startswith("urn:octavo:")
    assert found["title"]
    assert found["detail"]
    return found


_made: list[FastAPI] = []


def _site(lab: Laboratory) -> Site:
    web = make_web(lab.main, port=PORT, overrides={"database_url": lab.url, "state": lab.main.settings.state})
    web.hands.close()
    if not _made:
        _made.append(create_app(web))  # takes a third of a second: made once, and given the parts of each test
    _made[0].state.web = web
    return Site(lab, web, _made[0])


@pytest.fixture
def site(sqlite_lab: Laboratory) -> Iterator[Site]:
    """The application over SQLite."""
    made = _site(sqlite_lab)
    yield made
    made.web.close()


@pytest.fixture
def either_site(lab: Laboratory) -> Iterator[Site]:
    """The application over each database."""
    made = _site(lab)
    yield made
    made.web.close()


@pytest.fixture
def novel_site(site: Site) -> Site:
    """With one novel of twelve chapters in it, and its summary and glossary."""
    book = site.lab.book(write_novel(12), "novel.txt")
    site.lab.run(SUMMARY, book)
    site.lab.run(GLOSSARY, book)
    return site


__all__ = ["GLOSSARY", "PROBE", "SUMMARY", "Site", "key", "problem", "write_novel"]
