"""Values of columns: numbers, dates and units, as the whole column decides.

Values inside running text, and differences of two values.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.text.values import DATE, NUMBER, TEXT, difference, is_value, typed_values, value_of, values_in


def numbers(texts: list[str]) -> list[float]:
    values = typed_values(texts)
    assert set(values.kind.tolist()) == {NUMBER}
    return [round(low, 6) for low in values.low.tolist()]


def units(texts: list[str]) -> list[str]:
    values = typed_values(texts)
    return [values.units[unit] for unit in values.unit]


def test_dates_in_different_forms_are_equal() -> None:
    forms = ["1940-05-22", "22 May 1940", "May 22, 1940", "22nd May 1940", "22.05.1940", "1940-05-22T00:00:00Z"]
    forms += ["22. Mai 1940", "22 mai 1940", "22 de mayo de 1940", "22 мая 1940", "1940年5月22日", "22-May-1940"]
    values = [value_of(text) for text in forms]
    assert len(set(values)) == 1 and values[0] is not None and values[0].kind == "date"


def test_dates_are_ordered() -> None:
    texts = ["44 BC", "851", "1492 CE", "1940", "1940-05-22", "May 1999", "2001-02-03"]
    amounts = [value.amount for text in texts if (value := value_of(text)) is not None]
    assert len(amounts) == len(texts) and amounts == sorted(amounts)


@given(st.dates(), st.dates())
def test_days_are_ordered_as_in_the_calendar(first: object, second: object) -> None:
    low = typed_values([f"{first}", f"{second}"]).low
    assert (low[0] < low[1]) == (str(first) < str(second))


def test_periods_meet_without_a_gap() -> None:
    values = typed_values(["May 2024", "June 2024", "2024-05-31", "2024-06-01", "Q2 2024", "Q3 2024"])
    assert (values.high[::2] == values.low[1::2]).all()


def test_moments_of_a_day_are_ordered() -> None:
    texts = ["2024-05-01T08:00:00+02:00", "2024-05-01 07:00", "2024-05-01 7:30 PM", "1 May 2024, 19:31"]
    values = typed_values(texts)
    assert (np.diff(values.low) > 0).all() and (values.kind == DATE).all()
    day = typed_values(["2024-05-01"])
    assert (values.low >= day.low[0]).all() and (values.high <= day.high[0]).all()


@pytest.mark.parametrize(
    ("texts", "amounts"),
    [
        (["1.234,50", "1.200"], [1234.5, 1200]),
        (["1,234.50", "1,200"], [1234.5, 1200]),
        (["12 345", "1\u202f200,5"], [12345, 1200.5]),
        (["1'234.5", "2’000"], [1234.5, 2000]),
        (["1.200", "15.000", "800"], [1200, 15000, 800]),
        (["(1,200)", "-5", "−7", "+3"], [-1200, -5, -7, 3]),
        (["12,34,567", "5"], [1234567, 5]),
        (["٢٠٢٤", "１２"], [2024, 12]),
        (["$5.2 million", "3 Mio. €", "12k", "12万"], [5.2e6, 3e6, 12e3, 12e4]),
        (["1:23:45", "4:05"], [5025, 245]),
        (["14:30", "9:15"], [52200, 33300]),
        (["($1,200.50)", "$(75.10)", "-$3", "EUR -1.200,00", "12,00-"], [-1200.5, -75.1, -3, -1200, -12]),
        (["%12", "% 7,5", "(3,1 %)"], [12, 7.5, -3.1]),
    ],
)
def test_column_decides_how_its_numbers_are_read(texts: list[str], amounts: list[float]) -> None:
    assert numbers(texts) == amounts


def test_column_decides_order_of_day_and_month() -> None:
    american = typed_values(["3/25/2024", "1/2/2024"])
    european = typed_values(["25/3/2024", "1/2/2024"])
    assert american.low[0] == european.low[0] and american.low[1] < european.low[1]


def test_date_of_one_possible_order_is_read_in_it() -> None:
    assert typed_values(["31/12/2025"]).low[0] == typed_values(["12/31/2025"]).low[0]
    assert found("since 12/31/2025") == [("12/31/2025", "")]
    mixed = typed_values(["31/12/2025", "2/1/2025", "12/31/2025"])
    assert mixed.low[0] == mixed.low[2] and mixed.low[1] < 2025.01


def test_currencies_of_other_countries_have_one_name() -> None:
    assert units(["1,500円", "¥300"]) == ["JPY", "JPY"]
    assert units(["12,00 zł", "3 PLN"]) == ["PLN", "PLN"]
    assert units(["R$ 5,00", "120 Kč", "8元", "900원"]) == ["BRL", "CZK", "CNY", "KRW"]


def test_units_of_one_dimension_become_the_most_frequent() -> None:
    assert numbers(["12 km", "800 m", "3 km"]) == [12, 0.8, 3] and set(units(["12 km", "800 m", "3 km"])) == {"km"}
    assert units(["€ 12", "12 EUR", "$5", "5 %", "3 people", "4 people"]) == ["EUR", "EUR", "USD", "%", *["people"] * 2]


def test_year_is_number_except_in_column_of_dates() -> None:
    assert typed_values(["2000", "1998"]).kind.tolist() == [NUMBER] * 2
    assert typed_values(["2000", "May 2001"]).kind.tolist() == [DATE] * 2
    assert typed_values(["2000", "12.5", "May 2001"]).kind.tolist() == [NUMBER, NUMBER, DATE]


def test_unknown_days_and_early_years_are_periods_in_a_column_of_dates() -> None:
    values = typed_values(["-0044", "0742-00-00T00:00:00Z", "0743", "1786-05-00T00:00:00Z", "1786-05-20"])
    assert (values.kind == DATE).all() and (np.diff(values.low) > 0).all() and values.high[1] == values.low[2]


@pytest.mark.parametrize("text", ["true", "yes", "4 Non Blondes", "12 Angry Men", "007", "+43 316 1234", "10.0.0.1"])
def test_names_and_identifiers_stay_texts(text: str) -> None:
    assert typed_values([text, "Graz", "x 2"]).kind.tolist() == [TEXT] * 3 and not is_value(text)


@pytest.mark.parametrize(
    ("text", "amount"), [("453 km", 453), ("1,250,000", 1250000), ("-3.5", -3.5), ("$5.2 million", 5.2e6), ("40%", 40)]
)
def test_numbers_may_have_units(text: str, amount: float) -> None:
    value = value_of(text)
    assert value is not None and value.kind == "number" and value.amount == amount


@pytest.mark.parametrize("text", ["Graz", "", "PG-13", "1.2.3", "3rd Rock", "2001: A Space Odyssey", "13/45/1999"])
def test_other_texts_are_not_values(text: str) -> None:
    assert value_of(text) is None


@given(st.lists(st.text(alphabet="0123456789.,:/- mkE€%()TZMay年", max_size=12), max_size=6))
def test_any_texts_have_values(texts: list[str]) -> None:
    values = typed_values(texts)
    assert len(values.kind) == len(values.low) == len(values.unit) == len(texts)
    assert (values.kind[np.isnan(values.low)] == TEXT).all()


def found(text: str) -> list[tuple[str, str]]:
    return [(text[value.start : value.end], value.value.unit) for value in values_in(text)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("It weighs 1.9 kg and its battery holds 4.0 Ah.", [("1.9 kg", "kg"), ("4.0 Ah", "Ah")]),
        ("Kurt Land (19 February 1913 – 6 July 1997)", [("19 February 1913", ""), ("6 July 1997", "")]),
        ("born June 9, 1956, in Graz", [("June 9, 1956", "")]),
        ("Costs EUR 300 or $1.2 million; 15% off", [("EUR 300", "EUR"), ("$1.2 million", "USD"), ("15%", "%")]),
        ("a 3-day trip", []),
        ("nothing at all", []),
    ],
)
def test_values_in_text_gives_values_with_units(text: str, values: list[tuple[str, str]]) -> None:
    assert found(text) == values


def test_values_in_count_that_may_be_a_year_gives_both() -> None:
    kinds = [value.value.kind for value in values_in("with 1200 seats")]
    assert kinds == ["number", "date"]


@given(st.text(max_size=80))
def test_values_in_any_text_gives_values_in_order_within_it(text: str) -> None:
    starts = [value.start for value in values_in(text)]
    assert starts == sorted(starts) and all(0 <= value.start < value.end <= len(text) for value in values_in(text))


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("2 km, 500 m", 1.5),
        ("3 EUR, 2 USD", None),
        ("3 seats, 1 seat", 2.0),
        ("3 seats, 2 kg", None),
        ("2004, 2001", 3.0),
        ("4 May 2012, 2012", None),
        ("2012, 2012", 0.0),
        ("12 May 2012, 12 kg", None),
    ],
)
def test_difference_of_two_values_is_none_where_they_do_not_compare(text: str, apart: float | None) -> None:
    a, b = (value.value for value in values_in(text))
    assert difference(a, b) == (None if apart is None else pytest.approx(apart))


@pytest.mark.parametrize(
    ("texts", "bounds"),
    [
        (["812 kg (1,790 lb)", "ca. 900 kg", "1.1 t[4]"], [(812, 812), (900, 900), (1100, 1100)]),
        (["£40–55", "£38", "under £60*"], [(40, 55), (38, 38), (60, 60)]),
        (["1.200–1.400 €", "ab 900 €"], [(1200, 1400), (900, 900)]),
        (["14", "9 (of 12)", "over 20", "11", "7"], [(14, 14), (9, 9), (20, 20), (11, 11), (7, 7)]),
        (["2–3 h", "30 min"], [(2, 3), (0.5, 0.5)]),
        (["約3,000 g", "2 kg"], [(3000, 3000), (2000, 2000)]),
    ],
)
def test_typed_values_number_with_qualifications_is_read(texts: list[str], bounds: list[tuple[float, float]]) -> None:
    values = typed_values(texts)
    assert list(zip(values.low.tolist(), values.high.tolist(), strict=True)) == bounds


@pytest.mark.parametrize("texts", [["3–1", "1–3", "0–2"], ["Room 5", "Room 7"], ["1939–45", "747-800"], ["2 x 4 m"]])
def test_typed_values_scores_and_names_stay_texts(texts: list[str]) -> None:
    assert set(typed_values(texts).kind.tolist()) == {TEXT}
