"""Parts of a worker by themselves: its watchdog, its way to run a task alone, what PostgreSQL's errors mean."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import psycopg
import pytest
import redis
from psycopg import errors
from sqlalchemy import exc

from db.database import Repositories
from db.errors import DatabaseBusyError, DatabaseFullError, DatabaseUnreachableError, translate
from db.values import Claim, NewResult
from pipeline import canonical
from pipeline.errors import SettingsError, StorageError
from tests.distributed.books import ONLY_MAP, book
from tests.distributed.fleet import Fleet
from tests.distributed.servers import until
from workers import failpoints
from workers.claim import lease_found
from workers.clock import now_ms
from workers.commit import commit
from workers.distributed.engine import Quiet
from workers.distributed.watchdog import HUNG_LOOKS, Watchdog
from workers.execute import Done, Work
from workers.load import Loader
from workers.planning.context import load_context
from workers.transitions import advance


class Dial:
    """What a watchdog sees."""

    def __init__(self) -> None:
        self.waiting, self.taken, self.free, self.fault = 5, 0, True, None
        self.away = False

    def queued(self) -> int:
        if self.away:
            raise redis.ConnectionError
        return self.waiting

    def watchdog(self) -> Watchdog:
        return Watchdog(
            waiting=self.queued, taken=lambda: self.taken, free=lambda: self.free, fault=lambda: self.fault,
            end=lambda code: None,
        )  # fmt: skip


def _looks(watchdog: Watchdog, times: int) -> list[str | None]:
    return [watchdog.look() for _ in range(times)]


def test_a_consumer_that_takes_nothing_while_messages_wait_is_ended() -> None:
    found = _looks(Dial().watchdog(), HUNG_LOOKS + 1)
    assert found[:-1] == [None] * HUNG_LOOKS
    assert found[-1] is not None


@pytest.mark.parametrize("change", [{"waiting": 0}, {"free": False}, {"away": True}])
def test_a_consumer_without_messages_or_slots_or_broker_is_let_be(change: dict[str, object]) -> None:
    dial = Dial()
    for name, value in change.items():
        setattr(dial, name, value)
    assert _looks(dial.watchdog(), HUNG_LOOKS * 3) == [None] * HUNG_LOOKS * 3


def test_a_consumer_that_takes_now_and_then_is_let_be() -> None:
    dial = Dial()
    watchdog = dial.watchdog()
    for _ in range(5):
        assert _looks(watchdog, HUNG_LOOKS - 1) == [None] * (HUNG_LOOKS - 1)
        dial.taken += 1


def test_a_broken_engine_ends_at_once() -> None:
    dial = Dial()
    dial.fault = "its heartbeat has ended"
    assert dial.watchdog().look() == "its heartbeat has ended"


def test_who_must_be_alone_gets_a_turn_though_others_keep_coming() -> None:
    quiet = Quiet()
    quiet.enter(alone=False)
    inside: list[str] = []

    def alone() -> None:
        quiet.enter(alone=True)
        inside.append("alone")
        quiet.leave(alone=True)

    def one_of_many() -> None:
        quiet.enter(alone=False)
        inside.append("one of many")
        quiet.leave(alone=False)

    first = threading.Thread(target=alone)
    first.start()
    until(lambda: quiet.wanted, within_s=5, what="somebody waits to be alone")
    second = threading.Thread(target=one_of_many)
    second.start()
    assert inside == []
    quiet.leave(alone=False)
    first.join(5)
    second.join(5)
    assert inside == ["alone", "one of many"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.AdminShutdown("terminating connection due to administrator command"), DatabaseUnreachableError),
        (errors.CannotConnectNow("the database system is starting up"), DatabaseUnreachableError),
        (errors.TooManyConnections("sorry, too many clients already"), DatabaseUnreachableError),
        (errors.IdleInTransactionSessionTimeout("idle"), DatabaseUnreachableError),
        (errors.DeadlockDetected("deadlock detected"), DatabaseBusyError),
        (errors.SerializationFailure("could not serialize"), DatabaseBusyError),
        (errors.LockNotAvailable("canceling statement due to lock timeout"), DatabaseBusyError),
        (errors.DiskFull("could not extend file"), DatabaseFullError),
        (psycopg.OperationalError("connection failed: Connection refused"), DatabaseUnreachableError),
        (psycopg.OperationalError("no such socket"), DatabaseUnreachableError),
        (psycopg.ProgrammingError("the query has 0 placeholders"), StorageError),
    ],
)
def test_what_postgresql_says_is_known_by_its_code(error: psycopg.Error, kind: type[StorageError]) -> None:
    wrapper = exc.OperationalError if isinstance(error, psycopg.OperationalError) else exc.ProgrammingError
    assert type(translate(wrapper("SELECT", {}, error), "here")) is kind


@pytest.mark.parametrize("text", ["nowhere", "call.before:x"])
def test_a_wrong_failpoint_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="There is no failpoint"):
        failpoints.arm(text)


def test_a_database_that_is_away_for_a_while_loses_no_output_in_hand(fleet: Fleet) -> None:
    """The calls are made while the server is down; their outputs are kept and committed when it is back."""
    fleet.provider.rule("map", latency_ms=1_500)
    job = fleet.begin(ONLY_MAP, book(8))
    fleet.worker(slots=8)
    until(lambda: fleet.provider.under_way() == 8, within_s=20, what="all calls are under way")
    fleet.postgres.stop()
    try:
        until(lambda: fleet.provider.under_way() == 0, within_s=20, what="all calls have ended")
    finally:
        fleet.postgres.start()
    fleet.finish(job)
    assert set(fleet.provider.counts("map").values()) == {1}


def test_who_begins_to_wait_for_a_key_is_seen_by_who_gives_it_back_at_that_moment(fleet: Fleet) -> None:
    """Two processes, each in the middle of its transaction: no task is left to wait for a key that nobody holds."""
    giver, waiter = _tasks_of_equal_chunks(fleet)
    with fleet.database.write() as rows:
        (work,) = _claimed(fleet, lease_found(rows, _rung(rows, giver), "giver", now_ms(), now_ms() + 60_000).claims)
    with fleet.database.write() as rows:
        assert lease_found(rows, _rung(rows, waiter), "waiter", now_ms(), now_ms() + 60_000).claims == []
        giving = threading.Thread(target=_commit, args=(fleet, "giver", _done(work)))
        giving.start()
        until(lambda: _locked(fleet) == 1, within_s=20, what="who gives the key back waits for who waits for it")
    giving.join()
    fleet.check_nothing_left()
    assert fleet.ask("SELECT count(*) FROM tasks WHERE hit") == [(1,)]


def test_who_wants_a_key_that_is_being_given_back_waits_for_that_and_has_a_hit(fleet: Fleet) -> None:
    giver, waiter = _tasks_of_equal_chunks(fleet)
    with fleet.database.write() as rows:
        (work,) = _claimed(fleet, lease_found(rows, _rung(rows, giver), "giver", now_ms(), now_ms() + 60_000).claims)

    def claim() -> None:
        with fleet.database.write() as rows:
            lease_found(rows, _rung(rows, waiter), "waiter", now_ms(), now_ms() + 60_000)

    with fleet.database.write() as rows:
        commit(rows, "giver", [_done(work)])
        with fleet.database.read() as others:
            assert others.leases.held([work.claim.key]) == set(), "it is being given back"
        wanting = threading.Thread(target=claim)
        wanting.start()
        until(lambda: _locked(fleet) == 1, within_s=20, what="who wants the key waits")
    wanting.join()
    fleet.check_nothing_left()
    assert fleet.ask("SELECT count(*) FROM tasks WHERE hit") == [(1,)]


def _tasks_of_equal_chunks(fleet: Fleet) -> list[tuple[int, int]]:
    """(id, number) of the two tasks of two jobs whose only chunks are alike, both rung for."""
    for name in ("one.md", "other.md"):
        context = load_context(fleet.database, fleet.runtime.ops, fleet.begin(ONLY_MAP, book(1), name))
        while advance(fleet.database, context):
            pass
    fleet.ask("UPDATE tasks SET state = 'dispatched', dispatch = 1")
    return [(task_id, 1) for (task_id,) in fleet.ask("SELECT id FROM tasks ORDER BY id")]


def _rung(rows: Repositories, bell: tuple[int, int]) -> Sequence[Claim]:
    return rows.dispatches.rung([bell])


def _claimed(fleet: Fleet, claims: list[Claim]) -> list[Work]:
    return Loader(fleet.database, fleet.runtime.ops).load(claims)


def _done(work: Work) -> Done:
    output = canonical.dumps("drawn")
    result = NewResult(
        key=work.claim.key, op="draw", output=output, output_sha256=canonical.sha256(output), spans=b"", tokens_in=0,
        tokens_out=0, cost_micros=0, latency_ms=0, model="",
    )  # fmt: skip
    return Done(work, result, now_ms(), now_ms())


def _commit(fleet: Fleet, owner: str, item: Done) -> None:
    with fleet.database.write() as rows:
        commit(rows, owner, [item])


def _locked(fleet: Fleet) -> int:
    """Sessions that wait for a lock."""
    return int(
        fleet.one(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
    )
