"""views

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "views",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("pipeline", sa.String(), nullable=False),
        sa.Column("selectors", sa.JSON(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("served_job_id", sa.Uuid(), nullable=True),
        sa.Column("refresh", sa.Integer(), nullable=False),
        sa.Column("trouble", sa.String(), nullable=True),
        sa.Column("swept_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_views")),
        sa.UniqueConstraint("name", name=op.f("uq_views_name")),
    )
    op.create_table(
        "schedules",
        sa.Column("view_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("every_s", sa.Integer(), nullable=False),
        sa.Column("next_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["view_id"], ["views.id"], name=op.f("fk_schedules_view_id_views"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("view_id", name=op.f("pk_schedules")),
    )
    op.create_table(
        "view_documents",
        sa.Column("view_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_view_documents_document_id_documents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["view_id"], ["views.id"], name=op.f("fk_view_documents_view_id_views"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("view_id", "ordinal", name=op.f("pk_view_documents")),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("view_documents", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_view_documents_document_id"), ["document_id"], unique=False)

    op.create_table(
        "view_nodes",
        sa.Column("view_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("place", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("within", sa.Integer(), nullable=False),
        sa.Column("key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("since", sa.Integer(), nullable=False),
        sa.Column("until", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["view_id"], ["views.id"], name=op.f("fk_view_nodes_view_id_views"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint(
            "view_id", "position", "level", "place", "within", "key", "since", name=op.f("pk_view_nodes")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "view_refreshes",
        sa.Column("view_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_view_refreshes_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["view_id"], ["views.id"], name=op.f("fk_view_refreshes_view_id_views"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("view_id", "job_id", name=op.f("pk_view_refreshes")),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("view_refreshes", schema=None) as batch_op:
        batch_op.create_index("ix_view_refreshes_job_id", ["job_id"], unique=False)

    with op.batch_alter_table("revisions", schema=None) as batch_op:
        batch_op.create_index("ix_revisions_source_size", ["source_size"], unique=False)


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("revisions", schema=None) as batch_op:
        batch_op.drop_index("ix_revisions_source_size")

    with op.batch_alter_table("view_refreshes", schema=None) as batch_op:
        batch_op.drop_index("ix_view_refreshes_job_id")

    op.drop_table("view_refreshes")
    op.drop_table("view_nodes")
    with op.batch_alter_table("view_documents", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_view_documents_document_id"))

    op.drop_table("view_documents")
    op.drop_table("schedules")
    op.drop_table("views")
