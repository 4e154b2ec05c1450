"""Specialising: which keywords are rewritten, by a model and from the question itself."""

from __future__ import annotations

import json

import pytest
from tests.shared import GRAPHS, corpus_index

from graphwright import Anchor, Graph, start
from graphwright.models import ScriptedLLM
from graphwright.operators import NamesAndPhrases
from graphwright.operators.anchors.keywords import Specialise, SpecialiseInContext, is_definite
from graphwright.operators.control import Fallback
from graphwright.operators.state import State

FAMILY = GRAPHS["family"]
QUESTION = "When did the mother of Lothair II die?"


def texts(state: State) -> list[str]:
    return [anchor.text for anchor in state.anchors or ()]


def rewriter(*constraints: tuple[int, str]) -> ScriptedLLM:
    message = {"constraints": [{"keyword": number, "text": text} for number, text in constraints]}
    return ScriptedLLM(lambda system, user: json.dumps(message))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        # From the keyword to the name, whichever stands first; a theme of several words is all of the question.
        (QUESTION, ["Lothair II", "mother of Lothair II", "Lothair II die", QUESTION]),
        # The nearest of two names.
        (
            "Did the son of Waldrada or the wife of Lothair I rule?",
            ["Waldrada", "Lothair I", "son of Waldrada", "wife of Lothair I", "Lothair I rule"],
        ),
        # Near no name: the words around it.
        ("Which river flows through the town of the painter?", ["Which river flows through the town"]),
        # A name stays as it is, whether the graph has it or not.
        ("Was Xanthippe of a tall stature?", ["Xanthippe", "Xanthippe of a tall stature"]),
    ],
)
def test_specialise_without_model_extends_keyword_to_nearest_name(question: str, expected: list[str]) -> None:
    result = texts((NamesAndPhrases() >> SpecialiseInContext())(start(question, FAMILY)))
    assert result[: len(expected)] == expected


def test_specialise_ignores_distant_name() -> None:
    question = "Was the river that flows so slowly through the old town near Waldrada?"
    state = start(question, FAMILY, anchors=[Anchor("river"), Anchor("town"), Anchor("Waldrada", nodes=[4])])
    assert texts(SpecialiseInContext()(state)) == ["Was the river that flows so", "town near Waldrada", "Waldrada"]


def test_specialise_unknown_keyword_takes_whole_question() -> None:
    state = start(
        QUESTION,
        FAMILY,
        anchors=[Anchor("death of mothers", kind="theme"), Anchor("MOTHER", kind="theme"), Anchor("deaths")],
    )
    result = SpecialiseInContext()(state).anchors
    assert result == (
        Anchor(QUESTION, kind="theme"),
        Anchor("When did the mother of Lothair II", kind="theme"),
        Anchor(QUESTION),
    )


def test_specialise_changes_texts_only() -> None:
    anchors = [
        Anchor("mother", nodes=[1], edges=[2], weight=0.25),
        Anchor("die", weight=0.5, kind="theme"),
        Anchor("Lothair II", [2]),
    ]
    result = SpecialiseInContext()(start(QUESTION, FAMILY, anchors=anchors)).anchors or ()
    assert [a.kind for a in result] == ["entity", "theme", "entity"]
    for before, after in zip(anchors, result, strict=True):
        assert (before.nodes.tolist(), before.edges.tolist(), before.weight) == (
            after.nodes.tolist(),
            after.edges.tolist(),
            after.weight,
        )


def test_definite_name_has_few_nodes_in_few_passages() -> None:
    state = start("?", FAMILY)
    assert is_definite(Anchor("Lothair II", [2]), state) and is_definite(Anchor("Lothair", [0, 2]), state)
    assert not is_definite(Anchor("Lothair II"), state)  # without a node
    assert not is_definite(Anchor("mother", [1]), state)  # no name
    assert not is_definite(Anchor("Lothair", [0, 1, 2, 3]), state)  # many
    assert not is_definite(Anchor("Lothair II", kind="theme"), state)
    graph = corpus_index().graph
    everywhere = Anchor("Erstein", graph.ids("Erstein"))
    assert is_definite(everywhere, start("?", graph))
    # A name that stands in many passages: one node that all of them mention.
    triples = [(f"p{i}", "mentions", "Italy") for i in range(3)]
    assert is_definite(Anchor("Italy", [1]), start("?", Graph.from_triples(triples)))


def test_specialise_with_model_rewrites_indefinite_keywords() -> None:
    users: list[str] = []

    def reply(system: str, user: str) -> str:
        users.append(user)
        return '{"constraints": [{"keyword": 2, "text": "Lothair II\'s  mother"}]}'

    state = (NamesAndPhrases() >> Specialise(ScriptedLLM(reply)))(start(QUESTION, FAMILY))
    assert texts(state) == ["Lothair II", "Lothair II's mother", "die", "mother die"]
    lines = [json.loads(line) for line in users[0].splitlines() if line.startswith("{")]
    assert lines[0] == {"question": QUESTION}
    assert [(line["keyword"], line["text"], line["found"]) for line in lines[1:]] == [
        (1, "Lothair II", True),
        (2, "mother", False),
        (3, "die", False),
        (4, "mother die", False),
    ]
    assert state.trace[-1].notes == ()


def test_specialise_ignores_unknown_numbers_and_empty_texts() -> None:
    model = rewriter((9, "x"), (0, "x"), (1, "someone else"), (2, " "), (3, "death of his mother"), (3, "again"))
    state = (NamesAndPhrases() >> Specialise(model))(start(QUESTION, FAMILY))
    assert texts(state) == ["Lothair II", "mother", "death of his mother", "mother die"]
    assert state.trace[-1].notes == ("5 of 6 constraints were ignored",)


def test_specialise_with_empty_reply_keeps_keywords() -> None:
    state = (NamesAndPhrases() >> Specialise(rewriter()))(start(QUESTION, FAMILY))
    assert texts(state) == ["Lothair II", "mother", "die", "mother die"] and state.trace[-1].notes == ()


@pytest.mark.parametrize("replies", [["no", "no"], ["", ""], ['{"constraints": [3]}', '{"constraints": 3}']])
def test_specialise_with_invalid_reply_falls_back_with_note(replies: list[str]) -> None:
    state = NamesAndPhrases()(start(QUESTION, FAMILY))
    result = Fallback(Specialise(ScriptedLLM(replies)), SpecialiseInContext())(state)
    assert result.anchors == SpecialiseInContext()(state).anchors
    assert "did not fit the schema" in result.trace[-2].notes[0]


def test_specialise_of_definite_keywords_asks_no_model() -> None:
    state = start("?", FAMILY, anchors=[Anchor("Lothair II", [2])])
    assert Specialise(ScriptedLLM([]))(state).anchors == state.anchors
    assert Specialise(ScriptedLLM([]))(start("?", FAMILY, anchors=[])).anchors == ()
