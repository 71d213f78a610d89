"""Ops of one's own: the longest words of each chunk, and how often the book has each of them.

octavo run BOOK --ops words --pipeline words.toml     (in the folder of this file)
"""

import re

from octavo import OpOutput, Span, map_op, reduce_op


@map_op()
def long_words(text: str, letters: int = 12) -> OpOutput:
    """Words of at least so many letters. Each item's span says where it stands, so that it can be cited."""
    found = list(re.finditer(rf"[^\W\d_]{{{letters},}}", text))
    return OpOutput(
        value=[{"word": match[0].lower()} for match in found],
        spans=tuple(Span(item=number, start=match.start(), end=match.end()) for number, match in enumerate(found)),
    )


@reduce_op(key=lambda item: item["word"])
def count_words(items: list[dict[str, str]]) -> int:
    """How many items there are of one word: items with the same key come together, in reading order."""
    return len(items)


@map_op()
def length(text: str) -> dict[str, int]:
    """Characters and lines of a chunk."""
    return {"characters": len(text), "lines": text.count("\n")}


@reduce_op()
def add_up(children: list[dict[str, int]]) -> dict[str, int]:
    """The sum over a section, then over the book: the outputs of the parts come in reading order."""
    return {name: sum(child[name] for child in children) for name in children[0]}
