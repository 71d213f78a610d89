"""The target of a coverage-guided fuzzer: python -m tests.unit.read.atheris_target NAME CORPUS [libFuzzer options].

NAME is a file name with the ending of a format. Any error but the project's own ends the run.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["pipeline.read"]):
    from pipeline.errors import OctavoError
    from pipeline.read.registry import read
    from pipeline.read.sources import BytesSource


def main() -> None:
    """Fuzz until the time is over."""
    name = sys.argv[1]

    def one(data: bytes) -> None:
        try:
            reading = read(BytesSource(name, data))
            "".join(reading.blocks()).encode("utf-8")
        except OctavoError:
            pass

    atheris.Setup([sys.argv[0], *sys.argv[2:]], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
