"""What the supervisor's tests start: a driver around real child processes, and a stand-in for `octavo`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Runs the services of the JSON file it is given; what happens goes to stdout, a JSON object a line.
DRIVER = """
import json, os, signal, sys
from pathlib import Path
from pipeline.errors import OctavoError
from workers.supervise.service import Restart, Service
from workers.supervise.supervisor import Supervisor, Told

class FileProbe:
    def __init__(self, path): self.path = path
    def ok(self): return Path(self.path).exists()

def tell(**what): print(json.dumps(what), flush=True)

def service(spec):
    spec = dict(spec)
    spec["argv"] = (sys.executable, "-I", "-S", "-c", spec.pop("code"))
    spec["needs"] = tuple(spec.get("needs", ()))
    spec["restart"] = Restart(**spec.get("restart", {}))
    if "health" in spec: spec["health"] = FileProbe(spec["health"])
    return Service(**spec)

plan = json.loads(Path(sys.argv[1]).read_text())
told = Told(
    line=lambda name, line: tell(line=line, service=name),
    change=lambda change: tell(change=change.status.value, service=change.service, pid=change.pid, says=change.says),
    ready=lambda all_: tell(ready=sorted(all_)),
)
try:
    options = {} if plan["guardian"] is None else {"guardian": plan["guardian"]}
    supervisor = Supervisor([service(one) for one in plan["services"]], told, environ=os.environ, start_s=20, **options)
    if plan["guardian"]:
        import workers.supervise.child
        workers.supervise.child.death_signal = lambda wanted: None  # a system whose kernel has no such thing
    supervisor.run()
except OctavoError as error:
    tell(error=error.message)
    raise SystemExit(1)
tell(ended=True)
"""

STAYS = "import time; print('here', flush=True)\nwhile True: time.sleep(60)"

# Stands in for `octavo`: `worker` is a small Celery worker that answers /health; `db upgrade` and `web` are the real
# ones, for the pages look into a database that is made.
STAND_IN = """
import os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

if sys.argv[1] in ("db", "web"):
    from octavo.cli.main import run_guarded
    if sys.argv[1] == "db":
        print("upgraded", os.environ["OCTAVO_DATABASE_URL"].split(":")[0], flush=True)
    raise SystemExit(run_guarded(sys.argv[1:]))

from celery import Celery
app = Celery("stand-in", broker=os.environ["OCTAVO_REDIS_URL"])
app.conf.update(task_ignore_result=True, worker_prefetch_multiplier=1, task_default_queue="stand-in")

@app.task(name="octavo.run")
def run(*rung):
    text = open(os.environ["BOOK"]).read()  # looked up by the id. Returned, it would stand in Flower as the result
    assert len(text) == rung[0][0]

class Health(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *args): pass

port = int(sys.argv[sys.argv.index("--metrics-port") + 1])
threading.Thread(target=ThreadingHTTPServer(("127.0.0.1", port), Health).serve_forever, daemon=True).start()
app.worker_main("worker --pool=threads --concurrency=2 --without-gossip --without-mingle -E -lWARNING".split())
"""


class Driven:
    """A driver process and what it told."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.events: list[dict[str, Any]] = []
        self._rest = b""
        self._looked = 0
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)

    def wait_for(self, condition: Callable[[dict[str, Any]], bool], timeout_s: float = 20) -> dict[str, Any]:
        """The next event for which a condition holds, after the one that was waited for before."""

        def there() -> bool:
            ended = self.process.poll() is not None  # asked first: what it told before its end is read all the same
            self._read()
            while self._looked < len(self.events):
                self._looked += 1
                if condition(self.events[self._looked - 1]):
                    return True
            assert not ended, f"the supervisor ended before; told: {self.events}"
            return False

        until(there, timeout_s, lambda: f"never came; told: {self.events}")
        return self.events[self._looked - 1]

    def change(self, service: str, status: str) -> dict[str, Any]:
        """The next change of a service to a status."""
        return self.wait_for(lambda event: event.get("service") == service and event.get("change") == status)

    def pid(self, service: str) -> int:
        """The process that a service was last seen to run as."""
        self._read()
        return [e["pid"] for e in self.events if e.get("service") == service and e.get("pid")][-1]

    def end(self, timeout_s: float = 20) -> int:
        """The driver's exit code, when it has ended by itself."""
        until(lambda: self.process.poll() is not None, timeout_s, lambda: "the supervisor did not end")
        self._read()
        return self.process.returncode

    def statuses(self, status: str) -> list[str]:
        """The services that came to a status, in order."""
        return [event["service"] for event in self.events if event.get("change") == status]

    def _read(self) -> None:
        assert self.process.stdout is not None
        if self.process.stdout.closed:
            return
        while data := self.process.stdout.read(65536):
            *lines, self._rest = (self._rest + data).split(b"\n")
            self.events += [json.loads(line) for line in lines]


def until(condition: Callable[[], bool], timeout_s: float, says: Callable[[], str]) -> None:
    """Poll until a condition holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, says()
        time.sleep(0.02)  # a poll, not a wait


def runs(pid: int) -> bool:
    """Is there such a process? One that has ended and waits to be reaped is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def ended_after(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """At the end the process is stopped, and killed if need be."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def driven(folder: Path, *services: dict[str, Any], guardian: bool | None = None) -> Iterator[Driven]:
    """A supervisor in a process of its own, over these services."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"services": services, "guardian": guardian}))
    command = [sys.executable, "-c", DRIVER, str(plan)]
    with ended_after(subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder)) as process:
        yield Driven(process)
