"""Is a capital at the start of a sentence part of the name behind it? "Old Thunder came": the whole book tells.

Where the book writes both words with capitals inside a sentence, the name has both, and its mentions at starts are its
own. Where it never does, and the first word is an ordinary one elsewhere in those chunks ("Poor Yorick!"), the name is
what stands behind it.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.models.extractive import words_en as en
from pipeline.models.extractive.names_spaced import behind, is_start
from pipeline.ops.values import Json
from pipeline.reduce.glossary.candidates import Candidate


def settled(candidates: Mapping[str, Candidate]) -> dict[str, Candidate]:
    """The candidates, those that are a name behind an ordinary word given to that name.

    A given entry keeps its key, by which its mentions are found.
    """
    found = {key: one for key, one in candidates.items() if not is_start(one.seen)}
    for key in sorted(candidates.keys() - found.keys()):
        rest = behind(key)
        if len(rest) > 1 and rest not in en.FURNITURE:
            if rest not in found:
                found[rest] = Candidate(key=rest)
            for entry in candidates[key].entries:
                found[rest].add(_given(entry))
    return found


def _given(entry: Json) -> Json:
    """The entry as one of the name behind its first word, which thus stands inside a sentence."""
    seen = {feature: count for feature, count in entry["seen"].items() if feature not in ("start", "common")}
    seen["mid"] = entry["seen"].get("start", 0) + entry["seen"].get("mid", 0)
    size = len(behind(entry["key"]).split())
    name = " ".join(entry["name"].split()[-size:])
    return entry | {"name": name, "seen": seen}
