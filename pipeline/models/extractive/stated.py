"""Aliases that a chunk states, as items of an output: `{"name", "alias", "quote"}` with the place of the sentence."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from pipeline.models.extractive.scripts import Script
from pipeline.models.extractive.segment import Sentence, sentences
from pipeline.ops.values import Json
from pipeline.reduce.aliases import stated_aliases

# Most chunks state none, and looking for the sentences costs far more than looking for these.
_HINT = re.compile(
    r"\b(?:called|named|nicknamed|dubbed|styled|surnamed|known|by\s+the\s+name|none\s+other|really|in\s+truth)\b"
    r"|[\"”’']\s(?:was|is|were|had)\b|[叫作做为為称稱号號名是][“「『‘]|[”」』’](?:[就正便乃即]是|原[是来來])|[，,]表?字"
)


def aliases_of(
    sentence: Sentence, masked: str, script: Script, known: Container[str]
) -> Iterator[tuple[Json, int, int]]:
    """(item, start, end) of what one sentence states. `known` are the names that the chunk is thought to hold."""
    part = masked[sentence.start : sentence.end]
    for alias in stated_aliases(part) if _HINT.search(part) else ():
        if script is Script.HAN and not alias.given and alias.name not in known:
            continue  # Chinese marks no names: what stands before the words that say so may be anything
        yield {"name": alias.name, "alias": alias.alias, "quote": sentence.text}, sentence.start, sentence.end


def aliases_in(text: str, masked: str, script: Script, known: Container[str]) -> list[tuple[Json, int, int]]:
    """The same for a whole chunk, in the order of their places."""
    if script is Script.KANA or not _HINT.search(masked):
        return []
    every = sentences(text, masked, script)
    return [found for sentence in every for found in aliases_of(sentence, masked, script, known)]
