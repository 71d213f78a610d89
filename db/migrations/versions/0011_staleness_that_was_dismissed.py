"""staleness that was dismissed

Revision ID: 0011
Revises: 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "dismissals",
        sa.Column("view_id", BIG, nullable=False),
        sa.Column("uri", sa.String(), nullable=False),
        sa.Column("stamp", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("made_by", sa.String(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["view_id"], ["views.id"], name=op.f("fk_dismissals_view_id_views"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("view_id", "uri", name=op.f("pk_dismissals")),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("dismissals")
