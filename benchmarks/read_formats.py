"""How fast EPUB, HTML, DOCX and PDF are read, in how much memory, beside what else reads them.

    python -m benchmarks.read_formats [--corpus ../shared/corpus] [--rounds 3]

Each figure is the best of some rounds, each in a process of its own, imports left out. What the others give is text or
Markdown without sections and without places that lead back; "library" is the usual library alone, joined to text: lxml
for EPUB and HTML, python-docx, pypdfium2. A file that one of them cannot read shows as "-".
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import resource
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

FILES = (
    "epub/se_war-and-peace_epub3.epub",
    "epub/pandoc_西游记_epub3.epub",
    "epub/sphinx_debian-policy.epub",
    "html/moby-dick_pg2701_single-page.htm",
    "html/rust-book_print.html",
    "html/python_stdtypes.html",
    "docx/pandoc_西游记.docx",
    "docx/pandoc_MANUAL.docx",
    "pdf/fhs-3.0.pdf",
    "pdf/debian-reference.zh-tw.pdf",
    "pathological/deep_nesting_100k.html",
)
WAYS = ("octavo", "library", "markitdown", "pandoc")
TIMEOUT_S = 300


def octavo(path: Path) -> Callable[[], str]:
    """The project's own reader."""
    from pipeline.read.registry import read
    from pipeline.read.sources import FileSource

    return lambda: "".join(read(FileSource(path)).blocks())


def library(path: Path) -> Callable[[], str]:
    """The usual library of the format, and nothing more."""
    if path.suffix == ".pdf":
        import pypdfium2

        return lambda: "\n".join(page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(path))
    if path.suffix == ".docx":
        import docx

        return lambda: "\n".join(paragraph.text for paragraph in docx.Document(str(path)).paragraphs)
    from lxml import etree, html

    if path.suffix == ".epub":

        def epub() -> str:
            with zipfile.ZipFile(path) as archive:
                pages = [name for name in archive.namelist() if name.endswith(("html", "htm"))]
                trees = (etree.parse(io.BytesIO(archive.read(name)), etree.HTMLParser()) for name in pages)
                return "\n".join("".join(tree.getroot().itertext()) for tree in trees)

        return epub
    return lambda: "".join(html.fromstring(path.read_bytes()).itertext())


def markitdown(path: Path) -> Callable[[], str]:
    """The converter to Markdown."""
    from markitdown import MarkItDown

    converter = MarkItDown()
    return lambda: str(converter.convert(str(path)).text_content)


def pandoc(path: Path) -> Callable[[], str]:
    """The converter between formats, a process of its own, which the time includes."""
    import pypandoc

    program = pypandoc.get_pandoc_path()
    kind = {".epub": "epub", ".docx": "docx", ".htm": "html", ".html": "html"}[path.suffix]
    command = [program, "--from", kind, "--to", "plain", "--wrap", "none", str(path)]
    return lambda: subprocess.run(command, check=True, capture_output=True, text=True).stdout


def run_one(way: str, path: Path) -> None:
    """The measured process: print what `measure` reads."""
    work = {"octavo": octavo, "library": library, "markitdown": markitdown, "pandoc": pandoc}[way](path)
    begin = time.perf_counter()
    text = work()
    seconds = time.perf_counter() - begin
    who = resource.RUSAGE_CHILDREN if way == "pandoc" else resource.RUSAGE_SELF
    peak = resource.getrusage(who).ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    print(json.dumps({"seconds": seconds, "chars": len(text), "peak": peak}))


def measure(way: str, path: Path, rounds: int) -> dict[str, float] | None:
    """Best seconds, characters of text and peak memory in megabytes; None where the way cannot read the file."""
    needed = {"markitdown": "markitdown", "pandoc": "pypandoc", "library": "docx" if path.suffix == ".docx" else "lxml"}
    if way in needed and importlib.util.find_spec(needed[way]) is None:
        return None
    command = [sys.executable, "-m", "benchmarks.read_formats", "--one", way, str(path)]
    best: dict[str, float] | None = None
    for _ in range(rounds):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            return None
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        if best is None or found["seconds"] < best["seconds"]:
            best = found
    return best


def main() -> None:
    """Parse the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=Path(__file__).resolve().parents[1] / ".." / "shared" / "corpus")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("WAY", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(options.one[0], Path(options.one[1]))
        return
    if not options.corpus.is_dir():
        print("no table: the shared corpus is not there")
        return
    print(f"{'MB/s of the file, peak MB, thousand characters':46}" + "".join(f"{way:>24}" for way in WAYS))
    for name in FILES:
        path = options.corpus / name
        size = path.stat().st_size / 1e6
        cells = []
        ours: float | None = None
        for way in WAYS:
            found = measure(way, path, options.rounds)
            if found is None:
                cells.append(f"{'-':>24}")
                continue
            ours = ours or found["seconds"]
            ratio = found["seconds"] / ours
            cells.append(f"{size / found['seconds']:8.2f}{found['peak']:5.0f}{found['chars'] / 1000:6.0f}{ratio:4.1f}x")
        print(f"{name[-44:]:46}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
