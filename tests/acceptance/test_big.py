"""A huge text comes in through a bounded amount of memory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.command import Cli

PARAGRAPH = (
    "The {0}th boat went down the river past Port Averil, and Anna Crane counted it in the book of the lock.\n\n"
)
MOST_MB = 400  # of resident memory, whatever the size of the text


def write_text(path: Path, size: int) -> None:
    """A text of about `size` bytes, no paragraph twice, without a heading."""
    number = written = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        while written < size:
            block = "".join(PARAGRAPH.format(at) for at in range(number, number + 10_000))
            file.write(block)
            number, written = number + 10_000, written + len(block)


def peak_mb(cli: Cli, book: Path) -> float:
    """The most memory that an ingest held, in MB."""
    command = [os.fspath(part) for part in cli.command("ingest", book, "--json")]
    process = subprocess.Popen(command, cwd=cli.folder, env=cli.environment(), stdout=subprocess.PIPE)
    assert process.stdout is not None
    out = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert b'"what":"read"' in out
    return usage.ru_maxrss / 1024


@pytest.mark.parametrize(
    "size", [20_000_000, pytest.param(1_000_000_000, marks=pytest.mark.nightly)], ids=["20 MB", "1 GB"]
)
def test_a_text_is_ingested_in_under_400_mb_however_long_it_is(cli: Cli, tmp_path: Path, size: int) -> None:
    book = tmp_path / "long.txt"
    write_text(book, size)
    assert peak_mb(cli, book) < MOST_MB
