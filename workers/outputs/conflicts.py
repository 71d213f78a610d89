"""Contradictions and stated aliases, each with its quotes and places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.ops.values import Json
from pipeline.reduce import conflicts
from workers.outputs.cite import Citer
from workers.outputs.job import View
from workers.outputs.merges import judgement, shards
from workers.planning.plan import StepPlan


@dataclass(frozen=True, slots=True)
class _Told:
    """A fact as it was said: its subject and value in the book's own words, and where."""

    subject: str
    value: str
    leaf: int
    item: int


def contradictions(view: View, plan: StepPlan) -> dict[str, Json]:
    """`{conflicts: [{subject, attribute, first: {subject, value, quote, citations}, second: {…}}], aliases: [{name,
    alias, stated, quote, citations}]}`: conflicts by the place of the first side; aliases by name, each with the
    sentence that says so first: for a mask, the chapter in which it falls."""
    values, leaves = shards(view, plan)
    resolved = judgement(view, plan) or {"links": []}
    links = {alias: root for alias, root, _ in resolved["links"]}
    told: list[_Told] = []
    facts: list[conflicts.Fact] = []
    names: dict[str, dict[str, int]] = {}
    for shard, value in enumerate(values):
        for entry in value["facts"]:
            subject = links.get(entry["key"], entry["key"])
            if subject == entry["key"]:
                by_name = names.setdefault(subject, {})
                by_name[entry["subject"]] = by_name.get(entry["subject"], 0) + len(entry["cites"])
            for part, item, change, past in entry["cites"]:
                leaf = leaves[shard][part]
                said = links.get(entry["value_key"], entry["value_key"])
                facts.append(
                    conflicts.Fact(
                        subject=subject,
                        attribute=entry["attribute"],
                        value=said,
                        order=(leaf, item),
                        change=change,
                        past=past,
                        ref=len(told),
                    )
                )
                told.append(_Told(entry["subject"], entry["value"], leaf, item))
    citer = Citer(view.rows, view.context.selection, view.source(plan).id)
    found = [
        {
            "subject": _name(names, conflict.first.subject, told[conflict.first.ref].subject),
            "attribute": conflict.first.attribute,
            "first": _side(view, citer, told[conflict.first.ref]),
            "second": _side(view, citer, told[conflict.second.ref]),
        }
        for conflict in conflicts.detect(facts)
    ]
    return {"conflicts": found, "aliases": _aliases(view, citer, values, leaves, links)}


def _name(names: dict[str, dict[str, int]], key: str, otherwise: str) -> str:
    forms = names.get(key)
    return min(forms, key=lambda form: (-forms[form], form)) if forms else otherwise


def _side(view: View, citer: Citer, told: _Told) -> dict[str, Json]:
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
