"""The version of the extractive model."""

from __future__ import annotations

EXTRACTIVE_VERSION = 4
"""Changes whenever any output of the model can change; golden outputs in the tests pin each version."""
