"""What changed between two revisions of a document, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from db.database import Database, Repositories
from db.values import Chunk, Document, PagePlace, Revision
from pipeline.align import in_order
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from workers.ingest.ingest import Cutting, recut
from workers.outputs.cite import Sections

AROUND = 24  # characters shown before what differs
SHOWN = 100  # characters of a text


@dataclass(frozen=True, kw_only=True, slots=True)
class _Item:
    """A chunk of one side, or a page that both sides have, as one."""

    identity: UUID | int
    place: PagePlace
    chunk: Chunk | None  # None: a page
    ordinal: int

    @property
    def weight(self) -> int:
        return 1 if self.chunk else self.place.chunk_count

    @property
    def start(self) -> int:
        return self.place.start + (self.chunk.start if self.chunk else 0)

    @property
    def line(self) -> int:
        return self.place.start_line + (self.chunk.line if self.chunk else 0)


def two_revisions(rows: Repositories, document: Document, before: int | None, after: int | None) -> list[Revision]:
    """The revisions of these numbers; without numbers the last two. Raises NotFoundError."""
    found = {item.number: item for item in rows.documents.revisions(document.id)}
    numbers = sorted(number for number in found if number)
    if before is None and after is None and len(numbers) < 2:
        raise NotFoundError(
            f"Document {document.title!r} has one revision", hint="edit its file, and octavo ingest makes the next"
        )
    new = numbers[-1] if after is None else after
    old = max((number for number in numbers if number < new), default=None) if before is None else before
    if old is None:
        raise NotFoundError(f"Document {document.title!r} has no revision before {new}")
    for number in (old, new):
        if number not in found:
            kept = ", ".join(map(str, numbers))
            raise NotFoundError(f"Document {document.title!r} has no revision {number}", hint=f"it has {kept}")
    return [found[old], found[new]]


def common_chunking(rows: Repositories, revisions: Sequence[Revision]) -> int:
    """The latest grain that cut both revisions. Raises NotFoundError."""
    sides = [{chunking_id for chunking_id, *_ in rows.documents.chunkings(item.id)} for item in revisions]
    both = set.intersection(*sides)
    if not both:
        raise NotFoundError("No grain cut both revisions", hint="the same octavo ingest --limit N cuts both")
    return max(both)


def cut_alike(
    database: Database, document: Document, revisions: Sequence[Revision], cutting_of: Callable[[Json], Cutting]
) -> int:
    """The latest grain that cut both revisions. Where none did (the splitter is a newer one, or the limit another) the
    one is cut as the other was, from its stored text. `cutting_of` gives what cuts by a grain's policy.

    Raises NotFoundError when it can not be cut like that any more.
    """
    with database.read() as rows:
        try:
            return common_chunking(rows, revisions)
        except NotFoundError:
            found = [
                (rows.chunks.policy(chunking_id), chunking_id, other)
                for one, other in (reversed(revisions), revisions)
                for chunking_id, *_ in reversed(rows.documents.chunkings(one.id))
            ]
    for policy, chunking_id, other in found:
        cutting = cutting_of(policy)
        if cutting.policy() == policy:
            recut(database, document, other, cutting)
            return chunking_id
    raise NotFoundError("No grain cut both revisions", hint="the same octavo ingest --limit N cuts both")


def diff(
    rows: Repositories, document: Document, revisions: Sequence[Revision], chunking_id: int, *, most: int | None = None
) -> dict[str, Json]:
    """`{document, from, to, counts, changes: [{what, chunk, chunks, section, start_line, was_line, before, after}]}`.

    In reading order of the later revision, then what was removed. `before` and `after` are texts about the first
    difference. `what` is edited, moved, added or removed; a moved page is one change of several `chunks`. With `most`
    no more changes than that are told, and `more` says how many are left out.
    """
    places = [rows.documents.pages(item.id, chunking_id) or [] for item in revisions]
    shared = {place.page_id for place in places[0]} & {place.page_id for place in places[1]}
    old, new = (list(_items(rows, side, shared)) for side in places)
    at_old = {item.identity: at for at, item in enumerate(old)}
    match = {at: at_old[item.identity] for at, item in enumerate(new) if item.identity in at_old}
    still = set(in_order(match, lambda at: new[at].weight))
    sections = [Sections(rows.documents.sections(item.id)) for item in revisions]
    counts = dict.fromkeys(("kept", "edited", "moved", "added", "removed"), 0)
    noted: list[tuple[str, _Item | None, _Item | None, Sections]] = []
    for at, item in enumerate(new):
        was = old[match[at]] if at in match else None
        what = _what(item, was, at in still)
        counts[what] += item.weight
        if what != "kept":
            noted.append((what, item, was, sections[1]))
    for at in sorted(set(range(len(old))) - set(match.values())):
        counts["removed"] += old[at].weight
        noted.append(("removed", None, old[at], sections[0]))
    changes = [_change(rows, *found) for found in noted[:most]]
    more: dict[str, Json] = {} if most is None else {"more": len(noted) - len(changes)}
    return more | {
        "document": document.title,
        "from": revisions[0].number,
        "to": revisions[1].number,
        "counts": counts,
        "changes": changes,
    }


def _items(rows: Repositories, places: Sequence[PagePlace], shared: set[int]) -> Iterator[_Item]:
    own = [place.page_id for place in places if place.page_id not in shared]
    chunks: dict[int, list[Chunk]] = {}
    for chunk in rows.chunks.of_pages(own):
        chunks.setdefault(chunk.page_id, []).append(chunk)
    ordinal = 0
    for place in places:
        if place.page_id in shared:
            yield _Item(identity=place.page_id, place=place, chunk=None, ordinal=ordinal)
            ordinal += place.chunk_count
        for chunk in chunks.get(place.page_id, ()):
            yield _Item(identity=chunk.logical_id, place=place, chunk=chunk, ordinal=ordinal)
            ordinal += 1


def _what(item: _Item, was: _Item | None, still: bool) -> str:
    if was is None:
        return "added"
    if item.chunk and was.chunk and item.chunk.content_sha256 != was.chunk.content_sha256:
        return "edited"
    return "kept" if still else "moved"


def _change(
    rows: Repositories, what: str, item: _Item | None, was: _Item | None, sections: Sections
) -> dict[str, Json]:
    shown = item or was
    assert shown is not None
    section = sections.at(shown.start)
    before, after = excerpts(_text(rows, was), _text(rows, item))
    return {
        "what": what,
        "chunk": str(shown.chunk.logical_id) if shown.chunk else None,
        "ordinal": shown.ordinal,
        "chunks": shown.weight,
        "section": section.title if section else "",
        "start_line": item.line if item else None,
        "was_line": was.line if was else None,
        "before": before,
        "after": after,
    }


def _text(rows: Repositories, item: _Item | None) -> str | None:
    if item is None or item.chunk is None:
        return None
    sha = item.chunk.content_sha256
    return rows.contents.texts([sha]).get(sha, "")


def excerpts(before: str | None, after: str | None) -> tuple[str | None, str | None]:
    """Two texts about their first difference; of one alone its beginning."""
    if before is None or after is None or before == after:
        return (None if before is None else before[:SHOWN]), (None if after is None else after[:SHOWN])
    shorter = min(len(before), len(after))
    first = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), shorter)
    start = max(0, first - AROUND)
    tail = 0
    while tail < shorter - first and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return tuple(  # type: ignore[return-value]
        ("…" if start else "") + text[start : max(first, len(text) - tail) + AROUND][:SHOWN] for text in (before, after)
    )
