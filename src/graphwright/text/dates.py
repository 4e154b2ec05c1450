"""Dates and times, in files and inside texts: ISO, with points or slashes, with names of months in 23 languages."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from graphwright.text.words import fold_accents

_NAMES = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
jänner feber märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
gener febrer març abril maig juny juliol agost setembre octubre novembre desembre
ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
januari februari maart april mei juni juli augustus september oktober november december
januari februari mars april maj juni juli augusti september oktober november december
januar februar marts april maj juni juli august september oktober november december
januar februar mars april mai juni juli august september oktober november desember
styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
leden únor březen duben květen červen červenec srpen září říjen listopad prosinec
ledna února března dubna května června července srpna září října listopadu prosince
január február marec apríl máj jún júl august september október november december
januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra
január február március április május június július augusztus szeptember október november december
tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu
ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
січень лютий березень квітень травень червень липень серпень вересень жовтень листопад грудень
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
януари февруари март април май юни юли август септември октомври ноември декември
ιανουάριος φεβρουάριος μάρτιος απρίλιος μάιος ιούνιος ιούλιος αύγουστος σεπτέμβριος οκτώβριος νοέμβριος δεκέμβριος
ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου νοεμβρίου δεκεμβρίου
januari februari maret april mei juni juli agustus september oktober november desember
"""
_WRITTEN_MONTHS = {"mrt": 3, "agt": 8, "mar": 3, "lis": 11}
"""Abbreviations that are no beginning of a name, or of two months in two languages."""
_LETTERS = 3  # of an abbreviation; a longer beginning of a name may be another word: "list" of Polish "listopad"
_LONGER = """sept janv févr febr juil szept márc tammi helmi maalis huhti touko kesä heinä syys marras joulu
февр сент нояб квіт трав черв серп жовт лист груд ιουν ιουλ""".split()  # those of the Unicode CLDR with more letters


def month_of(word: str) -> int:
    """Return the month, from 1, that a word is the name of, or an abbreviation in any language; 0 for none.

    >>> month_of("March"), month_of("Sept."), month_of("août"), month_of("мая"), month_of("Jui"), month_of("list")
    (3, 9, 8, 5, 0, 0)
    """
    folded = fold_accents(word.rstrip(".").casefold())
    return _months().get(folded.removesuffix("ta") if folded.endswith("kuuta") else folded, 0)  # Finnish partitive


@cache
def _months() -> dict[str, int]:
    rows = [fold_accents(row.casefold()).split() for row in _NAMES.strip().splitlines()]
    names = {name: month for row in rows for month, name in enumerate(row, 1)}
    longer, months = [fold_accents(name) for name in _LONGER], dict[str, set[int]]()
    for name, month in names.items():
        for part in (name[:_LETTERS], *longer):
            if name.startswith(part):
                months.setdefault(part, set()).add(month)
    abbreviations = {part: min(of) for part, of in months.items() if len(of) == 1}
    return abbreviations | names | _WRITTEN_MONTHS


DAY = 1 / 372  # length of a day in years; a year has twelve months of 31 days, so that bounds of periods are exact
_TIME = (
    r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:[.,]\d+)?)?\s?(?P<half>[ap]\.?m\.?)?"
    r"\s?(?P<zone>z|utc|gmt|[+-]\d{2}:?\d{2})?(?: ?\([a-z]{2,5}\))?"
)
_NUMBERS = re.compile(r"(?P<first>\d{1,2})(?P<sign>[./-])\s?(?P<second>\d{1,2})(?P=sign)\s?(?P<year>\d{4}|\d{2})")
_ISO = re.compile(
    r"(?P<year>[+-]?\d{4,6})(?:[-/](?P<month>\d{1,2})|(?P<sign>[-/.])(?P<m>\d{1,2})(?P=sign)(?P<day>\d{1,2}))"
)
_MONTH_OF_YEAR = re.compile(r"(?P<month>\d{1,2})/(?P<year>\d{4})")
_CHARACTERS = re.compile(r"(?P<year>\d{1,4})[年년] ?(?:(?P<month>\d{1,2})[月월] ?(?:(?P<day>\d{1,2})[日일])?)?")
_QUARTER = re.compile(r"(?:q(?P<a>[1-4])[ /-]?(?P<year>\d{4})|(?P<other>\d{4})[ /-]?q(?P<b>[1-4]))")
_YEAR = re.compile(r"(?:c\. ?|ca\.? ?|~ ?)?(?P<year>[12]\d{3})")
_DECADE = re.compile(r"(\d{3}0)['’]?s")
_ERA = re.compile(
    r"(?P<year>\d{1,5}) ?(?P<era>b\.?c\.?(?:e\.?)?|v\. ?(?:chr\.?|u\. ?z\.?)|av\. ?j\.?-c\.?|a\.? ?c\.?|до н\. ?э\.?"
    r"|c\.?e\.?|a\.?d\.?|n\. ?chr\.?|ap\. ?j\.?-c\.?|d\.? ?c\.?|н\. ?э\.?)"
)
_AFTER = ("c", "ad", "a.d", "n", "ap", "d", "н")  # beginnings of eras that count forwards
_WRITTEN = re.compile(r"\d+|[^\W\d_]+\.?|[^\w\s]|_")
_SIGNS = ",.-/º'’"
_JOINING = 3  # letters of a word between the parts of a date, at most: "3rd", "de", "of", "1er"
_WITH_TIME = re.compile(rf"(?P<date>.+?)(?:[t ,]|, | at | um )\s?{_TIME}", re.DOTALL)


class Period(NamedTuple):
    """A period in years: its beginning, and the moment after its end."""

    low: float
    high: float


def period_of(text: str, day_first: bool = True) -> Period | None:
    """Return the period that a text in lower case denotes, a year, a month, a day or a moment; None for another text.

    `day_first`: whether 3/5/2024 is the third of May. A year alone has four digits from 1000 on. A month or a day 00 is
    unknown, as Wikidata writes it.

    >>> period_of("may 2024") == Period(2024 + 4 / 12, 2024 + 5 / 12), period_of("44 bc")
    (True, Period(low=-43.0, high=-42.0))
    >>> period_of("3. märz 2024") == period_of("2024-03-03") == period_of("3/3/24"), period_of("13/13/2024")
    (True, None)
    >>> period_of("1786-05-00t00:00:00z") == period_of("1786-05"), period_of("1786-00-00t09:30:00z")
    (True, None)
    """
    date = _date_of(text, day_first)
    if date is not None:
        return date
    match = _WITH_TIME.fullmatch(text) if ":" in text else None
    day = _date_of(match["date"], day_first) if match else None
    return _moment(day, match) if match and day else None


def day_first_of(texts: Iterable[str]) -> bool | None:
    """Return whether dates of a column begin with the day, by a number above 12; None if none decides."""
    for text in texts:
        if (match := _NUMBERS.match(text)) and match["sign"] != ".":
            first, second = int(match["first"]), int(match["second"])
            if (first > 12) != (second > 12):
                return first > 12
    return None


def _date_of(text: str, day_first: bool) -> Period | None:
    if match := _NUMBERS.fullmatch(text):
        first, second = int(match["first"]), int(match["second"])
        day, month = (first, second) if day_first or match["sign"] == "." else (second, first)
        if day <= 12 < month and match["sign"] != ".":  # the only order that is a date
            day, month = month, day
        return _period(full_year(match["year"]), month, day)
    for pattern in (_ISO, _MONTH_OF_YEAR, _CHARACTERS):
        if match := pattern.fullmatch(text):
            parts = {name: int(value) for name, value in match.groupdict().items() if value and name != "sign"}
            return _period(parts["year"], parts.get("month", parts.get("m", 0)), parts.get("day", 0))
    if match := _QUARTER.fullmatch(text):
        first = 3 * int(match["a"] or match["b"]) - 2
        year = int(match["year"] or match["other"])
        return Period(_start(year, first, 1), _start(year, first + 3, 1))
    if match := _YEAR.fullmatch(text):
        return _period(int(match["year"]))
    if match := _DECADE.fullmatch(text):
        return Period(float(match[1]), float(match[1]) + 10)
    if match := _ERA.fullmatch(text):
        year = int(match["year"])
        return _period(year if match["era"].startswith(_AFTER) else 1 - year)
    return _written(text)


def full_year(digits: str) -> int:
    """Return a year; one of two digits is from 1969 to 2068, as in POSIX."""
    return int(digits) if len(digits) > 2 else int(digits) + (1900 if int(digits) > 68 else 2000)


def _written(text: str) -> Period | None:
    """Return the period of a date with the name of a month: one name, a year, perhaps a day, and short words."""
    parts = _WRITTEN.findall(text)
    words = [part for part in parts if part[0].isalpha()]
    months, numbers = [m for m in map(month_of, words) if m], [part for part in parts if part.isdigit()]
    if len(months) != 1 or not 1 <= len(numbers) <= 2:
        return None
    others = [word for word in words[not numbers or words[0] == parts[0] :] if not month_of(word)]
    signs = [part for part in parts if not part[0].isalnum()]
    if any(len(word) > _JOINING for word in others) or not set(signs) <= set(_SIGNS):
        return None
    years, days = [n for n in numbers if len(n) > 2], [n for n in numbers if len(n) <= 2]
    if not years and len(days) == 2 and "-" in signs:  # 3-May-24
        days, years = days[:1], [str(full_year(days[1]))]
    return _period(int(years[0]), months[0], int(days[0]) if days else 0) if len(years) == 1 else None


def _period(year: int, month: int = 0, day: int = 0) -> Period | None:
    """Return the period of a year, a month or a day; None for one that no calendar has."""
    if not month:
        return Period(float(year), float(year + 1)) if not day else None
    if month > 12 or day > (monthrange(year, month)[1] if 1 <= year <= 9999 else 31):
        return None
    if not day:
        return Period(_start(year, month, 1), _start(year, month + 1, 1))
    return Period(_start(year, month, day), _start(year, month, day + 1))


def _start(year: int, month: int, day: int) -> float:
    """Return the beginning of a day in years."""
    months = month - 1 + (day - 1) // 31
    return year + months // 12 + (months % 12) / 12 + ((day - 1) % 31) * DAY


def day_at(years: float) -> str:
    """Return the day, in ISO 8601, of a time in years as `Period` counts them: months and days of equal lengths.

    >>> day_at(2019.9999)
    '2019-12-31'
    """
    year, months = int(years), years % 1 * 12
    month = int(months) + 1
    return f"{year:04d}-{month:02d}-{min(int(months % 1 * 31) + 1, monthrange(year, month)[1]):02d}"


def day_in_words(text: str) -> str:
    """Return the day that a text in ISO 8601 begins with, in English words; another text unchanged.

    >>> day_in_words("2025-06-10 08:00"), day_in_words("last Monday")
    ('10 June 2025', 'last Monday')
    """
    try:
        day = datetime.fromisoformat(text[:10])
    except ValueError:
        return text
    return f"{day.day} {_NAMES.split()[day.month - 1].capitalize()} {day.year}"


def _moment(day: Period, match: re.Match[str]) -> Period | None:
    """Return the minute or second of a day, else None; midnight is how programs write a day without a time."""
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if match["second"] and not (hour or minute or second):
        return day
    if day.high - day.low > 2 * DAY:
        return None
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].startswith("p") else 0)
    zone = match["zone"] or ""
    if zone[:1] in ("+", "-"):
        shift = int(zone[1:3]) * 60 + int(zone[-2:])
        minute -= shift if zone[0] == "+" else -shift
    seconds = hour * 3600 + minute * 60 + second
    length = 1 if match["second"] else 60
    return Period(day.low + seconds / 86400 * DAY, day.low + (seconds + length) / 86400 * DAY)


_NAME = r"(?P<name>[^\W\d_]{3,}\.?)"
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d)",
        r"(?<!\d)(?P<year>\d{4})[年년] ?(?P<month>\d{1,2})[月월] ?(?P<day>\d{1,2})[日일]",
        r"(?<![\d.])(?P<first>\d{1,2})(?P<mark>[./-])\s?(?P<second>\d{1,2})(?P=mark)\s?(?P<year>\d{4}|\d{2})(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er|º)?[ -](?:de )?{_NAME}(?:,| de)?[ -](?P<year>\d{{4}})(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})-{_NAME}-(?P<year>\d{{2}})(?!\d)",
        rf"\b{_NAME} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})(?!\d)",
    )
]
HALVES = {  # whether the hours after the name of a part of the day are before noon (a) or after (p)
    "上午": "a", "午前": "a", "오전": "a", "凌晨": "a", "清晨": "a", "早上": "a", "下午": "p", "午後": "p", "오후": "p",
    "中午": "p", "晚上": "p",
}  # fmt: skip
_CLOCK = re.compile(
    rf"(?:(?P<noon>{'|'.join(HALVES)})\s?)?"
    r"(?<![\d.:])(?P<hour>\d{1,2})(?::|(?:\.|h)(?=\d\d\b))(?P<minute>\d\d)(?:[:.](?P<second>\d\d))?(?!\d)"
    r"\s*(?P<half>[ap]\.?\s?m\b|[صم]\b)?",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"(?P<seconds>1\d{9})(?:\.\d+|\d{3})?")  # seconds, with a fraction or in thousandths


def first_day(text: str) -> re.Match[str] | None:
    """Return the first date in a text that names a day, with its parts as groups; None for none.

    >>> first_day("Date: Mon, 3 May 2021 09:00")[0], first_day("since 1999"), first_day("room 3 of 2021")
    ('3 May 2021', None, None)
    """
    matches = (match for pattern in _DATES for match in pattern.finditer(text))
    days = (match for match in matches if month_of(match.groupdict().get("name", "May")))
    return min(days, key=lambda match: match.start(), default=None)


def date_text(text: str, day_first: bool | None = None) -> str:
    """Return the first date in a text, with the time of day that follows; "" for none.

    `day_first`: the order of 05/04/24; by default the day is first, unless the time is one of twelve hours. Seconds
    since 1970 are in UTC; any other time is as written.

    >>> date_text("14.05.26, 18:02:11"), date_text("5/4/24, 6:02 PM"), date_text("1767200400.000100")
    ('2026-05-14 18:02:11', '2024-05-04 18:02', '2025-12-31 17:00')
    >>> date_text("Am Di., 3. März 2026 um 11:00 Uhr"), date_text("2024-05-01T09:30:00Z"), date_text("room 12.5")
    ('2026-03-03 11:00', '2024-05-01 09:30', '')
    """
    text = text.strip()
    if epoch := _EPOCH.fullmatch(text):
        return _written_date(datetime.fromtimestamp(int(epoch["seconds"]), UTC), True)
    match = first_day(text)
    if match is None:
        return ""
    clock = _CLOCK.search(text, match.end(), match.end() + 20) or _CLOCK.search(text, 0, match.start())
    parts = match.groupdict()
    if "first" in parts:
        swapped = _swapped(parts, day_first, clock)
        parts["day"], parts["month"] = (parts["second"], parts["first"])[:: -1 if not swapped else 1]
    month = month_of(parts["name"]) if "name" in parts else int(parts["month"])
    try:
        date = datetime(full_year(parts["year"]), month, int(parts["day"]), *_time(clock))
    except ValueError:
        return ""
    return _written_date(date, clock is not None)


def _swapped(parts: dict[str, str], day_first: bool | None, clock: re.Match[str] | None) -> bool:
    """Return whether a date in numbers begins with the month."""
    first, second = int(parts["first"]), int(parts["second"])
    if max(first, second) > 12:
        return second > 12
    if day_first is not None:
        return not day_first
    return parts["mark"] == "/" and clock is not None and clock["half"] is not None


def _time(clock: re.Match[str] | None) -> tuple[int, int, int]:
    if clock is None:
        return 0, 0, 0
    hour, half = int(clock["hour"]), (clock["half"] or HALVES.get(clock["noon"], "")).lower()
    if half:
        hour = hour % 12 + (12 if half.startswith(("p", "م")) else 0)
    return hour, int(clock["minute"]), int(clock["second"] or 0)


def _written_date(date: datetime, timed: bool) -> str:
    return f"{date:%Y-%m-%d %H:%M:%S}".removesuffix(":00") if timed else f"{date:%Y-%m-%d}"
