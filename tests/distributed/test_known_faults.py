"""What people report of Celery, kombu and Redis in public, one test each: none of it happens here."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.states import JobState
from tests.distributed.books import HEAD, MAP, ONLY_MAP, WHOLE, book
from tests.distributed.fleet import Fleet
from tests.distributed.servers import until
from workers.app import app
from workers.distributed.queues import CALL, CHEAP, QUEUES
from workers.planning.context import load_context
from workers.reconcile import reconcile
from workers.tasks import run_task
from workers.transitions import advance

nightly = pytest.mark.nightly
Calm = Callable[[str, str], bytes]


def _queued(fleet: Fleet) -> int:
    return sum(int(fleet.redis.client.llen(queue)) for queue in QUEUES)


def test_a_task_longer_than_the_visibility_timeout_is_called_once(fleet: Fleet) -> None:
    prelude = (
        "import workers.distributed.worker as w\n"
        "connect = w.connect\n"
        "def shortened(app, settings):\n"
        "    connect(app, settings)\n"
        "    app.conf.broker_transport_options |= {'visibility_timeout': 1}\n"
        "w.connect = shortened"
    )
    fleet.provider.rule("map", latency_ms=11_500)  # kombu looks every 10 s for messages to deliver again
    job = fleet.begin(ONLY_MAP, book(8))
    for _ in range(2):
        fleet.worker(slots=4, wait=False, prelude=prelude)
    fleet.finish(job)
    assert set(fleet.provider.counts("map").values()) == {1}
    assert fleet.attempts("lost") == 0


@pytest.mark.parametrize("chunks", [2_000, pytest.param(100_000, marks=nightly)])
def test_delayed_retries_are_rows_and_burden_neither_broker_nor_worker(fleet: Fleet, chunks: int) -> None:
    fleet.provider.rule("map", fail=1, after_s=3_600)
    job = fleet.begin(ONLY_MAP, book(chunks), budget=chunks)
    worker = fleet.worker(slots=16)

    def waiting() -> int:
        return int(fleet.one("SELECT count(*) FROM tasks WHERE state = 'ready' AND not_before_ms IS NOT NULL"))

    until(lambda: waiting() >= chunks // 4, within_s=chunks / 50 + 30, what="a quarter of the retries wait")
    early = worker.memory_kb()
    until(lambda: waiting() == chunks, within_s=chunks / 50 + 30, what="all retries wait")
    assert worker.memory_kb() - early < 30_000
    until(lambda: _queued(fleet) == 0, within_s=5, what="no message waits")
    assert fleet.redis.client.dbsize() < 20
    fleet.ask("UPDATE tasks SET not_before_ms = 1")
    fleet.finish(job, within_s=chunks / 50 + 30)
    assert set(fleet.provider.counts("map").values()) == {2}


def test_a_chunk_that_kills_its_worker_is_quarantined_and_its_siblings_finish(fleet: Fleet) -> None:
    fleet.lease_s = 1.5
    fleet.provider.rule("poison", act="kill")
    fleet.provider.rule("map", latency_ms=100)
    job = fleet.begin(ONLY_MAP, book(32, marks=["", "", "", "", "poison"]))
    assert fleet.supervise(job, within_s=90, slots=32) == 4
    assert fleet.state(job) is JobState.HOLES
    assert fleet.ask("SELECT ordinal, error_code, losses FROM tasks WHERE state != 'done'") == [(4, "poisoned", 2)]
    assert fleet.tasks("done") == 31
    assert fleet.attempts("lost") >= 3
    fleet.check_calls()


def test_memory_errors_in_every_slot_are_failed_attempts_and_the_slots_go_on(fleet: Fleet) -> None:
    fleet.provider.rule("map", act="memory", times=1)
    job = fleet.begin(ONLY_MAP, book(40))
    fleet.worker(slots=8, wait=False)
    fleet.finish(job)
    codes = fleet.ask("SELECT error_code, outcome, count(*) FROM attempts GROUP BY 1, 2 ORDER BY 2")
    assert codes == [(None, "done", 40), ("out_of_memory", "retry", 40)]


@pytest.mark.parametrize("times", [10, pytest.param(50, marks=nightly)])
def test_nothing_is_missing_after_sigterms_under_load(fleet: Fleet, times: int) -> None:
    fleet.provider.rule("map", latency_ms=250)
    job = fleet.begin(WHOLE, book(200 * times))
    workers = [fleet.worker(slots=4, wait=False) for _ in range(2)]
    for _ in range(times):
        first = workers.pop(0)
        did = f"SELECT 1 FROM attempts WHERE owner LIKE '%-{first.pid}-%' LIMIT 1"
        until(lambda did=did: fleet.ask(did), within_s=30, what="it works")
        first.send(signal.SIGTERM)
        workers.append(fleet.worker(slots=4, wait=False))
        assert first.ended(20) == 0
    assert fleet.state(job) is JobState.RUNNING, "the job ended too soon to say anything"
    fleet.provider.rule("map", latency_ms=0)
    fleet.finish(job, within_s=60 + 4 * times)  # two hundred chunks for each of them
    fleet.check_nothing_left()
    assert fleet.attempts("lost") == 0, "a process that ends when asked returns or finishes what it holds"
    assert set(fleet.provider.counts("map").values()) == {1}


def test_messages_lost_when_a_worker_ends_are_rung_again(fleet: Fleet) -> None:
    fleet.provider.rule("map", latency_ms=400)
    job = fleet.begin(ONLY_MAP, book(40))
    worker = fleet.worker(slots=4)
    fleet.done(4)
    worker.send(signal.SIGTERM)
    worker.ended(20)
    for queue in QUEUES:
        fleet.redis.client.delete(queue)
    fleet.provider.rule("map", latency_ms=0)
    fleet.worker(slots=4, wait=False)
    fleet.finish(job, within_s=30)
    assert set(fleet.provider.counts("map").values()) == {1}


def test_a_bell_for_a_finished_an_unknown_or_an_old_task_calls_nothing(fleet: Fleet) -> None:
    job = fleet.begin(ONLY_MAP, book(20))
    fleet.worker()
    fleet.finish(job)
    calls, attempts = fleet.provider.calls(), fleet.attempts("done")
    bells = fleet.ask("SELECT id, dispatch FROM tasks")
    rung = [*bells, *((task, number - 1) for task, number in bells), (987_654_321, 1)]
    taken = _taken(fleet)
    with run_task.app.connection_for_write(fleet.redis.url) as connection:
        for item in rung:
            run_task.apply_async(args=[list(item)], queue=CHEAP, connection=connection)
    until(lambda: _queued(fleet) == 0, within_s=20, what="all bells are taken")
    again = fleet.begin(WHOLE, book(20))  # its map is in the memo; the reduce shows that the slots are well
    fleet.finish(again)
    assert _taken(fleet) >= taken
    assert fleet.provider.calls("map") == calls
    tried = "SELECT count(*) FROM attempts JOIN tasks ON tasks.id = task_id JOIN steps ON steps.id = step_id"
    assert fleet.one(f"{tried} WHERE job_id = '{job}'") == attempts


def _taken(fleet: Fleet) -> int:
    return int(fleet.one("SELECT coalesce(sum(epoch), 0) FROM tasks"))


@pytest.mark.parametrize("times", [3, pytest.param(10, marks=nightly)])
def test_every_worker_takes_tasks_again_after_each_restart_of_redis(fleet: Fleet, times: int) -> None:
    fleet.provider.rule("map", latency_ms=60)
    job = fleet.begin(ONLY_MAP, book(1_500 if times < 10 else 5_000))
    workers = [fleet.worker(slots=2) for _ in range(2)]

    def serve(since_ms: int) -> bool:
        rows = fleet.ask(f"SELECT DISTINCT owner FROM attempts WHERE started_ms > {since_ms} AND outcome = 'done'")
        return all(any(f"-{worker.pid}-" in owner for (owner,) in rows) for worker in workers)

    until(lambda: serve(0), within_s=30, what="both workers serve")
    for _ in range(times):
        fleet.redis.restart()
        back = time.time_ns() // 1_000_000
        until(lambda back=back: serve(back), within_s=30, what=f"both workers serve again\n{fleet.picture()}")
    assert all(worker.process.poll() is None for worker in workers)
    fleet.cancel(job)


@pytest.mark.parametrize("tasks", [2_000, pytest.param(20_000, marks=nightly)])
def test_nothing_piles_up_in_redis(fleet: Fleet, tasks: int) -> None:
    fleet.worker(slots=16)
    fleet.finish(fleet.begin(ONLY_MAP, book(20, salt="a"), "first.md"))

    def state() -> tuple[list[bytes], list[bytes], int]:
        client = fleet.redis.client
        return sorted(client.keys()), sorted(client.execute_command("PUBSUB", "CHANNELS")), _queued(fleet)

    keys, channels, _ = state()
    fleet.finish(fleet.begin(ONLY_MAP, book(tasks, salt="b"), "second.md"), within_s=tasks / 50 + 30)
    until(lambda: state() == (keys, channels, 0), within_s=10, what=f"Redis is as it was: {keys, channels}, {state()}")


def test_the_messages_hold_ids_alone_and_are_small(fleet: Fleet) -> None:
    cheap = HEAD.format(name="cheap") + MAP.replace('op = "draw"', 'op = "count"')
    worker = fleet.worker("--queues", "control", slots=2)
    fleet.begin(cheap, book(64))
    until(lambda: _queued(fleet) > 0, within_s=20, what="messages wait")
    for queue in (CHEAP, CALL):
        for message in fleet.redis.client.lrange(queue, 0, -1):
            assert len(message) <= 1024
            assert b"Lamp" not in message
    assert worker.process.poll() is None


def test_connections_are_not_shared_over_a_fork(fleet: Fleet) -> None:
    fleet.provider.rule("map", latency_ms=30)
    job = fleet.begin(WHOLE, book(150))
    parent = fleet.worker("--pool", "prefork", slots=2, wait=False)
    until(lambda: fleet.one("SELECT count(*) FROM processes") == 2, within_s=60, what="two children beat")
    children = [pid for (pid,) in fleet.ask("SELECT pid FROM processes")]
    assert parent.pid not in children
    shared = _sockets(children[0]) & _sockets(children[1])
    made_before = _sockets(parent.pid)
    assert shared <= made_before, "a connection of one child is held by the other"
    assert not (_connected(fleet, children) & made_before), "a connection to a server is held by parent and child"
    fleet.finish(job)
    fleet.check_calls()
    owners = fleet.ask("SELECT DISTINCT owner FROM attempts WHERE outcome = 'done'")
    assert len(owners) == 2


def test_a_killed_child_of_a_prefork_pool_is_replaced_and_its_tasks_are_done(fleet: Fleet, calm: Calm) -> None:
    fleet.lease_s = 1.5
    fleet.provider.rule("map", latency_ms=100)
    text = book(100)
    job = fleet.begin(WHOLE, text)
    parent = fleet.worker("--pool", "prefork", slots=2, wait=False)
    fleet.done(10)
    child = int(fleet.one("SELECT pid FROM processes LIMIT 1"))
    assert child != parent.pid
    os.kill(child, signal.SIGKILL)
    fleet.finish(job)
    fleet.check_ended_right(job, calm(WHOLE, text))
    assert parent.process.poll() is None


def test_a_prefork_pool_ends_when_asked_and_loses_no_lease(fleet: Fleet, calm: Calm) -> None:
    fleet.provider.rule("map", latency_ms=150)
    text = book(60)
    job = fleet.begin(WHOLE, text)
    first = fleet.worker("--pool", "prefork", slots=2, wait=False)
    fleet.done(6)
    first.send(signal.SIGTERM)
    assert first.ended(30) == 0
    fleet.provider.rule("map", latency_ms=0)
    fleet.worker(slots=2, wait=False)
    fleet.finish(job)
    fleet.check_ended_right(job, calm(WHOLE, text))
    assert fleet.attempts("lost") == 0


def test_processes_that_are_replaced_after_so_many_messages_lose_no_lease(fleet: Fleet, calm: Calm) -> None:
    text = book(24)
    job = fleet.begin(WHOLE, text)
    parent = fleet.worker("--pool", "prefork", "--max-tasks-per-child", "8", slots=2, wait=False)
    fleet.finish(job)
    fleet.check_ended_right(job, calm(WHOLE, text))
    assert fleet.attempts("lost") == 0
    assert len(fleet.ask("SELECT DISTINCT owner FROM attempts")) > 3, "no process was replaced"
    assert parent.process.poll() is None


@pytest.mark.parametrize("hours", [1, pytest.param(-1, marks=nightly)])
def test_a_host_whose_clock_is_wrong_takes_no_lease_from_others_and_loses_none(fleet: Fleet, hours: int) -> None:
    fleet.lease_s = 1.5
    fleet.provider.rule("map", latency_ms=2_500)  # longer than a lease: each is renewed by its own worker
    wrong = f"import time\nreal = time.time_ns\ntime.time_ns = lambda: real() + {hours} * 3_600_000_000_000"
    job = fleet.begin(ONLY_MAP, book(12))
    fleet.worker(slots=2, prelude=wrong, wait=False)
    fleet.worker(slots=2, wait=False)
    fleet.finish(job)
    owners = fleet.ask("SELECT DISTINCT owner FROM attempts WHERE outcome = 'done'")
    assert len(owners) == 2, "only one of them did the work"
    assert fleet.attempts("lost") == 0
    assert set(fleet.provider.counts("map").values()) == {1}


def test_two_beats_and_many_reconcilers_at_once_do_no_harm(fleet: Fleet) -> None:
    """Each worker reconciles; nothing is done by a beat, so two of those do nothing twice."""
    count = 200
    job = fleet.begin(ONLY_MAP, book(count))
    context = load_context(fleet.database, fleet.runtime.ops, job)
    while advance(fleet.database, context):
        pass
    dead = "SET state = 'leased', lease_owner = 'dead', lease_until_ms = 1, epoch = 1, attempt = 1"
    fleet.ask(f"UPDATE tasks {dead}")
    gate = threading.Barrier(4)

    def once() -> None:
        gate.wait()
        reconcile(fleet.database, dead=lambda _owners: (), patience=0)

    reconcilers = [threading.Thread(target=once) for _ in range(4)]
    for thread in reconcilers:
        thread.start()
    for thread in reconcilers:
        thread.join()
    assert fleet.ask("SELECT state, losses, count(*) FROM tasks GROUP BY 1, 2") == [("ready", 1, count)]
    assert fleet.attempts("lost") == count
    assert not app.conf.beat_schedule, "something would be done as often as there are beats"


def test_two_celery_beats_beside_the_workers_change_nothing(fleet: Fleet, calm: Calm) -> None:
    """None is needed, but somebody's deployment may start them."""
    text = book(60)
    beats = [fleet.beat(number) for number in range(2)]
    fleet.worker(slots=4, wait=False)
    job = fleet.begin(WHOLE, text)
    fleet.finish(job)
    fleet.check_ended_right(job, calm(WHOLE, text))
    assert set(fleet.provider.counts("map").values()) == {1}
    assert [beat.process.poll() for beat in beats] == [None, None]
    until(lambda: all("beat: Starting" in beat.said() for beat in beats), within_s=30, what="both beats run")


def test_equal_chunks_of_two_jobs_are_called_once_over_all_workers(fleet: Fleet) -> None:
    fleet.provider.rule("map", latency_ms=100)
    jobs = [fleet.begin(ONLY_MAP, book(80), name) for name in ("one.md", "other.md")]
    for _ in range(2):
        fleet.worker(slots=4, wait=False)
    for job in jobs:
        fleet.finish(job)
    assert len(fleet.provider.counts("map")) == 80
    assert set(fleet.provider.counts("map").values()) == {1}
    fleet.check_nothing_left()


def _sockets(pid: int) -> set[str]:
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(entry.readlink())
        except FileNotFoundError:
            continue
        if target.startswith("socket:"):
            found.add(target.removeprefix("socket:[").removesuffix("]"))
    return found


def _connected(fleet: Fleet, pids: list[int]) -> set[str]:
    """Sockets of processes that lead to Redis."""
    port = f":{fleet.redis.port:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ours = {row[9] for row in rows if row[2].endswith(port)}
    return ours & set().union(*(_sockets(pid) for pid in pids))


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_plain_celery_serves_too(fleet: Fleet, calm: Calm, pool: str) -> None:
    text = book(60)
    job = fleet.begin(WHOLE, text)
    fleet.celery("--pool", pool, "--concurrency", "2", wait=False)
    fleet.finish(job)
    fleet.check_ended_right(job, calm(WHOLE, text))
