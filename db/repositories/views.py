"""Views, their trees and their schedules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, case, delete, except_, exists, func, insert, literal, select, tuple_, update
from sqlalchemy.engine import Connection

from db.dialect import batches, insert_new
from db.repositories.documents import DocumentRepository
from db.tables import (
    DismissalRow,
    JobRow,
    ResultRow,
    ScheduleRow,
    StepRow,
    TaskRow,
    ViewDocumentRow,
    ViewNodeRow,
    ViewRefreshRow,
    ViewRow,
)
from db.values import Dismissal, Document, Schedule, View
from pipeline.ops.values import Json
from pipeline.states import JOB_ACTIVE, TaskState

_VIEW = tuple(ViewRow.__table__.c)
_NODE = (ViewNodeRow.position, ViewNodeRow.level, ViewNodeRow.place, ViewNodeRow.within, ViewNodeRow.key)
_STANDS = ViewNodeRow.until.is_(None)


class ViewRepository:
    """The `views`, `view_documents`, `view_refreshes`, `view_nodes`, `dismissals` and `schedules` tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, *, name: str, pipeline: str, selectors: Sequence[str], options: dict[str, Json]) -> bool:
        """Store a view that was never swept; False when there is one of this name."""
        row = {
            "name": name,
            "pipeline": pipeline,
            "selectors": list(selectors),
            "options": options,
            "refresh": 0,
            "created_at": datetime.now(UTC),
        }
        statement = insert_new(self._connection, ViewRow).values(row).returning(ViewRow.id)
        return self._connection.execute(statement).scalar_one_or_none() is not None

    def get(self, name: str) -> View | None:
        """A view by name."""
        row = self._connection.execute(select(*_VIEW).where(ViewRow.name == name)).one_or_none()
        return None if row is None else _view(row)

    def all(self) -> list[View]:
        """All views by name."""
        return [_view(row) for row in self._connection.execute(select(*_VIEW).order_by(ViewRow.name))]

    def page(self, *, limit: int, after: str | None = None) -> list[View]:
        """Views by name, those after a name."""
        query = select(*_VIEW).order_by(ViewRow.name).limit(limit)
        if after is not None:
            query = query.where(ViewRow.name > after)
        return [_view(row) for row in self._connection.execute(query)]

    def remove(self, view_id: int) -> None:
        """Forget a view with its tree. What it computed stays in the memo, its documents stay too."""
        self._connection.execute(delete(ViewRow).where(ViewRow.id == view_id))

    # What it is over

    def select(self, view_id: int, document_ids: Sequence[UUID]) -> None:
        """Note which documents a view's selectors name now, in order."""
        if [document.id for document in self.documents(view_id)] == list(document_ids):
            return
        self._connection.execute(delete(ViewDocumentRow).where(ViewDocumentRow.view_id == view_id))
        rows = [
            {"view_id": view_id, "ordinal": ordinal, "document_id": document_id}
            for ordinal, document_id in enumerate(document_ids)
        ]
        if rows:
            self._connection.execute(insert(ViewDocumentRow), rows)

    def documents(self, view_id: int) -> list[Document]:
        """The documents that a view's selectors named at the last sweep, in order."""
        query = select(ViewDocumentRow.document_id, ViewDocumentRow.ordinal).where(ViewDocumentRow.view_id == view_id)
        order = {row[0]: row[1] for row in self._connection.execute(query)}
        chosen = select(ViewDocumentRow.document_id).where(ViewDocumentRow.view_id == view_id)
        found = DocumentRepository(self._connection).among(chosen)
        return sorted(found, key=lambda document: order[document.id])

    def selected(self, view_id: int) -> int:
        """How many documents a view was over at its last sweep."""
        query = select(func.count()).select_from(ViewDocumentRow).where(ViewDocumentRow.view_id == view_id)
        return int(self._connection.execute(query).scalar_one())

    def over(self, document_id: UUID, limit: int) -> list[View]:
        """Views that a document was selected by at their last sweep, by name."""
        mine = select(ViewDocumentRow.view_id).where(ViewDocumentRow.document_id == document_id)
        query = select(*_VIEW).where(ViewRow.id.in_(mine)).order_by(ViewRow.name).limit(limit)
        return [_view(row) for row in self._connection.execute(query)]

    def over_each(self, document_ids: Sequence[UUID], limit: int) -> list[tuple[UUID, View]]:
        """(document, view) of the views that each of some documents was selected by at their last sweep."""
        query = (
            select(ViewDocumentRow.document_id, *_VIEW)
            .join(ViewRow, ViewRow.id == ViewDocumentRow.view_id)
            .where(ViewDocumentRow.document_id.in_(document_ids))
            .limit(limit)
        )
        return [(row.document_id, _view(row)) for row in self._connection.execute(query)]

    def swept(self, view_id: int, trouble: str | None) -> None:
        """Note that a view was swept, and what it could not do."""
        statement = update(ViewRow).where(ViewRow.id == view_id)
        self._connection.execute(statement.values(swept_at=datetime.now(UTC), trouble=trouble))

    # Refreshes

    def begin(self, view_id: int, job_id: UUID) -> None:
        """Note that a job is a refresh of a view."""
        row = {"view_id": view_id, "job_id": job_id, "number": None}
        self._connection.execute(insert_new(self._connection, ViewRefreshRow), row)

    def refreshing(self, view_id: int) -> UUID | None:
        """The latest job that is a refresh of a view and is at work or paused."""
        query = (
            select(JobRow.id)
            .join(ViewRefreshRow, ViewRefreshRow.job_id == JobRow.id)
            .where(ViewRefreshRow.view_id == view_id, JobRow.state.in_(JOB_ACTIVE))
        )
        return self._connection.execute(query.order_by(JobRow.id.desc()).limit(1)).scalar_one_or_none()

    def latest(self, view_id: int) -> UUID | None:
        """The latest job that is a refresh of a view, however it ended."""
        query = select(ViewRefreshRow.job_id).where(ViewRefreshRow.view_id == view_id)
        return self._connection.execute(query.order_by(ViewRefreshRow.job_id.desc()).limit(1)).scalar_one_or_none()

    def publish(self, job_id: UUID, merges: Sequence[int], *, holes: bool) -> list[int]:
        """Serve a finished job in the views that it is a refresh of, unless a newer one is served; gives their ids.

        One with holes is served only where nothing whole is. `merges` are the positions of its merges. The tree's delta
        is written: nodes that are new, nodes that are gone.
        """
        query = select(ViewRefreshRow.view_id).where(ViewRefreshRow.job_id == job_id).order_by(ViewRefreshRow.view_id)
        published = []
        for view_id in self._connection.execute(query).scalars().all():
            first = ViewRow.served_job_id.is_(None) | (ViewRow.served_job_id == job_id)
            may = first if holes else first | (ViewRow.served_job_id < job_id)
            swap = update(ViewRow).where(ViewRow.id == view_id, may)
            swap = swap.values(served_job_id=job_id, refresh=ViewRow.refresh + 1)
            number = self._connection.execute(swap.returning(ViewRow.refresh)).scalar_one_or_none()
            if number is not None:
                self._write_delta(view_id, job_id, number, merges)
                mine = (ViewRefreshRow.view_id == view_id) & (ViewRefreshRow.job_id == job_id)
                self._connection.execute(update(ViewRefreshRow).where(mine).values(number=number))
                published.append(view_id)
        return published

    def _write_delta(self, view_id: int, job_id: UUID, number: int, merges: Sequence[int]) -> None:
        place = case((StepRow.position.in_(merges), func.coalesce(TaskRow.scope, 0)), else_=0)
        new = (
            select(
                StepRow.position,
                StepRow.level,
                func.coalesce(TaskRow.page_id, place),
                func.coalesce(TaskRow.page_ordinal, 0),
                TaskRow.key,
            )
            .join(StepRow, StepRow.id == TaskRow.step_id)
            .where(StepRow.job_id == job_id, TaskRow.state == TaskState.DONE, TaskRow.key.is_not(None))
        )
        standing = select(*_NODE).where(ViewNodeRow.view_id == view_id, _STANDS)
        gone: Any = except_(standing, new)
        close = update(ViewNodeRow).where(ViewNodeRow.view_id == view_id, _STANDS, tuple_(*_NODE).in_(gone))
        self._connection.execute(close.values(until=number))
        fresh = except_(new, select(*_NODE).where(ViewNodeRow.view_id == view_id, _STANDS)).subquery()
        columns = ["view_id", "position", "level", "place", "within", "key", "since"]
        rows = select(literal(view_id), *fresh.c, literal(number))
        self._connection.execute(insert(ViewNodeRow).from_select(columns, rows))

    def missing(self, view_id: int) -> int:
        """How many nodes of a view's tree have no result any more."""
        there = exists().where(ResultRow.key == ViewNodeRow.key)
        query = select(func.count()).select_from(ViewNodeRow).where(ViewNodeRow.view_id == view_id, _STANDS, ~there)
        return self._connection.execute(query).scalar_one()

    def missing_pages(self, view_id: int) -> set[int]:
        """The pages of chunks of a view's tree that have no result any more."""
        there = exists().where(ResultRow.key == ViewNodeRow.key)
        query = select(ViewNodeRow.place).where(ViewNodeRow.view_id == view_id, ViewNodeRow.level == 0, _STANDS, ~there)
        return set(self._connection.execute(query.distinct()).scalars())

    def size(self, view_id: int) -> tuple[int, int]:
        """(nodes that stand, nodes that were taken away) of a view."""
        query = select(func.count(), func.count(ViewNodeRow.until)).where(ViewNodeRow.view_id == view_id)
        whole, closed = self._connection.execute(query).one()
        return whole - closed, closed

    # Schedules

    # Staleness that was dismissed

    def dismissals(self, view_id: int) -> dict[str, Dismissal]:
        """What was dismissed of a view, by the document's URI."""
        columns = [DismissalRow.__table__.c[name] for name in Dismissal._fields]
        rows = self._connection.execute(select(*columns).where(DismissalRow.view_id == view_id))
        return {row[0]: Dismissal(*row) for row in rows}

    def dismiss(self, view_id: int, found: Sequence[Dismissal]) -> None:
        """Store dismissals, in the place of those of the same documents."""
        self.revive(view_id, [item.uri for item in found])
        rows = [{"view_id": view_id, **item._asdict()} for item in found]
        if rows:
            self._connection.execute(insert(DismissalRow), rows)

    def revive(self, view_id: int, uris: Sequence[str] | None = None) -> int:
        """Take dismissals back, all or those of some documents; gives how many."""
        gone = delete(DismissalRow).where(DismissalRow.view_id == view_id)
        if uris is None:
            return self._connection.execute(gone).rowcount
        return sum(self._connection.execute(gone.where(DismissalRow.uri.in_(part))).rowcount for part in batches(uris))

    # Schedules

    def schedule(self, view_id: int, every_s: int | None, next_ms: int) -> None:
        """Sweep a view every so many seconds, or no more (None)."""
        self._connection.execute(delete(ScheduleRow).where(ScheduleRow.view_id == view_id))
        if every_s is not None:
            row = {"view_id": view_id, "every_s": every_s, "next_ms": next_ms}
            self._connection.execute(insert(ScheduleRow).values(row))

    def schedules(self, view_ids: Sequence[int] | None = None) -> list[Schedule]:
        """Every schedule, or those of some views."""
        query = select(ScheduleRow.view_id, ViewRow.name, ScheduleRow.every_s, ScheduleRow.next_ms)
        if view_ids is not None:
            query = query.where(ScheduleRow.view_id.in_(view_ids))
        rows = self._connection.execute(query.join(ViewRow, ViewRow.id == ScheduleRow.view_id))
        return [Schedule(*row) for row in rows]

    def take(self, due: Iterable[Schedule], now_ms: int) -> list[Schedule]:
        """Those of the schedules that are due and that this caller is to do: it moved them on before any other did."""
        taken = []
        for item in due:
            mine = (ScheduleRow.view_id == item.view_id) & (ScheduleRow.next_ms == item.next_ms)
            statement = update(ScheduleRow).where(mine, ScheduleRow.next_ms <= now_ms)
            if self._connection.execute(statement.values(next_ms=now_ms + item.every_s * 1000)).rowcount == 1:
                taken.append(item)
        return taken


def _view(row: Row[Any]) -> View:
    return View(
        id=row.id,
        name=row.name,
        pipeline=row.pipeline,
        selectors=tuple(row.selectors),
        options=row.options,
        served_job_id=row.served_job_id,
        refresh=row.refresh,
        trouble=row.trouble,
        swept_at=row.swept_at,
        created_at=row.created_at,
    )
