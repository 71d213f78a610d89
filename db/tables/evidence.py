"""What evidence needs: the index of chunks, traces of what a model was shown, decisions of people, chosen entities.

The words of the index stand in `search_words`, which each database has in a form of its own (an FTS5 table, a table of
tsvectors): it is made by the migration, spoken to by `db.repositories.search` alone, and no model here.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import JSON, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.base import BIG, Base, Big, BigId, Hash


class SearchChunkingRow(Base):
    """Which revision of a chunking the index holds, with the sums that ranking needs."""

    __tablename__ = "search_chunkings"

    chunking_id: Mapped[int] = mapped_column(
        BIG, ForeignKey("chunkings.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    revision_id: Mapped[Big]
    chunk_count: Mapped[Big]
    term_count: Mapped[Big]


class SearchChunkRow(Base):
    """A chunk in the index. Its id is that of its row in `search_words`; those of a page are consecutive."""

    __tablename__ = "search_chunks"

    id: Mapped[int] = mapped_column(BIG, primary_key=True, autoincrement=False)
    chunking_id: Mapped[Big]
    page_id: Mapped[int] = mapped_column(BIG, ForeignKey("pages.id", ondelete="CASCADE"), index=True)
    ordinal: Mapped[int]  # within the page
    content_sha256: Mapped[Hash]
    term_count: Mapped[int]


class TraceRow(Base):
    """What a model was shown for a question, as ids and scores, without text of books."""

    __tablename__ = "traces"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    kind: Mapped[str]
    body: Mapped[dict[str, object]] = mapped_column(JSON)
    created_at: Mapped[datetime]


class DecisionRow(Base):
    """What a person decided about a document's entities. It holds until it is undone, whatever is run anew."""

    __tablename__ = "decisions"

    id: Mapped[BigId]
    document_id: Mapped[UUID] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    body: Mapped[dict[str, object]] = mapped_column(JSON)
    created_at: Mapped[datetime]
    undone_at: Mapped[datetime | None]


class EntitySetRow(Base):
    """A version of the few entities that windows are shown; a new one is written only where the set changes."""

    __tablename__ = "entity_sets"
    __table_args__ = (UniqueConstraint("scope", "version"),)

    id: Mapped[BigId]
    scope: Mapped[Hash]  # of the documents and the glossary's step that it is chosen from
    version: Mapped[int]
    body: Mapped[dict[str, object]] = mapped_column(JSON)
    created_at: Mapped[datetime]
