"""Sentences that say a name has another: by the words with which languages do so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.models.extractive.scripts import HAN
from pipeline.models.extractive.words import words

_NAME = r"(?:[A-ZÀ-ÖØ-Þ][\w’'\-]+)(?:\s(?:[A-ZÀ-ÖØ-Þ][\w’'\-]+|of|the|de|von|van)){0,4}"
_QUOTED = r"[\"“‘']\s*(?P<alias>[^\"”’'\n]{2,40}?)\s*[,.]?[\"”’']"
_CALLED = (
    r"(?:called|named|nicknamed|dubbed|styled|surnamed|known\s+as|went\s+by\s+the\s+name\s+of|by\s+the\s+name\s+of)"
)
_ENGLISH = (
    re.compile(rf"(?P<name>{_NAME}),?\s(?:who\s)?(?:was|is|had\sbeen|were|are|also|better|commonly)?\s?"
               rf"(?:also\s|better\s|commonly\s|often\s)?{_CALLED}\s(?:as\s)?{_QUOTED}"),
    re.compile(rf"(?P<name>{_NAME}),?\s(?:also\s|better\s|commonly\s)?known\sas\s(?:the\s)?(?P<alias>{_NAME})"),
    re.compile(rf"(?:called|nicknamed|dubbed)\s(?P<name>{_NAME})\s(?:the\s)?{_QUOTED}"),
    re.compile(rf"{_QUOTED}\s(?:was|is|were|had\sbeen)\s(?:really\s|in\struth\s|none\sother\sthan\s)?(?P<name>{_NAME})"),
    re.compile(rf"(?P<alias>{_NAME})\s(?:was|is)\s(?:none\sother\sthan|really|in\struth)\s(?P<name>{_NAME})"),
)  # fmt: skip
_H = f"[{HAN}·]"
_HAN_QUOTED = rf"[“「『‘](?P<alias>{_H}{{2,8}})[”」』’]"
_SAID = (
    "(?:人称|人稱|号称|号稱|绰号|綽號|外号|外號|诨名|諢名|浑名|别号|別號|化名|又名|别名|別名"
    "|法名|法号|法號|道号|道號|自称|自稱)"
)
_CHINESE = (
    re.compile(rf"(?P<name>{_H}{{2,4}})[，,]?{_SAID}(?:为|為|作|叫|唤作|喚作|做)?{_HAN_QUOTED}"),
    re.compile(rf"(?:管|把|将|將|称|稱|唤|喚)(?P<name>{_H}{{2,4}}?)(?:叫做|叫作|叫|唤作|喚作|称作|稱作|称为|稱為){_HAN_QUOTED}"),
    re.compile(rf"{_HAN_QUOTED}(?:就是|正是|便是|乃是|原是|原来就是|原來就是|即是)(?P<name>{_H}{{2,4}})(?=[！!。，,？?；;…\n]|$)"),
    re.compile(rf"(?P<name>{_H}{{2,4}})(?:就是|正是|便是|即是){_HAN_QUOTED}"),
    re.compile(rf"(?<![{HAN}])(?P<name>(?!名|姓|字){_H}{{2,3}})[，,]表?字(?P<alias>{_H}{{2}})(?=[，,。；;、\n]|$)"),
)  # fmt: skip
_GIVEN = re.compile(
    rf"姓(?P<family>{_H}{{1,2}})[，,]?名(?P<given>{_H}{{1,2}})[，,]表?字(?P<alias>{_H}{{2}})(?=[，,。；;、\n]|$)"
)
_NOBODY = words(
    "他 她 我 你 其 此人 那人 这人 這人 来人 來人 众人 眾人 人们 人們 大家 he she it i they we you this that"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """A sentence's part that says it, with its place."""

    name: str
    alias: str
    start: int
    end: int
    given: bool = False  # with family name, given name and courtesy name: that can be nothing but a name


def stated_aliases(text: str) -> list[Stated]:
    """The aliases that a text states, in order of their places; each pair once at each place."""
    found = {(one.start, one.name, one.alias): one for one in _all(text)}
    return [found[key] for key in sorted(found)]


def _all(text: str) -> Iterator[Stated]:
    for pattern in (*_ENGLISH, *_CHINESE):
        for match in pattern.finditer(text):
            name, alias = match.group("name").strip(" ·"), match.group("alias").strip(" ·")
            if pattern in _ENGLISH and not alias.split()[-1][:1].isupper():
                continue  # what is quoted is a word, no name
            if name != alias and name.lower() not in _NOBODY and alias.lower() not in _NOBODY:
                yield Stated(name=name, alias=alias, start=match.start(), end=match.end())
    for match in _GIVEN.finditer(text):
        name = match.group("family") + match.group("given")
        yield Stated(name=name, alias=match.group("alias"), start=match.start(), end=match.end(), given=True)
