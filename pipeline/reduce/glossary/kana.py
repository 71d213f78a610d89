"""Judges Japanese candidates: katakana runs, and kanji compounds that are honoured or stand like a subject."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.reduce.glossary.candidates import Candidate, Kept, whole


def judge(candidates: Mapping[str, Candidate]) -> list[Kept]:
    """The candidates that are names or terms of the book."""
    kept = []
    for key in sorted(candidates):
        candidate = candidates[key]
        person = candidate.sum("person") >= 2 and candidate.share("person") >= 50
        kana = candidate.sum("kana") > 0
        if candidate.count >= 2 and (person or kana or candidate.share("particle") >= 600):
            kept.append(whole(candidate, "person" if person else "name" if kana else "term"))
    return kept
