"""Takes the pictures of docs/operations.md from a real run: `octavo up`, a job over the samples, Flower in Chromium.

    python docs/screenshots.py [--chromium PROGRAM]

Needs the extras `local` and `flower`, and a Chromium. The pictures go to docs/pictures.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from workers.supervise.broker import free_ports
from workers.supervise.flower import PASSWORD_FILE, USER

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
OCTAVO = (sys.executable, "-c", "from octavo.cli.main import main; main()")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
START_S = 120.0
SETTLE_MS = 8_000  # of the page's own clock: its tables come by a request of their own


@contextmanager
def running(state: Path, port: int) -> Iterator[dict[str, str]]:
    """`octavo up`; gives the environment in which commands reach it."""
    command = [*OCTAVO, "up", "--workers", "2", "--slots", "4", "--flower-port", str(port), "--state", str(state)]
    with (state.parent / "up.log").open("wb") as log:
        up = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
        try:
            wait_for(state / "up.env")
            yield environment(state / "up.env")
        finally:
            up.send_signal(signal.SIGINT)
            up.wait(timeout=60)


def wait_for(path: Path) -> None:
    """Until a file is there."""
    deadline = time.monotonic() + START_S
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"octavo up did not start: {(path.parent.parent / 'up.log').read_text()[-2000:]}")
        time.sleep(0.2)


def environment(file: Path) -> dict[str, str]:
    """This process's environment with what a shell would take from a file of exports."""
    said = subprocess.run(["sh", "-c", f". '{file}'; env"], check=True, capture_output=True, text=True).stdout
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def run_jobs(environ: Mapping[str, str]) -> None:
    """A job over a sample."""
    book = ROOT / "samples" / "the-lamp-at-grey-skerry.txt"
    command = [*OCTAVO, "run", str(book), "--pipeline", "glossary", "--limit", "300", "--json"]
    subprocess.run(command, cwd=ROOT, env=dict(environ), check=True, stdout=subprocess.DEVNULL, timeout=600)


def a_task(address: str, password: str) -> str:
    """The id of a task that Flower knows."""
    request = urllib.request.Request(f"http://{address}/api/tasks?limit=50")
    request.add_header("Authorization", "Basic " + base64.b64encode(f"{USER}:{password}".encode()).decode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        tasks: dict[str, dict[str, str]] = json.load(answer)
    return next(name for name, task in tasks.items() if "chunk" in (task.get("args") or ""))


def picture(chromium: str, url: str, name: str, height: int) -> None:
    """Show a page and keep what is seen."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--user-data-dir={profile}", f"--window-size=1180,{height}", f"--virtual-time-budget={SETTLE_MS}",
            f"--screenshot={PICTURES / name}", url,
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    print(f"{PICTURES / name}: {(PICTURES / name).stat().st_size // 1000} kB")


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    parser.add_argument("--chromium", default=found)
    chromium = parser.parse_args().chromium
    if chromium is None:
        raise SystemExit("There is no Chromium: name one with --chromium")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="octavo-pictures-") as name:
        os.chmod(name, 0o755)  # noqa: PTH101  # where this is root, PostgreSQL runs as an ordinary user
        state, port = Path(name) / "state", free_ports(1)[0]
        with running(state, port) as environ:
            run_jobs(environ)
            password = (state / PASSWORD_FILE).read_text().strip()
            address = f"127.0.0.1:{port}"
            page = f"http://{USER}:{password}@{address}"
            picture(chromium, f"{page}/", "flower-workers.png", 420)
            picture(chromium, f"{page}/tasks", "flower-tasks.png", 620)
            picture(chromium, f"{page}/task/{a_task(address, password)}", "flower-task.png", 620)


if __name__ == "__main__":
    main()
