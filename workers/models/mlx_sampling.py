"""How mlx-lm chooses tokens for one request, by a random key of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.ops.values import Json


def sampler_for(sampling: Mapping[str, Json]) -> Callable[[Any], Any] | None:
    """A sampler of log-probabilities (rows, vocabulary) to tokens; None: the most likely one.

    The same seed gives the same tokens whatever else is in the batch; without a seed it is 0.
    """
    temperature = float(sampling.get("temperature") or 0.0)
    if temperature == 0:
        return None
    import mlx.core as mx
    from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p

    state = [mx.random.key(int(sampling.get("seed") or 0))]
    top_p, min_p, top_k = sampling.get("top_p"), sampling.get("min_p"), sampling.get("top_k")

    def sample(logprobs: Any) -> Any:
        if top_p and top_p < 1:
            logprobs = apply_top_p(logprobs, float(top_p))
        if min_p:
            logprobs = apply_min_p(logprobs, float(min_p), 1)
        if top_k:
            logprobs = apply_top_k(logprobs, min(int(top_k), logprobs.shape[-1] - 1))
        state[0], now = mx.random.split(state[0])
        return mx.random.categorical(logprobs * (1 / temperature), key=now)

    return sample


def processors_for(sampling: Mapping[str, Json]) -> list[Callable[[Any, Any], Any]]:
    """What changes the logits before sampling: penalties."""
    wanted = {
        name: sampling[name]
        for name in ("repetition_penalty", "presence_penalty", "frequency_penalty")
        if sampling.get(name)
    }
    if not wanted:
        return []
    from mlx_lm.sample_utils import make_logits_processors

    found: list[Callable[[Any, Any], Any]] = make_logits_processors(**wanted)
    return found
