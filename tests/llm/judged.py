"""A pipeline whose contradictions a language model judges."""

from __future__ import annotations

JUDGED = """
name = "judged"
[grain]
limit = 200
[[step]]
name = "facts"
kind = "map"
op = "facts"
model = "extractive"
[[step]]
name = "conflicts"
kind = "merge"
op = "conflicts"
model = "judge"
"""
