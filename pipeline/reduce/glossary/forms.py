"""Traditional and simplified characters as one, by OpenCC's table of single characters (scripts/traditional_forms.py).

A key needs no phrases: 乾隆 and 干隆 only have to meet, nobody reads them. The table belongs to the versions of the ops
that use it, as their code does.
"""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def _table() -> dict[int, str]:
    text = (resources.files("pipeline.reduce.glossary") / "data" / "traditional.txt").read_text(encoding="utf-8")
    traditional, simplified = text.splitlines()
    return {ord(one): other for one, other in zip(traditional, simplified, strict=True)}


def simplified(text: str) -> str:
    """The text with each traditional character as the simplified one that it is most often written as."""
    return text.translate(_table())
