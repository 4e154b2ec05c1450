"""Numerals: Roman ones, and the values of Chinese ones."""

from __future__ import annotations

from functools import cache

_LETTERS = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
    (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_HAN = {digit: value for value, digit in enumerate("〇一二三四五六七八九")} | {"零": 0}
_MAX_ROMAN = 400
_TYPES = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}  # of lists in HTML


def roman(number: int) -> str:
    """Return a number in Roman numerals."""
    written = ""
    for value, letters in _LETTERS:
        written += letters * (number // value)
        number %= value
    return written


def list_number(number: int, form: str) -> str:
    """Return the number of an item of a list in a form of Word, or in the type of a list of HTML.

    >>> list_number(4, "decimal"), list_number(28, "lowerLetter"), list_number(14, "I"), list_number(4, "decimalZero")
    ('4', 'bb', 'XIV', '04')
    """
    form = _TYPES.get(form, form)
    written = f"{number:02}" if form == "decimalZero" else str(number)
    if form.endswith("Letter") and 0 < number < _MAX_ROMAN:
        written = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif form.endswith("Roman") and 0 < number < _MAX_ROMAN:
        written = roman(number).lower()
    return written.upper() if form.startswith("upper") else written


@cache
def _romans() -> dict[str, int]:
    return {roman(number): number for number in range(1, _MAX_ROMAN)}


def numeral_value(digits: str) -> int:
    """Return a number in digits, in Roman numerals up to 399 or in Chinese ones; 0 for a word.

    >>> numeral_value("12"), numeral_value("XIV"), numeral_value("二十一"), numeral_value("百零三"), numeral_value("IC")
    (12, 14, 21, 103, 0)
    """
    if digits.isdecimal():
        return int(digits)
    if not {*digits} <= {*_HAN, "十", "百"}:
        return _romans().get(digits, 0)
    total = digit = 0
    for sign in digits:
        if sign in "十百":
            total, digit = total + (digit or 1) * (10 if sign == "十" else 100), 0
        else:
            digit = _HAN[sign]
    return total + digit
