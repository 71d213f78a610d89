"""Candidates for names in Japanese: runs of katakana, and of kanji between kana."""

from __future__ import annotations

import re

from pipeline.models.extractive import words_kana as ja
from pipeline.models.extractive.mentions import Mentions
from pipeline.models.extractive.scripts import HAN

_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]{2,20}(?:[・＝][\u30a1-\u30fa\u30fc]{2,20}){0,3}")
_KANJI = re.compile(f"[{HAN}]{{2,4}}")
_ANY = re.compile(f"[{HAN}]")


def find_names(masked: str) -> list[Mentions]:
    """Candidates of a chunk (as `masking.mask` gave it), with the particles and honorifics that follow them."""
    found: dict[str, Mentions] = {}
    for match in (*_KATAKANA.finditer(masked), *_KANJI.finditer(masked)):
        name, start, end = match.group(), match.start(), match.end()
        if _ANY.match(masked, end):
            continue  # a longer compound
        honoured = next((mark for mark in ja.HONORIFICS if name.endswith(mark) and len(name) > len(mark) + 1), "")
        name, end = (name[: -len(honoured)], end - len(honoured)) if honoured else (name, end)
        if name in ja.STOP_WORDS:
            continue
        mentions = found.setdefault(name, Mentions(name=name))
        mentions.at(start, end)
        person = bool(honoured) or masked.startswith(ja.HONORIFICS, end)
        mentions.seen.setdefault("particle", 0)  # its presence tells what kind of candidate this is
        mentions.note("person", int(person))
        mentions.note("particle", int(person or masked[end : end + 1] in ja.PARTICLES_AFTER))
        mentions.note("kana", int(not _ANY.match(name)))
    for mentions in found.values():
        mentions.kind = "person" if mentions.seen.get("person") else "name"
    return list(found.values())
