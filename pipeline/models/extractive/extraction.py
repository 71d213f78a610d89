"""The extract op: names and terms of one chunk, with the sums by which a merge judges them."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.models.extractive import names_han, names_kana, names_spaced, terms
from pipeline.models.extractive.masking import mask
from pipeline.models.extractive.mentions import Mentions, as_output
from pipeline.models.extractive.scripts import Script, script_of
from pipeline.models.extractive.stated import aliases_in
from pipeline.ops.values import OpOutput, Span

_WINDOW = 16_000  # characters looked at together: a chunk fits, and a freak input takes linear time


def extract(text: str) -> OpOutput:
    """Names and terms of a chunk.

    Value: `{"items": [{"name", "kind", "count", "seen": {feature: sum}, "near": characters}, …]}` sorted by name and
    kind; `seen` and `near` are left out when empty. `kind` is person, place, organization, term or name (not known).
    Items are candidates: one chunk cannot tell every name from a sentence start or a fragment, so the sums in `seen`
    are added over the book and judged by `pipeline.reduce.glossary.resolve`. Spans: the first five mentions of each.
    Where sentences say that a name has another, `"aliases": [{"name", "alias", "quote"}, …]` follows, in the order of
    their places and numbered on after the items.
    """
    masked = mask(text)
    script = script_of(masked)
    found: dict[tuple[str, str], Mentions] = {}
    for start, end in _windows(masked):
        for mentions in _find(masked[start:end], script):
            mentions.places = [(start + a, start + b) for a, b in mentions.places]
            key = (mentions.name, mentions.kind)
            if key in found:
                found[key].join(mentions)
            else:
                found[key] = mentions
    output = as_output(found.values())
    stated = aliases_in(text, masked, script, {mentions.name for mentions in found.values()})
    if not stated:
        return output
    count = len(output.value["items"])
    spans = [Span(item=count + at, start=start, end=end) for at, (_, start, end) in enumerate(stated)]
    return OpOutput(value=output.value | {"aliases": [item for item, _, _ in stated]}, spans=(*output.spans, *spans))


def _windows(masked: str) -> Iterator[tuple[int, int]]:
    """Spans that cover the text, cut at a space or a full stop where there is one."""
    start = 0
    while len(masked) - start > _WINDOW:
        limit = start + _WINDOW
        cut = max(masked.rfind(mark, start + _WINDOW // 2, limit) for mark in ("\n", " ", "。")) + 1
        end = cut if cut > start else limit
        yield start, end
        start = end
    yield start, len(masked)


def _find(masked: str, script: Script) -> list[Mentions]:
    if script is Script.HAN:
        return names_han.find_names(masked)
    if script is Script.KANA:
        return names_kana.find_names(masked)
    found = names_spaced.find_names(masked)
    return found + terms.find_terms(masked) if terms.is_expository(masked) else found
