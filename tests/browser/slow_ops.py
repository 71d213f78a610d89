"""Ops that stand still while a file `hold` is there, and fail on some chunks until one `well` is."""

from __future__ import annotations

import time
from pathlib import Path

import octavo
from pipeline.models.extractive.summary import summarize


def _wait() -> None:
    time.sleep(0.1)
    while Path("hold").exists():
        time.sleep(0.05)


@octavo.map_op(version="1")
def slowly(text: str) -> object:
    """How long the chunk is, after a while."""
    _wait()
    if "Edith Harrow" in text and "silver coins" in text and not Path("well").exists():
        raise octavo.PermanentError(f"the scribe was away, {len(text)} letters waited")
    return {"letters": len(text)}


@octavo.map_op(version="1")
def tell(text: str) -> object:
    """What a chunk is about, as `summarize` says it, after a while."""
    _wait()
    if "quicksilver" in text and not Path("well").exists():
        raise octavo.PermanentError(f"the lamp was out, {len(text)} letters waited")
    return summarize(text, sentences=3)
