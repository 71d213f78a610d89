"""What a job gave, a page at a time: the head of each document's output, then its chapters, sections or entries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar
from uuid import UUID

from db.database import Database, Repositories
from pipeline import canonical
from pipeline.errors import NotFoundError
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.read.reading import Section
from pipeline.reduce import glossary
from pipeline.reduce.foldtree import Ref
from workers.batched import batched
from workers.faces.sections import KeptSections
from workers.outputs.cite import Citation, Citer
from workers.outputs.conflicts import contradictions
from workers.outputs.folds import Folded, below, joined, open_fold
from workers.outputs.job import View, view
from workers.outputs.merges import judged, shards
from workers.outputs.present import results
from workers.outputs.stored_fold import StoredFold, stored_fold
from workers.planning.context import JobContext, load_context
from workers.planning.plan import StepPlan

KEPT = 8
ALIASES = 100  # of what a book says in two ways, shown above its contradictions
CITED = 5  # citations shown with an entry
T = TypeVar("T")


def named(citation: Citation) -> dict[str, Json]:
    """A citation with the ids that lead to its lines."""
    return citation.named() | {
        "document_id": str(citation.member.document.id),
        "revision_id": citation.member.revision_id,
        "ordinal": citation.chunk_ordinal,
    }


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of a merge, of each of its shards the leaves, and the place of each shard in its level."""

    found: list[Json]
    leaves: Sequence[Sequence[int]]
    nodes: Sequence[int]


@dataclass(slots=True)
class _Opened:
    """A job as it is kept between requests: what is dear to load and does not change while the job stands still."""

    context: JobContext
    stamp: tuple[Json, ...]
    documents: list[tuple[UUID, str]] | None = None
    folds: dict[int, Folded] = field(default_factory=dict)
    unfinished: set[int] = field(default_factory=set)  # positions of folds that are replayed
    conflicts: dict[int, dict[str, Json]] = field(default_factory=dict)
    entries: dict[int, _Entries] = field(default_factory=dict)


class Outputs:
    """Opens the outputs of jobs; keeps the latest few. Safe to call from many threads."""

    def __init__(self, database: Database, ops: Registry, sections: KeptSections | None = None) -> None:
        self._database = database
        self._ops = ops
        self._kept: OrderedDict[UUID, _Opened] = OrderedDict()
        self._sections = KeptSections() if sections is None else sections  # jobs over one book share them
        self._turn = threading.Lock()

    def open(self, rows: Repositories, job_id: UUID) -> JobOutput:
        """The output of a job. Raises NotFoundError, or PipelineError when an op is gone."""
        kept = self._opened(rows, job_id)
        return JobOutput(view(rows, kept.context, style=named, citations=CITED), kept)

    def context(self, rows: Repositories, job_id: UUID) -> JobContext:
        """A job as it was planned. Raises as `open` does."""
        return self._opened(rows, job_id).context

    def _opened(self, rows: Repositories, job_id: UUID) -> _Opened:
        job = rows.jobs.get(job_id)
        if job is None:
            raise NotFoundError(f"There is no job {job_id}")
        steps = rows.jobs.steps(job_id)
        decided = rows.decisions.mark(job_id)
        stamp: tuple[Json, ...] = (job.state, *decided, *((step.id, step.state, step.total) for step in steps))
        with self._turn:
            kept = self._kept.get(job_id)
            if kept is None or kept.stamp != stamp:
                context = kept.context.anew(job, self._ops) if kept is not None else self._load(job_id)
                kept = _Opened(context=context, stamp=stamp)
            self._kept[job_id] = kept
            self._kept.move_to_end(job_id)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return kept

    def _load(self, job_id: UUID) -> JobContext:
        return load_context(self._database, self._ops, job_id, to_read=True, known=self._sections)


class JobOutput:
    """The output of one job in one read transaction."""

    def __init__(self, opened: View, kept: _Opened) -> None:
        self.view = opened
        self._kept = kept
        self.plan: StepPlan = opened.context.plans[-1]
        self._stored: dict[int, StoredFold | None] = {}

    @property
    def kind(self) -> str:
        """What the last step gives: summary, outline, fold, glossary, conflicts, merge or map."""
        return self.plan.op.output if self.plan.kind != "map" else "map"

    @property
    def documents(self) -> list[tuple[UUID, str]]:
        """(id, title) of the documents in order."""
        if self._kept.documents is None:
            members = self.view.context.selection.members
            self._kept.documents = [(member.document.id, member.document.title) for member in members]
        return self._kept.documents

    @property
    def first_title(self) -> str:
        """The title of the first document."""
        return self.view.context.selection.members[0].document.title

    def number_of(self, document: UUID | None) -> int:
        """The place of a document in the job; None: the first. Raises NotFoundError."""
        for number, (found, _) in enumerate(self.documents):
            if document is None or found == document:
                return number
        raise NotFoundError("That document is not part of this job")

    def head(self, number: int) -> dict[str, Json]:
        """What stands above a document's items: `{document, title, text, sentences}`.

        Of a plain fold there is its `value` too, of conflicts the `aliases`, and `dismissed` where a model judged.
        """
        document, title = self.documents[number]
        head: dict[str, Json] = {"document": str(document), "title": title, "text": None, "sentences": []}
        if self.kind == "conflicts":
            found = self._conflicts()
            return head | {name: found[name][:ALIASES] for name in ("aliases", "dismissed") if name in found}
        if self.kind not in ("summary", "fold"):
            return head
        folded = self.folded(self.plan)
        top = self.view.context.forest.roots[number]
        root = folded.of_sections([top])[top]
        if root is None:
            return head
        if self.kind == "fold":
            return head | {"value": folded.output(root)}
        sentences = _sentences(folded, [root])[0]
        return head | {
            "text": joined([text for text, _ in sentences]),
            "sentences": [{"text": text, "citations": [named(item) for item in cited]} for text, cited in sentences],
        }

    def items(self, number: int, *, after: int, limit: int, search: str | None = None) -> list[dict[str, Json]]:
        """Chapters, sections, entries or chunk results after an item, each with its `item` number."""
        if self.kind in ("summary", "outline"):
            return self._chapters(number, after, limit)
        if self.kind in ("glossary", "merge"):
            return self._entries(after, limit, search)
        if self.kind == "conflicts":
            found = self._conflicts()["conflicts"]
            return [row | {"item": at} for at, row in enumerate(found)][after + 1 : after + 1 + limit]
        if self.kind == "map":
            return self.results(self.plan, after=after, limit=limit)
        return []

    def _conflicts(self) -> dict[str, Json]:
        kept = self._kept.conflicts.get(self.plan.position)
        if kept is None:
            kept = self._kept.conflicts[self.plan.position] = contradictions(self.view, self.plan)
        return kept

    def results(self, plan: StepPlan, *, after: int, limit: int) -> list[dict[str, Json]]:
        """What a map step gave for each chunk."""
        found = results(self.view, plan, limit=limit, after=after)
        step = self.view.level(plan.position, 0)
        tasks = self.view.rows.tasks.page(step.id, states=(), limit=limit, after=after) if step else []
        return [row | {"item": task.ordinal} for row, task in zip(found, tasks, strict=True)]

    def folded(self, plan: StepPlan) -> Folded | StoredFold:
        """A fold as far as it is done: a finished one is read row by row, one that is being made is replayed."""
        if plan.position not in self._stored:
            # Whether it is finished is asked once: while it is kept, neither the job's state nor its steps' change.
            known = self._kept.unfinished
            self._stored[plan.position] = None if plan.position in known else stored_fold(self.view, plan)
            if self._stored[plan.position] is None:
                known.add(plan.position)
        stored = self._stored[plan.position]
        if stored is not None:
            return stored
        kept = self._kept.folds.get(plan.position)
        if kept is None:
            kept = self._kept.folds[plan.position] = open_fold(self.view, plan)
        source = self.view.source(plan)
        citer = Citer(self.view.rows, self.view.context.selection, source.id)
        return replace(kept, view=self.view, citer=citer)

    def _chapters(self, number: int, after: int, limit: int) -> list[dict[str, Json]]:
        folded = self.folded(self.plan)
        member = self.view.context.selection.members[number]
        rest = (member.sections[at] for at in range(after + 1, len(member.sections)))
        refs = self._sections(folded, number, rest, limit)
        found = _sentences(folded, [ref for _, ref in refs], best=self.kind == "outline")
        outputs = self._outputs(folded, [ref for _, ref in refs]) if self.kind == "outline" else {}
        return [
            {
                "item": section.ordinal,
                "title": section.title,
                "level": section.level,
                "start_line": section.start_line,
                "end_line": section.end_line,
                "sentences": [{"text": text, "citations": [named(item) for item in cited]} for text, cited in said],
                "terms": outputs[ref].get("terms", []) if outputs else [],
            }
            for (section, ref), said in zip(refs, found, strict=True)
        ]

    def _sections(
        self, folded: Folded | StoredFold, number: int, sections: Iterable[Section], limit: int
    ) -> list[tuple[Section, Ref]]:
        """The first sections that have an output, with it."""
        numbers = self.view.context.forest.number
        there = (
            (section, numbers[number, section.ordinal]) for section in sections if (number, section.ordinal) in numbers
        )
        found: list[tuple[Section, Ref]] = []
        for batch in batched(there, limit):
            refs = folded.of_sections([place for _, place in batch])
            found += [(section, ref) for section, place in batch if (ref := refs[place]) is not None]
            if len(found) >= limit:
                break
        return found[:limit]

    @staticmethod
    def _outputs(folded: Folded | StoredFold, refs: Sequence[Ref]) -> dict[Ref, Json]:
        return _outputs(folded, refs)

    def _entries(self, after: int, limit: int, search: str | None) -> list[dict[str, Json]]:
        merged = self._all_entries()
        found, leaves = merged.found, merged.leaves
        wanted = search.casefold() if search else None
        chosen = (
            (at, entry)
            for at, entry in islice(enumerate(found), after + 1, None)
            if wanted is None or wanted in _words_of(entry)
        )
        page = list(islice(chosen, limit))
        citer = Citer(self.view.rows, self.view.context.selection, self.view.source(self.plan).id)
        places = [_pairs(entry, leaves) for _, entry in page]
        cited = iter(citer.cite([pair for pairs in places for pair in pairs[:CITED]]))
        return [
            _entry(entry)
            | {
                "item": at,
                "shards": [f"1-{merged.nodes[shard]}" for shard in _shards_of(entry)],
                "citation_count": len(pairs),
                "citations": [named(citation) for _ in pairs[:CITED] for citation in next(cited)],
            }
            for (at, entry), pairs in zip(page, places, strict=True)
        ]

    def _all_entries(self) -> _Entries:
        kept = self._kept.entries.get(self.plan.position)
        if kept is None:
            values, leaves = shards(self.view, self.plan)
            found: list[Json] = []
            if self.kind == "glossary":
                resolved = judged(self.view, self.plan, values)
                found = list(glossary.entries(values, resolved)) if resolved is not None else []
            else:
                for shard, value in enumerate(values):
                    found += [entry | {"shard": shard} for entry in value["entries"]]
                found.sort(key=lambda entry: (-entry["count"], entry["key"]))
            level = self.view.level(self.plan.position, 1)
            nodes = sorted(self.view.rows.tasks.keys(level.id)) if level else []
            kept = self._kept.entries[self.plan.position] = _Entries(found, leaves, nodes)
        return kept


def _words_of(entry: Json) -> str:
    if isinstance(entry, glossary.Entry):
        return "\n".join((entry.name, *entry.aliases)).casefold()
    return str(entry["key"]).casefold()


def _shards_of(entry: Json) -> list[int]:
    """Which shards an entry was gathered in: one, or more where names of several keys are one."""
    if isinstance(entry, glossary.Entry):
        return sorted({shard for shard, _, _ in entry.cites})
    return [entry["shard"]]


def _pairs(entry: Json, leaves: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    if isinstance(entry, glossary.Entry):
        return sorted((leaves[shard][part], item) for shard, part, item in entry.cites)
    return [(leaves[entry["shard"]][part], item) for part, item in entry["cites"]]


def _entry(entry: Json) -> dict[str, Json]:
    if isinstance(entry, glossary.Entry):
        return {"name": entry.name, "kind": entry.kind, "count": entry.count, "aliases": list(entry.aliases)}
    return {"name": str(entry["key"]), "kind": "", "count": entry["count"], "aliases": [], "value": entry["value"]}


def _outputs(folded: Folded | StoredFold, refs: Sequence[Ref]) -> dict[Ref, Json]:
    """The outputs of leaves and nodes, by one query."""
    keys = folded.keys_of(refs)
    found = folded.view.rows.results.outputs(list(set(keys.values())))
    return {ref: canonical.loads(found[key]) for ref, key in keys.items()}


def _sentences(
    folded: Folded | StoredFold, refs: Sequence[Ref], *, best: bool = False
) -> list[list[tuple[str, list[Citation]]]]:
    """The sentences of outputs with their citations; all are followed down to their chunks together, a level at a time.

    `best`: of each output only the weightiest sentence.
    """
    outputs = _outputs(folded, refs)
    said: list[list[tuple[int, str]]] = []
    trails: list[list[tuple[Ref, int]]] = []
    for ref in refs:
        sentences = outputs[ref]["sentences"]
        chosen = list(range(len(sentences)))
        if best and sentences:
            chosen = [max(chosen, key=lambda item: (sentences[item]["weight"], -item))]
        said.append([(len(trails) + at, sentences[item]["text"]) for at, item in enumerate(chosen)])
        trails += [[(ref, item)] for item in chosen]
    while nodes := {ref for trail in trails for ref, _ in trail if ref.level > 0}:
        children = folded.children_of(nodes)
        trails = [below(trail, outputs, children)[:CITED] for trail in trails]
        missing = {ref for trail in trails for ref, _ in trail if ref.level > 0 and ref not in outputs}
        outputs |= _outputs(folded, sorted(missing, key=lambda ref: (ref.level, ref.ordinal)))
    cited = iter(folded.citer.cite((ref.ordinal, item) for trail in trails for ref, item in trail))
    found = [[citation for _ in trail for citation in next(cited)] for trail in trails]
    return [[(text, found[at]) for at, text in sentences] for sentences in said]


def named_sentences(output: JobOutput, plan: StepPlan, node: str) -> list[dict[str, Json]]:
    """The sentences of a node of a fold with their citations; none where its op says nothing in sentences."""
    level, _, ordinal = node.partition("-")
    ref, folded = Ref(int(level), int(ordinal)), output.folded(plan)
    if "sentences" not in (folded.output(ref) or {}):
        return []
    (said,) = _sentences(folded, [ref])
    return [{"text": text, "citations": [named(item) for item in cited]} for text, cited in said]
