"""Failpoints: places on each side of each commit where a test has the process killed, as a machine's death would.

Armed by OCTAVO_FAILPOINT="name" or "name:nth" (the nth time it is reached), by nothing else.
"""

from __future__ import annotations

import os
import signal
import threading

from pipeline.errors import SettingsError

# Each `.before` is inside the transaction, just before its commit; each `.after` just behind it. (A call's are around
# the call.)
NAMES = (
    "begin.before",
    "begin.after",  # the job is there, nobody was rung for it
    "plan.before",
    "plan.after",
    "dispatch.before",
    "dispatch.after",  # rows say that messages are on their way, and none is
    "send.after",
    "bell",  # a message is taken and acknowledged, nothing is claimed
    "lease.before",
    "lease.after",
    "call.before",
    "call.after",
    "commit.before",
    "commit.after",
    "answered",  # committed, and the message's task has not returned
    "step.before",
    "step.after",
    "end.before",
    "end.after",
    "reconcile.before",
    "reconcile.after",
)

_lock = threading.Lock()
_armed: str | None = None
_left = 0


def arm(text: str) -> None:
    """Arm the one that `text` names. Raises SettingsError for an unknown one."""
    global _armed, _left
    name, _, nth = text.partition(":")
    if name not in NAMES or (nth and not nth.isdecimal()):
        raise SettingsError(f"There is no failpoint {text!r}", hint=f"known: {', '.join(NAMES)}, or NAME:NTH")
    _armed, _left = name, int(nth or 1)


def reached(name: str) -> None:
    """Say that this place is reached: kills the process (SIGKILL) where it is armed, else does nothing."""
    if _armed == name:
        _count()


def _count() -> None:
    global _left
    with _lock:
        _left -= 1
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # the signal may take a moment: nothing more is done here meanwhile
