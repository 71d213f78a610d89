"""How long a search takes: the first page of 200 stated queries over an index of many chunks, on both databases.

    python -m benchmarks.search CORPUS [--chunks 1000000] [--limit 250] [--work DIR] [--only sqlite|postgresql]
                                [--phase build|measure]

Both databases stay in the work folder: `--phase build` only fills them, `--phase measure` only searches what is there.

The chunks come in by the ordinary ingest, half of their text Chinese, half English; the index is filled as the first
search would fill it. Queries are drawn by frequency (in how many chunks of a sample a word stands): rare, middling
and frequent, of one, two and three words; the file `queries.json` in the work folder states them. Each is run three
times in a transaction of its own, as a command does, and the slowest is counted.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.distributed.servers import servers
from benchmarks.search.books import books
from db import migrate
from db.database import Database
from db.engine import make_engine, sqlite_url
from pipeline.evidence.terms import query_terms, terms_of
from pipeline.split.grain import Grain
from pipeline.split.tokenizer import load_counter
from workers.evidence.index import refresh
from workers.evidence.search import Searcher
from workers.ingest.find import find
from workers.ingest.ingest import Cutting, ingest

BANDS = {"rare": (1e-5, 4e-4), "middling": (4e-4, 2e-2), "frequent": (2e-2, 1.0)}


@contextmanager
def opened(kind: str, work: Path) -> Iterator[Database]:
    """A migrated database in the work folder."""
    if kind == "sqlite":
        database = Database(make_engine(sqlite_url(work / "octavo.db")))
        migrate.upgrade(database)
        yield database
        database.close()
        return
    folder = work / "postgresql"
    folder.mkdir(exist_ok=True)
    work.chmod(0o755)
    with servers(folder) as own:
        database = Database(make_engine(own.database_url))
        migrate.upgrade(database)
        yield database
        database.close()


def fill(database: Database, files: list[Path], limit: int, work: Path) -> None:
    """Ingest the books and index them."""
    grain = Grain(name="search", limit=limit, overlap=0, heading_level=1)
    cutting = Cutting(grain=grain, counter=load_counter("characters"))
    began = time.perf_counter()
    for item in find([str(path) for path in files], work / "spool", None):
        ingest(database, item, cutting)
    middle = time.perf_counter()
    added = refresh(database)
    seconds = time.perf_counter() - middle
    with database.read() as rows:
        chunks = rows.search.totals()[0]
    pace = added / max(seconds, 1e-9)
    print(
        f"  ingest {middle - began:.0f} s, index {seconds:.0f} s ({pace:,.0f} chunks/s), {chunks:,} chunks", flush=True
    )


def queries(files: list[Path], seed: int, limit: int) -> list[tuple[str, str, str]]:
    """200 queries as (language, band, query): drawn by how many chunks of a sample have a word."""
    chance = random.Random(seed)
    stated = []
    for language in ("zh", "en"):
        texts = [path.read_text() for path in files if path.name.startswith(language)]
        pieces = [text[at : at + limit] for text in texts for at in range(0, len(text), limit)]
        sample = chance.sample(pieces, min(40_000, len(pieces)))
        having: Counter[str] = Counter()
        for piece in sample:
            having.update(set(terms_of(piece)))
        for band, (low, high) in BANDS.items():
            inside = [word for word, count in having.items() if low <= count / len(sample) < high and len(word) > 1]
            words = sorted(word for word in inside if query_terms(word) == [word])
            for number in range(34 if band == "middling" else 33):
                count = 1 + number % 3 if number % 2 else 1
                stated.append((language, band, " ".join(chance.sample(words, count))))
    return stated


def measure(database: Database, stated: Sequence[tuple[str, str, str]]) -> dict[str, list[float]]:
    """Milliseconds of the first page of each query, by band; the slowest of three."""
    found: dict[str, list[float]] = {}
    for language, band, query in stated:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            with database.read() as rows:
                page = Searcher(rows).search(query, limit=10)
                rows.contents.texts([hit.chunk.content_sha256 for hit in page.hits])
            times.append((time.perf_counter() - began) * 1000)
        found.setdefault(f"{language} {band}", []).append(max(times))
    return found


def main() -> None:
    """Print a table for each database."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--limit", type=int, default=250, help="characters in a chunk at most")
    parser.add_argument("--work", type=Path, default=Path("search-benchmark"))
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    parser.add_argument("--phase", choices=("build", "measure"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    files = written(options.corpus, options.work, options.chunks * options.limit * 3 // 4)
    listed = options.work / "queries.json"
    if not listed.exists():
        listed.write_text(json.dumps(queries(files, 1, options.limit), ensure_ascii=False, indent=0))
    stated = json.loads(listed.read_text())
    for kind in [options.only] if options.only else ["sqlite", "postgresql"]:
        print(f"{kind}:")
        with opened(kind, options.work) as database:
            if options.phase != "measure":
                fill(database, files, options.limit, options.work)
            if options.phase != "build":
                with database.read() as rows:
                    indexed = rows.search.totals()[0]
                if not indexed:
                    raise SystemExit(f"nothing is indexed in {options.work}: build there first (--phase build)")
                print(f"  {indexed:,} chunks")
                table(measure(database, stated))


def written(corpus: Path, work: Path, chars: int) -> list[Path]:
    """The books as files, made once."""
    files = []
    for name, chinese in (("zh", True), ("en", False)):
        for number, text in enumerate(books(corpus, chars // 2, chinese, seed=1)):
            path = work / f"{name}-{number:03}.txt"
            if not path.exists():
                path.write_text(text)
            files.append(path)
    return files


def table(found: dict[str, list[float]]) -> None:
    """Median, p95 and slowest of each band and of all."""
    everything = [ms for times in found.values() for ms in times]
    for name, times in [*found.items(), ("all", everything)]:
        ordered = sorted(times)
        p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
        middle = statistics.median(ordered)
        print(
            f"  {name:14} {len(ordered):4} queries  median {middle:6.1f}  p95 {p95:6.1f}  slowest {ordered[-1]:6.1f} ms"
        )


if __name__ == "__main__":
    main()
