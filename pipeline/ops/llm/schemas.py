"""Pieces of JSON schemas: every field required, no other allowed, as servers that keep to a schema want it."""

from __future__ import annotations

from pipeline.ops.values import Json

TEXT: Json = {"type": "string"}


def table(**fields: Json) -> Json:
    """An object of exactly these fields."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def rows(**fields: Json) -> Json:
    """A list of such objects."""
    return {"type": "array", "items": table(**fields)}


def one_of(*values: str) -> Json:
    """One of some words."""
    return {"type": "string", "enum": list(values)}
