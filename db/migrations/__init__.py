"""Alembic migrations. They import no live models: each says what it does in its own words."""
