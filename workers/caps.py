"""Hard caps of a job: how many more model calls may be begun (DESIGN §6).

They are looked at where tasks are taken, in the same transaction, against what is spent and what is in flight. So they
hold over all workers and restarts, and are exceeded by what the calls in flight use at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from db.database import Repositories
from db.values import Counts
from pipeline.states import JobState
from workers.clock import now_ms

UNKNOWN = 4  # calls begun at once while none has ended: what one uses is not known yet
MILLION = 1_000_000
CAPPED = "stopped at its cap"  # begins the reason of a job that is paused so

_SPENT = {
    "max_calls": lambda counts: counts.calls,
    "max_tokens": lambda counts: counts.tokens_in + counts.tokens_out,
    "max_cost_micros": lambda counts: counts.cost_micros,
}
_OPTIONS = {"max_calls": "--max-calls", "max_tokens": "--max-tokens", "max_cost_micros": "--max-cost"}


def spent(rows: Repositories, step_ids: Sequence[int]) -> Counts:
    """What was done for the steps, by all processes."""
    whole = Counts()
    for counts in rows.jobs.counts(step_ids).values():
        whole.calls += counts.calls
        whole.tokens_in += counts.tokens_in
        whole.tokens_out += counts.tokens_out
        whole.cost_micros += counts.cost_micros
    return whole


def allowed(rows: Repositories, caps: Mapping[str, int], step_ids: Sequence[int]) -> int:
    """How many more calls of the steps may be begun now: what is left, by what a call used so far, less those begun."""
    # In this order: a call that another process commits between the two reads is counted twice, and not left out.
    in_flight = rows.dispatches.in_flight(step_ids)
    done = spent(rows, step_ids)
    left: list[int] = []
    for name, cap in caps.items():
        used = _SPENT[name](done)
        if used >= cap:
            return 0
        if name == "max_calls":
            left.append(cap - used - in_flight)
        elif done.calls == 0:
            left.append(UNKNOWN - in_flight)
        else:
            each = max(1, used // done.calls)
            left.append(max(1 if in_flight == 0 else 0, (cap - used) // each - in_flight))
    return max(0, min(left))


def stop_if_reached(rows: Repositories, job_id: UUID, caps: Mapping[str, int], step_ids: Sequence[int]) -> bool:
    """Pause a job that is at a cap, has nothing in flight and still has something to call; says whether it did."""
    done = spent(rows, step_ids)
    reached = [name for name, cap in caps.items() if _SPENT[name](done) >= cap]
    if not reached or rows.dispatches.in_flight(step_ids) or not rows.dispatches.waiting(step_ids, now_ms=now_ms()):
        return False
    return rows.jobs.move(
        job_id,
        to=JobState.PAUSED,
        reason=reason(reached[0], caps, done),
        unless=tuple(set(JobState) - {JobState.RUNNING}),
    )


def reason(name: str, caps: Mapping[str, int], done: Counts) -> str:
    """Why a job stopped, and what lets it go on."""
    used, cap = _SPENT[name](done), caps[name]
    if name == "max_cost_micros":
        told = f"{used / MILLION:.4f} of {cap / MILLION:.4f} spent"
    else:
        told = f"{used} of {cap} {name.removeprefix('max_')} used"
    return f"{CAPPED}: {told}; octavo resume with a higher {_OPTIONS[name]} goes on"


def reached(rows: Repositories, caps: Mapping[str, int], step_ids: Sequence[int]) -> str | None:
    """The reason why these caps would stop a job at once; None when they leave something."""
    done = spent(rows, step_ids)
    found = [name for name, cap in caps.items() if _SPENT[name](done) >= cap]
    return reason(found[0], caps, done) if found else None
