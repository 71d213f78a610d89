"""The few forms of a line that CommonMark's block structure turns on, as compiled patterns.

Sections in brackets are those of the CommonMark specification, version 0.31.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ATX = re.compile(r"(#{1,6})(?:[ \t]+|$)(.*)", re.DOTALL)  # [4.2]
ATX_CLOSER = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
SETEXT = re.compile(r"(?:(=+)|-+)[ \t]*$")  # [4.3]
FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")  # [4.5]
LIST_MARKER = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|$)")  # [5.2]
# Lines that, outside any container and code, can only be text of a paragraph; and blank ones. Taken in bulk.
PLAIN_LINES = re.compile(r"(?:(?: {0,3}+[^ \t\n#>\-+*0-9<`~=_][^\n]*+|[ \t]*+)\n)+")
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    "menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    "track|ul"
)
_ATTRIBUTE = r"[ \t]+[A-Za-z_:][\w.:-]*(?:[ \t]*=[ \t]*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?"
# How an HTML block [4.6] begins, and what ends it: a pattern within a line, or None for a blank line.
HTML_BLOCKS: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...] = (
    (
        re.compile(r"<(?:script|pre|textarea|style)(?:[ \t>]|$)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|textarea|style)>", re.IGNORECASE),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_BLOCK_TAGS})(?:[ \t]|/?>|$)", re.IGNORECASE), None),
)
# The seventh kind: any other complete tag alone on its line. It cannot interrupt a paragraph.
HTML_TAG = re.compile(rf"(?:<[A-Za-z][\w-]*(?:{_ATTRIBUTE})*[ \t]*/?>|</[A-Za-z][\w-]*[ \t]*>)[ \t]*$")


@dataclass(frozen=True, slots=True)
class HtmlBlock:
    """An HTML block that a line begins."""

    mark: int  # characters of what begins it; its end is looked for behind them
    end: re.Pattern[str] | None  # what ends it within a line; None: a blank line does


_DEFINITION = re.compile(
    r"\[(?=[^\]]*\S)(?:[^\[\]\\]|\\.){1,999}\]:[ \t]*\n?[ \t]*(?:<(?:[^<>\n\\]|\\.)*>|[^\s<]\S*)"
    r"(?P<title>(?:[ \t]+\n?|[ \t]*\n)[ \t]*(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?"
    r"[ \t]*(?:\n|$)",
    re.DOTALL,
)
_DEFINITION_BARE = re.compile(
    r"\[(?=[^\]]*\S)(?:[^\[\]\\]|\\.){1,999}\]:[ \t]*\n?[ \t]*(?:<(?:[^<>\n\\]|\\.)*>|[^\s<]\S*)[ \t]*(?:\n|$)",
    re.DOTALL,
)


def html_block(rest: str, *, interrupts: bool) -> HtmlBlock | None:
    """The HTML block that a line begins (no space before it), or None. `interrupts`: a paragraph is open."""
    for begin, end in HTML_BLOCKS:
        found = begin.match(rest)
        if found:
            return HtmlBlock(found.end(), end)
    return HtmlBlock(0, None) if not interrupts and HTML_TAG.match(rest) else None


def after_definitions(paragraph: str) -> int:
    """Offset behind the link reference definitions [4.7] that a paragraph begins with."""
    place = 0
    while paragraph.startswith("[", place):
        found = _DEFINITION.match(paragraph, place) or _DEFINITION_BARE.match(paragraph, place)
        if found is None:
            break
        place = found.end()
    return place
