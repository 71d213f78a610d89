"""Where a tokenizer's counts add up: places at which the tokens of two parts sum to those of the whole.

Counting each character once is possible only between such places. A tokenizer that cuts text into words by a rule, and
then encodes each word for itself, has them; whether a kind of place is one depends on the rule, so it is tried out on
contexts made of every class of character that such rules speak of. Where the place itself is not additive, the one
before the white space there may be: `Shift` says which. Of any other tokenizer nothing is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import cycle

from pipeline.split.grain import TokenCounter
from pipeline.split.tokenizer import CharacterCounter, FileCounter


class Shift(Enum):
    """Where to count up to, for a cut at a place."""

    NONE = "none"  # the place itself
    LAST = "last"  # before the last white-space character in front of it
    RUN = "run"  # before all the white space in front of it


@dataclass(frozen=True, kw_only=True, slots=True)
class Additive:
    """What is known of a tokenizer. None: counts do not add up at this kind of place."""

    line: Shift | None = None  # after a line feed, before a character that is not white space
    indent: Shift | None = None  # after a line feed, before an indent
    space: Shift | None = None  # after up to seven spaces between characters that are no white space
    ideograph: Shift | None = None  # after 。！？ before a letter
    bytes_per_token: float  # the least of plain English and plain Chinese: for guesses only

    def counted_to(self, text: str, at: int) -> int | None:
        """Up to where to count for a cut at `at`; None when the counts do not add up there."""
        before, after = text[at - 1], text[at]
        if before == "\n":
            if not after.isspace():
                return _shifted(text, at, self.line)
            blank = after in INDENTS and bool(text[at : at + 16].lstrip(INDENTS)[:1].strip())
            return _shifted(text, at, self.indent) if blank else None
        if before == " ":
            word = text[max(at - 8, 0) : at].rstrip(" ")
            plain = bool(word) and not word[-1].isspace() and not after.isspace()
            return _shifted(text, at, self.space) if plain else None
        return _shifted(text, at, self.ideograph) if before in WIDE_ENDS and after.isalpha() else None


# fmt: off
WORDS = ("word", "Ab", "a", "x1", "42", "3.14", "don't", "ça", "слово", "字", "山高水长", "かな", "한글", "e\u0301",
         "\u0301x")
MARKS = (".", ",", "?!", "...", "…", ";", ":", "—", "-", ")", "]", "”", "’", '"', "'", "*", "**", "`", "|", "#", "_",
         "$")
ODD = ("😀", "\u200b", "\x00", "\u00ad", "\ufffd")
WIDE_ENDS = "。！？”’」』"
WIDE_MARKS = ("。", "！", "？", "。”", "！』", "？’", "……。", "。。", "!？")
OPENERS = ("“", "‘", '"', "'", "'s ", "(", "[", "#", "##", "*", "-", "—", "|", ">", "`", "```", "$5", "1.", "「", "《",
           *ODD)
INDENTS = " \t\u3000\u00a0"
# fmt: on
GAPS = ("\n", "\n\n", "\n\n\n", "\n \n", "\n\u3000\n", " \n", "\t\n\n")
ENGLISH = (
    "The boat lay in the harbour, and nobody had been aboard since the autumn; the ropes were grey with salt. "
    "“We shall need a new mast,” she said, “before the wind turns.”\n\n"
)
CHINESE = "船停在港口，自从秋天以来没有人上去过；绳子因为盐而发白。她说：“风向改变之前，我们需要一根新的桅杆。”\n\n"

Context = tuple[str, str, str]  # text before, white space, text after
# What the tokenizer that comes with Octavo showed when it was tried out: every process would find the same, in a third
# of a second. A test tries it out anew, so a tokenizer trained anew must be noted here.
_BUILT_IN = "9b5384bd55f58d6622852dfe90d5d0671853ba2ab62bac8fb0b311f69c08c6e0"
_found: dict[str, Additive] = {
    _BUILT_IN: Additive(
        line=Shift.NONE,
        indent=Shift.NONE,
        space=Shift.NONE,
        ideograph=Shift.NONE,
        bytes_per_token=155 / 51,
    )
}


def additive(counter: TokenCounter) -> Additive:
    """What is known of the counter's tokenizer. One that is not known is tried out, once a process."""
    known = _found.get(counter.identity)
    if known is None:
        known = _found[counter.identity] = try_out(counter)
    return known


def try_out(counter: TokenCounter) -> Additive:
    """Try where the counter's counts add up, on contexts of every class of character that a word rule speaks of."""
    density = min(len(text.encode()) / max(counter.count(text), 1) for text in (ENGLISH, CHINESE))
    if isinstance(counter, CharacterCounter):
        at = Shift.NONE
        return Additive(line=at, indent=at, space=at, ideograph=at, bytes_per_token=density)
    if not (isinstance(counter, FileCounter) and counter.words_apart):
        return Additive(bytes_per_token=density)
    lefts, rights, indented, wide = _contexts()
    few = ("", "word", "word.", "字。", "“", "42", "😀")
    ends = [(left, gap) for left in lefts for gap in GAPS[:2]] + [(left, gap) for left in few for gap in GAPS[2:]]
    return Additive(
        line=_shift(counter, [(*end, right) for end in ends for right in rights]),
        indent=_shift(counter, [(left, gap, right) for left in few for gap in GAPS for right in indented]),
        space=_shift(counter, [(left, " " * n, right) for n in (1, 2, 3, 7) for left in lefts for right in rights]),
        ideograph=_shift(counter, wide),
        bytes_per_token=density,
    )


def _contexts() -> tuple[list[str], list[str], list[str], list[Context]]:
    """Texts before a place, after it, after it with an indent, and whole contexts of ideographic marks."""
    lefts = [*WORDS, *MARKS, *ODD, *WIDE_MARKS, "word.", "字。", "“字。”", "42."]
    rights = [*WORDS, *OPENERS]
    rights += [opener + word for opener, word in zip(OPENERS, cycle(("word", "字")), strict=False)]
    blanks = (*INDENTS, "  ", "    ", "\u3000\u3000", "\t\t")
    indented = [blank + right for blank in blanks for right in ("word", "字", "“字", "42", "- x", "слово", "\u0301x")]
    letters = [word for word in WORDS if word[0].isalpha()]
    wide = [(left + mark, "", right) for left in (*WORDS, "“字") for mark in WIDE_MARKS for right in letters]
    return lefts, rights, indented, wide


def _shift(counter: TokenCounter, contexts: list[Context]) -> Shift | None:
    """The first shift at which the counts add up in every context."""
    wholes = counter.count_batch(["".join(context) for context in contexts])
    for shift in Shift:
        heads, tails = zip(*(_parts(context, shift) for context in contexts), strict=True)
        pairs = zip(counter.count_batch(heads), counter.count_batch(tails), strict=True)
        if all(whole == head + tail for whole, (head, tail) in zip(wholes, pairs, strict=True)):
            return shift
    return None


def _parts(context: Context, shift: Shift) -> tuple[str, str]:
    left, gap, right = context
    text, at = left + gap + right, len(left + gap)
    counted = _shifted(text, at, shift)
    assert counted is not None
    return text[:counted], text[counted:]


def _shifted(text: str, at: int, shift: Shift | None) -> int | None:
    if shift is None or shift is Shift.NONE:
        return None if shift is None else at
    if shift is Shift.LAST:
        return at - 1 if text[at - 1].isspace() else at
    while at and text[at - 1].isspace():
        at -= 1
    return at
