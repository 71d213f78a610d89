"""Which of the possible cuts a long text keeps: chosen by the text around each, never by counting from the start.

A text comes as atoms (runs of text with a token count) and a rank for each place between two of them. The lower the
rank, the better the cut: its whole part is the kind of the place (sub-heading, paragraph, line, sentence …), its
fraction a hash of the characters before it, so that places of one kind have an order which depends on the text there.

1. *Join*: starting from all the places, drop them from the worst rank up, wherever the two pieces that meet there fit
   into one. What is left cannot be joined any more. A choice waits only for worse-ranked neighbours, so chains of
   dependence are short: their chance falls with the factorial of their length, as in random sequential adsorption
   (A. Rényi, "On a one-dimensional problem concerning random space filling", 1958).
2. *Level*: at both ends of the text, where three neighbours would fit into two with ROOM to spare, cut them in two, at
   the best place that allows it. There a piece can join on one side only, so short sections would be filled less.

Joining alone fills text without headings to 0.71–0.73. Levelling all of it gave 0.75, but then an inserted paragraph
moved cuts nearly twice as often; at the ends alone it lifts sections of two to four limits from 0.70 to 0.72 and more.
`benchmarks/split_locality.py` measures the fill and how many chunks an inserted paragraph changes.
"""

from __future__ import annotations

from collections.abc import Sequence

ROOM = 0.85  # of two full pieces, what three may hold to be made two: below 1, so that a later insertion finds space


def keep_cuts(sums: Sequence[int], ranks: Sequence[float], limit: int, first: int) -> list[int]:
    """Indices of the places kept, the end of the text included.

    `sums[i]` is the number of tokens before place i (place 0 is the start, the last one the end), `ranks[i]` its rank.
    No piece holds more than `limit` tokens — `first` for the one at the start — but for a single atom above it.
    """
    last = len(sums) - 1
    # Shift the start so that one comparison serves the first piece too.
    shifted = [sums[0] + first - limit, *sums[1:]]
    after = _joined(shifted, ranks, limit)
    cuts = [0]
    while cuts[-1] < last:
        cuts.append(after[cuts[-1]])
    return _levelled(shifted, ranks, cuts, limit)


def _joined(sums: Sequence[int], ranks: Sequence[float], limit: int) -> list[int]:
    """For each place kept, the next one kept."""
    last = len(sums) - 1
    before = list(range(-1, last))
    after = list(range(1, last + 2))
    for place in sorted(range(1, last), key=ranks.__getitem__, reverse=True):
        left, right = before[place], after[place]
        if sums[right] - sums[left] <= limit:
            after[left] = right
            before[right] = left
    return after


def _levelled(sums: Sequence[int], ranks: Sequence[float], cuts: list[int], limit: int) -> list[int]:
    """Make two pieces of the first three and of the last three where ROOM allows, first where the cut is worse."""
    last = len(cuts) - 3  # the first cut of the last three pieces
    done: list[int] = []
    for one in sorted({1, last} if last >= 1 else (), key=lambda index: ranks[cuts[index]], reverse=True):
        if done and abs(done[0] - one) < 3:
            break  # they share a piece, which takes part once
        begin, end = cuts[one - 1], cuts[one + 2]
        if sums[end] - sums[begin] > 2 * limit * ROOM:
            continue
        best = _middle(sums, ranks, begin, end, limit)
        if best is not None:
            cuts[one] = best
            done.append(one)
    dropped = {one + 1 for one in done}
    return [cut for index, cut in enumerate(cuts) if index and index not in dropped]


def _middle(sums: Sequence[int], ranks: Sequence[float], begin: int, end: int, limit: int) -> int | None:
    """The best place between two others that leaves neither side above the limit."""
    low, high = sums[end] - limit, sums[begin] + limit
    return min((at for at in range(begin + 1, end) if low <= sums[at] <= high), key=ranks.__getitem__, default=None)
