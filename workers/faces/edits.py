"""What changed between two revisions of a document. It takes a look at every page that both have not: done beside."""

from __future__ import annotations

from uuid import UUID

from db.database import Database
from pipeline.ops.values import Json
from workers.faces.aside import WAIT_S, Aside
from workers.faces.books import get_document
from workers.outputs.diff import common_chunking, diff, two_revisions

CHANGES = 2_000  # kept of a comparison, in reading order; the counts are of all
KEPT = 20

Two = tuple[UUID, int, int]  # document, the revision before, the one after


class Edits:
    """Compares revisions in a thread of its own, and keeps what it found: revisions never change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._found: Aside[Two, dict[str, Json]] = Aside("edits", self._compare, for_ever=True, kept=KEPT)

    def of(
        self, document_id: UUID, before: int | None, after: int | None, *, wait_s: float = WAIT_S
    ) -> tuple[int, int, dict[str, Json] | None]:
        """(revision before, revision after, `{from, to, counts, changes, more}` or None while they are compared).

        Without numbers the last two, or a revision and the one before it. `more`: changes beyond those that are kept.
        Raises NotFoundError.
        """
        with self._database.read() as rows:
            old, new = two_revisions(rows, get_document(rows, document_id), before, after)
        key = (document_id, old.number or 0, new.number or 0)
        return key[1], key[2], self._found.of(key, wait_s=wait_s)

    def _compare(self, two: Two) -> dict[str, Json]:
        document_id, before, after = two
        with self._database.read() as rows:
            document = get_document(rows, document_id)
            revisions = two_revisions(rows, document, before, after)
            return diff(rows, document, revisions, common_chunking(rows, revisions), most=CHANGES)

    def close(self) -> None:
        """End; a comparison that is under way is waited for."""
        self._found.close()
