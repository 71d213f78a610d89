"""Closed classes that tell a state from a change, and attributes that have many values from those that have one."""

from __future__ import annotations

import re
import unicodedata

from pipeline.models.extractive.words import words
from pipeline.reduce.glossary.forms import simplified

_CHANGES = re.compile(
    r"\b(?:became|becomes?|turned|turns|changed|changes|grew|grown|rose|risen|fell\s+to|lost|gained|dyed|"
    r"from\s+(?:that|then|now|this)\b|since\s+then|no\s+longer|from\b.{1,40}\bto\b|now|henceforth|promoted|"
    r"put\b.{1,40}\binto\s+the\s+hands|gave|given|inherited|bought|sold|stole|healed|moved\s+to)\b"
    r"|变成|變成|变为|變為|化为|化為|化作|成为|成為|成了|改为|改為|改作|转为|轉為|突破|踏入|晋升|晉升|晋级|晉級"
    r"|升为|升為|跌落|自此|从此|從此|从那以后|從那以後|此后|此後|如今|现在|現在|而今|不再|交给|交給|交到|送给|送給"
    r"|传给|傳給|夺走|奪走|归\S{1,8}所有|歸\S{1,8}所有|染成|易容|恢复|恢復|失去|治好",
    re.IGNORECASE | re.DOTALL,
)
_PAST = re.compile(
    r"\b(?:remembered|recalled|in\s+(?:a|his|her|the)\s+dream|dreamed|dreamt|years\s+(?:ago|past|before)|used\s+to|"
    r"once\s+had\s+been|long\s+ago|in\s+those\s+days|seemed\s+to\s+see|as\s+a\s+child|still\s+living)\b"
    r"|多年以前|多年前|当年|當年|从前|從前|昔日|往日|曾经|曾經|梦中|夢中|梦见|夢見"
    r"|恍惚|想起|回忆|回憶|小时候|小時候|记得|記得|生前",
    re.IGNORECASE,
)

MANY_VALUED: frozenset[str] = words(
    """
    alias aliases name nickname title epithet promise vow oath skill ability technique weapon friend
    friends enemy enemies ally allies companion action event said speech quote habit hobby likes
    dislikes relationship relation relative child children brother sister sibling student students
    disciple disciples possession possessions member members trait description appearance clothing
    clothes emotion mood feeling opinion plan goal wish fear knowledge belief flashback 别名 别号 绰号 誓言
    承诺 技能 武功 功法 朋友 敌人 同伴 徒弟 弟子 特征 描述 外貌 衣着 情绪 心情 目标 愿望
    """
)
ONE_VALUED: frozenset[str] = words(
    """
    eye eyes hair beard skin height gender sex birthplace birth birthday born father mother hand scar alive dead owner
    species race blood homeland origin capital distance direction colour color
    眼睛 头发 出生地 籍贯 性别 父亲 母亲 生死 主人 身高 血型 生日
    """
)
PASSING: frozenset[str] = words(
    """
    age location position place whereabouts mood state status activity wound injury health time date weather companion
    clothes clothing job occupation money wealth
    年龄 位置 所在 地点 状态 心情 伤势 健康 时间 衣着 职业
    """
)
CLIMBING: frozenset[str] = words(
    """
    rank level realm grade tier stage cultivation class office
    等级 境界 修为 级别 品级 官职 职位 军衔
    """
)

_ARTICLE = re.compile(r"^(?:a|an|the)\s+")


def is_change(quote: str) -> bool:
    """Does the sentence say that something became so, and was not before?"""
    return _CHANGES.search(quote) is not None


def is_past(quote: str) -> bool:
    """Does the sentence look back? What it shows is not so any more, and contradicts nothing."""
    return _PAST.search(quote) is not None


def attribute_key(text: str, *, fold: bool = False) -> str:
    """An attribute as its spellings share it; with `fold` those in traditional characters too."""
    key = " ".join(unicodedata.normalize("NFKC", text).casefold().replace("_", " ").split())
    return simplified(key) if fold else key


def value_key(text: str, *, fold: bool = False) -> str:
    """A value as its spellings share it: NFKC, case, articles and a closing 的 or full stop left out; with `fold`
    traditional characters count as simplified ones."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" .,;:!?\"'“”。，；！？的")
    key = _ARTICLE.sub("", plain)
    return simplified(key) if fold else key


def kin(attribute: str, closed: frozenset[str]) -> bool:
    """Is an attribute, or a word of it, in a closed class?"""
    return attribute in closed or any(word in closed for word in attribute.split())
