"""Outputs of merges: entries, most mentioned first, each with its places."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipeline.ops.builtin import FOLD
from pipeline.ops.values import Json
from pipeline.reduce import glossary
from workers.outputs.cite import Citer
from workers.outputs.job import View
from workers.planning.plan import JUDGEMENT, StepPlan
from workers.planning.questions import Answered, answers, rounds
from workers.planning.shards import judgement_of, shards_of

BATCH, BATCH_CITES = 200, 2000  # entries, and their citations, that are resolved together


def shards(view: View, plan: StepPlan) -> tuple[Sequence[Json], list[array[int]]]:
    """The values of a merge's shards, and each one's leaf ordinals."""
    level = view.level(plan.position, 1)
    return ([], []) if level is None else shards_of(view.rows, level)


def judgement(view: View, plan: StepPlan) -> Json | None:
    """The value of a merge's judgement, when it is made."""
    level = view.level(plan.position, JUDGEMENT)
    return None if level is None else judgement_of(view.rows, level)


def answered(view: View, plan: StepPlan) -> list[Answered]:
    """The questions of a merge that were answered, round by round."""
    return [item for level in rounds(view.steps, plan.position) for item in answers(view.rows, level)]


def folds(plan: StepPlan) -> bool:
    """Are traditional and simplified characters one to a merge?"""
    return bool(plan.params.get(FOLD))


def judged(view: View, plan: StepPlan, values: Sequence[Json]) -> Json | None:
    """The judgement of a glossary with what people decided about its documents over it."""
    resolved = judgement(view, plan)
    if resolved is None:
        return None
    resolved = glossary.joined(resolved, [(item.about, item.answer) for item in answered(view, plan)])
    found = view.rows.decisions.of([member.document.id for member in view.context.selection.members])
    decisions = [
        glossary.Decision(
            kind=glossary.DecisionKind(item.kind), name=str(item.body["name"]), other=str(item.body["other"])
        )
        for item in found
    ]
    if not decisions:
        return resolved
    counts = {(entry["key"], entry["kind"]): entry["count"] for value in values for entry in value["entries"]}
    return glossary.decided(resolved, decisions, counts, fold=folds(plan))


def entries(view: View, plan: StepPlan) -> Iterator[dict[str, Json]]:
    """Glossary entries: `{name, kind, count, aliases, citation_count, citations}`, most mentioned first.

    Where the book states that two names of an entry are one it has `stated` too: `[{alias, name, times, quote,
    citations}]`, with the sentence that says so first: for a mask, in the chapter where it falls; for names that are
    alike, the sentence by which they were `judged` (by `rule` or `model`) to be one.
    """
    values, leaves = shards(view, plan)
    resolved = judged(view, plan, values)
    if resolved is None:
        return
    quoted = _quoted(view, plan)
    citer = Citer(view.rows, view.context.selection, view.source(plan).id)
    for batch in _batches(view, glossary.entries(values, resolved)):
        places = [sorted((leaves[shard][part], item) for shard, part, item in entry.cites) for entry in batch]
        shown = [found[: view.citations] if view.citations else found for found in places]
        names = [{entry.name, *entry.aliases} for entry in batch]
        cited = iter(citer.named((*pair, of) for found, of in zip(shown, names, strict=True) for pair in found))
        for entry, found, some in zip(batch, places, shown, strict=True):
            row: dict[str, Json] = {
                "name": entry.name,
                "kind": entry.kind,
                "count": entry.count,
                "aliases": list(entry.aliases),
                "citation_count": len(found),
                "citations": [view.style(next(cited)) for _ in some],
            }
            stated = [_statement(view, citer, leaves, statement) for statement in entry.stated]
            stated += [_judgement(view, plan, citer, quoted, near) for near in entry.near]
            yield row | ({"stated": stated} if stated else {})


def _batches(view: View, entries: Iterable[glossary.Entry]) -> Iterator[list[glossary.Entry]]:
    """Consecutive entries with BATCH_CITES shown citations, or one that has more."""
    batch: list[glossary.Entry] = []
    held = 0
    for entry in entries:
        size = min(len(entry.cites), view.citations) if view.citations else len(entry.cites)
        if batch and (held + size > BATCH_CITES or len(batch) == BATCH):
            yield batch
            batch, held = [], 0
        batch.append(entry)
        held += size
    if batch:
        yield batch


def _statement(
    view: View, citer: Citer, leaves: Sequence[Sequence[int]], statement: glossary.Statement
) -> dict[str, Json]:
    place = min((leaves[shard][part], item) for shard, part, item in statement.cites)
    (cited,) = citer.cite([place])
    return {
        "alias": statement.alias,
        "name": statement.name,
        "times": len(statement.cites),
        "quote": citer.quoted(*place),
        "citations": [view.style(citation) for citation in cited],
    }


def _quoted(view: View, plan: StepPlan) -> dict[tuple[frozenset[str], str], Sequence[tuple[int, int]]]:
    """The places that were shown, by the two names that were asked about and the sentence that joined them."""
    return {
        (frozenset(item.about[which]["name"] for which in ("one", "two")), item.answer["quote"]): item.places
        for item in answered(view, plan)
        if item.answer["quote"]
    }


def _judgement(
    view: View,
    plan: StepPlan,
    citer: Citer,
    quoted: Mapping[tuple[frozenset[str], str], Sequence[tuple[int, int]]],
    near: tuple[str, str, str],
) -> dict[str, Json]:
    alias, name, quote = near
    leaves = [leaf for leaf, _ in quoted[frozenset((alias, name)), quote]]
    return {
        "alias": alias,
        "name": name,
        "times": 1,
        "quote": " ".join(quote.split()),
        "citations": [view.style(citation) for citation in citer.words(leaves, quote)],
        "judged": "model" if plan.model else "rule",
    }


def plain_entries(view: View, plan: StepPlan) -> Iterator[dict[str, Json]]:
    """Entries of a user's merge: `{key, count, value, citation_count, citations}`, most items first."""
    values, leaves = shards(view, plan)
    ranked = sorted(
        (-entry["count"], entry["key"], shard, at)
        for shard, value in enumerate(values)
        for at, entry in enumerate(value["entries"])
    )
    citer = Citer(view.rows, view.context.selection, view.source(plan).id)
    for ranks in glossary.held_runs([-count for count, *_ in ranked]):
        mine = ranked[ranks.start : ranks.stop]
        by_shard: dict[int, list[int]] = {}
        for _, _, shard, at in mine:
            by_shard.setdefault(shard, []).append(at)
        held: dict[tuple[int, int], Json] = {}
        for shard, wanted in by_shard.items():
            found = values[shard]["entries"]
            held |= {(shard, at): found[at] for at in wanted}
        for _, _, shard, at in mine:
            entry = held.pop((shard, at))
            places = [(leaves[shard][part], item) for part, item in entry["cites"]]
            shown = places[: view.citations] if view.citations else places
            yield {
                "key": entry["key"],
                "count": entry["count"],
                "value": entry["value"],
                "citation_count": len(places),
                "citations": [view.style(item) for cited in citer.cite(shown) for item in cited],
            }
