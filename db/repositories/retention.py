"""What could go, and taking it: jobs, revisions, pages, texts and results that nothing reaches.

Whatever is taken is found once more in the transaction that takes it: on SQLite that is alone, on PostgreSQL the tables
that could make it reachable again are held for so long.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, exists, func, or_, select, text, union_all
from sqlalchemy.engine import Connection

from db.dialect import batches
from db.layout import unpack
from db.tables import (
    ChunkingRow,
    ChunkRow,
    ContentRow,
    DirectCallRow,
    JobDocumentRow,
    JobRow,
    PageRow,
    PartitionRow,
    PartRow,
    ResultRow,
    RevisionPagesRow,
    RevisionRow,
    StepRow,
    TaskRow,
    TraceRow,
    ViewNodeRow,
    ViewRefreshRow,
    ViewRow,
)
from pipeline.ops.values import Json
from pipeline.states import JOB_ACTIVE, RevisionState

_LAYOUT_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result that nothing reaches."""

    key: bytes
    size: int  # bytes stored
    last_used: date


class RetentionRepository:
    """Reads and deletes over all tables, for `octavo gc` alone."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def hold(self, *tables: type[Any]) -> None:
        """Let nobody else write these tables until this transaction ends. SQLite lets nobody anyhow.

        They are taken in this order, which must be that in which others write them.
        """
        if self._connection.dialect.name == "postgresql":
            names = ", ".join(table.__tablename__ for table in tables)
            self._connection.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))

    # Jobs

    def ended_jobs(self, view_id: int | None = None) -> list[tuple[UUID, int, float]]:
        """(job, pipeline, time it ended) of jobs that ended and that no view serves, newest first.

        With `view_id` only those that were refreshes of that view.
        """
        served = select(ViewRow.served_job_id).where(ViewRow.served_job_id.is_not(None))
        query = (
            select(JobRow.id, JobRow.pipeline_id, JobRow.finished_at)
            .where(JobRow.state.not_in(JOB_ACTIVE), JobRow.id.not_in(served))
            .order_by(JobRow.id.desc())
        )
        if view_id is not None:
            query = query.where(JobRow.id.in_(select(ViewRefreshRow.job_id).where(ViewRefreshRow.view_id == view_id)))
        return [(row[0], row[1], row[2].timestamp() if row[2] else 0.0) for row in self._connection.execute(query)]

    def task_counts(self, job_ids: Sequence[UUID]) -> int:
        """How many tasks jobs have."""
        count = 0
        for part in batches(job_ids):
            steps = select(StepRow.id).where(StepRow.job_id.in_(part))
            query = select(func.count()).select_from(TaskRow).where(TaskRow.step_id.in_(steps))
            count += self._connection.execute(query).scalar_one()
        return count

    def drop_job(self, job_id: UUID) -> bool:
        """Delete an ended job with its steps, tasks and attempts, unless a view serves it by now; says whether."""
        served = exists().where(ViewRow.served_job_id == job_id)
        gone = delete(JobRow).where(JobRow.id == job_id, JobRow.state.not_in(JOB_ACTIVE), ~served)
        return self._connection.execute(gone).rowcount == 1

    def trim_tree(self, view_id: int, before: int) -> int:
        """Forget the nodes of a view that were taken away by a refresh up to `before`; gives how many."""
        gone = delete(ViewNodeRow).where(ViewNodeRow.view_id == view_id, ViewNodeRow.until <= before)
        return self._connection.execute(gone).rowcount

    def closed_nodes(self, view_id: int, before: int) -> int:
        """How many those are."""
        query = select(func.count()).select_from(ViewNodeRow)
        query = query.where(ViewNodeRow.view_id == view_id, ViewNodeRow.until <= before)
        return self._connection.execute(query).scalar_one()

    # Calls outside jobs

    def old_calls(self, before_ms: int) -> int:
        """How many calls outside jobs ended before a time."""
        query = select(func.count()).select_from(DirectCallRow).where(DirectCallRow.ended_ms < before_ms)
        return int(self._connection.execute(query).scalar_one())

    def drop_calls(self, before_ms: int) -> int:
        """Delete what calls outside jobs used that ended before a time; gives how many."""
        return self._connection.execute(delete(DirectCallRow).where(DirectCallRow.ended_ms < before_ms)).rowcount

    # Revisions and pages

    def old_revisions(self, keep: int, without_jobs: Collection[UUID] = ()) -> list[int]:
        """Superseded revisions beyond the newest `keep` of their document that no job works on.

        `without_jobs` are jobs to be thought away.
        """
        newer = (
            func.row_number()
            .over(partition_by=RevisionRow.document_id, order_by=RevisionRow.number.desc())
            .label("newer")
        )
        ranked = select(RevisionRow.id, RevisionRow.state, newer).where(RevisionRow.number.is_not(None)).subquery()
        query = select(ranked.c.id).where(ranked.c.newer > keep, ranked.c.state == RevisionState.SUPERSEDED)
        old = list(self._connection.execute(query.order_by(ranked.c.id)).scalars())
        used: set[int] = set()
        for revision_id, job_id in self._connection.execute(select(JobDocumentRow.revision_id, JobDocumentRow.job_id)):
            if job_id not in without_jobs:
                used.add(revision_id)
        return [revision_id for revision_id in old if revision_id not in used]

    def drop_revision(self, revision_id: int) -> bool:
        """Delete a superseded revision, unless a job works on it by now; says whether."""
        used = exists().where(JobDocumentRow.revision_id == revision_id)
        gone = delete(RevisionRow).where(
            RevisionRow.id == revision_id, RevisionRow.state == RevisionState.SUPERSEDED, ~used
        )
        return self._connection.execute(gone).rowcount == 1

    def chunkings(self) -> list[int]:
        """Every chunking."""
        return list(self._connection.execute(select(ChunkingRow.id).order_by(ChunkingRow.id)).scalars())

    def lock_chunking(self, chunking_id: int) -> None:
        """Let nobody place pages of a chunking until this transaction ends."""
        self._connection.execute(select(ChunkingRow.id).where(ChunkingRow.id == chunking_id).with_for_update())

    def loose_pages(self, chunking_id: int, without: Collection[int] = ()) -> list[tuple[int, int]]:
        """(page, chunks) of pages of a chunking that no revision places; revisions `without` are thought away.

        None of them while a revision of the document is being built: it may be about to place them.
        """
        young = datetime.now(UTC) - timedelta(days=1)  # an ingest that was killed builds for ever
        building = (
            select(RevisionRow.id)
            .join(ChunkingRow, ChunkingRow.document_id == RevisionRow.document_id)
            .where(ChunkingRow.id == chunking_id, RevisionRow.state == RevisionState.BUILDING)
            .where(RevisionRow.created_at > young)
        )
        if self._connection.execute(building.limit(1)).first() is not None:
            return []
        placed: set[int] = set()
        query = select(RevisionPagesRow.revision_id, RevisionPagesRow.layout)
        for revision_id, layout in self._connection.execute(query.where(RevisionPagesRow.chunking_id == chunking_id)):
            if revision_id not in without:
                placed.update(unpack(layout, _LAYOUT_COLUMNS)[0])
        pages = select(PageRow.id, PageRow.chunk_count).where(PageRow.chunking_id == chunking_id)
        return [(row[0], row[1]) for row in self._connection.execute(pages) if row[0] not in placed]

    def drop_pages(self, page_ids: Sequence[int]) -> None:
        """Delete pages with their chunks."""
        for part in batches(page_ids):
            self._connection.execute(delete(PageRow).where(PageRow.id.in_(part)))

    def loose_contents(self) -> tuple[int, int]:
        """(texts, their bytes) that no chunk has."""
        query = select(func.count(), func.coalesce(func.sum(func.length(ContentRow.text)), 0)).where(~_USED_TEXT)
        count, size = self._connection.execute(query).one()
        return int(count), int(size)

    def drop_contents(self) -> int:
        """Delete texts that no chunk has; gives how many."""
        return self._connection.execute(delete(ContentRow).where(~_USED_TEXT)).rowcount

    # Results

    def unreached(self, without_jobs: Collection[UUID] = ()) -> Iterator[Candidate]:
        """Results that neither a task, nor a view's tree, nor a trace has; the longest unused first.

        The tasks of jobs `without_jobs` are thought away.
        """
        traced = self._traced()
        size = func.length(ResultRow.output) + func.length(ResultRow.spans)
        query = (
            select(ResultRow.key, size, ResultRow.last_used)
            .where(ResultRow.key.not_in(_roots(without_jobs)))
            .order_by(ResultRow.last_used, ResultRow.created_at, ResultRow.key)
        )
        for key, stored, used in self._connection.execute(query.execution_options(yield_per=5000)):
            if key not in traced:
                yield Candidate(key, stored, used)

    def contents_of(self, chunking_id: int, without: Collection[int]) -> Iterator[bytes]:
        """The hashes of the texts of a chunking's chunks, each once, but for pages `without`."""
        query = (
            select(ChunkRow.content_sha256, ChunkRow.page_id)
            .join(PageRow, PageRow.id == ChunkRow.page_id)
            .where(PageRow.chunking_id == chunking_id)
        )
        seen: set[bytes] = set()
        for sha, page_id in self._connection.execute(query.execution_options(yield_per=5000)):
            if page_id not in without and sha not in seen:
                seen.add(sha)
                yield sha

    def kept_jobs(self, without_jobs: Collection[UUID]) -> Iterator[dict[str, Json]]:
        """What each job resolved, but for `without_jobs`."""
        for job_id, resolved in self._connection.execute(select(JobRow.id, JobRow.resolved)):
            if job_id not in without_jobs:
                yield resolved

    def results_size(self) -> tuple[int, int]:
        """(results, their bytes)."""
        size = func.length(ResultRow.output) + func.length(ResultRow.spans)
        count, stored = self._connection.execute(select(func.count(), func.coalesce(func.sum(size), 0))).one()
        return int(count), int(stored)

    def newest_task(self) -> int:
        """The id of the newest task."""
        return self._connection.execute(select(func.coalesce(func.max(TaskRow.id), 0))).scalar_one()

    def drop_results(self, keys: Sequence[bytes], after_task: int) -> int:
        """Delete results, but those that tasks reach which are newer than `after_task` or of a job at work."""
        active = select(StepRow.id).join(JobRow, JobRow.id == StepRow.job_id).where(JobRow.state.in_(JOB_ACTIVE))
        young = or_(TaskRow.id > after_task, TaskRow.step_id.in_(active))
        wanted: set[bytes] = set()
        for part in batches(keys):
            query = select(TaskRow.key).where(young, TaskRow.key.in_(part))
            wanted.update(key for key in self._connection.execute(query).scalars() if key)
        count = 0
        for part in batches([key for key in keys if key not in wanted]):
            count += self._connection.execute(delete(ResultRow).where(ResultRow.key.in_(part))).rowcount
        return count

    def drop_partitions(self) -> None:
        """Delete the partitions of outputs that no result has any more: they are made again where they are needed."""
        for table in (PartitionRow, PartRow):
            there = select(ResultRow.output_sha256)
            self._connection.execute(delete(table).where(table.output_sha256.not_in(there)))

    def _traced(self) -> set[bytes]:
        found: set[bytes] = set()
        for body in self._connection.execute(select(TraceRow.body)).scalars():
            found.update(_keys_in(body))
        return found


_USED_TEXT = exists().where(ChunkRow.content_sha256 == ContentRow.sha256)


def _roots(without_jobs: Collection[UUID]) -> Any:
    tasks = select(TaskRow.key).where(TaskRow.key.is_not(None))
    if without_jobs:
        dropped = select(StepRow.id).where(StepRow.job_id.in_(list(without_jobs)))
        tasks = tasks.where(TaskRow.step_id.not_in(dropped))
    return union_all(tasks, select(ViewNodeRow.key))


def _keys_in(value: Json) -> Iterator[bytes]:
    """The keys that a trace names, wherever in it they stand: 64 hexadecimal digits."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _keys_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from _keys_in(part)
    elif isinstance(value, str) and len(value) == 64:
        try:
            yield bytes.fromhex(value)
        except ValueError:
            return
