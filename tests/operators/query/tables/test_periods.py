"""Questions over tables whose rows hold for a time: files through an index."""

from pathlib import Path

import openpyxl
import pytest

from graphwright import Index

FILES = {
    "hosting.csv": "Plan,Monthly price,Valid from,Valid until\n"
    "Nimbus,12 EUR,2020-01-01,2021-12-31\nNimbus,14 EUR,2022-01-01,2023-06-30\nNimbus,17 EUR,2023-07-01,\n"
    "Cirrus,31 EUR,2019-05-01,2022-12-31\nCirrus,35 EUR,2023-01-01,\n",
    "wachen.md": "# Wachen\n\n| Wache | Leitung | ab | bis |\n|---|---|---|---|\n"
    "| Nordtor | Ines Kolb | 01.04.2015 | 30.09.2019 |\n| Nordtor | Jan Wirth | 01.10.2019 | heute |\n"
    "| Hafen | Rosa Lenz | 01.02.2014 | 31.12.2020 |\n| Hafen | Uwe Brandt | 01.01.2021 | heute |\n",
}
EVENTS = {
    "wardens.csv": "hut,warden,from,until\nAlm,Ines Kolb,2015-04-01,2019-09-30\nAlm,Jan Wirth,2019-10-01,2022-03-31\n"
    "Alm,Uwe Brandt,2022-04-01,\nTor,Rosa Lenz,2014-02-01,2020-12-31\nTor,Mia Falk,2021-01-01,\n",
    "events.csv": "event,date,cost\nGreat Flood,2018-07-02,12000\nNew Roof,2021-05-15,30000\n",
}
SHEET = [
    ("Line", "Fare", "Effective"), ("Blue", "2.10", "2019-03-01"), ("Blue", "2.40", "2021-03-01"),
    ("Blue", "2.90", "2023-09-01"), ("Red", "1.80", "2018-01-01"), ("Red", "1.95", "2022-06-01"),
]  # fmt: skip


@pytest.fixture(scope="module")
def periods(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("periods")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    book = openpyxl.Workbook()
    for row in SHEET:
        book.active.append(row)
    book.save(folder / "fares.xlsx")
    index = Index.create(folder / "index")
    index.add([folder / name for name in (*FILES, "fares.xlsx")])
    return index


@pytest.mark.parametrize(
    ("question", "answer", "shown"),
    [
        ("What was the monthly price of Nimbus in March 2021?", "12 EUR", "Valid until 2021-12-31"),
        ("What is the current monthly price of Nimbus?", "17 EUR", "Valid from 2023-07-01"),
        ("Who was Leitung of Nordtor on 3 May 2018?", "Ines Kolb", "bis 30.09.2019"),
        ("Who is the Leitung of Hafen now?", "Uwe Brandt", "ab 01.01.2021"),
        ("What was the fare of the Blue line in 2022?", "2.40", "Effective 2021-03-01"),
        ("What is the current fare of the Red line?", "1.95", "Effective 2022-06-01"),
    ],
)
def test_ask_at_a_date_over_periods_answers_from_the_row_that_holds(
    periods: Index, question: str, answer: str, shown: str
) -> None:
    found = periods.ask(question).answer
    assert found is not None
    assert found.short == (answer,)
    assert shown in found.text
    assert answer in found.citations[0].text


def test_ask_as_of_a_date_over_periods_answers_from_the_row_that_held(periods: Index) -> None:
    found = periods.ask("What is the monthly price of Cirrus?", filter={"as_of": "2021-08-01"}).answer
    assert found is not None
    assert found.short == ("31 EUR",)


def test_query_with_a_date_over_periods_takes_the_fields_of_rows_that_hold(periods: Index) -> None:
    assert periods.query("hosting.[Monthly price]@2022-03").names == ("14 EUR", "31 EUR")
    assert periods.query("count(hosting where has [Valid from]@2023)").value == 3


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was warden of Alm before the Great Flood?", "Ines Kolb"),
        ("Who was warden of Tor after the new roof?", "Mia Falk"),
        ("Who was warden of Alm before Jan Wirth?", "Ines Kolb"),
        ("Who was warden of Alm after Jan Wirth?", "Uwe Brandt"),
    ],
)
def test_ask_before_or_after_an_event_over_periods_takes_its_date(tmp_path: Path, question: str, answer: str) -> None:
    for name, text in EVENTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    index = Index.create(tmp_path / "index")
    index.add([tmp_path / name for name in EVENTS])
    found = index.ask(question).answer
    assert found is not None
    assert found.short == (answer,)
