"""The facts op by rule: what a text states of somebody in the plain ways in which languages say it.

Looks of the body, birth, hand, kin, death, and names that somebody has beside his own. It finds few things and is
seldom wrong; a language model finds more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.models.extractive import names_han
from pipeline.models.extractive import words_en as en
from pipeline.models.extractive import words_han as han
from pipeline.models.extractive.masking import mask
from pipeline.models.extractive.scripts import HAN, Script, script_of
from pipeline.models.extractive.segment import sentences
from pipeline.models.extractive.stated import aliases_of
from pipeline.ops.values import Json, OpOutput, Span

_NAME = r"(?P<name>[A-ZÀ-ÖØ-Þ][\w’'\-]+(?:\s[A-ZÀ-ÖØ-Þ][\w’'\-]+){0,3})"
_PART = r"(?P<part>eyes|hair|beard|skin|complexion)"
_LOOK = r"(?P<value>(?:(?:very|rather|quite|dark|light|pale|deep|bright)[\s-])?[a-z]+(?:-[a-z]+)?)"
_PLACE = r"(?P<value>(?:the\s)?[A-Z][\w’'\-]+(?:\s[A-Z][\w’'\-]+){0,3})"
_KIN = r"(?P<attribute>son|daughter|wife|husband|widow|father|mother|brother|sister|nephew|niece)"
_BODY = r"(?P<value>(?:left|right)?\s?(?:cheek|brow|forehead|chin|throat|neck|hand|arm|shoulder|leg|face))"
_ENGLISH: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("", re.compile(rf"{_NAME}[’']s\s{_PART}\s(?:were|was|are|is)\s(?:of\s)?(?:a\s)?{_LOOK}(?=[\s,.;!?])")),
    ("", re.compile(rf"{_NAME}(?:\s\w+){{0,3}}\s(?:with|had|has)\s(?:a\s)?{_LOOK}\s{_PART}\b")),
    ("", re.compile(rf"{_NAME}[’']s\s{_LOOK}\s{_PART}\b")),
    ("hand", re.compile(rf"{_NAME}\s(?:was|is|ha[sd]\salways\sbeen)\s(?P<value>(?:left|right)-handed)\b")),
    ("birthplace", re.compile(rf"{_NAME}\s(?:was|had\sbeen)\sborn\s(?:in|at|near)\s{_PLACE}")),
    ("scar", re.compile(rf"\bscar\s(?:on|across|over)\s{_NAME}[’']s\s{_BODY}\b")),
    ("", re.compile(rf"{_NAME}\s(?:was|is)\sthe\s(?:eldest\s|youngest\s|only\s)?{_KIN}\sof\s{_PLACE}")),
)  # fmt: skip
_H = f"[{HAN}]"
_END = "(?=[，。；！？、\n]|$)"
_HAN_PART = "(?P<part>眼睛|双眼|雙眼|眸子|头发|頭髮|胡须|鬍鬚|皮肤|皮膚)"
_SCAR = "(?:有|留着|留有|带着|帶着)(?:一|几|幾)[道条條块塊处處](?:旧|舊|长|長|深)?(?:疤|伤痕|傷痕|伤疤|傷疤)"
_BORN = "(?:生于|生於|生在|出生于|出生於|出生在)"
_CHINESE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("", re.compile(rf"的{_HAN_PART}(?:是|为|為|呈)(?P<value>{_H}{{1,4}}?)的?{_END}")),
    ("", re.compile(rf"(?:那|一)[双雙头頭](?P<value>{_H}{{1,4}}?)的{_HAN_PART}")),
    ("birthplace", re.compile(rf"{_BORN}(?P<value>{_H}{{1,5}}[{''.join(sorted(han.PLACE_LAST))}]){_END}")),
    ("scar", re.compile(rf"的(?P<value>{_H}{{1,5}}?)上?{_SCAR}")),
    ("hand", re.compile("(?:是|向来是|向來是)(?P<value>左撇子|惯用左手|慣用左手|惯用右手|慣用右手)")),
)
_DIES = re.compile(rf"{_NAME}\s(?:died|was\skilled|was\sslain|lay\sdead|breathed\s(?:his|her)\slast)\b")
_PARTS = {
    "eyes": "eyes", "眼睛": "eyes", "双眼": "eyes", "雙眼": "eyes", "眸子": "eyes", "hair": "hair", "头发": "hair",
    "頭髮": "hair", "beard": "beard", "胡须": "beard", "鬍鬚": "beard", "skin": "skin", "complexion": "skin",
    "皮肤": "skin", "皮膚": "skin",
}  # fmt: skip
# Words of looks: a value of the body is one of these, or ends in one.
_LOOKS = re.compile(
    r"(?:black|brown|blue|green|grey|gray|hazel|amber|violet|golden|gold|silver|red|white|fair|blond|blonde|dark|pale|"
    r"auburn|chestnut|sallow|swarthy|ruddy)$|[黑白红紅青蓝藍绿綠紫黄黃灰金银銀褐碧赤乌烏]|色$"
)


@dataclass(frozen=True, slots=True)
class _Found:
    subject: str
    attribute: str
    value: str
    start: int
    end: int


def facts(text: str) -> OpOutput:
    """Facts and stated aliases of a chunk.

    Value: `{"items": [], "facts": [{"subject", "attribute", "value", "quote"}, …], "aliases": [{"name", "alias",
    "quote"}, …]}` in the order of their places. Spans number the lists through and cover the sentence.
    """
    masked = mask(text)
    script = script_of(masked)
    known = {found.name for found in names_han.find_names(masked)} if script is Script.HAN else set()
    told: list[tuple[Json, int, int]] = []
    named: list[tuple[Json, int, int]] = []
    for sentence in sentences(text, masked, script):
        part = masked[sentence.start : sentence.end]
        for found in _facts_of(part, script, known):
            item = {"subject": found.subject, "attribute": found.attribute, "value": found.value}
            told.append((item | {"quote": sentence.text}, sentence.start, sentence.end))
        named += aliases_of(sentence, masked, script, known)
    spans = tuple(Span(item=at, start=start, end=end) for at, (_, start, end) in enumerate([*told, *named]))
    value = {"items": [], "facts": [item for item, _, _ in told], "aliases": [item for item, _, _ in named]}
    return OpOutput(value=value, spans=spans)


def _facts_of(sentence: str, script: Script, known: set[str]) -> Iterator[_Found]:
    if script is Script.HAN:
        yield from _chinese(sentence, known)
    elif script is Script.SPACED:
        yield from _english(sentence)


def _english(sentence: str) -> Iterator[_Found]:
    for attribute, pattern in _ENGLISH:
        for match in pattern.finditer(sentence):
            yield from _made(attribute, match, match.group("name"))
    for match in _DIES.finditer(sentence):
        if _is_name(match.group("name")):
            yield _Found(match.group("name"), "alive", "false", match.start(), match.end())


def _chinese(sentence: str, known: set[str]) -> Iterator[_Found]:
    for attribute, pattern in _CHINESE:
        for match in pattern.finditer(sentence):
            subject = _subject(sentence[: match.start()], known)
            if subject:
                yield from _made(attribute, match, subject)


def _subject(before: str, known: set[str]) -> str:
    """The name that a sentence is about: the last one before the statement that stands at the start of a clause."""
    for clause in reversed(re.split(r"[，,。；;：:！!？?“”「」]", before)):
        starts = [name for name in known if clause.startswith(name) and name[0] not in "字姓名"]
        if starts:
            return max(starts, key=lambda name: (len(name), name))
    return ""


def _made(attribute: str, match: re.Match[str], subject: str) -> Iterator[_Found]:
    groups = match.groupdict()
    part, value = groups.get("part"), " ".join((groups.get("value") or "").split())
    if part is not None:
        attribute = _PARTS[part]
        if not _LOOKS.search(value):
            return
    attribute = attribute or groups.get("attribute") or ""
    if attribute and value and _is_name(subject):
        yield _Found(subject, attribute, value, match.start(), match.end())


def _is_name(name: str) -> bool:
    parts = name.split()
    first = parts[-1 if len(parts) == 2 and parts[0] == "The" else 0].lower()
    return first not in en.STOP_WORDS and first not in en.PRONOUNS and name not in han.STOP_WORDS
