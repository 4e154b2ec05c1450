"""Names of months in dates, in 23 languages: most of those of Europe, and Indonesian.

They are the full names, in the nominative and, where dates take it, in the genitive; German has those of Austria too. A
beginning of a name that means one month in all languages is an abbreviation of it.
"""

from __future__ import annotations

import unicodedata
from functools import cache

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
_WRITTEN = {"sept": 9, "mrt": 3, "agt": 8, "mar": 3, "lis": 11}
"""Abbreviations that are no beginning of a name, or of two months in two languages."""
_LETTERS = 3  # of an abbreviation, at least


def month_of(word: str) -> int:
    """Return the month, from 1, that a word is the name of, or an abbreviation in any language; 0 for none.

    >>> month_of("March"), month_of("Sept."), month_of("août"), month_of("мая"), month_of("Jui"), month_of("Graz")
    (3, 9, 8, 5, 0, 0)
    """
    folded = _folded(word.rstrip("."))
    return _months().get(folded.removesuffix("ta") if folded.endswith("kuuta") else folded, 0)  # Finnish partitive


@cache
def _months() -> dict[str, int]:
    rows = [[_folded(name) for name in row.split()] for row in _NAMES.strip().splitlines()]
    names = {name: month for row in rows for month, name in enumerate(row, 1)}
    months: dict[str, set[int]] = {}
    for name, month in names.items():
        for end in range(_LETTERS, len(name)):
            months.setdefault(name[:end], set()).add(month)
    abbreviations = {part: min(of) for part, of in months.items() if len(of) == 1}
    return abbreviations | names | _WRITTEN


def _folded(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))
