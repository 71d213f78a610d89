"""A worker process: Celery's, with Octavo's engine in it. `octavo worker` starts it, plain `celery` may too."""

from __future__ import annotations

import gc
import logging
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import redis
from celery import Celery
from celery.signals import (
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)
from celery.worker import state
from kombu.connection import Connection
from kombu.exceptions import OperationalError

from db.database import Repositories
from pipeline import settings as settings_module
from pipeline.errors import OctavoError, SettingsError
from pipeline.settings import Settings
from workers import current
from workers.app import app
from workers.clock import now_ms
from workers.distributed.bells import Bells, Listener, queued
from workers.distributed.dispatcher import Dispatcher
from workers.distributed.engine import Identity, WorkerEngine
from workers.distributed.queues import QUEUES
from workers.distributed.tender import Tender
from workers.distributed.watchdog import Watchdog
from workers.fresh.refresh import Schedules
from workers.load import Loader
from workers.metrics import MetricsServer
from workers.metrics import serve as serve_metrics
from workers.runtime import Runtime

log = logging.getLogger(__name__)

WINDOW_CACHE_MS = 1_000
SWITCH_S = 0.0005
RING_S = 5.0  # for a broker that does not answer
# kombu's way to say that a connection is tried once more at once, and no more.
ONCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
CLAIMED_AHEAD = 2  # threads for each slot: one calls, one claims meanwhile


def connect(made: Celery, settings: Settings) -> None:
    """Point the Celery app at the broker. Raises SettingsError when there is none."""
    if settings.redis_url is None or settings.database_url is None:
        raise SettingsError(
            "Workers need a database server and a broker",
            hint="set OCTAVO_DATABASE_URL and OCTAVO_REDIS_URL, or let octavo up bring both",
        )
    made.conf.broker_url = settings.redis_url
    made.conf.broker_connection_max_retries = None
    made.conf.broker_transport_options = {
        "socket_keepalive": True,
        "health_check_interval": 25,
        "ack_emulation": False,  # two round trips a message to note what the database knows anyway
    }


def window(runtime: Runtime) -> Callable[[Repositories], int]:
    """The tasks that may be in flight: a few for each slot of the processes that are alive."""
    seen: list[int] = [0, 0]

    def slots(rows: Repositories) -> int:
        now = now_ms()
        if now - seen[0] > WINDOW_CACHE_MS:
            alive = rows.dispatches.processes(since_ms=now - int(runtime.settings.lease_s * 1000))
            seen[:] = [now, sum(process.slots for process in alive)]
        return max(8, int(seen[1] * runtime.settings.window_per_slot))

    return slots


def provider_of(runtime: Runtime) -> Callable[[str], str]:
    """The provider of a model's profile, by name."""
    return lambda name: runtime.settings.models[name].provider if name in runtime.settings.models else ""


def ring_control(settings: Settings) -> None:
    """Tell the workers that a job has begun or changed, so that none waits for its next look."""
    connect(app, settings)
    from workers.distributed.queues import CONTROL
    from workers.tasks import tend

    options = {"connect_timeout": RING_S, "transport_options": ONCE}
    try:
        with Connection(settings.redis_url, **options) as connection:  # type: ignore[no-untyped-call]
            tend.apply_async(
                args=[], queue=CONTROL, argsrepr="a job has changed", kwargsrepr="", connection=connection, retry=False
            )
    except (OperationalError, redis.RedisError) as error:
        log.warning("workers were not rung, they find the job when they next look: %s", error)


@dataclass(slots=True)
class Serving:
    """What one process serves with."""

    runtime: Runtime
    engine: WorkerEngine
    broker: Any
    shown: MetricsServer | None = None

    def show(self, address: str, port: int) -> None:
        """Answer /metrics and /health. Raises SettingsError when the port is taken."""
        meter = self.engine.meter
        try:
            self.shown = serve_metrics(port, meter.reading, metrics=meter.metrics, address=address)
        except OSError as error:
            raise SettingsError(f"Port {port} for metrics can not be had: {error.strerror}") from error

    def close(self) -> None:
        """Commit what is in hand, leave, let go."""
        current.serve_process(None)
        if self.shown is not None:
            self.shown.close()
        self.engine.close()
        self.broker.close()
        self.runtime.close()


def serve(settings: Settings, *, queues: Sequence[str], slots: int) -> Serving:
    """Make this process's engine. After any fork: connections and threads are never shared over one."""
    runtime = Runtime(settings)
    owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    loader = Loader(runtime.database, runtime.ops)
    broker = redis.Redis.from_url(settings.redis_url or "", socket_timeout=RING_S, socket_connect_timeout=RING_S)
    bells = Bells(broker, provider_of(runtime))
    schedules = Schedules(runtime)
    tender = Tender(
        runtime.database,
        loader,
        Dispatcher(runtime.database, loader, window(runtime), bells.send),
        bells,
        Listener(runtime.database, loader, broker, QUEUES, lease_ms=int(settings.lease_s * 1000)),
        owner=owner,
        reconcile_s=settings.reconcile_s,
        lease_s=settings.lease_s,
        tick=schedules.tick,
    )
    identity = Identity(owner=owner, host=socket.gethostname(), pid=os.getpid(), queues=",".join(queues), slots=slots)
    engine = WorkerEngine(runtime, identity, tender, loader, broker, _rouse)
    current.serve_process(engine)
    tender.start()
    return Serving(runtime=runtime, engine=engine, broker=broker)


@dataclass(slots=True)
class _Plan:
    """How this process is to serve, as `octavo worker` said; plain `celery` takes it from the environment."""

    settings: Settings | None = None
    queues: Sequence[str] = QUEUES
    slots: int = 0
    consumer: Any = None  # Celery's, in the process that takes messages
    metrics: tuple[str, int] | None = None  # where /metrics and /health are answered
    serving: Serving | None = None
    watchdog: Watchdog | None = None
    failure: OctavoError | None = None  # why this process could not begin


_plan = _Plan()


def run(
    settings: Settings,
    *,
    queues: Sequence[str],
    slots: int,
    pool: str,
    max_tasks_per_child: int | None = None,
    loglevel: str = "WARNING",
    events: bool = False,
    metrics: tuple[str, int] | None = None,
) -> int:
    """Run a Celery worker until it is told to end; a first SIGTERM or Ctrl-C lets running tasks end (warm)."""
    connect(app, settings)
    _plan.settings, _plan.queues, _plan.slots, _plan.metrics = settings, queues, slots, metrics
    ahead = CLAIMED_AHEAD if pool == "threads" else 1
    app.conf.worker_prefetch_multiplier = 1 / ahead  # one for each slot still: one that waits here waits for no other
    arguments = ["worker", f"--pool={pool}", f"--concurrency={slots * ahead}", f"--queues={','.join(queues)}"]
    arguments += [f"--loglevel={loglevel}", f"--hostname=octavo-{secrets.token_hex(3)}@%h", "--without-gossip"]
    if max_tasks_per_child is not None:
        arguments.append(f"--max-tasks-per-child={max_tasks_per_child}")
    # Claims, commits and messages are moved by threads that mostly wait: with Python's usual 5 ms a thread that has its
    # answer would wait longer for the interpreter than it did for the answer.
    sys.setswitchinterval(SWITCH_S)
    try:
        app.worker_main([*arguments, "--without-mingle", *(["-E"] if events else [])])
    finally:
        if _plan.failure is not None:
            raise _plan.failure
    return 0


@contextmanager
def _or_end() -> Iterator[None]:
    """End the process where it can not begin: Celery logs what a signal's receiver raises and goes on, and this worker
    would take messages and do nothing.
    """
    try:
        yield
    except OctavoError as error:
        _plan.failure = error
        log.critical("this worker can not begin: %s", error.message)
        raise SystemExit(1) from error


def _begin(slots: int) -> None:
    settings = _plan.settings or settings_module.current({})
    _plan.serving = serve(settings, queues=_plan.queues, slots=slots)
    if _plan.metrics is not None:
        _plan.serving.show(*_plan.metrics)


def _on_init(sender: Any = None, **_: Any) -> None:
    with _or_end():
        connect(app, _plan.settings or settings_module.current({}))
        # A prefork parent only forks: a connection or thread made here would be in every child.
        if sender is not None and "prefork" not in str(getattr(sender, "pool_cls", "")):
            _begin(_plan.slots or int(getattr(sender, "concurrency", 0) or 1))


def _on_fork(**_: Any) -> None:
    _plan.consumer = None  # the parent's; its pool wakes it
    with _or_end():
        _begin(1)
    _settle()


def _settle() -> None:
    """What was loaded to begin with stays: looked through by every full collection it stopped all slots for 150 ms."""
    gc.collect()
    gc.freeze()


def _rouse() -> None:
    """Wake the consumer where it may take messages again.

    One that holds as many as it may sleeps, up to seconds, and is not woken when a thread takes one off its hands: with
    messages waiting in Redis all slots would run dry. (A pool of processes wakes it by its pipes.)
    """
    if _plan.consumer is None:
        return
    channel, hub = getattr(_plan.consumer.task_consumer, "channel", None), _plan.consumer.hub
    if channel is not None and hub is not None:
        most = channel.qos.prefetch_count
        if most and len(channel.qos._delivered) - len(channel.qos._dirty) >= most - 1:
            hub.call_soon(_nothing)


def _nothing() -> None:
    return None


def _on_ready(sender: Any = None, **_: Any) -> None:
    _plan.consumer = sender
    _settle()
    controller = getattr(sender, "controller", None)
    broker = redis.Redis.from_url(str(app.conf.broker_url), socket_timeout=RING_S)
    slots = int(getattr(controller, "concurrency", 0) or 1)
    queues = list(app.amqp.queues.consume_from)
    _plan.watchdog = Watchdog(
        waiting=lambda: sum(queued(broker, queues)),
        taken=lambda: sum(state.total_count.values()),
        free=lambda: len(state.reserved_requests) < slots,
        fault=lambda: _plan.serving.engine.fault() if _plan.serving else None,
    )
    _plan.watchdog.start()


def _on_stopping(**_: Any) -> None:
    if _plan.watchdog is not None:
        _plan.watchdog.close()


def _on_end(**_: Any) -> None:
    if _plan.serving is not None:
        serving, _plan.serving = _plan.serving, None
        serving.close()


worker_init.connect(_on_init, weak=False)
worker_ready.connect(_on_ready, weak=False)
worker_shutting_down.connect(_on_stopping, weak=False)
worker_process_init.connect(_on_fork, weak=False)
worker_shutdown.connect(_on_end, weak=False)
worker_process_shutdown.connect(_on_end, weak=False)
