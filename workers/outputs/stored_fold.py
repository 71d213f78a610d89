"""A finished fold, read from its rows as far as it is looked at: a book of any length is opened at once.

While a fold is made, or where nodes of it failed, its tree is replayed (`workers.outputs.folds.open_fold`): only that
knows what stands for a section whose nodes are not all there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from db.layout import unpack
from db.values import Step
from pipeline import canonical
from pipeline.ops.values import Json
from pipeline.reduce.foldtree import Ref
from pipeline.states import JobState, TaskState
from workers.outputs.cite import Citer
from workers.outputs.job import View
from workers.planning.plan import StepPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredFold:
    """A finished fold without a hole in its nodes. Everything is asked of the database, many at once."""

    view: View
    source: Step
    levels: dict[int, Step]
    citer: Citer

    def output(self, ref: Ref) -> Json:
        """The output of a leaf or node."""
        key = self.keys_of([ref])[ref]
        return canonical.loads(self.view.rows.results.outputs([key])[key])

    def keys_of(self, refs: Iterable[Ref]) -> dict[Ref, bytes]:
        """The keys of leaves and nodes, of those that are done."""
        found: dict[Ref, bytes] = {}
        for level, ordinals in _by_level(refs).items():
            step = self.source if level == 0 else self.levels.get(level)
            keys = self.view.rows.tasks.keys(step.id, ordinals) if step else {}
            found.update((Ref(level, ordinal), key) for ordinal, key in keys.items())
        return found

    def children_of(self, refs: Iterable[Ref]) -> dict[Ref, list[Ref]]:
        """What nodes were made of, in reading order."""
        found: dict[Ref, list[Ref]] = {}
        for level, ordinals in _by_level(refs).items():
            step = self.levels.get(level)
            inputs = self.view.rows.nodes.inputs_of(step.id, ordinals) if step else {}
            found.update((Ref(level, ordinal), _refs(data)) for ordinal, data in inputs.items())
        return found

    def of_sections(self, numbers: Sequence[int]) -> dict[int, Ref | None]:
        """What stands for sections of the forest; None where all of one is holes.

        It is the last node about the section; one of a single output has no node, and passes that on.
        """
        forest = self.view.context.forest
        tops: dict[int, Ref] = {}
        order: list[int] = []  # sections without a node, each before those below it
        wanted = list(numbers)
        while wanted:
            found = self.view.rows.nodes.highest([step.id for step in self.levels.values()], wanted)
            tops |= {scope: Ref(*at) for scope, at in found.items()}
            bare = [number for number in wanted if number not in tops]
            order += bare
            wanted = [below for number in bare for below in forest.below[number]]
        leaves = self.keys_of(Ref(0, at) for number in order for at in forest.sections[number].leaves)
        settled: dict[int, Ref | None] = dict(tops)
        for number in reversed(order):
            own = [ref for at in forest.sections[number].leaves if (ref := Ref(0, at)) in leaves]
            passed = [top for below in forest.below[number] if (top := settled[below]) is not None]
            settled[number] = next(iter(own + passed), None)
        return {number: settled[number] for number in numbers}

    def parent_of(self, ref: Ref) -> Ref | None:
        """The node that a leaf or node went into; None for what stands for a whole document."""
        forest = self.view.context.forest
        scope: int | None = self._scope(ref)
        while scope is not None:
            for level in range(ref.level + 1, len(self.levels) + 1):
                found = self._holder(level, scope, ref)
                if found is not None:
                    return found
            scope = forest.sections[scope].parent
        return None

    def _holder(self, level: int, scope: int, ref: Ref) -> Ref | None:
        """The node of a level about a section that was made of a leaf or node: nodes are in reading order, as it is."""
        nodes, step = self.view.rows.nodes, self.levels[level].id
        low, high = nodes.span(step, scope) or (0, -1)
        while low <= high:
            middle = (low + high) // 2
            found = nodes.next_of(step, scope, middle)
            refs = _refs(found[1]) if found else []
            if found and ref in refs:
                return Ref(level, found[0])
            same = [other.ordinal for other in refs if other.level == ref.level]
            if found and refs and not same:  # made of others alone: nothing tells on which side it stands
                every = nodes.of_scope(step, scope)
                return next((Ref(level, ordinal) for ordinal, data in every if ref in _refs(data)), None)
            if found and same[0] < ref.ordinal:
                low = found[0] + 1
            else:
                high = middle - 1
        return None

    def _scope(self, ref: Ref) -> int | None:
        if ref.level:
            return self.view.rows.nodes.scope_at(self.levels[ref.level].id, ref.ordinal)
        selection = self.view.context.selection
        place = selection.locate(ref.ordinal)
        return self.view.context.forest.number[selection.members.index(place.member), place.page.section]


def _by_level(refs: Iterable[Ref]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for ref in dict.fromkeys(refs):
        found.setdefault(ref.level, []).append(ref.ordinal)
    return found


def _refs(data: bytes) -> list[Ref]:
    levels, ordinals = unpack(data, 2) if data else ([], [])
    return [Ref(*pair) for pair in zip(levels, ordinals, strict=True)]


def stored_fold(view: View, plan: StepPlan) -> StoredFold | None:
    """A fold that is finished and has no hole among its nodes; None: it is not so."""
    levels = {step.level: step for step in view.steps if step.position == plan.position}
    job = view.rows.jobs.get(view.context.job.id)
    if job is None or job.state not in (JobState.DONE, JobState.HOLES) or not levels:
        return None
    counts = view.rows.tasks.counts([step.id for step in levels.values()])
    if any(found.get(state) for found in counts.values() for state in TaskState if state is not TaskState.DONE):
        return None
    source = view.source(plan)
    return StoredFold(
        view=view, source=source, levels=levels, citer=Citer(view.rows, view.context.selection, source.id)
    )
