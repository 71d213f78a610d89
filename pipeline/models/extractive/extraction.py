"""The extract op: names and terms of one chunk, with the sums by which a merge judges them."""

from __future__ import annotations

from pipeline.models.extractive import names_han, names_kana, names_spaced, terms
from pipeline.models.extractive.masking import mask
from pipeline.models.extractive.mentions import as_output
from pipeline.models.extractive.scripts import Script, script_of
from pipeline.ops.values import OpOutput


def extract(text: str) -> OpOutput:
    """Names and terms of a chunk.

    Value: `{"items": [{"name", "kind", "count", "seen": {feature: sum}, "near": characters}, …]}`
    sorted by name and kind; `seen` and `near` are left out when empty. `kind` is person, place, organization, term or
    name (not known). Items are candidates: one chunk cannot tell every name from a sentence start or a fragment, so
    the sums in `seen` are added over the book and judged by `pipeline.reduce.glossary.resolve`.
    Spans: the first five mentions of each item.
    """
    masked = mask(text)
    script = script_of(masked)
    if script is Script.HAN:
        return as_output(names_han.find_names(masked))
    if script is Script.KANA:
        return as_output(names_kana.find_names(masked))
    found = names_spaced.find_names(masked)
    if terms.is_expository(masked):
        found += terms.find_terms(masked)
    return as_output(found)
