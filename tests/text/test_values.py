"""Literals: dates and numbers."""

import pytest

from graphwright.text.values import value_of


def test_dates_in_different_forms_are_equal() -> None:
    forms = ["1940-05-22", "22 May 1940", "May 22, 1940", "22nd May 1940", "22.05.1940", "1940-05-22T10:00:00Z"]
    values = [value_of(text) for text in forms]
    assert len(set(values)) == 1 and values[0] is not None and values[0].kind == "date"


def test_dates_are_ordered() -> None:
    texts = ["44 BC", "851", "1492 CE", "1940", "1940-05-22", "May 1999", "2001-02-03"]
    amounts = [value.amount for text in texts if (value := value_of(text)) is not None]
    assert len(amounts) == len(texts) and amounts == sorted(amounts)


@pytest.mark.parametrize(
    ("text", "amount"), [("453 km", 453), ("1,250,000", 1250000), ("-3.5", -3.5), ("$5.2 million", 5.2e6), ("40%", 40)]
)
def test_numbers_may_have_units(text: str, amount: float) -> None:
    value = value_of(text)
    assert value is not None and value.kind == "number" and value.amount == amount


@pytest.mark.parametrize("text", ["Graz", "", "PG-13", "1.2.3", "3rd Rock", "2001: A Space Odyssey", "13/45/1999"])
def test_other_texts_are_not_values(text: str) -> None:
    assert value_of(text) is None
