"""Outputs of folds: summaries and outlines, every sentence traced to its lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from db.layout import unpack
from pipeline import canonical
from pipeline.ops.values import Json
from pipeline.read.reading import Section
from pipeline.reduce.foldtree import FoldTree, Ref
from pipeline.states import TASK_HOLES
from workers.outputs.cite import Citation, Citer
from workers.outputs.job import View
from workers.planning.folds import replay
from workers.planning.forest import Forest
from workers.planning.plan import StepPlan
from workers.planning.selection import Member


@dataclass(frozen=True, kw_only=True, slots=True)
class Folded:
    """A finished fold: the tree, its nodes' outputs and children, and a citer for its leaves."""

    view: View
    forest: Forest
    tree: FoldTree
    keys: dict[int, dict[int, bytes]]  # by level and ordinal
    children: dict[tuple[int, int], list[Ref]]
    citer: Citer

    def output(self, ref: Ref) -> Json:
        """The output of a leaf or node."""
        key = self.keys[ref.level][ref.ordinal]
        return canonical.loads(self.view.rows.results.outputs([key])[key])

    def keys_of(self, refs: Iterable[Ref]) -> dict[Ref, bytes]:
        """The keys of leaves and nodes, of those that are done."""
        return {ref: self.keys[ref.level][ref.ordinal] for ref in refs if ref.ordinal in self.keys.get(ref.level, {})}

    def children_of(self, refs: Iterable[Ref]) -> dict[Ref, list[Ref]]:
        """What nodes were made of, in reading order."""
        at = self.children
        return {ref: at[ref.level, ref.ordinal] for ref in refs if (ref.level, ref.ordinal) in at}

    def of_sections(self, numbers: Sequence[int]) -> dict[int, Ref | None]:
        """What stands for sections of the forest; None while one is not settled, or when all of it is holes."""
        return {number: self.tree.of_section(number) for number in numbers}

    def parent_of(self, ref: Ref) -> Ref | None:
        """The node that a leaf or node went into, as far as the fold is done."""
        return next((Ref(*above) for above, below in self.children.items() if ref in below), None)

    def leaves(self, ref: Ref, item: int, outputs: dict[Ref, Json]) -> list[tuple[int, int]]:
        """The (leaf ordinal, item) that an item of an output rests on: `from` and `also` followed down to chunks."""
        found = [(ref, item)]
        while any(at.level for at, _ in found):
            for at, _ in found:
                if at.level and at not in outputs:
                    outputs[at] = self.output(at)
            found = below(found, outputs, self.children_of(at for at, _ in found))
        return [(at.ordinal, item) for at, item in found]

    def sentences(self, ref: Ref) -> list[tuple[str, list[Citation]]]:
        """The sentences of an output with their citations."""
        outputs = {ref: self.output(ref)}
        found = outputs[ref]["sentences"]
        leaves = [self.view.some(self.leaves(ref, item, outputs)) for item in range(len(found))]
        cited = iter(self.citer.cite(place for places in leaves for place in places))
        return [
            (sentence["text"], [citation for _ in places for citation in next(cited)])
            for sentence, places in zip(found, leaves, strict=True)
        ]


def below(
    places: Sequence[tuple[Ref, int]], outputs: Mapping[Ref, Json], children: Mapping[Ref, Sequence[Ref]]
) -> list[tuple[Ref, int]]:
    """What items of nodes rest on, one level down and each once, what they rest on first before what they also do."""
    found: dict[tuple[Ref, int], None] = {}
    for ref, item in places:
        if ref.level == 0:
            found[ref, item] = None
            continue
        sentence = outputs[ref]["sentences"][item]
        for child, inner in (sentence["from"], *sentence.get("also", ())):
            found[children[ref][child], inner] = None
    return list(found)


def open_fold(view: View, plan: StepPlan) -> Folded:
    """Read a fold as far as it is done."""
    source = view.source(plan)
    levels = [step for step in view.steps if step.position == plan.position]
    done = sum(1 for step in levels if step.state == "complete")
    forest, tree = replay(view.rows, view.context, plan, view.steps, levels=done)
    keys = {0: view.rows.tasks.keys(source.id)}
    children: dict[tuple[int, int], list[Ref]] = {}
    for step in levels[:done]:
        keys[step.level] = {}
        for ordinal, key, inputs, _ in view.rows.nodes.inputs(step.id):
            keys[step.level][ordinal] = key
            at, which = unpack(inputs or b"", 2)
            children[step.level, ordinal] = [Ref(*pair) for pair in zip(at, which, strict=True)]
    citer = Citer(view.rows, view.context.selection, source.id)
    return Folded(view=view, forest=forest, tree=tree, keys=keys, children=children, citer=citer)


def summary(view: View, plan: StepPlan) -> dict[str, Json]:
    """`{text, sentences: [{text, citations}], chapters: [{title, level, start_line, text, citations}]}`.

    Of several documents: `{documents: [{document, …the same}]}`.
    """
    folded = open_fold(view, plan)
    documents = []
    for number, member in enumerate(view.context.selection.members):
        root = folded.tree.of_section(folded.forest.roots[number])
        sentences = folded.sentences(root) if root else []
        documents.append(
            {
                "document": member.document.title,
                "text": joined([text for text, _ in sentences]),
                "sentences": [
                    {"text": text, "citations": [view.style(item) for item in citations]}
                    for text, citations in sentences
                ],
                "chapters": [
                    _chapter(folded, member, section, ref) for section, ref in _sections(folded, number, member)
                ],
                "holes": _holes(view, plan, number),
            }
        )
    return _one_or_many(documents)


def outline(view: View, plan: StepPlan) -> dict[str, Json]:
    """`{sections: [{title, level, start_line, end_line, text, terms, citations}]}`; of several documents a list."""
    folded = open_fold(view, plan)
    documents = []
    for number, member in enumerate(view.context.selection.members):
        sections = [_headline(folded, member, section, ref) for section, ref in _sections(folded, number, member)]
        documents.append({"document": member.document.title, "sections": sections, "holes": _holes(view, plan, number)})
    return _one_or_many(documents)


def _headline(folded: Folded, member: Member, section: Section, ref: Ref) -> dict[str, Json]:
    """A section's one sentence and its terms. One chunk's own output passes through with several: the weightiest."""
    output = folded.output(ref)
    sentences = output["sentences"]
    best = max(range(len(sentences)), key=lambda item: (sentences[item]["weight"], -item), default=None)
    found = [] if best is None else [folded.sentences(ref)[best]]
    return {
        "title": section.title,
        "level": section.level,
        "start_line": section.start_line,
        **folded.citer.source_at(member, section.start, section.start_line),
        "end_line": section.end_line,
        "text": joined([text for text, _ in found]),
        "terms": output.get("terms", []),
        "citations": [folded.view.style(item) for _, citations in found for item in citations],
    }


def plain(view: View, plan: StepPlan) -> dict[str, Json]:
    """The root output of each document as the op gave it: `{document, value}`."""
    folded = open_fold(view, plan)
    documents = []
    for number, member in enumerate(view.context.selection.members):
        root = folded.tree.of_section(folded.forest.roots[number])
        value = folded.output(root) if root else None
        documents.append({"document": member.document.title, "value": value, "holes": _holes(view, plan, number)})
    return _one_or_many(documents)


def _sections(folded: Folded, number: int, member: Member) -> Iterator[tuple[Section, Ref]]:
    """The sections that have an output, in reading order."""
    for section in member.sections:
        place = folded.forest.number.get((number, section.ordinal))
        ref = None if place is None else folded.tree.of_section(place)
        if ref is not None:
            yield section, ref


def _chapter(folded: Folded, member: Member, section: Section, ref: Ref) -> dict[str, Json]:
    found = folded.sentences(ref)
    return {
        "title": section.title,
        "level": section.level,
        "start_line": section.start_line,
        **folded.citer.source_at(member, section.start, section.start_line),
        "text": joined([text for text, _ in found]),
        "citations": [folded.view.style(item) for _, citations in found for item in citations],
    }


def _holes(view: View, plan: StepPlan, number: int) -> list[Json]:
    """The chunks of a document that failed: they are named, never left out in silence."""
    source = view.source(plan)
    tasks = view.rows.tasks.page(source.id, states=TASK_HOLES, limit=1000)
    member = view.context.selection.members[number]
    ours = [task for task in tasks if view.context.selection.locate(task.ordinal).member is member]
    if not ours:
        return []
    citer = Citer(view.rows, view.context.selection, source.id)
    cited = citer.whole([task.ordinal for task in ours])
    return [view.style(citation) | {"error": task.error_code} for citation, task in zip(cited, ours, strict=True)]


def _one_or_many(documents: list[dict[str, Json]]) -> dict[str, Json]:
    return documents[0] if len(documents) == 1 else {"documents": documents}


def joined(sentences: list[str]) -> str:
    """Sentences as running text: with a space between, but none after a full-width mark."""
    text = ""
    for sentence in sentences:
        last = text.rstrip("”’")[-1:]  # quotation marks look alike in all scripts: what is inside decides
        text += (" " if last and not "\u2e80" <= last <= "\uffef" else "") + sentence
    return text
