"""What one web process works with."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request

from octavo.web.cursors import Cursors
from octavo.web.limits import RateLimit
from workers.faces.books import Shapes
from workers.faces.costs import Costs
from workers.faces.edits import Edits
from workers.faces.hands import Hands
from workers.faces.hub import Hub
from workers.faces.results import Outputs
from workers.faces.sections import KeptSections
from workers.faces.tokens import SCOPES, Caller
from workers.faces.views import Standings
from workers.runtime import Runtime
from workers.supervise.folders import kept_secret

CODE_S = 600  # a launch code is good so long
SECRET_FILE = "web.secret"  # noqa: S105  # the name of the file


class Codes:
    """Launch codes: each lets one browser in, once."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._turn = threading.Lock()

    def make(self) -> str:
        """A new code."""
        code = secrets.token_urlsafe(24)
        with self._turn:
            self._until[code] = time.monotonic() + CODE_S
        return code

    def use(self, code: str) -> bool:
        """Was this a code that nobody had used? It is used now."""
        with self._turn:
            until = self._until.pop(code, None)
        return until is not None and time.monotonic() < until


@dataclass(kw_only=True, slots=True)
class Web:
    """The parts, made once."""

    runtime: Runtime
    hands: Hands
    hub: Hub
    outputs: Outputs
    standings: Standings
    costs: Costs
    edits: Edits
    cursors: Cursors
    hosts: frozenset[str]
    cookie: str
    secure: bool = False  # is it reached by https?
    sections: KeptSections
    shapes: Shapes = field(default_factory=Shapes)
    codes: Codes = field(default_factory=Codes)
    rate: RateLimit = field(default_factory=RateLimit)

    @property
    def token(self) -> str | None:
        """The token of the settings."""
        secret = self.runtime.settings.web_token
        return secret.get_secret_value() if secret is not None else None

    @property
    def uploads(self) -> Path:
        """Where books that come in by HTTP are kept."""
        return self.runtime.settings.state / "uploads"

    @property
    def lease_ms(self) -> int:
        """How long a worker that says nothing more counts as alive."""
        return int(self.runtime.settings.lease_s * 1000)

    @property
    def distributed(self) -> bool:
        """Is the work done by workers?"""
        return self.runtime.settings.distributed

    def close(self) -> None:
        """End the hub and the hands."""
        self.hub.close()
        self.hands.close()
        self.standings.close()
        self.costs.close()
        self.edits.close()


def make_web(
    runtime: Runtime, *, port: int, hosts: frozenset[str] = frozenset(), overrides: Mapping[str, Any] | None = None
) -> Web:
    """The parts of a web process. Nothing runs yet."""
    database = runtime.database  # before all else: it makes the state folder
    hands = Hands(runtime, overrides or {})
    secret = kept_secret(runtime.settings.state / SECRET_FILE)
    sections = KeptSections()
    return Web(
        runtime=runtime,
        hands=hands,
        hub=Hub(runtime, hands),
        outputs=Outputs(database, runtime.ops, sections),
        sections=sections,
        standings=Standings(runtime, hands.ask),
        costs=Costs(database),
        edits=Edits(database),
        cursors=Cursors(secret),
        hosts=hosts | {"127.0.0.1", "localhost", "[::1]"},
        cookie=f"octavo_{port}",
    )


def web_of(request: Request) -> Web:
    """The parts, of a request."""
    found: Web = request.app.state.web
    return found


def launched() -> Caller:
    """Who comes with a launch code: whoever started the server."""
    return Caller(id="launch", name="launch code", scope=SCOPES[-1])
