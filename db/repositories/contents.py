"""Texts by hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import ARRAY, LargeBinary, any_, bindparam, func, select
from sqlalchemy.engine import Connection

from db.dialect import batches, insert_new
from db.errors import CollectedError
from db.tables import ContentRow

_TEXTS = select(ContentRow.sha256, ContentRow.text).where(
    ContentRow.sha256 == any_(bindparam("hashes", type_=ARRAY(LargeBinary)))
)
"""One parameter for any number of hashes: PostgreSQL plans it once, where each number of parameters is a plan anew."""


class ContentRepository:
    """The `contents` table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, texts: Mapping[bytes, bytes]) -> None:
        """Store texts (UTF-8) by their SHA-256; those that are there already stay."""
        if texts:
            rows = [{"sha256": sha, "text": text} for sha, text in texts.items()]
            self._connection.execute(insert_new(self._connection, ContentRow), rows)

    def texts(self, hashes: Sequence[bytes]) -> dict[bytes, str]:
        """The texts of the hashes that are there."""
        if self._connection.dialect.name == "postgresql":
            return {sha: text.decode() for sha, text in self._connection.execute(_TEXTS, {"hashes": list(hashes)})}
        found: dict[bytes, str] = {}
        for part in batches(hashes):
            query = select(ContentRow.sha256, ContentRow.text).where(ContentRow.sha256.in_(part))
            found |= {sha: text.decode() for sha, text in self._connection.execute(query)}
        return found

    def expect(self, hashes: Sequence[bytes]) -> None:
        """See that texts are there. Raises CollectedError when one is gone meanwhile."""
        wanted = sorted(set(hashes))
        there = 0
        for part in batches(wanted):
            query = select(func.count()).select_from(ContentRow).where(ContentRow.sha256.in_(part))
            there += self._connection.execute(query).scalar_one()
        if there != len(wanted):
            raise CollectedError("Texts were collected while they were cut", hint="run the command again")
