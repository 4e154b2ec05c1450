"""Training questions: located in the graph, and explanations for those that are not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphwright import Graph
from graphwright.data.question_sets.graph_questions import GraphQuestion
from graphwright.errors import DataError, OptionError
from graphwright.graph.columns import TextColumn
from graphwright.learn.candidates import Example, examples_of, read_examples

FILMS = Graph.from_triples(
    [
        ("Heat", "directed_by", "Michael Mann"),
        ("Heat", "starred_actors", "Al Pacino"),
        ("Ali", "directed_by", "Michael Mann"),
        ("Ali", "release_year", "2001"),
    ]
)
HEAT, MANN, PACINO, ALI = map(FILMS.id, ("Heat", "Michael Mann", "Al Pacino", "Ali"))


def write(path: Path, *records: object) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records), encoding="utf-8")
    return path


def asked(name: str, entities: object, answers: object, text: str = "who is it") -> dict[str, object]:
    given = {"id": name, "question": text, "topic_entities": entities, "answers": answers}
    return {key: value for key, value in given.items() if value is not None}


GOOD = asked("good", ["Heat"], ["Michael Mann"])


def test_example_names_become_distinct_nodes_in_order(tmp_path: Path) -> None:
    records = [GOOD, asked("two", ["Michael Mann", "Heat", "Michael Mann"], ["Ali", "Al Pacino"], "what else")]
    result = read_examples(write(tmp_path / "q.jsonl", *records), FILMS)
    assert result.left_out == ()
    assert result.usable == (
        Example("good", "who is it", (HEAT,), (MANN,)),
        Example("two", "what else", (MANN, HEAT), (ALI, PACINO)),
    )


def test_every_question_format_is_read(tmp_path: Path) -> None:
    rog = {"id": "r", "question": "who", "q_entity": ["Heat"], "a_entity": ["Michael Mann"]}
    assert read_examples(write(tmp_path / "rog.jsonl", rog), FILMS).usable[0].answers == (MANN,)
    metaqa = write(tmp_path / "qa.txt", "who directed [Heat]\tMichael Mann", "what did [Michael Mann] direct\tHeat|Ali")
    result = read_examples(metaqa, FILMS).usable
    assert [(item.entities, item.answers) for item in result] == [((HEAT,), (MANN,)), ((MANN,), (HEAT, ALI))]
    assert [item.text for item in result] == ["who directed Heat", "what did Michael Mann direct"]


def test_question_entities_are_linked(tmp_path: Path) -> None:
    linked = asked("linked", None, ["Ali", "Heat"], "Which films did Michael Mann direct?")
    result = read_examples(write(tmp_path / "q.jsonl", linked), FILMS)
    assert result.usable[0].entities == (MANN,) and result.usable[0].answers == (ALI, HEAT)


def test_alias_stands_for_its_node() -> None:
    aliases = TextColumn.of(["big heat", "mann"])
    graph = Graph(replace(FILMS.columns, aliases=aliases, alias_node=np.array([HEAT, MANN])))
    question = GraphQuestion("q", "who is it", ("Mann",), entities=("Big Heat",))
    assert examples_of([question], graph).usable == (Example("q", "who is it", (HEAT,), (MANN,)),)


def test_missing_answer_is_skipped_beside_known_one(tmp_path: Path) -> None:
    result = read_examples(write(tmp_path / "q.jsonl", asked("some", ["Heat"], ["Nobody", "Michael Mann"])), FILMS)
    assert result.usable[0].answers == (MANN,)


@pytest.mark.parametrize(
    ("record", "output"),
    [
        (asked("bad", ["Heet"], ["Ali"]), "has the entity 'Heet' (nearest names: 'Heat', 'Michael Mann'), which"),
        (asked("bad", ["Heet", "X"], ["Ali"]), "'Heat', 'Michael Mann') and 1 more, which the graph lacks; use"),
        (asked("bad", ["Zorro"], ["Ali"]), "nearest names: 'Michael Mann'), which the graph lacks"),
        (asked("bad", None, ["Ali"]), "names no node of the graph; list its entities as topic_entit"),
        (asked("bad", ["Heat"], ["Aly"]), "has the answer 'Aly' (nearest names: 'Ali', 'Heat'), which"),
        (asked("bad", ["Heat"], []), "has no answers; list them as answers"),
        (asked("bad", ["Heat"], None), "has no answers; list them as answers"),
    ],
    ids=["entity", "entities", "last entity", "no entity", "answer", "empty answers", "no answers"],
)
def test_unusable_question_raises_with_line_and_remedy(tmp_path: Path, record: dict[str, object], output: str) -> None:
    path = write(tmp_path / "q.jsonl", GOOD, "", record)
    with pytest.raises(DataError) as raised:
        read_examples(path, FILMS)
    message = str(raised.value)
    assert f"{path}:3: question 'bad' " in message and output in message
    assert message.startswith("1 of 2 questions are unusable; at most 10% may be. The first:\n")
    assert message.endswith("Correct them, or allow more with max_unusable (--max-unusable 1).")
    # Where that share may be left out it is, and stands in what is returned.
    selected = read_examples(path, FILMS, max_unusable=0.5)
    assert [item.id for item in selected.usable] == ["good"]
    assert len(selected.left_out) == 1 and selected.left_out[0].startswith(f"{path}:3: question 'bad' ")


def test_many_unusable_questions_show_three(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", *(asked(f"q{n}", ["Nothing"], ["Ali"]) for n in range(5)))
    with pytest.raises(DataError, match="5 of 5 questions are unusable") as raised:
        read_examples(path, FILMS)
    assert [f"{path}:{n}:" in str(raised.value) for n in range(1, 6)] == [True] * 3 + [False] * 2


def test_examples_without_usable_question_raise_at_any_tolerance(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", asked("only", ["Heat"], ["Nobody"]))
    with pytest.raises(DataError, match=r"q\.jsonl: no question is usable\. The first: .*q\.jsonl:1: .*only"):
        read_examples(path, FILMS, max_unusable=1.0)


@pytest.mark.parametrize("name", ["q.jsonl", "qa.txt"])
@pytest.mark.parametrize("content", ["", "\n \n"])
def test_empty_question_file_raises(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError, match=rf"{name}: (the file has )?no questions?"):
        read_examples(path, FILMS)


def test_malformed_question_line_raises(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"q\.jsonl:2: not JSON"):
        read_examples(write(tmp_path / "q.jsonl", GOOD, "{"), FILMS)
    with pytest.raises(DataError, match="no such file"):
        read_examples(tmp_path / "none.jsonl", FILMS)


@pytest.mark.parametrize("unusable", [-0.1, 1.5, float("nan")])
def test_question_tolerance_outside_range_raises(tmp_path: Path, unusable: float) -> None:
    with pytest.raises(OptionError, match="max_unusable is"):
        read_examples(write(tmp_path / "q.jsonl", GOOD), FILMS, max_unusable=unusable)


def test_examples_use_nodes_of_graph_only(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has the answer 'Michael Mann'"):
        read_examples(write(tmp_path / "q.jsonl", GOOD), FILMS.part([HEAT, PACINO]))
    # Two nodes may have one name; then both are meant.
    names = TextColumn.of(["Heat", "Heat", "Michael Mann"])
    edges = {"heads": np.int32([0, 1]), "tails": np.int32([2, 2]), "relation": np.int32([0, 0])}
    twins = Graph(replace(FILMS.columns, names=names, kinds=np.zeros(3, np.uint8), **edges))
    assert read_examples(tmp_path / "q.jsonl", twins).usable[0].entities == (0, 1)
