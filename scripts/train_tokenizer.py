"""Train the small byte-level BPE tokenizer that ships with the splitter.

The shipped `pipeline/split/data/octavo-bpe.json` was made from public-domain books, which are not shipped: the King
James Bible, Moby-Dick (the 1991 etext) and War and Peace (Maude) in English; 西游记 and 三国演义 in Chinese, the second
also in traditional characters. To repeat it with those books beside the project:

    python scripts/train_tokenizer.py --out pipeline/split/data/octavo-bpe.json \\
        ../shared/corpus/en/bible-kjv.txt ../shared/corpus/en/moby-dick_1991-etext_crlf.txt \\
        ../shared/corpus/en/war-and-peace_pg2600-8_latin1.txt:latin-1 \\
        ../shared/corpus/zh/西游记.txt ../shared/corpus/zh/三国演义.txt ../shared/corpus/zh/三國演義_big5.txt:cp950

A path may end in `:encoding` (UTF-8 when it does not). Project Gutenberg's own header and licence are left out. The
same texts give the same bytes.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

# A word takes the space after it (not the one before, as is usual), and every alternative ends where the text alone
# says so, whatever comes next. So the places where the splitter cuts (line starts, after a space, after an ideographic
# mark) are *additive*: the tokens of the parts sum to those of the whole, and nothing need be counted twice.
IDEOGRAPHIC_MARKS = "。！？，、；：「」『』（）《》【】〈〉"
PATTERN = (
    r"[\p{L}\p{M}]+ ?|\p{N}{1,3} ?"
    rf"|[{IDEOGRAPHIC_MARKS}]"
    rf"|[^\s\p{{L}}\p{{M}}\p{{N}}{IDEOGRAPHIC_MARKS}]+ ?"
    r"|\s*\n+|\s+"
)
GUTENBERG_START = re.compile(r"\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG[^\n]*\n|\*END\*THE SMALL PRINT![^\n]*\n")
GUTENBERG_END = re.compile(r"\n\*\*\* ?END OF (?:THE|THIS) PROJECT GUTENBERG|\nEnd of (?:the )?Project Gutenberg")


def book(argument: str) -> str:
    """The text named by `PATH` or `PATH:encoding`, with LF line ends and without Project Gutenberg's blocks."""
    path, _, encoding = argument.partition(":")
    text = Path(path).read_bytes().decode(encoding or "utf-8-sig")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    begins = GUTENBERG_START.search(text)
    ends = GUTENBERG_END.search(text)
    return text[begins.end() if begins else 0 : ends.start() if ends else len(text)]


def lines(texts: Sequence[str]) -> Iterator[str]:
    """Every line with its end, and blank runs as they stand."""
    for text in texts:
        for found in re.finditer(r"[^\n]*\n+", text):
            yield found.group()


def train(texts: Sequence[str], size: int) -> Tokenizer:
    """A byte-level BPE tokenizer of `size` entries: no normalizer, no special tokens, every text has an encoding."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        max_token_length=16,
    )
    tokenizer.train_from_iterator(lines(texts), trainer)
    return tokenizer


def main() -> None:
    """Read the books, train, write the file."""
    parser = argparse.ArgumentParser(description="Train the splitter's built-in tokenizer.")
    parser.add_argument("books", nargs="+", metavar="PATH[:ENCODING]")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", type=int, default=16_384, help="entries of the vocabulary")
    options = parser.parse_args()
    tokenizer = train([book(argument) for argument in options.books], options.size)
    tokenizer.save(str(options.out), pretty=False)


if __name__ == "__main__":
    main()
