"""Copies of texts: equal sentences under other headers and dates, and nothing else."""

import pytest

from graphwright.text.copies import copy_keys, is_copy, is_part
from graphwright.text.words import words

BODIES = [
    "The crane at quay 7 was inspected by Ida Holm. It lifts 40 tonnes. The next inspection is due in March.",
    "Die Brücke in Graz wurde 1901 von Max Huber gebaut. Sie ist 120 Meter lang.",
    "次の会議は火曜日に大阪で開かれます。担当は田中さんです。資料は金曜日までに送ってください。",
    "Насос в зале семь проверен в мае. Следующая проверка будет в августе.",
    "اجتماع اللجنة القادم يوم الثلاثاء في القاهرة. المسؤول هو أحمد سالم.",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("before", ["", "Printed: 2024-05-03\n\n", "Harbour Authority\nCopy 3\n\n"])
@pytest.mark.parametrize("after", ["", "\n\nPage 4", "\n\n3 May 2024"])
def test_is_copy_other_header_and_footer_is_a_copy(body: str, before: str, after: str) -> None:
    assert is_copy(body, before + body + after) and is_copy(before + body + after, body.upper())
    assert set(copy_keys(body)) & set(copy_keys(before + body + after))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ida Holm checks the crane. It lifts 40 tonnes.", "Ida Holm checks the crane. It lifts 50 tonnes."),
        ("The fee is due in May. It is not refunded.", "The fee is due in May. It is refunded."),
        (
            "The lease begins in May. The rent is 400 euros. It ends in June next year.",
            "The lease begins in May. The rent is 500 euros. It ends in June next year.",
        ),
        ("Yes.", "Yes."),
        (f"{BODIES[0]} It has two motors.", f"{BODIES[0]} It has three motors."),
        (f"{BODIES[0]}\n\nIt has two motors.", f"{BODIES[0]}\n\nIt has three motors."),
        ("Valve 5 is checked every 15 days by crew 1.", "Valve 6 is checked every 18 days by crew 2."),
    ],
)
def test_is_copy_another_statement_is_none(first: str, second: str) -> None:
    assert not is_copy(first, second)


def test_is_copy_question_about_the_header_keeps_both() -> None:
    first, second = f"Tenant: Ida Holm\n\n{BODIES[0]}", f"Tenant: Per Lund\n\n{BODIES[0]}"
    assert is_copy(first, second, words("How much does the crane lift?"))
    assert not is_copy(first, second, words("Who is the tenant?"))


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    "line", ["Entwurf. Stand: 4. Mai 2021.", "Rev. 3. Issued 2022-11-08. For the crew.", "受控文件。2023年3月5日。"]
)
def test_is_copy_header_of_several_sentences_with_a_date_is_a_copy(body: str, line: str) -> None:
    assert is_copy(f"{line}\n\n{body}", f"Final. Sent on 9 June 2024.\n{body}")
    assert is_copy(f"{line}\n\n{body}", f"{line[:-1]} (4 July 1999)\n\n{body}")
    assert is_copy(f"{body}\n\n{line}", body) and not is_copy(f"{line} {body}", body)
    assert not is_copy(f"{line}\n\n{body}", body, words(line))


@pytest.mark.parametrize("body", BODIES)
def test_is_part_text_that_is_cut_at_other_places_has_it(body: str) -> None:
    assert is_part(f"Copy 3\n\n{body}", f"Before it came another sentence. {body} And one follows.")
    assert not is_part(f"{body} Before it came another sentence.", body)
    assert not is_part(body, BODIES[0] if body != BODIES[0] else BODIES[1])
