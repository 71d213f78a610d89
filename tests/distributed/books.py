"""Books and pipelines of the tests' own, and what an undisturbed run makes of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.distributed.servers import Provider

ROOT = Path(__file__).parent.parent.parent
COMMAND = "from octavo.cli.main import main; main()"
OPS = "tests.distributed.ops"

MAP = """
[[step]]
name = "draw"
kind = "map"
op = "draw"
"""
FOLD = """
[[step]]
name = "gather"
kind = "fold"
op = "gather"
after = "draw"
"""
MERGE = """
[[step]]
name = "tally"
kind = "merge"
op = "tally"
after = "draw"
"""
HEAD = """
name = "{name}"
[grain]
limit = 400
"""
WHOLE = HEAD.format(name="whole") + MAP + MERGE + FOLD
ONLY_MAP = HEAD.format(name="only-map") + MAP


def book(chunks: int, *, chapters: int = 0, salt: str = "", marks: Sequence[str] = ()) -> str:
    """A book of about so many chunks of the tests' grain, all different; the first ones carry `marks`."""
    chapters = chapters or max(1, min(20, chunks // 10))
    parts = []
    for at in range(chunks):
        if at % -(-chunks // chapters) == 0:
            parts.append(f"# Chapter {at} {salt}\n")
        mark = f"@{marks[at]}@ " if at < len(marks) else ""
        parts.append(
            f"{mark}Lamp {at}{salt} of house {at * 7919} was lit by keeper {at % 31} at hour {at % 24}. The ferry "
            f"took {at * 13} barrels of salt to the far bank of the river, where {at * 104729} people of the town "
            f"waited for it with lanterns, ropes and {at % 97} dogs, and none of them spoke until it had landed.\n"
        )
    return "\n".join(parts)


def calm_export(folder: Path, pipeline: str, text: str) -> bytes:
    """The canonical export of the same job in embedded mode, in a state folder and with a provider of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    provider = Provider()
    try:
        (folder / "book.md").write_text(text)
        (folder / "pipeline.toml").write_text(pipeline)
        plain = {name: value for name, value in os.environ.items() if not name.startswith("OCTAVO_")}
        environment = plain | {
            "OCTAVO_STATE": str(folder / "state"), "OCTAVO_OPS": OPS, "OCTAVO_TOKENIZER": "characters",
            "STUB_PORT": str(provider.port), "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        for command in (["run", "book.md", "-p", "pipeline.toml", "--json"], ["export", "last", "--canonical"]):
            done = subprocess.run(
                [sys.executable, "-c", COMMAND, *command],
                cwd=folder, env=environment, capture_output=True, timeout=300, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr.decode()
        return done.stdout
    finally:
        provider.close()
