"""Speaks with a model in a process of its own: `python -m tests.llm.speak FOLDER [fork]` prints answers as JSON."""

from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.models.llm.engine import Ask
from pipeline.models.llm.prompts import Message
from pipeline.models.llm.tokens import FolderCounter
from workers.models.mlx_engine import MlxEngine

SAMPLINGS: tuple[dict[str, Any], ...] = (
    {}, {"temperature": 1.0, "seed": 5}, {"temperature": 1.0, "seed": 6}, {"temperature": 0.7, "seed": 5, "top_p": 0.9},
    {"temperature": 1.0, "seed": 5, "top_k": 4, "min_p": 0.01}, {"repetition_penalty": 1.3},
)  # fmt: skip

MOST = (24, 2, 40)  # tokens of an answer: some are cut off


def asks(number: int) -> list[Ask]:
    """So many requests, of different lengths and samplings."""
    return [
        Ask(
            messages=[Message("user", f"Tell of lamp {at}. " * (1 + at % 3))],
            max_tokens=MOST[at % len(MOST)],
            sampling=SAMPLINGS[at % len(SAMPLINGS)],
        )
        for at in range(number)
    ]


def engine(folder: Path) -> MlxEngine:
    """An engine that has loaded nothing yet."""
    return MlxEngine(folder, FolderCounter(folder), adapters=None, batch=8)


def single(made: MlxEngine, number: int = 12) -> list[dict[str, Any]]:
    """One after another."""
    return [asdict(made.complete(ask)) for ask in asks(number)]


def together(made: MlxEngine, number: int = 12) -> list[dict[str, Any]]:
    """All at once, from as many threads."""
    with ThreadPoolExecutor(number) as pool:
        found = [asdict(answer) for answer in pool.map(made.complete, asks(number))]
    assert sum(thread.name == "octavo-mlx" for thread in threading.enumerate()) == 1  # one model, however many ask
    return found


def forked(made: MlxEngine) -> list[dict[str, Any]]:
    """In two children made by fork, and then here: each process loads for itself."""
    found: list[list[dict[str, Any]]] = []
    for _ in range(2):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            with os.fdopen(write, "w") as out:
                json.dump(single(made, 4), out)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as inlet:
            found.append(json.load(inlet))
        os.waitpid(child, 0)
    found.append(single(made, 4))
    assert found[0] == found[1] == found[2]
    return found[0]


if __name__ == "__main__":
    ways = {"single": single, "together": together, "fork": forked}
    print(json.dumps(ways[sys.argv[2]](engine(Path(sys.argv[1])))))  # noqa: T201
