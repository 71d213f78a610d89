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
    **_ranked(CHAPTER_RANK, "stave", "canto", "episode", "letter", "песнь", "письмо", "에피소드", "챕터", *SIDE_WORDS),
    **_ranked(_ACT_RANK, "действие", "акт"),
    **_ranked(_SCENE_RANK, "scene", "сцена", "явление"),
    **_ranked(SECTION_RANK, "section", "раздел"),
}
EASTERN_UNITS = {
    **_ranked(_SERIES_RANK, *"部季부"),
    **_ranked(PART_RANK, *"卷巻권"),
    **_ranked(_COLLECTION_RANK, *"集册冊篇編编편"),
    **_ranked(_ACT_RANK, *"幕막"),
    **_ranked(CHAPTER_RANK, *"章回话話折夜장화회"),
    **_ranked(_SCENE_RANK, *"場场"),
    **_ranked(SECTION_RANK, *"节節절"),
}
# What a unit of the East begins where it is no unit: 第三部队, 第一回合, 第二部分, 第五章节.
EASTERN_COMPOUNDS = {
    "部": "分队隊门門署落位件下长長", "季": "度节節军軍风風", "集": "团團体體合中市会會结結训訓", "册": "子",
    "冊": "子", "篇": "文章幅", "编": "辑制", "編": "集制", "幕": "后後布僚府", "章": "节節程鱼法印",
    "场": "地面合次所", "場": "地面合所", "回": "合头頭来來首忆憶去家应應答避归歸过過收想事说說",
    "话": "说說语語题題音费費剧劇筒别",
    "話": "說語題音費劇筒", "节": "课課目日奏约省制气点拍车", "節": "課目日奏約省制氣點拍車", "折": "扣磨断斷腾返",
    "夜": "里裡晚色市空班", "卷": "书書起入子", "장": "관교군남녀",
}  # fmt: skip
# A line of these behind a chapter's number says that the chapter ends: 第一章完.
END_WORDS = frozenset({"完", "终", "終", "了", "结束", "結束", "未完", "完结", "完結", "本章完", "끝"})
WESTERN_NAMES = (
    "prologue", "epilogue", "foreword", "preface", "introduction", "afterword", "postscript", "interlude",
    "intermission", "appendix", "conclusion", "dedication", "acknowledgments", "acknowledgements", "author's note",
    "author’s note", "translator's note", "translator’s note", "translator's preface", "translator’s preface",
    "etymology", "extracts", "prelude", "finale", "coda", "пролог", "эпилог", "предисловие", "послесловие",
    "введение", "вступление", "заключение", "приложение", "интерлюдия", "от автора", "от издателя", "от переводчика",
    "вместо предисловия", "вместо эпилога", "примечания",
)  # fmt: skip
EASTERN_NAMES = (
    "番外", "外传", "外傳", "楔子", "序章", "序言", "序幕", "自序", "前言", "引子", "引言",
    "后记", "後記", "后序", "後序", "尾声", "尾聲", "终章", "終章", "大结局", "大結局", "结局", "結局",
    "完结感言", "完本感言", "上架感言", "附录", "附錄", "题记", "題記", "幕间", "幕間", "序", "跋",
    "プロローグ", "エピローグ", "あとがき", "まえがき", "はじめに", "おわりに", "解説", "断章", "間章", "終幕",
    "프롤로그", "에필로그", "서장", "종장", "서문", "머리말", "후기", "외전", "작가의 말", "작가 후기", "들어가며",
)  # fmt: skip
CONTENTS_WORDS = (
    "contents", "table of contents", "содержание", "оглавление",
    "目录", "目錄", "目次", "总目录", "總目錄", "もくじ", "차례", "목차",
)  # fmt: skip
SURAH = "سورة"  # heads each of the Quran's parts, before its name
