"""Anchor groups: candidates, merging and weights, from a model and without one."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import CORPUS, GRAPHS, corpus_index, vectors_of

from graphwright import Anchor, Bubble, Graph, VectorIndex, start
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.operators import Fallback, GroupByModel, NamesAndPhrases, Operator
from graphwright.operators.anchors.group_anchors import GroupAnchors
from graphwright.operators.run import NO_VECTORS
from graphwright.operators.state import State

FAMILY = GRAPHS["family"]
SNAPSHOT = corpus_index().snapshot
BY_WORDS = GroupAnchors(None, None)
QUESTION = "Who was the mother of Lothair II?"


def asked(*anchors: Anchor, graph: Graph = FAMILY) -> State:
    return start(QUESTION, graph, anchors=anchors)


def own_notes(state: State) -> tuple[str, ...]:
    """The notes of the last step, but those on missing vectors."""
    return tuple(note for note in state.trace[-1].notes if not note.startswith(NO_VECTORS))


def name(text: str, weight: float = 1.0) -> Anchor:
    return Anchor(text, FAMILY.ids(text), weight=weight)


def grouped(*anchors: Anchor, op: GroupAnchors = BY_WORDS) -> tuple[Anchor, ...]:
    return op(asked(*anchors)).anchors or ()


def test_group_anchors_on_paper_example_gives_name_and_relation_groups() -> None:
    groups = grouped(name("Lothair II"), Anchor("mother of Lothair II", weight=0.5))
    assert [(g.text, FAMILY.names.take(g.nodes)) for g in groups] == [
        ("Lothair II", ["Lothair II"]),
        ("mother of Lothair II", []),
    ]
    # "Ermengarde of Tours mother of Lothair II", but not what another keyword means by its name.
    assert FAMILY.edge_text(int(groups[1].edges[0])) == "Ermengarde of Tours mother of Lothair II"
    assert sum(g.weight for g in groups) == pytest.approx(1) and groups[0].weight > groups[1].weight


def test_group_anchors_keeps_given_nodes_at_any_distance() -> None:
    (group,) = grouped(Anchor("queen", nodes=[3], edges=[6]))
    assert {3} <= set(group.nodes.tolist()) and 6 in group.edges and group.weight == 1.0


def test_group_candidates_are_nearest_within_margin() -> None:
    encoder = HashEncoder()
    names = vectors_of(FAMILY)
    triples = VectorIndex.from_array(encoder.encode([FAMILY.edge_text(e) for e in range(7)]), encoder)
    text = "spouse of Waldrada"
    nodes = names.cosines(np.arange(len(FAMILY)), encoder.encode([text])[0])
    edges = triples.cosines(np.arange(7), encoder.encode([text])[0])
    best = max(nodes.max(), edges.max())
    for share in (0.5, 0.9, 1.0):
        (group,) = grouped(Anchor(text), op=GroupAnchors(names, triples, k=4, near=share))
        # Four at most of each kind; all of them here, where ties fall by id.
        for result, scores in ((group.nodes, nodes), (group.edges, edges)):
            order = sorted(range(len(scores)), key=lambda i: (-round(float(scores[i]), 6), i))[:4]
            assert result.tolist() == sorted(i for i in order if scores[i] >= share * best - 1e-6)


def test_group_of_theme_has_edges_only() -> None:
    (group,) = grouped(Anchor("mother of Lothair II", kind="theme"))
    assert type(group) is Anchor and not len(group.nodes) and len(group.edges)


def test_groups_sharing_half_their_candidates_merge() -> None:
    first = Anchor("wife", nodes=[3, 4], weight=0.5)
    second = Anchor("spouse", nodes=[3, 4, 5], weight=1.0)
    third = Anchor("queen", nodes=[6], weight=0.2)
    groups = grouped(first, second, third, op=GroupAnchors(None, None, near=1.0))
    texts = [g.text for g in groups]
    assert texts == ["wife", "queen"]
    assert set(groups[0].nodes) == {3, 4, 5} and groups[0].weight > groups[1].weight


def test_group_merging_is_transitive() -> None:
    chain = [Anchor(text, nodes=ids) for text, ids in (("one", [0, 1]), ("six", [3, 4]), ("two", [1, 3]))]
    (group,) = grouped(*chain)
    assert group.text == "one" and group.nodes.tolist() == [0, 1, 3, 4]


def test_group_weights_follow_rarity() -> None:
    graph, index = SNAPSHOT.graph, SNAPSHOT.words
    item, two = Anchor("Teutberga", graph.ids("Teutberga")), Anchor("Erstein", graph.ids("Erstein"))
    plain = Anchor("abbey in Alsace", edges=graph.columns.out.row(int(graph.ids("Erstein Abbey")[0]))[:1], weight=0.5)
    groups = GroupAnchors(None, None, index, near=1.0)(start("?", graph, anchors=[item, two, plain])).anchors or ()
    total = len(CORPUS)

    def behind(anchor: Anchor) -> float:
        return math.log(1 + total / len(graph.chunks_of(anchor.nodes)))

    counts = [sum(word in f"{row['text']} {row['title']}".lower() for row in CORPUS) for word in ("abbey", "alsace")]
    raw = [behind(item), behind(two), 0.5 * sum(math.log(1 + total / n) for n in counts) / 2]
    by_text = {g.text: g.weight for g in groups}
    assert by_text == pytest.approx(
        {a.text: w / sum(raw) for a, w in zip((item, two, plain), raw, strict=True)}, rel=1e-6
    )


def test_group_weights_ignore_words_of_bound_names() -> None:
    graph, index = SNAPSHOT.graph, SNAPSHOT.words
    known = Anchor("Teutberga", graph.ids("Teutberga"))
    for text in ("daughter", "daughter of Teutberga"):
        edge = Anchor(text, edges=graph.columns.out.row(int(graph.ids("Erstein Abbey")[0]))[:1])
        groups = GroupAnchors(None, None, index, near=1.0)(start("?", graph, anchors=[known, edge])).anchors or ()
        assert [round(g.weight, 9) for g in groups] == [round(g.weight, 9) for g in groups]
        weight = groups[1].weight / groups[0].weight
        n = sum("daughter" in str(row["text"]) for row in CORPUS)
        known_in = len(graph.chunks_of(known.nodes))
        assert weight == pytest.approx(math.log(1 + len(CORPUS) / n) / math.log(1 + len(CORPUS) / known_in), rel=1e-6)


def test_groups_without_candidate_or_weight_are_omitted() -> None:
    groups = grouped(name("Waldrada"), Anchor("xyzzy"), Anchor("Gisela", [5], weight=0.0))
    assert [g.text for g in groups] == ["Waldrada"] and groups[0].weight == 1.0
    nothing = BY_WORDS(asked(Anchor("xyzzy")))
    assert nothing.anchors == () and own_notes(nothing) == ("nothing in the graph is near to a keyword",)
    assert BY_WORDS(asked()).anchors == ()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Lothair", "Lothair II", "mother", "spouse of Waldrada", "Bertha", "zzz"]),
            st.sets(st.integers(0, 6)),
            st.sets(st.integers(0, 6)),
            st.floats(0, 5),
            st.booleans(),
        ),
        max_size=6,
    ),
    st.floats(0, 1),
)
def test_groups_keep_given_candidates_and_weights_sum_to_one(
    rows: list[tuple[str, set[int], set[int], float, bool]], near: float
) -> None:
    anchors = [Anchor(t, sorted(v), sorted(e), w, kind="theme" if theme else "entity") for t, v, e, w, theme in rows]
    groups = grouped(*anchors, op=GroupAnchors(None, None, near=near))
    counted = [a for a in anchors if a.weight > 0]
    assert {v for a in counted for v in a.nodes.tolist()} <= {v for g in groups for v in g.nodes.tolist()}
    assert {e for a in counted for e in a.edges.tolist()} <= {e for g in groups for e in g.edges.tolist()}
    assert all(len(g.nodes) + len(g.edges) for g in groups)
    assert not groups or sum(g.weight for g in groups) == pytest.approx(1)


def sorter(*groups: tuple[str, list[int], float]) -> ScriptedLLM:
    message = {
        "groups": [{"intent": intent, "numbers": numbers, "weight": weight} for intent, numbers, weight in groups]
    }
    return ScriptedLLM(lambda system, user: json.dumps(message))


def by_model(model: ScriptedLLM) -> Operator:
    return Fallback(GroupByModel(None, None, model), GroupAnchors(None, None))


ANCHORS = (Anchor("Lothair II", [2]), Anchor("mother of Lothair II", weight=0.5))


def test_group_anchors_with_model_sorts_and_weighs_candidates() -> None:
    shown: list[dict[str, object]] = []

    def reply(system: str, user: str) -> str:
        shown[:] = [json.loads(line) for line in user.splitlines() if line.startswith("{")]
        king = next(line["candidate"] for line in shown if line.get("name") == "Lothair II")
        mothers = [line["candidate"] for line in shown if "mother of" in str(line.get("statement"))]
        groups = [("the  king", [king], 3), ("mother", mothers, 1)]
        return json.dumps({"groups": [{"intent": i, "numbers": n, "weight": w} for i, n, w in groups]})

    state = by_model(ScriptedLLM(reply))(asked(*ANCHORS))
    candidates = shown[1:]
    assert shown[0] == {"question": QUESTION}
    assert [c["candidate"] for c in candidates] == list(range(1, len(candidates) + 1))
    assert {"Lothair II"} == {k for c in candidates if c.get("name") == "Lothair II" for k in c["for"]}  # type: ignore[attr-defined]
    assert any(c["for"] == ["Lothair II", "mother of Lothair II"] for c in candidates)
    groups = state.anchors or ()
    assert [(g.text, g.weight) for g in groups] == [("the king", 0.75), ("mother", 0.25)]
    assert groups[0].nodes.tolist() == [2] and groups[1].edges.tolist() == [1]
    assert own_notes(state) == ()
    # It is shown all of the nearest, and sorts out what is not near enough without a model.
    alone = BY_WORDS(asked(*ANCHORS)).anchors or ()
    assert len(candidates) > sum(len(g.nodes) + len(g.edges) for g in alone)


def test_group_anchors_with_model_ignores_unknown_and_repeated_numbers() -> None:
    state = by_model(sorter(("a", [1, 99, 0, 1], 0.5), ("b", [1, -3], 0.3), ("c", [2], 0.5)))(asked(*ANCHORS))
    assert [g.text for g in state.anchors or ()] == ["a", "c"]
    assert [g.weight for g in state.anchors or ()] == [0.5, 0.5]
    assert own_notes(state) == ("5 numbers were ignored: no such candidate, or in a group already",)


@pytest.mark.parametrize("weights", [(0.0, 0.0), (-1.0, -2.0)])
def test_group_weights_summing_to_zero_become_equal(weights: tuple[float, float]) -> None:
    state = by_model(sorter(("a", [1], weights[0]), ("b", [2], weights[1])))(asked(*ANCHORS))
    assert [g.weight for g in state.anchors or ()] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("replies", "noted"),
    [
        (['{"groups": []}'], "the model made no groups"),
        (['{"groups": [{"intent": "a", "numbers": [99], "weight": 1}]}'], "1 numbers were ignored"),
        (["two groups", "a and b"], "the model's reply did not fit the schema"),
        (["", ""], "the model's reply did not fit the schema"),
        (['{"groups": [{"intent": "a"}]}'] * 2, "the model's reply did not fit the schema"),
    ],
)
def test_group_anchors_with_invalid_reply_falls_back_with_note(replies: list[str], noted: str) -> None:
    state = by_model(ScriptedLLM(replies))(asked(*ANCHORS))
    assert state.anchors == BY_WORDS(asked(*ANCHORS)).anchors
    assert any(note.startswith(noted) for note in state.trace[-2].notes) and state.trace[-2].failed


def test_groups_are_terminals_of_bubble() -> None:
    graph = SNAPSHOT.graph
    chain = (
        NamesAndPhrases() >> GroupAnchors(SNAPSHOT.names, SNAPSHOT.triples, SNAPSHOT.words) >> Bubble(SNAPSHOT.passages)
    )
    result = chain(start("Which abbey did Ermengarde of Tours found?", graph)).evidence
    assert result is not None and len(result) and graph.id("Ermengarde of Tours") in result.nodes
