"""Prometheus metrics of a worker process, and the small server that shows them on loopback.

Labels are few and small: the op, the lane (a model's profile or `local`), an outcome from a closed list. Never a title,
a path or an id: what is no plain short name is counted as `other`, and so is what comes after the first names.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

OTHER: Final = "other"
NAMES_MOST: Final = 64  # different values of one label
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,47}")
_IDLIKE = re.compile(r"[0-9a-fA-F-]{16,}|.*[0-9]{6,}")

OUTCOMES: Final = ("computed", "hit", "adopted", "passed")  # how a task came to be done
CALL_OUTCOMES: Final = ("ok", "rate_limited", "transient", "overlong", "invalid", "permanent", "deadline")
WAITS: Final = ("slots", "requests", "tokens", "circuit", "fairness")
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CALL_SECONDS: Final = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a worker says of itself when it is asked. Every mapping is by a short name."""

    healthy: bool = True
    says: str = "ok"  # why not, in a few words without names of books
    in_flight: Mapping[str, int] = field(default_factory=dict)  # lane -> calls running now
    queue_depth: Mapping[str, int] = field(default_factory=dict)  # queue -> messages in the broker
    circuits_open: Mapping[str, bool] = field(default_factory=dict)  # lane -> is its provider held to be down?
    heartbeat_s: float | None = None  # Unix time of the last heartbeat that the database took


class Names:
    """Keeps one label's values few and harmless."""

    def __init__(self, most: int = NAMES_MOST) -> None:
        self._known: dict[str, str] = {}
        self._most = most

    def __call__(self, value: str) -> str:
        """The value, or `other`."""
        known = self._known.get(value)
        if known is not None:
            return known
        if len(self._known) >= self._most or not _NAME.fullmatch(value) or _IDLIKE.fullmatch(value):
            return OTHER
        return self._known.setdefault(value, value)


class Metrics:
    """A worker process's metrics, in a registry of their own. Every method may be called from any thread."""

    def __init__(self) -> None:
        # A series more for each counter, which nobody reads.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        self._lock = threading.Lock()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self._op, self._lane, self._queue, self._reason = Names(), Names(), Names(), Names()
        work = ("op", "lane")
        self._done = Counter("octavo_tasks_done", "Tasks done.", (*work, "outcome"), registry=registry)
        self._calls = Counter("octavo_calls", "Op and model calls that ended.", (*work, "outcome"), registry=registry)
        self._call_s = Histogram(
            "octavo_call_seconds", "How long calls took.", work, buckets=CALL_SECONDS, registry=registry
        )
        self._tokens = Counter("octavo_tokens", "Tokens of calls.", (*work, "direction"), registry=registry)
        self._retries = Counter("octavo_retries", "Tasks to be tried again.", (*work, "reason"), registry=registry)
        self._holes = Counter("octavo_holes", "Tasks given up.", (*work, "reason"), registry=registry)
        self._losses = Counter("octavo_lease_losses", "Leases found expired or void.", ("lane",), registry=registry)
        self._waits = Counter("octavo_governor_waits", "Permits not given.", ("lane", "reason"), registry=registry)
        self._commit_s = Histogram(
            "octavo_checkpoint_seconds", "How long group commits took.", buckets=SECONDS, registry=registry
        )
        self._commit_tasks = Histogram(
            "octavo_checkpoint_tasks", "Tasks in a group commit.", buckets=SIZES, registry=registry
        )
        self._in_flight = Gauge("octavo_in_flight", "Calls running now.", ("lane",), registry=registry)
        self._depth = Gauge("octavo_queue_depth", "Messages in the broker.", ("queue",), registry=registry)
        self._circuit = Gauge(
            "octavo_circuit_open", "1: the provider is held to be down.", ("lane",), registry=registry
        )
        self._beat = Gauge(
            "octavo_heartbeat_timestamp_seconds", "When the database last took a heartbeat.", registry=registry
        )
        self._healthy = Gauge("octavo_healthy", "1: the worker says it is well.", registry=registry)

    def done(self, op: str, lane: str, outcome: str, count: int = 1) -> None:
        """Tasks are done: `outcome` is one of OUTCOMES."""
        self._done.labels(self._op(op), self._lane(lane), _one_of(outcome, OUTCOMES)).inc(count)

    def call(
        self, op: str, lane: str, outcome: str, *, seconds: float, tokens_in: int = 0, tokens_out: int = 0
    ) -> None:
        """A call ended: `outcome` is one of CALL_OUTCOMES."""
        work = self._op(op), self._lane(lane)
        self._calls.labels(*work, _one_of(outcome, CALL_OUTCOMES)).inc()
        self._call_s.labels(*work).observe(seconds)
        if tokens_in:
            self._tokens.labels(*work, "in").inc(tokens_in)
        if tokens_out:
            self._tokens.labels(*work, "out").inc(tokens_out)

    def retry(self, op: str, lane: str, reason: str) -> None:
        """A task will be tried again; `reason` is an error code."""
        self._retries.labels(self._op(op), self._lane(lane), self._reason(reason)).inc()

    def hole(self, op: str, lane: str, reason: str) -> None:
        """A task was given up; `reason` is an error code."""
        self._holes.labels(self._op(op), self._lane(lane), self._reason(reason)).inc()

    def lease_lost(self, lane: str, count: int = 1) -> None:
        """Leases were taken back from a process that no longer renews them."""
        self._losses.labels(self._lane(lane)).inc(count)

    def governor_wait(self, lane: str, reason: str) -> None:
        """The governor gave no permit: `reason` is one of WAITS."""
        self._waits.labels(self._lane(lane), _one_of(reason, WAITS)).inc()

    def checkpoint(self, seconds: float, tasks: int) -> None:
        """A group commit of so many tasks took so long."""
        self._commit_s.observe(seconds)
        self._commit_tasks.observe(tasks)

    def render(self, reading: Reading) -> bytes:
        """Everything in Prometheus's text format, the gauges as this reading has them."""
        with self._lock:  # two scrapes at once would fill a gauge twice
            return self._render(reading)

    def _render(self, reading: Reading) -> bytes:
        for gauge, name, values in (
            (self._in_flight, self._lane, reading.in_flight),
            (self._depth, self._queue, reading.queue_depth),
            (self._circuit, self._lane, reading.circuits_open),
        ):
            gauge.clear()  # what is no longer there must not stay at its last value
            for key, value in values.items():
                gauge.labels(name(key)).inc(float(value))
        self._healthy.set(float(reading.healthy))
        if reading.heartbeat_s is not None:
            self._beat.set(reading.heartbeat_s)
        return bytes(generate_latest(self.registry))


def _one_of(value: str, allowed: tuple[str, ...]) -> str:
    return value if value in allowed else OTHER


def answer(path: str, metrics: Metrics, collect: Callable[[], Reading]) -> tuple[HTTPStatus, str, bytes]:
    """Status, content type and body for a GET of this path."""
    if path == "/metrics":
        return HTTPStatus.OK, CONTENT_TYPE_LATEST, metrics.render(collect())
    if path == "/health":
        reading = collect()
        status = HTTPStatus.OK if reading.healthy else HTTPStatus.SERVICE_UNAVAILABLE
        body = json.dumps({"healthy": reading.healthy, "says": reading.says}).encode() + b"\n"
        return status, "application/json", body
    return HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"There are /health and /metrics.\n"


class MetricsServer:
    """Answers GET /health and /metrics until it is closed."""

    def __init__(self, port: int, collect: Callable[[], Reading], metrics: Metrics, address: str) -> None:
        self._collect = collect
        self._metrics = metrics
        self._server = ThreadingHTTPServer((address, port), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens; the one that the system chose when it was given 0."""
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        """On which of this machine's addresses."""
        return str(self._server.server_address[0])

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            """One request."""

            timeout = 10

            def do_GET(self) -> None:
                """Answer it."""
                status, kind, body = answer(self.path.partition("?")[0], server._metrics, server._collect)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class calls it so
                """A scrape is no news."""

        return Handler


def serve(port: int, collect: Callable[[], Reading], *, metrics: Metrics, address: str = "127.0.0.1") -> MetricsServer:
    """Answer GET /health (200, or 503 when the reading is not healthy) and GET /metrics on a port (0: any free one).

    `collect` is called for each request, in a thread of the server's: it must answer within a second and never raise.
    Raises OSError when the port is taken.
    """
    return MetricsServer(port, collect, metrics, address)


def series(metrics: Metrics) -> frozenset[str]:
    """The names of all time series that these metrics can show: what a dashboard or an alert may ask for."""
    names: set[str] = set()
    endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}
    for family in metrics.registry.collect():
        names.update(family.name + ending for ending in endings.get(family.type, ("",)))
    return frozenset(names)
