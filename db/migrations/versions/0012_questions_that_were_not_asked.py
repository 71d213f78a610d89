"""questions that a merge found and did not ask

Revision ID: 0012
Revises: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.add_column("steps", sa.Column("unasked", BIG, server_default="0", nullable=False))


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("steps") as table:
        table.drop_column("unasked")
