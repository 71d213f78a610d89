"""What a run shows when it found nothing: it says so, for an empty table looks like a fault."""

from __future__ import annotations

import pytest

from octavo.cli import show
from pipeline.ops.values import Json


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"entries": []}, "no names or terms were found"),
        ({"conflicts": [], "aliases": []}, "no contradictions were found"),
        ({"document": "a", "sentences": [], "chapters": []}, "no sentences for a summary were found"),
        ({"document": "a", "sections": []}, "no sections were found"),
    ],
)
def test_an_output_without_anything_says_so(output: Json, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    show.output(output, "octavo export last")
    assert said in capsys.readouterr().err
