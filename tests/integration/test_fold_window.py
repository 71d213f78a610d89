"""A fold by a language model with a window of 4,096 tokens: a real job over a real server, every call counted.

The stub counts what arrives with the model's own tokenizer and template, so nothing rests on Octavo's own estimate.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from db.values import Job
from pipeline.reduce.foldtree import Ref
from pipeline.spec import parse
from pipeline.states import JobState, TaskState
from tests.integration.conftest import Laboratory
from tests.llm.server import ROOT, Server
from tests.llm.tiny import tokenizer_folder
from workers.outputs.folds import Folded, open_fold
from workers.outputs.job import view
from workers.planning.context import load_context
from workers.planning.preview import StepPreview, preview

WINDOW, RESERVE = 4096, 640
VOLUMES, PARTS = 20, 20  # parts: of a chapter, a chunk each
# Words of a sentence, in Chinese characters: six hold about as many tokens as the profile leaves them.
LONG = {("en", "usual"): 30, ("zh", "usual"): 150, ("zh", "fine"): 56}
HOLE = "Zanzibar"
PIPELINE = """
name = "window"
[grain]
limit = 320
heading_level = 2
[[step]]
name = "summarize"
kind = "map"
op = "summarize"
model = "small"
params = { sentences = 6 }
[[step]]
name = "fold"
kind = "fold"
op = "fold_summary"
model = "small"
params = { sentences = 6, top_sentences = 6 }
"""


def words(language: str) -> list[str]:
    """Words of a sample of the project's own; of Chinese pairs of characters."""
    name = {"en": "the-lamp-at-grey-skerry.txt", "zh": "青石渡.txt"}[language]
    text = (ROOT / "samples" / name).read_text(encoding="utf-8")
    if language == "en":
        return sorted({word for word in text.split() if word.isalpha()})
    return sorted({text[at : at + 2] for at in range(0, len(text) - 1, 2) if text[at : at + 2].isalpha()})


def written(chapters: int, language: str) -> str:
    """A book of volumes and chapters whose parts are as long as a chunk, each its own; HOLE stands in one of them."""
    chance, known = random.Random(5), words(language)
    space, stop, size = (" ", ". ", 300) if language == "en" else ("", "。", 290)
    said: list[str] = []
    for chapter in range(chapters):
        if chapter % -(-chapters // VOLUMES) == 0:
            said.append(f"# Volume {chapter}\n\n")
        said.append(f"## Chapter {chapter}\n\n")
        for part in range(PARTS):
            text = HOLE + stop if (chapter, part) == (chapters // 2, 7) else ""
            while len(text) < size - 60:
                text += space.join(chance.choices(known, k=8 if language == "en" else 12)) + stop
            said.append(text.strip() + "\n\n")
    return "".join(said)


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """`usual`: with as many bytes to a token as real ones have; `fine`: the tiny models' own, with half of that."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    folders = {name: tokenizer_folder(tmp_path_factory.mktemp(name) / name) for name in ("usual", "fine")}
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=6000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator([written(40, language) for language in ("en", "zh")], trainer)
    made.save(str(folders["usual"] / "tokenizer.json"))
    return folders


@pytest.fixture
def stub(request: pytest.FixtureRequest, tokenizers: dict[str, Path]) -> Iterator[Server]:
    """A server that counts with one of the tokenizers."""
    server = Server(tokenizers[request.param])
    yield server
    server.close()


@dataclass(frozen=True)
class Run:
    """A job that is through, with what was planned."""

    lab: Laboratory
    job: Job
    planned: list[StepPreview]
    sizes: list[tuple[int, int]]


def run(lab: Laboratory, stub: Server, tokenizer: Path, chapters: int, language: str) -> Run:
    stub.rules({"match": HOLE, "fault": "content_filter"}, {"items": 6, "words": LONG[language, tokenizer.name]})
    profile = {
        "provider": "openai", "base_url": stub.url, "model": "stub-1", "tokenizer": str(tokenizer), "slots": 16,
        "context_window": WINDOW, "output_reserve": RESERVE,
    }  # fmt: skip
    lab.options["models"] = {"extractive": {"provider": "extractive"}, "small": profile}
    path = lab.book(written(chapters, language), "book.md")
    spec = parse(PIPELINE, "test")
    documents = lab.ingest(path, limit=spec.grain.limit, heading_level=spec.grain.heading_level)
    planned = preview(lab.database, spec, documents, ops=lab.ops, models=lab.main, model="small")
    job = lab.run(spec, path)
    return Run(lab, job, planned, stub.sizes)


def under(folded: Folded, ref: Ref) -> set[int]:
    """The leaves below an output."""
    if ref.level == 0:
        return {ref.ordinal}
    return {leaf for child in folded.children[ref.level, ref.ordinal] for leaf in under(folded, child)}


def resting(folded: Folded, ref: Ref, item: int) -> set[tuple[int, int]]:
    """The items of leaves that an item of an output rests on."""
    if ref.level == 0:
        return {(ref.ordinal, item)}
    sentence = folded.output(ref)["sentences"][item]
    children = folded.children[ref.level, ref.ordinal]
    places = [sentence["from"], *sentence.get("also", ())]
    return set().union(*(resting(folded, children[child], inner) for child, inner in places))


def look(found: Run, chapters: int) -> None:
    """No call over the window, as many calls and levels as planned, one hole named and the rest under the root."""
    lab, job = found.lab, found.job
    assert job.state is JobState.HOLES
    largest = max(tokens + most for tokens, most in found.sizes)
    assert largest <= WINDOW
    assert largest > WINDOW * 0.5, "nothing came near the window: the book tries nothing"

    chunks = chapters * PARTS
    leaves = lab.tasks(job, states=[TaskState.DONE])
    (_hole,) = lab.tasks(job, states=[TaskState.FAILED])
    assert len(leaves) == found.planned[0].tasks - 1
    assert len(leaves) >= chunks - 1
    context = load_context(lab.database, lab.ops, job.id, to_read=True)
    with lab.database.read() as rows:
        folded = open_fold(view(rows, context), context.plans[-1])
        levels = [step for step in rows.jobs.steps(job.id) if step.position == 1]
    nodes = [task for step in levels for task in lab.tasks(job, position=1, level=step.level)]
    assert [task.error_code for task in nodes if task.state is not TaskState.DONE] == []
    assert found.planned[1].calls_least <= len(nodes) <= found.planned[1].calls_most
    counted, arrived = lab.calls(job), len(found.sizes)
    lost = sum(task.losses for task in [*leaves, *nodes])
    assert counted <= arrived <= counted + lost, "a call that is not counted"  # a process that was paused asks again

    (root,) = (folded.tree.of_section(number) for number in folded.forest.roots)
    assert root is not None
    assert under(folded, root) == {task.ordinal for task in leaves}
    # Two children or more in each group, section by section; a level without nodes ends it.
    volumes = math.ceil(chapters / math.ceil(chapters / VOLUMES))
    deepest = sum(math.ceil(math.log2(count)) for count in (PARTS + 1, math.ceil(chapters / volumes), volumes))
    assert len(levels) - 1 == root.level <= deepest

    with lab.database.read() as rows:
        folded = open_fold(view(rows, context, citations=0), context.plans[-1])
        said = folded.sentences(root)
        rests = [resting(folded, root, item) for item in range(len(said))]
    assert [len(citations) for _, citations in said] == [len(places) for places in rests]
    assert max(map(len, rests)) > 2, "a sentence that rests on several chunks cites them all"

    output = lab.output(job)
    (named,) = output["holes"]
    assert named["section"] == f"Chapter {chapters // 2}"
    assert len(output["chapters"]) >= chapters
    assert output["sentences"]
    logging.getLogger(__name__).warning(
        "%d chunks, %d nodes in %d levels (at most %d), plan %d to %d nodes; largest call %d of %d tokens",
        chunks, len(nodes), root.level, deepest, found.planned[1].calls_least, found.planned[1].calls_most, largest,
        WINDOW,
    )  # fmt: skip


CASES = [("en", "usual"), ("zh", "usual"), ("zh", "fine")]


@pytest.mark.parametrize(("language", "stub"), CASES, indirect=["stub"])
def test_no_call_is_over_the_window_and_one_hole_is_named(
    sqlite_lab: Laboratory, stub: Server, tokenizers: dict[str, Path], request: pytest.FixtureRequest, language: str
) -> None:
    kind = request.node.callspec.params["stub"]
    chapters = 14 if kind == "fine" else 5
    found = run(sqlite_lab, stub, tokenizers[kind], chapters, language)
    look(found, chapters)
    tasks = sum(len(sqlite_lab.tasks(found.job, position, level)) for position in (0, 1) for level in range(9))
    assert (len(found.sizes) > tasks) is (kind == "fine"), "children that are too long together are taken in parts"


@pytest.mark.nightly
@pytest.mark.parametrize(("language", "stub"), CASES, indirect=["stub"])
def test_twenty_thousand_chunks_fold_through_a_window_of_4096(
    sqlite_lab: Laboratory, stub: Server, tokenizers: dict[str, Path], request: pytest.FixtureRequest, language: str
) -> None:
    look(run(sqlite_lab, stub, tokenizers[request.node.callspec.params["stub"]], 1000, language), 1000)
