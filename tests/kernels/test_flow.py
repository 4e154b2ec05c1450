"""Flow paths: the formulas by hand, and every simple path of small graphs by brute force."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.small_graphs import from_networkx

from graphwright.kernels.csr import undirected, workspace
from graphwright.kernels.flow import flow_paths

Found = dict[tuple[int, ...], Fraction]


def resources(graph: nx.Graph, start: int, decay: Fraction, theta: Fraction, hops: int) -> tuple[Found, set[int]]:
    """Eq. 2 in layers, Eq. 3 for each node: the resource of every node reached, and those that pass it on."""
    record, layer, passing = {start: Fraction(1)}, [start], set()
    for _ in range(hops + 1):
        coming: dict[int, Fraction] = {}
        for v in layer:
            if graph.degree(v) and record[v] / graph.degree(v) >= theta:
                passing.add(v)
                for u in graph[v]:
                    if u not in record:
                        coming[u] = coming.get(u, Fraction(0)) + decay * record[v] / graph.degree(v)
        record.update(coming)
        layer = list(coming)
    return {(v,): s for v, s in record.items()}, passing


def by_hand(
    graph: nx.Graph, ends: Iterable[int], decay: Fraction, theta: Fraction, hops: int, per_pair: int
) -> list[tuple[tuple[int, ...], Fraction]]:
    """List all simple paths between any two ends, score those that Eq. 3 leaves, and keep the best of each pair."""
    ends = sorted(set(ends))
    best: dict[tuple[int, int], dict[tuple[int, ...], tuple[Fraction, tuple[int, ...]]]] = {}
    for start in ends:
        record, passing = resources(graph, start, decay, theta, hops)
        for end in ends:
            for path in nx.all_simple_paths(graph, start, end, cutoff=hops) if end != start else ():
                if passing.issuperset(path[:-1]):
                    score = sum((record[(v,)] for v in path), Fraction(0)) / (len(path) - 1)
                    one_way = min(tuple(path), tuple(reversed(path)))
                    rivals = best.setdefault((min(start, end), max(start, end)), {})
                    mine = (-score, tuple(path))
                    rivals[one_way] = min(mine, rivals.get(one_way, mine))
    selected = [rival for rivals in best.values() for rival in sorted(rivals.values())[:per_pair]]
    return [(path, -score) for score, path in sorted(selected)]


def rows(table: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(v for v in row if v >= 0) for row in table.tolist()]


def check(graph: nx.Graph, ends: list[int], decay: str, theta: str, hops: int, per_pair: int) -> int:
    """Compare with the brute force, and return how many paths there are; θ must not be met exactly (see below)."""
    expected = by_hand(graph, ends, Fraction(decay), Fraction(theta), hops, per_pair)
    result = flow_paths(
        *from_networkx(graph), ends, decay=float(decay), threshold=float(theta), hops=hops, per_pair=per_pair
    )
    assert rows(result.nodes) == [path for path, _ in expected]
    assert result.scores.tolist() == pytest.approx([float(score) for _, score in expected], abs=1e-12)
    marks = workspace(1)
    assert not marks.marks.any() and not marks.rows.any()
    return len(expected)


# None of these is a fraction that a resource over a degree can be, so that rounding decides nothing.
THETAS = ["0", "0.0000317", "0.00317", "0.0131", "0.0317", "0.131", "0.317"]


@given(
    n=st.integers(2, 9),
    density=st.floats(0.15, 0.9),
    seed=st.integers(0, 10_000),
    decay=st.sampled_from(["0.7", "0.8", "0.35", "1"]),
    theta=st.sampled_from(THETAS),
    hops=st.integers(1, 5),
    per_pair=st.integers(1, 4),
    share=st.floats(0.2, 1),
)
def test_flow_paths_equal_brute_force(
    n: int, density: float, seed: int, decay: str, theta: str, hops: int, per_pair: int, share: float
) -> None:
    graph = nx.gnp_random_graph(n, density, seed=seed)
    ends = np.random.default_rng(seed).permutation(n)[: max(2, int(share * n))].tolist()
    check(graph, ends, decay, theta, hops, per_pair)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("theta", ["0.00317", "0.0317"])
def test_flow_paths_with_hubs_equal_brute_force(seed: int, theta: str) -> None:
    graph = nx.barabasi_albert_graph(30, 3, seed=seed)
    ends = np.random.default_rng(seed).permutation(30)[:8].tolist()
    assert check(graph, ends, "0.7", theta, 3, 3) > 3


@pytest.mark.parametrize(
    "graph",
    [nx.complete_graph(6), nx.cycle_graph(6), nx.star_graph(5), nx.grid_graph((3, 3)), nx.circulant_graph(8, [1, 4])],
)
def test_flow_paths_ties_of_symmetric_graphs_go_by_nodes(graph: nx.Graph) -> None:
    graph = nx.convert_node_labels_to_integers(graph)
    for per_pair in (1, 2, 3):
        assert check(graph, list(graph), "0.7", "0.00317", 3, per_pair)


def test_flow_equation_2_flows_in_layers() -> None:
    # s=0 - a=1, b=2; a - b; a, b - t=3. In layer 1: 0.7/2 each. Nothing flows from a to b, which are of one layer;
    # t gets 0.7 · 0.35/3 from each.
    graph = undirected(4, [0, 0, 1, 1, 2], [1, 2, 2, 3, 3])
    result = flow_paths(*graph, [0, 3], decay=0.7, threshold=0.0, hops=2)
    t = 2 * 0.7 * 0.35 / 3
    assert rows(result.nodes) == [(0, 1, 3), (0, 2, 3)]
    # The reverse is as good: the degrees of 0 and 3 are the same.
    assert result.scores.tolist() == pytest.approx([(1 + 0.35 + t) / 2] * 2)


def test_flow_equation_3_stops_at_nodes_below_threshold() -> None:
    # a - b - c - d: from a, S = 1, 0.7, 0.7 · 0.7/2 = 0.245, 0.245 · 0.7/2; over the degree 1, 0.35, 0.1225.
    line = undirected(4, [0, 1, 2], [1, 2, 3])

    def joined(theta: float) -> set[tuple[int, int]]:
        table = rows(flow_paths(*line, [0, 1, 2, 3], decay=0.7, threshold=theta).nodes)
        return {(min(path), max(path)) for path in table}

    assert joined(0.12) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    assert joined(0.13) == {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)}
    # What is not below θ passes: 0.7 / 2 at 0.35. At 0.36 b holds back what came from a, but still ends a path.
    assert joined(0.35) == joined(0.13)
    assert joined(0.36) == {(0, 1), (1, 2), (2, 3)}
    # The start is no exception: at 0.6 only a and d, of degree 1, pass anything on.
    assert joined(0.6) == {(0, 1), (2, 3)}
    assert joined(1.1) == set()


def test_flow_equation_4_divides_by_edges() -> None:
    line = undirected(4, [0, 1, 2], [1, 2, 3])
    result = flow_paths(*line, [0, 3], decay=0.7, threshold=0.01)
    assert rows(result.nodes) == [(0, 1, 2, 3)]
    assert result.scores[0] == pytest.approx((1 + 0.7 + 0.245 + 0.08575) / 3)


@pytest.mark.parametrize("ends", [[], [2], [0, 0], [0, 3]])
def test_flow_paths_without_pairs_are_empty(ends: list[int]) -> None:
    result = flow_paths(*undirected(4, [0, 1], [1, 2]), ends, decay=0.7, threshold=0.0)
    assert result.nodes.shape == (0, 4) and result.scores.shape == (0,)


def test_flow_paths_skip_edges_of_last_layer() -> None:
    # A hub two edges away, with no end beside it, costs nothing.
    wide = nx.path_graph(4)
    wide.add_edges_from((3, 100 + i) for i in range(5000))
    wide = nx.convert_node_labels_to_integers(wide)
    assert flow_paths(*from_networkx(wide), [0, 1], decay=0.7, threshold=0.0).touched < 100


def test_flow_paths_lengthen_within_max_edges() -> None:
    graph = nx.complete_graph(12)
    ends, theta = [0, 5, 11], Fraction(0)
    result = flow_paths(*from_networkx(graph), ends, decay=0.7, threshold=0.0, hops=8, max_edges=2_000)
    assert result.shortened == len(ends)
    # Three hops are always walked: one more, 12 · 11 · 10 edges and more, would still do, and five would not.
    four = by_hand(graph, ends, Fraction("0.7"), theta, 4, 3)
    assert rows(result.nodes) == [path for path, _ in four]
    assert result.nodes.shape[1] == 9
    assert not workspace(1).marks.any() and not workspace(1).rows.any()
    least = flow_paths(*from_networkx(graph), ends, decay=0.7, threshold=0.0, hops=8, max_edges=1)
    three = flow_paths(*from_networkx(graph), ends, decay=0.7, threshold=0.0, hops=3, max_edges=1)
    assert least.nodes[:, :4].tolist() == three.nodes.tolist() and (least.nodes[:, 4:] == -1).all()
    assert least.shortened == 3 and three.shortened == 0


def test_flow_paths_shorten_only_dense_ends() -> None:
    # A clique of 14 at one end of a line of six, whose other end is far from it.
    graph = nx.lollipop_graph(14, 6)
    result = flow_paths(*from_networkx(graph), [0, 13, 15, 19], decay=0.7, threshold=0.0, hops=5, max_edges=5_000)
    assert 0 < result.shortened < 4
    assert (19, 18, 17, 16, 15) in [max(path, path[::-1]) for path in rows(result.nodes)]


def test_flow_paths_many_hops_on_dense_graph_stay_bounded() -> None:
    graph = nx.gnp_random_graph(400, 0.2, seed=1)
    result = flow_paths(*from_networkx(graph), range(0, 400, 40), decay=0.7, threshold=0.0, hops=10, max_edges=10_000)
    assert result.shortened == 10
    # From each end: the edges of three hops, and the spread and the bound of the one more that was tried.
    assert result.touched < 10 * (8 * graph.number_of_edges() + 10_000)


@pytest.mark.parametrize(
    "bad", [{"decay": -0.1}, {"decay": 1.1}, {"hops": 0}, {"per_pair": 0}, {"max_edges": 0}, {"ends": [4]}]
)
def test_flow_paths_with_invalid_arguments_raise(bad: dict[str, object]) -> None:
    options = {"ends": [0, 1], "decay": 0.7, "threshold": 0.0, **bad}
    with pytest.raises(ValueError, match=r"decay is|hops is|ends holds 4"):
        flow_paths(*undirected(4, [0, 1], [1, 2]), **options)  # type: ignore[arg-type]


def test_flow_scores_descend_without_repeats() -> None:
    graph = nx.barabasi_albert_graph(60, 4, seed=3)
    result = flow_paths(*from_networkx(graph), list(range(0, 60, 2)), decay=0.7, threshold=1e-4)
    paths = rows(result.nodes)
    assert (np.diff(result.scores) <= 0).all() and not math.isnan(result.scores.sum())
    assert len({min(p, p[::-1]) for p in paths}) == len(paths)
    assert all(graph.has_edge(a, b) for p in paths for a, b in pairwise(p)) and all(
        len(set(p)) == len(p) for p in paths
    )
