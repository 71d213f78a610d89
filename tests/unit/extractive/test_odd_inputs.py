"""Nothing that can stand in a file breaks the model, and its work grows with the length alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.models.extractive import extract, fold_summary, summarize
from pipeline.models.extractive.masking import mask

ODD = {
    "empty": "",
    "one word": "word",
    "nul": "Ahab\0went\0home.\0" * 20,
    "emoji": "👩‍👩‍👧 said Ahab 🐋. " * 50,
    "digits": "12 345 6.789 " * 500,
    "terminal codes": "\x1b[32m《春》\x1b[m\n\x1b[33m作者：某人\x1b[m\n春眠不觉晓。\n",
    "lone surrogate": "\ud800 Ahab went to \udfff sea.",
    "unclosed fence": "```\nCode Here\n" * 50,
    "ticks": "`" * 30_000,
    "comments": "<!--" * 10_000,
    "capitals": "A" * 40_000 + "a",
    "blanks in front of code": "    " + "{;" * 20_000,
    "spaces": " " * 40_000,
    "titles": "Mr. " * 10_000,
    "marks": "ا\u064b" * 10_000,
    "open quotes": "“" * 20_000,
    "one sentence again and again": "曹操引兵去了，却说玄德见。" * 4_000,
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_inputs_give_outputs_of_the_right_shape(text):
    summary, names = summarize(text), extract(text)
    assert len(summary.spans) == len(summary.value["sentences"])
    assert {span.item for span in names.spans} == set(range(len(names.value["items"])))


def test_a_single_line_of_five_megabytes_is_worked_through():
    line = "Then Halloran went down to Dunmore and waited for the ship. " * 84_000
    assert len(line) > 5_000_000
    assert len(summarize(line).value["sentences"]) == 5
    counts = {item["name"]: item["count"] for item in extract(line).value["items"]}
    assert counts == {"Dunmore": 84_000, "Halloran": 84_000}


@given(st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_masking_keeps_the_length_and_the_line_ends(text):
    masked = mask(text)
    assert len(masked) == len(text)
    assert [i for i, char in enumerate(masked) if char == "\n"] == [i for i, char in enumerate(text) if char == "\n"]


@given(st.text(alphabet='aB .,\n“”"`<>#*-1道曹操。：「」かナ\u0301', max_size=300))
@settings(max_examples=200, deadline=None)
def test_spans_lie_inside_the_text_and_items_are_never_empty(text):
    for output, key in ((summarize(text), "sentences"), (extract(text), "items")):
        for span in output.spans:
            assert 0 <= span.start < span.end <= len(text)
            assert output.value[key][span.item]
    assert fold_summary([summarize(text).value], sentences=3)


SCRIPT = """
import hashlib, json, sys
from pipeline.models.extractive import extract, fold_summary, summarize
from pipeline.reduce import glossary
text = open(sys.argv[1], encoding="utf-8").read()
outputs = [summarize(text), extract(text), fold_summary([summarize(text).value] * 3, sentences=4)]
merged = glossary.merge_shard([glossary.partition(outputs[1].value, 1)[0]] * 2)
whole = [[o.value, [[s.item, s.start, s.end] for s in o.spans]] for o in outputs]
whole.append(glossary.resolve([glossary.summarise_shard(merged)]))
print(hashlib.sha256(json.dumps(whole).encode()).hexdigest())
"""


@pytest.mark.parametrize("name", ["english.txt", "chinese.txt"])
def test_outputs_do_not_depend_on_the_hash_seed(name, request):
    path = request.path.parent / "texts" / name
    digests = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=request.config.rootpath,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "424242")
    }
    assert len(digests) == 1
