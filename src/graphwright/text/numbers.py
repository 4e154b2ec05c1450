"""Numbers as files write them: separators, signs, scales, units; Roman and Chinese numerals."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

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


_GROUP = r"[ \u00a0\u2009\u202f'’_]"  # separators that group thousands in any column
_GROUPS = re.compile(_GROUP)
_DIGITS = (
    rf"\d{{1,3}}(?:(?:{_GROUP}\d{{3}})+|(?:,\d{{2,3}})+,\d{{3}}|(?:,\d{{3}})+|(?:\.\d{{3}})+)(?:[.,]\d+)?|\d*[.,]?\d+"
)
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d{1,2}|\.\d{4,})?", re.ASCII)
_CURRENCY = (
    r"(?:us|au|nz|ca|hk|mx|a|c|s|r)\$|chf|eur|usd|gbp|jpy|cny|inr|sek|nok|dkk|pln|czk|huf|cad|aud|brl|mxn|zar|rub|krw"
    r"|(?:rs|kr|fr)\b\.?|zł|kč|[$€£¥₹₽₩₺₴฿₪₫円元원%]"  # percent, too, stands before a number in some languages
)
_IS_CURRENCY = re.compile(_CURRENCY)
_AMOUNT = re.compile(
    rf"(?:[~≈<>≤≥±]\s?)?(?P<sign>[-+−–])?\s?(?:(?P<before>{_CURRENCY})\s?)?(?P<second>[-+−–])?(?P<number>{_DIGITS})"
    r"(?:e(?P<power>[+-]?\d+))?(?:(?P<dash>[.,])[-–]{1,2}|(?P<after>[-−]))?"
    r"(?P<space>\s?)(?P<rest>[^\d\s]{1,15}[23]?(?: [^\d\s]{1,14}){0,2})?",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"([^\d()]{0,5})\(\s*([^()]+?)\s*\)([^\d()]{0,5})")
_SCALES = {
    **dict.fromkeys(("k", "thousand", "tsd", "tsd."), 1e3),
    **dict.fromkeys(("m", "mn", "mm", "mio", "mio.", "million", "millionen", "millions", "mln"), 1e6),
    **dict.fromkeys(("bn", "billion", "billions", "mrd", "mrd.", "milliarden", "mld"), 1e9),
    "tn": 1e12, "trillion": 1e12, "万": 1e4, "萬": 1e4, "億": 1e8, "亿": 1e8, "兆": 1e12, "lakh": 1e5, "crore": 1e7,
}  # fmt: skip
_SIGNS = {
    "€": "EUR", "$": "USD", "us$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY",
    "円": "JPY", "元": "CNY", "원": "KRW", "zł": "PLN", "kč": "CZK", "r$": "BRL",
}  # fmt: skip
_PREFIXES = {
    "n": 1e-9, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1, "": 1, "h": 1e2, "k": 1e3, "M": 1e6, "G": 1e9,
    "T": 1e12,
}  # fmt: skip
_METRIC = ("m", "g", "l", "L", "s", "W", "Wh", "Hz", "V", "A", "J", "Pa", "B", "bit", "N", "Ω", "eV", "cal")
_OTHER = {
    "min": ("s", 60.0), "h": ("s", 3600.0), "hr": ("s", 3600.0), "d": ("s", 86400.0), "t": ("g", 1e6),
    "in": ("m", 0.0254), "ft": ("m", 0.3048), "yd": ("m", 0.9144), "mi": ("m", 1609.344), "nmi": ("m", 1852.0),
    "lb": ("g", 453.59237), "lbs": ("g", 453.59237), "oz": ("g", 28.349523125),
    **{f"{prefix}m²": ("m²", factor**2) for prefix, factor in _PREFIXES.items()},
    **{f"{prefix}m³": ("l", 1e3 * factor**3) for prefix, factor in _PREFIXES.items()},
    "ha": ("m²", 1e4), "acre": ("m²", 4046.8564224), "ac": ("m²", 4046.8564224),
    **{f"{prefix}iB": ("B", 1024.0**power) for power, prefix in enumerate("KMGT", 1)}, "KB": ("B", 1e3),
    "kph": ("km/h", 1.0), "mph": ("km/h", 1.609344), "m/s": ("km/h", 3.6), "km/h": ("km/h", 1.0),
}  # fmt: skip
_PLAIN = ("%", "‰", "°C", "°F", "°")
_ORDINALS = ("st", "nd", "rd", "th", "er", "re", "e", "º", "ª")


class Amount(NamedTuple):
    """A number with its unit, "" for none; `is_known`: whether the unit is one of a table."""

    number: float
    unit: str
    is_known: bool = True


def folded_digits(text: str) -> str:
    """Return a text with digits and signs of other scripts as ASCII.

    >>> folded_digits("١٢٣ kg"), folded_digits("１２")
    ('123 kg', '12')
    """
    if _OTHER_DIGIT.search(text) is None:
        return text
    digits = (str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    return "".join(digits).replace("٫", ".").replace("٬", ",").replace("％", "%")


def decimal_of(texts: Iterable[str], otherwise: str = ".", is_column: bool = True) -> str:
    """Return the decimal sign of the numbers of a column, "." or ","; `otherwise` if none decides.

    One sign before other than three digits, or after another sign, is decimal; one that is repeated, or before another
    sign, groups thousands. So does the only sign of a column, before three digits each time, if all numbers without it
    are below a thousand. `is_column`: False for numbers of several columns, where only single numbers prove a sign.

    >>> decimal_of(["1.200", "3,5"]), decimal_of(["1.234.567"]), decimal_of(["1.200", "12.000", "800"])
    (',', ',', ',')
    >>> decimal_of(["1,200", "15,300"]), decimal_of(["1.200", "12.000", "8.500"])
    ('.', '.')
    """
    listed = list(texts)
    if not any("." in text or "," in text for text in listed):
        return otherwise
    matches = [match for text in listed if (match := _AMOUNT.fullmatch(_IN_BRACKETS.sub(r"\1\2\3", text)))]
    numbers = [match["number"] for match in matches]
    votes = [sign for match in matches if (sign := match["dash"] or _decimal_in(match["number"]))]
    if votes:
        return "," if votes.count(",") > votes.count(".") else "."
    plain = [number for number in numbers if number.isdigit()]
    groups = is_column and sum("." in number for number in numbers) > 1 and plain and max(map(len, plain)) <= 3
    return "," if groups else otherwise


def _decimal_in(number: str) -> str:
    """Return the decimal sign that a number proves, "" for none."""
    digits = _GROUPS.sub("", number)
    last = max(digits.rfind("."), digits.rfind(","))
    if last < 0:
        return ""
    sign, other = digits[last], "," if digits[last] == "." else "."
    if digits.count(sign) > 1:
        return other
    if other in digits or len(digits) != len(number) or len(digits) - last != 4 or last > 3 or digits[0] == "0":
        return sign
    return ""


def amount_of(text: str, decimal: str = ".") -> Amount | None:
    """Return the number that a text is, None for another text; `decimal`: the decimal sign where both are possible.

    A number with leading zeros is an identifier, and an ordinal ("3rd") no number.

    >>> amount_of("1.234,50 €"), amount_of("$(1,200)"), amount_of("12 km"), amount_of("007"), amount_of("3rd")
    (Amount(number=1234.5, unit='EUR', is_known=True), Amount(number=-1200.0, unit='USD', is_known=True), \
Amount(number=12.0, unit='km', is_known=True), None, None)
    """
    if _PLAIN_NUMBER.fullmatch(text):
        return Amount(float(text), "")
    in_brackets = _IN_BRACKETS.fullmatch(text)
    match = _AMOUNT.fullmatch("".join(in_brackets.groups()) if in_brackets else text)
    if match is None:
        return None
    number = _number(match["number"], match["dash"] or decimal)
    if number is None:
        return None
    unit = _unit(match)
    if unit is None:
        return None
    scale, name, is_known = unit
    signs = (match["sign"], match["second"], match["after"])
    is_negative = bool(in_brackets) or any(sign in ("-", "−", "–") for sign in signs if sign)
    number *= scale * 10.0 ** int(match["power"] or 0)
    return Amount(-number if is_negative else number, name, is_known)


def _number(written: str, decimal: str) -> float | None:
    sign = _decimal_in(written) or decimal
    digits = _GROUPS.sub("", written).replace("," if sign == "." else ".", "").replace(sign, ".")
    return None if digits[0] == "0" and digits[1:2].isdigit() else float(digits)


def _unit(match: re.Match[str]) -> tuple[float, str, bool] | None:
    """Return scale and unit of a number, and whether the unit is known; None if the text after it is no unit."""
    before, words, scale = (match["before"] or "").casefold(), (match["rest"] or "").split(), 1.0
    if words and (factor := _scale(words[0], match["space"], before or "".join(words[1:2]))):
        scale, words = factor, words[1:]
    unit = " ".join(words)
    if before:
        return None if unit else (scale, _SIGNS.get(before, before.upper().rstrip(".")), True)
    if not unit:
        return scale, "", True
    folded = unit.casefold()
    if _IS_CURRENCY.fullmatch(folded):
        return scale, _SIGNS.get(folded, folded.upper().rstrip(".")), True
    unit = unit.rstrip(".").replace("^", "").replace("m2", "m²").replace("m3", "m³")
    if unit in _units() or unit in _PLAIN:
        return None if not match["space"] and folded in _ORDINALS else (scale, unit, True)
    if len(words) > 2 or not all(part[0].isalpha() for part in words) or folded.split()[0] in _ORDINALS:
        return None
    return scale, folded if len(folded) > 2 else unit, False


def _scale(word: str, space: str, beside: str) -> float:
    """Return the scale that a word is, 0 for none; a short one only at the number, or beside a currency."""
    folded = word.casefold()
    if len(folded) > 2 or not folded.isascii() or _IS_CURRENCY.fullmatch(beside.casefold()):
        return _SCALES.get(folded, 0.0)
    return _SCALES[folded] if not space and word in ("k", "K", "M", "bn") else 0.0


@cache
def _units() -> dict[str, tuple[str, float]]:
    """Return dimension and size of each unit."""
    metric = {f"{prefix}{unit}": (unit.replace("L", "l"), f) for unit in _METRIC for prefix, f in _PREFIXES.items()}
    return metric | _OTHER


def conversion(unit: str, other: str) -> float | None:
    """Return the factor from one unit to another, 1 if one has none; None if they are not of one dimension.

    >>> conversion("km", "m"), conversion("", "km"), conversion("km", "kg"), conversion("EUR", "USD")
    (1000.0, 1.0, None, None)
    """
    if unit == other or not unit or not other:
        return 1.0
    first, second = _units().get(unit), _units().get(other)
    return first[1] / second[1] if first and second and first[0] == second[0] else None
