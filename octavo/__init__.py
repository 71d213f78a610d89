"""Octavo: a chunk-native durable job pipeline for huge documents."""

from pipeline.ops.decorators import map_op, prompt_op, reduce_op
from pipeline.ops.values import OpOutput, Span
from pipeline.retry import PermanentError, ProviderDownError, RateLimitedError

__all__ = [
    "OpOutput",
    "PermanentError",
    "ProviderDownError",
    "RateLimitedError",
    "Span",
    "map_op",
    "prompt_op",
    "reduce_op",
]
