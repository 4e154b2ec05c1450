"""Values of numerals: digits, Roman and Chinese ones."""

from __future__ import annotations

import re

_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_HAN = {digit: value for value, digit in enumerate("〇一二三四五六七八九")} | {"零": 0}
_ROMAN = re.compile("C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")


def numeral_value(digits: str) -> int:
    """Return a number in digits, in Roman or in Chinese numerals; 0 for a word.

    >>> numeral_value("12"), numeral_value("XIV"), numeral_value("二十一"), numeral_value("百零三"), numeral_value("IC")
    (12, 14, 21, 103, 0)
    """
    if digits.isdecimal():
        return int(digits)
    if digits[0] in _VALUES:
        values = [_VALUES[digit] for digit in digits]
        total = sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))
        return total if _ROMAN.fullmatch(digits) else 0
    total = digit = 0
    for sign in digits:
        if sign in "十百":
            total, digit = total + (digit or 1) * (10 if sign == "十" else 100), 0
        else:
            digit = _HAN[sign]
    return total + digit
