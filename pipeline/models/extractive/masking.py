"""Blanks out what is not prose, character for character, so that offsets stay true."""

from __future__ import annotations

import re

BLANK = "\ufffc"  # the object replacement character: a thing that is no text stands here

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_FENCE = re.compile(
    r"^ {0,3}(?P<mark>`{3,}(?!`)|~{3,}(?!~))[^\n]*\n(?:.*?^ {0,3}(?P=mark)[`~]*[ \t]*$|.*\Z)", re.MULTILINE | re.DOTALL
)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)(?=[^\n]*[{};=<>|\\])[^\n]*\n)+", re.MULTILINE)
_CODE = re.compile(r"(?P<tick>`{1,3})(?!`)[^`\n]{1,200}(?P=tick)(?!`)")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9-]{0,30}(?:\s[^<>\n]{0,500})?/?>")
_LINK = re.compile(r"(?<=\])(?:\([^()\s]{1,500}(?:\s\"[^\"\n]{0,200}\")?\)|\[[^\]\n]{0,100}\])")
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"')\]，。、）”」]{1,500}")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}")
_RUBY = re.compile("《[\u3041-\u3096\u30a1-\u30fa\u30fc]{1,30}》|［＃[^］\n]{0,120}］|｜")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

# Each pattern with what must be present for it to match at all: most chunks of prose skip most patterns.
_BLOCKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("\x1b", _ANSI),
    ("```", _FENCE),
    ("~~~", _FENCE),
    ("    ", _INDENTED),
    ("\t", _INDENTED),
)
_INLINE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("`", _CODE),
    ("<", _TAG),
    ("](", _LINK),
    ("][", _LINK),
    ("://", _URL),
    ("www.", _URL),
    ("@", _MAIL),
    ("《", _RUBY),
    ("［＃", _RUBY),
    ("｜", _RUBY),
)


def _blank(match: re.Match[str]) -> str:
    return _blanked(match.group())


def _blanked(whole: str) -> str:
    if "\n" not in whole:
        return BLANK * len(whole)
    return "\n".join(BLANK * len(line) for line in whole.split("\n"))


def _without_comments(text: str) -> str:
    """HTML comments blanked out by plain searching: a pattern would try anew at each of a million openings."""
    parts: list[str] = []
    position = 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts += [text[position:start], _blanked(text[start : end + 3])]
        position = end + 3
    return "".join(parts) + text[position:]


def mask(text: str) -> str:
    """`text` with code, markup, addresses, terminal codes and ruby readings blanked out.

    The answer has the length and the line ends of `text`. Every pattern is bounded, so one long line costs linear time.
    """
    if "<!--" in text:
        text = _without_comments(text)
    for needle, pattern in (*_BLOCKS, *_INLINE):
        if needle in text:
            text = pattern.sub(_blank, text)
    return _CONTROL.sub(BLANK, text)
