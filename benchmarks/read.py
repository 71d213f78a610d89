"""How fast plain text and Markdown are read, in how much memory, and how often their encoding is found.

    python -m benchmarks.read [--megabytes 40] [--corpus ../shared/corpus]

Each speed is one pass of `read()` in a process of its own, so that its peak memory is its own, beside the least that
any reader must do: decode the file and hash source and text. The accuracy table needs the shared corpus.
"""

from __future__ import annotations

import argparse
import codecs
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from charset_normalizer import from_bytes

from pipeline.errors import OctavoError
from pipeline.read.registry import read
from pipeline.read.sources import BytesSource, FileSource

ENGLISH = (
    "The tide went out at noon, and nobody in the harbour had seen the boat since the lamp was lit.\n"
    "An old man on the mole said that it would be back with the flood, as it had always been.\n\n"
)
CHINESE = "　　潮水在中午退去，港口里没有人看见那条船。老人坐在防波堤上，说它会随着晚潮回来，一向如此。\n\n"
# A chapter of about three thousand characters, as web novels have.
KINDS: dict[str, tuple[str, str, Callable[[int], str]]] = {
    "English, ASCII": ("utf-8", "txt", lambda number: f"Chapter {number}: Ebb\n\n{ENGLISH * 16}"),
    "English, CRLF": ("utf-8", "txt", lambda number: f"Chapter {number}: Ebb\n\n{ENGLISH * 16}".replace("\n", "\r\n")),
    "Chinese, UTF-8": ("utf-8", "txt", lambda number: f"第{number}章 潮汐\n\n{CHINESE * 60}"),
    "Chinese, GB18030": ("gb18030", "txt", lambda number: f"第{number}章 潮汐\n\n{CHINESE * 60}"),
    "Markdown": (
        "utf-8",
        "md",
        lambda number: f"## Ebb {number}\n\n{ENGLISH * 16}- one\n- two\n\n```\n# code\n```\n\n",
    ),
}
TRUE_ENCODINGS = {
    "en/moby-dick_pg2701-0_utf8bom_crlf.txt": "utf-8-sig",
    "en/war-and-peace_pg2600-8_latin1.txt": "latin-1",
    "zh/三国演义_gb18030.txt": "gb18030",
    "zh/三國演義_big5.txt": "cp950",
    "zh/三国演义.txt": "utf-8",
    "ja/soseki_wagahai_sjis.txt": "cp932",
    "ru/russian_cp1251_crlf.txt": "cp1251",
    "ru/debian-faq.ru.txt": "utf-8",
    "rtl/quran_uthmani.txt": "utf-8",
}
PIECES = {
    "zh/三国演义.txt": ("gb18030", "gbk", "utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"),
    "zh/三國演義_big5.txt": ("cp950", "big5hkscs"),
    "ja/soseki_wagahai_sjis.txt": ("cp932", "euc_jp", "iso2022_jp", "utf-16-le"),
    "ru/debian-faq.ru.txt": ("cp1251", "koi8_r", "cp866", "utf-16-le", "utf-32-le"),
}


def write_book(path: Path, megabytes: int, kind: str) -> None:
    """Write a book of about so many megabytes."""
    encoding, _, chapter = KINDS[kind]
    with path.open("wb") as target:
        number = 0
        while target.tell() < megabytes * 1_000_000:
            number += 1
            target.write(chapter(number).encode(encoding))


def measure(path: Path, encoding: str, *, floor: bool) -> dict[str, float]:
    """Read a file in a process of its own: seconds, sections and peak memory in megabytes."""
    command = [sys.executable, "-m", "benchmarks.read", "--one", str(path), "--encoding", encoding]
    done = subprocess.run([*command, *(["--floor"] if floor else [])], check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def run_one(path: Path, encoding: str, *, floor: bool) -> None:
    """The measured process: print what `measure` reads."""
    begin = time.perf_counter()
    sections = 0
    if floor:
        source, text = hashlib.sha256(), hashlib.sha256()
        decoder = codecs.getincrementaldecoder(encoding)()
        with path.open("rb") as stream:
            while data := stream.read(1 << 20):
                source.update(data)
                text.update(decoder.decode(data).encode())
    else:
        sections = len(read(FileSource(path)).sections)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    print(json.dumps({"seconds": seconds, "sections": sections, "peak": peak}))


def speeds(megabytes: int) -> None:
    """Print the table of speeds."""
    print(f"{'':20}{'MB/s':>8}{'floor':>8}{'ratio':>8}{'sections':>10}{'peak MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, (encoding, suffix, _) in KINDS.items():
            path = Path(folder) / f"book.{suffix}"
            write_book(path, megabytes, kind)
            size = path.stat().st_size / 1e6
            ours, floor = (measure(path, encoding, floor=least) for least in (False, True))
            print(
                f"{kind:20}{size / ours['seconds']:8.0f}{size / floor['seconds']:8.0f}"
                f"{floor['seconds'] / ours['seconds']:8.2f}{ours['sections']:10.0f}{ours['peak']:9.0f}"
            )


def _ours(path: Path, data: bytes) -> tuple[str, str]:
    try:
        reading = read(FileSource(path))
    except OctavoError as error:
        return "refused", error.message
    del data
    return reading.encoding, "".join(reading.blocks())


def _rival(path: Path, data: bytes) -> tuple[str, str]:
    del path
    best = from_bytes(data).best()
    return (best.encoding, str(best)) if best is not None else ("none", "")


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")


def accuracy(corpus: Path) -> None:
    """Print which encoding was found for each text whose encoding is known; right means the same text comes out."""
    known = dict(TRUE_ENCODINGS)
    expected = json.loads((corpus / "pathological" / "expected.json").read_text(encoding="utf-8"))
    known.update({f"pathological/{name}": one["encoding"] for name, one in expected.items() if "encoding" in one})
    right = [0, 0]
    print(f"\n{'':48}{'true':14}{'Octavo':22}{'charset-normalizer':22}")
    for name, encoding in known.items():
        data = (corpus / name).read_bytes()
        truth = _plain(data.decode(encoding, "replace"))
        cells = []
        for place, finder in enumerate((_ours, _rival)):
            found, text = finder(corpus / name, data)
            is_right = _plain(text) == truth
            right[place] += is_right
            cells.append(f"{found} {'' if is_right else '✗'}")
        print(f"{name[-46:]:48}{encoding:14}{cells[0]:22}{cells[1]:22}")
    print(f"{'right':62}{right[0]}/{len(known):<20}{right[1]}/{len(known)}")


def pieces(corpus: Path) -> None:
    """Print how many short pieces of books come out as they were, written in an encoding and read without its name."""
    sizes = (40, 150, 600)
    columns = "".join(f"{size:>8} ch. {'':8}" for size in sizes)
    print(f"\n{'pieces read right, Octavo | charset-normalizer':48}{columns}")
    for name, encodings in PIECES.items():
        text = "".join(read(FileSource(corpus / name)).blocks())
        for encoding in encodings:
            cells = ""
            for size in sizes:
                chosen = [text[place : place + size] for place in range(3000, 160_000, 2777)]
                encoded = [piece.encode(encoding, "ignore") for piece in chosen]
                written = [
                    data for data in encoded if not data.isascii() or b"\x1b$" in data
                ]  # ISO-2022-JP is seven-bit
                ours = sum(_piece(data) == data.decode(encoding) for data in written)
                theirs = sum(str(from_bytes(data).best()) == data.decode(encoding) for data in written)
                cells += f"{ours:>6} |{theirs:>3} /{len(written):>3}    "
            print(f"{name:34}{encoding:14}{cells}")


def _piece(data: bytes) -> str:
    try:
        return "".join(read(BytesSource("piece.txt", data)).blocks())
    except OctavoError:
        return ""


def main() -> None:
    """Parse the options and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=40)
    parser.add_argument("--corpus", type=Path, default=Path(__file__).resolve().parents[1] / ".." / "shared" / "corpus")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--encoding", default="utf-8", help=argparse.SUPPRESS)
    parser.add_argument("--floor", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(options.one, options.encoding, floor=options.floor)
        return
    speeds(options.megabytes)
    if options.corpus.is_dir():
        accuracy(options.corpus)
        pieces(options.corpus)
    else:
        print("\nno accuracy table: the shared corpus is not there")


if __name__ == "__main__":
    main()
