"""Which kind of writing a text is in, as far as the model must know it."""

from __future__ import annotations

import re
from enum import StrEnum

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # inside a character class
KANA = "\u3041-\u3096\u30a1-\u30fa\u30fc"

_HAN = re.compile(f"[{HAN}]")
_KANA = re.compile(f"[{KANA}]")
_LETTER = re.compile(r"[^\W\d_]")


class Script(StrEnum):
    """How words are told apart."""

    SPACED = "spaced"  # words stand between spaces: Latin, Cyrillic, Greek, Arabic …
    HAN = "han"  # no spaces: Chinese
    KANA = "kana"  # no spaces, kana between the Han characters: Japanese


def script_of(text: str) -> Script:
    """The script most of the letters of `text` belong to.

    Japanese is told from Chinese by its kana: a tenth of the unspaced letters is enough, for running Japanese has
    about half and Chinese has none.
    """
    han = len(_HAN.findall(text))
    kana = len(_KANA.findall(text))
    unspaced = han + kana
    if unspaced == 0:
        return Script.SPACED
    # A Han character carries about as much as a short word, so it outweighs single letters.
    others = len(_LETTER.findall(text)) - unspaced
    if unspaced * 3 < others:
        return Script.SPACED
    return Script.KANA if kana * 10 >= unspaced else Script.HAN
