"""What the extractive model makes of real books: speed, the first entries of the glossary, the summary.

    python -m benchmarks.extractive BOOK … [--truth FILE] [--entries 30] [--sentences 12]

Reads naively (the project's readers and splitter are measured elsewhere): decodes, cuts at chapter lines, and again
into pieces of about 4,000 characters, or 1,500 where words are not spaced. With the truth file of the web novel
generator it prints recall and counts of the characters too.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from charset_normalizer import from_bytes

from pipeline.models.extractive import extract, fold_summary, summarize
from pipeline.models.extractive.scripts import Script, script_of
from pipeline.ops.values import Json
from pipeline.reduce.glossary import Entry, entries, merge_shard, partition, resolve, summarise_shard

SHARDS = 16
GROUP = 8  # children of a fold
CHAPTER = re.compile(
    r"^(?=[ \t　]*(?:第[零〇一二三四五六七八九十百千两0-9０-９]+[章回卷节]|(?:CHAPTER|Chapter|BOOK|Book) [IVXLC\d]+"
    r"|[1-3]? ?[A-Z][a-z]+ \d+$))",
    re.MULTILINE,
)
BEGIN = re.compile(r"\*\*\* ?START OF.*?\*\*\*|\*END.THE SMALL PRINT.*?\n")
END = re.compile(r"\*\*\* ?END OF|\nEnd of (?:the |this )?Project Gutenberg")


def read(path: Path) -> str:
    """The text of a book between the markers of its licence."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = str(from_bytes(raw).best())
    text = text.replace("\r\n", "\n")
    begin = BEGIN.search(text)
    text = text[begin.end() :] if begin else text
    end = END.search(text)
    return text[: end.start()] if end else text


def chapters(text: str) -> Iterator[list[str]]:
    """Chapters as lists of pieces; those that are a line of a table of contents are left out."""
    found = [part for part in CHAPTER.split(text) if part.strip()]
    for part in found:
        if len(found) < 20 or len(part) > 200:
            yield list(pieces(part))


def pieces(part: str) -> Iterator[str]:
    """Pieces of about a thousand tokens, cut at blank lines or line ends."""
    size = 4000 if script_of(part[:4000]) is Script.SPACED else 1500
    while len(part) > size * 6 // 5:
        cut = max(part.rfind("\n\n", size // 2, size), part.rfind("\n", size // 2, size))
        cut = cut if cut > 0 else size
        yield part[:cut]
        part = part[cut:]
    yield part


def glossary(chunks: Sequence[str]) -> list[Entry]:
    """extract → partition → merge → resolve → entries, with the time of each."""
    clock = Clock()
    outputs = [extract(chunk).value for chunk in chunks]
    megabytes = sum(len(chunk.encode()) for chunk in chunks) / 1e6
    seconds = clock.lap()
    size = sum(len(json.dumps(output, ensure_ascii=False).encode()) for output in outputs) / 1e6
    print(f"  extract    {megabytes / seconds:6.2f} MB/s, outputs {size / megabytes:.2f} of the text")
    clock.lap()
    parts: dict[int, list[list[tuple[int, Json]]]] = defaultdict(list)
    for output in outputs:
        for shard, part in partition(output, SHARDS).items():
            parts[shard].append(part)
    values = [merge_shard(parts[shard]) for shard in range(SHARDS)]
    merged = clock.lap()
    resolved = resolve([summarise_shard(value) for value in values])
    judged = clock.lap()
    found = list(entries(values, resolved))
    print(f"  merge {merged:.2f} s, resolve {judged:.2f} s, entries {clock.lap():.2f} s: {len(found)} entries")
    return found


def summary(book: Sequence[Sequence[str]], wanted: int) -> list[str]:
    """summarize → fold to chapters → fold in groups → fold to the book."""
    clock = Clock()
    leaves = [[summarize(chunk).value for chunk in chapter] for chapter in book]
    seconds = clock.lap()
    megabytes = sum(len(chunk.encode()) for chapter in book for chunk in chapter) / 1e6
    level = [fold_summary(chapter, sentences=4).value for chapter in leaves]
    while len(level) > GROUP:
        level = [fold_summary(level[i : i + GROUP], sentences=8).value for i in range(0, len(level), GROUP)]
    top = fold_summary(level, sentences=wanted).value
    print(f"  summarize  {megabytes / seconds:6.2f} MB/s, fold {clock.lap():.2f} s")
    return [item["text"] for item in top["sentences"]]


class Clock:
    """Seconds between laps."""

    def __init__(self) -> None:
        self.at = time.perf_counter()

    def lap(self) -> float:
        """Seconds since the last lap."""
        before, self.at = self.at, time.perf_counter()
        return self.at - before


def compare(found: Sequence[Entry], truth: Json) -> None:
    """Recall of characters with five mentions or more, counts within 2 %, and merges of names that must stay apart."""
    by_name = {name: entry for entry in found for name in (entry.name, *entry.aliases)}
    known = {}
    for character in truth["characters"]:
        count = sum(number for _, number in character["mentions"].get(character["name"], []))
        if count >= 5:
            known[character["name"]] = (count, character["confusable_with"])
    hits = {name: by_name[name].count for name in known if name in by_name}
    exact = [name for name, count in hits.items() if abs(count - known[name][0]) * 50 <= known[name][0]]
    merged = [(n, o) for n, (_, others) in known.items() for o in others if n in hits and by_name.get(o) is by_name[n]]
    print(
        f"  truth: recall {len(hits)}/{len(known)}, counts within 2 % {len(exact)}/{len(hits)}, wrong merges {merged}"
    )
    print(f"  missed: {sorted(known.keys() - hits.keys())}")


def main() -> None:
    """Print the tables of each book."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", nargs="+", type=Path)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--entries", type=int, default=30)
    parser.add_argument("--sentences", type=int, default=12)
    options = parser.parse_args()
    for path in options.books:
        book = list(chapters(read(path)))
        chunks = [chunk for chapter in book for chunk in chapter]
        print(f"{path.name}: {len(book)} chapters, {len(chunks)} chunks")
        found = glossary(chunks)
        for rank, entry in enumerate(found[: options.entries], 1):
            aliases = f"  = {', '.join(entry.aliases[:4])}" if entry.aliases else ""
            print(f"  {rank:3} {entry.count:6} {entry.kind:12} {entry.name}{aliases}")
        if options.truth:
            compare(found, json.loads(options.truth.read_text(encoding="utf-8")))
        for sentence in summary(book, options.sentences):
            print(f"  · {sentence}")


if __name__ == "__main__":
    sys.exit(main())
