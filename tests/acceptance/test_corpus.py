"""Every file of the shared corpus in one command: each outcome is what must come of it; none crashes, hangs or grows.

For the nightly run (every run has the readers alone over the same files). Each test prints a table: run it with -s.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from octavo.cli import ingest as ingest_module
from pipeline.settings import Settings
from tests.acceptance.command import Cli
from tests.unit.read.test_corpus import NUMBERED, OUTCOMES
from workers.ingest import pool
from workers.ingest.attempt import Attempt, Failed
from workers.runtime import Runtime

pytestmark = pytest.mark.corpus

MEMORY = 600_000_000  # bytes that no file may take
SECONDS = 120.0  # after which a file is given up, and the test fails

# What must come of hostile files without a count of chapters in expected.json: a number of chapters and headings, None
# for any, or what the reason says.
HOSTILE: dict[str, int | str | None] = {
    **OUTCOMES,
    "pdf_disguised.txt": "PDF",
    "json_surrogates.jsonl": "not a kind of file",
    "expected.json": "not a kind of file",
    "not_a_zip.epub": None,  # it is the plain text that it is
    "empty.epub": "is empty",
    "zip_bomb_200mb_entry.epub": "bomb",
    "drm_encryption.epub": "DRM|encrypted",
    "empty_spine.epub": "no reading order|spine",
    "billion_laughs.epub": None,
    "xxe_opf.epub": None,
    "duplicate_entries.epub": None,
    "deep_nesting_100k.html": None,
    "attr_bomb.html": None,
    "nav_depth_300.epub": 301,  # two spine items, under a table of contents of 300 levels
}
# Names of epubcheck's fixtures that say how the reading ends; of the others a book or a clear refusal.
VALID = re.compile(r"-valid\.epub$|minimal\.epub$", re.IGNORECASE)


def _ingest(cli: Cli, monkeypatch: pytest.MonkeyPatch, *arguments: Path) -> tuple[Any, dict[str, int]]:
    """The rows of one `octavo ingest`, and the most memory that each source took in a process of its own."""
    held: dict[str, int] = {}
    done = ingest_module._Progress.done

    def note(self: Any, number: int, outcome: Attempt, peak: int = 0) -> None:
        found = outcome.found.uri if isinstance(outcome, Failed) else outcome.document.uri
        held[found] = peak
        done(self, number, outcome, peak)

    monkeypatch.setattr(ingest_module._Progress, "done", note)
    monkeypatch.setattr(pool, "FULL_BYTES", 0)  # a new process for each
    monkeypatch.setattr(pool, "patience_s", lambda found: SECONDS)
    ended = cli.run("ingest", *arguments, "--json", "--jobs", "2")
    assert "Traceback" not in ended.err
    assert "did not expect" not in ended.err
    return ended.json, held


def _counts(cli: Cli, rows: Any) -> dict[str, Counter[str]]:
    """How many sections of each kind each document has, by its URI."""
    runtime = Runtime(Settings(state=cli.state))
    counts = {}
    with runtime.database.read() as database:
        for row in rows:
            if row["what"] == "read":
                document = database.documents.by_uri(row["uri"])
                counts[row["uri"]] = Counter(
                    kind.value for kind in database.documents.sections(document.current.id).kinds
                )
    runtime.close()
    return counts


def _fault(name: str, row: dict[str, Any], counts: Counter[str], expected: dict[str, Any], peak: int) -> str | None:
    """What is wrong with an outcome, or None."""
    reason = row.get("reason", "")
    if re.search("unexpected|died|not read within|MemoryError|fault of Octavo", reason):
        return reason
    if peak > MEMORY:
        return f"took {peak // 1_000_000} MB"
    wanted = HOSTILE[name] if name in HOSTILE else expected.get("chapters", expected.get("headings", ""))
    if isinstance(wanted, str):
        return (
            None if row["what"] != "read" and re.search(wanted, reason) else f"{row['what']}, not refused for {wanted}"
        )
    if row["what"] != "read":
        return f"{row['what']}: {reason}"
    found = sum(counts[kind] for kind in NUMBERED)
    return None if wanted is None or found == wanted else f"{found} chapters, not {wanted}"


def _table(lines: list[tuple[str, dict[str, Any], int, str | None]]) -> dict[str, str]:
    """Print what became of each file; what is wrong, by name."""
    for name, row, peak, fault in lines:
        sections = f"{row.get('sections', '')}"
        print(  # noqa: T201  # the table is what the test is for
            f"{name[:60]:60} {row['what']:8} {sections:>6} {peak / 1e6:5.0f} MB  {fault or row.get('reason', '')[:90]}"
        )
    print(Counter(row["what"] for _, row, _, _ in lines))  # noqa: T201
    return {name: fault for name, _, _, fault in lines if fault}


@pytest.mark.nightly
def test_every_hostile_file_ends_as_it_must(cli: Cli, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = corpus / "pathological"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    rows, held = _ingest(cli, monkeypatch, folder)
    counts = _counts(cli, rows)
    lines = []
    for row in rows:
        name = _name(row)
        fault = _fault(
            name, row, counts.get(row.get("uri", ""), Counter()), expected.get(name, {}), held.get(row.get("uri"), 0)
        )
        lines.append((name, row, held.get(row.get("uri", ""), 0), fault))
    assert {name for name, *_ in lines} >= set(expected)
    assert _table(lines) == {}


# Without META-INF/container.xml the one package document is found by its name: a readable book.
FOUND_ALL_THE_SAME = "epub3__04-ocf__ocf-container-file-missing-fatal.epub"


@pytest.mark.nightly
def test_every_fixture_of_epubcheck_is_a_book_or_a_clear_refusal(
    cli: Cli, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, held = _ingest(cli, monkeypatch, corpus / "epub-epubcheck")
    lines = []
    for row in rows:
        name, peak = _name(row), held.get(row.get("uri", ""), 0)
        fault = f"took {peak // 1_000_000} MB" if peak > MEMORY else None
        if VALID.search(name) and row["what"] != "read" and not re.search("no text|image|fixed", row.get("reason", "")):
            fault = f"valid, and {row['what']}: {row.get('reason')}"
        elif "fatal" in name and row["what"] == "read" and name != FOUND_ALL_THE_SAME:
            fault = "read, though its name says that nothing can be"
        elif re.search("unexpected|died|not read within|MemoryError", row.get("reason", "")):
            fault = row["reason"]
        lines.append((name, row, peak, fault))
    assert len(lines) == len(list((corpus / "epub-epubcheck").iterdir()))
    assert _table(lines) == {}


@pytest.mark.nightly
def test_every_book_of_the_corpus_is_read_in_one_command(
    cli: Cli, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [corpus / name for name in ("en", "zh", "ja", "ru", "rtl", "md", "html", "epub", "docx", "pdf")]
    rows, held = _ingest(cli, monkeypatch, *folders)
    lines = []
    for row in rows:
        name, peak = _name(row), held.get(row.get("uri", ""), 0)
        may_fail = "encrypted" in name
        fault = f"took {peak // 1_000_000} MB" if peak > MEMORY else None
        if row["what"] != ("failed" if may_fail else "read"):
            fault = f"{row['what']}: {row.get('reason')}"
        lines.append((name, row, peak, fault))
    assert len(lines) >= 40
    assert _table(lines) == {}


def _name(row: dict[str, Any]) -> str:
    """The name of the file that a row is about."""
    return unquote(row["uri"]).rpartition("/")[2] if "uri" in row else row["document"].rpartition("/")[2]
