"""The distance encoding, against a plain loop over edges and against the walks that there are."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.learn.retrievers.distances import distances, width

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
    return distances(n, heads, tails, np.array(sources, np.int64), rounds)


def arcs_of(edges: Edges) -> list[Edges]:
    """Along the edges, against them, and both ways."""
    back = [(b, a) for a, b in edges]
    return [edges, back, edges + back]


@given(worlds())
def test_each_round_gives_a_node_the_mean_over_those_before_it(world: tuple[int, Edges, list[int], int]) -> None:
    n, edges, sources, rounds = world
    first = [1.0 if v in sources else 0.0 for v in range(n)]
    columns = [first]
    for arcs in arcs_of(edges):
        value = first
        for _ in range(rounds):
            before = [[value[a] for a, b in arcs if b == v] for v in range(n)]
            value = [sum(some) / len(some) if some else 0.0 for some in before]
            columns.append(value)
    found = encoded(*world)
    assert found.dtype == np.float32 and found.shape == (n, width(rounds))
    assert found == pytest.approx(np.array(columns).T ** 0.25, abs=1e-6)


@given(worlds())
def test_what_no_walk_of_so_many_steps_leads_to_has_nothing(world: tuple[int, Edges, list[int], int]) -> None:
    n, edges, sources, rounds = world
    found = encoded(*world)
    for direction, arcs in enumerate(arcs_of(edges)):
        graph = nx.MultiDiGraph(arcs)
        graph.add_nodes_from(range(n))
        at = set(sources)
        for step in range(rounds):
            at = {v for u in at for v in graph.successors(u)}
            assert set(np.flatnonzero(found[:, 1 + direction * rounds + step]).tolist()) == at


def test_a_node_far_from_all_else_is_told_by_its_size_only_as_a_root() -> None:
    # The hub has a thousand neighbours of which one is named: a mean of a thousandth, and its fourth root 0.18.
    star = [(0, leaf) for leaf in range(1, 1001)]
    found = encoded(1001, star, [1], 1)
    assert found[0] == pytest.approx([0.0, 0.0, 0.001**0.25, 0.001**0.25])
    assert found[1] == pytest.approx([1.0, 0.0, 0.0, 0.0])
