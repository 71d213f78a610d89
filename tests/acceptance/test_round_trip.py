"""A citation that Octavo prints, followed by hand in the source, finds the quoted words: for each format."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdf
import pytest
from lxml import etree

from tests.acceptance.command import STORY, Cli
from tests.unit.read.docxs import docx, p
from tests.unit.read.epubs import epub, nav, page
from tests.unit.read.pdfs import column, pdf

PARAGRAPHS = [line for line in STORY.split("\n") if line]
FERRY, BRIDGE = PARAGRAPHS[1:3], PARAGRAPHS[4:6]
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
Follow = Callable[[Path, dict[str, Any]], str]


def _chapter(title: str, paragraphs: list[str]) -> str:
    return f"<h1>{title}</h1>\n" + "\n".join(f"<p>{text.replace(' the ', ' <i>the</i> ')}</p>" for text in paragraphs)


def _html() -> bytes:
    return f"<!doctype html>\n<html><body>\n{_chapter('The Ferry', FERRY)}\n{_chapter('The Bridge', BRIDGE)}".encode()


def _epub() -> bytes:
    pages = {"1.xhtml": page(_chapter("The Ferry", FERRY)), "2.xhtml": page(_chapter("The Bridge", BRIDGE))}
    return epub(pages, nav("The Ferry|1.xhtml", "The Bridge|2.xhtml"))


def _docx() -> bytes:
    return docx(p("The Ferry", "H1") + "".join(map(p, FERRY)) + p("The Bridge", "H1") + "".join(map(p, BRIDGE)))


def _pdf() -> bytes:
    made = []
    for title, paragraphs in (("The Ferry", FERRY), ("The Bridge", BRIDGE)):
        words = " ".join(paragraphs).split()
        lines = [" ".join(words[at : at + 12]) for at in range(0, len(words), 12)]
        made.append([(72, 740, 18, title), *column(lines)])
    return pdf(made)


def _in_page(data: bytes, place: dict[str, Any], parser: etree.XMLParser | etree.HTMLParser) -> str:
    """The words of the element, which begin on the line."""
    steps = [re.fullmatch(r"(\w+)\[(\d+)\]", step) for step in place["element"].strip("/").split("/")]
    path = "/" + "/".join(f"*[local-name()='{step[1]}'][{step[2]}]" for step in steps if step)
    (element,) = etree.fromstring(data, parser).xpath(path)
    assert f"<{place['element'].rpartition('/')[2].partition('[')[0]}>" in data.decode().split("\n")[place["line"] - 1]
    return "".join(element.itertext())


def _follow_html(path: Path, place: dict[str, Any]) -> str:
    return _in_page(path.read_bytes(), place, etree.HTMLParser(encoding="utf-8"))


def _follow_epub(path: Path, place: dict[str, Any]) -> str:
    with zipfile.ZipFile(path) as archive:
        return _in_page(archive.read(place["item"]), place, etree.XMLParser())


def _follow_docx(path: Path, place: dict[str, Any]) -> str:
    with zipfile.ZipFile(path) as archive:
        root = etree.fromstring(archive.read(place["item"]))
    return "".join(node.text for node in list(root.iter(f"{WORD}p"))[place["paragraph"] - 1].iter(f"{WORD}t"))


def _follow_pdf(path: Path, place: dict[str, Any]) -> str:
    return pypdf.PdfReader(path).pages[place["page"] - 1].extract_text().replace("\n", " ")


FORMATS: dict[str, tuple[Callable[[], bytes], Follow, str]] = {
    "ferry.html": (_html, _follow_html, "line 4"),
    "ferry.epub": (_epub, _follow_epub, "1.xhtml line 4"),
    "ferry.docx": (_docx, _follow_docx, "paragraph 2"),
    "ferry.pdf": (_pdf, _follow_pdf, "page 1"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_cited_stands_where_the_citation_says(name: str, cli: Cli) -> None:
    make, follow, shown = FORMATS[name]
    path = cli.folder / name
    path.write_bytes(make())
    summary = cli.ok("run", name, "--json").json["output"]
    assert len(summary["sentences"]) >= 2
    for sentence in summary["sentences"]:
        for citation in sentence["citations"]:
            assert sentence["text"] in follow(path, citation["source"])
    assert [chapter["title"] for chapter in summary["chapters"]] == ["The Ferry", "The Bridge"]
    glossary = cli.ok("run", name, "--pipeline", "glossary", "--json").json["output"]["entries"]
    assert {"Tom Bell", "Port Averil"} <= {entry["name"] for entry in glossary}
    for entry in glossary:
        for citation in entry["citations"]:
            assert entry["name"] in follow(path, citation["source"])
    assert shown in cli.ok("run", name).out
    assert shown in cli.ok("export", "--format", "markdown").out
    for chunk in cli.ok("manifest", name).json["chunks"]:
        assert follow(path, chunk["source"])


def test_of_a_book_in_several_files_a_citation_names_file_and_line(cli: Cli) -> None:
    folder = cli.folder / "ferry"
    folder.mkdir()
    for name, title, paragraphs in (("1.txt", "Chapter 1", FERRY), ("2.txt", "Chapter 2", BRIDGE)):
        (folder / name).write_text("\n".join([title, "", *paragraphs]), encoding="utf-8")
    glossary = cli.ok("run", "ferry", "--as-book", "--pipeline", "glossary", "--json").json["output"]["entries"]
    places = [
        (entry["name"], citation["source"], citation.get("source_end"))
        for entry in glossary
        for citation in entry["citations"]
    ]
    assert {place["item"] for _, place, _ in places} == {"1.txt", "2.txt"}
    for name, place, end in places:
        lines = (folder / place["item"]).read_text(encoding="utf-8").split("\n")
        assert name in " ".join(lines[place["line"] - 1 : (end or place)["line"]])
