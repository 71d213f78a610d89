"""One child process: started in a session of its own, read, signalled, reaped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping

from workers.supervise.lines import LineReader
from workers.supervise.orphans import death_signal
from workers.supervise.service import Service


class Child:
    """A running process of a service. Nothing but the process started here is ever signalled."""

    def __init__(self, service: Service, environ: Mapping[str, str]) -> None:
        """Start it. Raises OSError when the program can not be run."""
        environment = dict(environ) | {name: value for name, value in service.env.items() if value is not None}
        for name, value in service.env.items():
            if value is None:
                environment.pop(name, None)
        user = service.user if service.user is not None and os.geteuid() == 0 else None
        self._process = subprocess.Popen(  # noqa: S603  # its whole purpose: the argv is built by this package
            service.argv,
            env=environment,
            cwd=service.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal reaches the supervisor alone: it stops them in order
            user=user,
            group=user,
            extra_groups=[] if user is not None else None,
            preexec_fn=death_signal(service.orphan_signal),  # safe: the supervisor has one thread
        )
        assert self._process.stdout is not None
        self.reader = LineReader(self._process.stdout.fileno())
        self.pid = self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; below zero when a signal ended it. Reaps it."""
        return self._process.poll()

    def send(self, wanted: signal.Signals) -> None:
        """Send the process a signal, unless it has ended."""
        self._process.send_signal(wanted)  # polls before: an ended child's id is never signalled

    def kill(self, wanted: signal.Signals = signal.SIGKILL) -> None:
        """Signal the process and what it started in its session, unless it has ended."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, wanted)

    def last_lines(self) -> Iterator[str]:
        """What is left in the pipe of an ended child. Then the pipe is closed, whoever else still holds it."""
        while not self.reader.ended:
            got = False
            for line in self.reader.read():
                got = True
                yield line
            if not got:
                break
        assert self._process.stdout is not None
        self._process.stdout.close()


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"
    return f"ended with exit code {code}"
