"""HTML and XHTML as a stream of tags and text, each with its offset into the source.

Tokens are those of the WHATWG standard (section 13.2.5), of XML also CDATA sections and empty-element tags. Why not a
library: readers need the source's own lines, cost that is linear in whatever comes, and no tree whose depth is limited
(libxml2 drops what stands deeper than 2,048 elements, and an element of 100,000 attributes takes it two minutes).
No entity is ever expanded but those of HTML itself, and no declaration is read.
"""

from __future__ import annotations

import html
import re
from collections.abc import Generator, Iterator
from typing import NamedTuple

# Text content that holds no markup, and ends only at its own end tag.
_RAW = frozenset({"script", "style", "xmp", "iframe", "noembed", "noframes"})
_RCDATA = frozenset({"textarea", "title"})  # with character references
_XML_RAW = frozenset({"script", "style"})
# There is one way alone to read a tag, so that no repeated group need be possessive: Python before 3.11.5 matches such
# a group wrongly where it holds alternatives (https://github.com/python/cpython/issues/106052).
_VALUE = r"\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?!\"[^\"]*+\"|'[^']*+')[^\s>]*+)"
_KEY = r"(?:=[^\s/>=]*+|[^\s/>=]++)"
_TAG = re.compile(rf"<([A-Za-z][^\s/>]*+)((?:[\s/]*+{_KEY}(?:{_VALUE}|(?!\s*+=)))*)[\s/]*+>")
_ATTRIBUTE = re.compile(rf"[\s/]*+({_KEY})(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?")
_END_TAG = re.compile(r"</([A-Za-z][^\s/>]*+)")
_DOCTYPE = re.compile(r"<!doctype\b[^>\[]*+(\[)?", re.IGNORECASE)
_SUBSET_END = re.compile(r"\]\s*+>")
_HUGE_NUMBER = re.compile(r"&#(?:0*+[0-9]{8,}|[xX]0*+[0-9a-fA-F]{7,});?")
_SHORT_REST = 1000  # characters of an unfinished tag at the end that are dropped; more are taken as text


class Token(NamedTuple):
    """Exactly one of: text (`name` empty), a start tag, an end tag (`is_end`)."""

    at: int  # offset of its first character
    name: str  # lower case; of XML without its prefix
    text: str  # character references resolved
    attributes: dict[str, str] | None
    is_end: bool
    is_empty: bool  # <br/>: of XML an element without content


def tokens(source: str, *, xml: bool) -> Iterator[Token]:
    """The tokens of a page, in order. Comments, declarations and processing instructions are left out."""
    at, length = 0, len(source)
    while at < length:
        opener = source.find("<", at)
        if opener < 0:
            opener = length
        if opener > at:
            yield _text(at, source[at:opener])
        if opener == length:
            return
        found = _TAG.match(source, opener)
        if found is not None:
            token = _start(found, xml=xml)
            yield token
            at = found.end()
            if token.name in (_XML_RAW if xml else _RAW) or (token.name in _RCDATA and not xml):
                at = yield from _raw(source, at, token)
            continue
        at = yield from _other(source, opener, xml=xml)


def unescape(text: str) -> str:
    """Character references resolved: those of HTML alone, whatever a document declares."""
    if "&" not in text:
        return text
    return html.unescape(_HUGE_NUMBER.sub("\ufffd", text) if "&#" in text else text)


def _text(at: int, text: str) -> Token:
    return Token(at, "", unescape(text), None, is_end=False, is_empty=False)


def _start(found: re.Match[str], *, xml: bool) -> Token:
    name, written = found[1].lower(), found[2]
    if xml and ":" in name:
        name = name.rpartition(":")[2]
    attributes: dict[str, str] | None = None
    if written:
        attributes = {}
        for key, *values in _ATTRIBUTE.findall(written):
            attributes.setdefault(key.lower(), unescape(values[0] or values[1] or values[2]))
    is_empty = found.string.startswith("/>", found.end() - 2)
    return Token(found.start(), name, "", attributes, is_end=False, is_empty=is_empty)


def _raw(source: str, at: int, start: Token) -> Generator[Token, None, int]:
    """The content of an element whose text is no markup; gives the offset behind it."""
    if start.is_empty:
        return at
    end = re.compile(rf"</{re.escape(start.name)}(?=[\s/>])", re.IGNORECASE).search(source, at)
    stop = end.start() if end else len(source)
    if start.name in _RCDATA and stop > at:
        yield _text(at, source[at:stop])
    return stop


def _other(source: str, at: int, *, xml: bool) -> Generator[Token, None, int]:
    """Whatever begins with "<" and is no start tag; gives the offset behind it."""
    if source.startswith("<!--", at):
        if source.startswith((">", "->"), at + 4):
            return source.index(">", at) + 1
        return _behind(source, "-->", at + 4)
    if xml and source.startswith("<![CDATA[", at):
        stop = source.find("]]>", at)
        stop = len(source) if stop < 0 else stop
        yield Token(at + 9, "", source[at + 9 : stop], None, is_end=False, is_empty=False)
        return stop + 3
    if source.startswith("<?", at):
        return _behind(source, "?>" if xml else ">", at)
    if source.startswith("<!", at):
        doctype = _DOCTYPE.match(source, at)
        subset = _SUBSET_END.search(source, doctype.end()) if doctype and doctype[1] else None
        return subset.end() if subset else _behind(source, ">", at)
    ended = _END_TAG.match(source, at)
    if ended:
        name = ended[1].lower()
        name = name.rpartition(":")[2] if xml else name
        yield Token(at, name, "", None, is_end=True, is_empty=False)
        return _behind(source, ">", ended.end())
    if source.startswith("</", at):
        return _behind(source, ">", at)
    if at + 1 < len(source) and source[at + 1].isalpha() and source[at + 1].isascii():
        # A tag that never ends: nothing behind it can be one.
        rest = source[at:] if len(source) - at > _SHORT_REST else ""
        if rest:
            yield _text(at, rest)
        return len(source)
    yield Token(at, "", "<", None, is_end=False, is_empty=False)
    return at + 1


def _behind(source: str, end: str, at: int) -> int:
    """The offset behind the next `end`; the end of the source where there is none."""
    found = source.find(end, at)
    return len(source) if found < 0 else found + len(end)
