"""Writes a closed class of words down readably."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of `text`, which stand between white space."""
    return frozenset(text.split())
