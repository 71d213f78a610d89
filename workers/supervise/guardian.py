"""Run as a program: learns children from stdin and ends them when stdin ends. Imports nothing of the project.

Lines are `+ PID SIGNAL` and `- PID 0`. At the end of stdin each child that is left gets its signal, and what is still
there after ten seconds is killed. A process that does not lead its own session is not one of ours: its id was reused.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

PATIENCE_S = 10.0


def ours(pid: int) -> bool:
    """Is there such a process, and does it lead its session as every child does?"""
    try:
        return os.getsid(pid) == pid
    except OSError:
        return False


def send(pid: int, number: int) -> None:
    """Signal a child's group, unless it is gone."""
    if ours(pid):
        with contextlib.suppress(OSError):
            os.killpg(pid, number)


def main() -> None:
    """Listen, then end what is left."""
    children: dict[int, int] = {}
    for line in sys.stdin:
        sign, pid, number = line.split()
        if sign == "+":
            children[int(pid)] = int(number)
        else:
            children.pop(int(pid), None)
    for pid, number in children.items():
        send(pid, number)
    deadline = time.monotonic() + PATIENCE_S
    while any(ours(pid) for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in children:
        send(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
