"""Contradictions and stated aliases, each with its quotes and places."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.ops.values import Json
from pipeline.reduce import conflicts
from workers.outputs.cite import Citer
from workers.outputs.job import View
from workers.outputs.merges import answered, judgement, shards
from workers.planning.plan import StepPlan

_UNJUDGED: dict[str, Json] = {"verdict": None, "why": None}


def contradictions(view: View, plan: StepPlan) -> dict[str, Json]:
    """`{conflicts: [{subject, attribute, first: {subject, value, quote, citations}, second: {…}}], aliases: [{name,
    alias, stated, quote, citations}]}`: conflicts by the place of the first side; aliases by name, each with the
    sentence that says so first: for a mask, the chapter in which it falls.

    Where a model judged them, a conflict has its `verdict` and `why` (both null for one that it was not asked, or did
    not answer), and what it took for none is in `dismissed`, in the same form. After a change that was judged to be one
    the new value holds."""
    values, leaves = shards(view, plan)
    resolved = judgement(view, plan) or {"links": []}
    links = {alias: root for alias, root, _ in resolved["links"]}
    found = conflicts.gather(values, leaves, links)
    verdicts = {item.places: item.answer for item in answered(view, plan)}
    citer = Citer(view.rows, view.context.selection, view.source(plan).id)
    standing: list[dict[str, Json]] = []
    dismissed: list[dict[str, Json]] = []
    for conflict in conflicts.detect(found.facts, conflicts.changes(verdicts.items())):
        sides = [found.told[fact.ref] for fact in (conflict.first, conflict.second)]
        row: dict[str, Json] = {
            "subject": found.name(conflict.first),
            "attribute": conflict.first.attribute,
            "first": _side(view, citer, sides[0]),
            "second": _side(view, citer, sides[1]),
        }
        if plan.asks:
            judged = verdicts.get(tuple((side.leaf, side.item) for side in sides), _UNJUDGED)
            row |= {"verdict": judged["verdict"], "why": judged["why"]}
        (standing if row.get("verdict") in (None, conflicts.CONFLICT) else dismissed).append(row)
    output: dict[str, Json] = {"conflicts": standing, "aliases": _aliases(view, citer, values, leaves, links)}
    return output | ({"dismissed": dismissed} if plan.asks else {})


def _side(view: View, citer: Citer, told: conflicts.Told) -> dict[str, Json]:
    (cited,) = citer.cite([(told.leaf, told.item)])
    quote = citer.quoted(told.leaf, told.item)
    return {
        "subject": told.subject,
        "value": told.value,
        "quote": quote,
        "citations": [view.style(citation) for citation in cited],
    }


def _aliases(
    view: View, citer: Citer, values: Sequence[Json], leaves: Sequence[Sequence[int]], links: dict[str, str]
) -> list[dict[str, Json]]:
    """The aliases that hold, with the first sentence that states each."""
    first: dict[str, tuple[tuple[int, int], Json, int]] = {}
    for shard, value in enumerate(values):
        for entry in value["aliases"]:
            if entry["key"] not in links:
                continue
            place = min((leaves[shard][part], item) for part, item in entry["cites"])
            before = first.get(entry["key"])
            count = len(entry["cites"]) + (before[2] if before else 0)
            first[entry["key"]] = (place, entry, count) if before is None or place < before[0] else (*before[:2], count)
    found = []
    for place, entry, count in sorted(first.values(), key=lambda item: (item[1]["name"], item[1]["alias"])):
        (cited,) = citer.cite([place])
        found.append(
            {
                "name": entry["name"],
                "alias": entry["alias"],
                "stated": count,
                "quote": citer.quoted(*place),
                "citations": [view.style(citation) for citation in cited],
            }
        )
    return found
