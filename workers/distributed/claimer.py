"""Claims of one worker process, in groups: what its slots were rung for at one time is leased in one transaction."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from db.database import Database, Repositories
from db.repositories.task_statements import SUSPECT_LOSSES
from db.values import Claim
from pipeline.errors import OctavoError
from pipeline.states import WAITS
from workers import failpoints
from workers.claim import lease_found
from workers.clock import now_ms
from workers.execute import Work
from workers.load import Loader

log = logging.getLogger(__name__)

Rung = Sequence[tuple[int, int]]  # (task id, dispatch number)
GROUP = 256
STRANGE, STRANGE_MS = "strange", 1_000  # why a task whose op is not known here goes back, and for how long
LINGER_S = 0.005  # a claim waits so long for company: its statements cost the same for one task as for many


@dataclass(frozen=True, slots=True)
class Grant:
    """What a claim gave: the work to do now, and the rung tasks that lost two leases and must run alone."""

    works: list[Work]
    suspects: list[tuple[int, int]]


class Claimer:
    """A thread that claims for all slots. A task that lost two leases is left to `alone`."""

    def __init__(self, database: Database, loader: Loader, owner: str, lease_ms: int) -> None:
        self._database = database
        self._loader = loader
        self._owner = owner
        self._lease_ms = lease_ms
        self._inbox: queue.SimpleQueue[tuple[Rung, Future[Grant]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="octavo-claim", daemon=True)
        self._thread.start()

    def take(self, rung: Rung) -> Grant:
        """Those of the tasks that are ours to run; the others are dropped, for their messages count no more.

        Raises StorageError when the database does not answer: the bells will be rung again.
        """
        future: Future[Grant] = Future()
        self._inbox.put((rung, future))
        return future.result()

    def alone(self, rung: Rung) -> list[Work]:
        """The same for tasks that must run alone in their process, which the caller has seen to."""
        return self._claim(dict(rung), suspects=True)[0]

    def close(self) -> None:
        """End the thread after what was asked."""
        self._inbox.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while True:
            batch = [self._inbox.get()]
            time.sleep(LINGER_S)
            while batch[-1] is not None and len(batch) < GROUP:
                try:
                    batch.append(self._inbox.get_nowait())
                except queue.Empty:
                    break
            asked = [item for item in batch if item is not None]
            if asked:
                self._answer(asked)
            if batch[-1] is None:
                return

    def _answer(self, asked: Sequence[tuple[Rung, Future[Grant]]]) -> None:
        try:
            works, others = self._claim({task_id: number for rung, _ in asked for task_id, number in rung})
        except OctavoError as error:
            for _, future in asked:
                future.set_exception(error)
        except Exception as error:  # a slot that waits for an answer must get one
            log.exception("claim failed")
            for _, future in asked:
                future.set_exception(OctavoError(f"Tasks could not be claimed: {error}"))
        else:
            by_task = {work.claim.id: work for work in works}
            for rung, future in asked:
                ours = [by_task.pop(task_id) for task_id, _ in rung if task_id in by_task]
                future.set_result(Grant(ours, [item for item in rung if item[0] in others]))

    def _claim(self, numbers: dict[int, int], *, suspects: bool = False) -> tuple[list[Work], set[int]]:
        now = now_ms()
        with self._database.write() as rows:
            found = self._known(rows, rows.dispatches.rung(list(numbers.items())), now)
            wanted = [claim for claim in found if (claim.losses >= SUSPECT_LOSSES) is suspects]
            taken = lease_found(rows, wanted, self._owner, now, now + self._lease_ms) if wanted else None
            failpoints.reached("lease.before")
        failpoints.reached("lease.after")
        others = {claim.id for claim in found if claim not in wanted} if len(wanted) < len(found) else set()
        # A node may have thousands of children: its slot loads them, or every slot would wait for all of the group's.
        return (self._loader.load(taken.claims, nodes=False) if taken and taken.claims else []), others

    def _known(self, rows: Repositories, rung: Sequence[Claim], now: int) -> list[Claim]:
        """Those whose op is known here. The others are left to a worker that knows it: no lease is lost on them."""
        strange = {step_id for step_id in {claim.step_id for claim in rung} if not self._loader.knows_step(step_id)}
        if strange:
            left = [claim.id for claim in rung if claim.step_id in strange]
            rows.dispatches.defer(left, not_before_ms=now + STRANGE_MS, code=f"{WAITS}{STRANGE}")
        return [claim for claim in rung if claim.step_id not in strange]
