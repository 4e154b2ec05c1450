"""Reading in turns (StructGPT) against the same search in plain Python, and by scripted language models."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Evidence, Graph, start
from graphwright.models import OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import Instances, RankRelations, ReadRelations
from graphwright.text.words import words

MODEL = OverlapCrossEncoder()
QUESTION = "who knows of whom b likes and rules"
FILMS = Graph.from_triples(
    [
        ("Heat", "directed_by", "Mann"),
        ("Heat", "starred_actors", "Pacino"),
        ("Insider", "directed_by", "Mann"),
        ("Insider", "starred_actors", "Crowe"),
        ("Insider", "starred_actors", "Pacino"),
    ]
)


Way = tuple[str, bool]
"""A relation, and whether it is walked from head to tail."""


def score(path: list[Way], question: str) -> float:
    """The score of a relation path by its words, less a penalty for each relation."""
    text = ", ".join(relation if forward else f"{relation} of" for relation, forward in path)
    penalty = 0.15 / max(len(words(question.replace(" X ", "   "))), 1)
    return float(MODEL.head(MODEL.latents(question, [text]))[0]) - penalty * len(path)


def led_to(rows: list[tuple[str, str, str]], source: str, path: list[Way]) -> dict[Way, set[str]]:
    """The relations that walks by a relation path can go on by, and the entities that each leads to.

    Walks are written out one by one; none returns to its first entity, or goes straight back by the same relation.
    """
    walks = [[source]]
    for step, way in enumerate([*path, None]):
        longer: dict[Way, list[list[str]]] = {}
        for walk in walks:
            for head, relation, tail in rows:
                for forward, near, far in ((True, head, tail), (False, tail, head)):
                    back = step > 0 and (relation, not forward) == path[step - 1] and far == walk[-2]
                    if near == walk[-1] and far != source and not back:
                        longer.setdefault((relation, forward), []).append([*walk, far])
        if way is None:
            return {known: {walk[-1] for walk in ends} for known, ends in longer.items()}
        walks = longer[way]
    raise AssertionError


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from(["rules", "likes", "knows"]), st.sampled_from("efgh")),
        min_size=1,
        max_size=8,
        unique=True,
    ),
    st.integers(1, 3),
)
def test_offline_reading_takes_best_relation_per_turn(rows: list[tuple[str, str, str]], turns: int) -> None:
    graph = Graph.from_triples(rows)
    source = graph.names[0]
    question = QUESTION.replace(" b ", " X ") if source == "b" else QUESTION
    evidence = RankRelations(MODEL, turns)(start(QUESTION, graph, entities=[source])).evidence
    assert evidence is not None and len(evidence) == 1 and evidence.scores is not None
    steps = evidence.texts(graph)[0].split(", ")
    path = [(step.removesuffix(" of"), not step.endswith(" of")) for step in steps]
    for turn in range(len(path)):
        best = max(score([*path[:turn], way], question) for way in led_to(rows, source, path[:turn]))
        assert score(path[: turn + 1], question) == pytest.approx(best)
        assert turn == 0 or best > score(path[:turn], question)
    assert evidence.scores[0] == pytest.approx(score(path, question))
    # It ends only where no relation more would fit better.
    further = [score([*path, way], question) for way in led_to(rows, source, path)]
    assert len(path) == turns or max(further, default=-1.0) <= score(path, question) + 1e-9
    nodes = {graph.names[walk[0][-1]] for walk in Instances()(start("?", graph, evidence=evidence)).evidence or ()}
    assert nodes == led_to(rows, source, path[:-1])[path[-1]]


def test_reading_turn_shows_relations_then_triples() -> None:
    prompts: list[list[str]] = []

    def model(system: str, user: str) -> str:
        lines = user.partition("these:\n")[2] or user.partition("The facts:\n")[2]
        prompts.append([json.loads(line) for line in lines.split("\n")])
        return ['{"numbers": [1]}', '{"enough": false}', '{"numbers": [1]}', '{"enough": true}'][len(prompts) - 1]

    state = start("Who starred in films by Mann?", FILMS, entities=["Mann"])
    after = (ReadRelations(ScriptedLLM(model)) >> Instances())(state)
    assert prompts[0] == [{"number": 1, "text": "directed by of"}]
    assert prompts[1] == ["Heat directed_by Mann", "Insider directed_by Mann"]
    assert [line["text"] for line in prompts[2]] == ["directed by of, starred actors"]  # type: ignore[index]
    assert sorted(prompts[3]) == ["Heat starred_actors Pacino", "Insider starred_actors Crowe"]
    assert after.evidence is not None
    assert sorted(FILMS.names[nodes[-1]] for nodes, _ in after.evidence) == ["Crowe", "Pacino"]


def test_reading_ends_at_empty_or_invalid_reply() -> None:
    state = start("Who starred in films by Mann?", FILMS, entities=["Mann", "Heat"])
    none = ReadRelations(ScriptedLLM(lambda system, user: '{"numbers": []}'))(state)
    assert none.evidence is not None and len(none.evidence) == 0
    replies = iter(['{"numbers": [2]}', "Perhaps.", "Perhaps.", '{"numbers": [1]}', '{"enough": true}'])
    once = ReadRelations(ScriptedLLM(lambda system, user: next(replies)))(state)
    assert once.evidence is not None and sorted(once.evidence.texts(FILMS)) == ["directed by of", "starred actors"]
    assert "the step was done without a model" in once.trace[-1].notes


def test_reading_stops_at_hub_with_note() -> None:
    state = start("Who?", FILMS, entities=["Mann"])
    after = RankRelations(MODEL, max_edges=1)(state)
    assert after.evidence is not None and len(after.evidence) == 0
    assert after.trace[-1].notes == ("a relation leads to too many nodes to read on; raise `max_edges`",)
    assert len(RankRelations(MODEL)(start("?", FILMS, evidence=Evidence.of_nodes([]))).evidence or ()) == 0


@pytest.mark.parametrize("count", [1, 2])
def test_reading_shows_limited_triples(count: int) -> None:
    shown: list[int] = []

    def model(system: str, user: str) -> str:
        facts = user.partition("The facts:\n")[2]
        if facts:
            shown.append(len(facts.split("\n")))
        return '{"enough": true}' if facts else '{"numbers": [1]}'

    ReadRelations(ScriptedLLM(model), max_triples=count)(start("Who?", FILMS, entities=["Mann"]))
    assert shown == [count]
