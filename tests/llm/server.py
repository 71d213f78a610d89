"""The stub as tests hold it."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
HOST = "127.0.0.1"


class Server:
    """A stub of the test's own."""

    def __init__(self, folder: Path | None = None, port: int = 0) -> None:
        command = [sys.executable, "-m", "tests.llm.stub", str(port), *([str(folder)] if folder else [])]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    @property
    def url(self) -> str:
        """Its base_url."""
        return f"http://{HOST}:{self.port}/v1"

    def _ask(self, method: str, path: str, value: Any = None) -> Any:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=30)
        try:
            connection.request(method, path, None if value is None else json.dumps(value))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def rules(self, *rules: dict[str, Any]) -> None:
        """How calls are answered from now on."""
        self._ask("POST", "/rules", list(rules))

    def reset(self) -> None:
        """Forget rules and calls."""
        self._ask("POST", "/reset")

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls so far, in order."""
        found: list[dict[str, Any]] = self._ask("GET", "/log")["calls"]
        return found

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """(tokens of the prompt as its model counts them, max_tokens) of the calls so far."""
        return [(tokens, most) for tokens, most in self._ask("GET", "/sizes")]

    @property
    def most_at_once(self) -> int:
        """The most calls under way at once."""
        return int(self._ask("GET", "/log")["most"])

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
