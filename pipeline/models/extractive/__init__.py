"""The extractive model: built in, deterministic, no download, no network.

It quotes and counts: a summary is made of the book's own sentences, a glossary of its own names. Every function is
pure and works in whole numbers, so that every platform gives the same bytes.
"""

from pipeline.models.extractive.extraction import extract
from pipeline.models.extractive.facts import facts
from pipeline.models.extractive.outline import headline
from pipeline.models.extractive.summary import fold_summary, summarize
from pipeline.models.extractive.version import EXTRACTIVE_VERSION

__all__ = ["EXTRACTIVE_VERSION", "extract", "facts", "fold_summary", "headline", "summarize"]
