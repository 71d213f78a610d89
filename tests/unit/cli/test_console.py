"""What reaches a terminal: nothing that steers it, and all that a book needs to be read."""

from __future__ import annotations

import pytest

from octavo.cli import console


@pytest.mark.parametrize("mark", ["\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\u200e", "\ufeff"])
def test_what_moves_a_cursor_or_turns_text_around_is_shown_as_an_escape(mark: str) -> None:
    told = console.safe(f"Tom{mark}Bell")
    assert mark not in told
    assert told.startswith("Tom\\")


@pytest.mark.parametrize("joiner", ["\u00ad", "\u200c", "\u200d", "\u2060"])
def test_joiners_and_soft_hyphens_of_a_well_set_book_stay_as_they_are(joiner: str) -> None:
    assert console.safe(f"the army, which{joiner}—as was learned") == f"the army, which{joiner}—as was learned"
