"""From an EPUB's table of contents to the marks of its sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.read.chapter_words import CHAPTER_RANK, CONTENTS_WORDS
from pipeline.read.chapters import heading_of
from pipeline.read.derived import Spot
from pipeline.read.epub_contents import Entry
from pipeline.read.html_reader import heading_marks, notes_mark
from pipeline.read.reading import ReadWarning, SectionKind
from pipeline.read.tree import Mark

_LISTED = 5
_DEEPEST = 1_000_000
_HEADINGS = 3  # so many make a structure where the table of contents has one entry at most


@dataclass(slots=True)
class FileMarks:
    """Where the files of a book, their anchors, headings and notes stand in its text."""

    spots: dict[tuple[str, str], Spot] = field(default_factory=dict)  # by (path, id); of a file itself by (path, "")
    borrowed: set[tuple[str, str]] = field(default_factory=set)  # those that have no text of their own behind them
    headings: list[tuple[Spot, int, str]] = field(default_factory=list)
    notes: list[tuple[Spot, set[str]]] = field(default_factory=list)  # where notes begin, and of which files they are
    files: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    navigation: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Placed:
    entry: Entry
    spot: Spot
    is_empty: bool  # nothing stands between it and what comes next


def marks_of(files: FileMarks, entries: Sequence[Entry]) -> tuple[list[Mark], list[ReadWarning]]:
    """The marks of a book, in order; by its table of contents, its headings, or its files."""
    placed, warnings = _placed(files, entries)
    if len(placed) < 2 and len(files.headings) >= max(_HEADINGS, 2 * len(placed)):
        marks = heading_marks(files.headings)
        owners: dict[int, str] = {}
    elif placed:
        kinds = contents_kinds([one.entry for one in placed])
        marks = [
            Mark(start=one.spot.start, line=one.spot.line, depth=one.entry.depth + 1, kind=kind,
                 title=one.entry.title, inline=one.spot.inline)
            for one, kind in zip(placed, kinds, strict=True)
        ]  # fmt: skip
        owners = {id(mark): one.entry.path for mark, one in zip(marks, placed, strict=True)}
    elif files.headings:
        marks, owners = heading_marks(files.headings), {}
    else:
        marks, owners = _file_marks(files), {}
    marks = _with_navigation(files, marks)
    return _with_notes(files, marks, owners), warnings


def contents_kinds(entries: Sequence[Entry]) -> list[SectionKind]:
    """What the entries of a table of contents are. Those below a chapter are headings, those above one are volumes."""
    found = [heading_of(entry.title) for entry in entries]
    chapters = [one is not None and one.sure and one.rank >= CHAPTER_RANK for one in found]
    holds = _holding(entries, [one is not None and (one.sure or one.unit == "number") for one in found])
    roots = sum(entry.depth == 0 for entry in entries)
    kinds: list[SectionKind] = []
    within: list[tuple[int, bool]] = []  # (depth, is it a chapter or below one) of the entries around
    for index, entry in enumerate(entries):
        while within and within[-1][0] >= entry.depth:
            within.pop()
        below = bool(within) and within[-1][1]
        has_children = index + 1 < len(entries) and entries[index + 1].depth > entry.depth
        one = found[index]
        is_volume = has_children and not below and not chapters[index] and (
            holds[index] or (one is not None and one.sure) or (roots == 1 and entry.depth == 0)
        )  # fmt: skip
        if below:
            kind = SectionKind.HEADING
        elif is_volume:
            kind = SectionKind.VOLUME
        elif entry.title.casefold() in CONTENTS_WORDS and not has_children:
            kind = SectionKind.CONTENTS
        else:
            kind = SectionKind.CHAPTER
        within.append((entry.depth, below or kind is SectionKind.CHAPTER))
        kinds.append(kind)
    return kinds


def _holding(entries: Sequence[Entry], telling: Sequence[bool]) -> list[bool]:
    """For each entry, whether a telling one is listed below it. Linear: each is looked at once, from the end."""
    holds = [False] * len(entries)
    waiting: list[tuple[int, bool]] = []  # (depth, holds or is a telling one) of entries that have no parent yet
    for index in range(len(entries) - 1, -1, -1):
        depth = entries[index].depth
        while waiting and waiting[-1][0] > depth:
            holds[index] = waiting.pop()[1] or holds[index]
        waiting.append((depth, holds[index] or telling[index]))
    return holds


def _placed(files: FileMarks, entries: Sequence[Entry]) -> tuple[list[_Placed], list[ReadWarning]]:
    """The entries that lead somewhere, by place; the others told."""
    claimed = {(entry.path, entry.fragment) for entry in entries}
    empty: list[str] = []
    spots: list[_Placed | None] = []
    for entry in entries:
        key = (entry.path, entry.fragment)
        spot = files.spots.get(key)
        if spot is None and entry.fragment and (entry.path, "") not in claimed:
            spot, key = files.spots.get((entry.path, "")), (entry.path, "")
        spots.append(None if spot is None else _Placed(entry, spot, key in files.borrowed))
    _lend(entries, spots)
    broken = [entry.title for entry, spot in zip(entries, spots, strict=True) if spot is None]
    kept = sorted((one for one in spots if one is not None), key=lambda one: one.spot.start)
    warnings = []
    in_order = [one.spot.start for one in spots if one is not None]
    if in_order != sorted(in_order):
        message = "the table of contents is not in reading order; its sections are"
        warnings.append(ReadWarning(code="contents-out-of-order", message=message))
    kept = _without_empty(kept, empty)
    for code, what, names in (
        ("contents-broken", "entries of the table of contents lead nowhere", broken),
        ("section-empty", "entries of the table of contents have no text of their own", empty),
    ):
        if names:
            more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            listed = ", ".join(repr(name) for name in names[:_LISTED])
            warnings.append(ReadWarning(code=code, message=f"{what}: {listed}{more}"))
    return kept, warnings


def _lend(entries: Sequence[Entry], spots: list[_Placed | None]) -> None:
    """An entry that is only a name for those below it begins where the first of them does."""
    for index in range(len(entries) - 2, -1, -1):
        following = spots[index + 1]
        if spots[index] is None and following is not None and entries[index + 1].depth > entries[index].depth:
            spots[index] = _Placed(entries[index], following.spot, following.is_empty)


def _without_empty(placed: list[_Placed], empty: list[str]) -> list[_Placed]:
    """Leave out entries that begin where another one does which does not stand below them."""
    kept: list[_Placed] = []
    for one in placed:
        while kept and kept[-1].spot.start == one.spot.start and kept[-1].entry.depth >= one.entry.depth:
            if one.is_empty or not kept[-1].is_empty:
                break
            empty.append(kept.pop().entry.title)
        if kept and kept[-1].spot.start == one.spot.start and kept[-1].entry.depth >= one.entry.depth:
            empty.append(one.entry.title)
        else:
            kept.append(one)
    return kept


def _file_marks(files: FileMarks) -> list[Mark]:
    """A section for each file, called what its page is called, where the pages have several names."""
    named = {files.titles.get(path, "") for path in files.files}
    if len(named - {""}) < 2:
        return []
    marks = []
    for path in files.files:
        spot = files.spots.get((path, ""))
        if spot is not None and (path, "") not in files.borrowed:
            marks.append(Mark(start=spot.start, line=spot.line, depth=1, kind=SectionKind.CHAPTER,
                              title=files.titles.get(path, "")))  # fmt: skip
    return marks


def _with_navigation(files: FileMarks, marks: list[Mark]) -> list[Mark]:
    """A navigation document that stands in the reading order is a table of contents and no chapter."""
    for path in files.navigation:
        spot = files.spots.get((path, ""))
        if spot is None or (path, "") in files.borrowed:
            continue
        own = next((mark for mark in marks if mark.start == spot.start), None)
        title = own.title if own else files.titles.get(path) or "Contents"
        marks = [mark for mark in marks if mark is not own]
        marks.append(Mark(start=spot.start, line=spot.line, depth=own.depth if own else 1, kind=SectionKind.CONTENTS,
                          title=title, is_leaf=True))  # fmt: skip
    return sorted(marks, key=lambda mark: mark.start)


def _with_notes(files: FileMarks, marks: list[Mark], owners: dict[int, str]) -> list[Mark]:
    """Notes behind the text of one section stand below it, those of several beside them."""
    starts = {mark.start: index for index, mark in enumerate(marks)}
    added = []
    for spot, paths in files.notes:
        if spot.start in starts:
            index = starts[spot.start]
            marks[index] = Mark(start=spot.start, line=spot.line, depth=marks[index].depth, kind=SectionKind.NOTES,
                                title=marks[index].title)  # fmt: skip
            continue
        depths = [mark.depth for mark in marks if owners.get(id(mark)) in paths]
        if not marks:
            continue
        depth = _DEEPEST if not depths else min(depths) + (depths.count(min(depths)) == 1)
        added.append(notes_mark(spot, depth=depth))
    return sorted([*marks, *added], key=lambda mark: mark.start)
