"""Alignment: ids are unique, and unchanged text keeps its id wherever it moved (DESIGN §7)."""

from __future__ import annotations

import hashlib
from collections import Counter
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from pipeline.align import Known, align
from pipeline.ids import uuid7

texts = st.lists(st.sampled_from("abcdefgh") | st.text(min_size=1, max_size=2), max_size=14)


def sha(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def known(*names: str) -> list[Known]:
    return [Known(UUID(int=number + 1), sha(name)) for number, name in enumerate(names)]


def numbers(before: list[Known], after: str) -> list[int | None]:
    """Which of the earlier chunks each of the new ones is, counted from 1."""
    found = align(before, [sha(name) for name in after.split()])
    return [None if item is None else item.int for item in found.ids]


@given(before=texts, after=texts)
def test_no_id_is_given_twice_and_every_one_is_an_earlier_chunks(before: list[str], after: list[str]) -> None:
    ids = [item for item in align(known(*before), [sha(text) for text in after]).ids if item]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= {UUID(int=number + 1) for number in range(len(before))}


@given(before=texts, after=texts)
def test_unchanged_text_keeps_an_id_of_that_text_wherever_it_moved(before: list[str], after: list[str]) -> None:
    earlier = known(*before)
    text_of = {item.logical_id: item.content_sha256 for item in earlier}
    ids = align(earlier, [sha(text) for text in after]).ids
    kept = Counter(text for text, item in zip(after, ids, strict=True) if item and text_of[item] == sha(text))
    assert kept == Counter(before) & Counter(after)


@given(before=texts, after=texts)
def test_the_counts_add_up(before: list[str], after: list[str]) -> None:
    found = align(known(*before), [sha(text) for text in after])
    assert found.kept + found.edited + found.moved + found.added == len(after)
    assert found.kept + found.edited + found.moved + found.removed == len(before)
    assert sum(item is None for item in found.ids) == found.added
    assert min(found.report().values()) >= 0


@given(texts)
def test_nothing_changed_means_everything_kept_in_order(same: list[str]) -> None:
    found = align(known(*same), [sha(text) for text in same])
    assert found.ids == tuple(UUID(int=number + 1) for number in range(len(same)))
    assert found.report() == {"kept": len(same), "edited": 0, "moved": 0, "added": 0, "removed": 0}


def test_an_edited_chunk_between_two_unchanged_ones_keeps_its_id() -> None:
    assert numbers(known("a", "b", "c"), "a x c") == [1, 2, 3]


def test_an_inserted_chunk_is_new_and_an_appended_one_too() -> None:
    assert numbers(known("a", "b"), "a n b m") == [1, None, 2, None]


def test_a_chapter_moved_to_the_front_keeps_its_id_and_counts_as_moved() -> None:
    found = align(known("a", "b", "c", "d"), [sha(text) for text in "dabc"])
    assert [item.int for item in found.ids if item] == [4, 1, 2, 3]
    assert (found.kept, found.moved) == (3, 1)


def test_repeated_texts_are_taken_in_order() -> None:
    assert numbers(known("r", "a", "r", "r"), "r r a") == [1, 3, 2]


def test_several_edits_side_by_side_are_paired_in_order_and_the_rest_is_new() -> None:
    assert numbers(known("a", "b", "c", "z"), "a x y w z") == [1, 2, 3, None, 4]


def test_time_ordered_ids_are_of_version_seven_and_do_not_repeat() -> None:
    made = [uuid7() for _ in range(2000)]
    assert len(set(made)) == 2000
    assert {(item.version, item.variant) for item in made} == {(7, "specified in RFC 4122")}
    assert [item.int >> 80 for item in made] == sorted(item.int >> 80 for item in made)
