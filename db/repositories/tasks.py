"""Tasks. Only the functions here change a task's state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, case, exists, func, null, select, update
from sqlalchemy.engine import Connection

from db.dialect import batches
from db.prepared import ids_for
from db.repositories import task_statements as statements
from db.repositories.task_statements import IS_WAITING, SUSPECT_LOSSES, UNLEASED
from db.tables import KeyLeaseRow, ResultRow, TaskRow
from db.values import Claim, NewTask, Overdue, Task
from pipeline.states import TASK_CLAIMABLE, TASK_OPEN, WAITS, TaskState

_STRANDED = IS_WAITING & ~exists().where(KeyLeaseRow.key == TaskRow.key)
_TASK = (
    TaskRow.id,
    TaskRow.step_id,
    TaskRow.ordinal,
    TaskRow.key,
    TaskRow.state,
    TaskRow.hit,
    TaskRow.attempt,
    TaskRow.losses,
    TaskRow.error_code,
    TaskRow.page_id,
    TaskRow.page_ordinal,
    TaskRow.not_before_ms,
)
# A hole that is to be tried again, with a clean record.
_FRESH: dict[str, Any] = {
    "state": case((TaskRow.key.is_(null()), TaskState.BLOCKED), else_=TaskState.READY),
    "attempt": 0,
    "losses": 0,
    "not_before_ms": None,
    "error_code": None,
}


class TaskRepository:
    """The `tasks` table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    # Planning

    def add(self, step_id: int, tasks: Sequence[NewTask]) -> None:
        """Store tasks: done where the memo has their key, blocked where they have none yet, else ready."""
        statements.ADD.many(self._connection, [(step_id, *task) for task in tasks])

    def resolve_hits(self, step_id: int, low: int, high: int) -> int:
        """Mark done, by one join against the memo, the ready tasks with low ≤ ordinal < high that have a result."""
        statement = (
            update(TaskRow)
            .where(
                TaskRow.step_id == step_id,
                TaskRow.state == TaskState.READY,
                TaskRow.ordinal >= low,
                TaskRow.ordinal < high,
                exists().where(ResultRow.key == TaskRow.key),
            )
            .values(state=TaskState.DONE, hit=True)
        )
        return self._connection.execute(statement).rowcount

    def blocked(self, step_id: int, after_step_id: int, limit: int) -> list[tuple[int, int, bytes | None]]:
        """(id, ordinal, output hash or None) of blocked tasks whose predecessor has ended; None: it is a hole."""
        before = TaskRow.__table__.alias("before")
        query = (
            select(TaskRow.id, TaskRow.ordinal, ResultRow.output_sha256)
            .join(before, (before.c.step_id == after_step_id) & (before.c.ordinal == TaskRow.ordinal))
            .join(ResultRow, (ResultRow.key == before.c.key) & (before.c.state == TaskState.DONE), isouter=True)
            .where(
                TaskRow.step_id == step_id,
                TaskRow.state == TaskState.BLOCKED,
                before.c.state.not_in(TASK_OPEN),
            )
            .order_by(TaskRow.ordinal)
            .limit(limit)
        )
        return [(row[0], row[1], row[2]) for row in self._connection.execute(query)]

    def unblock(self, keys: Mapping[int, bytes | None]) -> None:
        """Give blocked tasks their keys and make them ready; None: a hole comes before, so it is one too."""
        ready = [{"b_id": task_id, "b_key": key} for task_id, key in keys.items() if key]
        holes = [task_id for task_id, key in keys.items() if key is None]
        if ready:
            statement = update(TaskRow).where(TaskRow.id == bindparam("b_id"), TaskRow.state == TaskState.BLOCKED)
            self._connection.execute(statement.values(key=bindparam("b_key"), state=TaskState.READY), ready)
        for part in batches(holes):
            statement = update(TaskRow).where(TaskRow.id.in_(part), TaskRow.state == TaskState.BLOCKED)
            self._connection.execute(statement.values(state=TaskState.FAILED, error_code="hole_before"))

    # Claiming

    def candidates(self, step_ids: Sequence[int], *, now_ms: int, limit: int, suspects: bool = False) -> list[Claim]:
        """Ready tasks that are due, in order of step and ordinal, locked for this transaction.

        Their epoch and attempt are those they will have when they are leased.
        Tasks that lost two leases are given only as `suspects`.
        """
        statement = statements.SUSPECTS if suspects else statements.CANDIDATES
        found: list[Claim] = []
        for step_id in sorted(step_ids):
            rows = statement.rows(self._connection, (step_id, now_ms, SUSPECT_LOSSES, limit - len(found)))
            found += map(Claim._make, rows)
            if len(found) >= limit:
                break
        return found

    def lease(self, task_ids: Sequence[int], *, owner: str, until_ms: int) -> None:
        """Lease ready tasks: their epoch and attempt rise by one."""
        if task_ids:
            statements.LEASE.one(self._connection, (owner, until_ms, ids_for(self._connection, task_ids)))

    def texts(self, task_ids: Sequence[int]) -> dict[int, tuple[str, int]]:
        """(text, tokens) of the chunks of map tasks, by task id."""
        rows = statements.TEXTS.rows(self._connection, (ids_for(self._connection, task_ids),))
        return {task_id: (text.decode(), tokens) for task_id, text, tokens in rows}

    def answered(self, task_ids: Sequence[int]) -> set[int]:
        """Those of the tasks whose key has a result."""
        found = statements.ANSWERED.rows(self._connection, (ids_for(self._connection, task_ids),))
        return {task_id for (task_id,) in found}

    def wait_for_key(self, task_ids: Sequence[int]) -> None:
        """Let ready tasks wait for the one that computes their key."""
        for part in batches(task_ids):
            statement = update(TaskRow).where(TaskRow.id.in_(part), TaskRow.state.in_(TASK_CLAIMABLE))
            self._connection.execute(statement.values(state=TaskState.WAITING_KEY))

    def refuse(self, task_ids: Sequence[int]) -> None:
        """Tasks whose key was held a moment ago are ready, whether they were rung for or not."""
        for part in batches(task_ids):
            statement = update(TaskRow).where(TaskRow.id.in_(part), TaskRow.state.in_(TASK_CLAIMABLE))
            self._connection.execute(statement.values(state=TaskState.READY))

    def hit(self, task_ids: Sequence[int]) -> None:
        """Mark ready tasks done whose result came meanwhile."""
        for part in batches(task_ids):
            statement = update(TaskRow).where(TaskRow.id.in_(part), TaskRow.state.in_(TASK_CLAIMABLE))
            self._connection.execute(statement.values(state=TaskState.DONE, hit=True))

    def renew(self, owner: str, task_ids: Sequence[int], until_ms: int) -> None:
        """Hold leased tasks longer."""
        for part in batches(task_ids):
            statement = update(TaskRow).where(
                TaskRow.id.in_(part), TaskRow.state == TaskState.LEASED, TaskRow.lease_owner == owner
            )
            self._connection.execute(statement.values(lease_until_ms=until_ms))

    # Ending

    def epochs(self, task_ids: Sequence[int]) -> dict[int, int]:
        """The epochs of those tasks that are leased, locked for this transaction: who holds an older one is late."""
        return dict(statements.EPOCHS.rows(self._connection, (ids_for(self._connection, task_ids),)))

    def finish(self, task_ids: Sequence[int]) -> None:
        """Leased tasks are done."""
        if task_ids:
            statements.FINISH.one(self._connection, (ids_for(self._connection, task_ids),))

    def finish_waiting(self, keys: Sequence[bytes]) -> None:
        """The tasks that wait for these keys are done: the winner's result is theirs."""
        if keys and self._any_waiting():
            statements.FINISH_WAITING.many(self._connection, [(key,) for key in keys])

    def _any_waiting(self) -> bool:
        # Seldom is there one, and to know that costs one look into a partial index instead of one for each key.
        return bool(statements.ANY_WAITING.one(self._connection, ()).scalar_one())

    def free_waiting(self, keys: Sequence[bytes]) -> None:
        """The tasks that wait for these keys are ready again: nobody computes them."""
        for part in batches(keys):
            statement = update(TaskRow).where(IS_WAITING, TaskRow.key.in_(part))
            self._connection.execute(statement.values(state=TaskState.READY))

    def fail(self, task_ids: Sequence[int], code: str) -> None:
        """Leased tasks are holes."""
        self._end(task_ids, {"state": TaskState.FAILED, "error_code": code})

    def again(self, task_ids: Sequence[int], *, not_before_ms: int | None, code: str | None) -> None:
        """Leased tasks are ready again, from a time on."""
        self._end(task_ids, {"state": TaskState.READY, "not_before_ms": not_before_ms, "error_code": code})

    def give_back(self, task_ids: Sequence[int], *, not_before_ms: int | None = None, code: str | None = None) -> None:
        """Leased tasks that were not begun are ready again, as if never taken; from a time on, for a reason."""
        fresh = {"attempt": TaskRow.attempt - 1, "not_before_ms": not_before_ms, "error_code": code}
        self._end(task_ids, {"state": TaskState.READY, **fresh})

    def lose(self, task_ids: Sequence[int]) -> None:
        """Leased tasks whose holder died are ready again; the loss is counted."""
        self._end(task_ids, {"state": TaskState.READY, "losses": TaskRow.losses + 1, "error_code": "lease_lost"})

    def _end(self, task_ids: Sequence[int], values: dict[str, Any]) -> None:
        for part in batches(task_ids):
            statement = update(TaskRow).where(TaskRow.id.in_(part), TaskRow.state == TaskState.LEASED)
            self._connection.execute(statement.values(**values, **UNLEASED))

    # Reconciling

    def owners(self) -> set[str]:
        """Who holds a task."""
        query = select(TaskRow.lease_owner).where(TaskRow.lease_owner.is_not(None)).distinct()
        return {owner for owner in self._connection.execute(query).scalars() if owner}

    def overdue(self, dead: Sequence[str], now_ms: int, *, locked: bool = True) -> list[Overdue]:
        """Leased tasks whose owner is dead or whose lease ran out, locked for this transaction.

        Who only looks locks nothing: in a transaction that sees one state of the database a row that another took back
        meanwhile could not be locked.
        """
        query = select(
            TaskRow.id,
            TaskRow.step_id,
            TaskRow.attempt,
            TaskRow.epoch,
            TaskRow.lease_owner,
            TaskRow.losses,
            TaskRow.key,
        ).where(TaskRow.lease_owner.is_not(None), (TaskRow.lease_until_ms < now_ms) | TaskRow.lease_owner.in_(dead))
        if locked and self._connection.dialect.name == "postgresql":
            query = query.with_for_update(skip_locked=True)
        return [_overdue(row) for row in self._connection.execute(query)]

    def stranded(self) -> bool:
        """Does a task wait for a key that nobody computes?"""
        return bool(self._connection.execute(select(exists().where(_STRANDED))).scalar_one())

    def free_stranded(self) -> None:
        """Tasks that wait for a key that nobody computes are ready again."""
        self._connection.execute(update(TaskRow).where(_STRANDED).values(state=TaskState.READY))

    def next_due_ms(self, step_ids: Sequence[int]) -> int | None:
        """When the next delayed retry of steps is due."""
        query = select(func.min(TaskRow.not_before_ms)).where(
            TaskRow.step_id.in_(step_ids), TaskRow.state == TaskState.READY
        )
        return self._connection.execute(query).scalar_one_or_none()

    def open(self, step_id: int) -> bool:
        """Has a step an open task?"""
        query = select(exists().where(TaskRow.step_id == step_id, TaskRow.state.in_(TASK_OPEN)))
        return bool(self._connection.execute(query).scalar_one())

    # Looking

    def counts(self, step_ids: Sequence[int]) -> dict[int, dict[str, int]]:
        """Tasks by step and state; hits, delayed retries and suspects under names of their own."""
        hit = case((TaskRow.hit.is_(True), 1), else_=0)
        delayed = case((TaskRow.not_before_ms.is_not(None) & (TaskRow.state == TaskState.READY), 1), else_=0)
        query = (
            select(TaskRow.step_id, TaskRow.state, func.count(), func.sum(hit), func.sum(delayed))
            .where(TaskRow.step_id.in_(step_ids))
            .group_by(TaskRow.step_id, TaskRow.state)
        )
        found: dict[int, dict[str, int]] = {step_id: {} for step_id in step_ids}
        for step_id, state, count, hits, retrying in self._connection.execute(query):
            found[step_id][state] = count
            found[step_id]["hits"] = found[step_id].get("hits", 0) + int(hits)
            found[step_id]["retrying"] = found[step_id].get("retrying", 0) + int(retrying)
        return found

    def waits(self, step_ids: Sequence[int]) -> str | None:
        """Why most of the ready tasks that the governor sent back wait: its reason, None when there is none."""
        query = (
            select(TaskRow.error_code, func.count())
            .where(
                TaskRow.step_id.in_(step_ids),
                TaskRow.state == TaskState.READY,
                TaskRow.error_code.startswith(WAITS, autoescape=True),
            )
            .group_by(TaskRow.error_code)
        )
        found = {code: count for code, count in self._connection.execute(query) if code}
        return max(found, key=lambda code: (found[code], code)).removeprefix(WAITS) if found else None

    def outputs(self, step_id: int) -> Iterator[tuple[int, bytes | None, bytes | None, int]]:
        """(ordinal, key, output hash, bytes of the output) of a step's tasks, in order; None, None, 0 for a hole."""
        query = (
            select(TaskRow.ordinal, ResultRow.key, ResultRow.output_sha256, ResultRow.output_size)
            .join(ResultRow, (ResultRow.key == TaskRow.key) & (TaskRow.state == TaskState.DONE), isouter=True)
            .where(TaskRow.step_id == step_id)
            .order_by(TaskRow.ordinal)
        )
        for row in self._connection.execute(query.execution_options(yield_per=5000)):
            yield row[0], row[1], row[2], row[3] or 0

    def keys(self, step_id: int, ordinals: Sequence[int] | None = None) -> dict[int, bytes]:
        """Keys of a step's finished tasks by ordinal."""
        query = select(TaskRow.ordinal, TaskRow.key).where(TaskRow.step_id == step_id, TaskRow.state == TaskState.DONE)
        if ordinals is None:
            return {ordinal: key for ordinal, key in self._connection.execute(query) if key}
        found: dict[int, bytes] = {}
        for part in batches(ordinals):
            rows = self._connection.execute(query.where(TaskRow.ordinal.in_(part)))
            found.update((ordinal, key) for ordinal, key in rows if key)
        return found

    def page(self, step_id: int, *, states: Sequence[TaskState], limit: int, after: int = -1) -> list[Task]:
        """Tasks of a step in order."""
        query = select(*_TASK).where(TaskRow.step_id == step_id, TaskRow.ordinal > after)
        if states:
            query = query.where(TaskRow.state.in_(states))
        return [_task(row) for row in self._connection.execute(query.order_by(TaskRow.ordinal).limit(limit))]

    def at(self, step_id: int, ordinal: int) -> Task | None:
        """The task of a step at an ordinal."""
        row = self._connection.execute(select(*_TASK).where(TaskRow.step_id == step_id, TaskRow.ordinal == ordinal))
        return next((_task(found) for found in row), None)

    def hole_pages(self, step_ids: Sequence[int], states: Sequence[TaskState]) -> dict[int, int]:
        """How many holes (tasks in one of `states`) steps over chunks have, by page."""
        query = select(TaskRow.page_id, func.count()).where(TaskRow.step_id.in_(step_ids), TaskRow.state.in_(states))
        return {page: count for page, count in self._connection.execute(query.group_by(TaskRow.page_id)) if page}

    # Decisions of people

    def retry_holes(self, step_ids: Sequence[int]) -> int:
        """Make holes ready again with a clean record; gives how many."""
        statement = update(TaskRow).where(
            TaskRow.step_id.in_(step_ids), TaskRow.state.in_((TaskState.FAILED, TaskState.WAIVED))
        )
        return self._connection.execute(statement.values(**_FRESH)).rowcount

    def count_holes(self, step_ids: Sequence[int], *, code: str | None, ordinals: Sequence[int] | None) -> int:
        """How many holes of steps have an error code, or are at ordinals; None: any."""
        query = select(func.count()).select_from(TaskRow).where(*_holes(step_ids, code, ordinals))
        return int(self._connection.execute(query).scalar_one())

    def retry_some(self, step_ids: Sequence[int], *, code: str | None, ordinals: Sequence[int] | None) -> int:
        """Make the holes that `count_holes` counts ready again with a clean record; gives how many."""
        statement = update(TaskRow).where(*_holes(step_ids, code, ordinals))
        return self._connection.execute(statement.values(**_FRESH)).rowcount

    def waive_some(self, step_ids: Sequence[int], *, code: str | None, ordinals: Sequence[int] | None) -> int:
        """Accept the holes that `count_holes` counts; gives how many."""
        statement = update(TaskRow).where(*_holes(step_ids, code, ordinals))
        return self._connection.execute(statement.values(state=TaskState.WAIVED)).rowcount

    def waive(self, step_ids: Sequence[int], ordinals: Sequence[int] | None) -> int:
        """Accept holes: all of the steps', or those at the ordinals; gives how many."""
        statement = update(TaskRow).where(TaskRow.step_id.in_(step_ids), TaskRow.state == TaskState.FAILED)
        if ordinals is not None:
            statement = statement.where(TaskRow.ordinal.in_(ordinals))
        return self._connection.execute(statement.values(state=TaskState.WAIVED)).rowcount

    def cancel(self, step_ids: Sequence[int]) -> int:
        """Cancel what is open and not running; gives how many."""
        statement = update(TaskRow).where(
            TaskRow.step_id.in_(step_ids),
            TaskRow.state.in_((TaskState.BLOCKED, *TASK_CLAIMABLE, TaskState.WAITING_KEY)),
        )
        return self._connection.execute(statement.values(state=TaskState.CANCELLED)).rowcount


def _holes(step_ids: Sequence[int], code: str | None, ordinals: Sequence[int] | None) -> list[Any]:
    conditions: list[Any] = [TaskRow.step_id.in_(step_ids), TaskRow.state == TaskState.FAILED]
    if code is not None:
        conditions.append(TaskRow.error_code == code)
    if ordinals is not None:
        conditions.append(TaskRow.ordinal.in_(ordinals))
    return conditions


def _overdue(row: Any) -> Overdue:
    return Overdue(*row)


def _task(row: Any) -> Task:
    values: list[Any] = list(row)
    values[4] = TaskState(values[4])
    return Task(*values)
