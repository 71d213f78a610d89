"""Texts and checks that the splitter's tests share."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from functools import cache

import regex
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from pipeline.split.grain import Piece, TokenCounter
from pipeline.split.tokenizer import FileCounter, load_counter

NOUNS = ("boat", "rope", "mast", "tide", "harbour", "lamp", "gull", "quay", "sail", "anchor", "winter", "letter")
VERBS = ("held", "carried", "left", "found", "watched", "mended", "lost", "crossed", "sold", "followed", "hid")
HAN = "船港口绳风桅杆海鸥灯塔秋天女儿厨房信件船长寻找离开记得修补失去卖掉跟随"


def prose(paragraphs: int, seed: int, *, gap: str = "\n\n") -> str:
    """English sentences of our own, in paragraphs of one to seven sentences."""
    rng = random.Random(seed)

    def sentence() -> str:
        words = [rng.choice(NOUNS if i % 2 else VERBS) for i in range(rng.randrange(4, 18))]
        return "The " + " ".join(words) + rng.choice([".", ".", "!", "?", ", she said."])

    return gap.join(" ".join(sentence() for _ in range(rng.randrange(1, 8))) for _ in range(paragraphs)) + gap


def han_prose(paragraphs: int, seed: int, *, gap: str = "\n") -> str:
    """Chinese-looking sentences, in paragraphs of one to seven."""
    rng = random.Random(seed)

    def sentence() -> str:
        clauses = ["".join(rng.choices(HAN, k=rng.randrange(4, 12))) for _ in range(rng.randrange(1, 4))]
        return "，".join(clauses) + rng.choice(["。", "。", "！", "？", "。”"])

    return gap.join("".join(sentence() for _ in range(rng.randrange(1, 8))) for _ in range(paragraphs)) + gap


def assert_sound(text: str, pieces: Sequence[Piece], counter: TokenCounter, limit: int) -> None:
    """What holds of every splitting: cores tile the text, counts are exact, none is above the limit but one grapheme
    that cannot be cut, and no grapheme is cut."""
    ends = [0, *(piece.end for piece in pieces)]
    assert [piece.start for piece in pieces] == ends[:-1]
    assert ends[-1] == len(text)
    borders = {0, *(found.end() for found in regex.finditer(r"\X", text))}
    for piece in pieces:
        assert piece.lead <= piece.start < piece.end
        assert {piece.lead, piece.end} <= borders
        assert piece.tokens == counter.count(text[piece.lead : piece.end])
        assert piece.over == (piece.tokens > limit)
        if piece.over:
            assert piece.lead == piece.start
            assert len(regex.findall(r"\X", text[piece.start : piece.end])) == 1


@cache
def counters() -> dict[str, TokenCounter]:
    """Counters of every kind: the built-in one, characters, and small tokenizers, most of which do not add up."""
    corpus = [prose(200, 1), han_prose(200, 2), string.printable]
    made = {
        "word-level": (models.WordLevel(unk_token="[UNK]"), pre_tokenizers.Whitespace(), None),
        "word-piece": (models.WordPiece(unk_token="[UNK]"), pre_tokenizers.BertPreTokenizer(), normalizers.NFKC()),
        "unigram": (models.Unigram(), pre_tokenizers.Metaspace(), normalizers.NFKC()),
        "byte-bpe": (models.BPE(), pre_tokenizers.ByteLevel(add_prefix_space=False), None),
        "whole-line-bpe": (models.BPE(unk_token="[UNK]"), None, None),
    }
    found: dict[str, TokenCounter] = {"built-in": load_counter(), "characters": load_counter("characters")}
    for name, (model, words, normalizer) in made.items():
        tokenizer = Tokenizer(model)
        if words is not None:
            tokenizer.pre_tokenizer = words
        if normalizer is not None:
            tokenizer.normalizer = normalizer
        tokenizer.train_from_iterator(corpus, _trainer(name))
        found[name] = FileCounter(tokenizer.to_str().encode(), name)
    return found


def _trainer(name: str) -> trainers.Trainer:
    common = {"vocab_size": 600, "show_progress": False, "special_tokens": ["[UNK]"]}
    if name == "word-level":
        return trainers.WordLevelTrainer(**common)
    if name == "word-piece":
        return trainers.WordPieceTrainer(**common)
    if name == "unigram":
        return trainers.UnigramTrainer(unk_token="[UNK]", **common)
    return trainers.BpeTrainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **common)
