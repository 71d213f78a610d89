"""search index, traces, decisions, entity sets

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "search_chunkings",
        sa.Column("chunking_id", _BIG, autoincrement=False, nullable=False),
        sa.Column("revision_id", _BIG, nullable=False),
        sa.Column("chunk_count", _BIG, nullable=False),
        sa.Column("term_count", _BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["chunking_id"],
            ["chunkings.id"],
            name=op.f("fk_search_chunkings_chunking_id_chunkings"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("chunking_id", name=op.f("pk_search_chunkings")),
    )
    op.create_table(
        "search_chunks",
        sa.Column("id", _BIG, autoincrement=False, nullable=False),
        sa.Column("chunking_id", _BIG, nullable=False),
        sa.Column("page_id", _BIG, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("content_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("term_count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["page_id"], ["pages.id"], name=op.f("fk_search_chunks_page_id_pages"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search_chunks")),
    )
    op.create_index(op.f("ix_search_chunks_page_id"), "search_chunks", ["page_id"])
    op.create_table(
        "traces",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_traces")),
    )
    op.create_table(
        "decisions",
        sa.Column("id", _BIG, autoincrement=True, nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("undone_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_decisions_document_id_documents"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decisions")),
    )
    op.create_index(op.f("ix_decisions_document_id"), "decisions", ["document_id"])
    op.create_table(
        "entity_sets",
        sa.Column("id", _BIG, autoincrement=True, nullable=False),
        sa.Column("scope", sa.LargeBinary(length=32), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entity_sets")),
        sa.UniqueConstraint("scope", "version", name=op.f("uq_entity_sets_scope_version")),
    )
    _make_words()


def _make_words() -> None:
    """The inverted index: words come analysed, so neither database is to take them apart any further."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE TABLE search_words (id BIGINT PRIMARY KEY, tokens TSVECTOR NOT NULL)")
        # What is added goes straight into the tree: a pending list would be searched through by every query.
        op.execute("CREATE INDEX ix_search_words_tokens ON search_words USING gin (tokens) WITH (fastupdate = off)")
    else:
        op.execute("CREATE VIRTUAL TABLE search_words USING fts5(tokens, content='', detail=none, tokenize='ascii')")


def downgrade() -> None:
    """Take back."""
    op.execute("DROP TABLE search_words")
    for table in ("entity_sets", "decisions", "traces", "search_chunks", "search_chunkings"):
        op.drop_table(table)
