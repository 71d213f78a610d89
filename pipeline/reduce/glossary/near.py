"""Names that are alike, put to a rule or a language model pair by pair with passages that hold both.

That two names are alike is no evidence: it only chooses what is asked. A pair is one entity where a sentence of the
book says so, quoted letter by letter with both names in it; and no two names are joined over a third that one of them
was judged to be different from.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from rapidfuzz import fuzz

from pipeline.models.extractive.scripts import HAN
from pipeline.models.extractive.words import words
from pipeline.models.llm.fence import fenced
from pipeline.models.llm.quotes import Quotes
from pipeline.ops.asking import Ask, Material, Params
from pipeline.ops.kinds import Inquiry, MapOp, Merged, Question, Source
from pipeline.ops.llm.schemas import TEXT, one_of, table
from pipeline.ops.values import Json, OpOutput
from pipeline.reduce.aliases import linked

SAME, DIFFERENT, UNSURE = "same", "different", "unsure"
_PEOPLE = ("person", "name")
_HAN_NAME = re.compile(f"[{HAN}·]+")
_ALIKE_HAN, _ALIKE = 66, 75  # rapidfuzz's ratio of two keys from which on they are alike
_LEAST_HAN, _LEAST = 2, 4  # characters that a name needs, so that being alike says something
_BLOCK = 64  # names of a block that are compared, the most mentioned first
_OF_A_KIND = words("s es 's man men n ns an ans ian ians ite ites ish")  # endings of English plurals and folk
_LEAVES = 8  # chunks with both names that are looked into
_APART = 200  # characters between two names of one passage at most
_AROUND = 120  # characters that are shown before and after them
_PASSAGES = 3
_GAP = "\n⋯\n"  # no quote reaches over it
_ENDS = ".!?。！？\n"

Pair = tuple[int, int]  # ranks in the judgement's list


def find(merged: Merged) -> Iterator[Question]:
    """A question for each pair of alike names that stand in one chunk, those of the most mentioned first."""
    keep = merged.resolved["keep"]
    pairs = alike(keep)
    where = _leaves(merged, {rank for pair in pairs for rank in pair})
    for one, two in pairs:
        shared = sorted(set(where[one]).intersection(where[two]))[:_LEAVES]
        if shared:
            names = sorted([keep[one]["name"], keep[one]["kind"]] for one in (one, two))
            about = {which: {"name": name, "kind": kind} for which, (name, kind) in zip(_SIDES, names, strict=True)}
            yield Question(about=about, places=tuple((leaf, -1) for leaf in shared))


_SIDES = ("one", "two")


def alike(keep: Sequence[Json]) -> list[Pair]:
    """Pairs of entries whose names are alike and whose kinds may be one, most mentioned first."""
    blocks: dict[str, list[int]] = defaultdict(list)
    for rank, entry in enumerate(keep):
        for block in sorted(_blocks(entry["name"].casefold())):
            if len(blocks[block]) < _BLOCK:  # entries come most mentioned first
                blocks[block].append(rank)
    found: set[Pair] = set()
    for ranks in blocks.values():
        for at, one in enumerate(ranks):
            found.update((one, two) for two in ranks[at + 1 :] if _are_alike(keep[one], keep[two]))
    return sorted(found, key=lambda pair: (-keep[pair[0]]["count"] - keep[pair[1]]["count"], pair))


def _blocks(name: str) -> set[str]:
    """Where names meet that are to be compared: two names that are alike share one of these."""
    if _HAN_NAME.fullmatch(name):
        return {name[at : at + 2] for at in range(len(name) - 1)} | {f"{name[0]}…{name[-1]}"}
    words = re.findall(r"\w{3,}", name)
    return set(words) | {word[:3] for word in words} | {f"…{word[-3:]}" for word in words}


def _are_alike(one: Json, two: Json) -> bool:
    if one["kind"] != two["kind"] and not {one["kind"], two["kind"]} <= set(_PEOPLE):
        return False
    names = one["name"].casefold(), two["name"].casefold()
    if all(_HAN_NAME.fullmatch(name) for name in names):
        least, alike_from = _LEAST_HAN, _ALIKE_HAN
    else:
        least, alike_from = _LEAST, _ALIKE
    if names[0] == names[1] or min(map(len, names)) < least or _are_two(*sorted(names, key=len)):
        return False
    one_words, two_words = (set(name.split()) for name in names)
    return fuzz.ratio(*names) >= alike_from or one_words < two_words or two_words < one_words


def _are_two(short: str, long: str) -> bool:
    """Names that tell by their form that they are two: many of one kind (Mason, Masons; Moab, Moabites), and something
    of somebody (God of Israel, Israel)."""
    if long.startswith(short) and long[len(short) :] in _OF_A_KIND:
        return True
    words, tail = long.split(), short.split()
    before = [word for word in words[: -len(tail)] if word != "the"]
    return words[-len(tail) :] == tail and before[-1:] == ["of"]


def _leaves(merged: Merged, ranks: set[int]) -> Mapping[int, array[int]]:
    """The leaves that mention each of some entries; one shard is looked at at a time."""
    keep = merged.resolved["keep"]
    owner = {(key, kind): rank for rank in ranks for key, kind in keep[rank]["members"]}
    found: dict[int, array[int]] = defaultdict(lambda: array("i"))
    for shard in range(len(merged.values) if ranks else 0):
        for entry in merged.values[shard]["entries"]:
            rank = owner.get((entry["key"], entry["kind"]))
            if rank is not None:
                found[rank].extend(merged.leaves[shard][part] for part, _ in entry["cites"])
    return found


# What is shown


def shown(about: Json, sources: Sequence[Source]) -> str | None:
    """The passages in which the names stand nearest to each other, in the order of the book; None without any."""
    found: list[tuple[int, int, str]] = []
    for number, source in enumerate(sources):
        nearest = _nearest(source.text, about["one"]["name"], about["two"]["name"])
        if nearest is not None:
            start, end = nearest
            passage = source.text[max(0, start - _AROUND) : end + _AROUND].strip()
            found.append((end - start, number, passage))
    best = sorted(sorted(found)[:_PASSAGES], key=lambda item: item[1])
    return _GAP.join(passage for _, _, passage in best) or None


def _nearest(text: str, one: str, two: str) -> tuple[int, int] | None:
    """From the first to the last character of both names where they stand nearest to each other, apart."""
    ones, twos = _places(text, one, two), _places(text, two, one)
    spans = [
        (max(end, other_end) - min(start, other), min(start, other), max(end, other_end))
        for start, end in ones
        for other, other_end in twos
        if max(start, other) - min(end, other_end) <= _APART
    ]
    return min(spans)[1:] if spans else None


def _places(text: str, name: str, other: str) -> list[tuple[int, int]]:
    """Where a name stands by itself: not within the other one, where that is longer."""
    inside = [match.span() for match in _named(other).finditer(text)] if name in other else []
    return [
        match.span()
        for match in _named(name).finditer(text)
        if not any(start <= match.start() and match.end() <= end for start, end in inside)
    ]


@lru_cache(maxsize=1024)
def _named(name: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, name.split()))
    return re.compile(words if _HAN_NAME.fullmatch(name) else rf"(?<!\w){words}(?!\w)")


# The rule

_SAYS = (
    r"that\sis|that\sis\sto\ssay|i\.e\.|alias|"
    r"(?:(?:was|is)\s)?(?:also|otherwise|properly|sometimes|often)\s(?:called|named)|"
    r"(?:(?:was|is)\s)?(?:also\s|otherwise\s|properly\s|sometimes\s|often\s)?(?:spelt|spelled|written|known\sas)"
)
_IS = (
    r"(?:was|is)\s(?:really\s|only\s|but\s)?"
    r"(?:short\sfor|the\ssame\s(?:(?:man|woman|person|place|name)\s)?as|another\s(?:name|form|spelling)\s(?:of|for))"
)
_SAYS_HAN = "即|就是|便是|乃是|正是|又作|亦作|也作|一作|或作|又名|亦名|本名|原名|也叫|又叫|实为|實為"
_MARKS = r"[\s,;:—–(\"“‘'（“「『]*"
_MARKS_HAN = "[，,、（(“「『]*"


def by_rule(text: str, params: Params) -> OpOutput:
    """`{"verdict", "quote"}`: the same where a sentence says so in plain words, else unsure."""
    names = [params["before"][which]["name"] for which in _SIDES]
    for one, two in (names, names[::-1]):
        first, second = _named(one).pattern, _named(two).pattern
        if _HAN_NAME.fullmatch(one):
            says = rf"{first}{_MARKS_HAN}(?:{_SAYS_HAN}){_MARKS_HAN}{second}(?=[”」』）)，。；、！？,.!?;\n]|$)"
        else:
            says = rf"{first}{_MARKS}(?:{_SAYS}|{_IS}){_MARKS}(?:the\s)?{second}"
        if (match := re.search(says, text)) is not None:
            return OpOutput(value={"verdict": SAME, "quote": _sentence(text, match.start(), match.end())})
    return OpOutput(value={"verdict": UNSURE, "quote": ""})


def _sentence(text: str, start: int, end: int) -> str:
    """The sentence around a place, as the text has it."""
    before = max(text.rfind(mark, 0, start) for mark in _ENDS) + 1
    after = min((at for mark in _ENDS if (at := text.find(mark, end)) >= 0), default=len(text))
    return text[before : after + 1].strip()


# The model

_JUDGE = """The passages below hold two names that look alike:
{{ names }}
Decide by the passages alone, not by how the names look, whether both are names of one and the same. verdict is one of
same: a sentence of the passages says so, or can not be read otherwise;
different: the passages show two;
unsure: they do not tell.
quote: for same, the sentence that says so, copied from the passages letter by letter, with both names in it; else "".

{{ text }}"""


def _sees(material: Material) -> Mapping[str, Json]:
    about = material.children[0]
    return {"names": fenced("\n".join(about[which]["name"] for which in _SIDES))}


def _judged(answer: Json, material: Material) -> OpOutput:
    """`{"verdict", "quote"}`. "Same" without a sentence of the passages that names both is unsure."""
    verdict, quote = answer["verdict"], ""
    if verdict == SAME:
        place = Quotes(material.text).find(answer["quote"])
        quote = material.text[place.start : place.end] if place is not None else ""
        names = [material.children[0][which]["name"] for which in _SIDES]
        if _GAP in quote or not (_places(quote, *names) and _places(quote, *names[::-1])):
            verdict, quote = UNSURE, ""
    return OpOutput(value={"verdict": verdict, "quote": quote})


INQUIRY = Inquiry(
    option="near_names",
    op=MapOp(
        name="judge_names",
        version=1,
        run=by_rule,
        ask=Ask(
            prompt=_JUDGE, schema=table(verdict=one_of(SAME, DIFFERENT, UNSURE), quote=TEXT), finish=_judged, sees=_sees
        ),
    ),
    find=find,
    shown=shown,
)


# What comes of the answers


def joined(resolved: Json, answers: Iterable[tuple[Json, Json]]) -> Json:
    """The judgement with the pairs joined that were found to be one; `answers` are (about, answer) in any order.

    A joined entry has `near`: `[[alias, name, quote], …]`. Where an alias was found to be two, it is neither's.
    """
    ranks = {(entry["name"], entry["kind"]): rank for rank, entry in enumerate(resolved["keep"])}
    said: dict[Pair, str] = {}
    apart: set[Pair] = set()
    for about, answer in answers:
        sides = [ranks.get((about[which]["name"], about[which]["kind"])) for which in _SIDES]
        low, high = sorted(side for side in sides if side is not None) if None not in sides else (0, 0)
        if low == high:
            continue  # one of them is no entry any more
        if answer["verdict"] == SAME:
            said[low, high] = answer["quote"]
        elif answer["verdict"] == DIFFERENT:
            apart.add((low, high))
    return _joined(resolved["keep"], said, apart) if said else resolved


def _joined(keep: Sequence[Json], said: Mapping[Pair, str], apart: set[Pair]) -> Json:
    # Ranks as texts: the lower one of a pair, which is mentioned more, is the name.
    links = linked([(str(high), str(low), 1) for low, high in said], {str(at): e["count"] for at, e in enumerate(keep)})
    groups: dict[int, list[int]] = defaultdict(list)
    for alias, root in sorted((int(link.alias), int(link.root)) for link in links):
        if not any((min(alias, one), max(alias, one)) in apart for one in (root, *groups[root])):
            groups[root].append(alias)
    gone = {alias for aliases in groups.values() for alias in aliases}
    made = [
        _absorbed(keep, rank, groups[rank], said) if groups.get(rank) else entry
        for rank, entry in enumerate(keep)
        if rank not in gone
    ]
    return {"keep": sorted(made, key=lambda entry: (-entry["count"], entry["name"], entry["kind"]))}


def _absorbed(keep: Sequence[Json], root: int, aliases: Sequence[int], said: Mapping[Pair, str]) -> Json:
    entry, others = keep[root], [keep[at] for at in aliases]
    group = {root, *aliases}
    pairs = sorted(pair for pair in said if group.issuperset(pair))
    near = [[keep[high]["name"], keep[low]["name"], said[low, high]] for low, high in pairs]
    whole = [entry, *others]
    made = entry | {
        "count": sum(one["count"] for one in whole),
        "aliases": sorted({name for one in whole for name in (one["name"], *one["aliases"])} - {entry["name"]}),
        "members": sorted(member for one in whole for member in one["members"]),
        "near": sorted(near),
    }
    stated = [link for one in whole for link in one.get("stated", ())]
    return made | ({"stated": sorted(stated)} if stated else {})
