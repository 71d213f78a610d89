"""Chapter lines: what one line of plain text says if it is a heading, in English, Chinese, Japanese, Korean, Russian.

Here a line is judged by itself; structure.py judges it by what stands around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.read.numerals import HAN_NUMERAL, english_words_pattern, parse_number, russian_words_pattern

# Ranks order the kinds of heading from the outermost in; only their order counts.
VOLUME_RANK, PART_RANK, BOOK_RANK, CHAPTER_RANK, SECTION_RANK = 10, 20, 30, 50, 60
MAX_LINE = 160  # characters; a longer line is no heading


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A line that may be a heading."""

    title: str
    unit: str  # "chapter", "book" … as the line calls it; "named", "number", "verse", "contents" for the others
    rank: int
    number: int | None = None
    sure: bool = True  # False: only what stands around the line can tell
    outer: tuple[str, int, int | None] | None = None  # a volume named on the same line: its title, rank and number


_WESTERN_UNITS = {
    "volume": VOLUME_RANK, "vol": VOLUME_RANK, "том": VOLUME_RANK, "band": VOLUME_RANK,
    "part": PART_RANK, "часть": PART_RANK, "teil": PART_RANK,
    "book": BOOK_RANK, "книга": BOOK_RANK, "act": 40,
    "chapter": CHAPTER_RANK, "chap": CHAPTER_RANK, "ch": CHAPTER_RANK, "глава": CHAPTER_RANK,
    "kapitel": CHAPTER_RANK, "chapitre": CHAPTER_RANK, "capítulo": CHAPTER_RANK, "capitulo": CHAPTER_RANK,
    "capitolo": CHAPTER_RANK, "stave": CHAPTER_RANK, "canto": CHAPTER_RANK, "episode": CHAPTER_RANK,
    "letter": CHAPTER_RANK, "side story": CHAPTER_RANK, "side chapter": CHAPTER_RANK,
    "bonus chapter": CHAPTER_RANK, "extra chapter": CHAPTER_RANK, "interlude": CHAPTER_RANK, "scene": 55,
    "section": SECTION_RANK, "раздел": SECTION_RANK,
}  # fmt: skip
SIDE_UNITS = frozenset(
    {"side story", "side chapter", "bonus chapter", "extra chapter", "interlude", "番外", "外传", "外傳"}
)
_EASTERN_UNITS = {
    **dict.fromkeys("部季부", 15), **dict.fromkeys("卷巻권", PART_RANK), **dict.fromkeys("集册冊篇편", 35),
    **dict.fromkeys("幕막", 40), **dict.fromkeys("章回话話折夜장화회", CHAPTER_RANK), **dict.fromkeys("节節절", SECTION_RANK),
}  # fmt: skip
_SURAH = re.compile(r"سورة \S[^.،:؛]{0,40}")  # each of the Quran's parts is headed by this word and its name
NAMES_WESTERN = (
    "prologue", "epilogue", "foreword", "preface", "introduction", "afterword", "postscript", "interlude",
    "intermission", "appendix", "conclusion", "dedication", "acknowledgments", "acknowledgements", "author's note",
    "author’s note", "translator's note", "translator’s note", "translator's preface", "translator’s preface",
    "etymology", "extracts", "prelude", "finale", "coda", "пролог", "эпилог", "предисловие", "послесловие",
    "введение", "заключение", "приложение", "интерлюдия", "от автора",
)  # fmt: skip
NAMES_EASTERN = (
    "番外", "外传", "外傳", "楔子", "序章", "序言", "序幕", "自序", "前言", "引子", "引言", "后记", "後記", "后序", "後序", "尾声",
    "尾聲", "终章", "終章", "大结局", "大結局", "结局", "結局", "完结感言", "完本感言", "上架感言", "附录", "附錄", "题记", "題記", "幕间",
    "幕間", "序", "跋", "プロローグ", "エピローグ", "あとがき", "まえがき", "프롤로그", "에필로그", "서장", "종장", "서문", "머리말", "후기",
    "외전", "작가의 말",
)  # fmt: skip
CONTENTS_WORDS = (
    "contents", "table of contents", "содержание", "оглавление", "目录", "目錄", "目次", "总目录", "總目錄", "차례", "목차",
)  # fmt: skip


def _either(words: tuple[str, ...] | list[str]) -> str:
    return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True))


_HAN = rf"[{HAN_NUMERAL}]{{1,12}}"
_ROMAN = r"[IVXLCDM]{1,15}|(?-i:[ivx]{1,6})"
_WESTERN = re.compile(
    rf"(?P<unit>{_either(list(_WESTERN_UNITS))})\b\.?"
    rf"(?:\s*(?P<digits>\d{{1,6}})(?P<fraction>\.\d{{1,2}}(?![\d.]))?(?!\d)"
    rf"|\s+(?:the\s+)?(?P<words>{english_words_pattern()}|{russian_words_pattern()}|(?-i:{_ROMAN}))\b)(?P<rest>.*)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?:(?P<words>{english_words_pattern()})\s+)?(?P<name>{_either(NAMES_WESTERN)})\b"
    rf"(?:\s+(?P<number>\d{{1,3}}|(?-i:[IVXLC]{{1,6}}|[A-Z]))\b)?(?P<rest>.*)",
    re.IGNORECASE,
)
_EASTERN = re.compile(
    rf"(?:正文[\s　]*)?[【\[（(《〈「『]?\s*(?:第|제)\s*(?P<number>{_HAN})\s*"
    rf"(?P<unit>[{''.join(_EASTERN_UNITS)}])(?P<close>[】\])）》〉」』]?)(?P<rest>.*)"
)
_EASTERN_SHORT = re.compile(rf"(?P<unit>[卷章回巻])\s*(?P<number>{_HAN})(?P<rest>$|[\s　:：、.．·—–-].*|第.*)")
_EASTERN_NAMED = re.compile(
    rf"[【\[（(]?(?P<name>{_either(NAMES_EASTERN)})(?:篇|编|之)?(?P<number>{_HAN})?[】\])）]?(?P<rest>.*)"
)
_INNER = re.compile(rf"[\s　:：、·—–-]*(?:第|제)\s*{_HAN}\s*[章回话話折节節장화회]")
_NUMBER = re.compile(
    rf"[(（【\[]?(?:(?P<digits>\d{{1,4}}|[０-９]{{1,4}})|(?P<words>[IVXLCDM]{{1,15}}|{_HAN}))[)）】\]]?[.．、。:]?"
)
_VERSE = re.compile(r"(?P<name>(?:[1-3] )?[A-Z][a-z]+(?: [a-z]{2,3} [A-Z][a-z]+)?) (?P<number>\d{1,3})")
_AOZORA = re.compile(r"［＃「(?P<title>[^」]{1,80})」は(?P<size>[大中小])見出し］")
_AOZORA_RANK = {"大": 45, "中": CHAPTER_RANK, "小": SECTION_RANK}
_SEPARATED = re.compile(r"\s*(?:[.:：)\]|．、·]+|--+|[-–—―~～])\s*")
_SENTENCE_INSIDE = re.compile(r"[.!?…]['\"”’)]?\s+\S|[。；！？]['\"”’」』]?[^\s”’」』)）!！?？…]")
# What follows a number when a sentence goes on: "第四回中…", "第三章里…", "第一章では…".
_GOES_ON = frozenset("中里裡裏的是也都了之所和与與及後后時时，。、；！？,;")
CONTENTS = re.compile(rf"[\W_]*(?:{_either(CONTENTS_WORDS)})[\W_]*", re.IGNORECASE)


def heading_of(line: str) -> Heading | None:
    """The heading that a line (no line end, no space around it, no zero-width characters) can be, or None."""
    if not line or len(line) > MAX_LINE:
        return None
    if "見出し］" in line:
        return _aozora(line)
    if _SURAH.fullmatch(line):
        return Heading(title=line, unit="سورة", rank=CHAPTER_RANK, sure=False)
    if CONTENTS.fullmatch(line):
        return Heading(title=line, unit="contents", rank=0)
    for judge in (_western, _eastern, _eastern_short, _named, _eastern_named, _number, _verse):
        heading = judge(line)
        if heading is not None:
            return heading
    return None


def _western(line: str) -> Heading | None:
    found = _WESTERN.fullmatch(line)
    if found is None:
        return None
    unit = re.sub(r"\s+", " ", found["unit"].casefold())
    number = parse_number(found["digits"] or found["words"])
    if number is None and found["words"] is not None and found["words"].casefold() not in ("last", "final"):
        return None
    rank = _WESTERN_UNITS[unit]
    inner = _western(found["rest"].lstrip(" .,:;–—-")) if rank < CHAPTER_RANK and found["rest"] else None
    if inner is not None and inner.rank > rank:
        title = line[: found.start("rest")]
        return Heading(title=line, unit=inner.unit, rank=inner.rank, number=inner.number, outer=(title, rank, number))
    if not _is_western_title(found["rest"]):
        return None
    if unit in SIDE_UNITS or found["fraction"]:
        return Heading(title=line, unit=unit if unit in SIDE_UNITS else "side story", rank=rank, number=number)
    unit = {"chap": "chapter", "ch": "chapter", "vol": "volume"}.get(unit, unit)
    return Heading(title=line, unit=unit, rank=rank, number=number)


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
    rank, number, rest = _EASTERN_UNITS[found["unit"]], parse_number(found["number"]), found["rest"]
    if rank < CHAPTER_RANK:
        inner = _INNER.search(rest[:40])
        if inner is not None:
            chapter = _eastern(rest[inner.start() :].lstrip(" 　:：、·—–-"))
            if chapter is not None:
                title = line[: found.start("rest") + inner.start()].strip()
                return Heading(title=line, unit=chapter.unit, rank=chapter.rank, number=chapter.number, sure=chapter.sure,
                               outer=(title, rank, number))  # fmt: skip
    glued = bool(rest) and not found["close"] and not (rest[0].isspace() or rest[0] in ":：、.．·-—–|(（[【《「“")
    if not _is_eastern_title(rest, glued=glued):
        return None
    return Heading(title=line, unit=found["unit"], rank=rank, number=number, sure=not glued)


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
    rank, number, rest = _EASTERN_UNITS[found["unit"]], parse_number(found["number"]), found["rest"]
    inner = _eastern(rest.strip(" 　:：、.．·—–-")) if rank < CHAPTER_RANK else None
    if inner is not None and inner.rank > rank:
        return Heading(title=line, unit=inner.unit, rank=inner.rank, number=inner.number,
                       outer=(line[: found.start("rest")], rank, number))  # fmt: skip
    if not _is_eastern_title(rest, glued=False):
        return None
    return Heading(title=line, unit=found["unit"], rank=rank, number=number)


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
    found = _AOZORA.search(line)
    if found is None:
        return None
    title = re.sub(r"［＃[^］]*］|《[^》]*》|｜", "", found["title"])
    return Heading(title=title, unit="見出し", rank=_AOZORA_RANK[found["size"]], number=parse_number(title))
