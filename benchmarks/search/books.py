"""Books for the index: paragraphs of real books in an order of chance, so that words are as frequent as they are."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

BOOK_CHARS = 4_000_000
ENGLISH = ("en/war-and-peace_pg2600-8_latin1.txt", "en/moby-dick_1991-etext_crlf.txt", "en/bible-kjv.txt")
CHINESE = ("zh/三国演义.txt", "zh/西游记.txt")
_SENTENCE = re.compile(r"[^。！？.!?\n]{4,300}[。！？.!?]?")


def sentences(corpus: Path, names: Sequence[str]) -> list[str]:
    """The sentences of books."""
    found: list[str] = []
    for name in names:
        raw = (corpus / name).read_bytes()
        text = raw.decode("latin-1" if "latin1" in name else "utf-8")
        found += [part.strip() for part in _SENTENCE.findall(text) if part.strip()]
    return found


def books(corpus: Path, chars: int, chinese: bool, seed: int) -> Iterator[str]:
    """Books of about four million characters, `chars` in all, each sentence drawn by chance, chapter by chapter.

    A chapter draws from a stretch of one book, so that its names come together, as they do in books.
    """
    pool = sentences(corpus, CHINESE if chinese else ENGLISH)
    chance = random.Random(seed)
    left = chars
    number = 0
    while left > 0:
        parts: list[str] = []
        size = 0
        while size < min(BOOK_CHARS, left):
            number += 1
            at = chance.randrange(len(pool))
            near = pool[at : at + 200] or pool[:200]
            chapter = [chance.choice(near) for _ in range(60)]
            text = "".join(chapter) if chinese else " ".join(chapter)
            parts.append(f"{f'第{number}章' if chinese else f'Chapter {number}'}\n\n{text}\n\n")
            size += len(parts[-1])
        left -= size
        yield "".join(parts)
