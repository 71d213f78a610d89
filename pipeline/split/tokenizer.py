"""Token counters: exact counts from a `tokenizers` JSON file, or one token a character."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer

from pipeline.errors import UsageError
from pipeline.split.grain import TokenCounter

CHARACTERS: Final = "characters"
BUILT_IN: Final = Path(__file__).parent / "data" / "octavo-bpe.json"
WORD_RULES: Final = {"Whitespace", "WhitespaceSplit", "BertPreTokenizer"}
PLAIN_RULES: Final = WORD_RULES | {"Split", "ByteLevel", "Digits", "Punctuation", "UnicodeScripts"}
PLAIN_NORMALIZERS: Final = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "BertNormalizer"}
TURN: Final = 65_536  # characters a thread counts before it takes the next run: small enough to share two cores evenly


class TokenizerError(UsageError):
    """The tokenizer could not be loaded."""


class CharacterCounter:
    """One token a character (a Unicode code point)."""

    identity = CHARACTERS
    name = CHARACTERS

    def count(self, text: str) -> int:
        """The number of characters."""
        return len(text)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """The number of characters of each text."""
        return list(map(len, texts))


class FileCounter:
    """Counts with a tokenizer of the `tokenizers` library, special tokens left out.

    A count is what the tokenizer says of that text by itself. Truncation, padding and dropout, which a file may ask
    for, are switched off: they would make the count another one.
    """

    def __init__(self, data: bytes, name: str) -> None:
        try:
            self._tokenizer = Tokenizer.from_buffer(data)
        except ValueError as error:
            message = f"{name} is not a tokenizer file."
            hint = "Name the tokenizer.json of a model, as the `tokenizers` library writes it."
            raise TokenizerError(message, cause=str(error), hint=hint) from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        if getattr(self._tokenizer.model, "dropout", None) is not None:
            self._tokenizer.model.dropout = None
        self.identity = hashlib.sha256(data).hexdigest()
        self.name = name
        self.words_apart = encodes_words_apart(json.loads(data))

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        return self._lengths([text])[0]

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, in order. Two threads share the work when there is enough: encoding frees the GIL."""
        runs = _runs(texts)
        if len(runs) < 2:
            return self._lengths(texts)
        counts = [0] * len(texts)
        turns = itertools.count()

        def take_turns() -> None:
            while (turn := next(turns)) < len(runs):
                begin, end = runs[turn]
                counts[begin:end] = self._lengths(texts[begin:end])

        # A pool of its own for each call: one kept for the process would hang in a child made by fork.
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(take_turns)
            take_turns()
            other.result()
        return counts

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        return list(map(len, self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)))


def encodes_words_apart(file: Mapping[str, Any]) -> bool:
    """Whether a tokenizer.json cuts text into words by a rule that looks no further than its neighbours, and encodes
    each word for itself. Only then can the counts of parts be summed (`pipeline.split.additive` tries out where)."""
    rules = _flat(file.get("pre_tokenizer"), "pretokenizers")
    normalizers = _flat(file.get("normalizer"), "normalizers")
    return (
        any(_is_word_rule(rule) for rule in rules)
        and all(rule["type"] in PLAIN_RULES for rule in rules)
        and all(normalizer["type"] in PLAIN_NORMALIZERS for normalizer in normalizers)
        and not any(
            token["lstrip"] or token["rstrip"] or any(map(str.isspace, token["content"]))
            for token in file.get("added_tokens") or ()
        )
    )


def _flat(step: Mapping[str, Any] | None, key: str) -> list[Mapping[str, Any]]:
    if step is None:
        return []
    return [part for inner in step[key] for part in _flat(inner, key)] if step["type"] == "Sequence" else [step]


def _is_word_rule(rule: Mapping[str, Any]) -> bool:
    if rule["type"] == "Split":
        pattern = rule["pattern"].get("Regex", "")
        return r"\s" in pattern and any(letter in pattern for letter in (r"\p{L}", r"\w", r"\S"))
    return bool(rule["type"] in WORD_RULES or (rule["type"] == "ByteLevel" and rule.get("use_regex", True)))


def _runs(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Index ranges of neighbouring texts, each of about TURN characters."""
    runs: list[tuple[int, int]] = []
    begin = size = 0
    for index, length in enumerate(map(len, texts), start=1):
        size += length
        if size >= TURN:
            runs.append((begin, index))
            begin, size = index, 0
    if begin < len(texts):
        runs.append((begin, len(texts)))
    return runs


def load_counter(source: Path | str | None = None) -> TokenCounter:
    """The counter that `source` names: a tokenizer.json, `"characters"`, or None for the built-in tokenizer.

    Raises TokenizerError, naming the file, when it cannot be read or is no tokenizer.
    """
    if source is not None and str(source) == CHARACTERS:
        return CharacterCounter()
    # The library's own pool is slower here than two plain threads, and warns or hangs in a process made by fork. This
    # is its one switch; what the user has set stands.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    path = BUILT_IN if source is None else Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"The tokenizer file {path} could not be read."
        raise TokenizerError(message, cause=error.strerror, hint="Check the path given for the tokenizer.") from error
    return FileCounter(data, "octavo-bpe" if source is None else str(path))
