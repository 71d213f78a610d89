"""Where cuts go, and the kinds of fault that other splitters have."""

from __future__ import annotations

import pytest

from pipeline.errors import UsageError
from pipeline.split.grain import Grain, Piece, Preferred, Unit
from pipeline.split.splitter import Splitter
from tests.unit.split.texts import assert_sound, counters, han_prose, prose


def split(
    text: str, limit: int, overlap: int = 0, *, counter: str = "characters", preferred: tuple[Preferred, ...] = ()
) -> list[Piece]:
    """Sound pieces of one text."""
    grain = Grain(name="test", limit=limit, overlap=overlap)
    pieces = Splitter(grain, counters()[counter]).split(Unit(text=text, preferred=preferred))
    assert_sound(text, pieces, counters()[counter], limit)
    return pieces


def cores(text: str, pieces: list[Piece]) -> list[str]:
    return [text[piece.start : piece.end] for piece in pieces]


def test_an_empty_text_has_no_pieces() -> None:
    assert split("", 10) == []


def test_a_text_within_the_limit_is_one_piece_whatever_it_holds() -> None:
    text = "# A\n\n***\n\n## B\n\ntext. More text.\n"
    assert split(text, len(text)) == [Piece(lead=0, start=0, end=len(text), tokens=len(text))]


def test_equal_words_are_found_where_they_stand_and_not_where_they_first_occur() -> None:
    text = "oar oar oar"
    pieces = split(text, 9, 3)
    assert [piece.start for piece in pieces] == [0, 8]
    assert cores(text, pieces) == ["oar oar ", "oar"]


def test_overlapping_lines_keep_exact_offsets() -> None:
    text = "\n".join(f"creek{n} turns wheel{n}." for n in range(70))
    for piece in split(text, 20, 10, counter="built-in")[1:]:
        assert piece.lead < piece.start
        assert text[piece.lead - 1].isspace()


def test_overlap_of_one_word_is_a_slice_of_the_text() -> None:
    text = "Nets out. Lamps lit. Decks dry."
    pieces = split(text, 16, 6)
    assert len(pieces) > 1
    assert all(text[piece.lead : piece.end].endswith(text[piece.start : piece.end]) for piece in pieces)


def test_chinese_clauses_with_commas_only_stay_within_the_limit() -> None:
    assert len(split("潮水慢慢退去，渔船停在泥滩上，" * 20, 32, counter="built-in")) > 10


def test_a_run_of_one_letter_is_cut_hard() -> None:
    text = "z" * 3000
    assert len(split(text, 50)) <= 3000 // 35
    split(text, 50, counter="built-in")


@pytest.mark.parametrize("overlap", [20, 30, -1])
def test_an_overlap_that_leaves_no_room_is_a_clear_error(overlap: int) -> None:
    with pytest.raises(UsageError, match="Grain test"):
        split("text", 20, overlap)


def test_a_limit_below_one_is_a_clear_error() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        split("text", 0)


def test_overlap_in_a_word_goes_back_by_characters() -> None:
    pieces = split("abcdefghijklmnopqrst", 5, 2)
    assert [piece.start - piece.lead for piece in pieces[1:]] == [2] * (len(pieces) - 1)


def test_overlap_does_not_move_the_cuts_after_the_first_piece() -> None:
    text = prose(40, 5)
    plain = {piece.start for piece in split(text, 90, counter="built-in")}
    shown = {piece.start for piece in split(text, 100, 10, counter="built-in")}
    assert len(plain & shown) > 0.8 * len(plain)


def test_nothing_is_lost_after_an_unclosed_fence() -> None:
    text = "# Pier\nplanks\n\n```\ncode\n\n## Not a heading\n" + "line of code\n" * 40
    pieces = split(text, 60)
    assert "".join(cores(text, pieces)) == text


@pytest.mark.parametrize("fence", ["```python", "~~~", "````"])
def test_a_fence_opener_stays_with_the_first_line_of_code(fence: str) -> None:
    for seed in range(20):
        code = "".join(f"step_{n} = haul(line[{n}])\n" for n in range(60))
        text = f"{prose(3, seed)}{fence}\n{code}{fence[:4].rstrip('python')}\n\nAfter the code.\n"
        for core in cores(text, split(text, 120, counter="built-in")):
            assert not core.rstrip("\n").endswith(f"\n{fence}") or "step_59" in core


def test_code_is_cut_at_line_ends() -> None:
    text = "```\n" + "".join(f"print('One. Two. Three {n}')\n" for n in range(80)) + "```\n"
    assert all(core.endswith("\n") for core in cores(text, split(text, 150)))


def test_a_nested_list_with_tabs_and_no_break_spaces_is_verbatim() -> None:
    text = "- one\u00a0knot\n\t- two\tknots\n\t\t1. three\n" * 30
    assert "".join(cores(text, split(text, 70))) == text


def test_a_table_is_cut_at_rows() -> None:
    text = "| port | ships. Seen. |\n|---|---|\n" + "".join(f"| Quay. {n} | {n * 7}. Yes. |\n" for n in range(40))
    found = cores(text, split(text, 120))
    assert len(found) > 4
    assert all(core.startswith("|") and core.endswith("|\n") for core in found)
    assert found[0].count("\n") > 2


def test_a_heading_is_not_the_last_line_of_a_piece() -> None:
    for seed in range(30):
        text, preferred = "", []
        for part in range(6):
            preferred.append(Preferred(offset=len(text), level=2))
            text += f"## Part {part}\n\n{prose(4, seed * 10 + part)}"
        for core in cores(text, split(text, 150, counter="built-in", preferred=tuple(preferred))):
            assert not core.rstrip().rpartition("\n")[2].startswith("##")


def test_a_sub_heading_is_cut_at_before_a_paragraph_is() -> None:
    text = prose(2, 1) + "## Next\n\n" + prose(2, 2)
    at = text.index("##")
    pieces = split(text, max(at, len(text) - at) + 20, preferred=(Preferred(offset=at, level=2),))
    assert [piece.start for piece in pieces] == [0, at]


@pytest.mark.parametrize("mark", ["***\n\n", "* * *\n\n", "---\n\n", "\n\n\n"])
def test_a_scene_break_is_cut_at_before_a_paragraph_is(mark: str) -> None:
    text = prose(3, 3) + mark
    at = len(text)
    text += prose(3, 4)
    assert [piece.start for piece in split(text, max(at, len(text) - at) + 30)] == [0, at]


def test_sentences_of_a_long_paragraph_are_not_cut_inside() -> None:
    for text in (prose(1, 4, gap=" ") * 20, han_prose(1, 5, gap="") * 20):
        for core in cores(text, split(text, 400)):
            assert core.rstrip()[-1] in ".!?。！？”"


def test_titles_and_initials_do_not_end_a_sentence() -> None:
    text = "Mr. Brown met Dr. Green and J. White at noon by the quay. " * 30
    assert all(core.startswith("Mr. Brown") for core in cores(text, split(text, 200)))


@pytest.mark.parametrize("cluster", ["e" + "\u0301" * 9, "\U0001f468\u200d\U0001f469\u200d\U0001f467", "कि", "각"])
def test_a_grapheme_above_the_limit_is_one_flagged_piece(cluster: str) -> None:
    pieces = split(f"a{cluster}b", 1)
    assert [piece.over for piece in pieces] == [False, len(cluster) > 1, False]


@pytest.mark.parametrize(
    "text",
    [
        "q1w2e3" * 40_000,
        "word " * 60_000,
        "一" * 60_000,
        "e" + "\u0301" * 20_000 + "\u200b" * 20_000,
        "\x00" * 20_000,
        "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 3_000,
        " " * 100_000,
        "\n" * 50_000,
        "\n \n\t\n" * 10_000,
        ". " * 30_000,
    ],
    ids=["token", "line", "han", "combining", "nul", "emoji", "spaces", "newlines", "blank-lines", "dots"],
)
@pytest.mark.parametrize("counter", ["built-in", "characters", "unigram"])
def test_hostile_texts_come_out_whole(text: str, counter: str) -> None:
    split(text, 300, counter=counter)
