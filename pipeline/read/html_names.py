"""What the elements of HTML are to a reader of text."""

from __future__ import annotations

VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "meta", "param", "source", "track",
     "wbr"}
)  # fmt: skip
# Elements whose content is no text of the page.
SKIPPED = frozenset(
    {"head", "script", "style", "template", "noscript", "iframe", "audio", "video", "canvas", "select", "button",
     "textarea", "datalist", "noembed", "noframes", "annotation", "annotation-xml", "metadata", "defs", "desc", "rp"}
)  # fmt: skip
# Line feeds that a browser's own style sheet leaves around an element: two are a blank line.
GAPS = {
    **dict.fromkeys(
        ("p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "dl", "menu", "table", "figure",
         "fieldset", "hgroup", "xmp", "listing", "plaintext"),
        2,
    ),
    **dict.fromkeys(
        ("address", "article", "aside", "body", "caption", "center", "dd", "details", "dialog", "dir", "div", "dt",
         "figcaption", "footer", "form", "frameset", "header", "html", "legend", "li", "main", "nav", "optgroup",
         "option", "search", "section", "summary", "tbody", "td", "tfoot", "th", "thead", "tr"),
        1,
    ),
}  # fmt: skip
HEADINGS = {f"h{level}": level for level in range(1, 7)}
PREFORMATTED = frozenset({"pre", "xmp", "listing", "plaintext"})
LISTS = frozenset({"ul", "ol", "menu", "dir"})
CELLS = frozenset({"td", "th"})
# An end tag reaches no further out than these (WHATWG: "has an element in scope").
SCOPES = frozenset({"html", "table", "td", "th", "caption", "template", "object", "marquee", "applet"})
# These are looked for within their own table, across its cells.
TABLE_PARTS = frozenset({"table", "caption", "tbody", "td", "tfoot", "th", "thead", "tr"})
# Start tags that end an open paragraph.
ENDS_PARAGRAPH = frozenset(GAPS) - {"body", "caption", "html", "option", "optgroup", "tbody", "td", "tfoot", "th",
                                    "thead", "tr", "legend"} | {"hr"}  # fmt: skip
# Start tags that end open elements without an end tag: which ones, and where the search for them stops.
IMPLIED_ENDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "menu", "dir"})),
    **dict.fromkeys(("dt", "dd"), (frozenset({"dt", "dd"}), frozenset({"dl"}))),
    **dict.fromkeys(CELLS, (CELLS, frozenset({"tr", "table"}))),
    "tr": (frozenset({"tr"}), frozenset({"table"})),
    **dict.fromkeys(("tbody", "thead", "tfoot"), (frozenset({"tbody", "thead", "tfoot"}), frozenset({"table"}))),
    **dict.fromkeys(("option", "optgroup"), (frozenset({"option"}), frozenset({"select", "datalist"}))),
    **dict.fromkeys(("rt", "rp"), (frozenset({"rt", "rp"}), frozenset({"ruby"}))),
}
NOTE_TYPES = frozenset(
    {"footnote", "footnotes", "endnote", "endnotes", "rearnote", "rearnotes", "doc-footnote", "doc-endnote",
     "doc-endnotes"}
)  # fmt: skip
NOTE_REFERENCES = frozenset(
    {"noteref", "doc-noteref", "footnote-reference", "footnote-ref", "footnoteref", "footnote_ref", "fnref"}
)
NOTE_ELEMENTS = frozenset({"aside", "div", "section", "li", "ol", "ul", "dl", "p", "footer", "table"})
# Parts of a page that lead through the site, outside its main text.
CHROME = frozenset({"nav", "header", "footer", "aside", "search"})
CHROME_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar"})
PERMALINKS = frozenset({"headerlink", "permalink", "anchorjs-link", "header-anchor"})
SUPERSCRIPT = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
SUBSCRIPT = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
