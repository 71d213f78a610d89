"""EPUBs made in memory, for tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/p.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def page(body: str, title: str = "", head: str = "") -> str:
    """An XHTML page, its body on a line of its own."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops"><head><title>{title}</title>{head}</head>\n<body>{body}</body></html>'
    )


def nav(*entries: str) -> str:
    """A navigation document of entries "title|href"; ">" before a title for each level below the first."""
    parts, depth = [], -1
    for entry in entries:
        level = len(entry) - len(entry.lstrip(">"))
        title, _, href = entry.lstrip(">").partition("|")
        if level > depth:
            parts.append("<ol>" * (level - depth))
        else:
            parts.append("</li>" + "</ol></li>" * (depth - level))
        label = f'<a href="{href}">{title}</a>' if href else f"<span>{title}</span>"
        parts.append(f"<li>{label}")
        depth = level
    parts.append("</li></ol>" * (depth + 1))
    return page(f'<nav epub:type="toc">{"".join(parts)}</nav>')


def ncx(*entries: str) -> str:
    """The same as an NCX."""
    parts, depth = [], -1
    for number, entry in enumerate(entries):
        level = len(entry) - len(entry.lstrip(">"))
        title, _, href = entry.lstrip(">").partition("|")
        parts.append("</navPoint>" * (depth - level + 1))
        parts.append(f'<navPoint id="n{number}"><navLabel><text>{title}</text></navLabel><content src="{href}"/>')
        depth = level
    return (
        f"<ncx><docTitle><text>T</text></docTitle><navMap>{''.join(parts)}{'</navPoint>' * (depth + 1)}</navMap></ncx>"
    )


def epub(
    pages: Mapping[str, str | bytes],
    contents: str = "",
    *,
    spine: str = "",
    metadata: str = "",
    toc_ncx: str = "",
    more: Mapping[str, str | bytes] | None = None,
    manifest: str = "",
) -> bytes:
    """An EPUB of pages (file name to source) in that order, with a navigation document or an NCX."""
    items = "".join(
        f'<item id="i{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(pages)
    )
    refs = spine or "".join(f'<itemref idref="i{n}"/>' for n in range(len(pages)))
    if contents:
        items += '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    if toc_ncx:
        items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    stated = "<dc:title>The Ferry</dc:title><dc:creator>A. Writer</dc:creator><dc:language>en</dc:language>"
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">{metadata or stated}</metadata>'
        f'<manifest>{items}{manifest}</manifest><spine toc="ncx">{refs}</spine></package>'
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OPS/p.opf", opf)
        for name, source in {**pages, **(more or {})}.items():
            archive.writestr(name.removeprefix("/") if name.startswith("/") else f"OPS/{name}", source)
        if contents:
            archive.writestr("OPS/nav.xhtml", contents)
        if toc_ncx:
            archive.writestr("OPS/toc.ncx", toc_ncx)
    return target.getvalue()
