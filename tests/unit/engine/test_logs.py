"""Logs: every line says what it is about, and no line holds a book's text."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.settings import Settings
from tests.unit.engine import makers
from workers import logs
from workers.execute import Executor

SECRET = "Call me Ishmael"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = before
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_carries_what_is_bound_and_what_it_brings(stream: io.StringIO) -> None:
    logs.set_up(Settings(log_format="json", log_level="INFO"), stream)
    with logs.bound(job="j", task=7):
        with logs.bound(attempt=2, document="d"):
            logging.getLogger("some.library").info("asked %s again", "it", extra={"op": "summarize"})
        logging.getLogger("octavo").warning("left")
    logging.getLogger("octavo").warning("alone")
    first, second, third = lines(stream)
    assert first | {"at": 0} == {
        "at": 0, "level": "info", "logger": "some.library", "event": "asked it again",
        "job": "j", "task": 7, "attempt": 2, "document": "d", "op": "summarize",
    }  # fmt: skip
    assert (second["task"], second.get("attempt")) == (7, None)
    assert "job" not in third


def test_what_one_thread_binds_no_other_carries(stream: io.StringIO) -> None:
    logs.set_up(Settings(log_format="json"), stream)
    with logs.bound(job="mine"):
        thread = threading.Thread(target=lambda: logging.getLogger("x").warning("other"))
        thread.start()
        thread.join()
    assert "job" not in lines(stream)[0]


def test_an_exceptions_words_are_not_told_and_its_place_is(stream: io.StringIO) -> None:
    logs.set_up(Settings(log_format="json"), stream)
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("x").exception("failed")
    assert SECRET not in stream.getvalue()
    found = lines(stream)[0]
    assert found["error"] == "ValueError"
    assert "test_logs.py" in found["raised_at"][-1]


def test_a_line_for_people_is_one_line_whatever_is_in_it(stream: io.StringIO) -> None:
    logs.set_up(Settings(), stream)
    with logs.bound(job="j"):
        logging.getLogger("x").warning("two\nlines \x1b[31m %s", "\u202e")
    said = stream.getvalue()
    assert said.count("\n") == 1
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert said.rstrip().endswith("job=j")


def test_a_call_is_made_with_its_job_task_and_attempt_bound(stream: io.StringIO) -> None:
    logs.set_up(Settings(log_format="json"), stream)
    work = makers.work(7)
    Executor(None, lambda _: logging.getLogger("op").warning("handed over")).run(work)  # type: ignore[arg-type]
    found = lines(stream)[-1]
    assert {name: found[name] for name in ("job", "task", "attempt")} == {
        "job": str(work.step.job_id),
        "task": work.claim.id,
        "attempt": work.claim.attempt,
    }
