"""Citations, resolved on read: an output holds no position, so none is ever stale (DESIGN §5)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from db.database import Repositories
from db.sections import StoredSections
from db.values import Chunk
from pipeline import canonical
from pipeline.ops.kinds import Source
from pipeline.ops.values import Json
from pipeline.read.places import Place, Places
from pipeline.read.reading import Section
from workers.batched import batched
from workers.planning.selection import Member, Selection
from workers.planning.selection import Place as ChunkPlace

AT_ONCE, HELD = 1000, 4000  # places that are resolved together, chunks whose texts are kept
WORD = re.compile(r"\S+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """A place in a document that an item rests on."""

    member: Member
    section: Section | None
    chunk: Chunk
    chunk_ordinal: int  # within the document
    start: int  # characters into the document's text
    end: int
    start_line: int  # 1-based
    end_line: int
    source: Place | None  # where in the source it begins, of formats whose lines are not the text's
    source_end: Place | None  # where it ends, when that is another place

    def named(self) -> dict[str, Json]:
        """For people and programs: names, the chunk's logical id, lines and offsets."""
        return {
            "document": self.member.document.title,
            "section": self.section.title if self.section else "",
            "chunk": str(self.chunk.logical_id),
            "start_line": self.start_line,
            "end_line": self.end_line,
            "start": self.start,
            "end": self.end,
            **({"source": self.source.named()} if self.source else {}),
            **({"source_end": self.source_end.named()} if self.source_end else {}),
        }

    def canonical(self) -> dict[str, Json]:
        """For comparing runs: hashes and ordinals, no ids and no names."""
        return {
            "document": self.member.text_sha256.hex(),
            "chunk": self.chunk_ordinal,
            "content": self.chunk.content_sha256.hex(),
            "start": self.start,
            "end": self.end,
            "start_line": self.start_line,
            "end_line": self.end_line,
        }


class Sections:
    """Finds the innermost section at an offset."""

    def __init__(self, sections: StoredSections) -> None:
        self._sections = sections

    def at(self, offset: int) -> Section | None:
        """The section whose own text holds the character."""
        starts, ordinals = self._sections.runs
        found = bisect_right(starts, offset) - 1
        return self._sections[ordinals[found]] if found >= 0 else None


def _before_name(marked: str, names: Collection[str]) -> int:
    """Where in a marked mention the name begins: at 0, unless it only ends with one of the names."""
    words = list(WORD.finditer(marked))
    for at in range(len(words)):
        if " ".join(word.group() for word in words[at:]) in names:
            return words[at].start()
    return 0


class Citer:
    """Resolves (leaf ordinal, item index) pairs of one map step."""

    def __init__(self, rows: Repositories, selection: Selection, step_id: int) -> None:
        self._rows = rows
        self._selection = selection
        self._step_id = step_id
        self._places: dict[int, Places | None] = {}
        self._spans: dict[int, dict[int, list[tuple[int, int]]]] = {}
        self._chunks: dict[int, tuple[ChunkPlace, Chunk, str]] = {}

    def cite(self, pairs: Iterable[tuple[int, int]], *, spans: int = 1) -> list[list[Citation]]:
        """The citations of each pair: its first `spans` places in the chunk, or the whole chunk where it names none."""
        found: list[list[Citation]] = []
        for some in batched(pairs, AT_ONCE):
            self.load([ordinal for ordinal, _ in some])
            found += [self._cite(ordinal, item, spans) for ordinal, item in some]
        return found

    def named(self, pairs: Iterable[tuple[int, int, Collection[str]]]) -> list[Citation]:
        """The first place of each mention of an entry with these names: what stands before its name is left out.

        A chunk may mark a word too many ("Poor Lazarus!"): whether it is part of the name the whole book tells.
        """
        found: list[Citation] = []
        for some in batched(pairs, AT_ONCE):
            self.load([ordinal for ordinal, _, _ in some])
            found += [self._named(*each) for each in some]
        return found

    def _named(self, ordinal: int, item: int, names: Collection[str]) -> Citation:
        place, chunk, text = self._chunks[ordinal]
        start, end = (self._spans.get(ordinal, {}).get(item) or [(0, len(text))])[0]
        return self._citation(place, chunk, text, ordinal, start + _before_name(text[start:end], names), end)

    def whole(self, ordinals: list[int]) -> list[Citation]:
        """The whole chunks at ordinals."""
        self.load(ordinals)
        return [self._cite(ordinal, -1, 1)[0] for ordinal in ordinals]

    def words(self, ordinals: Sequence[int], words: str) -> list[Citation]:
        """The first place of some words in the first of the chunks that has them."""
        self.load(ordinals)
        for ordinal in ordinals:
            place, chunk, text = self._chunks[ordinal]
            if (at := text.find(words)) >= 0:
                return [self._citation(place, chunk, text, ordinal, at, at + len(words))]
        return []

    def text(self, ordinal: int) -> str:
        """The text of a chunk that was cited."""
        return self._chunks[ordinal][2]

    def quoted(self, ordinal: int, item: int) -> str:
        """The words of an item that was cited, at its first place, white space collapsed."""
        found = self.source(ordinal, item)
        return " ".join(found.text[found.start : found.end].split())

    def source(self, ordinal: int, item: int) -> Source:
        """A loaded chunk's text, and where an item first stands in it."""
        text = self._chunks[ordinal][2]
        start, end = (self._spans.get(ordinal, {}).get(item) or [(0, len(text))])[0]
        return Source(text=text, start=start, end=end)

    def load(self, ordinals: Iterable[int]) -> None:
        """Have the chunks at hand, all at once."""
        if len(self._chunks) > HELD:  # memory stays flat while a long list is walked
            self._chunks.clear()
            self._spans.clear()
        new = sorted({ordinal for ordinal in ordinals if ordinal not in self._chunks})
        if not new:
            return
        places = {ordinal: self._selection.locate(ordinal) for ordinal in new}
        chunks = self._rows.chunks.at([(place.page.page_id, place.within) for place in places.values()])
        texts = self._rows.contents.texts(list({chunk.content_sha256 for chunk in chunks.values()}))
        for ordinal, place in places.items():
            chunk = chunks[place.page.page_id, place.within]
            self._chunks[ordinal] = (place, chunk, texts[chunk.content_sha256])
        keys = self._rows.tasks.keys(self._step_id, new)
        found = self._rows.results.outputs_and_spans(list(set(keys.values())))
        for ordinal, key in keys.items():
            by_item: dict[int, list[tuple[int, int]]] = {}
            for item, start, end in canonical.loads(found[key][1] or b"[]"):
                by_item.setdefault(item, []).append((start, end))
            self._spans[ordinal] = by_item

    def _cite(self, ordinal: int, item: int, spans: int) -> list[Citation]:
        place, chunk, text = self._chunks[ordinal]
        found = self._spans.get(ordinal, {}).get(item) or [(0, len(text))]
        return [self._citation(place, chunk, text, ordinal, start, end) for start, end in found[:spans]]

    def _citation(self, place: ChunkPlace, chunk: Chunk, text: str, ordinal: int, start: int, end: int) -> Citation:
        first = place.page.start + chunk.start
        line = place.page.start_line + chunk.line + text.count("\n", 0, start)
        # The last character decides, not the place after it: a span that ends with a line feed ends on that line.
        last = line + text.count("\n", start, max(start, end - 1))
        places = self._places_of(place.member)
        source = places.at(first + start, line) if places else None
        source_end = places.at(first + max(start, end - 1), last) if places else None
        return Citation(
            member=place.member,
            section=Sections(place.member.sections).at(first + start),
            chunk=chunk,
            chunk_ordinal=ordinal - self._selection.bases[id(place.member)],
            start=first + start,
            end=first + end,
            start_line=line,
            end_line=last,
            source=source,
            source_end=None if source_end == source else source_end,
        )

    def source_at(self, member: Member, offset: int, line: int) -> dict[str, Json]:
        """`{source: …}` of a character on a line, where the format has places of its own."""
        places = self._places_of(member)
        found = places.at(offset, line) if places else None
        return {"source": found.named()} if found else {}

    def _places_of(self, member: Member) -> Places | None:
        """The places of a member's revision, read when the first of them is asked for."""
        if id(member) not in self._places:
            self._places[id(member)] = self._rows.documents.places(member.revision_id)
        return self._places[id(member)]
