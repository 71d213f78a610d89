"""`octavo grain`: which grain suits a book and a pipeline, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from octavo.cli import console, options
from octavo.cli.ingest import ingest_all
from pipeline.ops.values import Json
from workers.outputs.grain import grain_advice


def grain(
    book: Annotated[str, typer.Argument(metavar="BOOK", help="A file, or - for standard input.")],
    pipeline: options.Pipeline = "summary",
    as_json: options.AsJson = False,
    model: options.Model = None,
    ops: options.Ops = None,
    tokenizer: options.Tokenizer = None,
    encoding: options.Encoding = None,
    state: options.State = None,
) -> None:
    """Measure a book's chapters and paragraphs in tokens, and propose a grain for a pipeline, with the reasons."""
    with options.runtime(state, model=model, ops=ops, tokenizer=tokenizer) as runtime:
        spec = options.pipeline_with(pipeline, None, None)
        options.check(runtime, spec)
        documents = ingest_all(runtime, [book], spec.grain, encoding=encoding, quiet=as_json)
        found = [
            grain_advice(
                runtime.database, spec, item, runtime.cutting(spec.grain),
                ops=runtime.ops, models=runtime, model=runtime.settings.model,
            )
            for item in documents
        ]  # fmt: skip
    if as_json:
        console.print_json(found)
        return
    for one in found:
        _tell(one, book, pipeline)


def _tell(found: dict[str, Json], book: str, pipeline: str) -> None:
    console.out().print(console.safe(f"{found['document']}, in tokens of {found['tokenizer']}"), style="bold")
    rows = [[name, *(str(value) for value in lengths.values())] for name, lengths in found["lengths"].items()]
    console.table(("lengths", "count", "median", "99 %", "longest"), rows)
    columns = ("step", "bound", "limit", "because")
    console.table(
        columns, [[str(bound["step"] or "all"), str(bound["question"]), *_bound(bound)] for bound in found["bounds"]]
    )
    now, proposed = found["grain"], found["proposed"]
    out = console.out()
    out.print(console.safe(f"now: limit = {now['limit']}, about {now['chunks']} chunks"))
    out.print(
        console.safe(
            f"proposed: limit = {proposed['limit']}, about {proposed['chunks']} chunks: the coarsest in the bounds, "
            f"of which “{proposed['decided_by']}” decides"
        )
    )
    if proposed["conflict"]:
        console.note(f"the bounds contradict each other: {proposed['conflict']}")
    console.note(
        f"octavo plan {book} --pipeline {pipeline} --limit {proposed['limit']} says what the change costs; chunks "
        "whose text stays the same keep their results"
    )


def _bound(bound: dict[str, Json]) -> tuple[str, str]:
    limit = f"≥ {bound['least']}" if bound["least"] else f"≤ {bound['most']}" if bound["most"] else "none"
    return limit, str(bound["reason"])
