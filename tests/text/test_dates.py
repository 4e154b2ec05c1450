"""Dates inside texts."""

from __future__ import annotations

import pytest

from graphwright.text.dates import date_text, first_day


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Le 3 août 2025 à 14h05, Anna a écrit :", "2025-08-03 14:05"),
        ("Mon, 3 May 2021 09:00:07 +0200", "2021-05-03 09:00:07"),
        ("2. märz 2026", "2026-03-02"),
        ("15 de enero de 2024", "2024-01-15"),
        ("12 rooms 2024", ""),
        ("31.04.2024", ""),
        ("7/4/69", "1969-04-07"),
    ],
)
def test_date_text_has_one_form(text: str, expected: str) -> None:
    assert date_text(text) == expected


def test_first_day_of_several_is_the_first_in_the_text() -> None:
    match = first_day("Built 12 rooms 2020; opened May 4, 2021, closed on 2022-01-03.")
    assert match is not None and match[0] == "May 4, 2021"
