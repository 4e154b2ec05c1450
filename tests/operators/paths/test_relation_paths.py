"""Relation paths as evidence, the walks by them, and edges by their relations."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS
from tests.toys import as_networkx

from graphwright import Evidence, Graph, Rerank, start
from graphwright.generate import TargetAnswer
from graphwright.models import OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import Choose, EdgesBy, InduceEdges, Instances, RelationPaths, Relations

FILMS = Graph.from_triples(
    [
        ("Heat", "directed_by", "Mann"),
        ("Heat", "starred_actors", "Pacino"),
        ("Insider", "directed_by", "Mann"),
        ("Insider", "starred_actors", "Crowe"),
        ("Insider", "starred_actors", "Pacino"),
        ("Ali", "directed_by", "Mann"),
        ("Ali", "release_year", "2001"),
    ]
)


def test_relation_path_is_listed_once() -> None:
    state = RelationPaths(3)(start("?", FILMS, entities=["Mann"]))
    assert state.evidence is not None and state.evidence.scores is None
    assert state.evidence.texts(FILMS) == [
        "directed by of",
        "directed by of, starred actors",
        "directed by of, release year",
        "directed by of, starred actors, starred actors of",
    ]
    for nodes, edges in state.evidence:
        assert nodes[0] == FILMS.id("Mann") and len(nodes) == len(edges) + 1


def test_relation_paths_are_per_entity_and_shrink_in_part() -> None:
    state = start("?", FILMS, entities=["Pacino", "Crowe"])
    evidence = RelationPaths(1)(state).evidence
    assert evidence is not None and [nodes[0] for nodes, _ in evidence] == [FILMS.id("Pacino"), FILMS.id("Crowe")]
    narrow = (Relations() >> EdgesBy() % 1 >> InduceEdges() >> RelationPaths(2))(start("?", FILMS, entities=["Mann"]))
    assert narrow.evidence is not None and narrow.evidence.texts(FILMS) == ["directed by of"]


def test_relation_paths_are_ordered_by_length() -> None:
    evidence = RelationPaths(3)(start("?", FILMS, entities=["Mann", "Pacino"])).evidence
    lengths = [len(edges) for _, edges in evidence]
    assert lengths == sorted(lengths) and len({int(nodes[0]) for nodes, _ in evidence.top(4)}) == 2


@given(st.integers(1, 60), st.integers(1, 3), st.sampled_from(["Mann", "Pacino"]))
def test_relation_paths_cut_equals_first_of_all(k: int, length: int, entity: str) -> None:
    state = start("?", FILMS, entities=[entity, "Crowe"])
    some, every = (RelationPaths(length) % k)(state).evidence, RelationPaths(length)(state).evidence
    assert some.texts(FILMS) == every.texts(FILMS)[:k]
    assert [[part.tolist() for part in piece] for piece in some] == [
        [part.tolist() for part in piece] for piece in every.top(k)
    ]


def test_relation_paths_over_cost_limit_are_noted() -> None:
    state = RelationPaths(2, max_edges=3)(start("?", FILMS, entities=["Mann"]))
    assert state.evidence is not None and state.evidence.texts(FILMS) == ["directed by of"]
    assert state.trace[-1].notes == (
        "1 relation paths were not extended: they lead to too many nodes; raise `max_edges`",
    )


def test_instances_follow_judged_relations() -> None:
    state = start("What is starred actors directed by of?", FILMS, entities=["Mann"])
    ranked = RelationPaths(2) >> Rerank(OverlapCrossEncoder()) % 2
    evidence = (ranked >> Instances())(state).evidence
    assert evidence is not None and evidence.scores is not None
    names = [FILMS.names.take(nodes) for nodes, _ in evidence]
    # One walk to each end: Pacino by the first film that stars him; of walks by one relation path the smaller nodes.
    assert names == [
        ["Mann", "Heat", "Pacino"],
        ["Mann", "Insider", "Crowe"],
        ["Mann", "Heat"],
        ["Mann", "Insider"],
        ["Mann", "Ali"],
    ]
    assert evidence.scores[0] == evidence.scores[1] > evidence.scores[2] == evidence.scores[4]


def test_language_model_selects_relation_paths_by_number() -> None:
    state = start("Whom did Mann film?", FILMS, entities=["Mann"])
    after = (RelationPaths(2) >> Choose(ScriptedLLM(['{"numbers": [2]}'])) >> Instances())(state)
    assert after.evidence is not None and {FILMS.names[n[-1]] for n, _ in after.evidence} == {"Pacino", "Crowe"}


WRITERS = Graph.from_triples(
    [
        ("Heat", "directed_by", "Mann"),
        ("Ali", "directed_by", "Mann"),
        ("Ali", "written_by", "Mann"),
        ("Ali", "written_by", "Roth"),
        ("Thief", "directed_by", "Mann"),
        ("Thief", "written_by", "Mann"),
    ]
)


def test_relation_path_may_return_to_start() -> None:
    state = start("Who wrote films by the director of Heat?", WRITERS, entities=["Heat"])
    plans = RelationPaths(3)(state)
    assert plans.evidence is not None and plans.evidence.texts(WRITERS) == [
        "directed by",
        "directed by, directed by of",
        "directed by, written by of",
        "directed by, directed by of, written by",
        "directed by, written by of, directed by",
        "directed by, written by of, written by",
    ]
    planned = plans.with_(evidence=plans.evidence.take([3]))
    state = Instances()(planned)
    assert [WRITERS.names.take(nodes) for nodes, _ in state.evidence or ()] == [
        ["Heat", "Mann", "Ali", "Mann"],
        ["Heat", "Mann", "Ali", "Roth"],
    ]
    answer = TargetAnswer()(state).answer
    assert answer is not None and answer.text.splitlines() == ["Mann", "Roth"]
    assert answer.citations[0].path == ("Heat", "directed_by", "Mann", "directed_by⁻¹", "Ali", "written_by", "Mann")


def test_instances_of_impossible_path_are_empty() -> None:
    heat, mann = FILMS.id("Heat"), FILMS.id("Mann")
    pieces = Evidence.of_trees(FILMS, [([mann, heat], [0]), ([mann, FILMS.id("Ali")], [5]), ([heat], [])])
    evidence = Instances()(start("?", FILMS, evidence=pieces)).evidence
    assert evidence is not None and len(evidence) == 3 and evidence.scores is None
    part = FILMS.part([heat, FILMS.id("Pacino")])
    assert len(Instances()(start("?", part, evidence=pieces)).evidence or ()) == 0


def test_parallel_edges_rank_by_walk_traffic() -> None:
    state = start("?", FILMS, entities=["Pacino"])
    scored = state.with_(evidence=Evidence.of_edges([0, 1], [0.5, 0.25]))
    evidence = EdgesBy()(scored).evidence
    assert evidence is not None and evidence.scores is not None
    pi = nx.pagerank(as_networkx(FILMS), 0.85, {FILMS.id("Pacino"): 1.0}, max_iter=2000, tol=1e-14)
    degree = dict(as_networkx(FILMS).degree)
    traffic = {}
    for edge in FILMS.edges.tolist():
        traffic[edge] = sum(pi[v] / degree[v] for v in FILMS.ends([edge]).tolist())
    chosen = [0, 1, 2, 3, 4, 5]  # directed_by and starred_actors, and not release_year
    most = max(traffic[edge] for edge in chosen)
    value = {FILMS.columns.relation[0]: 0.5, FILMS.columns.relation[1]: 0.25}
    expected = {e: value[FILMS.columns.relation[e]] + 0.5 * 0.25 * traffic[e] / most for e in chosen}
    assert dict(zip(evidence.edges.tolist(), evidence.scores.tolist(), strict=True)) == pytest.approx(
        expected, abs=1e-6
    )
    # The better relation comes first, whatever walks over the other.
    assert set(evidence.edges[:3].tolist()) == {0, 2, 5} and evidence.edges[2] == 5


def test_edge_pruning_keeps_best_relations() -> None:
    state = start("directed by whom?", FILMS, entities=["Heat"])
    after = (Relations() >> Rerank(OverlapCrossEncoder()) >> EdgesBy() % 2 >> InduceEdges())(state)
    assert after.graph.edges.tolist() == [0, 2]
    assert sum(step.usage.texts for step in after.trace) == 3  # one for each relation
    # Without a query entity there is no walk, and ids decide.
    assert (Relations() >> EdgesBy())(start("?", FILMS)).evidence.edges[:2].tolist() == [0, 2]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_relations_are_listed_once(name: str) -> None:
    graph = GRAPHS[name]
    evidence = Relations()(start("?", graph)).evidence
    assert evidence is not None and sorted(evidence.texts(graph)) == sorted(set(graph.columns.relations))
