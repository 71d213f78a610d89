"""Aliases from evidence: names are one when the book says so, never because they look alike."""

from pipeline.reduce.aliases.links import Link, linked
from pipeline.reduce.aliases.stated import Stated, stated_aliases

__all__ = ["Link", "Stated", "linked", "stated_aliases"]
