"""The network of the triple retriever compared with plain loops over nodes, arcs and triples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.learn.plain_rows import above, plus, times
from tests.shared import GRAPHS
from tests.toys import untrained

from graphwright import Evidence, Graph, Triples, VectorIndex, start
from graphwright.learn import TripleRetriever
from graphwright.learn.graph_retrievers import triple_logits
from graphwright.learn.network import (
    Batch,
    GraphView,
    directed_edges,
    gate_logits,
    open_gates,
    view_graph,
    walk_forward,
)
from graphwright.learn.retriever import Checkpoint
from graphwright.models import HashEncoder
from graphwright.operators.run import Run

D, H, ROUNDS = 5, 3, 2
TOYS = ["family", "apart", "loops", "star"]
Table = list[list[float]]


def drawn(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {name: rng.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}


def view_from(graph: Graph, *sources: int) -> tuple[GraphView, np.ndarray]:
    return view_graph(graph, graph.local(sources), ROUNDS)


def plain_arcs(at: GraphView) -> list[tuple[int, int, int]]:
    """Each edge in both directions: from, to, and 2 · relation, plus 1 along the edge."""
    triples = list(zip(at.heads.tolist(), at.relation.tolist(), at.tails.tolist(), strict=True))
    return [(h, t, 2 * r + 1) for h, r, t in triples] + [(t, h, 2 * r) for h, r, t in triples]


@pytest.mark.parametrize("name", TOYS)
def test_triple_retriever_sees_local_graph(name: str) -> None:
    whole = GRAPHS[name]
    graph = whole.part(whole.nodes[1:])
    at, relations = view_from(graph, int(whole.nodes[1]))
    c = whole.columns
    for edge, head, tail, relation in zip(graph.edges, at.heads, at.tails, at.relation, strict=True):
        assert (c.heads[edge], c.tails[edge]) == (at.nodes[head], at.nodes[tail])
        assert c.relation[edge] == relations[relation]
    assert at.nodes.tolist() == graph.nodes.tolist()
    assert at.distances[:, 0].tolist() == [1.0] + [0.0] * (len(graph) - 1)


@pytest.mark.parametrize("name", TOYS)
def test_arcs_compare_incoming_edges_of_node(name: str) -> None:
    at, _ = view_from(GRAPHS[name], 0)
    arcs, plain = directed_edges([at]), plain_arcs(at)
    ends = sorted(plain, key=lambda arc: arc[1])
    assert sorted(zip(arcs.source.tolist(), arcs.directed_relation.tolist(), strict=True)) == sorted(
        (u, w) for u, _, w in plain
    )
    values = np.random.default_rng(1).normal(-3, 1, (len(plain), 2)).astype(np.float32)
    for node in range(len(at.nodes)):
        rows = [value for (_, end, _), value in zip(ends, values, strict=True) if end == node]
        assert arcs.degree[node, 0] == max(len(rows), 1)
        assert arcs.maximum(values)[node] == pytest.approx(np.max(rows, axis=0) if rows else [0.0, 0.0])


def test_node_without_incoming_arcs_receives_zero() -> None:
    lone = GraphView(*(np.array(ids) for ids in ([0, 1, 2], [0], [2], [0])), distances=np.zeros((3, 1), np.float32))
    arcs = directed_edges([lone])
    assert arcs.degree.tolist() == [[1], [1], [1]]
    assert arcs.maximum(np.float32([[-2], [-5]])).tolist() == [[-2], [0], [-5]]


def triple_weights(steps: int, named: bool) -> dict[str, np.ndarray]:
    near = (1 + 3 * ROUNDS, H)
    shapes: dict[str, tuple[int, ...]] = {"question": (D, H), "asked": (H,), "relation": (D, H), "first": (H,)}
    shapes |= {"head near": near, "tail near": near, "second weights": (H, 2), "second": (2,)}
    shapes |= {"last weights": (2, 1), "last": (1,), "gate question": (D, H), "gate asked": (H,)}
    shapes |= {"gate relation": (D, 8)} | ({"head name": (D, H), "tail name": (D, H)} if named else {})
    for step in range(steps):
        shapes |= {f"gate {step}": (H, 4), f"gate end {step}": (H, 1), f"gate bias {step}": (1,)}
        shapes |= {f"along {step}": (H,), f"against {step}": (H,)}
    return drawn(**shapes)


def plain_gates(w: dict[str, np.ndarray], asked: list[float], relations: Table, steps: int) -> Table:
    """For each step how open each way is; the end of the path, last among what may come next, is no way."""
    question = above(plus(times(asked, w["gate question"]), w["gate asked"].tolist()))
    gates = []
    for step in range(steps):
        logits = []
        for relation in relations:
            both = times(relation, w["gate relation"])
            for half in (both[:4], both[4:]):
                logits.append(sum(a * b for a, b in zip(times(question, w[f"gate {step}"]), half, strict=True)))
        logits.append(times(question, w[f"gate end {step}"])[0] + float(w[f"gate bias {step}"][0]))
        most = sum(map(math.exp, logits))
        chances = [math.exp(logit) / most for logit in logits]
        gates.append([chance / max(chances) for chance in chances[:-1]])
    return gates


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("name", TOYS)
def test_triple_scores_equal_formula(name: str, named: bool) -> None:
    graph, steps = GRAPHS[name], 2
    at, relation_ids = view_from(graph, 0)
    inputs = drawn(asked=(1, D), relations=(len(relation_ids), D), names=(len(graph), D))
    w, names = triple_weights(steps, named), inputs["names"] if named else None
    asked, relations = inputs["asked"][0].tolist(), inputs["relations"].tolist()
    gates = plain_gates(w, asked, relations, steps)
    # The most probable walk of each length, its gates multiplied.
    reached = [[1.0 if v == 0 else 0.0 for v in range(len(graph))]]
    for gate in gates:
        to = [[reached[-1][u] * gate[way] for u, end, way in plain_arcs(at) if end == v] for v in range(len(graph))]
        reached.append([max(some, default=0.0) for some in to])
    wanted = []
    question = above(plus(times(asked, w["question"]), w["asked"].tolist()))
    for h, r, t in zip(at.heads.tolist(), at.relation.tolist(), at.tails.tolist(), strict=True):
        first = plus(times(relations[r], w["relation"]), w["first"].tolist())
        for side, v in (("head", h), ("tail", t)):
            first = plus(first, times(at.distances[v].tolist(), w[f"{side} near"]))
            if named:
                first = plus(first, times(inputs["names"][v].tolist(), w[f"{side} name"]))
        for step in range(steps):
            along, against = reached[step][h] * gates[step][2 * r + 1], reached[step][t] * gates[step][2 * r]
            first = plus(first, [along * float(x) for x in w[f"along {step}"]])
            first = plus(first, [against * float(x) for x in w[f"against {step}"]])
        mixed = [a * b for a, b in zip(above(first), question, strict=True)]
        second = above(plus(times(mixed, w["second weights"]), w["second"].tolist()))
        wanted.append(times(second, w["last weights"])[0] + float(w["last"][0]))
    made = [gate for gate, _ in open_gates(gate_logits(w, inputs["asked"], inputs["relations"], steps))]
    assert [gate[0].tolist() for gate in made] == [pytest.approx(gate, rel=1e-4) for gate in gates]
    batch = Batch([at], directed_edges([at]), at.distances, inputs["asked"], inputs["relations"], names)
    led = walk_forward(made, batch.edges, batch.start)
    assert [item[:, 0].tolist() for item in led] == [pytest.approx(item, rel=1e-4) for item in reached]
    result = triple_logits(w, batch, made, at.heads, at.tails, at.relation, 0 * at.heads)
    assert result.shape == (len(at.heads),) and result == pytest.approx(wanted, rel=1e-4, abs=1e-4)


ASKED = start("Who was the mother of Lothair II?", GRAPHS["family"], entities=["Lothair II"])


def test_narrowed_triples_have_no_probability() -> None:
    retriever = untrained("triple")
    assert isinstance(retriever, TripleRetriever)
    graph, w, about = GRAPHS["family"], retriever.weights, retriever.checkpoint.about
    at, _ = view_from(graph, graph.id("Lothair II"))
    asked = HashEncoder().encode(["Who was the mother of x?"])
    relations = HashEncoder().encode(["spouse", "mother of", "father of"])
    gates = [gate for gate, _ in open_gates(gate_logits(w, asked, relations, about["steps"]))]
    logits = triple_logits(w, Batch.of([at], asked, relations), gates, at.heads, at.tails, at.relation, 0 * at.heads)
    result = retriever.prepare(ASKED, Run())(Evidence.of_edges(graph.edges))
    assert result == pytest.approx(1 / (1 + np.exp(-logits)), rel=1e-5)
    assert retriever.prepare(ASKED, Run())(Evidence.of_trees(graph, [((), (0, 1))])) == pytest.approx(
        [result[:2].mean()]
    )
    narrow = ASKED.with_(graph=graph.part(graph.nodes[:3]))
    assert retriever.prepare(narrow, Run())(Evidence.of_edges([4])) == [0.0]
    best = retriever.search(3)(ASKED).evidence
    assert best is not None and best.edges.tolist() == np.argsort(-result, kind="stable")[:3].tolist()


def test_triple_retriever_without_edges_is_empty() -> None:
    lone = ASKED.with_(graph=ASKED.graph.part([ASKED.graph.id("Lothair II")]))
    for level in ("triple", "entity"):
        result = (Triples() >> untrained(level).search(5))(lone).evidence
        assert result is not None and len(result) == 0
        assert untrained(level).prepare(lone, Run())(Evidence.of_nodes(lone.graph.nodes)).tolist() == [0.0]


def test_triple_retriever_trained_with_names_reads_names() -> None:
    graph = GRAPHS["family"]
    names = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    plain = untrained("triple")
    sides = {f"{side} name": np.full((64, 8), 0.3, np.float32) for side in ("head", "tail")}
    reads = Checkpoint("triple", {**plain.weights, **sides}, {**plain.checkpoint.about, "names": True})
    every = Evidence.of_edges(graph.edges)
    with_names, without = (
        r.prepare(ASKED, Run())(every) for r in (TripleRetriever(reads, HashEncoder(), names), plain)
    )
    assert np.abs(with_names - without).max() > 1e-3
