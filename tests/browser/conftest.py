"""A real server, a real Chromium. Skips with the reason where there is no browser."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

OCTAVO = Path(sys.executable).with_name("octavo")
PATIENCE_S = 90.0
OPS = Path(__file__).with_name("slow_ops.py")


@dataclass
class Server:
    """`octavo web` as a process of its own, over a folder of its own."""

    folder: Path
    ops: tuple[str, ...] = ()
    process: subprocess.Popen[str] | None = None
    address: str = ""
    entrance: str = ""
    said: list[str] = field(default_factory=list)
    secret: str = ""
    _listener: threading.Thread | None = None

    def environment(self) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("OCTAVO_", "COV"))}
        return plain | {"OCTAVO_STATE": str(self.folder / "state"), "NO_COLOR": "1"}

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [OCTAVO, *arguments], cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=120
        )
        assert done.returncode in (0, 3), done.stderr
        return done.stdout

    def start(self) -> None:
        more = [part for name in self.ops for part in ("--ops", name)]
        self.process = subprocess.Popen(
            [OCTAVO, "web", "--port", "0", *more],
            cwd=self.folder,
            env=self.environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        wait(lambda: self.entrance, "the server says where it is")
        self.address = self.entrance.partition("/enter")[0]
        wait(self._answers, "the server answers")
        self.secret = json.loads(self.run("token", "add", "test", "--scope", "admin", "--json"))["token"]

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.address}/health", timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    def _listen(self) -> None:
        assert self.process is not None
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            found = re.search(r"http://\S+/enter\?code=\S+", line)
            if found:
                self.entrance = found[0]

    def api(self, path: str, body: Any = None, method: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/json"}
        if body is not None:
            headers["Idempotency-Key"] = f"k{time.monotonic_ns()}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def events(self, job: str) -> list[dict[str, Any]]:
        """What who watched a job from its beginning was told, of a job that has ended."""
        request = urllib.request.Request(f"{self.address}/v1/jobs/{job}/events")
        request.add_header("Authorization", f"Bearer {self.secret}")
        request.add_header("Last-Event-ID", "0")
        with urllib.request.urlopen(request, timeout=30) as answer:
            said = answer.read().decode()
        return [json.loads(line.removeprefix("data: ")) for line in said.splitlines() if line.startswith("data: ")]

    def children(self) -> list[int]:
        """The processes that work on jobs for the server."""
        assert self.process is not None
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        threads = Path(f"/proc/{self.process.pid}/task").iterdir() if found.exists() else []
        return [int(pid) for thread in threads for pid in (thread / "children").read_text().split()]

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if self.process is not None and self.process.stderr is not None:
            self.process.wait(30)
            if self._listener is not None:
                self._listener.join(30)  # it ends with the last child that holds the pipe
            self.process.stderr.close()
            assert "octavo web has stopped" in "".join(self.said), "".join(self.said)


def wait(true: Callable[[], Any], what: str, seconds: float = PATIENCE_S) -> Any:
    """Look until something is so."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = true()
        if found:
            return found
        threading.Event().wait(0.1)
    raise AssertionError(f"not within {seconds:g} s: {what}")


def number(text: str) -> int:
    """The number that a page shows, whatever stands between its digits."""
    return int(re.sub(r"\D", "", text) or 0)


def chromium() -> str | None:
    """Where Debian's Chromium, or another, is; None: playwright's own, if it was brought."""
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        try:
            made = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        except Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield made
        made.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Server]:
    """A server over a state that is empty at first, with slow ops at hand. One for all: it takes a while to start."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copy(OPS, folder / "slow_ops.py")
    made = Server(folder, ("slow_ops",))
    try:
        made.start()
        yield made
    finally:
        made.stop()


class Visitor:
    """A browser that has entered, and what its console said."""

    def __init__(self, context: BrowserContext, server: Server) -> None:
        self.server = server
        self.context = context
        self.faults: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE_S * 1000)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)

    def enter(self) -> None:
        self.page.goto(f"{self.server.address}/enter")
        self.page.fill("#secret", self.server.secret)
        self.page.click("main button")
        self.page.wait_for_url(f"{self.server.address}/")

    def go(self, path: str) -> Page:
        self.page.goto(self.server.address + path)
        return self.page


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Callable[..., Visitor]]:
    """Opens browsers at the server: `visit(scripts=False)`, `visit(width=390)`."""
    made: list[BrowserContext] = []

    def open_one(*, scripts: bool = True, width: int = 1440, scheme: Any = "light", bypass: bool = False) -> Visitor:
        context = browser.new_context(
            java_script_enabled=scripts,
            viewport={"width": width, "height": 900 if width > 500 else 844},
            color_scheme=scheme,
            bypass_csp=bypass,
        )
        made.append(context)
        visitor = Visitor(context, server)
        visitor.enter()
        return visitor

    yield open_one
    for context in made:
        context.close()
