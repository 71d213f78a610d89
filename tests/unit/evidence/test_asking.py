"""What an answer is worth: its citations are checked against what was shown."""

from __future__ import annotations

import pytest

from pipeline.errors import UsageError
from pipeline.evidence import plot
from pipeline.evidence.asking import NOT_THERE, judged, quoted
from pipeline.evidence.budget import Budget
from pipeline.evidence.bundle import Source

TEXT = "The keeper was Marren.\nShe filled the lamp with whale oil every evening.\n\nThe boat was late."


def source(marker: str, text: str = TEXT) -> Source:
    return Source(
        chunk="c", document="d", title="T", section="s", start_line=10, end_line=13, text=text, score=1.0, marker=marker
    )


def test_citations_are_told_from_those_of_sources_that_were_not_shown() -> None:
    found = judged("Marren [S1]. With oil [S2, S9] and [S1][S12].", [source("S1"), source("S2")])
    assert (found.cited, found.unknown, found.sufficient) == (("S1", "S2"), ("S9", "S12"), True)


@pytest.mark.parametrize("answer", ["I think Marren.", f"{NOT_THERE}.", "Not in the sources [S1]", "", "It was [S7]."])
def test_an_answer_that_rests_on_nothing_does_not_suffice(answer: str) -> None:
    assert not judged(answer, [source("S1")]).sufficient


def test_an_extractive_answer_is_a_sentence_of_a_source_with_its_own_lines() -> None:
    text, quotes = quoted("What is the lamp filled with?", [source("S1")])
    assert text == "She filled the lamp with whale oil every evening. [S1]"
    assert [(quote.start_line, quote.end_line) for quote in quotes] == [(11, 11)]
    assert judged(text, [source("S1")]).sufficient


def test_an_extractive_answer_says_when_no_sentence_tells() -> None:
    text, quotes = quoted("Which emperor burned the library?", [source("S1")])
    assert (text, quotes) == (NOT_THERE, [])


def test_a_window_without_room_says_what_takes_it() -> None:
    assert Budget(window=4096, fixed=200, reserve=1024, safety=64).evidence == 2808
    with pytest.raises(UsageError) as caught:
        _ = Budget(window=1024, fixed=200, reserve=1024, safety=0).evidence
    assert "200" in (caught.value.cause or "")


def test_a_plot_holds_every_measured_budget() -> None:
    rows = [
        {"budget": 160, "request_tokens": 300, "seconds": 1.5},
        {"budget": 640, "request_tokens": 800, "seconds": None},
    ]
    made = plot.svg("Who & <what>?", rows)
    assert "Who &amp; &lt;what&gt;?" in made
    assert made.count("<circle") == 3
    assert ">160<" in made
    assert ">640<" in made
