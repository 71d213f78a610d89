"""places of derived texts, authors and language

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("revisions") as table:
        table.add_column(sa.Column("authors", sa.JSON(), nullable=True))
        table.add_column(sa.Column("language", sa.String(), nullable=True))
        table.add_column(sa.Column("places", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("revisions") as table:
        table.drop_column("places")
        table.drop_column("language")
        table.drop_column("authors")
