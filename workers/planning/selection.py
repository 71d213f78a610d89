"""The chunks a job works on: the pages of its documents' revisions, in reading order, numbered through."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from uuid import UUID

from db.database import Repositories
from db.values import Chunk, Document, PagePlace
from pipeline.errors import NotFoundError
from pipeline.read.reading import Section, SectionKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A document of the selection, at its revision, as one grain cut it."""

    document: Document
    revision_id: int
    chunking_id: int
    sections: tuple[Section, ...]
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
        wanted = [
            run
            for run in range(first_run, end_run)
            if self.runs[run][0].sections[self.runs[run][1].section].kind not in skip
        ]
        first = {self.runs[run][1].page_id: self.first(run) for run in wanted}
        for chunk in rows.chunks.of_pages(list(first)):
            yield first[chunk.page_id] + chunk.ordinal, chunk


def load(rows: Repositories, documents: list[tuple[UUID, int]], chunkings: dict[str, int]) -> Selection:
    """The selection of a job from its documents, revisions and chunkings (by document id, as text)."""
    members = []
    for document_id, revision_id in documents:
        document = rows.documents.get(document_id)
        chunking_id = chunkings[str(document_id)]
        places = rows.documents.pages(revision_id, chunking_id)
        if document is None or places is None:
            raise NotFoundError(f"Document {document_id} of this job is gone", hint="ingest it again and run a new job")
        members.append(
            Member(
                document=document,
                revision_id=revision_id,
                chunking_id=chunking_id,
                sections=tuple(rows.documents.sections(revision_id)),
                places=tuple(places),
            )
        )
    return Selection(tuple(members))
