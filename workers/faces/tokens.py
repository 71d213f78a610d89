"""Who may: bearer tokens and browser sessions. What a caller holds is stored hashed only."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

from db.database import Database
from db.listed import Token
from pipeline.errors import NotFoundError, UsageError
from pipeline.ids import uuid7

SCOPES = ("read", "run", "admin")  # each includes those before it
PREFIX = "oct_"
SESSION_DAYS = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who asks: named by the id of what was shown, never by the secret."""

    id: str
    name: str
    scope: str

    def may(self, scope: str) -> bool:
        """Does the caller's scope include this one?"""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def digest(secret: str) -> bytes:
    """What is stored of a secret. It has 256 random bits, so a plain hash serves."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def make_token(database: Database, *, name: str, scope: str, days: int | None = None) -> tuple[UUID, str]:
    """A new token: its id, and the secret, which is shown once. Raises UsageError for an unknown scope."""
    if scope not in SCOPES:
        raise UsageError(f"There is no scope {scope!r}", hint=f"known: {', '.join(SCOPES)}")
    return _make(database, name=name, kind="token", scope=scope, secret=PREFIX + secrets.token_urlsafe(32), days=days)


def make_session(database: Database, caller: Caller) -> str:
    """A session for a browser with the rights of the caller; gives its secret."""
    secret = secrets.token_urlsafe(32)
    _make(database, name=caller.name, kind="session", scope=caller.scope, secret=secret, days=SESSION_DAYS)
    return secret


def _make(database: Database, *, name: str, kind: str, scope: str, secret: str, days: int | None) -> tuple[UUID, str]:
    token_id = uuid7()
    until = None if days is None else datetime.now(UTC) + timedelta(days=days)
    with database.write() as rows:
        rows.web.add_token(id=token_id, name=name, kind=kind, sha256=digest(secret), scope=scope, expires_at=until)
    return token_id, secret


def find_caller(database: Database, secret: str, kind: str, *, configured: str | None = None) -> Caller | None:
    """Who holds this secret; None when nobody does (any more). `configured` is the token of the settings."""
    if kind == "token" and configured and hmac.compare_digest(digest(secret), digest(configured)):
        return Caller(id="configured", name="OCTAVO_WEB_TOKEN", scope="admin")
    now = datetime.now(UTC)
    with database.read() as rows:
        found = rows.web.token(digest(secret), now)
    if found is None or found.kind != kind:
        return None
    if found.used_on != now.date():
        with database.write() as rows:
            rows.web.use_token(found.id)
    return Caller(id=str(found.id), name=found.name, scope=found.scope)


def list_tokens(database: Database, limit: int = 200) -> list[Token]:
    """The tokens that may be used, newest first."""
    with database.read() as rows:
        return rows.web.tokens(kind="token", limit=limit)


def revoke(database: Database, token_id: UUID) -> None:
    """A token or session may be used no more. Raises NotFoundError."""
    with database.write() as rows:
        if not rows.web.revoke(token_id):
            raise NotFoundError(f"There is no token {token_id}", hint="octavo token list shows them")


def revoke_session(database: Database, secret: str) -> None:
    """A session may be used no more; one that is not there is left alone."""
    with database.write() as rows:
        found = rows.web.token(digest(secret), datetime.now(UTC))
        if found is not None and found.kind == "session":
            rows.web.revoke(found.id)
