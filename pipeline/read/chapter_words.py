"""The words that chapter lines are made of, and the rank of each: from the outermost kind of section in."""

from __future__ import annotations

# Only the order of ranks counts.
VOLUME_RANK, PART_RANK, BOOK_RANK, CHAPTER_RANK, SECTION_RANK = 10, 20, 30, 50, 60
_SERIES_RANK, _COLLECTION_RANK, _ACT_RANK, _SCENE_RANK = 15, 35, 40, 55


def _ranked(rank: int, *words: str) -> dict[str, int]:
    return dict.fromkeys(words, rank)


# Extra chapters beside the count of the others.
SIDE_WORDS = ("side story", "side chapter", "bonus chapter", "extra chapter", "interlude")
SIDE_UNITS = frozenset({*SIDE_WORDS, "番外", "外传", "外傳", "외전"})
WESTERN_UNITS = {
    **_ranked(VOLUME_RANK, "volume", "vol", "том", "band"),
    **_ranked(PART_RANK, "part", "часть", "teil"),
    **_ranked(BOOK_RANK, "book", "книга"),
    **_ranked(_ACT_RANK, "act"),
    **_ranked(
        CHAPTER_RANK, "chapter", "chap", "ch", "глава", "kapitel", "chapitre", "capítulo", "capitulo", "capitolo"
    ),
    **_ranked(CHAPTER_RANK, "stave", "canto", "episode", "letter", *SIDE_WORDS),
    **_ranked(_SCENE_RANK, "scene"),
    **_ranked(SECTION_RANK, "section", "раздел"),
}
EASTERN_UNITS = {
    **_ranked(_SERIES_RANK, *"部季부"),
    **_ranked(PART_RANK, *"卷巻권"),
    **_ranked(_COLLECTION_RANK, *"集册冊篇편"),
    **_ranked(_ACT_RANK, *"幕막"),
    **_ranked(CHAPTER_RANK, *"章回话話折夜장화회"),
    **_ranked(SECTION_RANK, *"节節절"),
}
WESTERN_NAMES = (
    "prologue", "epilogue", "foreword", "preface", "introduction", "afterword", "postscript", "interlude",
    "intermission", "appendix", "conclusion", "dedication", "acknowledgments", "acknowledgements", "author's note",
    "author’s note", "translator's note", "translator’s note", "translator's preface", "translator’s preface",
    "etymology", "extracts", "prelude", "finale", "coda", "пролог", "эпилог", "предисловие", "послесловие",
    "введение", "заключение", "приложение", "интерлюдия", "от автора",
)  # fmt: skip
EASTERN_NAMES = (
    "番外", "外传", "外傳", "楔子", "序章", "序言", "序幕", "自序", "前言", "引子", "引言",
    "后记", "後記", "后序", "後序", "尾声", "尾聲", "终章", "終章", "大结局", "大結局", "结局", "結局",
    "完结感言", "完本感言", "上架感言", "附录", "附錄", "题记", "題記", "幕间", "幕間", "序", "跋",
    "プロローグ", "エピローグ", "あとがき", "まえがき",
    "프롤로그", "에필로그", "서장", "종장", "서문", "머리말", "후기", "외전", "작가의 말",
)  # fmt: skip
CONTENTS_WORDS = (
    "contents", "table of contents", "содержание", "оглавление",
    "目录", "目錄", "目次", "总目录", "總目錄", "차례", "목차",
)  # fmt: skip
SURAH = "سورة"  # heads each of the Quran's parts, before its name
