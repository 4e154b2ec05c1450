"""Comparisons of two things: sides, values, direction, and the answer with its citations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Document, Graph, Index, start
from graphwright.generate import Compare
from graphwright.generate.comparison_heads import best_sides, comparison_heads
from graphwright.generate.comparison_values import names_of_sides, pairs_of, values_of_sides
from graphwright.graph import Ranking
from graphwright.models.protocols import PassageText
from graphwright.operators.state import Answer

TEXTS = {
    "a10.txt": "The A10 drill weighs 1.9 kg and its battery holds 4.0 Ah. It is sold without a charger.",
    "b20.txt": "The B20 drill weighs 2.4 kg. Its battery holds 5.5 Ah and charges in 50 minutes.",
    "halls.txt": "The north hall has 240 seats and costs 300 EUR. The south hall has 180 seats and costs 400 USD.",
    "rooms.txt": "The Garden Room opened on 4 May 2012. The Mill was opened in March 2016.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    made = Index.create(Path(tmp_path_factory.mktemp("comparisons")) / "index")
    made.add([Document(name, text) for name, text in TEXTS.items()])
    return made


def answered(index: Index, question: str) -> Answer:
    answer = index.ask(question).answer
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("question", "short", "values"),
    [
        ("Which drill is lighter, the A10 or the B20?", "A10", ["1.9 kg", "2.4 kg"]),
        ("Which drill is heavier, the A10 or the B20?", "B20", ["1.9 kg", "2.4 kg"]),
        ("Which drill has the larger battery, the A10 or the B20?", "B20", ["4.0 Ah", "5.5 Ah"]),
        ("Is the A10 heavier than the B20?", "no", ["1.9 kg", "2.4 kg"]),
        ("What is the difference in weight between the A10 and the B20?", "0.5 kg", ["1.9 kg", "2.4 kg"]),
        ("Which has fewer seats, the north hall or the south hall?", "south hall", ["240 seats", "180 seats"]),
        ("Which opened first, the Mill or the Garden Room?", "Garden Room", ["March 2016", "4 May 2012"]),
    ],
)
def test_ask_of_a_comparison_gives_side_and_both_values_cited(
    index: Index, question: str, short: str, values: list[str]
) -> None:
    answer = answered(index, question)
    assert answer.short == (short,) and answer.found and answer.verified
    assert all(value in answer.text for value in values)
    assert all(any(value in citation.text for citation in answer.citations) for value in values)


def test_ask_where_the_noun_before_the_names_stands_beside_other_values_gives_no_side(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index")
    index.add([
        Document("alma.txt", "The ferry Alma carries 120 cars and needs 55 minutes to Hven. It runs on diesel."),
        Document("bris.txt", "The ferry Bris carries 90 cars. It needs 40 minutes to Hven and runs on batteries."),
    ])  # fmt: skip
    assert answered(index, "Which ferry is faster, the Alma or the Bris?").short in ((), ("Bris",))
    assert answered(index, "Which ferry carries more cars, the Alma or the Bris?").short == ("Alma",)


def test_ask_where_one_unit_is_said_for_both_values_compares_them(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index")
    index.add([Document("lamps.txt", "The Lumo lamp costs 42 and the Varo lamp costs 58 euros. Both are in stock.")])
    answer = answered(index, "Which lamp is cheaper, the Lumo or the Varo?")
    assert answer.short == ("Lumo",) and answer.text.endswith("Lumo: 42 [1]; Varo: 58 euros [1]")


@pytest.mark.parametrize(
    "question",
    [
        "What does the A10 weigh?",
        "Which hall is cheaper, the north hall or the south hall?",
        "Which drill is sold without a charger, the A10 or the B20?",
        "Who sold the A10 to the B20?",
    ],
)
def test_compare_of_another_question_or_units_leaves_state_unchanged(index: Index, question: str) -> None:
    state = index.retrieve(question)
    assert Compare(index.snapshot.words)(state).answer is None


@pytest.mark.parametrize("question", ["Which is lighter, the A10 or the B20?", "Why?", "?"])
def test_compare_without_text_leaves_state_unchanged(question: str) -> None:
    state = start(question, Graph.from_triples([("Graz", "in", "Austria")])).with_(passages=Ranking.of([], []))
    assert Compare()(state).answer is None


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=12))
def test_best_sides_of_any_scores_are_two_runs_in_order(scores: list[float]) -> None:
    spans = [(3 * at, 3 * at + 2) for at in range(len(scores))]
    (first, second), _ = best_sides(spans, np.array(scores))
    assert 0 <= first.start < first.end < second.start < second.end <= spans[-1][1]


def test_names_of_sides_are_those_that_passages_have() -> None:
    question = "Which is longer, the bridge of Lund (old) or the bridge of Oslo?"
    tagged = comparison_heads().tagged(question)
    assert tagged is not None
    passages = [PassageText("", "The bridge of Lund is 90 m long."), PassageText("", "Oslo lies on a fjord.")]
    assert names_of_sides(question, tagged, passages) == ("bridge of Lund", "Oslo")
    assert names_of_sides(question, tagged, passages[:1]) is None


def test_values_of_sides_belong_to_the_side_named_last_or_by_the_title() -> None:
    passages = [
        PassageText("A10", "Weight: 2 kg. The B20 weighs 3 kg."),
        PassageText("", "The B20 is new. It costs 40 EUR."),
        PassageText("", "Nobody knows 7 cats."),
    ]
    a10, b20 = values_of_sides(("A10", "B20"), passages)
    assert [value.written for value in a10] == ["2 kg"]
    assert [value.written for value in b20] == ["3 kg", "40 EUR"]
    assert [(p.first.written, p.second.written, p.apart) for p in pairs_of([a10, b20])] == [("2 kg", "3 kg", -1.0)]
