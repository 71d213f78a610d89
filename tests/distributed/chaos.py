"""The chaos driver: what it does to a fleet, and when, comes from a seed alone."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg
import redis

from pipeline.states import JOB_ENDED
from tests.distributed.fleet import Fleet, Worker, now_ms

SLACK_S = 5.0  # beside one lease, until everything is as it should be again


@dataclass
class Chaos:
    """Disturbs a fleet that works on a job, at times drawn from a seed."""

    fleet: Fleet
    seed: int
    slots: int = 8
    log: list[str] = field(default_factory=list)
    worst_overdue_s: float = 0.0  # how long after its end a lease still stood, at most
    _asleep: list[tuple[Worker, float]] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._dice = random.Random(f"octavo chaos {self.seed}")

    def run(self, job: str, count: int, spacing_s: float, *, within_s: float) -> None:
        """Disturb `count` times, see that the fleet recovers, then wait for the job's end."""
        kinds = list(self.kinds())
        for at in range(count):
            # Every kind comes once before one comes twice, in an order of the seed's own.
            if at % len(kinds) == 0:
                self._dice.shuffle(kinds)
            self._wait(self._dice.uniform(0.3, 1.7) * spacing_s)
            if self._ended(job):
                self._note("the job has ended")
                break
            name = kinds[at % len(kinds)]
            self._note(name)
            self.kinds()[name]()
            self._replace()
        self._wake_all()
        self._replace()
        self._see_recovery(job)
        deadline = time.monotonic() + within_s
        while not self._ended(job):
            assert time.monotonic() < deadline, f"{self}\n{self.fleet.picture()}"
            self._wait(0.25)

    def _see_recovery(self, job: str) -> None:
        """One lease and 5 s after the last disturbance nothing is left as it stood then."""
        last = now_ms()
        self._wait_unless(job, self.fleet.lease_s + SLACK_S)
        stuck = self.fleet.ask(
            "SELECT t.id, t.state, t.dispatch, t.epoch, t.lease_owner, dispatched_ms FROM tasks t "
            f"WHERE t.state IN ('dispatched', 'leased') AND dispatched_ms < {last}"
        )
        assert stuck == [], f"{self}: {stuck}\n{self.fleet.picture()}"
        self._note("recovered")

    def __str__(self) -> str:
        return f"seed {self.seed}: {', '.join(self.log)}"

    def kinds(self) -> dict[str, Callable[[], None]]:
        """What may happen."""
        return {
            "kill -9 a worker": self.kill_worker,
            "kill -9 the process that runs the job": self.kill_runner,
            "kill -9 Flower": self.kill_flower,
            "restart Redis": self.fleet.redis.restart,
            "FLUSHALL": self.flush,
            "restart PostgreSQL": self.fleet.postgres.restart,
            "stop a worker longer than a lease": self.sleep_worker,
            "drop all connections to PostgreSQL": self.drop_postgres,
            "drop all connections to Redis": self.drop_redis,
            "fill Redis": self.fill_redis,
        }

    # Disturbances

    def kill_worker(self) -> None:
        """kill -9, as the kernel does when memory is short."""
        awake = self._awake()
        if awake:
            self._dice.choice(awake).kill()

    def kill_runner(self) -> None:
        """The process that began the job and looks on."""
        for process in self.fleet.others:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def kill_flower(self) -> None:
        """Who looks on, and asks the workers now and then, is gone from one moment to the next."""
        if self.fleet.flower is not None:
            self.fleet.flower.kill()

    def flush(self) -> None:
        """Somebody empties Redis."""
        self.fleet.redis.client.flushall()

    def sleep_worker(self) -> None:
        """SIGSTOP: a machine that swaps, a laptop that sleeps. It is woken after its lease ran out."""
        awake = self._awake()
        if awake:
            worker = self._dice.choice(awake)
            worker.send(signal.SIGSTOP)
            self._asleep.append((worker, time.monotonic() + self.fleet.lease_s + 1.5))

    def drop_postgres(self) -> None:
        """Every session of the fleet's database is ended."""
        self.fleet.postgres.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE datname = '{self.fleet.database_name}' AND pid != pg_backend_pid()"
        )

    def drop_redis(self) -> None:
        """Every client is disconnected."""
        client = self.fleet.redis.client
        for kind in ("normal", "pubsub"):
            client.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")

    def fill_redis(self) -> None:
        """Redis may use no more memory than it does, for a while."""
        client = self.fleet.redis.client
        client.config_set("maxmemory", "1mb")
        self._wait(1.0)
        client.config_set("maxmemory", "0")

    # Between them

    def _awake(self) -> list[Worker]:
        asleep = [worker for worker, _ in self._asleep]
        return [worker for worker in self.fleet.workers if worker.process.poll() is None and worker not in asleep]

    def _replace(self) -> None:
        """What a supervisor does: two workers run that are awake."""
        while len(self._awake()) < 2:
            self.fleet.worker("--events", slots=self.slots, wait=False)
        if self.fleet.flower is not None and self.fleet.flower.process.poll() is not None:
            self.fleet.start_flower()

    def _wake_due(self, *, all_of_them: bool = False) -> None:
        now = time.monotonic()
        for item in list(self._asleep):
            if all_of_them or item[1] <= now:
                self._asleep.remove(item)
                item[0].send(signal.SIGCONT)
                self._note("woken")

    def _wake_all(self) -> None:
        while self._asleep:
            self._wait(0.2)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            self._wake_due()
            self._look()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(0.2, left))  # the driver's clock

    def _wait_unless(self, job: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self._ended(job):
            self._wait(0.1)

    def _look(self) -> None:
        """How long have leases stood that ran out?"""
        try:
            oldest = self.fleet.one("SELECT min(lease_until_ms) FROM tasks WHERE lease_owner IS NOT NULL")
        except (psycopg.Error, redis.RedisError):
            return
        if oldest is not None:
            self.worst_overdue_s = max(self.worst_overdue_s, (now_ms() - oldest) / 1000)

    def _ended(self, job: str) -> bool:
        try:
            return self.fleet.state(job) in JOB_ENDED
        except psycopg.Error:
            return False

    def _note(self, what: str) -> None:
        self.log.append(f"{time.monotonic() - self._began:.1f} {what}")
