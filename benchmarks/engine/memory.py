"""Resident memory of this process."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_STATM = Path("/proc/self/statm")


def resident_mb() -> float:
    """What it holds now where the system tells, else the most it held."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most / 1e3
