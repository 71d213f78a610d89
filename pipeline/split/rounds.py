"""How a batch of units becomes pieces: rounds of texts to count, with decisions between them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cached_property
from operator import itemgetter

from pipeline.split.additive import Additive, Shift, additive
from pipeline.split.draft import Draft, Span
from pipeline.split.finer import LINES, STEPS, finer
from pipeline.split.grain import Piece, TokenCounter, Unit
from pipeline.split.lead import leads
from pipeline.split.marks import Place, outline, outside_blocks

# A round: texts go out, their counts come back; at the end the pieces of each unit.
Rounds = Generator[Sequence[str], list[int], list[list[Piece]]]
Counting = Generator[Sequence[str], list[int], None]

HUGE = 16_384  # characters of an atom that is made smaller before it is counted: encoding it whole is slow
WHOLE = 1.3  # of the limit: units guessed to be no longer are counted whole, since most turn out to fit
SENTENCE_BYTES = 80  # of a sentence, for guesses
INNER = 0.5  # of the limit: paragraphs guessed to be longer have their sentences for places too
ATOMS = 4  # atoms to a piece, where the text leaves a choice


class Cutter:
    """Cuts batches of units for one limit, overlap and tokenizer."""

    def __init__(self, limit: int, overlap: int, counter: TokenCounter) -> None:
        self._limit = limit
        self._overlap = overlap
        self._core = limit - overlap
        self._counter = counter

    @cached_property
    def _known(self) -> Additive:
        return additive(self._counter)

    @cached_property
    def _slack(self) -> int:
        """Tokens an edge may add to the sum of the atoms; what passes the limit all the same is cut once more."""
        known = self._known
        exact = all(shift is Shift.NONE for shift in (known.line, known.indent, known.space, known.ideograph))
        return 0 if exact else min(2, self._core // 64)

    def cut(self, units: Sequence[Unit]) -> Rounds:
        """The pieces of each unit."""
        drafts = [self._draft(unit) for unit in units]
        yield from self._count(drafts)
        yield from self._make_smaller(drafts)
        yield from self._keep_whole(drafts)
        found = [self._spans(draft) for draft in drafts]
        asked = [pair for _, pairs in found for pair in pairs]
        counts = yield [text for _, text in asked]
        for (span, _), count in zip(asked, counts, strict=True):
            span.tokens += count
        cut = [(unit.text, spans) for unit, (spans, _) in zip(units, found, strict=True)]
        yield from self._mended(cut)
        return (yield from self._with_leads(cut))

    def _draft(self, unit: Unit) -> Draft:
        size = len(unit.text)
        if size <= self._limit or self._guess(unit.text) <= self._limit * WHOLE:
            return Draft.whole(unit)
        return self._outlined(unit)

    def _guess(self, text: str) -> float:
        return len(text.encode("utf-8", "surrogatepass")) / self._known.bytes_per_token

    def _outlined(self, unit: Unit) -> Draft:
        size = self._core * self._known.bytes_per_token
        share = SENTENCE_BYTES * ATOMS / size
        draft = Draft.of(unit, outline(unit.text, unit.preferred, int(size * INNER), share), self._known)
        for step in range(len(STEPS)):
            huge = {atom: int(self._guess(text)) for atom, text in enumerate(draft.atoms()) if len(text) > HUGE}
            huge = {atom: guess for atom, guess in huge.items() if guess > self._core}
            if not huge:
                break
            draft.counts = [-1] * (len(draft.places) - 1)
            draft = draft.with_finer(self._inner(draft, huge, step), self._known)
        draft.counts = [-1] * (len(draft.places) - 1)
        return draft

    def _inner(self, draft: Draft, sizes: dict[int, int], step: int) -> dict[int, list[Place]]:
        """Places of one more kind inside the atoms that have these numbers of tokens."""
        places = draft.places
        inner = {}
        for atom, tokens in sizes.items():
            start, end = places[atom], places[atom + 1]
            size = max((end - start) * self._core // (ATOMS * tokens), 1)
            inner[atom] = finer(draft.unit.text, start, end, step, size)
        if step == LINES:
            every = [place for atom in sorted(inner) for place in inner[atom]]
            kept = dict(outside_blocks(draft.unit.text, every))
            inner = {atom: [(at, kept[at]) for at, _ in found if at in kept] for atom, found in inner.items()}
        return inner

    def _count(self, drafts: Sequence[Draft]) -> Counting:
        """Count the atoms that have no count."""
        texts: list[str] = []
        wanted = [(draft, draft.unknown()) for draft in drafts]
        for draft, atoms in wanted:
            all_atoms = draft.atoms()
            texts.extend(all_atoms if len(atoms) == len(all_atoms) else [all_atoms[atom] for atom in atoms])
        counts = yield texts
        position = 0
        for draft, atoms in wanted:
            for atom, count in zip(atoms, counts[position : position + len(atoms)], strict=True):
                draft.counts[atom] = count
            position += len(atoms)

    def _make_smaller(self, drafts: list[Draft]) -> Counting:
        """Put more places, of ever finer kinds, into atoms above the limit, until there are no such atoms."""
        for index, draft in enumerate(drafts):
            if len(draft.counts) == 1 and draft.counts[0] > self._limit:
                drafts[index] = self._outlined(draft.unit)
        yield from self._count([draft for draft in drafts if draft.unknown()])
        for step in range(len(STEPS)):
            changed = []
            for index, draft in enumerate(drafts):
                if len(draft.counts) > 1 or draft.counts[0] > self._limit:
                    large = {atom: count for atom, count in enumerate(draft.counts) if count > self._core - self._slack}
                    if large:
                        drafts[index] = draft.with_finer(self._inner(draft, large, step), self._known)
                        changed.append(drafts[index])
            if not changed:
                return
            yield from self._count(changed)

    def _keep_whole(self, drafts: list[Draft]) -> Counting:
        """A unit within the limit is one piece, even where the sum of its atoms says a little more."""
        close = [
            index
            for index, draft in enumerate(drafts)
            if len(draft.counts) > 1 and sum(draft.counts) <= self._limit * WHOLE
        ]
        counts = yield [drafts[index].unit.text for index in close]
        for index, count in zip(close, counts, strict=True):
            if count <= self._limit:
                drafts[index] = Draft.whole(drafts[index].unit)
                drafts[index].counts = [count]

    def _spans(self, draft: Draft) -> tuple[list[Span], list[tuple[Span, str]]]:
        if len(draft.counts) == 1:
            end = len(draft.unit.text)
            return ([Span(start=0, end=end, tokens=draft.counts[0])] if end else []), []
        return draft.spans(self._core - self._slack, self._limit - self._slack)

    def _mended(self, units: Sequence[tuple[str, list[Span]]]) -> Counting:
        """Cut in two, at their best place, the pieces whose exact count is above the limit after all."""
        broken = [(text, spans) for text, spans in units if any(map(self._above, spans))]
        while broken:
            for text, spans in broken:
                spans[:] = [half for span in spans for half in self._halves(text, span)]
            halves = [(text, span) for text, spans in broken for span in spans if span.tokens < 0]
            counts = yield [text[span.start : span.end] for text, span in halves]
            for (_, span), count in zip(halves, counts, strict=True):
                span.tokens = count
            broken = [(text, spans) for text, spans in broken if any(map(self._above, spans))]

    def _above(self, span: Span) -> bool:
        return not span.single and span.tokens > (self._core if span.start else self._limit)

    def _halves(self, text: str, span: Span) -> list[Span]:
        if not self._above(span):
            return [span]
        places = self._inside(text, span)
        if not places:
            span.single = True
            span.over = span.tokens > self._limit
            return [span]
        quarter = (span.end - span.start) / 4
        middle = [place for place in places if span.start + quarter <= place[0] <= span.end - quarter]
        if middle:
            at = min(middle, key=itemgetter(1))[0]
        else:
            at = min((abs(2 * place[0] - span.start - span.end), place[0]) for place in places)[1]
        return [Span(start=span.start, end=at, tokens=-1), Span(start=at, end=span.end, tokens=-1)]

    def _inside(self, text: str, span: Span) -> list[Place]:
        """The places in a piece of the best kind that it has; none in a single grapheme."""
        start = span.start
        places = [(start + at, rank) for at, rank in outline(text[start : span.end], (), 0, 1.0)]
        for step in range(len(STEPS)):
            if places:
                break
            places = finer(text, start, span.end, step, 1)
        return places

    def _with_leads(self, units: Sequence[tuple[str, list[Span]]]) -> Rounds:
        later = [(text, span) for text, spans in units for span in spans if span.start and not span.over]
        starts = (yield from leads(later, self._overlap, self._limit)) if self._overlap else []
        begins = {id(span): start for (_, span), start in zip(later, starts, strict=False)}
        return [
            [
                Piece(
                    lead=begins.get(id(span), span.start),
                    start=span.start,
                    end=span.end,
                    tokens=span.tokens,
                    over=span.over,
                )
                for span in spans
            ]
            for _, spans in units
        ]
