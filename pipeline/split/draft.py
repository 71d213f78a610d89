"""A unit on its way to pieces: its possible cuts, and the tokens between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from pipeline.split.additive import Additive
from pipeline.split.grain import Unit
from pipeline.split.join import keep_cuts
from pipeline.split.marks import Place


@dataclass(kw_only=True, slots=True)
class Span:
    """A piece to be: text[start:end] with its exact count, once that is known."""

    start: int
    end: int
    tokens: int
    single: bool = False  # one grapheme: not to be cut
    over: bool = False


@dataclass(kw_only=True, slots=True)
class Draft:
    """The places of one unit, from 0 to its end, and the tokens of the atoms between them.

    Atom i is counted over text[upto[i] : upto[i + 1]], which is text[places[i] : places[i + 1]] but for white space at
    its ends: `upto` holds where counts add up (`Additive`). Where they do not, `adds` is 0 and `upto` is the place.
    """

    unit: Unit
    places: list[int]
    ranks: list[float]
    upto: list[int]
    adds: list[int]
    counts: list[int] = field(default_factory=list)

    @classmethod
    def whole(cls, unit: Unit) -> Draft:
        """A draft without inner places. Not counted yet."""
        draft = cls(unit=unit, places=[0], ranks=[0.0], upto=[0], adds=[1], counts=[-1])
        draft.finish()
        return draft

    @classmethod
    def of(cls, unit: Unit, inner: Iterable[Place], known: Additive) -> Draft:
        """A draft with these places between the ends of the unit. Not counted yet."""
        draft = cls(unit=unit, places=[0], ranks=[0.0], upto=[0], adds=[1])
        draft.extend(inner, known)
        draft.finish()
        return draft

    def extend(self, inner: Iterable[Place], known: Additive) -> None:
        """Put places behind the last one."""
        text, last, counted_to = self.unit.text, self.places[-1], known.counted_to
        for at, rank in inner:
            upto = counted_to(text, at)
            adds = upto is not None and upto > last
            self.upto.append(upto if upto is not None and adds else at)
            self.adds.append(adds)
            self.places.append(at)
            self.ranks.append(rank)
            last = at

    def finish(self) -> None:
        """Close with the end of the unit."""
        end = len(self.unit.text)
        self.places.append(end)
        self.ranks.append(0.0)
        self.upto.append(end)
        self.adds.append(1)

    def atoms(self) -> list[str]:
        """The texts to count, one an atom."""
        text = self.unit.text
        return [text[start:end] for start, end in pairwise(self.upto)]

    def unknown(self) -> list[int]:
        """The atoms that have no count yet."""
        return [atom for atom, count in enumerate(self.counts) if count < 0] if self.counts else []

    def with_finer(self, finer: Mapping[int, Sequence[Place]], known: Additive) -> Draft:
        """The same with more places inside some atoms. Counts that do not change are kept; the others are -1."""
        draft = Draft(unit=self.unit, places=[0], ranks=[0.0], upto=[0], adds=[1])
        moved = False  # the last place's `upto` has changed, and with it the atom after it
        for atom, count in enumerate(self.counts):
            inner = finer.get(atom, ())
            draft.extend(inner, known)
            at, upto = self.places[atom + 1], self.upto[atom + 1]
            unchanged = upto > draft.places[-1]
            draft.counts.extend([-1] * (len(inner) + 1) if inner or moved or not unchanged else [count])
            moved = not unchanged
            draft.places.append(at)
            draft.ranks.append(self.ranks[atom + 1])
            draft.upto.append(upto if unchanged else at)
            draft.adds.append(self.adds[atom + 1] if unchanged else 0)
        return draft

    def spans(self, limit: int, first: int) -> tuple[list[Span], list[tuple[Span, str]]]:
        """The pieces for these limits, and what must still be counted and added to the tokens of some of them."""
        sums = list(accumulate(self.counts, initial=0))
        cuts = [0, *keep_cuts(sums, self.ranks, limit, first)]
        doubts = list(accumulate((1 - adds for adds in self.adds), initial=0))
        spans: list[Span] = []
        asked: list[tuple[Span, str]] = []
        for left, right in pairwise(cuts):
            known, texts = self._exact(left, right, sums[right] - sums[left], doubts[right] - doubts[left + 1])
            span = Span(start=self.places[left], end=self.places[right], tokens=known)
            spans.append(span)
            asked.extend((span, text) for text in texts)
        return spans, asked

    def _exact(self, left: int, right: int, total: int, doubts: int) -> tuple[int, list[str]]:
        """Tokens that are known of the atoms between two places, and the texts which make the rest."""
        text = self.unit.text
        start, end = self.places[left], self.places[right]
        trimmed, padded = self.upto[left] != start, self.upto[right] != end
        if doubts or (right == left + 1 and (trimmed or padded)):
            return 0, [text[start:end]]
        asked = []
        if trimmed:
            total -= self.counts[left]
            asked.append(text[start : self.upto[left + 1]])
        if padded:
            total -= self.counts[right - 1]
            asked.append(text[self.upto[right - 1] : end])
        return total, asked
