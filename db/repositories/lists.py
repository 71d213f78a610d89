"""Lists for people and programs: every query is bounded, and goes on after the last row that was seen (keyset)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, and_, func, or_, select
from sqlalchemy.engine import Connection

from db.listed import Beside, DocumentLine, JobLine, Usage
from db.repositories.documents import REVISION, as_revision
from db.tables import (
    AttemptRow,
    ChunkingRow,
    DocumentRow,
    JobDocumentRow,
    JobRow,
    PageRow,
    PipelineRow,
    ResultRow,
    RevisionPagesRow,
    RevisionRow,
    SectionRow,
    StepCounterRow,
    StepRow,
    TaskRow,
)
from db.values import Revision
from pipeline.ops.values import Json
from pipeline.states import JobState, Outcome, TaskState


class ListRepository:
    """Reads across tables, for lists."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    # Documents

    def documents(
        self,
        *,
        limit: int,
        after: UUID | None = None,
        search: str | None = None,
        collections: Sequence[str] = (),
        uri: str | None = None,
    ) -> list[DocumentLine]:
        """Documents, newest first."""
        query = (
            select(
                DocumentRow.id,
                DocumentRow.uri,
                DocumentRow.title,
                DocumentRow.media_type,
                DocumentRow.collection,
                DocumentRow.created_at,
                RevisionRow.id.label("revision_id"),
                RevisionRow.number.label("revision"),
                func.coalesce(RevisionRow.char_count, 0).label("char_count"),
                func.coalesce(RevisionRow.line_count, 0).label("line_count"),
            )
            .join_from(DocumentRow, RevisionRow, DocumentRow.current_revision_id == RevisionRow.id, isouter=True)
            .order_by(DocumentRow.id.desc())
            .limit(limit)
        )
        query = self._documents_like(query, search, collections, uri)
        if after is not None:
            query = query.where(DocumentRow.id < after)
        return [DocumentLine(**row._mapping) for row in self._connection.execute(query)]

    @staticmethod
    def _documents_like(query: Any, search: str | None, collections: Sequence[str], uri: str | None) -> Any:
        if search:
            query = query.where(
                or_(
                    DocumentRow.title.icontains(search, autoescape=True),
                    DocumentRow.uri.icontains(search, autoescape=True),
                )
            )
        if collections:
            query = query.where(DocumentRow.collection.in_(collections))
        return query if uri is None else query.where(DocumentRow.uri == uri)

    def count_documents(
        self, *, search: str | None = None, collections: Sequence[str] = (), uri: str | None = None
    ) -> int:
        """How many documents there are."""
        query = self._documents_like(select(func.count()).select_from(DocumentRow), search, collections, uri)
        return int(self._connection.execute(query).scalar_one())

    def chunk_counts(self, revision_ids: Sequence[int]) -> dict[int, tuple[int, int]]:
        """(chunks, tokens) of revisions by the grain that cut them into most."""
        query = (
            select(
                RevisionPagesRow.revision_id,
                func.max(RevisionPagesRow.chunk_count),
                func.max(RevisionPagesRow.token_count),
            )
            .where(RevisionPagesRow.revision_id.in_(revision_ids))
            .group_by(RevisionPagesRow.revision_id)
        )
        return {row[0]: (row[1], row[2]) for row in self._connection.execute(query)}

    def reports(self, revision_ids: Sequence[int]) -> dict[int, dict[str, Json]]:
        """What became of the chunks in each revision, by the grain that cut it into most."""
        query = (
            select(RevisionPagesRow.revision_id, RevisionPagesRow.report)
            .where(RevisionPagesRow.revision_id.in_(revision_ids))
            .order_by(RevisionPagesRow.chunk_count)
        )
        return {row[0]: row[1] for row in self._connection.execute(query)}

    def latest_jobs(self, document_ids: Sequence[UUID]) -> dict[UUID, UUID]:
        """The latest job of each document."""
        place = func.row_number().over(partition_by=JobDocumentRow.document_id, order_by=JobDocumentRow.job_id.desc())
        ranked = (
            select(JobDocumentRow.document_id, JobDocumentRow.job_id, place.label("place"))
            .where(JobDocumentRow.document_id.in_(document_ids))
            .subquery()
        )
        query = select(ranked.c.document_id, ranked.c.job_id).where(ranked.c.place == 1)
        return {row[0]: row[1] for row in self._connection.execute(query)}

    def section_titles(self, section_ids: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        """(title, kind, level) of sections."""
        query = select(SectionRow.id, SectionRow.title, SectionRow.kind, SectionRow.level)
        rows = self._connection.execute(query.where(SectionRow.id.in_(section_ids)))
        return {row[0]: (row[1], row[2], row[3]) for row in rows}

    def revisions(self, document_id: UUID, *, limit: int, before: int | None = None) -> list[Revision]:
        """The published revisions of a document, newest first."""
        query = select(*REVISION).where(RevisionRow.document_id == document_id, RevisionRow.number.is_not(None))
        if before is not None:
            query = query.where(RevisionRow.number < before)
        rows = self._connection.execute(query.order_by(RevisionRow.number.desc()).limit(limit))
        return [as_revision(row) for row in rows]

    def pages_of(self, page_ids: Sequence[int]) -> dict[int, tuple[UUID, int]]:
        """(document, chunking) of pages."""
        query = select(PageRow.id, ChunkingRow.document_id, PageRow.chunking_id).join(
            ChunkingRow, ChunkingRow.id == PageRow.chunking_id
        )
        rows = self._connection.execute(query.where(PageRow.id.in_(page_ids)))
        return {row[0]: (row[1], row[2]) for row in rows}

    def revision_in(self, job_id: UUID, document_ids: Sequence[UUID]) -> dict[UUID, int]:
        """The revision of each document that a job works on."""
        query = select(JobDocumentRow.document_id, JobDocumentRow.revision_id).where(
            JobDocumentRow.job_id == job_id, JobDocumentRow.document_id.in_(document_ids)
        )
        return {row[0]: row[1] for row in self._connection.execute(query)}

    def layout(self, revision_id: int) -> bytes:
        """A revision's sections with their places, packed (db.layout, six columns)."""
        query = select(RevisionRow.layout).where(RevisionRow.id == revision_id)
        return self._connection.execute(query).scalar_one_or_none() or b""

    # Jobs

    def jobs(
        self,
        *,
        limit: int,
        after: UUID | None = None,
        states: Sequence[str] = (),
        pipelines: Sequence[str] = (),
        document: UUID | None = None,
        ids: Sequence[UUID] = (),
    ) -> list[JobLine]:
        """Jobs, newest first."""
        every = JobDocumentRow.__table__.alias("every_document")
        count = select(func.count()).select_from(every).where(every.c.job_id == JobRow.id).correlate(JobRow)
        query: Select[Any] = (
            select(
                JobRow.id,
                PipelineRow.name.label("pipeline"),
                JobRow.state,
                JobRow.reason,
                JobRow.priority,
                JobRow.created_at,
                JobRow.finished_at,
                count.scalar_subquery().label("documents"),
                JobDocumentRow.document_id.label("first_document"),
                func.coalesce(DocumentRow.title, "").label("title"),
            )
            .join(PipelineRow, PipelineRow.id == JobRow.pipeline_id)
            .join(JobDocumentRow, and_(JobDocumentRow.job_id == JobRow.id, JobDocumentRow.ordinal == 0), isouter=True)
            .join(DocumentRow, DocumentRow.id == JobDocumentRow.document_id, isouter=True)
        )
        query = self._jobs_like(query, states, pipelines, document)
        if after is not None:
            query = query.where(JobRow.id < after)
        if ids:
            query = query.where(JobRow.id.in_(ids))
        return [_job_line(row) for row in self._connection.execute(query.order_by(JobRow.id.desc()).limit(limit))]

    @staticmethod
    def _jobs_like(query: Any, states: Sequence[str], pipelines: Sequence[str], document: UUID | None) -> Any:
        if states:
            query = query.where(JobRow.state.in_(states))
        if pipelines:
            query = query.where(PipelineRow.name.in_(pipelines))
        if document is not None:
            jobs = select(JobDocumentRow.job_id).where(JobDocumentRow.document_id == document)
            query = query.where(JobRow.id.in_(jobs))
        return query

    def count_jobs(
        self, *, states: Sequence[str] = (), pipelines: Sequence[str] = (), document: UUID | None = None
    ) -> int:
        """How many jobs there are."""
        query: Any = select(func.count()).select_from(JobRow).join(PipelineRow, PipelineRow.id == JobRow.pipeline_id)
        return int(self._connection.execute(self._jobs_like(query, states, pipelines, document)).scalar_one())

    def jobs_by_state(self) -> dict[str, int]:
        """How many jobs there are of each state."""
        rows = self._connection.execute(select(JobRow.state, func.count()).group_by(JobRow.state))
        return {row[0]: row[1] for row in rows}

    def task_states(self, job_ids: Sequence[UUID]) -> dict[UUID, dict[str, int]]:
        """Tasks by state of each job."""
        query = (
            select(StepRow.job_id, TaskRow.state, func.count())
            .join(TaskRow, TaskRow.step_id == StepRow.id)
            .where(StepRow.job_id.in_(job_ids))
            .group_by(StepRow.job_id, TaskRow.state)
        )
        found: dict[UUID, dict[str, int]] = {job_id: {} for job_id in job_ids}
        for job_id, state, count in self._connection.execute(query):
            found[job_id][state] = count
        return found

    def spent(self, job_ids: Sequence[UUID]) -> dict[UUID, tuple[int, int, int]]:
        """(calls, tokens, millionths of the currency) of each job."""
        query = (
            select(
                StepRow.job_id,
                func.coalesce(func.sum(StepCounterRow.calls), 0),
                func.coalesce(func.sum(StepCounterRow.tokens_in + StepCounterRow.tokens_out), 0),
                func.coalesce(func.sum(StepCounterRow.cost_micros), 0),
            )
            .join(StepCounterRow, StepCounterRow.step_id == StepRow.id)
            .where(StepRow.job_id.in_(job_ids))
            .group_by(StepRow.job_id)
        )
        return {row[0]: (int(row[1]), int(row[2]), int(row[3])) for row in self._connection.execute(query)}

    def job_documents(
        self, job_id: UUID, *, after: int = -1, limit: int
    ) -> list[tuple[int, UUID, str, int, int | None]]:
        """(ordinal, document, title, revision id, revision's number) of a job, in order."""
        query = (
            select(
                JobDocumentRow.ordinal,
                JobDocumentRow.document_id,
                DocumentRow.title,
                JobDocumentRow.revision_id,
                RevisionRow.number,
            )
            .join(DocumentRow, DocumentRow.id == JobDocumentRow.document_id)
            .join(RevisionRow, RevisionRow.id == JobDocumentRow.revision_id)
            .where(JobDocumentRow.job_id == job_id, JobDocumentRow.ordinal > after)
            .order_by(JobDocumentRow.ordinal)
            .limit(limit)
        )
        return [(row[0], row[1], row[2], row[3], row[4]) for row in self._connection.execute(query)]

    def chunks_before(self, job_id: UUID, document_id: UUID, chunking_id: int) -> int:
        """How many chunks of a job come before those of a document, all cut by the grain of this chunking."""
        grain = select(ChunkingRow.grain_id).where(ChunkingRow.id == chunking_id).scalar_subquery()
        mine = (
            select(JobDocumentRow.ordinal)
            .where(JobDocumentRow.job_id == job_id, JobDocumentRow.document_id == document_id)
            .scalar_subquery()
        )
        before = JobDocumentRow.__table__.alias("before")
        query = (
            select(func.coalesce(func.sum(RevisionPagesRow.chunk_count), 0))
            .join_from(before, ChunkingRow, ChunkingRow.document_id == before.c.document_id)
            .join(
                RevisionPagesRow,
                and_(
                    RevisionPagesRow.revision_id == before.c.revision_id, RevisionPagesRow.chunking_id == ChunkingRow.id
                ),
            )
            .where(before.c.job_id == job_id, before.c.ordinal < mine, ChunkingRow.grain_id == grain)
        )
        return int(self._connection.execute(query).scalar_one())

    # Pipelines and usage

    def pipelines(self, *, limit: int, after: int = 0) -> list[tuple[int, str, bytes, dict[str, Json]]]:
        """(id, name, digest, spec) of the pipelines that jobs used, oldest first."""
        query = select(PipelineRow.id, PipelineRow.name, PipelineRow.digest, PipelineRow.spec)
        rows = self._connection.execute(query.where(PipelineRow.id > after).order_by(PipelineRow.id).limit(limit))
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def usage(self, *, limit: int, after: tuple[date, str] | None = None, since: date | None = None) -> list[Usage]:
        """What was spent, by the day on which jobs began and by pipeline, newest first; `since` a day, if given."""
        day: Any = func.date(JobRow.created_at)
        sums = {
            name: func.coalesce(func.sum(StepCounterRow.__table__.c[name]), 0)
            for name in ("calls", "retries", "tokens_in", "tokens_out", "cost_micros", "busy_ms")
        }
        query = (
            select(
                day.label("day"),
                PipelineRow.name.label("pipeline"),
                func.count(JobRow.id.distinct()).label("jobs"),
                *(column.label(name) for name, column in sums.items()),
            )
            .join(PipelineRow, PipelineRow.id == JobRow.pipeline_id)
            .join(StepRow, StepRow.job_id == JobRow.id, isouter=True)
            .join(StepCounterRow, StepCounterRow.step_id == StepRow.id, isouter=True)
            .group_by(day, PipelineRow.name)
            .order_by(day.desc(), PipelineRow.name.desc())
            .limit(limit)
        )
        if since is not None:
            query = query.where(JobRow.created_at >= datetime.combine(since, time(), UTC))
        if after is not None:
            last = after[0].isoformat() if self._connection.dialect.name == "sqlite" else after[0]
            query = query.where(or_(day < last, and_(day == last, PipelineRow.name < after[1])))
        return [_usage(row) for row in self._connection.execute(query)]

    def beside_paid(self, low: date, high: date) -> dict[tuple[date, str], Beside]:
        """What tries that failed were billed, and what the memo saved, of jobs that began on a day from `low` to
        `high`, by day and pipeline. Looks at all their tasks and tries: seconds where these are millions."""
        billed = AttemptRow.tokens_in + AttemptRow.tokens_out + AttemptRow.cost_micros > 0
        failed = (
            self._by_day(AttemptRow.cost_micros, low, high)
            .join(AttemptRow, AttemptRow.task_id == TaskRow.id)
            .where(AttemptRow.outcome != Outcome.DONE, billed)
        )
        saved = (
            self._by_day(ResultRow.cost_micros, low, high)
            .join(ResultRow, ResultRow.key == TaskRow.key)
            .where(TaskRow.state == TaskState.DONE, TaskRow.hit.is_(True))
        )
        wasted, spared = (
            {(_date(row[0]), str(row[1])): (int(row[2]), int(row[3])) for row in self._connection.execute(query)}
            for query in (failed, saved)
        )
        found = {}
        for key in wasted.keys() | spared.keys():
            (tries, lost), (calls, kept) = wasted.get(key, (0, 0)), spared.get(key, (0, 0))
            found[key] = Beside(failed_calls=tries, failed_micros=lost, saved_calls=calls, saved_micros=kept)
        return found

    @staticmethod
    def _by_day(cost: Any, low: date, high: date) -> Select[Any]:
        """(day, pipeline, how many, cost) over the tasks of jobs that ask a model."""
        day: Any = func.date(JobRow.created_at)
        begin = datetime.combine(low, time(), UTC)
        end = datetime.combine(high + timedelta(days=1), time(), UTC)
        return (
            select(day, PipelineRow.name, func.count(), func.coalesce(func.sum(cost), 0))
            .select_from(JobRow)
            .join(PipelineRow, PipelineRow.id == JobRow.pipeline_id)
            .join(StepRow, StepRow.job_id == JobRow.id)
            .join(TaskRow, TaskRow.step_id == StepRow.id)
            .where(JobRow.created_at >= begin, JobRow.created_at < end)
            .group_by(day, PipelineRow.name)
        )


def _date(value: Any) -> date:
    return date.fromisoformat(value) if isinstance(value, str) else value


def _job_line(row: Row[Any]) -> JobLine:
    values = dict(row._mapping)
    return JobLine(**values | {"state": JobState(values["state"])})


def _usage(row: Row[Any]) -> Usage:
    values = dict(row._mapping)
    day = values.pop("day")
    pipeline = values.pop("pipeline")
    counts = {name: int(value) for name, value in values.items()}
    return Usage(day=_date(day), pipeline=pipeline, **counts)
