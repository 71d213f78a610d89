"""`extract` by a language model: names and terms, facts, events."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.models.llm.quotes import Quotes
from pipeline.ops.asking import Ask, Material
from pipeline.ops.llm.schemas import TEXT, one_of, rows, table
from pipeline.ops.values import Json, OpOutput, Span

SPANS_PER_ITEM = 5
KINDS = ("person", "place", "organization", "term", "name")
LISTS = ("items", "facts", "events")

_EXTRACT = """Take out of the passage below what an index and a book of facts would need.
entities: every person, place, organization and other proper name, and every term of the field that the passage uses,
each as the passage writes it, once. kind is one of person, place, organization, term, name (none of the others).
facts: what the passage states of an entity: subject, attribute and value in a few words, in its language.
events: what happens, each in one short sentence.
Give with each fact and event a short quote, copied from the passage letter by letter, that shows it is true.
Leave a list empty where the passage has nothing for it.

{{ text }}"""

_SCHEMA = table(
    entities=rows(name=TEXT, kind=one_of(*KINDS)),
    facts=rows(subject=TEXT, attribute=TEXT, value=TEXT, quote=TEXT),
    events=rows(what=TEXT, quote=TEXT),
)


_FACTS = """Take out of the passage below what a book of facts would need to find contradictions.
facts: what the passage states of somebody or something that stays so (looks, birth, kin, rank, owner, alive or dead):
subject as the passage names it, attribute in one or two words, value in a few, all in the language of the passage.
aliases: names that the passage says are another name of somebody: name is the one he is known by, alias the other.
Give with each a short quote, copied from the passage letter by letter, that shows it is true. The quote of an alias
holds both names. Leave a list empty where the passage has nothing for it.

{{ text }}"""

_FACTS_SCHEMA = table(
    facts=rows(subject=TEXT, attribute=TEXT, value=TEXT, quote=TEXT),
    aliases=rows(name=TEXT, alias=TEXT, quote=TEXT),
)


def _told(answer: Json, material: Material) -> OpOutput:
    """`{"items": [], "facts": […], "aliases": […]}` as the rule gives them, each with `verified`.

    An alias whose quote does not hold both names is not verified: it is no sentence that says so.
    """
    quotes = Quotes(material.text)
    value: dict[str, Json] = {"items": []}
    spans: list[Span] = []
    number = 0
    for name in ("facts", "aliases"):
        value[name] = []
        for item in answer[name]:
            place = quotes.find(item["quote"])
            said = place is not None and (name == "facts" or _names_both(item, material.text[place.start : place.end]))
            if place is not None:
                spans.append(Span(item=number, start=place.start, end=place.end))
            value[name].append(item | {"verified": said})
            number += 1
    return OpOutput(value=value, spans=tuple(spans))


def _names_both(item: Json, quote: str) -> bool:
    found = Quotes(quote)
    return all(found.find(item[name]) is not None for name in ("name", "alias"))


def _extracted(answer: Json, material: Material) -> OpOutput:
    """`{"items": [{"name", "kind", "count"}], "facts": […], "events": […], "not_found": [name, …]}`.

    Mentions are counted in the text itself; a name that it does not hold is no item. A fact or event whose quote does
    not stand there has `verified` false. Spans number the lists through: items, then facts, then events.
    """
    quotes = Quotes(material.text)
    items, spans, missing = _items(answer["entities"], quotes)
    value: dict[str, Json] = {"items": items}
    number = len(items)
    for name in ("facts", "events"):
        found: list[Json] = []
        for item in answer[name]:
            place = quotes.find(item["quote"])
            if place is not None:
                spans.append(Span(item=number, start=place.start, end=place.end))
            found.append(item | {"verified": place is not None})
            number += 1
        value[name] = found
    return OpOutput(value=value | {"not_found": missing}, spans=tuple(spans))


def _items(entities: Sequence[Json], quotes: Quotes) -> tuple[list[Json], list[Span], list[str]]:
    items: list[Json] = []
    spans: list[Span] = []
    missing: list[str] = []
    named = {(" ".join(item["name"].split()), item["kind"]) for item in entities}
    for name, kind in sorted(named):
        count, places = quotes.every(name, SPANS_PER_ITEM)
        if not count and (place := quotes.find(name)) is not None:
            count, places = 1, [place]
        if not count:
            missing.append(name)
            continue
        spans += [Span(item=len(items), start=place.start, end=place.end) for place in places]
        items.append({"name": name, "kind": kind, "count": count})
    return items, spans, sorted(set(missing))


def join_lists(outputs: Sequence[OpOutput]) -> OpOutput:
    """The extractions of the parts as one: the same name of the same kind is one item, its mentions added up."""
    counts: dict[tuple[str, str], int] = {}
    places: dict[tuple[str, str], list[Span]] = {}
    tails: dict[str, list[tuple[Json, list[Span]]]] = {"facts": [], "events": []}
    missing: set[str] = set()
    for output in outputs:
        number = 0
        by_item: dict[int, list[Span]] = {}
        for span in output.spans:
            by_item.setdefault(span.item, []).append(span)
        for item in output.value["items"]:
            key = (item["name"], item["kind"])
            counts[key] = counts.get(key, 0) + item["count"]
            places.setdefault(key, []).extend(by_item.get(number, []))
            number += 1
        for name, tail in tails.items():
            for item in output.value[name]:
                tail.append((item, by_item.get(number, [])))
                number += 1
        missing |= set(output.value["not_found"])
    return _numbered(counts, places, tails, missing)


def _numbered(
    counts: dict[tuple[str, str], int],
    places: dict[tuple[str, str], list[Span]],
    tails: dict[str, list[tuple[Json, list[Span]]]],
    missing: set[str],
) -> OpOutput:
    ordered = sorted(counts)
    groups = [places[key][:SPANS_PER_ITEM] for key in ordered] + [spans for tail in tails.values() for _, spans in tail]
    value: dict[str, Json] = {"items": [{"name": key[0], "kind": key[1], "count": counts[key]} for key in ordered]}
    value |= {name: [item for item, _ in tail] for name, tail in tails.items()}
    value["not_found"] = sorted(missing - {name for name, _ in ordered})
    spans = [Span(item=at, start=s.start, end=s.end) for at, group in enumerate(groups) for s in group]
    return OpOutput(value=value, spans=tuple(spans))


def join_facts(outputs: Sequence[OpOutput]) -> OpOutput:
    """Facts and aliases of the parts, one after another."""
    value: dict[str, Json] = {"items": [], "facts": [], "aliases": []}
    spans: dict[str, list[Span]] = {"facts": [], "aliases": []}
    for output in outputs:
        count = len(output.value["facts"])
        for span in output.spans:
            name = "facts" if span.item < count else "aliases"
            at = span.item - (0 if name == "facts" else count) + len(value[name])
            spans[name].append(Span(item=at, start=span.start, end=span.end))
        for name in spans:
            value[name] += output.value[name]
    moved = [Span(item=s.item + len(value["facts"]), start=s.start, end=s.end) for s in spans["aliases"]]
    return OpOutput(value=value, spans=(*spans["facts"], *moved))


FACTS = Ask(prompt=_FACTS, schema=_FACTS_SCHEMA, finish=_told, join=join_facts)
EXTRACT = Ask(prompt=_EXTRACT, schema=_SCHEMA, finish=_extracted, join=join_lists)
