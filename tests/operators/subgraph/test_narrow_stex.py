"""STeX against Algorithm 3 of FastInsight in plain Python, and the loop of Algorithm 1 around it and GRanker."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, FixedEncoder, vectors_of
from tests.toys import as_networkx

from graphwright import Evidence, GRanker, Graph, Keep, STeX, VectorIndex, VectorSearch, start
from graphwright.models import OverlapCrossEncoder
from graphwright.operators import Reached, Repeat, Run

EAST = FixedEncoder((1.0, 0.0))


def algorithm_3(graph: Graph, similarity: list[float], retrieved: list[int], beta: float) -> dict[int, float]:
    near = as_networkx(graph)
    candidates = {j for i in retrieved for j in near[i]} - set(retrieved)
    most = len(retrieved)
    scores = {}
    for n in candidates:
        struct = 0.0
        adjacent = [v for v in retrieved if near.has_edge(n, v)]
        if most > 1:
            best = min(retrieved.index(v) + 1 for v in adjacent)
            struct = 1 - (best - 1) / (most - 1)
        limit = min(near.degree(n), most)
        if limit > 1:
            struct += (len(adjacent) - 1) / (limit - 1)
        scores[n] = similarity[n] + beta * struct
    return scores


def algorithm_1(graph: Graph, similarity: list[float], rank, batch: int, budget: int) -> list[int]:
    """`rank` is GRanker: from a list of nodes to the same nodes in order."""
    selected = rank(sorted(range(len(graph)), key=lambda n: (-similarity[n], n))[:batch])
    while len(selected) < budget:
        scores = algorithm_3(graph, similarity, selected, 1.0)
        if not scores:
            break  # the printed algorithm would never end
        added = sorted(scores, key=lambda n: (-scores[n], n))
        selected = rank(selected + added[: min(len(selected) + batch, budget) - len(selected)])
    return selected


def test_stex_equals_worked_numbers() -> None:
    """Retrieved in this order: p, q, r. x is next to q and r, y to p alone (degree 1), z to r, and to three others."""
    graph = Graph.from_triples((a, "r", b) for a, b in ("xq", "xr", "yp", "zr", "z1", "z2", "z3", "pq", "xq", "rx"))
    vectors = np.zeros((len(graph), 2), np.float32)
    for name, similarity in {"x": 0.25, "y": -0.5, "z": 0.125}.items():
        vectors[graph.id(name)] = similarity, 7.0
    index = VectorIndex.from_array(vectors, EAST)
    state = start("?", graph, evidence=Evidence.of_nodes([graph.id(n) for n in "pqr"]))
    result = STeX(index, beta=2.0)(state).evidence
    scores = dict(zip(graph.names.take(result.nodes), result.scores.tolist(), strict=True))
    assert scores == {
        "x": 0.25 + 2 * ((1 - 1 / 2) + (2 - 1) / (2 - 1)),  # r_best 2 of 3, A = {q, r}, C = min(2, 3)
        "y": -0.5 + 2 * ((1 - 0 / 2) + 0),  # C = min(1, 3) = 1: no bridging
        "z": 0.125 + 2 * ((1 - 2 / 2) + (1 - 1) / (3 - 1)),  # C = min(4, 3)
    }
    assert graph.names.take(result.nodes) == ["x", "y", "z"]
    # With one node retrieved there is neither rank nor bridge.
    single = STeX(index, beta=2.0)(start("?", graph, evidence=Evidence.of_nodes([graph.id("p")]))).evidence
    assert dict(zip(graph.names.take(single.nodes), single.scores.tolist(), strict=True)) == {"q": 0.0, "y": -0.5}


@given(st.sampled_from(sorted(GRAPHS)), st.floats(0, 3), st.integers(1, 8), st.data())
def test_stex_equals_algorithm_3_and_cut_is_first_of_all(name, beta, k, data) -> None:
    graph, index = GRAPHS[name], vectors_of(GRAPHS[name])
    nodes = data.draw(st.lists(st.sampled_from(range(len(graph))), unique=True, max_size=12))
    question = f"{graph.names[0]} and {graph.names[len(graph) - 1]}"
    state = start(question, graph, evidence=Evidence.of_nodes(nodes))
    result = STeX(index, beta)(state).evidence
    similarity = (index.vectors @ index.encode(question)).tolist()
    expected = algorithm_3(graph, similarity, nodes, beta)
    assert dict(zip(result.nodes.tolist(), result.scores.tolist(), strict=True)) == pytest.approx(expected, abs=1e-6)
    cut = (STeX(index, beta) % k)(state).evidence
    assert cut.nodes.tolist() == result.nodes[:k].tolist() and cut.scores.tolist() == result.scores[:k].tolist()


def test_stex_breaks_ties_by_id_under_cut() -> None:
    graph = GRAPHS["star"]
    index = VectorIndex.from_array(np.zeros((len(graph), 2)), EAST)
    state = start("?", graph, evidence=Evidence.of_nodes([graph.id("hub")]))
    assert (STeX(index) % 3)(state).evidence.nodes.tolist() == [1, 2, 3]


def test_stex_in_part_uses_snapshot_neighbours() -> None:
    graph, evidence = GRAPHS["line"], Evidence.of_nodes([2])
    index = vectors_of(graph)
    part = STeX(index)(start("d", graph.part([1, 2]), evidence=evidence)).evidence
    assert sorted(part.nodes.tolist()) == [1, 3]


def test_stex_omits_neighbour_without_vector() -> None:
    graph = GRAPHS["line"]
    row_of = np.array([0, -1, -1, 1, -1], np.int32)
    index = VectorIndex(np.float32([[1, 0], [0.5, 0]]), row_of, EAST)
    result = STeX(index)(start("?", graph, evidence=Evidence.of_nodes([2, 4]))).evidence
    assert result.nodes.tolist() == [3]  # 1 is a neighbour of 2 too
    assert result.scores.tolist() == pytest.approx([0.5 + 1 + 1])
    assert len(STeX(index)(start("?", graph, evidence=Evidence.of_nodes([0]))).evidence) == 0


def same(result, other) -> bool:
    return result.nodes.tolist() == other.nodes.tolist() and result.scores.tolist() == other.scores.tolist()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["club", "star"]),
            st.sampled_from(["member 3", "member 7 and 8", "who"]),
            st.lists(st.integers(0, 8), unique=True, max_size=6),
        ),
        max_size=8,
    )
)
def test_stex_cache_is_separate_per_question_and_graph(asked) -> None:
    index = vectors_of(GRAPHS["club"])
    op = STeX(index)
    for name, question, nodes in asked:
        state = start(question, GRAPHS[name], evidence=Evidence.of_nodes([v for v in nodes if v < len(GRAPHS[name])]))
        assert same(op(state).evidence, STeX(index)(state).evidence)


def test_stex_is_thread_safe_and_pickles() -> None:
    graph, index = GRAPHS["club"], vectors_of(GRAPHS["club"])
    op = STeX(index)
    states = [start(f"member {i % 7}", graph, evidence=Evidence.of_nodes(range(i % 5, 3 + i % 11))) for i in range(200)]
    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(op, states))
    assert all(same(a.evidence, STeX(index)(state).evidence) for a, state in zip(result, states, strict=True))
    again = pickle.loads(pickle.dumps(op))
    assert again == op == STeX(index) and hash(op) == hash(STeX(index)) and repr(op) == f"STeX({index!r})"
    assert len(pickle.dumps(op)) < len(pickle.dumps(STeX(index))) + 100
    assert same(again(states[0]).evidence, result[0].evidence)


def test_stex_encodes_question_once_and_survives_interruption() -> None:
    encoded, graph, run = [], GRAPHS["line"], Run()

    class Interrupted(FixedEncoder):
        def encode(self, texts):
            encoded.extend(texts)
            if len(encoded) == 2:
                raise KeyboardInterrupt
            return super().encode(texts)

    op = STeX(VectorIndex.from_array(np.float32([[1, 0], [2, 0], [3, 0], [4, 0], [5, 0]]), Interrupted((1.0, 0.0))))
    states = [start(text, graph, evidence=Evidence.of_nodes([2])) for text in ("one", "two", "two", "two")]
    op(states[0], run)
    with pytest.raises(KeyboardInterrupt):
        op(states[1], run)
    results = [op(state, run).evidence for state in states[2:]]
    assert encoded == ["one", "two", "two"]
    assert [dict(zip(e.nodes.tolist(), e.scores.tolist(), strict=True)) for e in results] == [{1: 2.0, 3: 4.0}] * 2


@pytest.mark.parametrize("name", sorted(GRAPHS))
@pytest.mark.parametrize(("batch", "budget"), [(2, 9), (3, 4), (10, 30), (4, 100)])
def test_fastinsight_expression_equals_algorithm_1(name: str, batch: int, budget: int) -> None:
    graph, index, question = GRAPHS[name], vectors_of(GRAPHS[name]), "member 3, b or Waldrada"
    ranker = GRanker(OverlapCrossEncoder())
    loop = Repeat((Keep() | STeX(index) % batch) >> ranker, until=Reached(nodes=budget))
    state = (VectorSearch(index) % batch >> ranker >> loop)(start(question, graph))

    def rank(nodes: list[int]) -> list[int]:
        return ranker(start(question, graph, evidence=Evidence.of_nodes(nodes))).evidence.nodes.tolist()  # type: ignore[union-attr]

    similarity = (index.vectors @ index.encode(question)).tolist()
    expected = algorithm_1(graph, similarity, rank, batch, budget)
    assert state.evidence is not None and state.evidence.nodes.tolist() == expected
    assert len(expected) <= budget


def test_fastinsight_loop_ends_without_neighbours() -> None:
    graph = GRAPHS["apart"]
    ranker = GRanker(OverlapCrossEncoder())
    loop = Repeat((Keep() | STeX(vectors_of(graph)) % 1) >> ranker, until=Reached(nodes=100))
    result = loop(start("a", graph, evidence=Evidence.of_nodes([graph.id("a")]))).evidence
    assert sorted(graph.names.take(result.nodes)) == ["a", "b", "c"]
