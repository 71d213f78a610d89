"""Octavo: a chunk-native durable job pipeline for huge documents."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

# Loaded when they are asked for: what they need would keep every command line waiting.
_HOMES = {
    "OpOutput": "pipeline.ops.values",
    "PermanentError": "pipeline.retry",
    "ProviderDownError": "pipeline.retry",
    "RateLimitedError": "pipeline.retry",
    "Span": "pipeline.ops.values",
    "map_op": "pipeline.ops.decorators",
    "prompt_op": "pipeline.ops.decorators",
    "reduce_op": "pipeline.ops.decorators",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'octavo' has no attribute {name!r}")
    found = globals()[name] = resolve_name(f"{_HOMES[name]}:{name}")
    return found


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
