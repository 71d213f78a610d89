"""Context bundles: ranked chunks become sources S1, S2 … that fit a budget exactly, whole ones only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pipeline.errors import OctavoError, UsageError
from pipeline.evidence import terms

ELLIPSIS = "…"
ALIKE = 0.8  # share of their terms that two chunks have in common when they tell the same twice

Count = Callable[[str], int]


class EvidenceError(OctavoError):
    """A source lacks what a citation needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A chunk as evidence. `score` is for the trace: the model is not shown it."""

    chunk: str  # logical id
    document: str  # id
    title: str  # of the document
    section: str  # its path of headings, or the file's name where there is none
    start_line: int  # 1-based
    end_line: int
    text: str
    score: float
    marker: str = ""  # S1, S2 …, given by `pack`
    cut: int | None = None  # characters of the text that are shown, when it was too long to be shown whole

    @property
    def shown(self) -> str:
        """The text as the model sees it."""
        return self.text if self.cut is None else self.text[: self.cut].rstrip() + ELLIPSIS

    def checked(self) -> Source:
        """Itself. Raises EvidenceError when metadata is missing: a citation without a place helps nobody."""
        for name in ("chunk", "document", "title", "section"):
            if not getattr(self, name):
                raise EvidenceError(f"A source has no {name}: it can not be cited", hint="ingest its document again")
        if not 1 <= self.start_line <= self.end_line:
            raise EvidenceError(f"A source of {self.title!r} has no lines: it can not be cited")
        return self


def render(sources: Sequence[Source]) -> str:
    """The evidence as the model reads it: for each source its marker, title, section and lines, then its text."""
    return "\n\n".join(
        f"[{source.marker}] {source.title} · {source.section} · lines {source.start_line}–{source.end_line}\n"
        f"{source.shown.strip()}"
        for source in sources
    )


def pack(candidates: Sequence[Source], *, budget: int, count: Count, most: int) -> list[Source]:
    """The sources of a bundle: candidates in rank order, whole, at most `most`, in at most `budget` tokens.

    `count` gives the tokens of rendered evidence; it is asked about the whole, for tokens do not add up. The first
    candidate that does not fit ends the bundle, however short the next ones are: none of a lower rank goes before it.
    Only when the very first does not fit is it cut, with an ellipsis. What repeats a chosen source is passed over, as
    is a chunk without a word. Raises UsageError for a budget below one token, EvidenceError for missing metadata.
    """
    if budget < 1 or most < 1:
        raise UsageError(f"A bundle needs room: a budget of {budget} tokens for {most} sources is none")
    chosen: list[Source] = []
    seen: list[frozenset[str]] = []
    for candidate in candidates:
        if len(chosen) == most:
            break
        words = frozenset(terms.terms_of(candidate.text))
        if not words or any(_alike(words, other) for other in seen):
            continue
        source = replace(candidate.checked(), marker=f"S{len(chosen) + 1}", cut=None)
        if count(render([*chosen, source])) > budget:
            return chosen or _cut(source, budget, count)
        chosen.append(source)
        seen.append(words)
    return chosen


def _alike(one: frozenset[str], two: frozenset[str]) -> bool:
    return len(one & two) >= ALIKE * min(len(one), len(two)) and min(len(one), len(two)) * 2 >= max(len(one), len(two))


def _cut(source: Source, budget: int, count: Count) -> list[Source]:
    """The first source, cut to fit; nothing when not even a word of it does."""
    low, high = 0, len(source.text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(render([replace(source, cut=middle)])) <= budget:
            low = middle
        else:
            high = middle - 1
    # Counts may wobble by a token where a word is cut, so what the search found is tried before it is believed.
    while low > 0 and count(render([replace(source, cut=low)])) > budget:
        low -= 1
    shown = source.text[:low].strip()
    return [replace(source, cut=low)] if terms.terms_of(shown) else []
