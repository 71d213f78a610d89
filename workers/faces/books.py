"""Documents, their sections, chunks and text, a window at a time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from uuid import UUID

from db.database import Repositories
from db.layout import unpack
from db.listed import DocumentLine, JobLine
from db.values import Chunk, Document, PagePlace, Revision
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from pipeline.states import TASK_OPEN

WINDOW_LINES = 400
WINDOW_BYTES = 56_000  # of a window at most as UTF-8, however long its lines are: a page stays below 150 kB
BATCH_CHUNKS = 128  # asked for at once for a window of lines
LINES_BEFORE = 12  # shown above a cited line


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """Where the sections and pages of one revision stand: never changes, so it is kept."""

    section_ids: list[int]
    parents: list[int]
    starts: list[int]
    ends: list[int]
    start_lines: list[int]
    end_lines: list[int]
    places: list[PagePlace]
    page_starts: list[int]
    page_lines: list[int]
    page_ends: list[int]  # chunks up to the end of each page
    chunking_id: int

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return self.page_ends[-1] if self.page_ends else 0

    @property
    def ends_at(self) -> int:
        """The offset at which the last section ends: as good as the length of the text."""
        return max(self.ends, default=0) or 1 << 62

    def section_at(self, offset: int) -> int | None:
        """The ordinal of the innermost section at an offset."""
        found = bisect_right(self.starts, offset) - 1
        return found if found >= 0 else None

    def path(self, section: int | None) -> list[int]:
        """A section and those it lies in, the outermost first."""
        path: list[int] = []
        while section is not None and section >= 0 and section not in path:
            path.insert(0, section)
            section = self.parents[section]
        return path


class Shapes:
    """Shapes by revision and chunking, the latest used kept."""

    def __init__(self, most: int = 64) -> None:
        self._cached = lru_cache(maxsize=most)(_Made)

    def of(self, rows: Repositories, revision_id: int, chunking_id: int | None = None) -> Shape:
        """The shape of a revision as a grain cut it (None: the one with most chunks). Raises NotFoundError."""
        if chunking_id is None:
            chunkings = rows.documents.chunkings(revision_id)
            if not chunkings:
                raise NotFoundError("This revision has no chunks", hint="octavo ingest BOOK cuts it")
            chunking_id = max(chunkings, key=lambda row: (row[1], -row[0]))[0]
        made = self._cached(revision_id, chunking_id)
        return made.shape(rows)


class _Made:
    def __init__(self, revision_id: int, chunking_id: int) -> None:
        self._ids = (revision_id, chunking_id)
        self._shape: Shape | None = None

    def shape(self, rows: Repositories) -> Shape:
        if self._shape is None:
            self._shape = _shape(rows, *self._ids)
        return self._shape


def _shape(rows: Repositories, revision_id: int, chunking_id: int) -> Shape:
    places = rows.documents.pages(revision_id, chunking_id)
    if places is None:
        raise NotFoundError("This revision was not cut by that grain")
    layout = rows.lists.layout(revision_id)
    columns = unpack(layout, 6) if layout else [[], [], [], [], [], []]
    return Shape(
        section_ids=columns[0],
        parents=columns[1],
        starts=columns[2],
        ends=columns[3],
        start_lines=columns[4],
        end_lines=columns[5],
        places=places,
        page_starts=[place.start for place in places],
        page_lines=[place.start_line for place in places],
        page_ends=list(accumulate(place.chunk_count for place in places)),
        chunking_id=chunking_id,
    )


def documents(rows: Repositories, found: Sequence[DocumentLine]) -> list[dict[str, Json]]:
    """Documents in a list, each with its size and latest job."""
    counts = rows.lists.chunk_counts([line.revision_id for line in found if line.revision_id is not None])
    latest = rows.lists.latest_jobs([line.id for line in found])
    jobs = {job.id: job for job in rows.lists.jobs(limit=len(found), ids=list(latest.values()))} if latest else {}
    states = rows.lists.task_states(list(jobs)) if jobs else {}
    spent = rows.lists.spent(list(jobs)) if jobs else {}
    return [
        {
            "id": str(line.id),
            "title": line.title,
            "uri": line.uri,
            "media_type": line.media_type,
            "collection": line.collection,
            "created_at": line.created_at.isoformat(),
            "revision": line.revision,
            "characters": line.char_count,
            "lines": line.line_count,
            "chunks": counts.get(line.revision_id or 0, (0, 0))[0],
            "tokens": counts.get(line.revision_id or 0, (0, 0))[1],
            "latest_job": _latest(latest.get(line.id), jobs, states, spent),
        }
        for line in found
    ]


def _latest(
    job_id: UUID | None,
    jobs: dict[UUID, JobLine],
    states: dict[UUID, dict[str, int]],
    spent: dict[UUID, tuple[int, int, int]],
) -> Json:
    job = jobs.get(job_id) if job_id else None
    if job is None:
        return None
    counts = states.get(job.id, {})
    tasks = sum(counts.values())
    return {
        "id": str(job.id),
        "pipeline": job.pipeline,
        "state": str(job.state),
        "tasks": tasks,
        "done": tasks - sum(counts.get(state, 0) for state in TASK_OPEN),
        "holes": counts.get("failed", 0),
        "cost_micros": spent.get(job.id, (0, 0, 0))[2],
    }


def get_document(rows: Repositories, document_id: UUID) -> Document:
    """A document. Raises NotFoundError."""
    found = rows.documents.get(document_id)
    if found is None:
        raise NotFoundError(f"There is no document {document_id}")
    return found


def get_revision(rows: Repositories, document: Document, number: int | None) -> Revision:
    """A revision of a document by number; None: the current one. Raises NotFoundError."""
    if number is None:
        if document.current is None:
            raise NotFoundError(
                f"Document {document.title!r} has not been read yet", hint="octavo ingest BOOK reads it"
            )
        return document.current
    found = rows.lists.revisions(document.id, limit=1, before=number + 1)
    if not found or found[0].number != number:
        raise NotFoundError(f"Document {document.title!r} has no revision {number}")
    return found[0]


def revision_rows(rows: Repositories, found: Sequence[Revision]) -> list[dict[str, Json]]:
    """Revisions for a list, each with what became of the chunks of the one before."""
    reports = rows.lists.reports([revision.id for revision in found]) if found else {}
    return [_revision_row(revision) | {"changes": reports.get(revision.id, {})} for revision in found]


def _revision_row(revision: Revision) -> dict[str, Json]:
    return {
        "revision": revision.number,
        "state": str(revision.state),
        "created_at": revision.created_at.isoformat(),
        "encoding": revision.encoding,
        "reader": f"{revision.reader}/{revision.reader_version}",
        "characters": revision.char_count,
        "lines": revision.line_count,
        "source_bytes": revision.source_size,
        "source_sha256": revision.source_sha256.hex(),
        "text_sha256": revision.text_sha256.hex(),
        "warnings": revision.warnings[:100],
    }


def sections(rows: Repositories, shape: Shape, *, after: int, limit: int) -> list[dict[str, Json]]:
    """Sections in reading order after an ordinal."""
    chosen = range(after + 1, min(after + 1 + limit, len(shape.section_ids)))
    titles = rows.lists.section_titles([shape.section_ids[at] for at in chosen]) if chosen else {}
    return [
        {
            "ordinal": at,
            "parent": None if shape.parents[at] < 0 else shape.parents[at],
            "title": titles[shape.section_ids[at]][0],
            "kind": titles[shape.section_ids[at]][1],
            "level": titles[shape.section_ids[at]][2],
            "start": shape.starts[at],
            "end": shape.ends[at],
            "start_line": shape.start_lines[at],
            "end_line": shape.end_lines[at],
        }
        for at in chosen
    ]


def titles_at(rows: Repositories, shape: Shape, offsets: Iterable[int]) -> dict[int, str]:
    """The title of the section at each offset, with those it lies in before it."""
    paths = {offset: shape.path(shape.section_at(offset)) for offset in offsets}
    ids = {shape.section_ids[at] for path in paths.values() for at in path}
    titles = rows.lists.section_titles(sorted(ids)) if ids else {}
    return {
        offset: " › ".join(title for at in path if (title := titles[shape.section_ids[at]][0]))
        for offset, path in paths.items()
    }


def chunk_slice(rows: Repositories, shape: Shape, first: int, count: int) -> list[tuple[int, PagePlace, Chunk]]:
    """(ordinal, page, chunk) of consecutive chunks of a document."""
    end = min(first + count, shape.chunks)
    found: list[tuple[int, PagePlace, Chunk]] = []
    if first >= end:
        return found
    low, high = bisect_right(shape.page_ends, first), bisect_right(shape.page_ends, end - 1)
    places = shape.places[low : high + 1]
    by_page: dict[int, list[Chunk]] = {}
    for chunk in rows.chunks.of_pages([place.page_id for place in places]):
        by_page.setdefault(chunk.page_id, []).append(chunk)
    for number, place in enumerate(places, low):
        base = shape.page_ends[number] - place.chunk_count
        mine = ((base + chunk.ordinal, place, chunk) for chunk in by_page.get(place.page_id, ()))
        found.extend(row for row in mine if first <= row[0] < end)
    return found


def chunks(rows: Repositories, shape: Shape, *, after: int, limit: int, text: bool = False) -> list[dict[str, Json]]:
    """Chunks in reading order after an ordinal; with their text where it is asked for."""
    found = chunk_slice(rows, shape, after + 1, limit)
    texts = rows.contents.texts(list({chunk.content_sha256 for _, _, chunk in found}))
    titles = titles_at(rows, shape, {place.start + chunk.start for _, place, chunk in found})
    made = []
    for ordinal, place, chunk in found:
        core = texts[chunk.content_sha256]
        start, line = place.start + chunk.start, place.start_line + chunk.line
        row: dict[str, Json] = {
            "id": str(chunk.logical_id),
            "ordinal": ordinal,
            "section": titles[start],
            "start": start,
            "end": place.start + chunk.end,
            "start_line": line,
            "end_line": line + core.count("\n", 0, max(0, len(core) - 1)),
            "tokens": chunk.token_count,
            "over_limit": chunk.over_limit,
            "text_sha256": chunk.content_sha256.hex(),
        }
        made.append(row | {"text": core} if text else row)
    return made


def place_of(shape: Shape, page_id: int, within: int) -> int | None:
    """The ordinal in the document of a chunk of a page."""
    for number, place in enumerate(shape.places):
        if place.page_id == page_id:
            return shape.page_ends[number] - place.chunk_count + within
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """A run of lines of a text: (number, offset of its first character, text, is the line cut short?)."""

    lines: list[tuple[int, int, str, bool]]
    next_line: int | None
    previous_line: int | None


def window(rows: Repositories, shape: Shape, first_line: int, count: int = WINDOW_LINES) -> Window:
    """Lines from `first_line` (1-based) on."""
    at = max(0, bisect_left(shape.page_lines, first_line) - 1)
    return _collect(rows, shape, at, first_line, count, skip_to=None)


def window_at(rows: Repositories, shape: Shape, offset: int, count: int = WINDOW_LINES) -> Window:
    """Lines around an offset: a few above it. In a line of many pages, from the chunk that holds the offset."""
    at = max(0, bisect_right(shape.page_starts, offset) - 1)
    place = shape.places[at]
    chunks = list(rows.chunks.of_pages([place.page_id]))
    starts = [place.start + chunk.start for chunk in chunks]
    chunk = chunks[max(0, bisect_right(starts, offset) - 1)]
    text = rows.contents.texts([chunk.content_sha256])[chunk.content_sha256]
    begins = place.start + chunk.start
    line = place.start_line + chunk.line + text.count("\n", 0, max(0, offset - begins))
    found = window(rows, shape, max(1, line - LINES_BEFORE), count)
    if any(start <= offset < start + len(body) + 1 for _, start, body, _ in found.lines):
        return found
    return _collect(rows, shape, at, line, count, skip_to=begins)


def _collect(rows: Repositories, shape: Shape, at: int, first_line: int, count: int, *, skip_to: int | None) -> Window:
    parts: list[str] = []
    begin: tuple[int, int] | None = None  # (line, offset) of the first part
    size = newlines = 0
    for places in _batches(shape.places, at):
        by_page: dict[int, list[Chunk]] = {}
        for chunk in rows.chunks.of_pages([place.page_id for place in places]):
            by_page.setdefault(chunk.page_id, []).append(chunk)
        found = [(place, chunk) for place in places for chunk in by_page.get(place.page_id, ())]
        wanted = _from(found, first_line, skip_to) if begin is None else found
        for batch in (wanted[low : low + 64] for low in range(0, len(wanted), 64)):
            texts = rows.contents.texts(list({chunk.content_sha256 for _, chunk in batch}))
            for place, chunk in batch:
                if begin is None:
                    begin = (place.start_line + chunk.line, place.start + chunk.start)
                text = texts[chunk.content_sha256]
                parts.append(text)
                newlines += text.count("\n")
                size += len(text.encode())
                if (begin[0] + newlines - first_line > count) or size > WINDOW_BYTES * 2:
                    return _cut("".join(parts), begin, first_line, count, more=True)
    return _cut("".join(parts), begin or (1, 0), first_line, count, more=False)


def _batches(places: Sequence[PagePlace], at: int) -> Iterator[list[PagePlace]]:
    """Places from one on, together as many as hold some hundred chunks: a page may hold one, or two hundred."""
    batch: list[PagePlace] = []
    chunks = 0
    for number in range(at, len(places)):
        batch.append(places[number])
        chunks += places[number].chunk_count
        if chunks >= BATCH_CHUNKS:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


def _from(found: list[tuple[PagePlace, Chunk]], first_line: int, skip_to: int | None) -> list[tuple[PagePlace, Chunk]]:
    """The chunks from the one on that holds the beginning of a line, or an offset."""
    if skip_to is not None:
        return [(place, chunk) for place, chunk in found if place.start + chunk.end > skip_to]
    before = [at for at, (place, chunk) in enumerate(found) if place.start_line + chunk.line < first_line]
    return found[before[-1] if before else 0 :]


def _cut(text: str, begin: tuple[int, int], first_line: int, count: int, *, more: bool) -> Window:
    number, offset = begin
    lines: list[tuple[int, int, str, bool]] = []
    size = 0
    bodies = text.split("\n")
    last = len(bodies) - 1
    for at, body in enumerate(bodies):
        if at == last and not body and not more:
            break  # the text ends with a line feed: there is no line after it
        if number >= first_line:
            if len(lines) >= count or size >= WINDOW_BYTES:
                return Window(lines=lines, next_line=number, previous_line=_before(lines))
            shown = _fitting(body, WINDOW_BYTES - size)
            cut = len(shown) < len(body) or (at == last and more)
            lines.append((number, offset, shown, cut))
            size += len(shown.encode()) + 1
        offset += len(body) + 1
        number += 1
    return Window(lines=lines, next_line=number if more else None, previous_line=_before(lines))


def _fitting(text: str, most: int) -> str:
    """The beginning of a text that fits into so many bytes."""
    data = text.encode()
    return text if len(data) <= most else data[:most].decode("utf-8", "ignore")


def _before(lines: list[tuple[int, int, str, bool]]) -> int | None:
    return max(1, lines[0][0] - WINDOW_LINES) if lines and lines[0][0] > 1 else None
