"""Exports: JSON Lines, Markdown, and the canonical form that two runs are compared by."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline import canonical
from pipeline.ops.values import Json
from pipeline.read.places import where
from workers.outputs.cite import Citation
from workers.outputs.job import View
from workers.outputs.present import OF_MERGES, present, results
from workers.planning.partitions import shards_for
from workers.planning.plan import QUESTIONS


def json_lines(view: View) -> Iterator[bytes]:
    """The outputs of every map step, chunk by chunk, then the job's output, as pieces of JSON Lines.

    The entries of a merge are one line, but never one value in memory.
    """
    for plan in view.context.plans:
        if plan.kind == "map":
            yield from (canonical.dumps(row) + b"\n" for row in results(view, plan))
    last = view.context.plans[-1]
    if entries := OF_MERGES.get(last.op.output):
        yield b'{"output":{"entries":['
        for number, entry in enumerate(entries(view, last)):
            yield (b"," if number else b"") + canonical.dumps(entry)
        yield b"]}}\n"
    else:
        yield canonical.dumps(_without_names({"output": present(view)}, view)) + b"\n"


def canonical_lines(view: View) -> Iterator[bytes]:
    """The same as pieces of canonical JSON, without ids, names and dates: equal work gives equal bytes.

    Open the view with `Citation.canonical` and all citations.
    """
    documents = [member.text_sha256.hex() for member in view.context.selection.members]
    steps = [
        plan.identity().fields()
        | {"step": plan.name, "kind": plan.kind}
        | ({"asks": plan.at(QUESTIONS).identity().fields()} if plan.asks else {})
        for plan in view.context.plans
    ]
    head = {"octavo": 1, "documents": documents, "steps": steps, "shards": shards_for(view.context.selection.total)}
    yield canonical.dumps(head) + b"\n"
    yield from json_lines(view)


def _without_names(value: Json, view: View) -> Json:
    """In the canonical form, leave out the titles of documents: a copy under another name is the same work."""
    if view.style is not Citation.canonical:
        return value
    if isinstance(value, dict) and isinstance(value.get("output"), dict):
        output = dict(value["output"])
        output.pop("document", None)
        if isinstance(output.get("documents"), list):
            output["documents"] = [
                {name: part for name, part in item.items() if name != "document"} for item in output["documents"]
            ]
        return value | {"output": output}
    return value


def markdown(view: View) -> Iterator[str]:
    """The job's output as Markdown, a line at a time, with lines of the book as citations."""
    output = present(view)
    yield f"# {view.context.job.pipeline}: {', '.join(m.document.title for m in view.context.selection.members)}"
    yield ""
    for part in output.get("documents", [output]):
        if "entries" in part:
            yield from _entries(part["entries"])
        elif "conflicts" in part:
            yield from _conflicts(part)
        elif "chapters" in part:
            yield from _summary(part)
        elif "sections" in part:
            yield from _outline(part)
        else:
            yield "```json"
            yield canonical.dumps(part).decode()
            yield "```"


def _lines(citations: list[Json]) -> str:
    places = [_plain(where(item)) for item in citations]
    return f" ({'; '.join(places)})" if places else ""


def _entries(entries: list[Json]) -> Iterator[str]:
    for entry in entries:
        name = entry.get("name", entry.get("key"))
        kind = f", {entry['kind']}" if entry.get("kind") else ""
        aliases = f"; also {', '.join(entry['aliases'])}" if entry.get("aliases") else ""
        what = f"**{_plain(str(name))}**{kind}, {entry['count']} times{_plain(aliases)}"
        yield f"- {what}{_lines(entry['citations'][:3])}"


def _conflicts(part: dict[str, Json]) -> Iterator[str]:
    for conflict in part["conflicts"]:
        yield f"## {_plain(conflict['subject'])}: {_plain(conflict['attribute'])}"
        yield ""
        for side in (conflict["first"], conflict["second"]):
            yield f"- **{_plain(side['value'])}**: {_plain(side['quote'])}{_lines(side['citations'])}"
        yield ""
    for alias in part["aliases"]:
        yield f"- {_plain(alias['alias'])} is **{_plain(alias['name'])}**{_lines(alias['citations'])}"


def _summary(part: dict[str, Json]) -> Iterator[str]:
    for sentence in part["sentences"]:
        yield _plain(sentence["text"]) + _lines(sentence["citations"])
        yield ""
    for chapter in part["chapters"]:
        yield f"{'#' * min(6, chapter['level'] + 1)} {_plain(chapter['title'])}"
        yield ""
        yield _plain(chapter["text"]) + _lines(chapter["citations"])
        yield ""


def _outline(part: dict[str, Json]) -> Iterator[str]:
    for section in part["sections"]:
        indent = "  " * (section["level"] - 1)
        yield f"{indent}- **{_plain(section['title'])}** ({_begin(section)}) {_plain(section['text'])}"


def _begin(section: dict[str, Json]) -> str:
    return _plain(where({name: section[name] for name in ("start_line", "source") if name in section}))


def _plain(text: str) -> str:
    """Text as text: what Markdown would take for markup is escaped."""
    return "".join("\\" + char if char in "\\`*_[]<>#" else char for char in text)
