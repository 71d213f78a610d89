"""Numbers as chapter lines write them: 12, １２, XII, twelve, the fifth, 第一百零八, 壹, 〇〇四, первая."""

from __future__ import annotations

import re
import unicodedata

_ROMAN = re.compile(r"(?=.)M{0,9}(?:CM|CD|D?C{0,4})(?:XC|XL|L?X{0,4})(?:IX|IV|V?I{0,4})", re.IGNORECASE)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_CARDINALS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_ORDINALS = [
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
]
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_WORDS = {
    **{word: value for words in (_CARDINALS, _ORDINALS) for value, word in enumerate(words)},
    **_TENS,
    **{word[:-1] + "ieth": value for word, value in _TENS.items()},
    "hundred": 100,
    "hundredth": 100,
    "last": -1,
    "final": -1,
}
_RUSSIAN_ORDINALS = {
    **{stem: value for value, stem in enumerate(
        ("перв", "втор", "трет", "четв[её]рт", "пят", "шест", "седьм", "восьм", "девят", "десят", "одиннадцат",
         "двенадцат", "тринадцат", "четырнадцат", "пятнадцат", "шестнадцат", "семнадцат", "восемнадцат",
         "девятнадцат"), start=1)},
    **{stem: value for value, stem in zip(range(20, 101, 10), (
        "двадцат", "тридцат", "сороков", "пятидесят", "шестидесят", "семидесят", "восьмидесят", "девяност", "сот",
    ), strict=True)},
}  # fmt: skip
_RUSSIAN_TENS = {
    word: value
    for value, word in [
        *zip(range(20, 91, 10), ("двадцать", "тридцать", "сорок", "пятьдесят", "шестьдесят", "семьдесят",
                                 "восемьдесят", "девяносто"), strict=True),
        *zip(range(100, 601, 100), ("сто", "двести", "триста", "четыреста", "пятьсот", "шестьсот"), strict=True),
    ]
}  # fmt: skip
_RUSSIAN_ENDING = r"(?:ый|ий|ой|ая|ое|ья|ье)"
_RUSSIAN_STEMS = re.compile(
    "|".join(rf"(?P<n{value}>{stem}){_RUSSIAN_ENDING}" for stem, value in _RUSSIAN_ORDINALS.items())
)
# Sino-Korean numerals in Hangul: 제일장, 제십이장.
_HANGUL = str.maketrans("영일이삼사오육칠팔구십백천", "零一二三四五六七八九十百千")
HANGUL_NUMERAL = "일이삼사오육칠팔구십백천"
_HAN_FORMS = ("零〇○Ｏ", "一壹壱弌", "二贰貳弐两兩", "三叁參参", "四肆", "五伍", "六陆陸", "七柒", "八捌", "九玖")
_HAN_DIGITS = {char: value for value, chars in enumerate(_HAN_FORMS) for char in chars}
_HAN_UNITS = {"十": 10, "拾": 10, "廿": 20, "卅": 30, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
HAN_NUMERAL = "0-9０-９" + "".join(_HAN_DIGITS) + "".join(_HAN_UNITS) + "万萬"
_SPACES = re.compile(r"[\s-]+")


def english_words_pattern() -> str:
    """A regular expression (to be used without regard to case) for a number in English words."""
    words = "|".join(sorted(_WORDS, key=len, reverse=True))
    return rf"(?:{words})(?:[ -](?:and[ -])?(?:{words}))*"


def russian_words_pattern() -> str:
    """A regular expression for a Russian ordinal, such as двадцать первая."""
    tens = "|".join(sorted(_RUSSIAN_TENS, key=len, reverse=True))
    return rf"(?:(?:{tens})\s+){{0,3}}(?:{'|'.join(_RUSSIAN_ORDINALS)}){_RUSSIAN_ENDING}"


def parse_number(text: str) -> int | None:
    """The value of a numeral in any of these writings, or None. The "last" chapter has none."""
    text = unicodedata.normalize("NFKC", text).strip().casefold()
    if not text:
        return None
    if text.isdecimal():
        return int(text[:9])
    if _ROMAN.fullmatch(text):
        return _roman(text.upper())
    if text[0] in _HAN_DIGITS or text[0] in _HAN_UNITS:
        return _han(text)
    if text[0] in HANGUL_NUMERAL:
        return _han(text.translate(_HANGUL))
    return _english(text) or _russian(text)


def _roman(text: str) -> int:
    values = [_ROMAN_VALUES[char] for char in text]
    return sum(-one if one < two else one for one, two in zip(values, [*values[1:], 0], strict=True))


def _han(text: str) -> int | None:
    if all(char in _HAN_DIGITS or char.isdecimal() for char in text):  # digits in places, such as 〇〇四 or 二三
        return int("".join(str(_HAN_DIGITS.get(char, char)) for char in text)[:9])
    total = section = digit = 0
    for char in text:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
        elif char.isdecimal():
            digit = digit * 10 + int(char)
        elif char in _HAN_UNITS:
            unit = _HAN_UNITS[char]
            section += unit if unit in (20, 30) else (digit or 1) * unit
            digit = 0
        elif char in "万萬":
            total, section, digit = (section + digit or 1) * 10_000, 0, 0
        else:
            return None
    return total + section + digit


def _english(text: str) -> int | None:
    total = 0
    for word in _SPACES.split(text):
        if word == "and":
            continue
        value = _WORDS.get(word)
        if value is None or value < 0:
            return None
        total = (total or 1) * 100 if value == 100 else total + value
    return total


def _russian(text: str) -> int | None:
    *before, last = _SPACES.split(text)
    found = _RUSSIAN_STEMS.fullmatch(last)
    if found is None or found.lastgroup is None or any(word not in _RUSSIAN_TENS for word in before):
        return None
    return sum(_RUSSIAN_TENS[word] for word in before) + int(found.lastgroup.removeprefix("n"))
