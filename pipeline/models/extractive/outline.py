"""The headline of a section: its one telling sentence and its key terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.models.extractive import names_han, names_spaced, ranking
from pipeline.models.extractive import words_han as han
from pipeline.models.extractive.mentions import Mentions
from pipeline.models.extractive.scripts import Script, script_of
from pipeline.models.extractive.summary import fold_summary
from pipeline.ops.values import Json, OpOutput


def headline(children: Sequence[Json], *, terms: int = 5) -> OpOutput:
    """What a section is about, from summaries of its parts (of `summarize` or of `fold_summary`).

    Value: `{"sentences": [{"text", "weight", "from": [child, item]}], "terms": [term, …]}`: at most one sentence, and
    at most `terms` names and words of the summaries, those said in most sentences first.
    """
    value = fold_summary(children, sentences=1).value
    texts = [item["text"] for child in children for item in child["sentences"]]
    return OpOutput(value={**value, "terms": key_terms(texts, terms)})


def key_terms(texts: Sequence[str], wanted: int) -> list[str]:
    """Names first, then (where words are spaced) content words, that stand in most of the texts."""
    script = script_of(" ".join(texts))
    if script is Script.HAN:
        found = (one for one in names_han.find_names("\n".join(texts)) if one.count > 1 and _stands_alone(one))
        return [one.name for one in sorted(found, key=lambda one: (-one.count, len(one.name), one.name))][:wanted]
    if script is Script.KANA:
        return []
    names = [one for one in names_spaced.settled(names_spaced.find_names("\n\n".join(texts))) if one.seen.get("mid")]
    ordered = [one.name for one in sorted(names, key=lambda one: (-one.count, one.name))]
    taken = {word for name in ordered for word in name.lower().split()}
    words = Counter(unit for text in texts for unit in ranking.content(text, script) - taken)
    common = sorted((word for word, count in words.items() if count > 1), key=lambda word: (-words[word], word))
    return (ordered + common)[:wanted]


def _stands_alone(one: Mentions) -> bool:
    """Bounded on both sides at least once; and an actor, when it begins as numbers and adverbs do (三万, 次日)."""
    acts = one.seen.get("act", 0) + one.seen.get("with", 0) + one.seen.get("speech", 0)
    return one.seen["both"] > 0 and (acts > 0 or one.name[0] not in han.SELDOM_FIRST)
