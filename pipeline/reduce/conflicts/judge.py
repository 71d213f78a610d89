"""Contradictions that the rule found, put to a language model one by one, with what stands around both statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipeline.ops.asking import Ask, Material
from pipeline.ops.kinds import Inquiry, MapOp, Merged, Question, Source
from pipeline.ops.llm.schemas import TEXT, one_of, table
from pipeline.ops.values import Json, OpOutput
from pipeline.reduce.conflicts.detect import Places, detect
from pipeline.reduce.conflicts.gather import gather

CONFLICT, CHANGE = "conflict", "change"
VERDICTS = (CONFLICT, CHANGE, "flashback", "not_comparable")
ROUNDS = 4  # a change may bring later values into question, and these more: as often as this it is asked on
BEFORE, AFTER = 240, 160  # characters that are shown around a statement
WHY = 400  # characters of a reason that are kept

_JUDGE = """The passage below holds two statements of one book, the first from an earlier place and the second from a
later one, each with the text around it. By rule they are about the same attribute of the same subject and disagree;
names that differ were stated to be one.
Decide how they stand to each other. verdict is one of
conflict: both can not be so, and nothing here says that it changed;
change: the text says, or makes plain, that it became so between the two;
flashback: one of them tells of an earlier time, a memory, a dream, a tale or a lie;
not_comparable: they are about different persons, things or moments, are a figure of speech, or agree after all.
why says in one short sentence what the verdict rests on.

{{ text }}"""


def find(merged: Merged) -> Iterator[Question]:
    """A question for each contradiction that the rule finds, in the order of the book.

    What was judged to be a change in a round before is taken for one, so later values are compared with the new one.
    """
    links = {alias: root for alias, root, _ in merged.resolved["links"]}
    found = gather(merged.values, merged.leaves, links)
    for conflict in detect(found.facts, changes(merged.answered)):
        one, two = found.told[conflict.first.ref], found.told[conflict.second.ref]
        about = {
            "attribute": conflict.first.attribute,
            "first": {"subject": one.subject, "value": one.value},
            "second": {"subject": two.subject, "value": two.value},
        }
        yield Question(about=about, places=((one.leaf, one.item), (two.leaf, two.item)))


def changes(answered: Iterable[tuple[Places, Json]]) -> frozenset[Places]:
    """The places of contradictions that were judged to be stated changes."""
    return frozenset(places for places, answer in answered if answer["verdict"] == CHANGE)


def shown(about: Json, sources: Sequence[Source]) -> str:
    """Both statements with their subjects, values and quotes, and the text around each."""
    return "\n\n".join(
        f"{which.upper()} STATEMENT ({about[which]['subject']}; {about['attribute']}: {about[which]['value']})\n"
        f"{_quote(source)}\nAROUND IT\n{_around(source)}"
        for which, source in zip(("first", "second"), sources, strict=True)
    )


def _quote(source: Source) -> str:
    quote = " ".join(source.text[source.start : source.end].split())
    return quote if len(quote) <= BEFORE + AFTER else quote[: BEFORE + AFTER] + "…"


def _around(source: Source) -> str:
    end = min(source.end, source.start + BEFORE + AFTER) + AFTER
    return " ".join(source.text[max(0, source.start - BEFORE) : end].split())


def _judged(answer: Json, _material: Material) -> OpOutput:
    """`{"verdict", "why"}`."""
    return OpOutput(value={"verdict": answer["verdict"], "why": " ".join(answer["why"].split())[:WHY]})


INQUIRY = Inquiry(
    option="judge",
    op=MapOp(
        name="judge_conflict",
        version=1,
        ask=Ask(prompt=_JUDGE, schema=table(verdict=one_of(*VERDICTS), why=TEXT), finish=_judged),
    ),
    find=find,
    shown=shown,
    rounds=ROUNDS,
)
"""Without a language model nothing is asked: the rule that found a contradiction has judged it."""
