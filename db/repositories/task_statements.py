"""The statements that every chunk passes through: adding, claiming, loading and ending tasks (db.prepared)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    bindparam,
    case,
    exists,
    literal_column,
    null,
    or_,
    select,
    true,
    update,
)

from db.bulk import Given, Inserts
from db.prepared import IDS, Prepared, among, fixed
from db.tables import AttemptRow, ChunkRow, ContentRow, ResultRow, TaskRow
from pipeline.states import TaskState

SUSPECT_LOSSES = 2  # a task that lost so many leases runs alone

ONE: ColumnElement[int] = literal_column("1")
BLOCKED = fixed(TaskState.BLOCKED)
READY = fixed(TaskState.READY)
DISPATCHED = fixed(TaskState.DISPATCHED)
LEASED = fixed(TaskState.LEASED)
DONE = fixed(TaskState.DONE)
CLAIMABLE = TaskRow.state.in_([READY, DISPATCHED])
IS_WAITING = TaskRow.state == fixed(TaskState.WAITING_KEY)

CLAIM = (
    TaskRow.id,
    TaskRow.step_id,
    TaskRow.ordinal,
    TaskRow.key,
    TaskRow.epoch + ONE,  # what they are once `LEASE` has run
    TaskRow.attempt + ONE,
    TaskRow.losses,
    TaskRow.page_id,
    TaskRow.page_ordinal,
    TaskRow.inputs,
    TaskRow.scope,
)
UNLEASED: dict[str, Any] = {"lease_owner": null(), "lease_until_ms": null()}

_ADDED = ("step_id", "ordinal", "key", "page_id", "page_ordinal", "inputs", "scope")  # step, and db.values.NewTask
_ATTEMPT = ("task_id", "number", "epoch", "owner", "started_ms", "ended_ms", "outcome")
_TOLD = ("error_code", "message", "tokens_in", "tokens_out", "cost_micros", "calls")


def _resolved(given: Given, source: FromClause) -> tuple[dict[str, Any], FromClause]:
    """What a new task is: by one join against the memo a hit is done before it was ever ready."""
    known = ResultRow.key.is_not(None)
    state = case((known, DONE), (given["key"].is_(None), BLOCKED), else_=READY)
    zero: dict[str, Any] = dict.fromkeys(("attempt", "losses", "epoch", "dispatch"), literal_column("0"))
    return {"state": state, "hit": known, **zero}, source.outerjoin(ResultRow, ResultRow.key == given["key"])


def _candidates(dialect: str, *, suspects: bool) -> Any:
    # One step at a time: over several the order would need a sort of everything that is ready, at every claim.
    query: Any = (
        select(*CLAIM)
        .where(
            TaskRow.step_id == bindparam("step_id"),
            TaskRow.state == READY,
            or_(TaskRow.not_before_ms.is_(None), TaskRow.not_before_ms <= bindparam("now_ms")),
            TaskRow.losses >= bindparam("losses") if suspects else TaskRow.losses < bindparam("losses"),
        )
        .order_by(TaskRow.ordinal)
        .limit(bindparam("most", type_=TaskRow.ordinal.type))
    )
    return query.with_for_update(skip_locked=True) if dialect == "postgresql" else query


def _lease(dialect: str) -> Any:
    return (
        update(TaskRow)
        .where(among(TaskRow.id, dialect), CLAIMABLE)
        .values(
            state=LEASED,
            epoch=TaskRow.epoch + ONE,
            attempt=TaskRow.attempt + ONE,
            lease_owner=bindparam("lease_owner"),
            lease_until_ms=bindparam("lease_until_ms"),
            not_before_ms=null(),
        )
    )


def _epochs(dialect: str) -> Any:
    query: Any = select(TaskRow.id, TaskRow.epoch).where(among(TaskRow.id, dialect), TaskRow.state == LEASED)
    return query.with_for_update() if dialect == "postgresql" else query


def _rung(dialect: str) -> Any:
    query: Any = select(TaskRow.dispatch, *CLAIM).where(among(TaskRow.id, dialect), TaskRow.state == DISPATCHED)
    return query.with_for_update(skip_locked=True) if dialect == "postgresql" else query


def _finish(dialect: str) -> Any:
    return (
        update(TaskRow)
        .where(among(TaskRow.id, dialect), TaskRow.state == LEASED)
        .values(state=DONE, error_code=null(), **UNLEASED)
    )


def _texts(dialect: str) -> Any:
    return (
        select(TaskRow.id, ContentRow.text, ChunkRow.token_count)
        .join(ChunkRow, (ChunkRow.page_id == TaskRow.page_id) & (ChunkRow.ordinal == TaskRow.page_ordinal))
        .join(ContentRow, ContentRow.sha256 == ChunkRow.content_sha256)
        .where(among(TaskRow.id, dialect))
    )


def _answered(dialect: str) -> Any:
    return select(TaskRow.id).join(ResultRow, ResultRow.key == TaskRow.key).where(among(TaskRow.id, dialect))


ADD = Inserts(TaskRow, _ADDED, skip=False, derive=_resolved)
ADD_ATTEMPT = Inserts(AttemptRow, _ATTEMPT + _TOLD, skip=False)
CANDIDATES = Prepared(("step_id", "now_ms", "losses", "most"), lambda dialect: _candidates(dialect, suspects=False))
SUSPECTS = Prepared(("step_id", "now_ms", "losses", "most"), lambda dialect: _candidates(dialect, suspects=True))
LEASE = Prepared(("lease_owner", "lease_until_ms", IDS), _lease)
EPOCHS = Prepared((IDS,), _epochs)
RUNG = Prepared((IDS,), _rung)
FINISH = Prepared((IDS,), _finish)
TEXTS = Prepared((IDS,), _texts)
ANSWERED = Prepared((IDS,), _answered)
ANY_WAITING = Prepared((), lambda _: select(exists().where(IS_WAITING)))
FINISH_WAITING = Prepared(
    ("key",),
    lambda _: update(TaskRow).where(IS_WAITING, TaskRow.key == bindparam("key")).values(state=DONE, hit=true()),
)
