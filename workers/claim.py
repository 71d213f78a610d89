"""Claim ready tasks for this process: a lease on the task and one on its key, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from db.database import Database, Repositories
from db.values import Claim
from workers.clock import now_ms


@dataclass(frozen=True, slots=True)
class Taken:
    """What a claim gave: tasks to run, and how many others it moved on (hits, or waiting for their key)."""

    claims: list[Claim]
    moved: int


def claim(
    database: Database,
    step_ids: Sequence[int],
    *,
    limit: int,
    owner: str,
    lease_ms: int,
    suspects: bool = False,
    within: Callable[[Repositories], int] | None = None,
) -> Taken:
    """Take at most `limit` ready tasks of the steps. `suspects` takes one that lost two leases, to run alone.

    `within` says how many may be taken at all, in the same transaction: what a cap leaves.
    """
    if not step_ids or limit <= 0:
        return Taken([], 0)
    now = now_ms()
    with database.write() as rows:
        if within is not None and (limit := min(limit, within(rows))) <= 0:
            return Taken([], 0)
        found = rows.tasks.candidates(step_ids, now_ms=now, limit=limit, suspects=suspects)
        if not found:
            return Taken([], 0)
        return lease_found(rows, found, owner, now, now + lease_ms)


def lease_found(rows: Repositories, found: Sequence[Claim], owner: str, now: int, until: int) -> Taken:
    """Lease those of the candidates whose key is free; move on the others: hits, or waiting for their key."""
    wanted = [(item.key, item.id, item.epoch) for item in found]
    got = rows.leases.acquire(wanted, owner=owner, now_ms=now, until_ms=until)
    # The memo is asked after the key is held: whoever held it before has committed by then, or never will.
    answered = rows.tasks.answered([item.id for item in found])
    hits = [item for item in found if item.id in answered]
    ours = [item for item in found if item.id in got and item.id not in answered]
    refused = [item for item in found if item.id not in got and item.id not in answered]
    held = rows.leases.held([item.key for item in refused]) if refused else set()
    waiting = [item.id for item in refused if item.key in held]
    rows.tasks.hit([item.id for item in hits])
    rows.leases.release([item.key for item in hits if item.id in got], owner=owner)
    rows.tasks.wait_for_key(waiting)
    rows.tasks.refuse([item.id for item in refused if item.key not in held])  # given back just now: to be tried again
    rows.tasks.lease([item.id for item in ours], owner=owner, until_ms=until)
    return Taken(ours, len(found) - len(ours))
