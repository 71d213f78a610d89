"""Takes the pictures of the documentation from a real run: `octavo up`, jobs over a sample, the pages and Flower.

    python docs/screenshots.py [--chromium PROGRAM]

Needs the extras `local`, `flower`, `web` and `test`, and a Chromium. The pictures go to docs/pictures.
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
from typing import Any

from workers.supervise.broker import free_ports
from workers.supervise.flower import PASSWORD_FILE, USER

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
OCTAVO = (sys.executable, "-c", "from octavo.cli.main import main; main()")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
START_S = 240.0
RUN_S = 600.0
PAGE_S = 120.0
SETTLE_MS = 1500


OP = """import octavo


@octavo.map_op(version="1")
def read(text: str) -> object:
    \"\"\"A chunk's words, but for those that a tired scribe can not make out.\"\"\"
    if "lens" in text or "Kittiwake" in text:
        raise octavo.PermanentError(f"the scribe could not read the hand, at letter {len(text) // 2}")
    return {"words": len(text.split())}
"""
PIPELINE = """name = "reading"
[[step]]
name = "read"
kind = "map"
op = "read"
attempts = 1
"""


@contextmanager
def running(state: Path, flower: int, web: int) -> Iterator[dict[str, str]]:
    """`octavo up`; gives the environment in which commands reach it."""
    command = [*OCTAVO, "up", "--workers", "2", "--slots", "4", "--state", str(state), "--ops", "scribe"]
    command += ["--flower-port", str(flower), "--web-port", str(web)]
    environ = os.environ | {"PYTHONPATH": str(state.parent)}
    with (state.parent / "up.log").open("wb") as log:
        up = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log, start_new_session=True)
        try:
            wait_for(state / "up.env")
            yield environment(state / "up.env") | {"PYTHONPATH": str(state.parent), "OCTAVO_OPS": "scribe"}
        finally:
            up.send_signal(signal.SIGINT)
            up.wait(timeout=START_S)


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
    """Jobs over a sample: a glossary, a summary, an answer, and one in which a reader of ours fails now and then."""
    book = str(shutil.copy(ROOT / "samples" / "the-lamp-at-grey-skerry.txt", environ["PYTHONPATH"]))
    for words in (
        ["run", book, "--pipeline", "glossary", "--limit", "300"],
        ["run", book, "--pipeline", "summary", "--limit", "300"],
        ["run", book, "--pipeline", "reading.toml", "--limit", "40"],
        ["view", "add", "names", "--pipeline", "glossary", "--documents", book],
        ["sweep", "names"],
    ):
        folder = Path(environ["PYTHONPATH"])
        done = subprocess.run(
            [*OCTAVO, *words], cwd=folder, env=dict(environ), stdout=subprocess.DEVNULL, timeout=RUN_S
        )
        if done.returncode not in (0, 3):
            raise SystemExit(f"octavo {' '.join(words)} ended with {done.returncode}")


def scribe(folder: Path) -> None:
    """An op that fails on some chunks, and its pipeline."""
    (folder / "scribe.py").write_text(OP)
    (folder / "reading.toml").write_text(PIPELINE)


def a_task(address: str, password: str) -> str:
    """The id of a task that Flower knows."""
    request = urllib.request.Request(f"http://{address}/api/tasks?limit=200")
    request.add_header("Authorization", "Basic " + base64.b64encode(f"{USER}:{password}".encode()).decode())
    with urllib.request.urlopen(request, timeout=PAGE_S) as answer:
        tasks: dict[str, dict[str, str]] = json.load(answer)
    return next(name for name, task in tasks.items() if "chunk" in (task.get("args") or ""))


class Camera:
    """A browser that waits for what is to be seen, however slow the machine is."""

    def __init__(self, browser: Any, *, width: int = 1180, **options: Any) -> None:
        self._width = width
        self._context = browser.new_context(viewport={"width": width, "height": 700}, **options)
        self.page = self._context.new_page()
        self.page.set_default_timeout(PAGE_S * 1000)

    def take(self, url: str, shown: str, name: str, height: int) -> None:
        """Open a page, wait until something is shown, keep what is seen."""
        self.page.set_viewport_size({"width": self._width, "height": height})
        self.page.goto(url)
        self.page.locator(shown).first.wait_for(state="attached")
        self.page.wait_for_timeout(SETTLE_MS)
        self.keep(name)

    def enter(self, base: str, token: str) -> None:
        """Be let in to the pages."""
        self.page.goto(f"{base}/enter")
        self.page.fill("#secret", token)
        self.page.click("main button")
        self.page.wait_for_url(f"{base}/")

    def keep(self, name: str) -> None:
        """Keep what is seen."""
        self.page.screenshot(path=PICTURES / name, animations="disabled")
        print(f"{PICTURES / name}: {(PICTURES / name).stat().st_size // 1000} kB")

    def close(self) -> None:
        """End."""
        self._context.close()


def take_flower(browser: Any, address: str, password: str) -> None:
    """Pictures of Flower."""
    camera = Camera(browser, http_credentials={"username": USER, "password": password})
    base = f"http://{address}"
    camera.take(f"{base}/", "#workers-table tbody tr", "flower-workers.png", 420)
    camera.take(f"{base}/tasks", "#tasks-table tbody tr td:nth-child(2)", "flower-tasks.png", 620)
    camera.take(f"{base}/task/{a_task(address, password)}", "text=octavo.run", "flower-task.png", 620)
    camera.close()


def take_pages(browser: Any, address: str, token: str) -> None:
    """Pictures of the pages, as a person goes through them."""
    camera = Camera(browser)
    page, base = camera.page, f"http://{address}"
    camera.enter(base, token)
    camera.take(f"{base}/", "#live table", "home.png", 760)
    page.goto(f"{base}/jobs")
    page.click("tbody th a >> text=reading")
    page.locator("#map-canvas").wait_for()
    page.set_viewport_size({"width": 1180, "height": 1250})
    camera.keep("job.png")
    page.goto(f"{base}/jobs")
    page.click("tbody th a >> text=summary")
    page.click("text=Read the result beside the book")
    page.set_viewport_size({"width": 1180, "height": 720})
    page.locator("#result a.cite").nth(2).click()
    page.locator("#source mark").first.wait_for()
    page.wait_for_timeout(SETTLE_MS)  # it scrolls to the marked lines
    camera.keep("reader.png")
    camera.take(f"{base}/holes", ".groups .card", "holes.png", 420)
    camera.take(f"{base}/views/names", ".figures", "view.png", 430)
    camera.take(f"{base}/search?q=lamp", "mark", "search.png", 620)
    page.goto(f"{base}/jobs")
    page.click("tbody th a >> text=glossary")
    page.click("#step-table a >> text=merge")
    page.click("text=Follow it from the top")
    page.set_viewport_size({"width": 1180, "height": 460})
    page.click(".filters a:has-text('Shards')")
    page.locator("[aria-current]", has_text="Shards").wait_for()
    camera.keep("merge.png")
    camera.close()


def take_phone(browser: Any, address: str, token: str) -> None:
    """The same on a phone, and in the dark."""
    for scheme, at, shown, name in (
        ("light", "/documents", "tbody img", "phone-library.png"),
        ("dark", "/jobs?pipeline=summary", "tbody th a", "phone-jobs.png"),
    ):
        camera = Camera(browser, width=390, color_scheme=scheme, device_scale_factor=2)
        camera.enter(f"http://{address}", token)
        camera.take(f"http://{address}{at}", shown, name, 760)
        camera.close()
    camera = Camera(browser, width=390, color_scheme="dark", device_scale_factor=2)
    camera.enter(f"http://{address}", token)
    page = camera.page
    page.goto(f"http://{address}/jobs")
    page.click("tbody th a >> text=summary")
    page.click("text=Read the result beside the book")
    page.set_viewport_size({"width": 390, "height": 760})
    page.locator("#result a.cite").nth(2).click()
    page.locator("#source mark").first.wait_for()
    page.wait_for_timeout(SETTLE_MS)
    camera.keep("phone-reader.png")
    camera.close()


def main() -> None:
    """Take them."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    parser.add_argument("--chromium", default=found)
    chromium = parser.parse_args().chromium
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="octavo-pictures-") as name, sync_playwright() as playwright:
        os.chmod(name, 0o755)  # noqa: PTH101  # where this is root, PostgreSQL runs as an ordinary user
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        scribe(Path(name))
        state, (flower, web) = Path(name) / "state", free_ports(2)
        with running(state, flower, web) as environ:
            run_jobs(environ)
            token = (state / "web.token").read_text().strip()
            take_pages(browser, f"127.0.0.1:{web}", token)
            take_phone(browser, f"127.0.0.1:{web}", token)
            take_flower(browser, f"127.0.0.1:{flower}", (state / PASSWORD_FILE).read_text().strip())
        browser.close()


if __name__ == "__main__":
    main()
