"""Alignment: ids are unique, and unchanged text keeps its id wherever it moved (DESIGN §7)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from pipeline.align import Arrived, Known, align
from pipeline.ids import uuid7

texts = st.lists(st.sampled_from("abcdefgh") | st.text(min_size=1, max_size=2), max_size=14)


def sha(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def known(*names: str) -> list[Known]:
    return [Known(UUID(int=number + 1), sha(name)) for number, name in enumerate(names)]


def arrived(names: Iterable[str]) -> list[Arrived]:
    return [Arrived(sha(name)) for name in names]


def numbers(before: list[Known], after: str) -> list[int | None]:
    """Which of the earlier chunks each of the new ones is, counted from 1."""
    found = align(before, arrived(after.split()))
    return [None if item is None else item.int for item in found.ids]


@given(before=texts, after=texts)
def test_no_id_is_given_twice_and_every_one_is_an_earlier_chunks(before: list[str], after: list[str]) -> None:
    ids = [item for item in align(known(*before), arrived(after)).ids if item]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= {UUID(int=number + 1) for number in range(len(before))}


@given(before=texts, after=texts)
def test_unchanged_text_keeps_an_id_of_that_text_wherever_it_moved(before: list[str], after: list[str]) -> None:
    earlier = known(*before)
    text_of = {item.logical_id: item.content_sha256 for item in earlier}
    ids = align(earlier, arrived(after)).ids
    kept = Counter(text for text, item in zip(after, ids, strict=True) if item and text_of[item] == sha(text))
    assert kept == Counter(before) & Counter(after)


@given(before=texts, after=texts)
def test_the_counts_add_up(before: list[str], after: list[str]) -> None:
    found = align(known(*before), arrived(after))
    assert found.kept + found.edited + found.moved + found.added == len(after)
    assert found.kept + found.edited + found.moved + found.removed == len(before)
    assert sum(item is None for item in found.ids) == found.added
    assert min(found.report().values()) >= 0


@given(texts)
def test_nothing_changed_means_everything_kept_in_order(same: list[str]) -> None:
    found = align(known(*same), arrived(same))
    assert found.ids == tuple(UUID(int=number + 1) for number in range(len(same)))
    assert found.report() == {"kept": len(same), "edited": 0, "moved": 0, "added": 0, "removed": 0}


def test_an_edited_chunk_between_two_unchanged_ones_keeps_its_id() -> None:
    assert numbers(known("a", "b", "c"), "a x c") == [1, 2, 3]


def test_an_inserted_chunk_is_new_and_an_appended_one_too() -> None:
    assert numbers(known("a", "b"), "a n b m") == [1, None, 2, None]


def test_a_chapter_moved_to_the_front_keeps_its_id_and_counts_as_moved() -> None:
    found = align(known("a", "b", "c", "d"), arrived("dabc"))
    assert [item.int for item in found.ids if item] == [4, 1, 2, 3]
    assert (found.kept, found.moved) == (3, 1)


def test_repeated_texts_keep_theirs_beside_a_unique_one_and_the_others_are_taken_in_order() -> None:
    assert numbers(known("r", "a", "r", "r"), "r a r") == [1, 2, 3]
    assert numbers(known("r", "a", "r", "r"), "r r a") == [3, 1, 2]  # the one before `a` is the one before `a`
    assert numbers(known("r", "r", "r"), "r r") == [1, 2]


def test_the_unique_neighbours_of_repeated_texts_say_which_of_them_is_gone() -> None:
    before = known("a", "r", "b", "r", "c", "r", "d")
    assert numbers(before, "a r b c r d") == [1, 2, 3, 5, 6, 7]


STORIES = {
    "fox": "The fox crossed the frozen river at dawn and left one line of prints behind it.",
    "fox, edited": "The old fox crossed the frozen river at dawn and left a line of prints behind.",
    "miller": "Nobody had seen the miller since the night on which the great wheel stopped turning.",
    "miller, edited": "Nobody had seen the miller since the windy night on which the wheel stopped.",
    "new": "Eleven boats came in on Tuesday, and not one of them had a lantern lit.",
    "other": "Zinc, quartz, jasper: 1, 2, 3!",
}


def by_text(before: str, after: str) -> list[int | None]:
    """As `numbers`, with texts to compare: stories by name, anything else as itself."""
    texts = {sha(name): STORIES.get(name, name) for name in [*before.split("|"), *after.split("|")]}
    found = align(known(*before.split("|")), arrived(after.split("|")), lambda hashes: {h: texts[h] for h in hashes})
    return [None if item is None else item.int for item in found.ids]


def test_between_two_neighbours_an_edited_text_is_found_by_its_likeness_and_not_by_its_place() -> None:
    assert by_text("a|fox|z", "a|new|fox, edited|z") == [1, None, 2, 3]
    assert by_text("a|fox|miller|z", "a|miller, edited|z") == [1, 3, 4]
    assert by_text("a|fox|miller|z", "a|fox, edited|new|miller, edited|z") == [1, 2, None, 3, 4]


def test_an_edited_text_that_also_moved_is_found_where_it_went() -> None:
    assert by_text("fox|a|b|c", "a|b|c|fox, edited") == [2, 3, 4, 1]


def test_one_text_in_the_place_of_another_is_that_chunk_edited_however_unlike() -> None:
    assert by_text("a|fox|z", "a|other|z") == [1, 2, 3]


def test_a_shared_run_is_a_neighbour_and_counts_with_all_its_chunks() -> None:
    run, tail = Known(None, b"run", 40, run=True), Known(None, b"tail", 2, run=True)
    before = [*known("a"), run, Known(UUID(int=9), sha("b")), tail]
    found = align(before, [Arrived(b"run", 40, run=True), Arrived(sha("x")), Arrived(b"tail", 2, run=True)])
    assert [item and item.int for item in found.ids] == [None, 9, None]
    assert found.report() == {"kept": 42, "edited": 1, "moved": 0, "added": 0, "removed": 1}


def test_of_two_runs_that_changed_places_the_lighter_one_counts_as_moved() -> None:
    heavy, light = Known(None, b"h", 30, run=True), Known(None, b"l", 3, run=True)
    found = align([heavy, light], [Arrived(b"l", 3, run=True), Arrived(b"h", 30, run=True)])
    assert (found.kept, found.moved) == (30, 3)


def test_a_wholly_rewritten_book_is_aligned_without_comparing_everything_with_everything() -> None:
    asked: list[bytes] = []

    def texts(hashes: Sequence[bytes]) -> dict[bytes, str]:
        asked.extend(hashes)
        return {sha: sha.hex() for sha in hashes}

    many = [f"old {number}" for number in range(3000)]
    found = align(known(*many), arrived(f"new {number}" for number in range(2900)), texts)
    assert found.edited == 2900
    assert found.removed == 100
    assert len(asked) < 100


def test_several_edits_side_by_side_are_paired_in_order_and_the_rest_is_new() -> None:
    assert numbers(known("a", "b", "c", "z"), "a x y w z") == [1, 2, 3, None, 4]


def test_time_ordered_ids_are_of_version_seven_and_do_not_repeat() -> None:
    made = [uuid7() for _ in range(2000)]
    assert len(set(made)) == 2000
    assert {(item.version, item.variant) for item in made} == {(7, "specified in RFC 4122")}
    assert [item.int >> 80 for item in made] == sorted(item.int >> 80 for item in made)
