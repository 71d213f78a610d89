"""Process locks: a free lock means that its process is gone, and its leases are void."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from workers.locks import OLD_S, ProcessLock

HOLD = "import sys, pathlib; from workers.locks import ProcessLock\nlock = ProcessLock(pathlib.Path(sys.argv[1]))\nprint(lock.owner, flush=True); sys.stdin.read()"  # noqa: E501


def hold(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that holds a lock, and its owner's name."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    return process, process.stdout.readline().strip()


def test_a_process_that_lives_is_not_dead_and_one_that_was_killed_is_at_once(tmp_path: Path) -> None:
    mine = ProcessLock(tmp_path)
    process, other = hold(tmp_path)
    try:
        assert mine.dead([other, mine.owner]) == []
        assert ProcessLock(tmp_path).dead([mine.owner]) == []
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        assert mine.dead([other, mine.owner]) == [other]
        assert mine.dead([other]) == [other], "asking does not change the answer"
    finally:
        process.kill()
        process.communicate()
    mine.release()


def test_a_process_that_ended_well_leaves_no_lock_and_counts_as_dead(tmp_path: Path) -> None:
    process, other = hold(tmp_path)
    process.communicate("")
    one = ProcessLock(tmp_path)
    assert one.dead([other]) == [other]
    two = ProcessLock(tmp_path)
    two.release()
    assert one.dead([two.owner, "somebody-of-another-machine"]) == [two.owner, "somebody-of-another-machine"]
    one.release()


def test_locks_that_killed_processes_left_long_ago_are_swept_and_no_others(tmp_path: Path) -> None:
    process, living = hold(tmp_path)
    old, young = tmp_path / "1-old.lock", tmp_path / "2-young.lock"
    for path in (old, young):
        path.touch()
    for path in (old, tmp_path / f"{living}.lock"):
        os.utime(path, (path.stat().st_mtime - OLD_S - 9,) * 2)
    mine = ProcessLock(tmp_path)
    assert not old.exists()
    assert young.exists()
    assert mine.dead([living]) == []
    process.communicate("")
    mine.release()
