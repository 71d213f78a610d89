"""The metrics server over a real loopback socket."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import pytest

from workers.metrics import Metrics, MetricsServer, Reading, serve


class Worker:
    """Something that can be well or not."""

    def __init__(self) -> None:
        self.reading = Reading(in_flight={"local": 2})
        self.metrics = Metrics()

    def collect(self) -> Reading:
        return self.reading


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def server(worker: Worker) -> Iterator[MetricsServer]:
    made = serve(0, worker.collect, metrics=worker.metrics)
    yield made
    made.close()


def get(server: MetricsServer, path: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_health_follows_the_worker(server: MetricsServer, worker: Worker) -> None:
    assert get(server, "/health") == (200, '{"healthy": true, "says": "ok"}\n')
    worker.reading = Reading(healthy=False, says="no heartbeat")
    status, body = get(server, "/health")
    assert status == 503
    assert json.loads(body)["says"] == "no heartbeat"


def test_scrapes_at_once_all_see_whole_readings(server: MetricsServer) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: get(server, "/metrics"), range(40)))
    assert all(status == 200 and 'octavo_in_flight{lane="local"} 2.0' in body for status, body in answers)


def test_it_listens_on_loopback_and_lets_go_when_closed(worker: Worker) -> None:
    server = serve(0, worker.collect, metrics=worker.metrics)
    port = server.port
    with pytest.raises(OSError, match="in use"):
        serve(port, worker.collect, metrics=worker.metrics)
    assert server.address == "127.0.0.1"
    server.close()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
