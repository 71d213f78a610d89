"""`translate`, `classify` and `prompt`: ops that only language models answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.errors import PipelineError
from pipeline.models.errors import fault
from pipeline.models.llm.quotes import Quotes
from pipeline.ops.asking import Ask, Material, Params
from pipeline.ops.kinds import MapOp
from pipeline.ops.llm.schemas import TEXT, one_of, table
from pipeline.ops.values import Json, OpOutput, Span

ASKED_AGAIN = 2  # tries after which a translation is taken that leaves out words of its glossary, and says so

_TRANSLATE = """Translate the passage below into {{ to }}. Keep its paragraphs, its tone and every detail.
Give the translation alone: no note, no title of your own, not the lines around the passage.
{% if terms %}
Use for these words always these translations:
{{ terms }}
{% endif %}
{{ text }}"""

_CLASSIFY = """Decide which one of these labels fits the passage below best: {{ labels | join(", ") }}.
{% if about %}{{ about }}
{% endif %}Give a short quote, copied from the passage letter by letter, that shows it.

{{ text }}"""


def _terms_in(material: Material) -> dict[str, str]:
    """The words of the glossary that the passage holds."""
    glossary: Mapping[str, str] = material.params["glossary"]
    return {word: wanted for word, wanted in glossary.items() if word in material.text}


def _sees_terms(material: Material) -> Mapping[str, Json]:
    return {"terms": "\n".join(f"{word} = {wanted}" for word, wanted in sorted(_terms_in(material).items()))}


def _translated(answer: Json, material: Material) -> OpOutput:
    """`{"text": translation, "missed": [word of the glossary, …]}`."""
    text = "\n".join(line for line in answer.splitlines() if not line.startswith("BOOK TEXT ")).strip()
    held = text.casefold()
    missed = sorted(word for word, wanted in _terms_in(material).items() if wanted.casefold() not in held)
    if missed and material.attempt < ASKED_AGAIN:
        raise fault("glossary_missed", f"The translation leaves out {len(missed)} words of the glossary")
    if not text:
        raise fault("empty", "The answer is empty")
    return OpOutput(value={"text": text, "missed": missed})


def _join_translations(outputs: Sequence[OpOutput]) -> OpOutput:
    values = [output.value for output in outputs]
    missed = sorted({word for value in values for word in value["missed"]})
    return OpOutput(value={"text": "\n\n".join(value["text"] for value in values), "missed": missed})


def _labels(params: Params) -> Json:
    labels = params["labels"]
    if len(labels) < 2 or not all(isinstance(label, str) and label for label in labels):
        raise PipelineError("Op 'classify' needs two labels or more", hint='params = { labels = ["calm", "stormy"] }')
    return table(label=one_of(*labels), quote=TEXT)


def _classified(answer: Json, material: Material) -> OpOutput:
    """`{"label", "quote", "verified"}`; its span is the quote's place."""
    place = Quotes(material.text).find(answer["quote"])
    spans = () if place is None else (Span(item=0, start=place.start, end=place.end),)
    return OpOutput(value=answer | {"verified": place is not None}, spans=spans)


def _join_labels(outputs: Sequence[OpOutput]) -> OpOutput:
    """The label of most parts; of several, the one that came first."""
    labels = [output.value["label"] for output in outputs]
    best = max(dict.fromkeys(labels), key=labels.count)
    return next(output for output in outputs if output.value["label"] == best)


def checked_quotes(answer: Json, material: Material) -> OpOutput:
    """Any answer, the quotes in it checked.

    Every object in it that has a text called `quote` gets `verified`. Spans: item n is the n-th of the answer's list,
    or of its `items`; all else belongs to item 0.
    """
    quotes = Quotes(material.text)
    spans: list[Span] = []

    def walk(value: Json, item: int) -> Json:
        if isinstance(value, list):
            return [walk(part, item) for part in value]
        if not isinstance(value, dict):
            return value
        out = {name: walk(part, item) for name, part in value.items()}
        if isinstance(value.get("quote"), str):
            place = quotes.find(value["quote"])
            out["verified"] = place is not None
            if place is not None:
                spans.append(Span(item=item, start=place.start, end=place.end))
        return out

    if isinstance(answer, list):
        return OpOutput(value=[walk(part, at) for at, part in enumerate(answer)], spans=tuple(spans))
    if isinstance(answer, dict) and isinstance(answer.get("items"), list):
        items = [walk(part, at) for at, part in enumerate(answer["items"])]
        rest = walk({name: part for name, part in answer.items() if name != "items"}, 0)
        return OpOutput(value=rest | {"items": items}, spans=tuple(spans))
    if isinstance(answer, str):
        return OpOutput(value={"text": answer})
    return OpOutput(value=walk(answer, 0), spans=tuple(spans))


TRANSLATE = MapOp(
    name="translate",
    version=1,
    defaults={"to": "English", "glossary": {}},
    ask=Ask(prompt=_TRANSLATE, finish=_translated, join=_join_translations, sees=_sees_terms),
)
CLASSIFY = MapOp(
    name="classify",
    version=1,
    defaults={"labels": [], "about": ""},
    ask=Ask(prompt=_CLASSIFY, schema=_labels, finish=_classified, join=_join_labels),
)
PROMPT = MapOp(name="prompt", version=1, ask=Ask(prompt="", finish=checked_quotes, own_prompt=True), free=True)
