"""Four bounds make a grain: the coarsest inside them, and a plain word where they contradict each other."""

from __future__ import annotations

import pytest

from pipeline.advice import Bound, Question, advise, rounded, spread


def sees(tokens: int) -> Bound:
    return Bound(question=Question.SEES, step="map", least=tokens, reason="")


def fits(tokens: int) -> Bound:
    return Bound(question=Question.FITS, step="map", most=tokens, reason="")


def changes(tokens: int) -> Bound:
    return Bound(question=Question.CHANGES, step=None, most=tokens, reason="")


@pytest.mark.parametrize(
    ("bounds", "limit", "decides", "conflict"),
    [
        ([sees(300), fits(8000), changes(1955)], 1900, Question.CHANGES, None),
        ([sees(300), fits(700), changes(1955)], 700, Question.FITS, None),
        ([sees(1930), fits(8000), changes(1955)], 1930, Question.CHANGES, None),
        ([sees(650), fits(8000), changes(400)], 650, Question.SEES, "changes alone (400)"),
        ([sees(650), fits(512), changes(400)], 510, Question.FITS, "cut between sentences"),
        ([sees(650), sees(20), changes(2000)], 2000, Question.CHANGES, None),
    ],
)
def test_the_coarsest_grain_inside_the_bounds(
    bounds: list[Bound], limit: int, decides: Question, conflict: str | None
) -> None:
    found = advise(bounds)
    assert (found.limit, found.decided_by.question) == (limit, decides)
    assert (found.conflict is None) == (conflict is None)
    assert conflict is None or conflict in (found.conflict or "")


def test_limits_are_rounded_down_to_two_figures() -> None:
    assert [rounded(tokens) for tokens in (0, 7, 99, 108, 1955, 25_999)] == [1, 7, 99, 100, 1900, 25_000]


def test_a_spread_is_of_nearest_ranks() -> None:
    found = spread(range(1, 201))
    assert (found.count, found.p50, found.p99, found.most) == (200, 100, 198, 200)
    assert spread([5]).p99 == 5
    assert spread([]).most == 0
