"""what workers know

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("processes", sa.Column("ops", sa.String(), server_default="", nullable=False))


def downgrade() -> None:
    """Take back."""
    op.drop_column("processes", "ops")
