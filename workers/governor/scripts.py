"""The Lua scripts that a Redis runs for the governor, and the one place where they are called."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from workers.governor.port import GovernorUnavailableError, Permit

TIMEOUT_S = 2.0  # of connecting and of each command: a Redis that hangs is a Redis that is away
PARTS = {
    "acquire": ("store", "bucket", "health", "slots", "turns", "acquire"),
    "release": ("store", "bucket", "health", "slots", "turns", "release"),
    "renew": ("store", "renew"),
    "restore": ("store", "restore"),
    "state": ("store", "bucket", "state"),
}


def source(name: str) -> str:
    """A script's text: the parts it is made of."""
    folder = files("workers.governor") / "lua"
    return "\n".join((folder / f"{part}.lua").read_text(encoding="utf-8") for part in PARTS[name])


class Session:
    """One process's connections, and what it remembers in case that Redis forgets. A fork begins one of its own."""

    def __init__(self, url: str) -> None:
        # One more try at once, as a pooled connection may be one to a Redis that was started anew since; but none after
        # a time-out, which was long enough.
        again = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
        self._client = redis.Redis.from_url(
            url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=again
        )
        self._scripts = {name: self._client.register_script(source(name)) for name in PARTS}
        self._lock = threading.Lock()
        self._held: dict[str, tuple[Permit, str]] = {}  # permit → itself and its owner
        self.seen: dict[str, tuple[bytes, bytes]] = {}  # profile → its state's birth and its token bucket's top

    def hold(self, permit: Permit, owner: str) -> None:
        """Remember a permit till it is dropped."""
        with self._lock:
            self._held[permit.id] = (permit, owner)

    def drop(self, permit: Permit) -> None:
        """Forget a permit."""
        with self._lock:
            self._held.pop(permit.id, None)

    def permits(self, profile: str, owner: str | None = None) -> list[Permit]:
        """The permits of a profile that are held here, by one owner or by all."""
        with self._lock:
            held = list(self._held.values())
        return [permit for permit, holder in held if permit.profile == profile and owner in (None, holder)]

    def released(self, permits: Sequence[Permit]) -> list[Permit]:
        """Those of the permits that are no longer held."""
        with self._lock:
            return [permit for permit in permits if permit.id not in self._held]

    def run(self, name: str, key: str, arguments: Sequence[str | int | bytes]) -> Any:
        """Run a script: one round trip (two when Redis does not know it yet). Raises GovernorUnavailableError."""
        try:
            return self._scripts[name](keys=[key], args=list(arguments))
        except redis.RedisError as error:
            raise GovernorUnavailableError(
                f"The governor's Redis does not answer: {type(error).__name__}: {error}",
                hint="calls wait until it is back; see that Redis runs and has memory left",
            ) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
