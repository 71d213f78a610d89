"""What keeps children from outliving a supervisor that was killed with no chance to stop them.

On Linux the kernel sends a signal of our choice to a child when its parent dies (prctl(2), PR_SET_PDEATHSIG). Elsewhere
a small guardian process holds the reading end of a pipe: its end means that the supervisor is gone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h
GUARDIAN = Path(__file__).with_name("guardian.py")
BY_KERNEL = sys.platform == "linux"


def death_signal(wanted: signal.Signals) -> Callable[[], None] | None:
    """What a child does before it becomes its program, so that `wanted` reaches it when this process dies.

    Runs between fork and exec, after the change of user (which would take the setting back). None where the kernel has
    no such thing. The signal follows the thread that forks, so the supervisor has one thread.
    """
    if not BY_KERNEL:
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, int(wanted), 0, 0, 0)
        if os.getppid() != parent:  # it died in between: nobody will send the signal any more
            os.kill(os.getpid(), signal.SIGKILL)

    return ask


class Guardian:
    """The process that ends the children when this one is gone. It knows them by their process id and session."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603  # this Python, and a file of this package
            [sys.executable, "-I", "-S", str(GUARDIAN)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def add(self, pid: int, wanted: signal.Signals) -> None:
        """Watch over a child, the leader of its own session."""
        self._tell(f"+ {pid} {int(wanted)}\n")

    def remove(self, pid: int) -> None:
        """It has ended."""
        self._tell(f"- {pid} 0\n")

    def close(self) -> None:
        """All have ended."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            return  # the guardian was killed; the supervisor itself still stops its children
