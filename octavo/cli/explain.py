"""`octavo explain`: why a chunk or a reduce node hit or missed the memo, and which edit it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from octavo.cli import console, options, show
from pipeline.ops.values import Json
from workers.outputs.explain import explain_chunk
from workers.outputs.explain_nodes import explain_node, is_node

SHOWN_VALUE = 80


def explain(
    what: Annotated[
        str, typer.Argument(metavar="CHUNK|NODE", help="A chunk's id, BOOK:ORDINAL, or a node as STEP/LEVEL/ORDINAL.")
    ],
    job: Annotated[
        str, typer.Option("--job", help="The job whose node it is: its id, its beginning or end, or 'last'.")
    ] = "last",
    as_json: options.AsJson = False,
    ops: options.Ops = None,
    state: options.State = None,
) -> None:
    """Why a chunk or a reduce node hit or missed the memo: which field of its key, and which edit."""
    with options.runtime(state, ops=ops) as runtime:
        if is_node(what):
            found, lines = explain_node(runtime.database, runtime.ops, what, job), _node
        else:
            found, lines = explain_chunk(runtime.database, runtime.ops, what), _chunk
    if as_json:
        console.print_json(found)
        return
    for line in lines(found):
        console.out().print(console.safe(line))


def _chunk(found: dict[str, Json]) -> Iterator[str]:
    yield f"{show.place(found['place'])} of {found['place']['document']}, in job {found['job']}"
    for step in found["steps"]:
        key = f", key {step['key'][:16]}…" if step["key"] else ""
        yield f"  {step['step']}: {step['state']}, {step['memo']}{key}"
        if not step["changes"] and step["key"]:
            yield "    no earlier job that is kept had another key for it"
        for change in step["changes"]:
            yield from _change(change)
    if found["above"]:
        nodes = [f"{node['node']} {'hit' if node['hit'] else node['state']}" for node in found["above"]]
        yield f"  above it: {', '.join(nodes)}"
    if found["pending"]:
        yield f"  no job has seen its latest text yet: {edit(found['pending'])}"


def _change(change: dict[str, Json]) -> Iterator[str]:
    if change["edit"]:
        yield f"    {change['why']}: {edit(change['edit'])}"
    elif change.get("shown"):
        for name, (before, now) in change["shown"].items():
            yield f"    {change['why']}: {name}: {_short(before)} → {_short(now)} (since job {change['since']})"
    else:
        yield f"    {change['why']}: {_field(change)}"


def _field(change: dict[str, Json]) -> str:
    return f"{_short(change['before'])} → {_short(change['now'])} (since job {change['since']})"


def _node(found: dict[str, Json]) -> Iterator[str]:
    span = ""
    if found["first"]:
        ends = [show.place(found[end]) for end in ("first", "last")]
        span = f", over {found['chunks']} chunks" + (f" from {ends[0]} to {ends[1]}" if found["chunks"] > 1 else "")
    yield f"{found['node']} of job {found['job']}: a {found['kind']}{span}"
    key = f", key {found['key'][:16]}…" if found["key"] else ""
    yield f"  {found['state']}, {found['memo']}{key}"
    if found["was"] is None:
        yield "  no earlier job that is kept had another key for it"
    for change in found["changes"]:
        if change["children"] is None:
            yield f"  {change['why']}: {_field(change)}"
            continue
        new = change["children"]["new"]
        yield (
            f"  {change['why']}: {len(new)} of its {change['now']} inputs are new, {change['children']['gone']} of "
            f"{change['before']} are gone (since job {change['since']}; it was {found['was']['node']})"
        )
    yield from _causes(found["causes"])


def _causes(causes: dict[str, Json]) -> Iterator[str]:
    for one in causes["edits"]:
        yield f"    {edit(one)}"
    if causes["more_edits"]:
        yield f"    … and {causes['more_edits']} edits more"
    for cut in causes["cuts"]:
        yield f"    {cut['document']} is cut otherwise: {_short(cut['before'])} → {_short(cut['now'])}"
    for step in causes["steps"]:
        yield f"    {step['step']}: {step['why']}: {_short(step['before'])} → {_short(step['now'])}"
    if causes["moved"]:
        yield f"    {causes['moved']} chunks stand in another order"
    if causes["regrouped"]:
        yield f"    {causes['regrouped']} chunks came from or went to the nodes beside it: the groups end elsewhere"


def edit(found: dict[str, Json]) -> str:
    """An edit in a line."""
    revision = f"revision {found['revision']} ({found['at']})" if found["revision"] else "another revision"
    place = found["section"] or found["document"]
    line = f", line {found['line']}" if found["line"] else ""
    texts = [f"“{' '.join(text.split())}”" for text in (found["before"], found["after"]) if text is not None]
    return f"{revision}: {found['what']} in {place}{line}" + (f": {' → '.join(texts)}" if texts else "")


def _short(value: Json) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= SHOWN_VALUE else f"{text[:SHOWN_VALUE]}…"
