"""What is noted of the tokenizer that comes with Octavo is what it shows when it is tried out."""

from __future__ import annotations

from pipeline.split.additive import additive, try_out
from pipeline.split.tokenizer import load_counter


def test_what_is_noted_of_the_built_in_tokenizer_is_true() -> None:
    counter = load_counter(None)
    assert additive(counter) == try_out(counter)
