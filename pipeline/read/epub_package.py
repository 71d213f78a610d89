"""What an EPUB says of itself: container, package document, encryption (OCF 3.3, EPUB 2.0.1 and 3.3 packages).

These files are read as tokens, never as trees: no declaration in them is obeyed and no entity of theirs expanded.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from pipeline.errors import ReadError
from pipeline.read.html_tokens import tokens
from pipeline.read.markup_encoding import decode_markup
from pipeline.read.reading import ReadWarning
from pipeline.read.zip_safe import SafeZip, unsafe_name

_PACKAGE = "application/oebps-package+xml"
CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
MAX_PACKAGE_BYTES = 32 << 20
# Fonts are often obfuscated, which is no protection of the text.
_OBFUSCATION = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_FLOWING = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/x-dtbook+xml", "image/svg+xml")


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """A resource of the manifest."""

    id: str
    path: str  # in the container; "" when the href leads elsewhere
    href: str  # as it is written
    media_type: str
    properties: frozenset[str]
    fallback: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SpineRef:
    """A place in the reading order."""

    idref: str
    linear: bool
    properties: frozenset[str]


@dataclass(slots=True)
class Package:
    """A package document."""

    path: str
    title: str = ""
    authors: list[str] = field(default_factory=list)
    language: str = ""
    items: dict[str, Item] = field(default_factory=dict)
    spine: list[SpineRef] = field(default_factory=list)
    ncx_id: str = ""
    fixed_layout: bool = False

    def is_fixed(self, ref: SpineRef) -> bool:
        """Whether an item's page is laid out once and for all."""
        if "rendition:layout-reflowable" in ref.properties:
            return False
        return self.fixed_layout or "rendition:layout-pre-paginated" in ref.properties

    def flowing(self, item: Item) -> Item | None:
        """The item, or the first of its fallbacks, that is a page of text; None when there is none."""
        seen: set[str] = set()
        found: Item | None = item
        while found is not None and found.id not in seen:
            if found.media_type in _FLOWING:
                return found
            seen.add(found.id)
            found = self.items.get(found.fallback)
        return None


@dataclass(frozen=True, slots=True)
class Element:
    """An element with the text right inside it, in the order of its end."""

    name: str
    attributes: dict[str, str]
    text: str


def elements(source: str) -> Iterator[tuple[str, Element]]:
    """(name of the element around, element) of an XML text whose elements nest; each with its own text, at its end."""
    opened: list[tuple[str, dict[str, str], list[str]]] = []
    for token in tokens(source, xml=True):
        if not token.name:
            if opened:
                opened[-1][2].append(token.text)
        elif not token.is_end:
            opened.append((token.name, token.attributes or {}, []))
            if token.is_empty:
                yield from _closed(opened)
        elif opened and any(name == token.name for name, _, _ in opened[-8:]):
            while opened[-1][0] != token.name:
                yield from _closed(opened)
            yield from _closed(opened)
    while opened:
        yield from _closed(opened)


def _closed(opened: list[tuple[str, dict[str, str], list[str]]]) -> Iterator[tuple[str, Element]]:
    name, attributes, text = opened.pop()
    around = opened[-1][0] if opened else ""
    yield around, Element(name, attributes, " ".join("".join(text).split()))


def read_xml(archive: SafeZip, name: str) -> str:
    """The text of one of an EPUB's own files. Raises ReadError."""
    entry = archive.find(name)
    if entry is None:
        raise ReadError(f"{archive.name} has no {name}")
    if entry.size > MAX_PACKAGE_BYTES:
        raise ReadError(f"{archive.name}: its {name} is {entry.size >> 20} MiB, too large for what it is")
    return decode_markup(archive.read(entry.name), name)[0]


def packages(archive: SafeZip) -> list[str]:
    """The paths of the package documents, the default one first. Raises ReadError when there is none."""
    if archive.find(CONTAINER):
        found = [
            path
            for _, element in elements(read_xml(archive, CONTAINER))
            if element.name == "rootfile"
            and element.attributes.get("media-type", _PACKAGE) == _PACKAGE
            and (path := inside("", element.attributes.get("full-path", "")))
            and archive.find(path)
        ]  # fmt: skip
    else:
        found = []
    found = found or [name for name in archive.entries if name.lower().endswith(".opf")]
    if not found:
        raise ReadError(f"{archive.name} is an EPUB without a package document: what belongs to the book is not said")
    return found


def inside(base: str, href: str) -> str:
    """The path in the container that an href in a file at `base` leads to; "" when it leads out, or nowhere."""
    try:
        parts = urlsplit(href.strip())
    except ValueError:
        return ""
    if parts.scheme or parts.netloc or not parts.path:
        return ""
    # A path from the root is one from the container's; join() would drop the base for it.
    path = posixpath.normpath(posixpath.join("/", posixpath.dirname(base), unquote(parts.path)).lstrip("/"))
    return "" if path.startswith("..") or unsafe_name(path) else path


def read_package(archive: SafeZip, path: str) -> Package:
    """The package document at a path. Raises ReadError."""
    package = Package(path=path)
    creators: list[str] = []
    for around, element in elements(read_xml(archive, path)):
        attributes = element.attributes
        if element.name == "item" and "href" in attributes:
            _add_item(package, attributes)
        elif element.name == "itemref":
            package.spine.append(
                SpineRef(
                    idref=attributes.get("idref", ""),
                    linear=attributes.get("linear", "yes").lower() != "no",
                    properties=frozenset(attributes.get("properties", "").split()),
                )
            )
        elif element.name == "spine":
            package.ncx_id = attributes.get("toc", "")
        elif element.name == "title" and around in ("metadata", "dc-metadata") and not package.title:
            package.title = element.text
        elif element.name == "creator" and element.text:
            creators.append(element.text)
        elif element.name == "language" and not package.language:
            package.language = element.text
        elif element.name == "meta" and attributes.get("property") == "rendition:layout":
            package.fixed_layout = element.text == "pre-paginated"
        elif element.name == "meta" and attributes.get("name") == "fixed-layout":
            package.fixed_layout = attributes.get("content") == "true"
    package.authors = list(dict.fromkeys(creators))
    return package


def _add_item(package: Package, attributes: dict[str, str]) -> None:
    item = Item(
        id=attributes.get("id", ""),
        path=inside(package.path, attributes["href"]),
        href=attributes["href"],
        media_type=attributes.get("media-type", "").strip().lower(),
        properties=frozenset(attributes.get("properties", "").split()),
        fallback=attributes.get("fallback", ""),
    )
    package.items.setdefault(item.id, item)


def encrypted(archive: SafeZip) -> tuple[frozenset[str], list[ReadWarning]]:
    """The paths whose content is encrypted; obfuscated fonts do not count."""
    if archive.find(ENCRYPTION) is None:
        return frozenset(), []
    try:
        source = read_xml(archive, ENCRYPTION)
    except ReadError as error:
        return frozenset(), [ReadWarning(code="encryption-unread", message=error.message)]
    paths, algorithm = set(), ""
    for _, element in elements(source):
        if element.name == "encryptionmethod":
            algorithm = element.attributes.get("algorithm", "")
        elif element.name == "cipherreference" and algorithm not in _OBFUSCATION:
            paths.add(inside("", element.attributes.get("uri", "")))
        elif element.name == "encrypteddata":
            algorithm = ""
    return frozenset(paths - {""}), []
