"""BM25 over candidates.

Stephen Robertson and Hugo Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the usual
k1 = 1.2 and b = 0.75, and the idf of Lucene, which is never negative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

K1, B = 1.2, 0.75


def idf(chunks: int, having: float) -> float:
    """How much a term tells: `having` of `chunks` chunks have it (exact, or estimated)."""
    return math.log(1 + (max(0.0, chunks - having) + 0.5) / (having + 0.5))


def score(counts: Mapping[str, int], weights: Mapping[str, float], length: int, mean_length: float) -> float:
    """The score of one chunk: `counts` of the terms in it, their idf, its length and the mean length, in terms.

    Rounded to a millionth, so that it is the same wherever the sum is made in another order.
    """
    norm = K1 * (1 - B + B * length / max(mean_length, 1.0))
    total = sum(weights[term] * count * (K1 + 1) / (count + norm) for term, count in sorted(counts.items()) if count)
    return round(total, 6)
