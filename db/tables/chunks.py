"""Contents, grains, chunkings, pages and chunks."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.base import BIG, WITHOUT_ROWID, Base, Big, BigId, Hash


class ContentRow(Base):
    """A text by its SHA-256, as UTF-8 bytes. Stored once, however many revisions and documents hold it."""

    __tablename__ = "contents"

    sha256: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    text: Mapped[bytes]


class GrainRow(Base):
    """A declared chunking policy with the tokenizer that counts for it."""

    __tablename__ = "grains"

    id: Mapped[BigId]
    digest: Mapped[Hash] = mapped_column(unique=True)  # of the canonical policy
    policy: Mapped[dict[str, object]] = mapped_column(JSON)


class ChunkingRow(Base):
    """One document cut by one grain."""

    __tablename__ = "chunkings"
    __table_args__ = (UniqueConstraint("document_id", "grain_id"),)

    id: Mapped[BigId]
    document_id: Mapped[UUID] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"))
    grain_id: Mapped[int] = mapped_column(ForeignKey("grains.id"))


class PageRow(Base):
    """A bounded run of consecutive chunks of one section, shared by all revisions in which it did not change."""

    __tablename__ = "pages"
    __table_args__ = (Index("ix_pages_chunking_id_unit_sha256", "chunking_id", "unit_sha256"),)

    id: Mapped[BigId]
    chunking_id: Mapped[int] = mapped_column(ForeignKey("chunkings.id", ondelete="CASCADE"))
    unit_sha256: Mapped[Hash]  # of the unit's text and preferred cuts: an unchanged unit is not split again
    part: Mapped[int]  # a unit of more than 256 chunks has several pages
    parts: Mapped[int]
    chunk_count: Mapped[int]
    char_count: Mapped[int]
    line_count: Mapped[int]  # line feeds in it
    token_count: Mapped[int]


class ChunkRow(Base):
    """A span of text. Places are relative to its page."""

    __tablename__ = "chunks"
    __table_args__ = WITHOUT_ROWID

    page_id: Mapped[int] = mapped_column(ForeignKey("pages.id", ondelete="CASCADE"), primary_key=True)
    ordinal: Mapped[int] = mapped_column(primary_key=True)
    logical_id: Mapped[UUID] = mapped_column(index=True)
    content_sha256: Mapped[Hash] = mapped_column(index=True)
    start: Mapped[int]  # characters from the page's start
    end: Mapped[int]
    line: Mapped[int]  # line feeds between the page's start and the chunk's
    lead: Mapped[int]  # characters of overlap before the core
    lead_sha256: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    token_count: Mapped[int]
    over_limit: Mapped[bool]


class RevisionPagesRow(Base):
    """Where the pages of a chunking stand in a revision: ordered, with section, start offset and line, compact."""

    __tablename__ = "revision_pages"

    revision_id: Mapped[int] = mapped_column(BIG, ForeignKey("revisions.id", ondelete="CASCADE"), primary_key=True)
    chunking_id: Mapped[int] = mapped_column(BIG, ForeignKey("chunkings.id", ondelete="CASCADE"), primary_key=True)
    layout: Mapped[bytes]
    chunk_count: Mapped[Big]
    token_count: Mapped[Big]
    report: Mapped[dict[str, object]] = mapped_column(JSON)  # kept, edited, moved, added, removed
