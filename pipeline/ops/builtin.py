"""The ops that come with Octavo. A changed output needs a new version: golden outputs in the tests see to it."""

from __future__ import annotations

from pipeline.ops.kinds import MOST_QUESTIONS, QUESTIONS_ALLOWED, QUESTIONS_USUAL, FoldOp, MapOp, MergeOp, Op
from pipeline.ops.llm import extraction, summaries
from pipeline.ops.llm.others import CLASSIFY, PROMPT, TRANSLATE
from pipeline.reduce import conflicts, glossary

FOLD = "fold_traditional"  # are traditional and simplified characters one in keys?

SUMMARIZE = MapOp(name="summarize", version=1, defaults={"sentences": 5}, ask=summaries.SUMMARIZE, points=True)
EXTRACT = MapOp(name="extract", version=1, ask=extraction.EXTRACT, points=True)
FOLD_SUMMARY = FoldOp(
    name="fold_summary",
    version=1,
    defaults={"sentences": 6, "top_sentences": 16},
    output="summary",
    ask=summaries.FOLD_SUMMARY,
)
OUTLINE = FoldOp(name="outline", version=1, defaults={"terms": 5}, output="outline", ask=summaries.OUTLINE)
GLOSSARY = MergeOp(
    name="glossary",
    version=glossary.GLOSSARY_VERSION,
    partition=lambda output, shards, params: glossary.partition(output, shards, fold=params[FOLD]),
    merge=lambda parts, params: glossary.merge_shard(parts, fold=params[FOLD]),
    summarize=glossary.summarise_shard,
    resolve=lambda summaries, _params: glossary.resolve(summaries),
    output="glossary",
    defaults={FOLD: False, glossary.INQUIRY.option: "off", MOST_QUESTIONS: QUESTIONS_USUAL},
    options={
        FOLD: (False, True),
        glossary.INQUIRY.option: ("off", "rule", "model"),
        MOST_QUESTIONS: QUESTIONS_ALLOWED,
    },
    keying=frozenset({FOLD}),
    inquiry=glossary.INQUIRY,
)
FACTS = MapOp(name="facts", version=1, ask=extraction.FACTS, points=True)
CONFLICTS = MergeOp(
    name="conflicts",
    version=conflicts.CONFLICTS_VERSION,
    partition=lambda output, shards, params: conflicts.partition(output, shards, fold=params[FOLD]),
    merge=lambda parts, params: conflicts.merge_shard(parts, fold=params[FOLD]),
    summarize=conflicts.summarise_shard,
    resolve=lambda summaries, _params: conflicts.resolve(summaries),
    output="conflicts",
    defaults={FOLD: False, conflicts.INQUIRY.option: "model", MOST_QUESTIONS: QUESTIONS_USUAL},
    options={FOLD: (False, True), conflicts.INQUIRY.option: ("model", "rule"), MOST_QUESTIONS: QUESTIONS_ALLOWED},
    keying=frozenset({FOLD}),
    inquiry=conflicts.INQUIRY,
)

BUILTIN: tuple[Op, ...] = (
    SUMMARIZE,
    EXTRACT,
    FOLD_SUMMARY,
    OUTLINE,
    GLOSSARY,
    FACTS,
    CONFLICTS,
    TRANSLATE,
    CLASSIFY,
    PROMPT,
)
