"""An op that takes its time, and that fails on some chunks until a file says that all is well."""

from __future__ import annotations

import time
from pathlib import Path

import octavo


@octavo.map_op(version="1")
def slowly(text: str) -> object:
    """How long the chunk is, after a while."""
    time.sleep(0.1)
    while Path("hold").exists():
        time.sleep(0.05)
    if "Edith Harrow" in text and "silver coins" in text and not Path("well").exists():
        raise octavo.PermanentError(f"the scribe was away, {len(text)} letters waited")
    return {"letters": len(text)}
