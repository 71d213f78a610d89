"""The questions of a merge: what it asks after its judgement, each a task of its own (ADR 13)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from db.database import Database, Repositories
from db.values import NewTask, Step
from pipeline import canonical
from pipeline.ops.kinds import MOST_QUESTIONS, Inquiry, Merged, MergeOp, Question
from pipeline.ops.values import Json
from workers.batched import batched
from workers.outputs.cite import Citer
from workers.planning.context import JobContext
from workers.planning.plan import JUDGEMENT, QUESTIONS
from workers.planning.shards import judgement_of, shards_of

LOOKED_AT = 20  # times as many are looked at as may be asked: most pairs of alike names share no passage
BATCH = 100  # questions whose texts are held at once


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question as its task holds it."""

    about: Json
    places: tuple[tuple[int, int], ...]
    shown: bytes  # hash of the text that is judged

    def inputs(self) -> list[bytes]:
        """What its key is made of."""
        return [canonical.digest(self.about), self.shown]

    def stored(self) -> bytes:
        """As bytes for the task's row."""
        return canonical.dumps([self.about, [list(place) for place in self.places], self.shown.hex()])


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """A question with its answer."""

    about: Json
    places: tuple[tuple[int, int], ...]
    answer: Json


def asked(stored: bytes | None) -> Asked:
    """The question that a task's row holds."""
    about, places, shown = canonical.loads(stored or b"")
    return Asked(about=about, places=tuple((leaf, item) for leaf, item in places), shown=bytes.fromhex(shown))


def questions(database: Database, context: JobContext, step: Step) -> tuple[list[NewTask], int]:
    """The tasks of one round of a merge's questions, and how many of those found are not asked.

    Equal ones have one key, and so one call. What was asked in a round before is not asked again.
    """
    inquiry, maker = inquiry_of(context, step), context.plan_of(step).keys()
    tasks: list[NewTask] = []
    with database.read() as rows:
        steps = rows.jobs.steps(context.job.id)
        before = [other for other in rounds(steps, step.position) if other.level < step.level]
        most = int(context.plans[step.position].params[MOST_QUESTIONS]) - sum(other.total or 0 for other in before)
        citer = _citer(rows, context, step, steps)
        found = iter(_found(rows, inquiry, step, steps, before))
        for batch in batched(islice(found, most * LOOKED_AT), BATCH):
            texts = _shown(citer, inquiry, batch)
            for at, (question, text) in enumerate(zip(batch, texts, strict=True)):
                if text is None:
                    continue
                if len(tasks) == most:
                    left = sum(later is not None for later in texts[at:])
                    return tasks, left + sum(1 for _ in found)
                shown = canonical.sha256(text.encode("utf-8", "surrogatepass"))
                held = Asked(about=question.about, places=question.places, shown=shown)
                key = maker.key(held.inputs())
                # In a view's tree a node of a merge stands at its scope: one that its key gives does not move.
                scope = int.from_bytes(key[:4]) >> 1
                tasks.append(NewTask(len(tasks), key, inputs=held.stored(), scope=scope))
        return tasks, sum(1 for _ in found)


def rounds(steps: Sequence[Step], position: int) -> list[Step]:
    """The rounds of questions of a merge, as far as there are any."""
    return [step for step in steps if step.position == position and step.level >= QUESTIONS]


def inquiry_of(context: JobContext, step: Step) -> Inquiry:
    """What the merge of a level asks."""
    op = context.plans[step.position].op
    assert isinstance(op, MergeOp)
    assert op.inquiry is not None
    return op.inquiry


def _found(
    rows: Repositories, inquiry: Inquiry, step: Step, steps: Sequence[Step], before: Sequence[Step]
) -> Iterator[Question]:
    below = {other.level: other for other in steps if other.position == step.position}
    resolved = judgement_of(rows, below[JUDGEMENT])
    if resolved is None:
        return
    values, leaves = shards_of(rows, below[1])
    asked_before = {asked(data).places for other in before for data in rows.nodes.all_inputs(other.id)}
    answered = tuple((item.places, item.answer) for other in before for item in answers(rows, other))
    found = inquiry.find(Merged(values=values, leaves=leaves, resolved=resolved, answered=answered))
    yield from (question for question in found if question.places not in asked_before)


def _citer(rows: Repositories, context: JobContext, step: Step, steps: Sequence[Step]) -> Citer:
    source = context.plans[step.position].source
    leaf = next(other for other in steps if other.position == source and other.level == 0)
    return Citer(rows, context.selection, leaf.id)


def _shown(citer: Citer, inquiry: Inquiry, batch: Sequence[Question]) -> list[str | None]:
    citer.load(leaf for question in batch for leaf, _ in question.places)
    made = [inquiry.shown(question.about, [citer.source(*place) for place in question.places]) for question in batch]
    return [None if text is None else text[: inquiry.characters] for text in made]


def shown(rows: Repositories, context: JobContext, step: Step, stored: bytes | None) -> tuple[str, bytes]:
    """The text that a question's task is asked about, and what it is about as JSON bytes."""
    held = asked(stored)
    citer = _citer(rows, context, step, rows.jobs.steps(context.job.id))
    (text,) = _shown(citer, inquiry_of(context, step), [Question(about=held.about, places=held.places)])
    return text or "", canonical.dumps(held.about)


def answers(rows: Repositories, level: Step) -> list[Answered]:
    """The questions of a level that were answered, in their order; holes are left out."""
    found = [(key, asked(data)) for _, key, data, _ in rows.nodes.inputs(level.id)]
    outputs = rows.results.outputs(list({key for key, _ in found}))
    return [Answered(about=held.about, places=held.places, answer=canonical.loads(outputs[key])) for key, held in found]
