"""Reconcile: what dead processes held goes back, and what waits for nobody is freed (DESIGN §6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from db.database import Database, Repositories
from db.repositories.task_statements import SUSPECT_LOSSES
from db.values import NewAttempt, Overdue
from pipeline.states import Outcome
from workers import failpoints
from workers.clock import now_ms

POISONED = "poisoned"  # it took its process down again and again while it ran alone

# A loss while alone quarantines. An embedded process mostly dies because a person killed it, which says nothing of the
# chunk, so there the same chunk must take it down ten times more: as often as a stubborn person kills a run.
EMBEDDED_PATIENCE = 10


def reconcile(
    database: Database, *, dead: Callable[[Iterable[str]], Sequence[str]], patience: int = EMBEDDED_PATIENCE
) -> int:
    """Void the leases of dead owners and those that ran out; gives how many tasks went back.

    `dead` says which of the owners are known to be gone. `patience` is how many losses while alone are forgiven.
    """
    now = now_ms()
    with database.read() as rows:
        gone = dead(rows.tasks.owners() | rows.leases.owners())
        nothing = not gone and not rows.tasks.overdue((), now, locked=False) and not rows.tasks.stranded()
    if nothing:
        return 0
    with database.write() as rows:
        overdue = rows.tasks.overdue(gone, now)
        _take_back(rows, overdue, now, patience)
        keys = rows.leases.drop(gone, now)
        rows.tasks.free_waiting(keys)
        rows.tasks.free_stranded()
        failpoints.reached("reconcile.before")
    failpoints.reached("reconcile.after")
    return len(overdue)


def _take_back(rows: Repositories, overdue: Sequence[Overdue], now: int, patience: int) -> None:
    poisoned = [item for item in overdue if item.losses >= SUSPECT_LOSSES + patience]
    lost = [item for item in overdue if item not in poisoned]
    rows.tasks.lose([item.id for item in lost])
    rows.tasks.fail([item.id for item in poisoned], POISONED)
    rows.attempts.add(
        [
            NewAttempt(
                task_id=item.id,
                number=item.attempt,
                epoch=item.epoch,
                owner=item.owner,
                started_ms=now,
                ended_ms=now,
                outcome=Outcome.LOST,
                error_code="lease_lost",
                message="the process that held it ended or slept past its lease",
                calls=0,  # if it was asked is not known
            )
            for item in overdue
        ]
    )
