"""What an op gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# A value that canonical JSON can write: None, bool, int, float, str, list, dict with str keys.
Json = Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Where an item of a leaf output stands: characters relative to its chunk's core."""

    item: int  # index of the item in the output's list
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class OpOutput:
    """An op's answer. `value` holds no position (DESIGN §5); `spans` is the sidecar outside the output hash."""

    value: Json
    spans: tuple[Span, ...] = ()
