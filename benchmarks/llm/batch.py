"""Eight prompts one by one, then together, through the engine that jobs use: prints both times in seconds."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pipeline.models.llm.engine import Ask
from pipeline.models.llm.prompts import Message
from pipeline.models.llm.tokens import FolderCounter
from workers.models.mlx_engine import MlxEngine

SENTENCE = "On day {n} keeper {n} of the lamp at Grey Skerry went down to the landing and waited for the boat. "


def main() -> None:
    """Warm up, then measure."""
    folder = Path(sys.argv[1])
    engine = MlxEngine(folder, FolderCounter(folder), adapters=None, batch=8)

    def ask(number: int) -> Ask:
        text = f"Summarise in one sentence. {SENTENCE.format(n=number) * 5}"
        return Ask(messages=[Message("user", text)], max_tokens=32)

    engine.complete(ask(9))
    began = time.perf_counter()
    single = [engine.complete(ask(number)) for number in range(8)]
    middle = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(engine.complete, [ask(number) for number in range(8)]))
    ended = time.perf_counter()
    if [answer.content for answer in single] != [answer.content for answer in together]:
        raise SystemExit("a batch says other things than single calls")
    print(middle - began, ended - middle)


if __name__ == "__main__":
    main()
