"""Tables on a terminal: words of a person, not of Python."""

from __future__ import annotations

import pytest

from octavo.cli import console


def test_what_is_not_there_is_an_empty_cell(capsys: pytest.CaptureFixture[str]) -> None:
    """A document that is being read has no revision and no chunks yet."""
    console.table(("title", "revision", "chunks", "holes"), [["the book", None, [], 0], ["another", 2, [12, 30], 1]])
    first, second = capsys.readouterr().out.splitlines()[1:]
    assert first.split() == ["the", "book", "0"]
    assert second.split() == ["another", "2", "12,", "30", "1"]
