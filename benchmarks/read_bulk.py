"""How long many small files and one huge text take to bring in, and the most memory that any process holds.

    python -m benchmarks.read_bulk [--files 1000] [--megabytes 500]

Each line is one `octavo ingest` over real files into a state of its own, beside the least that any ingest must do: read
the bytes and hash them. Memory is the peak of the largest process and of all together, as Linux tells it (VmHWM, and
the sum of RSS looked at twenty times a second).
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

OCTAVO = Path(sys.executable).with_name("octavo")
ENGLISH = (
    "The tide of day {} went out at noon, and nobody in harbour {} had seen the boat since lamp {} was lit.\n"
    "An old man on the mole said that it would be back with flood {}, as it had always been.\n\n"
)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One command that was watched."""

    seconds: float
    largest_mb: float  # peak of the process that held the most
    together_mb: float  # most that all of them held at one time


def paragraph(number: int) -> str:
    """A paragraph that no other is like."""
    return ENGLISH.format(number, number * 7 % 1009, number * 13 % 5003, number * 31 % 10007)


def write_small(folder: Path, files: int) -> int:
    """Write small books of three chapters, about 5 kB each; how many bytes."""
    folder.mkdir()
    total = 0
    for number in range(files):
        text = "".join(
            f"Chapter {chapter}\n\n{''.join(paragraph(number * 30 + chapter * 10 + at) for at in range(8))}"
            for chapter in range(3)
        )
        total += (folder / f"book {number}.txt").write_text(text, encoding="utf-8")
    return total


def write_huge(path: Path, megabytes: int) -> int:
    """Write one book of so many megabytes, a chapter every 20 kB; how many bytes."""
    number = total = 0
    with path.open("w", encoding="utf-8") as target:
        while total < megabytes * 1_000_000:
            number += 1
            total += target.write(f"Chapter {number}\n\n{''.join(paragraph(number * 100 + at) for at in range(105))}")
    return total


def watch(command: list[str | Path]) -> Measured:
    """Run a command to its end, looking at the memory of its processes."""
    begin = time.perf_counter()
    peaks: dict[int, float] = {}
    together = 0.0
    with subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        while process.poll() is None:
            held = [memory for pid in _session(process.pid) if (memory := _memory(pid))]
            together = max(together, sum(rss for _, _, rss in held))
            peaks.update({pid: peak for pid, peak, _ in held})
            time.sleep(0.05)
        told = process.stderr.read().decode() if process.stderr else ""
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}: {told[-2000:]}")
    return Measured(
        seconds=time.perf_counter() - begin, largest_mb=max(peaks.values(), default=0.0), together_mb=together
    )


def _session(leader: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rsplit(")", 1)[1].split()[3]) == leader:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def _memory(pid: int) -> tuple[int, float, float] | None:
    """(process, peak MB, MB now)."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith(("VmHWM", "VmRSS"))}
    return (pid, sizes["VmHWM"], sizes["VmRSS"]) if len(sizes) == 2 else None


def floor(paths: list[Path]) -> float:
    """Seconds that reading and hashing take."""
    begin = time.perf_counter()
    for path in paths:
        with path.open("rb") as file:
            hashlib.file_digest(file, "sha256").digest()
    return time.perf_counter() - begin


def tell(what: str, size: int, files: int, measured: Measured, least: float) -> None:
    """Print a line."""
    print(
        f"{what:34}{measured.seconds:8.1f} s{size / 1e6 / measured.seconds:8.2f} MB/s{files / measured.seconds:8.1f}/s"
        f"{measured.largest_mb:8.0f} MB{measured.together_mb:8.0f} MB   {measured.seconds / least:6.0f} × reading alone"
    )


def main() -> None:
    """Parse the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--megabytes", type=int, default=500)
    options = parser.parse_args()
    print(f"{'':34}{'time':>10}{'speed':>13}{'files':>10}{'largest':>11}{'together':>11}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.files:
            size = write_small(folder / "small", options.files)
            least = floor(list((folder / "small").iterdir()))
            for jobs in (1, 2):
                state = folder / f"state {jobs}"
                command = [OCTAVO, "ingest", folder / "small", "--jobs", str(jobs), "--state", state]
                tell(f"{options.files} files, {jobs} process(es)", size, options.files, watch(command), least)
            tell(f"{options.files} files, unchanged", size, options.files, watch(command), least)
        if options.megabytes:
            size = write_huge(folder / "huge.txt", options.megabytes)
            least = floor([folder / "huge.txt"])
            command = [OCTAVO, "ingest", folder / "huge.txt", "--state", folder / "state"]
            tell(f"one text of {options.megabytes} MB", size, 1, watch(command), least)
            tell("the same, unchanged", size, 1, watch(command), least)


if __name__ == "__main__":
    main()
