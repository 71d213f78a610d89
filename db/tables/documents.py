"""Documents, their revisions and sections."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import JSON, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.base import BIG, Base, Big, BigId, Hash, Said


class DocumentRow(Base):
    """A container: one source with its revisions."""

    __tablename__ = "documents"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    uri: Mapped[str] = mapped_column(unique=True)
    title: Mapped[Said]
    media_type: Mapped[str]
    collection: Mapped[str]  # the unit of ownership: limits, usage and cost are counted by it
    current_revision_id: Mapped[int | None] = mapped_column(BIG)
    created_at: Mapped[datetime]


class RevisionRow(Base):
    """One immutable reading of a document."""

    __tablename__ = "revisions"
    __table_args__ = (
        UniqueConstraint("document_id", "number"),
        # A new path may be an old document's that was moved: asked by size first, for a size costs no reading.
        Index("ix_revisions_source_size", "source_size"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[BigId]
    document_id: Mapped[UUID] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"))
    number: Mapped[int | None]  # from 1; None while it is being built
    state: Mapped[str]
    source_sha256: Mapped[Hash]
    source_size: Mapped[Big]  # bytes
    source_mtime_ns: Mapped[int | None] = mapped_column(BIG)  # None for standard input
    text_sha256: Mapped[Hash]
    encoding: Mapped[str]
    reader: Mapped[str]
    reader_version: Mapped[int]
    options: Mapped[dict[str, object]] = mapped_column(JSON)  # what the caller decided about the reading
    title: Mapped[Said | None]  # the document's own
    char_count: Mapped[Big]
    line_count: Mapped[Big]
    layout: Mapped[bytes]  # ordered sections with start line and offset, compact (db.layout)
    line_endings: Mapped[bytes]  # the way back to the source's own offsets, compact (db.layout)
    warnings: Mapped[list[object]] = mapped_column(JSON)
    authors: Mapped[list[object] | None] = mapped_column(JSON)  # as the document states them
    language: Mapped[Said | None]
    places: Mapped[bytes | None]  # the way back to pages, paragraphs, elements (db.layout); None: lines lead back
    created_at: Mapped[datetime]


class SectionRow(Base):
    """A node of a document's own structure, shared by all revisions that have it. Its place is in the layout."""

    __tablename__ = "sections"
    __table_args__ = (UniqueConstraint("document_id", "digest"),)

    id: Mapped[BigId]
    document_id: Mapped[UUID] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"))
    digest: Mapped[Hash]  # of parent's digest, level, kind, title and occurrence: finds it again in the next revision
    parent_id: Mapped[int | None] = mapped_column(BIG)
    level: Mapped[int]
    kind: Mapped[str]
    title: Mapped[Said]
