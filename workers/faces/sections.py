"""Sections of revisions, kept between requests: they never change, and a book has tens of thousands."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from weakref import WeakValueDictionary

from db.sections import StoredSections

MOST = 200_000  # sections, of the revisions that were asked for last


class KeptSections(MutableMapping[int, StoredSections]):
    """By revision: those that somebody holds, and the latest asked for. Safe to use from many threads."""

    def __init__(self, most: int = MOST) -> None:
        self._held: WeakValueDictionary[int, StoredSections] = WeakValueDictionary()
        self._latest: OrderedDict[int, StoredSections] = OrderedDict()
        self._most = most
        self._count = 0
        self._turn = threading.RLock()

    def __getitem__(self, revision_id: int) -> StoredSections:
        with self._turn:
            found = self._held[revision_id]
            self._touch(revision_id, found)
        return found

    def __setitem__(self, revision_id: int, found: StoredSections) -> None:
        with self._turn:
            self._held[revision_id] = found
            self._touch(revision_id, found)

    def _touch(self, revision_id: int, found: StoredSections) -> None:
        if revision_id not in self._latest:
            self._count += len(found)
        self._latest[revision_id] = found
        self._latest.move_to_end(revision_id)
        while self._count > self._most and len(self._latest) > 1:
            self._count -= len(self._latest.popitem(last=False)[1])

    def __delitem__(self, revision_id: int) -> None:
        with self._turn:
            gone = self._latest.pop(revision_id, None)
            self._count -= len(gone) if gone is not None else 0
            del self._held[revision_id]

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._held))

    def __len__(self) -> int:
        return len(self._held)
