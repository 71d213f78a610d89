"""Where an item belongs: its canonical key, and the shard of the key."""

from __future__ import annotations

import hashlib
import unicodedata

from pipeline.errors import UsageError
from pipeline.ops.values import Json
from pipeline.reduce.glossary.forms import simplified

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-"})

LISTS = ("items", "facts", "events", "aliases")
"""The lists of an output. Their items are numbered through in this order, as their spans are."""


def canonical_key(item: Json, *, fold: bool = False) -> str:
    """The name of an item as all its spellings share it: NFKC (so width too), case folded, spaces collapsed.

    With `fold`, traditional characters count as their simplified ones too: 張飛 and 张飞 have one key.

    The kind is no part of it, so all kinds of one name meet in one shard; there they are kept apart until
    `resolve` has seen the evidence.
    """
    name = unicodedata.normalize("NFKC", str(item["name"])).translate(_APOSTROPHES)
    key = unicodedata.normalize("NFKC", " ".join(name.split()).casefold())
    return simplified(key) if fold else key


def shard_of(key: str, shards: int) -> int:
    """The shard of a canonical key: the first eight bytes of its SHA-256, modulo `shards`."""
    if shards < 1:
        raise UsageError(f"A merge needs at least one shard, not {shards}.")
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % shards


def partition(output_value: Json, shards: int, *, fold: bool = False) -> dict[int, list[tuple[int, Json]]]:
    """The items of one extract output by shard, each as (index in the output, item). Nameless items fall out.

    Stated aliases go to the shard of the alias, as `{"stated": True, "key", "alias", "name_key", "name"}`; the lists of
    an output are numbered through in the order of LISTS. One whose quote was looked for and not found is no evidence.
    """
    parts: dict[int, list[tuple[int, Json]]] = {}
    for index, item in enumerate(output_value["items"]):
        key = canonical_key(item, fold=fold)
        if key:
            parts.setdefault(shard_of(key, shards), []).append((index, item))
    index = len(output_value["items"])
    for name in LISTS[1:]:
        for item in output_value.get(name, ()):
            if name == "aliases" and (made := stated(item, fold=fold)) is not None:
                parts.setdefault(shard_of(made["key"], shards), []).append((index, made))
            index += 1
    return parts


def stated(item: Json, *, fold: bool = False) -> Json | None:
    """A stated alias with its canonical keys; None where it says nothing."""
    key, name = canonical_key({"name": item["alias"]}, fold=fold), canonical_key(item, fold=fold)
    if not key or not name or key == name or item.get("verified") is False:
        return None
    return {"stated": True, "key": key, "alias": item["alias"], "name_key": name, "name": item["name"]}
