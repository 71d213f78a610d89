"""What the chunks of a step are shown beside themselves: made when a step is planned, and again when a task runs.

Neighbours follow from the selection, a summary from a fold of the same job that is complete. Entities are chosen from
a merge of the same job; the version that was chosen, and which of it a chunk mentions, stand in the chunk's task.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from db.database import Database, Repositories
from db.layout import pack, unpack
from db.values import Chunk, Step
from pipeline import canonical
from pipeline.ops.builtin import FOLD
from pipeline.ops.values import Json
from pipeline.reduce import glossary
from pipeline.reduce.foldtree import FoldTree, Ref
from pipeline.surroundings import Anchor, Surroundings, anchors, choose
from workers.planning.context import JobContext
from workers.planning.plan import QUESTIONS, StepPlan
from workers.planning.questions import answers
from workers.planning.selection import Place
from workers.planning.shards import shards_of


class Surrounder:
    """Makes the surroundings of the chunks of one map step. Asked in one transaction at a time."""

    def __init__(self, context: JobContext, plan: StepPlan) -> None:
        self._context = context
        self._plan = plan
        self._folded: tuple[FoldTree, dict[tuple[int, int], bytes]] | None = None
        self._sets: dict[int, list[Anchor]] = {}

    def of(self, rows: Repositories, refs: Mapping[int, bytes | None]) -> dict[int, Surroundings]:
        """By ordinal; `refs` are what the chunks' tasks hold about entities (`mentioned` makes it)."""
        near = self._plan.neighbours
        found = {ordinal: Surroundings() for ordinal in refs}
        if near is not None:
            texts = self._texts(rows, refs, near["before"] > 0, near["after"] > 0)
            for ordinal in refs:
                place = self._context.selection.locate(ordinal)
                found[ordinal] = Surroundings(
                    heading=_heading(place) if near["heading"] else "",
                    before=_tail(texts.get(ordinal - 1, ""), near["before"]) if _joined(self._context, ordinal) else "",
                    after=_head(texts.get(ordinal + 1, ""), near["after"])
                    if _joined(self._context, ordinal + 1)
                    else "",
                    summary=self._summary(rows, ordinal) if near["summary"] is not None else "",
                )
        if self._plan.overlap:
            for ordinal, text in self._overlaps(rows, refs).items():
                found[ordinal] = replace(found[ordinal], overlap=text)
        for ordinal, data in refs.items():
            if data:
                found[ordinal] = replace(found[ordinal], entities=self._entities(rows, data))
        return found

    def _overlaps(self, rows: Repositories, ordinals: Iterable[int]) -> dict[int, str]:
        """The text that the grain shows before each chunk that has some: of the chunk before, or of several."""
        selection = self._context.selection
        chunks: dict[int, Chunk] = {}

        def load(wanted: Iterable[int]) -> None:
            places = {at: selection.locate(at) for at in wanted if at not in chunks}
            made = rows.chunks.at([(place.page.page_id, place.within) for place in places.values()])
            chunks.update({at: made[place.page.page_id, place.within] for at, place in places.items()})

        load(ordinals)
        left = {at: chunks[at].lead for at in ordinals if chunks[at].lead}
        parts: dict[int, list[tuple[int, int]]] = {at: [] for at in left}  # (chunk, characters of its end)
        reach = 1
        while left:
            load([at - reach for at in left])
            for at, lead in list(left.items()):
                before = chunks[at - reach]
                taken = min(lead, before.end - before.start)
                parts[at].insert(0, (at - reach, taken))
                left[at] = lead - taken
                if not left[at]:
                    del left[at]
            reach += 1
        wanted = {chunks[one].content_sha256 for found in parts.values() for one, _ in found}
        texts = rows.contents.texts(list(wanted))
        return {
            at: "".join(texts[chunks[one].content_sha256][-taken:] for one, taken in found)
            for at, found in parts.items()
        }

    def _texts(self, rows: Repositories, ordinals: Iterable[int], before: bool, after: bool) -> dict[int, str]:
        """The texts of the neighbours."""
        wanted = {at - 1 for at in ordinals if before and at > 0}
        wanted |= {at + 1 for at in ordinals if after and at + 1 < self._context.selection.total}
        places = {at: self._context.selection.locate(at) for at in wanted}
        chunks = rows.chunks.at([(place.page.page_id, place.within) for place in places.values()])
        hashes = {at: chunks[place.page.page_id, place.within].content_sha256 for at, place in places.items()}
        texts = rows.contents.texts(list(set(hashes.values())))
        return {at: texts[sha] for at, sha in hashes.items()}

    def _entities(self, rows: Repositories, data: bytes) -> tuple[Anchor, ...]:
        set_id, *which = unpack(data, 1)[0]
        if set_id not in self._sets:
            self._sets[set_id] = anchors(rows.entity_sets.get(set_id))
        return tuple(self._sets[set_id][at] for at in which)

    def _summary(self, rows: Repositories, ordinal: int) -> str:
        """The sentences of the fold's output for the section that holds the chunk."""
        from workers.planning.folds import replay  # folds are planned with the help of this package's other modules

        context = self._context
        assert self._plan.neighbours is not None
        position = self._plan.neighbours["summary"]
        fold = context.plans[position]
        if self._folded is None:
            steps = rows.jobs.steps(context.job.id)
            levels = [step for step in steps if step.position == position]
            _, tree = replay(rows, context, fold, steps, levels=len(levels))
            source = next(step for step in steps if step.position == fold.source and step.level == 0)
            keys = {(0, at): key for at, key in rows.tasks.keys(source.id).items()}
            for step in levels:
                keys |= {(step.level, at): key for at, key in rows.tasks.keys(step.id).items()}
            self._folded = (tree, keys)
        tree, keys = self._folded
        place = context.selection.locate(ordinal)
        member = context.selection.members.index(place.member)
        number = context.forest.number.get((member, place.page.section))
        ref = None if number is None else tree.of_section(number)
        return "" if ref is None else _sentences(rows, keys, ref)


def _sentences(rows: Repositories, keys: Mapping[tuple[int, int], bytes], ref: Ref) -> str:
    key = keys[ref.level, ref.ordinal]
    output = canonical.loads(rows.results.outputs([key])[key])
    sentences = output.get("sentences", []) if isinstance(output, dict) else []
    return " ".join(sentence["text"] for sentence in sentences)


def _heading(place: Place) -> str:
    """The titles that lead to the chunk's section."""
    titles: list[str] = []
    sections = place.member.sections
    at: int | None = place.page.section
    while at is not None:
        section = sections[at]
        if section.title:
            titles.append(section.title)
        at = section.parent
    return " › ".join(reversed(titles))


def _joined(context: JobContext, ordinal: int) -> bool:
    """Does a chunk belong to the same document as the one before it?"""
    selection = context.selection
    if not 0 < ordinal < selection.total:
        return False
    return selection.locate(ordinal).member is selection.locate(ordinal - 1).member


def _tail(text: str, characters: int) -> str:
    return text.rstrip()[-characters:].lstrip() if characters else ""


def _head(text: str, characters: int) -> str:
    return text.lstrip()[:characters].rstrip()


def mentioned(database: Database, context: JobContext, plan: StepPlan) -> dict[int, bytes]:
    """Choose the entities of a step and store their version; gives what the tasks of mentioning chunks hold."""
    with database.read() as rows:
        ranked, where = _ranked(rows, context, plan)
    scope = _scope(context, plan)
    with database.write() as rows:
        chosen = _chosen(rows, scope, ranked, plan)
        set_id = rows.entity_sets.add(scope, {"entities": [anchor.as_json() for anchor in chosen]})
        stored = anchors(rows.entity_sets.get(set_id))
    by_leaf: dict[int, list[int]] = {}
    for number, anchor in enumerate(stored):
        for leaf in where.get((anchor.name, anchor.kind), ()):
            by_leaf.setdefault(leaf, []).append(number)
    return {leaf: pack([set_id, *numbers]) for leaf, numbers in by_leaf.items()}


def chosen_anew(rows: Repositories, context: JobContext, plan: StepPlan) -> bool:
    """Would other entities be chosen now from the same merge, as after a decision about them?"""
    step = _level(rows.jobs.steps(context.job.id), plan.position, 0)
    shown = next((unpack(data, 1)[0][0] for _, _, data, _ in rows.nodes.inputs(step.id) if data), None)
    ranked, _ = _ranked(rows, context, plan)
    chosen = _chosen(rows, _scope(context, plan), ranked, plan)
    return chosen != (anchors(rows.entity_sets.get(shown)) if shown is not None else [])


def _scope(context: JobContext, plan: StepPlan) -> bytes:
    """Whose versions follow each other: a step's over the same documents."""
    members = [str(member.document.id) for member in context.selection.members]
    return canonical.digest([members, context.job.pipeline, plan.name])


def _chosen(rows: Repositories, scope: bytes, ranked: Sequence[Anchor], plan: StepPlan) -> list[Anchor]:
    newest = rows.entity_sets.latest(scope)
    return choose(ranked, anchors(newest[1]) if newest else [], plan.entities_most)


def _ranked(
    rows: Repositories, context: JobContext, plan: StepPlan
) -> tuple[list[Anchor], dict[tuple[str, str], array[int]]]:
    """The entities of a merge by spread, then count; and the chunks that mention each."""
    assert plan.entities is not None
    merge = context.plans[plan.entities]
    steps = rows.jobs.steps(context.job.id)
    values, leaves = shards_of(rows, _level(steps, merge.position, 1))
    resolved = _judged(rows, context, steps, merge, values)
    found = list(glossary.entries(values, resolved))
    where = {
        (entry.name, entry.kind): array("q", sorted({leaves[shard][part] for shard, part, _ in entry.cites}))
        for entry in found
    }
    ranked = sorted(found, key=lambda entry: (-len(where[entry.name, entry.kind]), -entry.count, entry.name))
    return [Anchor(name=entry.name, kind=entry.kind, aliases=entry.aliases) for entry in ranked], where


def _level(steps: Sequence[Step], position: int, level: int) -> Step:
    return next(step for step in steps if step.position == position and step.level == level)


def _judged(
    rows: Repositories, context: JobContext, steps: Sequence[Step], merge: StepPlan, values: Sequence[Json]
) -> Any:
    keys = list(rows.tasks.keys(_level(steps, merge.position, 2).id).values())
    resolved = canonical.loads(rows.results.outputs(keys)[keys[0]])
    if merge.asks:
        said = answers(rows, _level(steps, merge.position, QUESTIONS))
        resolved = glossary.joined(resolved, [(item.about, item.answer) for item in said])
    stored = rows.decisions.of([member.document.id for member in context.selection.members])
    decisions = [
        glossary.Decision(
            kind=glossary.DecisionKind(item.kind), name=str(item.body["name"]), other=str(item.body["other"])
        )
        for item in stored
    ]
    counts = {(entry["key"], entry["kind"]): entry["count"] for value in values for entry in value["entries"]}
    return glossary.decided(resolved, decisions, counts, fold=bool(merge.params.get(FOLD)))
