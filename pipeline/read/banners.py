"""Lines that a site or its author put between the book's own: advertisements, and notes that ask for votes.

A line is taken for one only when two things speak for it: an address and a word of the trade, or a set phrase. A
letter's "P.S." and a character who names an address stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

MAX_BANNER = 240  # characters

# How a banner's line can begin, for the scanner; what comes behind the address of a site is found by the address.
STARTS = (
    r"Sponsored c|T(?:his (?:content|chapter|story|narrative|tale) |/N|ranslator's )|If you |Read |[Pp]\.?[Ss]\.?[:： ]"
    r"|A(?:/N|uthor's )|[(\[](?i:author|translator|editor|tl|a/n|t/n)"
)
STARTS_EASTERN = (
    "手机用户", "手機用戶", "最新章", "天才一秒", "一秒记住", "本章未完", "作者的话", "作者有话", "作者留言", "题外话",
    "章节错误", "请记住", "请收藏", "请大家", "求月票", "求推荐", "跪求", "笔趣", "筆趣",
)  # fmt: skip
# Few, for each is looked for in every book by `str.find`.
_ADDRESSES = ("www.", "http")
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


def lines_with_addresses(text: str, begin: int, end: int) -> Iterator[int]:
    """Indices of the line ends before lines, from `begin` on and within `end`, that hold an address. Linear."""
    for address in _ADDRESSES:
        place = text.find(address, begin, end)
        while place >= 0:
            line = text.rfind("\n", max(begin, place - MAX_BANNER), place)
            if line >= 0:
                yield line
            after = text.find("\n", place, end)
            place = text.find(address, after, end) if after >= 0 else -1
