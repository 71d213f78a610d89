"""EPUB, HTML, DOCX and PDF of the shared corpus: each with what must come of it."""

from __future__ import annotations

import json
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from lxml import etree

from pipeline.errors import OctavoError
from pipeline.read.reading import Reading
from pipeline.read.registry import read
from pipeline.read.sources import FileSource

pytestmark = pytest.mark.corpus

XHTML = "{http://www.w3.org/1999/xhtml}"
NCX = "{http://www.daisy.org/z3986/2005/ncx/}"
ADDED = {"front", "contents", "notes", "boilerplate"}  # sections of our own beside those of a table of contents


def _kinds(reading: Reading) -> Counter[str]:
    return Counter(section.kind.value for section in reading.sections)


def _text(reading: Reading) -> str:
    return "".join(reading.blocks())


# What is read of hostile files, and the warnings; or what the error says.
OUTCOMES: dict[str, tuple[str, ...] | str] = {
    "empty.epub": "is empty",
    "drm_encryption.epub": "is protected by DRM",
    "empty_spine.epub": "has no reading order",
    "zip_bomb_200mb_entry.epub": "it is a ZIP bomb",
    "pdf_disguised.txt": "PDF",
    "duplicate_entries.epub": ("entry-duplicate",),
    "symlink_entry.epub": ("entry-refused",),
    "path_traversal.epub": ("entry-refused",) * 5,
    "href_traversal.epub": ("spine-outside",),
    "missing_spine_item.epub": ("spine-unknown", "spine-missing"),
    "wrong_encoding_decl.epub": ("encoding-declared-wrong",),
}
MARKUP = (".epub", ".html", "html_disguised.txt", "pdf_disguised.txt")


def _judge(path: Path, expected: dict[str, Any]) -> str | None:
    outcome = OUTCOMES.get(path.name, ())
    try:
        reading = read(FileSource(path))
    except OctavoError as error:
        return None if isinstance(outcome, str) and outcome in error.message else f"refused: {error.message}"
    text = _text(reading)
    if isinstance(outcome, str):
        return "read, but should be refused"
    if "lollol" in text or "localhost" in text or "root:" in text:
        return "something was expanded or fetched"
    if tuple(warning.code for warning in reading.warnings) != outcome:
        return f"warned of {reading.warnings}"
    chapters = sum(_kinds(reading)[kind] for kind in ("chapter", "volume"))
    return None if chapters == expected.get("chapters", chapters) else f"{chapters} chapters"


def test_hostile_books_and_pages_come_out_as_expected(corpus: Path) -> None:
    folder = corpus / "pathological"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    names = [name for name in expected if name.endswith(MARKUP)]
    wrong = {name: fault for name in names if (fault := _judge(folder / name, expected[name]))}
    assert len(names) >= 26
    assert wrong == {}
    assert not list(Path("/tmp").glob("pwned*"))


def test_every_conformance_fixture_is_a_readable_book_or_one_clear_error(corpus: Path) -> None:
    outcomes: Counter[str] = Counter()
    told = {}
    for path in sorted((corpus / "epub-epubcheck").iterdir()):
        try:
            reading = read(FileSource(path))
            assert _text(reading).strip()
            outcomes["read"] += 1
        except OctavoError as error:
            told[path.name] = error.message.removeprefix(str(path))
            outcomes["refused"] += 1
    assert not [message for message in told.values() if "\n" in message]
    assert outcomes["read"] + outcomes["refused"] >= 200
    # Fixtures without a word in them, one that is a picture, one that is empty, one that is protected.
    plain = {message for message in told.values() if not message.startswith(" has no text")}
    assert {message.split(":")[0].strip() for message in plain} == {
        "is empty",
        "is a JPEG image, which this version cannot read",
        "is protected by DRM",
        "is an EPUB without a package document",
    }


def _nav_tree(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[int, str]]:
    root = etree.fromstring(archive.read(name))
    nav = next(one for one in root.iter(f"{XHTML}nav") if "toc" in one.get("{http://www.idpf.org/2007/ops}type", ""))
    for item in nav.iter(f"{XHTML}li"):
        label = next(child for child in item if child.tag in (f"{XHTML}a", f"{XHTML}span"))
        depth = sum(parent.tag == f"{XHTML}ol" for parent in item.iterancestors())
        yield depth, " ".join("".join(label.itertext()).split())


def _ncx_tree(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[int, str]]:
    root = etree.fromstring(archive.read(name), etree.XMLParser(load_dtd=False, no_network=True))
    for point in root.iter(f"{NCX}navPoint"):
        depth = 1 + sum(parent.tag == f"{NCX}navPoint" for parent in point.iterancestors())
        yield depth, " ".join("".join(point.find(f"{NCX}navLabel").itertext()).split())


CONTENTS = {
    "se_war-and-peace_epub3.epub": ("epub/toc.xhtml", 393),
    "idpf_moby-dick.epub": ("OPS/toc.xhtml", 141),
    "idpf_epub30-spec.epub": ("EPUB/xhtml/epub30-nav.xhtml", 316),
    "idpf_childrens-literature.epub": ("EPUB/nav.xhtml", 31),
    "sphinx_debian-policy.epub": ("nav.xhtml", 326),
    "pandoc_西游记_epub2_split6.epub": ("EPUB/toc.ncx", 102),
    "calibre_quickstart_eng.epub": ("toc.ncx", 22),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_the_sections_of_a_book_are_the_tree_of_its_own_table_of_contents(name: str, corpus: Path) -> None:
    inner, count = CONTENTS[name]
    with zipfile.ZipFile(corpus / "epub" / name) as archive:
        tree = list((_ncx_tree if inner.endswith(".ncx") else _nav_tree)(archive, inner))
    sections = read(FileSource(corpus / "epub" / name)).sections
    depths: list[int] = []
    for section in sections:
        depths.append(1 if section.parent is None else depths[section.parent] + 1)
    found: list[tuple[int, str]] = []
    for depth, section in zip(depths, sections, strict=True):
        if section.kind.value not in ADDED or [(depth, section.title)] == tree[len(found) :][:1]:
            found.append((depth, section.title))
    assert found == tree
    assert len(found) == count


def test_war_and_peace_has_its_364_chapters_in_its_parts(corpus: Path) -> None:
    reading = read(FileSource(corpus / "epub" / "se_war-and-peace_epub3.epub"))
    numbered = [one for one in reading.sections if one.kind == "chapter" and re.fullmatch("[IVXL]+", one.title)]
    assert len(numbered) == 364  # as many as its own table of contents lists
    for section in numbered:
        assert section.parent is not None
        assert reading.sections[section.parent].kind == "volume"


def test_both_books_of_the_journey_to_the_west_have_the_same_chapters_and_text(corpus: Path) -> None:
    books = []
    for name in ("pandoc_西游记_epub2_split6.epub", "pandoc_西游记_epub3.epub"):
        reading = read(FileSource(corpus / "epub" / name))
        text = _text(reading)
        chapters = [one for one in reading.sections if one.kind == "chapter"]
        books.append([(one.title, text[one.start : one.end].strip()) for one in chapters])
    assert books[0] == books[1]
    assert len(books[0]) == 101  # 100 回 below the page of the book's name and author


def _source_words(path: Path, reading: Reading, offset: int) -> tuple[str, list[str]]:
    """The words of the element that a place leads to, as another parser finds it; and the lines of the place."""
    assert reading.places is not None
    place = reading.places.at(offset, 1)  # these formats have lines of their own
    assert place is not None
    if path.suffix == ".epub":
        with zipfile.ZipFile(path) as archive:
            data = archive.read(place.part)
        root = etree.fromstring(data, etree.XMLParser(recover=True, load_dtd=False, no_network=True))
    else:
        data = path.read_bytes()
        root = etree.fromstring(data, etree.HTMLParser(encoding=reading.encoding, huge_tree=True))
    steps = [re.fullmatch(r"(\w+)\[(\d+)\]", step) for step in place.element.strip("/").split("/")]
    xpath = "/" + "/".join(f"*[local-name()='{step[1]}'][{step[2]}]" for step in steps if step)
    found = root.xpath(xpath)
    assert len(found) == 1, (place, xpath)
    for marker in found[0].xpath(".//*[@*[local-name()='type']='pagebreak']"):
        marker.text = ""
    alts = " ".join(image.get("alt", "") for image in found[0].iter() if image.tag in ("img", f"{XHTML}img"))
    lines = data.decode(reading.encoding).replace("\r\n", "\n").split("\n")
    return " ".join(found[0].itertext()) + " " + alts, lines[place.number - 1 :]


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


@pytest.mark.parametrize(
    "name",
    [
        "epub/se_war-and-peace_epub3.epub",
        "epub/idpf_moby-dick.epub",
        "epub/idpf_childrens-literature.epub",
        "epub/idpf_epub30-spec.epub",
        "epub/pandoc_西游记_epub2_split6.epub",
        "epub/sphinx_debian-policy.epub",
        "html/moby-dick_pg2701_single-page.htm",
        "html/rust-book_print.html",
    ],
)
def test_a_place_followed_in_the_source_finds_the_words(name: str, corpus: Path) -> None:
    path = corpus / name
    reading = read(FileSource(path))
    text = _text(reading)
    assert reading.places is not None
    starts = reading.places.starts
    checked = 0
    for index in range(7, len(starts) - 1, max(1, len(starts) // 25)):
        block = text[starts[index] : starts[index + 1]].strip()
        words, lines = _source_words(path, reading, starts[index] + len(block) // 2)
        quoted = _letters(re.sub(r"^\s*(- |\d+\. )", "", block).translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))
        assert quoted in _letters(words), (block, words)
        first = _letters(re.split(r"[\s\[]", re.sub(r"^\s*(- |\d+\. )", "", block))[0])[:3]
        assert first in _letters(re.sub("<[^>]*>", "", "".join(lines[:3]))), (block, lines[:3])
        checked += 1
    assert checked >= 20


def test_hrefs_of_a_book_are_paths_of_its_container(corpus: Path) -> None:
    path = corpus / "epub" / "idpf_moby-dick.epub"
    reading = read(FileSource(path))
    assert reading.places is not None
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    assert {posixpath.normpath(unquote(part)) for part in reading.places.parts} <= names
