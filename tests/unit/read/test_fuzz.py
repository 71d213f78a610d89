"""Whatever bytes come, a reader gives a reading or one of the project's own errors, and its tree and places hold."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import OctavoError
from pipeline.read.reading import Reading
from pipeline.read.registry import read
from pipeline.read.sources import BytesSource
from tests.unit.read.docxs import docx, item, p, table
from tests.unit.read.epubs import epub, nav, ncx, page
from tests.unit.read.pdfs import column, pdf

SEEDS: dict[str, bytes] = {
    "a.html": page("<h1>A</h1><p>b<sup>1</sup></p><table><tr><td>c</table><ul><li>e</ul><pre>f\n g</pre>").encode(),
    "a.epub": epub(
        {"a.xhtml": page("<h1 id='a'>A</h1><p>x</p><aside epub:type='footnote'>n</aside>"), "b.xhtml": page("y")},
        nav("A|a.xhtml#a", ">B|b.xhtml"),
        toc_ncx=ncx("A|a.xhtml"),
    ),
    "a.docx": docx(p("A", "H1") + p("x") + item("i", 1) + table(("a", "b"), ("c", "d"))),
    "a.pdf": pdf([column(["A line of it", "and another one"]), column(["a third"])], [("A", 0), ("B", 1)]),
}  # fmt: skip
PIECES = (
    "<p>", "</p>", "<div>", "</div>", "<td>", "<tr>", "<table>", "</table>", "<li>", "<ul>", "<ol start=-3>", "</ul>",
    "<h1>", "</h2>", "<a href='#x' id=x>", "</a>", "<sup>", "</sup>", "<ruby>", "<rt>", "<rp>", "</ruby>", "<pre>\n",
    "</pre>", "<br>", "<hr/>", "<q>", "<!--", "-->", "<![CDATA[", "]]>", "<?x", "?>", "<!DOCTYPE [", "]>", "<script>",
    "</script>", "<title>", "</title>", "<math alttext='x'>", "</math>", "<svg>", "<text>", "</svg>", "<nav>", "</nav>",
    "<main>", "</main>", "<aside role=doc-footnote>", "</aside>", "<p hidden>", "<img alt=y>", "<a role=doc-noteref>",
    "&amp;", "&#0;", "&#xD800;", "&nbsp", "\ufdd0", "\ufdd3", "\0", "\u00ad", "\r\n", "  ", "text", "第一章", "漢", "1",
    "<", ">", "=", "'", '"', "/", "<body", "</", "<x:y z:w=1>", "<template>", "<select><option>",
)  # fmt: skip


def _sound(data: bytes, name: str, check_tree: Callable[[Reading], None]) -> Reading | None:
    """Read; what comes must be one of our errors in one line, or a sound reading."""
    told, reading = "", None
    try:
        reading = read(BytesSource(name, data))
    except OctavoError as error:
        told = error.message
    if reading is None:
        assert "\n" not in told
        return None
    check_tree(reading)
    text = "".join(reading.blocks())
    text.encode("utf-8")
    if reading.places is not None:
        places = reading.places
        assert list(places.starts) == sorted(places.starts)
        assert all(0 <= start < len(text) for start in places.starts)
        assert all(number >= 1 for number in places.numbers)
        assert places.at(len(text) - 1) is not None
    return reading


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=60), kind=st.sampled_from(["html", "xhtml", "epub"]))
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_soup_of_tags_is_read_or_refused(
    pieces: list[str], kind: str, check_tree: Callable[[Reading], None]
) -> None:
    soup = "".join(pieces)
    if kind == "epub":
        _sound(
            epub({"a.xhtml": page(soup), "b.xhtml": soup.encode()}, nav("A|a.xhtml#x", "B|b.xhtml")),
            "a.epub",
            check_tree,
        )
    else:
        head = "<?xml version='1.0'?>" if kind == "xhtml" else ""
        _sound(f"{head}<html><body>{soup}".encode(), "a.html", check_tree)


def _mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(changed)) if changed else 0
        match chance.randrange(5):
            case 0:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del changed[at : at + chance.randrange(1, 60)]
            case 2:
                begin = chance.randrange(len(changed)) if changed else 0
                changed[at:at] = changed[begin : begin + chance.randrange(1, 80)]
            case 3:
                changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 9)))
            case _:
                changed[at : at + 4] = chance.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", b"9999", b"<<<<", b"/ 0 "])
    return bytes(changed)


def _inside(data: bytes, chance: random.Random) -> bytes:
    """An archive with one of its entries mutated, so that what is behind the packing is reached."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w") as new:
        chosen = chance.choice(old.namelist())
        for name in old.namelist():
            source = old.read(name)
            new.writestr(name, _mutated(source, chance) if name == chosen else source)
    return target.getvalue()


def _rounds(name: str, count: int, seed: int, check_tree: Callable[[Reading], None]) -> int:
    chance = random.Random(seed)
    read_ones = 0
    for _ in range(count):
        packed = name.endswith((".epub", ".docx")) and chance.random() < 0.8
        data = _inside(SEEDS[name], chance) if packed else _mutated(SEEDS[name], chance)
        read_ones += _sound(data, name, check_tree) is not None
    return read_ones


@pytest.mark.parametrize("name", SEEDS)
def test_mutated_files_are_read_or_refused(name: str, check_tree: Callable[[Reading], None]) -> None:
    assert _rounds(name, 150, 5, check_tree) > 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SEEDS)
def test_mutated_files_are_read_or_refused_many_times(
    name: str, seed: int, check_tree: Callable[[Reading], None]
) -> None:
    assert _rounds(name, 5000, seed, check_tree) > 0


@pytest.mark.nightly
@pytest.mark.parametrize("name", SEEDS)
def test_a_fuzzer_that_follows_the_code_finds_no_other_error(name: str, tmp_path: Any) -> None:
    pytest.importorskip("atheris", reason="atheris is not installed: it has wheels for some Pythons only")
    import subprocess
    import sys

    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / name).write_bytes(SEEDS[name])
    command = [sys.executable, "-m", "tests.unit.read.atheris_target", name, str(corpus), "-max_total_time=60"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
