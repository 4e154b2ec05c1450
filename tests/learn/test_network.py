"""The distance encoding compared with a plain loop over edges and with an enumeration of walks."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.learn.torch_here import torch_here
from tests.shared import GRAPHS

from graphwright.learn.network import (
    DirectedEdges,
    directed_edges,
    distance_encoding,
    view_graph,
)
from graphwright.learn.training import Sample

Edges = list[tuple[int, int]]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[int, Edges, list[int], int]:
    """Nodes, edges (loops and parallel ones too), sources, rounds."""
    n = draw(st.integers(1, 7))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=12))
    return n, edges, sorted(draw(st.sets(node, max_size=3))), draw(st.integers(0, 4))


def encoded(n: int, edges: Edges, sources: list[int], rounds: int) -> np.ndarray:
    heads, tails = np.array(edges, np.int64).reshape(-1, 2).T
    return distance_encoding(n, heads, tails, np.array(sources, np.int64), rounds)


def arcs_of(edges: Edges) -> list[Edges]:
    """Along the edges, against them, and both ways."""
    back = [(b, a) for a, b in edges]
    return [edges, back, edges + back]


@given(worlds())
def test_mean_rounds_average_previous_values(world: tuple[int, Edges, list[int], int]) -> None:
    n, edges, sources, rounds = world
    first = [1.0 if v in sources else 0.0 for v in range(n)]
    columns = [first]
    for arcs in arcs_of(edges):
        value = first
        for _ in range(rounds):
            before = [[value[a] for a, b in arcs if b == v] for v in range(n)]
            value = [sum(some) / len(some) if some else 0.0 for some in before]
            columns.append(value)
    result = encoded(*world)
    assert result.dtype == np.float32 and result.shape == (n, 1 + 3 * rounds)
    assert result == pytest.approx(np.array(columns).T ** 0.25, abs=1e-6)


@given(worlds())
def test_unreachable_node_has_zero_values(world: tuple[int, Edges, list[int], int]) -> None:
    n, edges, sources, rounds = world
    result = encoded(*world)
    for direction, arcs in enumerate(arcs_of(edges)):
        graph = nx.MultiDiGraph(arcs)
        graph.add_nodes_from(range(n))
        at = set(sources)
        for step in range(rounds):
            at = {v for u in at for v in graph.successors(u)}
            assert set(np.flatnonzero(result[:, 1 + direction * rounds + step]).tolist()) == at


def test_isolated_node_is_root_size_only() -> None:
    # The hub has a thousand neighbours of which one is named: a mean of a thousandth, and its fourth root 0.18.
    star = [(0, leaf) for leaf in range(1, 1001)]
    result = encoded(1001, star, [1], 1)
    assert result[0] == pytest.approx([0.0, 0.0, 0.001**0.25, 0.001**0.25])
    assert result[1] == pytest.approx([1.0, 0.0, 0.0, 0.0])


WIDTH = 3


def random_array(*shape: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


def plain_aggregate(messages: list[list[float]]) -> list[float]:
    """Mean, maximum, minimum and deviation, column by column; zeros where there is no message."""
    columns = list(zip(*messages, strict=True)) or [()] * WIDTH
    mean = [sum(item) / max(len(item), 1) for item in columns]
    spread = [
        (sum((m - middle) ** 2 for m in item) / len(item) + 1e-6) ** 0.5 if item else 0.0
        for item, middle in zip(columns, mean, strict=True)
    ]
    return [
        *mean,
        *(max(item, default=0.0) for item in columns),
        *(min(item, default=0.0) for item in columns),
        *spread,
    ]


@pytest.mark.parametrize("name", ["family", "apart", "loops", "star", "club"])
def test_node_gathers_arc_messages(name: str) -> None:
    graph = GRAPHS[name]
    at, relations = view_graph(graph, np.array([0]), 2)
    triples = list(zip(at.heads.tolist(), at.relation.tolist(), at.tails.tolist(), strict=True))
    plain_arcs = [(h, t, 2 * r + 1) for h, r, t in triples] + [(t, h, 2 * r) for h, r, t in triples]
    x, gates, arcs = (
        random_array(len(graph), WIDTH),
        random_array(2 * len(relations), WIDTH, seed=6),
        directed_edges([at]),
    )
    result = arcs.aggregate(x, gates, arcs.directed_relation)
    assert result.dtype == np.float32 and result.shape == (len(graph), 4 * WIDTH)
    for node in range(len(graph)):
        here = [(x[u].astype(float) * gates[way]).tolist() for u, end, way in plain_arcs if end == node]
        assert result[node].tolist() == pytest.approx(plain_aggregate(here), abs=1e-5)


def sample(seed: int, nodes: int = 8, edges: int = 20) -> Sample:
    """Random triples over all nodes but the last, which nothing leads to."""
    draw = np.random.default_rng(seed)
    heads, tails = draw.integers(0, nodes - 1, (2, edges)).astype(np.int32)
    relation = draw.integers(0, 2, edges).astype(np.int32)
    near = np.zeros((nodes, 1), np.float16)
    return Sample(np.arange(nodes, dtype=np.int32), heads, tails, relation, near, np.zeros(edges, bool), ())


def torch_aggregate(torch: Any, arcs: DirectedEdges, x: Any, gates: Any, gate: Any) -> Any:
    """What is gathered, node by node, by operations whose gradients torch knows."""
    messages, rows = x[arcs.source] * gates[gate], []
    for node in range(len(x)):
        here = messages[arcs.target == node]
        if not len(here):
            rows.append(torch.zeros(4 * WIDTH, dtype=x.dtype))
            continue
        spread = ((here - here.mean(0)) ** 2).mean(0)
        rows.append(torch.cat((here.mean(0), here.max(0).values, here.min(0).values, (spread + 1e-6).sqrt())))
    return torch.stack(rows)


@pytest.mark.parametrize("seed", range(3))
def test_gather_gradient_equals_plain_operations(seed: int) -> None:
    torch = torch_here()
    arcs = directed_edges([sample(seed), sample(seed + 10)], torch)
    offsets = arcs.offsets
    draw = torch.Generator().manual_seed(seed)
    x, gates = torch.randn(int(offsets[-1]), WIDTH, generator=draw), torch.randn(8, WIDTH, generator=draw)
    gate, slope = arcs.owner * 4 + arcs.directed_relation, torch.randn(int(offsets[-1]), 4 * WIDTH, generator=draw)
    mine = [value.clone().requires_grad_(True) for value in (x, gates)]
    exact = [value.double().requires_grad_(True) for value in (x, gates)]
    result, wanted = arcs.aggregate(*mine, gate), torch_aggregate(torch, arcs, *exact, gate)
    assert result.detach().numpy() == pytest.approx(wanted.detach().numpy(), abs=1e-5)
    (result * slope).sum().backward()
    (wanted * slope).sum().backward()
    for item, other in zip(mine, exact, strict=True):
        assert item.grad.abs().max() > 1 and item.grad.numpy() == pytest.approx(other.grad.numpy(), abs=1e-4)


def test_equal_messages_give_maximum_gradient_to_first() -> None:
    torch = torch_here()
    # Nodes 0 and 1 both lead to node 2, with the same message.
    row = Sample(*(np.array(ids, np.int32) for ids in ([0, 1, 2], [0, 1], [2, 2], [0, 0])),
                 np.zeros((3, 1), np.float16), np.zeros(2, bool), ())  # fmt: skip
    arcs = directed_edges([row], torch)
    x, gates = torch.ones(3, WIDTH, requires_grad=True), torch.ones(2, WIDTH)
    arcs.aggregate(x, gates, arcs.directed_relation)[2, WIDTH].backward()
    assert x.grad.sum() == 1 and x.grad[0, 0] == 1


def test_batched_graphs_gather_as_alone() -> None:
    torch = torch_here()
    rows = [sample(seed) for seed in range(4)]
    arcs = directed_edges(rows, torch)
    offsets = arcs.offsets
    draw = torch.Generator().manual_seed(0)
    x, gates = torch.randn(int(offsets[-1]), WIDTH, generator=draw), torch.randn(4 * len(rows), WIDTH, generator=draw)
    together = arcs.aggregate(x, gates, arcs.owner * 4 + arcs.directed_relation)
    best = arcs.maximum(x[arcs.source])
    for at, row in enumerate(rows):
        own, part = directed_edges([row], torch), slice(int(offsets[at]), int(offsets[at + 1]))
        assert torch.equal(own.aggregate(x[part], gates[4 * at : 4 * at + 4], own.directed_relation), together[part])
        assert torch.equal(own.maximum(x[part][own.source]), best[part])
        assert torch.equal(own.degree, arcs.degree[part])
    assert arcs.owner.bincount().tolist() == [2 * len(row.heads) for row in rows]
