"""Chapter lines: what one line of plain text says if it is a heading, in English, Chinese, Japanese, Korean, Russian.

Here a line is judged by itself; structure.py judges it by what stands around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pipeline.read.chapter_words import (
    BOOK_RANK,
    CHAPTER_RANK,
    CONTENTS_WORDS,
    EASTERN_COMPOUNDS,
    EASTERN_NAMES,
    EASTERN_UNITS,
    END_WORDS,
    SECTION_RANK,
    SIDE_UNITS,
    SURAH,
    WESTERN_NAMES,
    WESTERN_UNITS,
)
from pipeline.read.numerals import (
    HAN_NUMERAL,
    HANGUL_NUMERAL,
    english_words_pattern,
    parse_number,
    russian_words_pattern,
)

_CONTENTS_LENGTH = 40
MAX_LINE = 160  # characters; a longer line is no heading


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A line that may be a heading."""

    title: str
    unit: str  # "chapter", "book" … as the line calls it; "named", "number", "verse", "contents" for the others
    rank: int
    number: int | None = None
    through: int | None = None  # the last number of one that stands for several: 第100-101章
    sure: bool = True  # False: only what stands around the line can tell
    weak: bool = False  # it must begin or go on with the count of its unit: 3화
    doubtful: bool = (
        False  # it must be the next of the count: 第三章节日 is prose but where the second 章 stands before
    )
    ends: bool = False  # it may say that a chapter ends: 第三章完
    bare: bool = False  # nothing but unit and number
    outer: tuple[str, int, int | None] | None = None  # a volume named on the same line: its title, rank and number


def _either(words: tuple[str, ...] | list[str]) -> str:
    return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True))


# One string for each unit, however many headings name it.
_CANONICAL = {unit: unit for unit in (*WESTERN_UNITS, *EASTERN_UNITS)} | {
    "chap": "chapter",
    "ch": "chapter",
    "vol": "volume",
}
_HAN = rf"[{HAN_NUMERAL}]{{1,12}}"
_ROMAN = r"[IVXLCDM]{1,15}|(?-i:[ivx]{1,6})"
_WESTERN = re.compile(
    rf"(?P<unit>{_either(list(WESTERN_UNITS))})\b\.?"
    rf"(?:\s*(?P<digits>\d{{1,6}})(?P<fraction>\.\d{{1,2}}(?![\d.]))?(?!\d)"
    rf"|\s+(?:the\s+)?(?P<words>{english_words_pattern()}|{russian_words_pattern()}|(?-i:{_ROMAN}))\b)(?P<rest>.*)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?:(?P<words>{english_words_pattern()})\s+)?(?P<name>{_either(WESTERN_NAMES)})\b"
    rf"(?:\s+(?P<number>\d{{1,3}}|(?-i:[IVXLC]{{1,6}}|[A-Z]))\b)?(?P<rest>.*)",
    re.IGNORECASE,
)
_EASTERN = re.compile(
    rf"(?:正文[\s　]*)?[【\[（(《〈「『]?\s*(?:第|제)\s*(?P<number>{_HAN}|[{HANGUL_NUMERAL}]{{1,6}})\s*"
    rf"(?:[-–—~～至到、]\s*第?\s*(?P<through>{_HAN})\s*)?"
    rf"(?P<unit>[{''.join(EASTERN_UNITS)}])(?P<close>[】\])）》〉」』]?)(?P<rest>.*)"
)
# Without 第 before the number: 1화, 12장. 등대, 三章, 三十話 灯.
_EASTERN_BARE = re.compile(
    rf"(?P<number>{_HAN})\s?(?P<unit>[화장회막권부편章話话回幕])(?P<rest>$|[.．:：、·—–)）-].*|[\s　]+\S.*)"
)
_EASTERN_VOLUME = re.compile(r"[【「]?[上中下前後后](?P<unit>[巻卷編编篇部册冊])[】」]?(?P<rest>$|[\s　:：].*)")
_JAPANESE_COUNT = re.compile(rf"(?:その|其の|其之|其ノ)\s*(?P<number>{_HAN})(?P<rest>$|[\s　:：].*)")
_EASTERN_SHORT = re.compile(
    rf"(?P<unit>[卷章回巻])\s*[之のノ]?\s*(?P<number>{_HAN})(?P<rest>$|[\s　:：、.．·—–-].*|第.*)"
)
_EASTERN_NAMED = re.compile(
    rf"[【\[（(]?(?P<name>{_either(EASTERN_NAMES)})(?:篇|编|之)?(?P<number>{_HAN})?[】\])）]?(?P<rest>.*)"
)
_INNER = re.compile(rf"[\s　:：、·—–-]*(?:第|제)\s*{_HAN}\s*[章回话話折节節장화회]")
_NUMBER = re.compile(
    rf"[(（【\[]?(?:(?P<digits>\d{{1,4}}|[０-９]{{1,4}})|(?P<words>[IVXLCDM]{{1,15}}|{_HAN}))[)）】\]]?[.．、。:]?"
)
_VERSE = re.compile(r"(?P<name>(?:[1-3] )?[A-Z][a-z]+(?: [a-z]{2,3} [A-Z][a-z]+)?) (?P<number>\d{1,3})")
_AOZORA = re.compile(r"［＃「(?P<title>[^」]{1,80})」は(?P<size>[大中小])見出し］")
_SURAH = re.compile(rf"{SURAH} \S[^.،:؛]{{0,40}}")
_AOZORA_RANK = {"大": 45, "中": CHAPTER_RANK, "小": SECTION_RANK}
_SEPARATED = re.compile(r"\s*(?:[.:：)\]|．、·]+|--+|[-–—―~～])\s*")
_SENTENCE_INSIDE = re.compile(r"[.!?…]['\"”’)]?\s+\S|[。；！？]['\"”’」』]?[^\s”’」』)）!！?？…]")
# What follows a number when a sentence goes on: "第四回中…", "第三章里…", "第一章では…".
_GOES_ON = frozenset("中里裡裏的是也都了之所和与與及後后時时，。、；！？,;")
_PROSE_WORDS = frozenset("的地得了是着著过吗呢吧在")
CONTENTS = re.compile(rf"[\W_]*(?:{_either(CONTENTS_WORDS)})[\W_]*", re.IGNORECASE)


def heading_of(line: str) -> Heading | None:
    """The heading that a line (no line end, no space around it, no zero-width characters) can be, or None."""
    if not line or len(line) > MAX_LINE:
        return None
    if len(line) < _CONTENTS_LENGTH and CONTENTS.fullmatch(line):
        return Heading(title=line, unit="contents", rank=0)
    for judge in _ASCII_JUDGES if line.isascii() else _JUDGES:
        heading = judge(line)
        if heading is not None:
            return heading
    return None


def _western(line: str) -> Heading | None:
    found = _WESTERN.fullmatch(line)
    if found is None:
        return None
    unit = " ".join(found["unit"].casefold().split())
    number = parse_number(found["digits"] or found["words"])
    if number is None and found["words"] is not None and found["words"].casefold() not in ("last", "final"):
        return None
    rank = WESTERN_UNITS[unit]
    inner = _western(found["rest"].lstrip(" .,:;–—-")) if rank < CHAPTER_RANK and found["rest"] else None
    if inner is not None and inner.rank > rank:
        title = line[: found.start("rest")]
        return replace(inner, title=line, outer=(title, rank, number))
    if not _is_western_title(found["rest"]):
        return None
    if unit in SIDE_UNITS or found["fraction"]:
        return Heading(
            title=line, unit=_CANONICAL[unit] if unit in SIDE_UNITS else "side story", rank=rank, number=number
        )
    return Heading(title=line, unit=_CANONICAL[unit], rank=rank, number=number, bare=not found["rest"].strip(" .:"))


def _is_western_title(rest: str) -> bool:
    """Whether what follows "Chapter 3" is a title, and not the rest of a sentence."""
    if not rest.strip(" .:)]-–—"):
        return True
    separated = _SEPARATED.match(rest)
    title = rest[separated.end() :] if separated else rest.strip()
    if not separated and not rest[0].isspace() and rest[0] not in "([（【":
        return False
    if len(title) > 100 or title[-1] in ",;":
        return False
    sentences = _SENTENCE_INSIDE.search(title) is not None and title[-1] in '.!?"”'
    if sentences and (not separated or len(title) > 60):
        return False
    if separated:
        return True
    words = title.split()
    if title[0].islower() or title[0] in ",;":
        return False
    return not (title[-1] == "." and len(words) > 5 and sum(word[0].islower() for word in words) > len(words) / 2)


def _eastern(line: str) -> Heading | None:
    found = _EASTERN.fullmatch(line)
    if found is None:
        return None
    rank, number, rest = EASTERN_UNITS[found["unit"]], parse_number(found["number"]), found["rest"]
    if rank < CHAPTER_RANK:
        inner = _INNER.search(rest[:40])
        if inner is not None:
            chapter = _eastern(rest[inner.start() :].lstrip(" 　:：、·—–-"))
            if chapter is not None:
                title = line[: found.start("rest") + inner.start()].strip()
                return replace(chapter, title=line, outer=(title, rank, number))
    glued = bool(rest) and not found["close"] and not (rest[0].isspace() or rest[0] in ":：、.．·-—–|(（[【《「“")
    if not _is_eastern_title(rest, glued=glued):
        return None
    doubtful = glued and rest[0] in EASTERN_COMPOUNDS.get(found["unit"], "")
    if doubtful and (rank < CHAPTER_RANK or not _PROSE_WORDS.isdisjoint(rest)):
        return None
    in_hangul = found["number"][0] in HANGUL_NUMERAL  # 제사장 is the fourth chapter or a priest
    return Heading(
        title=line,
        unit=_CANONICAL[found["unit"]] + "제" * in_hangul,
        rank=rank,
        number=number,
        through=parse_number(found["through"] or ""),
        sure=not glued and not doubtful,
        doubtful=doubtful or in_hangul,
        ends=rest.strip(" 　（）()") in END_WORDS,
    )


def _is_eastern_title(rest: str, *, glued: bool) -> bool:
    title = rest.strip(" \t　:：、.．·-—–|")
    if not title:
        return True
    if len(title) > (24 if glued else 60) or title[-1] in "，、；：,;。" or _SENTENCE_INSIDE.search(title):
        return False
    commas = title.count("，") + title.count("。")
    if glued:
        return title[0] not in _GOES_ON and not commas and not ("ぁ" <= title[0] <= "ん") and not (
            "가" <= title[0] <= "힣")  # fmt: skip
    return commas <= 2


def _eastern_short(line: str) -> Heading | None:
    found = _EASTERN_SHORT.fullmatch(line)
    if found is None:
        return None
    rank, number, rest = EASTERN_UNITS[found["unit"]], parse_number(found["number"]), found["rest"]
    inner = _eastern(rest.strip(" 　:：、.．·—–-")) if rank < CHAPTER_RANK else None
    if inner is not None and inner.rank > rank:
        return replace(inner, title=line, outer=(line[: found.start("rest")], rank, number))
    if not _is_eastern_title(rest, glued=False):
        return None
    return Heading(title=line, unit=_CANONICAL[found["unit"]], rank=rank, number=number)


def _eastern_bare(line: str) -> Heading | None:
    found = _EASTERN_BARE.fullmatch(line)
    if found is None or not _is_eastern_title(found["rest"], glued=False):
        return None
    unit, number = found["unit"], parse_number(found["number"])
    return Heading(title=line, unit=_CANONICAL[unit], rank=EASTERN_UNITS[unit], number=number, sure=False, weak=True)


def _eastern_other(line: str) -> Heading | None:
    """Volumes without a number (上巻, 后篇), and chapters that are counted without a unit (その一)."""
    found = _EASTERN_VOLUME.fullmatch(line) or _JAPANESE_COUNT.fullmatch(line)
    if found is None or len(line) > 40 or not _is_eastern_title(found["rest"], glued=False):
        return None
    parts = found.groupdict()
    if "unit" in parts:
        rank = EASTERN_UNITS[parts["unit"]]
        return Heading(title=line, unit=_CANONICAL[parts["unit"]], rank=rank, sure=False)
    number = parse_number(parts["number"])
    return Heading(title=line, unit="その", rank=CHAPTER_RANK, number=number, sure=False, weak=True)


def _named(line: str) -> Heading | None:
    found = _NAMED.fullmatch(line)
    if found is None or found["name"][0].islower() or len(line) > 80:
        return None
    rest = found["rest"]
    if rest.strip(" .:") and not _SEPARATED.match(rest) and rest.lstrip()[0] not in "([":
        return None
    if rest and not _is_western_title(rest):
        return None
    number = parse_number(found["words"] or "")
    return Heading(title=line, unit="named", rank=CHAPTER_RANK, number=number, sure=False)


def _eastern_named(line: str) -> Heading | None:
    found = _EASTERN_NAMED.fullmatch(line)
    if found is None or len(line) > 40:
        return None
    rest = found["rest"]
    if rest and not (rest[0].isspace() or rest[0] in ":：、.．·-—–|(（[【"):
        return None
    if not _is_eastern_title(rest, glued=False):
        return None
    number = parse_number(found["number"] or "")
    unit = "番外" if found["name"] in SIDE_UNITS else "named"
    return Heading(title=line, unit=unit, rank=CHAPTER_RANK, number=number, sure=unit == "番外")


def _number(line: str) -> Heading | None:
    found = _NUMBER.fullmatch(line)
    number = parse_number(found["digits"] or found["words"]) if found else None
    if number is None or number > 5000:
        return None
    return Heading(title=line, unit="number", rank=CHAPTER_RANK, number=number, sure=False)


def _verse(line: str) -> Heading | None:
    """A name and a number, such as "Genesis 1": the heading of a chapter in a book of books."""
    found = _VERSE.fullmatch(line)
    if found is None:
        return None
    outer = (found["name"], BOOK_RANK, None)
    return Heading(title=line, unit="verse", rank=CHAPTER_RANK, number=int(found["number"]), sure=False, outer=outer)


def _aozora(line: str) -> Heading | None:
    """Aozora Bunko marks its headings in notes: ［＃「一」は中見出し］."""
    found = _AOZORA.search(line) if "見出し］" in line else None
    if found is None:
        return None
    title = re.sub(r"［＃[^］]*］|《[^》]*》|｜", "", found["title"])
    return Heading(title=title, unit="見出し", rank=_AOZORA_RANK[found["size"]], number=parse_number(title))


def _surah(line: str) -> Heading | None:
    found = _SURAH.fullmatch(line)
    return Heading(title=line, unit=SURAH, rank=CHAPTER_RANK, sure=False) if found else None


_ASCII_JUDGES = (_western, _named, _number, _verse)
_JUDGES = (
    _aozora, _western, _eastern, _eastern_short, _named, _eastern_named, _eastern_bare, _eastern_other, _number, _verse,
    _surah,
)  # fmt: skip
