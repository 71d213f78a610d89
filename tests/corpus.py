"""Where the shared corpus is: books that are not part of the project, in a folder `shared` beside it."""

from __future__ import annotations

import os
from pathlib import Path

_BESIDE = Path(__file__).resolve().parents[1] / ".." / "shared" / "corpus"

# OCTAVO_CORPUS names it where the project is not in its usual place, as in .ci/run's clean clone. It may be absent.
CORPUS = Path(os.environ.get("OCTAVO_CORPUS") or _BESIDE).resolve()

ABSENT = "there is no corpus: neither OCTAVO_CORPUS nor a folder shared/corpus beside the project names one"
