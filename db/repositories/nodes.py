"""Nodes of reduces: the tasks of levels above the chunks, by what they are made of and what they are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from db.dialect import batches
from db.tables import StepRow, TaskRow
from pipeline.states import TaskState


class NodeRepository:
    """The `tasks` table, as far as its rows are nodes; read alone."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def inputs(self, step_id: int) -> Iterator[tuple[int, bytes, bytes | None, int | None]]:
        """(ordinal, key, inputs, scope) of a reduce level's finished tasks, in order."""
        query = select(TaskRow.ordinal, TaskRow.key, TaskRow.inputs, TaskRow.scope).where(
            TaskRow.step_id == step_id, TaskRow.state == TaskState.DONE
        )
        for row in self._connection.execute(query.order_by(TaskRow.ordinal)):
            yield row[0], row[1] or b"", row[2], row[3]

    def all_inputs(self, step_id: int) -> Iterator[bytes]:
        """What the tasks of a reduce level hold about their inputs, whatever became of them."""
        query = select(TaskRow.inputs).where(TaskRow.step_id == step_id).order_by(TaskRow.ordinal)
        yield from (data or b"" for data in self._connection.execute(query).scalars())

    def inputs_of(self, step_id: int, ordinals: Sequence[int]) -> dict[int, bytes]:
        """What finished tasks of a reduce level hold about their inputs, by ordinal."""
        query = select(TaskRow.ordinal, TaskRow.inputs).where(TaskRow.step_id == step_id)
        found: dict[int, bytes] = {}
        for part in batches(ordinals):
            rows = self._connection.execute(query.where(TaskRow.ordinal.in_(part), TaskRow.state == TaskState.DONE))
            found.update((ordinal, data or b"") for ordinal, data in rows)
        return found

    def of_scope(self, step_id: int, scope: int) -> list[tuple[int, bytes]]:
        """(ordinal, inputs) of the tasks of a reduce level that are about a scope, in order."""
        query = select(TaskRow.ordinal, TaskRow.inputs).where(TaskRow.step_id == step_id, TaskRow.scope == scope)
        return [(row[0], row[1] or b"") for row in self._connection.execute(query.order_by(TaskRow.ordinal))]

    def span(self, step_id: int, scope: int) -> tuple[int, int] | None:
        """The first and the last ordinal of the tasks of a reduce level about a scope; None: there is none."""
        query = select(func.min(TaskRow.ordinal), func.max(TaskRow.ordinal))
        row = self._connection.execute(query.where(TaskRow.step_id == step_id, TaskRow.scope == scope)).one()
        return None if row[0] is None else (int(row[0]), int(row[1]))

    def next_of(self, step_id: int, scope: int, ordinal: int) -> tuple[int, bytes] | None:
        """(ordinal, inputs) of the first task about a scope from an ordinal on."""
        query = select(TaskRow.ordinal, TaskRow.inputs).where(
            TaskRow.step_id == step_id, TaskRow.scope == scope, TaskRow.ordinal >= ordinal
        )
        row = self._connection.execute(query.order_by(TaskRow.ordinal).limit(1)).first()
        return None if row is None else (row[0], row[1] or b"")

    def scope_at(self, step_id: int, ordinal: int) -> int | None:
        """The scope that a task is about."""
        query = select(TaskRow.scope).where(TaskRow.step_id == step_id, TaskRow.ordinal == ordinal)
        return self._connection.execute(query).scalar_one_or_none()

    def highest(self, step_ids: Sequence[int], scopes: Sequence[int]) -> dict[int, tuple[int, int]]:
        """(level, ordinal) of the highest task about each scope, of the levels of a reduce; no scope without one."""
        found: dict[int, tuple[int, int]] = {}
        for part in batches(scopes):
            query = (
                select(TaskRow.scope, StepRow.level, func.max(TaskRow.ordinal))
                .join(StepRow, StepRow.id == TaskRow.step_id)
                .where(TaskRow.step_id.in_(step_ids), TaskRow.scope.in_(part))
                .group_by(TaskRow.scope, StepRow.level)
                .order_by(StepRow.level)
            )
            for scope, level, ordinal in self._connection.execute(query):
                found[int(scope or 0)] = (level, ordinal)
        return found

    def inputs_at(self, step_id: int, ordinal: int) -> bytes | None:
        """What a task holds about its inputs."""
        query = select(TaskRow.inputs).where(TaskRow.step_id == step_id, TaskRow.ordinal == ordinal)
        return self._connection.execute(query).scalar_one_or_none()
