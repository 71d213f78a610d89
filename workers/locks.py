"""A file lock for each embedded process: a free lock means that its leases are void (DESIGN §6)."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock, Timeout

OLD_S = 86_400


class ProcessLock:
    """This process's own lock, held until it ends, however it ends. `owner` is the nonce that its leases carry."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.owner = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._lock = FileLock(self._path(self.owner), thread_local=False)
        self._lock.acquire(blocking=False)
        self._sweep()

    def _path(self, owner: str) -> Path:
        return self._folder / f"{owner}.lock"

    def _sweep(self) -> None:
        """Remove what killed processes left long ago. A young file may be one that its process is about to lock."""
        for path in self._folder.glob("*.lock"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > OLD_S and self._is_free(path.stem):
                    path.unlink(missing_ok=True)

    def dead(self, owners: Iterable[str]) -> list[str]:
        """Those of the owners whose process is gone: their lock is free, or their lock file is."""
        return [owner for owner in owners if owner != self.owner and self._is_free(owner)]

    def _is_free(self, owner: str) -> bool:
        path = self._path(owner)
        if not path.exists():
            return True
        probe = FileLock(path, thread_local=False)
        try:
            probe.acquire(blocking=False)
        except Timeout:
            return False
        probe.release()
        return True

    def forget(self, owners: Iterable[str]) -> None:
        """Remove the lock files of dead processes whose leases are void."""
        for owner in owners:
            with contextlib.suppress(OSError):
                self._path(owner).unlink(missing_ok=True)

    def release(self) -> None:
        """Let go at a clean end."""
        self._lock.release()
        self.forget([self.owner])
