"""Lines that a site or its author put between the book's own: advertisements, and notes that ask for votes.

A line is taken for one only when two things speak for it: an address and a word of the trade, or a set phrase. A
letter's "P.S." and a character who names an address stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

MAX_BANNER = 240  # characters

# Every banner holds one of these; they are looked for by `str.find`, which costs next to nothing.
_HINTS = (
    "www.", "http", ".com", ".net", ".org", ".cc", "Sponsored", "stolen", "uthor's note", "uthor’s note",
    "uthor's Note", "uthor’s Note", "UTHOR'S NOTE", "ranslator's note", "ranslator’s note", "ranslator's Note",
    "ranslator’s Note", "PS: ", "P.S. ", "A/N", "T/N", "on Amazon",
)  # fmt: skip
_HINTS_EASTERN = (
    "月票", "推荐票", "推薦票", "求订阅", "求收藏", "手机用户", "手機用戶", "本章未完", "章节错误", "最新章节",
    "最新章節", "更新最快", "最快更新", "收藏本站", "秒记住", "首发域名", "无弹窗", "作者的话", "作者有话", "题外话",
    "书友", "打赏",
)  # fmt: skip
_ADDRESS = (
    r"(?:https?://|www\.|(?:[A-Za-z0-9-]{2,30}\.)+(?:com|net|org|cc|la|info|me|tv|invalid|xyz|top|vip|site|io|co|cn)"
    r"(?![A-Za-z0-9]))"
)
_TRADE = (
    "最新章|首发|首發|手机用户|手機用戶|手机版|手機版|弹窗|彈窗|小说网|小說網|小说阅|收藏本|更新最快|最快更新|笔趣|筆趣|"
    "章节错误|本站"
)
_TRADE_WESTERN = (
    r"newest chapters?|latest chapters?|advance chapters?|(?:is|was|been) stolen|fast(?:er|est) updates?|free novels?|"
    r"(?:read|visit|support)\b.*\b(?:chapters?|novels?)"
)
_SITE = re.compile(
    rf"(?=.*{_ADDRESS})(?=.*(?:{_TRADE})).*"
    rf"|(?=.*{_ADDRESS})(?=.*\b(?i:{_TRADE_WESTERN})\b).*"
    r"|手机用户请.*|手機用戶請.*|.*章节错误[，,].{0,12}举报.*|.*(?:天才)?一?秒记住.*"
    r"|.*(?:最新章节|最新章節)请到.*|.*请(?:大家)?收藏本站.*|【[^】]{0,20}(?:更新最快|最快更新)】.*"
    r"|Sponsored (?:chapter|content)\b.*|.*\b(?:is|was|been) (?:stolen|taken) from .*\breport\b.*"
    r"|If you (?:spot|see|find|discover|encounter|come across) this (?:narrative|story|tale|content) on Amazon\b.*",
    re.DOTALL,
)
_ASKING = (
    r"月票|推荐票|推薦票|求订阅|求收藏|打赏|加更|书友|读者|讀者|更新|\bvot(?:e|es|ing)\b|patreon|discord|\breaders?\b|"
    r"(?:extra|bonus|next) chapters?|chapter tomorrow"
)
_NOTE = re.compile(
    r"[（(【\[]?\s*(?:作者的话|作者有话说?|作者留言|题外话)\s*[:：].*|[（(【\[]?本章未完[，,\s].*"
    r"|[（(【\[]\s*(?i:author|translator|editor|tl|a/n|t/n)(?:['’]s)?(?i:[ -]?notes?)?\s*[:：].*"
    r"|(?:A/N|T/N)\s*[:：].*|(?i:author|translator)['’]s [Nn]ote\s*[:：].*"
    rf"|[（(【\[]?\s*[Pp]\.?\s?[Ss]\.?\s*[:：.]?(?=.*(?i:{_ASKING})).*"
    r"|[（(【\[]\s*(?:求|跪求)[^（）()]{0,20}(?:月票|推荐票|推薦票|订阅|收藏|打赏)[^（）()]{0,40}[）)】\]]",
    re.DOTALL,
)


class Banner(StrEnum):
    """What a line that is not the book's own is."""

    SITE = "site-banner"
    NOTE = "author-note"


def banner_of(line: str) -> Banner | None:
    """What a line (no space around it) is if it is no line of the book, or None."""
    if not 4 <= len(line) <= MAX_BANNER:
        return None
    if _NOTE.fullmatch(line):
        return Banner.NOTE
    return Banner.SITE if _SITE.fullmatch(line) else None


def lines_with_hints(text: str, begin: int, end: int) -> Iterator[int]:
    """Indices of the line ends before lines, from `begin` on and within `end`, that may be banners. Linear."""
    for hint in _HINTS if text.isascii() else _HINTS + _HINTS_EASTERN:
        place = text.find(hint, begin, end)
        while place >= 0:
            line = text.rfind("\n", max(begin, place - MAX_BANNER), place)
            if line >= 0:
                yield line
            after = text.find("\n", place, end)
            place = text.find(hint, after, end) if after >= 0 else -1
