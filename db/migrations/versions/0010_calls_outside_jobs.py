"""calls outside jobs, and how many an attempt made

Revision ID: 0010
Revises: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "direct_calls",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=True),
        sa.Column("calls", BIG, nullable=False),
        sa.Column("tokens_in", BIG, nullable=False),
        sa.Column("tokens_out", BIG, nullable=False),
        sa.Column("cost_micros", BIG, nullable=False),
        sa.Column("error_code", sa.String(), nullable=True),
        sa.Column("ended_ms", BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            name=op.f("fk_direct_calls_document_id_documents"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_direct_calls")),
    )

    op.add_column("attempts", sa.Column("calls", sa.Integer(), server_default="1", nullable=False))


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("attempts") as table:
        table.drop_column("calls")
    op.drop_table("direct_calls")
