"""The supervisor over real processes: order, restarts, ends, and no orphans."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.supervise_children import STAYS, driven, runs, until

IGNORES = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{STAYS.replace('here', 'deaf')}"
QUICK = {"first_s": 0.05, "most_s": 0.2, "deaths": 5, "window_s": 60.0}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc to see which processes are there")


def stays(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "code": STAYS, **more}


def is_ready(event: dict[str, Any]) -> bool:
    return "ready" in event


def test_services_start_when_what_they_need_is_healthy_or_done(tmp_path: Path) -> None:
    healthy = tmp_path / "healthy"
    with driven(
        tmp_path,
        stays("worker", needs=["database", "migrate"]),
        {"name": "migrate", "code": "print('migrated')", "once": True, "needs": ["database"]},
        {
            "name": "database", "health": str(healthy),
            "code": f"import time; time.sleep(0.3); open({str(healthy)!r}, 'w'); time.sleep(600)",
        },
    ) as up:  # fmt: skip
        up.wait_for(is_ready)
        told = [(event["service"], event["change"]) for event in up.events if "change" in event]
    assert told == [
        ("database", "starting"), ("database", "up"), ("migrate", "starting"), ("migrate", "done"), ("worker", "up"),
    ]  # fmt: skip
    assert {"line": "migrated", "service": "migrate"} in up.events


def test_a_killed_child_is_started_again(tmp_path: Path) -> None:
    with driven(tmp_path, stays("worker", restart=QUICK), stays("other")) as up:
        up.wait_for(is_ready)
        first, other = up.pid("worker"), up.pid("other")
        os.kill(first, signal.SIGKILL)
        assert "SIGKILL" in up.change("worker", "backing off")["says"]
        assert up.change("worker", "up")["pid"] != first
        assert runs(other)


def test_a_child_that_keeps_dying_is_left_down_and_the_others_stay(tmp_path: Path) -> None:
    with driven(tmp_path, stays("worker", restart=QUICK), stays("other")) as up:
        up.wait_for(is_ready)
        for _ in range(4):
            os.kill(up.pid("worker"), signal.SIGKILL)
            up.change("worker", "backing off")
            up.change("worker", "up")
        os.kill(up.pid("worker"), signal.SIGKILL)
        assert "5 times within 60 s" in up.change("worker", "down")["says"]
        assert runs(up.pid("other"))
        waits = [e["says"].rpartition(" in ")[2] for e in up.events if e.get("change") == "backing off"]
        assert waits == ["0.05 s", "0.1 s", "0.2 s", "0.2 s"]


@pytest.mark.parametrize("guardian", [None, True], ids=["as this system does it", "by a guardian process"])
def test_a_killed_supervisor_leaves_no_orphans(tmp_path: Path, guardian: bool | None) -> None:
    grandparent = (
        "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
        "print('here', flush=True); time.sleep(600)"
    )
    with driven(
        tmp_path, stays("worker"), {"name": "polite", "code": grandparent, "orphan_signal": 15}, guardian=guardian
    ) as up:
        up.wait_for(is_ready)
        for name in ("worker", "polite"):
            if not any(event.get("line") == "here" and event["service"] == name for event in up.events):
                up.wait_for(lambda event, name=name: event.get("line") == "here" and event["service"] == name)
        pids = [up.pid("worker"), up.pid("polite")]
        up.process.kill()
        until(lambda: not any(map(runs, pids)), 5, lambda: f"still there: {[pid for pid in pids if runs(pid)]}")


def test_sigterm_stops_in_order_and_ends_well(tmp_path: Path) -> None:
    names = {"database": 3, "broker": 2, "flower": 1, "worker-1": 0, "worker-2": 0}
    with driven(tmp_path, *[stays(name, stops=stops) for name, stops in names.items()]) as up:
        up.wait_for(is_ready)
        pids = [up.pid(name) for name in names]
        up.process.send_signal(signal.SIGTERM)
        assert up.end() == 0
    order = up.statuses("stopped")
    assert set(order[:2]) == {"worker-1", "worker-2"}
    assert order[2:] == ["flower", "broker", "database"]
    assert not any(map(runs, pids))


def test_a_child_that_does_not_stop_in_its_time_is_killed(tmp_path: Path) -> None:
    with driven(tmp_path, {"name": "deaf", "code": IGNORES, "stop_s": 0.3}) as up:
        up.wait_for(lambda event: event.get("line") == "deaf")
        up.process.send_signal(signal.SIGINT)
        assert up.end() == 0
    assert any("SIGKILL" in event.get("says", "") for event in up.events)


def test_a_second_interrupt_kills(tmp_path: Path) -> None:
    with driven(tmp_path, {"name": "deaf", "code": IGNORES, "stop_s": 600}) as up:
        up.wait_for(lambda event: event.get("line") == "deaf")
        up.process.send_signal(signal.SIGINT)
        up.wait_for(lambda event: event.get("says") == "is asked to stop")
        up.process.send_signal(signal.SIGINT)
        assert up.end() == 0
    assert [event.get("says") for event in up.events].count("is killed") == 1


def test_a_step_that_fails_at_the_start_stops_everything_and_is_named(tmp_path: Path) -> None:
    with driven(
        tmp_path,
        stays("database"),
        {"name": "migrate", "code": "raise SystemExit(3)", "once": True, "needs": ["database"]},
        stays("worker", needs=["migrate"]),
    ) as up:
        assert up.end() == 1
    assert up.events[-1] == {"error": "migrate can not be started: it ended with exit code 3"}
    assert "worker" not in up.statuses("up")
    assert not runs(up.pid("database"))


def test_what_is_optional_does_not_keep_the_others_from_starting(tmp_path: Path) -> None:
    broken = {"name": "flower", "code": "raise SystemExit(1)", "optional": True, "restart": QUICK, "health": "/none"}
    with driven(tmp_path, broken, stays("worker")) as up:
        up.wait_for(is_ready)
        assert up.statuses("down") == ["flower"]
        assert runs(up.pid("worker"))


def test_a_program_that_is_not_there_is_named() -> None:
    from workers.supervise.child import Child
    from workers.supervise.service import Change, Service, Status
    from workers.supervise.watched import Watched

    told: list[Change] = []
    watched = Watched(Service(name="ghost", argv=("/no/such/program",)), told.append)
    assert watched.start({}) is None
    assert watched.status is Status.BACKING_OFF
    assert "/no/such/program" in told[-1].says
    with pytest.raises(FileNotFoundError):
        Child(watched.service, {})


def test_a_service_must_not_need_what_there_is_not(tmp_path: Path) -> None:
    with driven(tmp_path, stays("worker", needs=["database"])) as up:
        assert up.end() == 1
    assert up.events == [{"error": "The service worker needs database, and there is none"}]


def test_long_and_broken_lines_reach_the_log_in_pieces(tmp_path: Path) -> None:
    code = "import sys, time; sys.stdout.buffer.write(b'x' * 40000 + b'\\n\\xff end'); sys.stdout.flush()"
    with driven(tmp_path, {"name": "loud", "code": code, "once": True}) as up:
        up.wait_for(lambda event: "ready" in event)
        lines = [event["line"] for event in up.events if "line" in event]
    assert "".join(lines) == "x" * 40000 + "\ufffd end"
    assert max(map(len, lines)) <= 65536 + 16384
