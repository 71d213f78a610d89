"""Octavo: a chunk-native durable job pipeline for huge documents."""

from pipeline.ops.decorators import map_op, reduce_op
from pipeline.ops.values import OpOutput, Span

__all__ = ["OpOutput", "Span", "map_op", "reduce_op"]
