"""`octavo grain`: a book's real lengths, and the bounds that a pipeline sets."""

from __future__ import annotations

from typing import Any

import pytest

from octavo import map_op
from pipeline.errors import PipelineError
from pipeline.spec import parse
from tests.integration.conftest import Laboratory
from workers.outputs.grain import grain_advice, paragraphs_of

PIPELINE = 'name = "one"\n[[step]]\nname = "one"\nkind = "map"\nop = "{op}"\nskip = ["boilerplate"]\n'


def advice(lab: Laboratory, text: str, op: str = "summarize") -> dict[str, Any]:
    spec = parse(PIPELINE.format(op=op), "test")
    (item,) = lab.ingest(lab.book(text))
    cutting = lab.main.cutting(spec.grain)
    return grain_advice(
        lab.database, spec, item, cutting, ops=lab.ops, models=lab.main, model="extractive"
    )  # fmt: skip


def bound(found: dict[str, Any], question: str) -> dict[str, Any]:
    return next(item for item in found["bounds"] if item["question"] == question)


def test_lengths_are_those_of_the_book_in_the_grains_own_tokens(lab: Laboratory) -> None:
    chapters = [
        f"Chapter {n}\n\n" + "\n\n".join("x" * (10 * n + at) + "." for at in range(4)) + "\n\n" for n in range(1, 21)
    ]
    found = advice(lab, "".join(chapters))
    lengths = found["lengths"]
    assert (lengths["chapters"]["count"], lengths["chapters"]["most"]) == (20, len(chapters[-1]))
    assert lengths["chapters"]["p50"] == len(chapters[9])
    assert lengths["paragraphs"]["most"] == 204
    assert lengths["paragraphs"]["count"] == 100, "a heading is one too"
    assert bound(found, "must see whole")["least"] == lengths["paragraphs"]["p99"]
    assert bound(found, "changes alone")["most"] == len(chapters[9])
    assert found["proposed"]["limit"] == len(chapters[9]) // 10 * 10
    assert found["grain"] == {"name": "default", "limit": 1000, "chunks": 20}


def test_an_op_that_must_see_a_chapter_whole_keeps_the_grain_coarse(sqlite_lab: Laboratory) -> None:
    @map_op(version=1, sees="chapter")
    def judge(text: str) -> int:
        return len(text)

    sqlite_lab.teach(judge)
    text = "".join(f"Chapter {n}\n\n" + "Rain fell. " * n + "\n\n" for n in range(1, 101))
    found = advice(sqlite_lab, text, "judge")
    seen = bound(found, "must see whole")
    assert seen["least"] == found["lengths"]["chapters"]["p99"]
    assert found["proposed"]["limit"] == seen["least"]
    assert "goes before" in found["proposed"]["conflict"]
    with pytest.raises(PipelineError, match="page"):
        map_op(sees="page")


def test_a_text_without_chapters_and_without_blank_lines_is_measured_by_its_lines(sqlite_lab: Laboratory) -> None:
    text = "".join(f"On day {n} the river rose a little. {'It rained. ' * (n % 7)}\n" for n in range(2000))
    found = advice(sqlite_lab, text)
    assert found["lengths"]["paragraphs"]["count"] == 2000
    assert found["lengths"]["chapters"]["count"] == 1
    assert found["proposed"]["limit"] == 1000
    assert "no chapters" in bound(found, "changes alone")["reason"]
    assert paragraphs_of("a\nb\n\nc\n") == ["a\nb", "c\n"]
