"""Writes the golden outputs anew: `python tests/unit/extractive/pinned.py`, after the version was raised.

It refuses when an output has changed and EXTRACTIVE_VERSION (or GLOSSARY_VERSION) is still the pinned one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pipeline.models.extractive import EXTRACTIVE_VERSION, extract, fold_summary, headline, summarize
from pipeline.ops.values import Json, OpOutput
from pipeline.reduce import glossary

HERE = Path(__file__).parent
NAMES = ("english.txt", "chinese.txt", "japanese.txt", "spec.md")


def with_spans(output: OpOutput) -> Json:
    """Value and spans as JSON."""
    return {"value": output.value, "spans": [[span.item, span.start, span.end] for span in output.spans]}


def golden() -> dict[str, Json]:
    """What each function gives for each text, under the version that it is pinned to."""
    texts = {name: (HERE / "texts" / name).read_text(encoding="utf-8") for name in NAMES}
    summaries = {name: [summarize(text, sentences=n).value for n in (3, 5)] for name, text in texts.items()}
    extracts = {name: extract(text) for name, text in texts.items()}
    shard = glossary.merge_shard([glossary.partition(output.value, 1)[0] for output in extracts.values()])
    outputs = {
        "summarize": {name: with_spans(summarize(text)) for name, text in texts.items()},
        "extract": {name: with_spans(output) for name, output in extracts.items()},
        "fold_summary": {name: fold_summary(parts, sentences=3).value for name, parts in summaries.items()},
        "headline": {name: headline(parts).value for name, parts in summaries.items()},
        "glossary": {"merge": shard, "resolve": glossary.resolve([glossary.summarise_shard(shard)])},
    }
    versions = dict.fromkeys(outputs, EXTRACTIVE_VERSION) | {"glossary": glossary.GLOSSARY_VERSION}
    return {name: {"version": versions[name], "outputs": value} for name, value in outputs.items()}


def main() -> None:
    """Write every golden file whose version was raised."""
    for name, fresh in golden().items():
        path = HERE / "golden" / f"{name}.json"
        pinned = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        if pinned and pinned != fresh and pinned["version"] == fresh["version"]:
            sys.exit(f"{name} gives other outputs than version {pinned['version']}: raise the version first.")
        path.write_text(json.dumps(fresh, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
