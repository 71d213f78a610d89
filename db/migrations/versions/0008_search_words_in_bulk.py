"""the search index takes words in bulk

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    if op.get_bind().dialect.name == "postgresql":
        # Row by row into the tree was seven times slower; whoever fills the index empties the pending list at the end.
        op.execute("ALTER INDEX ix_search_words_tokens SET (fastupdate = on, gin_pending_list_limit = 65536)")


def downgrade() -> None:
    """Take back."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER INDEX ix_search_words_tokens SET (fastupdate = off)")
        op.execute("ALTER INDEX ix_search_words_tokens RESET (gin_pending_list_limit)")
