"""The chunks a job works on: the pages of its documents' revisions, in reading order, numbered through."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from uuid import UUID

from db.database import Repositories
from db.sections import StoredSections
from db.values import Chunk, Document, PagePlace
from pipeline.errors import NotFoundError
from pipeline.read.reading import SectionKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A document of the selection, at its revision, as one grain cut it."""

    document: Document
    revision_id: int
    text_sha256: bytes  # of that revision, which need no longer be the document's current one
    chunking_id: int
    sections: StoredSections
    places: tuple[PagePlace, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where one chunk of a selection stands."""

    member: Member
    page: PagePlace
    within: int  # ordinal within the page


class Selection:
    """Members in order. A chunk's ordinal counts through all of them, whatever a step leaves out."""

    def __init__(self, members: tuple[Member, ...]) -> None:
        self.members = members
        self.runs = [(member, place) for member in members for place in member.places]
        self._ends = list(accumulate(place.chunk_count for _, place in self.runs))

    @cached_property
    def bases(self) -> dict[int, int]:
        """The ordinal of the first chunk of each member, by the identity of the member; 0 of one without chunks."""
        found: dict[int, int] = {}
        run = 0
        for member in self.members:
            found[id(member)] = self.first(run) if member.places else 0
            run += len(member.places)
        return found

    @property
    def total(self) -> int:
        """How many chunks there are."""
        return self._ends[-1] if self._ends else 0

    def first(self, run: int) -> int:
        """The ordinal of the first chunk of a run."""
        return self._ends[run] - self.runs[run][1].chunk_count

    def locate(self, ordinal: int) -> Place:
        """Where a chunk stands."""
        run = bisect_right(self._ends, ordinal)
        member, page = self.runs[run]
        return Place(member=member, page=page, within=ordinal - self.first(run))

    def run_at(self, ordinal: int) -> int:
        """The number of the run that holds a chunk."""
        return bisect_right(self._ends, ordinal)

    def chunks(
        self, rows: Repositories, *, first_run: int, end_run: int, skip: frozenset[SectionKind]
    ) -> Iterator[tuple[int, Chunk]]:
        """(ordinal, chunk) of the runs from `first_run` to before `end_run`, without the kinds of section in `skip`."""
        first = self._firsts(first_run, end_run, skip)
        for chunk in rows.chunks.of_pages(list(first)):
            yield first[chunk.page_id] + chunk.ordinal, chunk

    def hashes(
        self, rows: Repositories, *, first_run: int, end_run: int, skip: frozenset[SectionKind]
    ) -> list[tuple[int, int, int, bytes]]:
        """(ordinal, page id, ordinal within the page, content hash) of the same chunks, in order of ordinals."""
        first = self._firsts(first_run, end_run, skip)
        found = rows.chunks.hashes_of(list(first))
        return sorted((first[page_id] + within, page_id, within, sha) for page_id, within, sha in found)

    def _firsts(self, first_run: int, end_run: int, skip: frozenset[SectionKind]) -> dict[int, int]:
        """The ordinal of the first chunk, by page, of the runs that `skip` does not leave out."""
        return {
            place.page_id: self._ends[run] - place.chunk_count
            for run, (member, place) in enumerate(self.runs[first_run:end_run], first_run)
            if member.sections.kinds[place.section] not in skip
        }


def load(
    rows: Repositories,
    documents: list[tuple[UUID, int]],
    chunkings: dict[str, int],
    known: MutableMapping[int, StoredSections] | None = None,
) -> Selection:
    """The selection of a job from its documents, revisions and chunkings (by document id, as text).

    `known` holds sections by revision that were loaded before, and takes those that are: they never change.
    """
    cut = [(revision_id, chunkings[str(document_id)]) for document_id, revision_id in documents]
    named = rows.documents.named([document_id for document_id, _ in documents])
    pages = rows.documents.pages_of(cut)
    revisions = [revision_id for revision_id, _ in cut]
    hashes = rows.documents.text_hashes(revisions)
    sections = {} if known is None else {at: found for at in revisions if (found := known.get(at)) is not None}
    fresh = rows.documents.sections_of([at for at in dict.fromkeys(revisions) if at not in sections and at in hashes])
    sections |= fresh
    if known is not None:
        known.update(fresh)
    members = []
    for (document_id, revision_id), pair in zip(documents, cut, strict=True):
        document = named.get(document_id)
        if document is None or revision_id not in hashes or pair not in pages:
            raise NotFoundError(f"Document {document_id} of this job is gone", hint="ingest it again and run a new job")
        members.append(
            Member(
                document=document,
                revision_id=revision_id,
                text_sha256=hashes[revision_id],
                chunking_id=pair[1],
                sections=sections[revision_id],
                places=tuple(pages[pair]),
            )
        )
    return Selection(tuple(members))
