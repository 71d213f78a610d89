"""An EPUB's own table of contents: the navigation document of EPUB 3, or the NCX of EPUB 2. No recursion."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pipeline.read.epub_package import inside
from pipeline.read.html_tokens import tokens


@dataclass(slots=True)
class Entry:
    """An entry of a table of contents, in its order."""

    title: str
    depth: int  # 0 for the outermost
    path: str  # of the file in the container; "" when the entry leads nowhere
    fragment: str


def nav_entries(source: str, base: str) -> list[Entry]:
    """The entries of the `nav` that is the table of contents, or of the first one where none says so."""
    chosen = _navs(source, base)
    return chosen.get("toc") or next((entries for entries in chosen.values() if entries), [])


def _navs(source: str, base: str) -> dict[str, list[Entry]]:
    """The entries of each kind of `nav` but lists of pages and landmarks."""
    found: dict[str, list[Entry]] = {}
    entries: list[Entry] | None = None
    depth, entry, label = -1, None, False
    for token in tokens(source, xml=True):
        if not token.name:
            if label and entry is not None:
                entry.title += token.text
            continue
        if token.is_end:
            if token.name == "nav":
                entries, entry, label = None, None, False
            elif token.name == "ol":
                depth -= 1
            elif token.name in ("a", "span"):
                label = label and token.name == "span" and bool(entry and entry.path)
            continue
        attributes = token.attributes or {}
        if token.name == "nav":
            kind = (attributes.get("epub:type") or attributes.get("role") or "").split()
            entries = found.setdefault("toc" if {"toc", "doc-toc"} & set(kind) else " ".join(kind), [])
            if {"page-list", "landmarks", "doc-pagelist"} & set(kind):
                entries = None
            depth, entry = -1, None
        elif token.name == "ol":
            depth += not token.is_empty
            label = False
        elif token.name == "li" and entries is not None:
            entry = Entry("", max(depth, 0), "", "")
            entries.append(entry)
        elif token.name in ("a", "span") and entry is not None and not token.is_empty:
            label = True
            if token.name == "a" and "href" in attributes:
                entry.path, entry.fragment = target(base, attributes["href"])
        elif token.name == "img" and label and entry is not None:
            entry.title += attributes.get("alt", "")
    return {kind: _tidy(listed) for kind, listed in found.items()}


def ncx_entries(source: str, base: str) -> list[Entry]:
    """The entries of an NCX's navMap."""
    entries: list[Entry] = []
    opened: list[Entry] = []
    in_label = in_text = in_map = False
    for token in tokens(source, xml=True):
        if not token.name:
            if in_label and in_text and opened:
                opened[-1].title += token.text
        elif token.name == "navmap":
            in_map = not token.is_end
        elif token.name == "navpoint" and token.is_end:
            if opened:
                opened.pop()
        elif token.name == "navpoint" and in_map:
            opened.append(Entry("", len(opened), "", ""))
            entries.append(opened[-1])
        elif token.name == "navlabel":
            in_label = not token.is_end
        elif token.name == "text":
            in_text = not token.is_end
        elif token.name == "content" and not token.is_end and opened and not opened[-1].path:
            opened[-1].path, opened[-1].fragment = target(base, (token.attributes or {}).get("src", ""))
    return _tidy(entries)


def target(base: str, href: str) -> tuple[str, str]:
    """The path in the container and the fragment that an href leads to."""
    try:
        parts = urlsplit(href.strip())
    except ValueError:
        return "", ""
    path = inside(base, href) if parts.path else ("" if parts.scheme or parts.netloc else base)
    return path, unquote(parts.fragment)


def _tidy(entries: list[Entry]) -> list[Entry]:
    for entry in entries:
        entry.title = " ".join(entry.title.split())
    return [entry for entry in entries if entry.title or entry.path]
