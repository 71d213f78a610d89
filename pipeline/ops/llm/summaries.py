"""`summarize`, `fold_summary` and `outline` by a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.models.errors import fault
from pipeline.models.llm.fence import fenced
from pipeline.models.llm.quotes import Quotes
from pipeline.ops.asking import Ask, Material
from pipeline.ops.llm.schemas import TEXT, rows, table
from pipeline.ops.values import Json, OpOutput, Span

VERIFIED, UNVERIFIED = 100, 50  # weights: a sentence whose quote stands in the text goes before one without

_SUMMARIZE = """Summarise the passage below in at most {{ sentences }} sentences, in the language of the passage.
Say what happens or what is claimed, with names, in the order of the passage. Each sentence must stand by itself.
Give with each sentence a short quote, copied from the passage letter by letter, that shows it is true.

{{ text }}"""

_FOLD = """The numbered sentences below summarise consecutive parts of a book, in order.
Write a summary of all of them in at most {{ sentences }} sentences, in their language and in their order.
Give with each sentence the numbers of the sentences that it rests on. Add nothing that they do not say.

{{ numbered }}"""

_OUTLINE = """The numbered sentences below summarise consecutive parts of one section of a book, in order.
Say in one sentence, in their language, what the section is about, and give the numbers of the sentences it rests on.
Give at most {{ terms }} names or terms that matter most in it, each as the sentences write it.

{{ numbered }}"""


def _summarized(answer: Json, material: Material) -> OpOutput:
    """`{"sentences": [{"text", "weight", "quote", "verified"}, …]}`; spans: one for each quote that was found."""
    quotes = Quotes(material.text)
    sentences: list[Json] = []
    spans: list[Span] = []
    for item in answer["sentences"][: int(material.params["sentences"])]:
        text = " ".join(item["text"].split())
        if not text:
            continue
        place = quotes.find(item["quote"])
        if place is not None:
            spans.append(Span(item=len(sentences), start=place.start, end=place.end))
        weight = VERIFIED if place is not None else UNVERIFIED
        sentences.append({"text": text, "weight": weight, "quote": item["quote"], "verified": place is not None})
    return OpOutput(value={"sentences": sentences}, spans=tuple(spans))


def join_sentences(outputs: Sequence[OpOutput]) -> OpOutput:
    """The sentences of the parts, one after another."""
    sentences: list[Json] = []
    spans: list[Span] = []
    for output in outputs:
        spans += [Span(item=span.item + len(sentences), start=span.start, end=span.end) for span in output.spans]
        sentences += output.value["sentences"]
    return OpOutput(value={"sentences": sentences}, spans=tuple(spans))


def _sources(material: Material) -> list[tuple[int, int]]:
    return [(child, item) for child, value in enumerate(material.children) for item in range(len(value["sentences"]))]


def _numbered(material: Material) -> Mapping[str, Json]:
    lines = [
        f"{number}. {material.children[child]['sentences'][item]['text']}"
        for number, (child, item) in enumerate(_sources(material), 1)
    ]
    return {"numbered": fenced("\n".join(lines))}


def _rests_on(numbers: Sequence[int], sources: Sequence[tuple[int, int]]) -> dict[str, Json]:
    """`from`: the first [child, item] that a sentence rests on; `also`: the others. Raises CallError for none."""
    found = [list(sources[number - 1]) for number in dict.fromkeys(numbers) if 1 <= number <= len(sources)]
    if not found:
        raise fault("invalid_output", "A sentence of the answer rests on no sentence that was given")
    return {"from": found[0], **({"also": found[1:]} if len(found) > 1 else {})}


def _through(output: OpOutput, parts: Sequence[tuple[int, Json]]) -> OpOutput:
    """The output of a fold over the answers of its parts, its sentences resting on the children themselves."""

    def below(part: int, item: int) -> list[list[int]]:
        first, answer = parts[part]
        if answer is None:
            return [[first, item]]
        sentence = answer["sentences"][item]
        return [[first + child, inner] for child, inner in (sentence["from"], *sentence.get("also", ()))]

    sentences: list[Json] = []
    for sentence in output.value["sentences"]:
        rests: list[list[int]] = []
        for place in (sentence["from"], *sentence.get("also", ())):
            rests += [found for found in below(*place) if found not in rests]
        plain = {name: value for name, value in sentence.items() if name not in ("from", "also")}
        sentences.append(plain | {"from": rests[0]} | ({"also": rests[1:]} if len(rests) > 1 else {}))
    return OpOutput(value=output.value | {"sentences": sentences})


def _folded(answer: Json, material: Material) -> OpOutput:
    """`{"sentences": [{"text", "weight", "from": [child, item], "also": [[child, item], …]}, …]}`."""
    sources = _sources(material)
    sentences = [
        {"text": " ".join(item["text"].split()), "weight": VERIFIED, **_rests_on(item["rests_on"], sources)}
        for item in answer["sentences"][: int(material.params["sentences"])]
        if item["text"].strip()
    ]
    if not sentences and sources:
        raise fault("invalid_output", "The answer has no sentence")
    return OpOutput(value={"sentences": sentences})


def _outlined(answer: Json, material: Material) -> OpOutput:
    """`{"sentences": [one], "terms": [term, …]}`."""
    sources = _sources(material)
    if not answer["text"].strip():
        raise fault("invalid_output", "The answer has no sentence")
    sentence = {"text": " ".join(answer["text"].split()), "weight": VERIFIED, **_rests_on(answer["rests_on"], sources)}
    terms = list(dict.fromkeys(term.strip() for term in answer["terms"] if term.strip()))
    return OpOutput(value={"sentences": [sentence], "terms": terms[: int(material.params["terms"])]})


_NUMBERS: Json = {"type": "array", "items": {"type": "integer"}, "minItems": 1}

SUMMARIZE = Ask(
    prompt=_SUMMARIZE, schema=table(sentences=rows(text=TEXT, quote=TEXT)), finish=_summarized, join=join_sentences
)
FOLD_SUMMARY = Ask(
    prompt=_FOLD,
    schema=table(sentences=rows(text=TEXT, rests_on=_NUMBERS)),
    finish=_folded,
    sees=_numbered,
    through=_through,
)
OUTLINE = Ask(
    prompt=_OUTLINE,
    schema=table(text=TEXT, rests_on=_NUMBERS, terms={"type": "array", "items": TEXT}),
    finish=_outlined,
    sees=_numbered,
    through=_through,
)
