"""The edit behind a chunk's other text: which revision made it, where, and of what kind."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from db.database import Repositories
from db.values import Chunk, Document, Revision
from pipeline.ops.values import Json
from workers.outputs.cite import Sections
from workers.outputs.diff import excerpts


class Edit(StrEnum):
    """What was done to a chunk's text."""

    INSERTED = "text inserted"
    DELETED = "text deleted"
    REPLACED = "text replaced"
    ADDED = "chunk added"
    REMOVED = "chunk removed"
    MOVED = "chunk moved"


def kind_of(before: str, after: str) -> Edit:
    """What was done to a text, judged by what both have at their ends."""
    shorter = min(len(before), len(after))
    head = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), shorter)
    tail = 0
    while tail < shorter - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    if head + tail == len(before):
        return Edit.INSERTED
    return Edit.DELETED if head + tail == len(after) else Edit.REPLACED


class Versions:
    """The texts that the chunks of one document had in its revisions, by one grain."""

    def __init__(self, rows: Repositories, document: Document, chunking_id: int) -> None:
        self._rows = rows
        self.document = document
        self._chunking_id = chunking_id
        self._revisions = rows.documents.revisions(document.id)
        self._pages: dict[int, dict[int, tuple[int, int]]] = {}

    def edit(self, logical_id: UUID, *, was: int | None, now: int | None) -> dict[str, Json]:
        """What happened to a chunk between two revisions (ids; None: it is in no job on that side).

        `{document, what, revision, at, was_revision, section, line, before, after}`: the revision is the one that gave
        it the text it has now, and the line is in that one; of a chunk that is gone, in the last one that had it.
        """
        path = self._path(logical_id, was, now)
        after = path[-1] if path else None
        changed = next((at for at in range(len(path) - 1, 0, -1) if _sha(path[at]) != _sha(path[at - 1])), None)
        if after is None:
            return self._told(Edit.MOVED, None, None)
        if changed is None:
            first = after[1] is not None and was is None
            return self._told(Edit.ADDED if first else Edit.MOVED, None, after)
        before, made = path[changed - 1], path[changed]
        if made[1] is None:
            return self._told(Edit.REMOVED, before, made)
        if before[1] is None:
            return self._told(Edit.ADDED, before, made)
        one, two = (self._text(item[1]) for item in (before, made))
        return self._told(kind_of(one, two), before, made)

    def _path(self, logical_id: UUID, was: int | None, now: int | None) -> list[tuple[Revision, Chunk | None]]:
        """The chunk in each revision that is kept from one to the other, in order."""
        versions = {chunk.page_id: chunk for _, _, chunk in self._rows.chunks.by_logical_id(logical_id)}
        number = {item.id: item.number or 0 for item in self._revisions}
        low, high = number.get(was or 0, 0), number.get(now or 0, max(number.values(), default=0))
        low, high = min(low, high), max(low, high)
        found = []
        for revision in self._revisions:
            if low <= (revision.number or 0) <= high:
                pages = self._places(revision.id)
                found.append((revision, next((versions[page] for page in versions if page in pages), None)))
        return found

    def _places(self, revision_id: int) -> dict[int, tuple[int, int]]:
        """(start, line) of each page of a revision."""
        if revision_id not in self._pages:
            places = self._rows.documents.pages(revision_id, self._chunking_id) or []
            self._pages[revision_id] = {place.page_id: (place.start, place.start_line) for place in places}
        return self._pages[revision_id]

    def _text(self, chunk: Chunk | None) -> str:
        return "" if chunk is None else self._rows.contents.texts([chunk.content_sha256]).get(chunk.content_sha256, "")

    def _told(
        self, what: Edit, before: tuple[Revision, Chunk | None] | None, after: tuple[Revision, Chunk | None] | None
    ) -> dict[str, Json]:
        shown = after if after and after[1] else before
        section, line = self._place(*shown) if shown and shown[1] else ("", None)
        sides = (None, None) if what is Edit.MOVED else (before, after)
        texts = [None if side is None or side[1] is None else self._text(side[1]) for side in sides]
        one, two = excerpts(*texts)
        return {
            "document": self.document.title,
            "what": what,
            "revision": after[0].number if after else None,
            "at": after[0].created_at.isoformat(timespec="seconds") if after else None,
            "was_revision": before[0].number if before else None,
            "section": section,
            "line": line if line is None else line + _lines_before(texts),
            "before": one,
            "after": two,
        }

    def _place(self, revision: Revision, chunk: Chunk | None) -> tuple[str, int]:
        assert chunk is not None
        start, line = self._places(revision.id)[chunk.page_id]
        section = Sections(self._rows.documents.sections(revision.id)).at(start + chunk.start)
        return section.title if section else "", line + chunk.line


def _sha(item: tuple[Revision, Chunk | None]) -> bytes | None:
    return item[1].content_sha256 if item[1] else None


def _lines_before(texts: list[str | None]) -> int:
    """Lines of a chunk in front of the first difference."""
    before, after = texts
    if before is None or after is None:
        return 0
    shorter = min(len(before), len(after))
    first = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), shorter)
    return after.count("\n", 0, first)
