"""Lists of a few, of what may be many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Consecutive lists of at most `size` items (itertools.batched, which Python 3.11 has not)."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
