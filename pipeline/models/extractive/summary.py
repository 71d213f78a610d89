"""The summarize op and the fold of its outputs: sentences of the book itself, in reading order."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.models.extractive import ranking
from pipeline.models.extractive.leads import lead_units
from pipeline.models.extractive.masking import mask
from pipeline.models.extractive.priors import prior
from pipeline.models.extractive.scripts import Script, script_of
from pipeline.models.extractive.segment import Sentence
from pipeline.models.extractive.segment import sentences as sentences_of
from pipeline.ops.values import Json, OpOutput, Span

_NEARBY = 60  # items before and after that a formula is looked for in
_BATCH = 400  # sentences ranked at once: a chunk has some forty; this bounds the time for freak input


def summarize(text: str, *, sentences: int = 5) -> OpOutput:
    """The sentences of a chunk that say the most.

    Value: `{"sentences": [{"text", "weight"}, …]}` in reading order, at most `sentences` of them; `text` has its white
    space collapsed. Spans: one an item, the sentence's exact place. A text without one whole sentence gives none.
    """
    masked = mask(text)
    script = script_of(masked)
    found = sentences_of(text, masked, script) or sentences_of(text, masked, script, verse=True)
    best: list[tuple[Sentence, int]] = []
    for first in range(0, len(found), _BATCH):
        best += _ranked(found[first : first + _BATCH], script, sentences)
    best.sort(key=lambda pair: (-pair[1], pair[0].start))
    best = sorted(best[:sentences], key=lambda pair: pair[0].start)
    return OpOutput(
        value={"sentences": [{"text": sentence.text, "weight": weight} for sentence, weight in best]},
        spans=tuple(Span(item=i, start=sentence.start, end=sentence.end) for i, (sentence, _) in enumerate(best)),
    )


def _ranked(found: Sequence[Sentence], script: Script, wanted: int) -> list[tuple[Sentence, int]]:
    contents = [ranking.content(sentence.text, script) for sentence in found]
    priors = [prior(sentence, script) for sentence in found]
    # A sentence that is said again and again in other words is a formula: it tells little.
    # A full batch is no chunk of a book, and comparing would take long.
    again = ranking.repeats(contents, _NEARBY) if len(found) < _BATCH else [0] * len(found)
    priors = [fit // (1 + times) for fit, times in zip(priors, again, strict=True)]
    chosen = ranking.pick(contents, priors, ranking.worth(contents), wanted)
    return [(found[index], weight) for index, weight in chosen if weight > 0]


def fold_summary(children: Sequence[Json], *, sentences: int) -> OpOutput:
    """The sentences that together tell the most of several summaries (of `summarize` or of `fold_summary`).

    `children` are in reading order. Value: `{"sentences": [{"text", "weight", "from": [child, item]}, …]}` in reading
    order, at most `sentences`. The children are dealt into as many runs as sentences are wanted and each run gives its
    best one, so that the beginning, the middle and the end are all told; what is still missing is then chosen freely.
    """
    items = [
        (child, index, item) for child, value in enumerate(children) for index, item in enumerate(value["sentences"])
    ]
    script = script_of(" ".join(item["text"] for _, _, item in items[:200]))
    contents = [ranking.content(item["text"], script) for _, _, item in items]
    worths = ranking.worth(contents)
    for unit in lead_units([item["text"] for _, _, item in items], script) & worths.keys():
        worths[unit] = worths[unit] * 3 // 2
    again = ranking.repeats(contents, _NEARBY)
    weights = [int(item["weight"]) // (1 + times) for (_, _, item), times in zip(items, again, strict=True)]
    chosen: dict[int, int] = {}
    told: set[str] = set()
    for run in _runs(items, len(children), sentences):
        _take_best(run, contents, weights, worths, told, chosen)
    while len(chosen) < sentences and _take_best(range(len(items)), contents, weights, worths, told, chosen):
        pass
    value = [
        {"text": items[index][2]["text"], "weight": chosen[index], "from": [items[index][0], items[index][1]]}
        for index in sorted(chosen)
    ]
    return OpOutput(value={"sentences": value})


def _runs(items: Sequence[tuple[int, int, Json]], children: int, wanted: int) -> list[list[int]]:
    """Indexes of the items, dealt by child into `wanted` runs (fewer when there are fewer children)."""
    runs: list[list[int]] = [[] for _ in range(max(1, min(wanted, children)))] if wanted > 0 else []
    if runs:
        for index, (child, _, _) in enumerate(items):
            runs[child * len(runs) // children].append(index)
    return runs


def _take_best(
    run: Sequence[int],
    contents: Sequence[frozenset[str]],
    weights: Sequence[int],
    worths: dict[str, int],
    told: set[str],
    chosen: dict[int, int],
) -> bool:
    """Choose the item of `run` that adds the most; False when none is left that is not told already."""

    def added(index: int) -> tuple[int, int]:
        return ranking.gain(contents[index], worths, told) * (weights[index] + 20), -index

    left = [
        index
        for index in run
        if index not in chosen and not any(ranking.alike(contents[index], contents[other]) for other in chosen)
    ]
    if not left:
        return False
    best = max(left, key=added)
    chosen[best] = weights[best]
    told |= contents[best]
    return True
