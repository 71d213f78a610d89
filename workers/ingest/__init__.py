"""Ingest: sources in, revisions with their chunks out."""
