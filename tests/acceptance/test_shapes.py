"""What the command prints is of the shapes that docs/outputs.md gives."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.acceptance.command import STORY, Cli

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def shapes() -> ModuleType:
    """docs/shapes.py."""
    spec = importlib.util.spec_from_file_location("octavo_docs_shapes", DOCS / "shapes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kept(either: Cli) -> Cli:
    """The command in a folder with one good book, already in the state, in both modes."""
    (either.folder / "good.md").write_text(STORY)
    either.ok("run", "good.md", "--pipeline", "glossary")
    return either


def check(shape: Any, value: Any) -> Any:
    return shape.model_validate_json(json.dumps(value), strict=True)


@pytest.mark.parametrize(
    ("pipeline", "shape"),
    [("glossary", "Glossary"), ("summary", "Summary"), ("outline", "Outline"), ("conflicts", "Conflicts")],
)
def test_a_run_and_its_output_are_as_documented(kept: Cli, shapes: ModuleType, pipeline: str, shape: str) -> None:
    found = kept.ok("run", "good.md", "--pipeline", pipeline, "--json").json
    assert check(shapes.Run, found).state == "done"
    check(getattr(shapes, shape), found["output"])
    lines = [json.loads(line) for line in kept.ok("export").out.splitlines()]
    assert all(check(shapes.ChunkResult, line) for line in lines[:-1])
    check(getattr(shapes, shape), check(shapes.Last, lines[-1]).output)
    assert kept.ok("results", "--json").json == lines[:-1]


def test_search_bundles_answers_and_measurements_are_as_documented(kept: Cli, shapes: ModuleType) -> None:
    page = check(shapes.SearchPage, kept.ok("search", "the bell", "--limit", "1", "--json").json)
    assert page.hits
    made = kept.ok("context", "Who rang the bell?", "--budget", "200", "--json").json
    assert check(shapes.ContextBundle, made).sources
    assert kept.ok("context", "--replay", made["trace"], "--json").json == made
    assert check(shapes.AskAnswer, kept.ok("ask", "Who rang the bell?", "--json").json).trace
    rows = kept.ok("measure", "Who rang the bell?", "--evidence-tokens", "20 200", "--dry-run", "--json").json
    assert [row.budget for row in check(shapes.Measured, rows).rows] == [20, 200]
    live = kept.ok("measure", "Who rang the bell?", "--json", "--plot", "cost.svg").json
    assert len(check(shapes.Measured, live).rows) == 3
    assert (kept.folder / "cost.svg").read_text().startswith("<svg")


def test_decisions_about_entities_are_as_documented(kept: Cli, shapes: ModuleType) -> None:
    kept.ok("run", "good.md", "--pipeline", "glossary")
    listed = check(shapes.Glossary, kept.ok("entities", "list", "good.md", "--json").json).entries
    made = kept.ok("entities", "rename", "good.md", listed[0].name, "Another", "--json").json
    assert check(shapes.EntityDecision, made).kind == "rename"
    assert kept.ok("entities", "list", "good.md", "--json").json["entries"][0]["name"] == "Another"
    undone = kept.ok("entities", "undo", "good.md", "--json").json
    assert check(shapes.EntityDecision, undone).decision == made["decision"]
    kept.refused("entities", "merge", "good.md", "Nobody", listed[0].name, code=2, says="no entity")


def test_every_citation_opens_at_its_place(kept: Cli) -> None:
    lines = STORY.splitlines()
    for pipeline in ("summary", "glossary"):
        output = kept.ok("run", "good.md", "--pipeline", pipeline, "--json").json["output"]
        for item in output.get("sentences", []) + output.get("entries", []):
            for place in item["citations"]:
                text = STORY[place["start"] : place["end"]]
                assert text in "\n".join(lines[place["start_line"] - 1 : place["end_line"]])
                assert item.get("text", item.get("name")) == " ".join(text.split())


def test_several_books_give_one_summary_each(kept: Cli, shapes: ModuleType) -> None:
    (kept.folder / "second.md").write_text(STORY.replace("Bell", "Brook"))
    found = kept.ok("run", "good.md", "second.md", "--json").json
    assert [item.document for item in check(shapes.Several, found["output"]).documents] == ["good", "second"]
    one = kept.ok("run", "good.md", "second.md", "--pipeline", "glossary", "--json").json["output"]
    assert {place["document"] for entry in one["entries"] for place in entry["citations"]} == {"good", "second"}


def test_a_canonical_export_is_as_documented(kept: Cli, shapes: ModuleType) -> None:
    kept.ok("run", "good.md")
    head, *results, _ = [json.loads(line) for line in kept.ok("export", "--canonical").out.splitlines()]
    assert len(check(shapes.CanonicalHead, head).steps) == 2
    assert [check(shapes.CanonicalResult, line).chunk for line in results] == [0, 1]


def test_a_manifest_is_as_documented_and_leads_back_to_the_text(kept: Cli, shapes: ModuleType) -> None:
    manifest = check(shapes.Manifest, kept.ok("manifest", "good.md").json)
    assert "".join(STORY[chunk.start : chunk.end] for chunk in manifest.chunks) == STORY
    assert [section.title for section in manifest.sections] == ["The Ferry", "The Bridge"]
    check(shapes.CanonicalManifest, kept.ok("manifest", "good.md", "--canonical").json)


def test_the_same_text_under_another_name_has_the_same_canonical_manifest(cli: Cli) -> None:
    for name in ("a.md", "b.md"):
        (cli.folder / name).write_text(STORY)
        cli.ok("ingest", name)
    first, second = (cli.ok("manifest", name, "--canonical").out for name in ("a.md", "b.md"))
    assert first == second


def test_the_examples_of_the_page_are_of_their_shapes(shapes: ModuleType) -> None:
    page = (DOCS / "outputs.md").read_text(encoding="utf-8")
    examples = re.findall(r"<!-- example: (\w+) -->\n```json\n(.*?)```", page, re.DOTALL)
    assert len(examples) == page.count("```json") == 12
    for name, text in examples:
        check(getattr(shapes, name), json.loads(text))


def test_diffs_sweeps_and_views_are_as_documented(cli: Cli, shapes: ModuleType) -> None:
    book = cli.folder / "ferry.md"
    book.write_text(STORY)
    cli.ok("view", "add", "names", "--pipeline", "glossary", "--documents", "ferry.md")
    assert check(shapes.ViewRow, cli.ok("status", "names", "--json").json).state == "missing"
    for text in (STORY, STORY.replace("thirty", "forty")):
        book.write_text(text)
        assert check(shapes.Swept, cli.ok("sweep", "--json").json[0]).state == "done"
    assert check(shapes.Diff, cli.ok("diff", "ferry.md", "--json").json).counts.edited == 1
    assert check(shapes.ViewRow, cli.ok("status", "names", "--json").json).refresh == 2
    assert check(shapes.ViewRow, cli.ok("status", "--json").json["views"][0]).state == "fresh"
    assert check(shapes.Collected, cli.ok("gc", "--dry-run", "--json").json).dry_run
    assert check(shapes.Collected, cli.ok("gc", "--json").json).results == 0


def test_what_explain_says_is_as_documented(cli: Cli, shapes: ModuleType) -> None:
    book = cli.folder / "ferry.md"
    for text in (STORY, STORY.replace("Tom Bell", "Agnes Thorn")):
        book.write_text(text)
        cli.ok("run", "ferry.md", "--pipeline", "glossary")
    said = [cli.ok("explain", f"ferry.md:{at}").out for at in (0, 1)]
    at = next(at for at, text in enumerate(said) if "revision 2" in text)
    assert "text replaced" in said[at]
    assert "Agnes Thorn" in said[at]
    found = check(shapes.ExplainedChunk, cli.ok("explain", f"ferry.md:{at}", "--json").json)
    assert found.steps[0].changes[0].edit.revision == 2
    name = next(item.node for item in found.above if not item.hit)
    node = check(shapes.ExplainedNode, cli.ok("explain", name, "--json").json)
    assert node.causes.edits[0].what == "text replaced"
    assert "revision 2" in cli.ok("explain", name).out
    cli.refused("explain", "merge/7/7", code=5, says="no node merge/7/7")
    cli.refused("explain", name, "--job", "nosuch", code=5, says="There is no job")


def test_a_plan_after_an_edit_is_as_documented_and_names_what_it_would_ask(cli: Cli, shapes: ModuleType) -> None:
    book = cli.folder / "ferry.md"
    book.write_text(STORY)
    cli.ok("run", "ferry.md")
    book.write_text(STORY.replace("thirty", "forty"))
    (mapped, folded) = check(shapes.Planned, cli.ok("plan", "ferry.md", "--json").json).steps
    assert (mapped.calls_most, len(mapped.where)) == (1, 1)
    assert folded.calls_least == 0
    assert "summarize is asked of" in cli.ok("plan", "ferry.md").err


def test_advice_about_a_grain_is_as_documented(kept: Cli, shapes: ModuleType) -> None:
    (found,) = kept.ok("grain", "good.md", "--pipeline", "glossary", "--json").json
    advice = check(shapes.GrainAdvice, found)
    assert advice.lengths["paragraphs"].most >= advice.lengths["sentences"].most
    assert {bound.question for bound in advice.bounds} >= {"must see whole", "changes alone"}
    said = kept.ok("grain", "good.md", "--pipeline", "glossary").out
    assert f"proposed: limit = {advice.proposed.limit}" in said
    kept.refused("grain", "nowhere.md", code=1, says="nowhere.md")
