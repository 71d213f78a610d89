"""Where the shared corpus is: books that are not part of the project, in a folder `shared` beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[1] / ".." / "shared" / "corpus"

# OCTAVO_CORPUS names it where the project is not in its usual place, as in .ci/run's clean clone. It may be absent.
CORPUS = Path(os.environ.get("OCTAVO_CORPUS") or _BESIDE).resolve()

ABSENT = "there is no corpus: neither OCTAVO_CORPUS nor a folder shared/corpus beside the project names one"


def written_novel(folder: Path, language: str, chapters: int, *more: str) -> Path:
    """A generated novel with its truth file in a folder (`more` is for its maker); skips where there is no corpus."""
    maker = CORPUS / "make_webnovel.py"
    if not maker.exists():
        pytest.skip(ABSENT)
    arguments = ["--lang", language, "--chapters", str(chapters), "--out", str(folder), *more]
    subprocess.run([sys.executable, str(maker), *arguments], check=True, capture_output=True)
    return folder
