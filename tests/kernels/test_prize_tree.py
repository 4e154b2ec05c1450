"""Prize-collecting trees against brute force."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.kernels.prize_tree import prize_tree

Edge = tuple[int, int]


def best_worth(n: int, edges: list[Edge], costs: list[float], prizes: list[float]) -> float:
    """The most that a tree can be worth: of every connected set of nodes, by its cheapest spanning tree."""
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    for (a, b), cost in zip(edges, costs, strict=True):
        if a != b and cost < graph.get_edge_data(a, b, {"cost": np.inf})["cost"]:
            graph.add_edge(a, b, cost=cost)
    best = 0.0
    for size in range(1, n + 1):
        for nodes in itertools.combinations(range(n), size):
            part = graph.subgraph(nodes)
            if nx.is_connected(part):
                paid = nx.minimum_spanning_tree(part, weight="cost").size(weight="cost")
                best = max(best, sum(prizes[v] for v in nodes) - paid)
    return best


def found_worth(n: int, edges: list[Edge], costs: list[float], prizes: list[float]) -> float:
    """What the tree found is worth, having checked that it is a tree of the graph."""
    heads, tails = [a for a, _ in edges], [b for _, b in edges]
    nodes, chosen = prize_tree(n, heads, tails, costs, prizes)
    assert nodes.dtype == chosen.dtype == np.int32
    assert (np.diff(nodes) > 0).all() and (np.diff(chosen) > 0).all()
    if not len(nodes):
        assert not any(prizes) and not len(chosen)
        return 0.0
    tree = nx.Graph()
    tree.add_nodes_from(nodes.tolist())
    tree.add_edges_from(edges[e] for e in chosen.tolist())
    assert set(tree) == set(nodes.tolist()) and nx.is_tree(tree) and tree.number_of_edges() == len(chosen)
    return float(sum(prizes[v] for v in nodes) - sum(costs[e] for e in chosen))


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, list[Edge], list[float], list[float]]:
    n = draw(st.integers(1, 7))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(ends, ends), max_size=14))
    costs = draw(st.lists(st.sampled_from([0.0, 0.3, 0.5, 0.5, 1.0, 2.0]), min_size=len(edges), max_size=len(edges)))
    prizes = draw(st.lists(st.sampled_from([0.0, 0.0, 0.2, 1.0, 2.0, 3.0, 5.0]), min_size=n, max_size=n))
    return n, edges, costs, prizes


@given(networks())
def test_prize_tree_keeps_bound_of_goemans_and_williamson(network: tuple[int, list[Edge], list[float], list[float]]):  # type: ignore[no-untyped-def]
    """The bound of Goemans and Williamson, on costs paid and prizes missed."""
    result, best, every = found_worth(*network), best_worth(*network), sum(network[3])
    assert result <= best + 1e-9
    assert every - result <= 2 * (every - best) + 1e-9


def test_prize_tree_is_nearly_always_best() -> None:
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(300):
        n = int(rng.integers(2, 8))
        edges = [(int(a), int(b)) for a, b in rng.integers(0, n, (int(rng.integers(1, 13)), 2))]
        costs = rng.choice([0.3, 0.5, 1.0, 2.0], len(edges)).tolist()
        prizes = rng.choice([0.0, 0.0, 1.0, 2.0, 5.0], n).tolist()
        missed += found_worth(n, edges, costs, prizes) < best_worth(n, edges, costs, prizes) - 1e-9
    assert missed <= 6


def test_prize_tree_equals_worked_number() -> None:
    # 3 and 2 are two edges of 0.5 apart: together 4. The 0.4 at the end does not pay for its edge.
    nodes, edges = prize_tree(4, [0, 1, 2], [1, 2, 3], [0.5, 0.5, 0.5], [3, 0, 2, 0.4])
    assert nodes.tolist() == [0, 1, 2] and edges.tolist() == [0, 1]
    # At a cost of 1.5 each the two prizes are worth more apart, and the larger is kept.
    nodes, edges = prize_tree(3, [0, 1], [1, 2], [1.5, 1.5], [3, 0, 2])
    assert nodes.tolist() == [0] and edges.tolist() == []


def test_prize_tree_ties_go_to_smaller_numbers() -> None:
    nodes, edges = prize_tree(2, [0, 0, 1], [1, 1, 0], [0.5, 0.5, 0.5], [1, 1])
    assert nodes.tolist() == [0, 1] and edges.tolist() == [0]
    nodes, _ = prize_tree(3, [], [], [], [1, 2, 2])
    assert nodes.tolist() == [1]


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ((2, [0], [2], [1.0], [1, 1]), "tails holds 2"),
        ((2, [0], [1, 1], [1.0], [1, 1]), "heads holds 1 values and tails 2"),
        ((2, [0], [1], [1.0, 2.0], [1, 1]), r"costs has shape \(2,\); pass 1"),
        ((2, [0], [1], [-1.0], [1, 1]), "costs has a negative or infinite value"),
        ((2, [0], [1], [1.0], [1, np.inf]), "prizes has a negative or infinite value"),
    ],
)
def test_prize_tree_invalid_input_raises_value_error(arguments: tuple[object, ...], output: str) -> None:
    with pytest.raises(ValueError, match=output):
        prize_tree(*arguments)  # type: ignore[arg-type]
