"""what calls cost: caps of jobs, the cost of attempts

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("jobs", sa.Column("caps", sa.JSON(), server_default="{}", nullable=False))
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("attempts", sa.Column("cost_micros", big, server_default="0", nullable=False))


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.drop_column("cost_micros")
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_column("caps")
