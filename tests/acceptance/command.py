"""The command line as a person meets it: a process of its own, its streams and its exit code."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from octavo.cli.main import run_guarded

OCTAVO = Path(sys.executable).with_name("octavo")

STORY = """# The Ferry

Tom Bell kept the ferry at Port Averil for thirty years. Tom Bell knew every sandbank between Port Averil and the sea.
On the night of the great storm Tom Bell rowed across the river four times and brought home eleven men.

# The Bridge

When the bridge was built at Port Averil, Anna Crane painted the last picture of the ferry.
Anna Crane gave the picture to Tom Bell, and it hangs in the toll house of the bridge to this day.
"""


@dataclass(frozen=True)
class Ended:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class _Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Cli:
    """Runs the command in a folder, with that folder's state."""

    def __init__(self, folder: Path, state: Path) -> None:
        self.folder = folder
        self.state = state

    def command(self, *arguments: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
        return [OCTAVO, *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        foreign = ("OCTAVO_", "COV", "PYTHONUNBUFFERED")  # a person's output is buffered
        plain = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return plain | {"OCTAVO_STATE": str(self.state), "NO_COLOR": "1"} | more

    def run(
        self,
        *arguments: str | os.PathLike[str],
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        prefix: Sequence[str] | None = None,
        terminal: bool = False,
        **options: Any,
    ) -> Ended:
        """Run to the end: in a process of its own where `prefix` or subprocess's options are given, else here.

        `terminal`: stdout says that it is one.
        """
        variables = self.environment(**(environment or {}))
        if not options and prefix is None:
            stdout = _Terminal if terminal else io.TextIOWrapper
            return self._run_here([os.fspath(argument) for argument in arguments], stdin, variables, stdout)
        done = subprocess.run(
            [*(prefix or []), *self.command(*arguments)],
            cwd=self.folder,
            env=variables,
            input=stdin,
            capture_output=True,
            timeout=120,
            check=False,
            **options,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def _run_here(
        self, arguments: list[str], stdin: bytes, variables: Mapping[str, str], stdout: type[io.TextIOWrapper]
    ) -> Ended:
        out, err = (
            kind(io.BytesIO(), encoding="utf-8", errors="surrogateescape") for kind in (stdout, io.TextIOWrapper)
        )
        with (
            mock.patch.dict(os.environ, variables, clear=True),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = run_guarded(arguments)
        for stream in (out, err):
            stream.flush()
        return Ended(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())

    def ok(self, *arguments: str | os.PathLike[str], **options: Any) -> Ended:
        """Run, and it must succeed."""
        ended = self.run(*arguments, **options)
        assert ended.code == 0, ended.err
        return ended

    def refused(self, *arguments: str | os.PathLike[str], code: int, says: str, **options: Any) -> Ended:
        """Run, and it must refuse: its exit code, one `error:` line that holds `says`, no traceback, no data."""
        ended = self.run(*arguments, **options)
        assert "Traceback" not in ended.err
        errors = [line for line in ended.err.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, ended.err
        assert says in errors[0]
        assert "did not expect" not in errors[0]
        assert ended.code == code, ended.err
        assert ended.out == ""
        return ended


def no_root() -> dict[str, Any]:
    """Options that run a command without root's power to pass by permissions; skips where that can not be done."""
    if os.geteuid() != 0:
        return {"prefix": []}
    if shutil.which("setpriv") is None:
        pytest.skip("runs as root, and there is no setpriv to give up its powers with")
    prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("runs as root, and this system does not let it give up its powers")
    return {"prefix": prefix}
