"""Bubble expansion against a plain implementation and the best tree."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.kernels.plain_bubble import best_tree, is_connected, plain_bubble

from graphwright.kernels import bubble as kernel
from graphwright.kernels.bubble import bubble, node_costs
from graphwright.kernels.bubble_kernels import SETTLED
from graphwright.kernels.csr import undirected, workspace

# Vectors whose cosine with the first axis is a multiple of a quarter, to the bit: costs 0 to 1 in quarters.
QUARTERS = np.zeros((5, 16), np.float32)
QUARTERS[0, 0] = 2
QUARTERS[1, :8] = [3, 1, 1, 1, 1, 1, 1, 1]
QUARTERS[2, :4] = 1
QUARTERS[3] = 1
QUARTERS[4, 5] = 7
AXIS = np.eye(16)[0]


def _graph(n, pairs):
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    neighbours = [set() for _ in range(n)]
    for a, b in pairs:
        if a != b:
            neighbours[a].add(b)
            neighbours[b].add(a)
    return neighbours, undirected(n, ends[:, 0], ends[:, 1])


def _origins(groups):
    return [(g, v, -1) for g, group in enumerate(groups) for v in sorted(group)]


def _links(meeting):
    return {frozenset(pair) for walk in meeting.walks for pair in itertools.pairwise(walk)}


def _nodes(meeting):
    return {v for walk in meeting.walks for v in walk}


def _same(result, expected, origins):
    assert [_nodes(m) for m in result] == [nodes for nodes, _, _ in expected]
    assert [_links(m) for m in result] == [links for _, links, _ in expected]
    assert [{tuple(origins[o][:2]) for o in m.origins} for m in result] == [record for _, _, record in expected]


@st.composite
def cases(draw, most=12):
    n = draw(st.integers(2, most))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=24))
    groups = draw(st.lists(st.sets(node, min_size=1, max_size=3), min_size=1, max_size=4))
    levels = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return n, pairs, groups, levels


@given(cases(), st.integers(0, 5), st.sampled_from([1, 3, 10, 1000]))
@example((4, [(0, 1), (1, 2), (2, 3)], [{0}, {3}], [0, 4, 4, 0]), 6, 10)
def test_bubble_equals_plain_search_with_all_ties(case, hops, budget):
    n, pairs, groups, levels = case
    neighbours, graph = _graph(n, pairs)
    origins = _origins(groups)
    result = bubble(*graph, origins, node_costs(AXIS, QUARTERS[levels]), hops=hops, budget=budget)
    expected = plain_bubble(neighbours, [dict.fromkeys(g) for g in groups], np.array(levels) / 4, hops, budget)
    _same(result, expected, origins)


@pytest.mark.parametrize("n, m, groups, hops", [(60, 110, 3, 6), (100, 300, 5, 2), (400, 500, 2, 9), (300, 320, 4, 3)])
def test_bubble_on_larger_graphs_equals_plain_search(n, m, groups, hops):
    rng = np.random.default_rng(n + hops)
    for _ in range(4):
        neighbours, graph = _graph(n, [tuple(pair) for pair in rng.integers(0, n, (m, 2)).tolist()])
        named = [set(rng.choice(n, rng.integers(1, 5), replace=False).tolist()) for _ in range(groups)]
        vectors = rng.standard_normal((n, 24)).astype(np.float32)
        query = rng.standard_normal(24)
        cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
        costs = [Fraction(1 - c) for c in cosines.tolist()]  # a path and its reverse cost the same
        for budget in (10, 100_000):
            result = bubble(*graph, _origins(named), node_costs(query, vectors), hops=hops, budget=budget)
            expected = plain_bubble(neighbours, [dict.fromkeys(g) for g in named], costs, hops, budget)
            _same(result, expected, _origins(named))
    assert result


def test_bubble_terminal_of_edge_adds_other_end():
    # 4 - 0 - 1 - 2, where {0, 4} stands for an edge: the path from 2 ends at 0, and 4 comes with it.
    _, graph = _graph(5, [(4, 0), (0, 1), (1, 2)])
    result = bubble(*graph, [(0, 0, 4), (0, 4, 0), (1, 2, -1)], node_costs(AXIS, QUARTERS[[4] * 5]))
    assert [m.walks for m in result] == [((0, 4),), ((4, 0, 1, 2),)]
    assert result[1].origins == (0, 2)


def test_cost_is_one_minus_cosine_at_least_zero():
    # Eq. 4. Two ways from 0 to 1, by 2 (cost 0.4) or by 3: which is taken tells whether 3 costs less.
    _, graph = _graph(4, [(0, 2), (2, 1), (0, 3), (3, 1)])

    def by_three(three, query=(1.0, 0.0)):
        vectors = np.float32([[0, 1], [0, 1], [3, 4], three])  # the cosine of node 2 is 0.6
        return bubble(*graph, _origins([{0}, {1}]), node_costs(query, vectors), budget=1)[0].walks[0][1] == 3

    assert by_three([6.1, 8])  # its length does not count
    assert not by_three([5.9, 8])
    assert not by_three([0, 0])  # the zero vector costs 1
    assert not by_three([7, 8], query=(0.0, 0.0))  # all cost 1, and the smaller node is first
    assert by_three([1, 0])


def test_node_costs_look_up_rows_by_id():
    _, graph = _graph(6, [(0, 2), (2, 1), (0, 3), (3, 1), (0, 4), (4, 1), (0, 5), (5, 1)])

    def first(**ids):
        costs = node_costs([1.0, 0.0], [[1, 1], [2, 1], [9, 1]], [-1, -1, 0, 2, 1], **ids)
        return [m.walks[0][1] for m in bubble(*graph, _origins([{0}, {1}]), costs)]

    # Node 5 has no row, so it costs 1.
    assert first()[:3] == [3, 4, 2] and first()[-1] != 3
    assert first(ids=[0, 1, 3, 2, 4, 5])[0] == 2
    with pytest.raises(ValueError, match="ids of 2 nodes"):
        first(ids=[0, 1])


def test_bubble_limits_hops_exactly_despite_detours():
    line = [(i, i + 1) for i in range(6)]
    _, graph = _graph(7, line)
    costs = node_costs(AXIS, QUARTERS[[4] * 7])
    assert bubble(*graph, _origins([{0}, {6}]), costs, hops=2) == []
    assert bubble(*graph, _origins([{0}, {6}]), costs, hops=3)[0].walks == ((0, 1, 2, 3, 4, 5, 6),)
    # Node 4 is two hops from 0 by way of 1, which is dear, and three by a free detour, which is taken.
    _, graph = _graph(8, [(0, 1), (1, 3), (1, 4), (1, 5), (0, 2), (2, 3), (3, 4), (4, 6), (6, 5), (5, 7)])
    costs = node_costs(AXIS, QUARTERS[[0, 4, 0, 0, 0, 0, 0, 0]])
    assert bubble(*graph, _origins([{0}, {7}]), costs, hops=2)[0].walks == ((0, 2, 3, 4, 6, 5, 7),)
    assert bubble(*graph, _origins([{0}, {7}]), costs, hops=1)[0].walks == ((0, 1, 5, 7),)


def test_bubble_stops_where_no_two_terminals_can_meet(monkeypatch):
    # A line of three with a terminal at each end, beside one terminal in a component of 30,000.
    n = 30_000
    _, graph = _graph(n, [(0, 1), (1, 2), *((i, i + 1) for i in range(3, n - 1))])
    settled = []
    meetings = kernel._meetings
    monkeypatch.setattr(kernel, "_meetings", lambda t, m: settled.append(t.place[SETTLED]) or meetings(t, m))
    costs = node_costs(AXIS, QUARTERS[np.full(n, 2)])
    result = bubble(*graph, _origins([{0}, {2}, {3}]), costs, hops=n, budget=1000)
    assert [_nodes(m) for m in result] == [{0, 1, 2}]
    assert bubble(*graph, _origins([{3}]), costs, hops=n) == []
    assert settled[0] < 20 and settled[1] == 0
    # Its own component is searched while another terminal may be in it.
    assert bubble(*graph, _origins([{0}, {3}, {200}]), costs, hops=n, budget=1)[0].origins == (1, 2)


def test_bubble_hubs_grow_tables_and_leave_workspace_clean():
    # Each node between the two hubs joins them by a way of its own.
    n = 5000
    _, graph = _graph(n, [(hub, i) for i in range(2, n) for hub in (0, 1)])
    result = bubble(*graph, _origins([{0}, {1}]), node_costs(AXIS, QUARTERS[np.full(n, 3)]), budget=3000)
    assert [_nodes(m) for m in result] == [{0, 1, i} for i in range(2, 3002)]
    assert not workspace(n).marks.any()


def test_bubble_drops_candidates_with_or_within_the_nodes_of_others():
    # The hub joins three leaves: two of them, all three, and the other pairs; the leaves beside it add nothing.
    n = 200
    _, graph = _graph(n, [(0, i) for i in range(1, n)])
    result = bubble(*graph, _origins([{1}, {2}, {3}]), node_costs(AXIS, QUARTERS[np.full(n, 3)]), budget=100)
    assert [_nodes(m) for m in result] == [{0, 1, 2}, {0, 1, 2, 3}, {0, 1, 3}]


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"origins": [(0, 9, -1)]}, "origins holds 9"),
        ({"origins": [(0, 1, 9)]}, "mates of origins holds 9"),
        ({"origins": [(0, 1, -1), (2, 2, -1)]}, r"groups \[0, 2\]"),
        ({"origins": [(0, 1, -1), (0, 1, -1)]}, "twice"),
        ({"hops": -1}, "hops is -1"),
        ({"budget": -2}, "budget is -2"),
    ],
)
def test_nonsense_is_refused(wrong, message):
    _, graph = _graph(4, [(0, 1)])
    with pytest.raises(ValueError, match=message):
        bubble(*graph, **{"origins": [(0, 0, -1)], "costs": node_costs(AXIS, QUARTERS[[0] * 4]), **wrong})
    with pytest.raises(ValueError, match="the query has 16 numbers"):
        node_costs(AXIS, np.ones((3, 2)))


def test_bubble_of_nothing_is_empty():
    _, graph = _graph(3, [(0, 1)])
    costs = node_costs(AXIS, QUARTERS[[0] * 3])
    assert bubble(*graph, [], costs) == [] == bubble(*graph, [(0, 0, -1), (1, 1, -1)], costs, budget=0)


def test_bubble_best_candidate_is_near_best_tree():
    """Over 400 graphs of 9 nodes: never better than the best tree, never worse than (groups - 1) times it.

    The bound holds for every graph when all candidates are taken: seen from the terminal of one group in the best
    tree, each other group is no farther than that tree costs. With two groups the search is exact. Measured: a
    best tree is among the candidates of each. Of the graphs whose groups can be joined at all, the first ten
    candidates join all of two or three groups in 100 %, four in 98 %, five in 85 %, at the least cost in each.
    """
    rng = np.random.default_rng(3)
    ratios = {(m, budget): [] for m in (2, 3, 4, 5) for budget in (10, 10**6)}
    for at in range(400):
        m, n = 2 + at % 4, 9
        neighbours, graph = _graph(n, [tuple(pair) for pair in rng.integers(0, n, (13, 2)).tolist()])
        groups = [set(rng.choice(n, 1 + at % 3 // 2, replace=False).tolist()) for _ in range(m)]
        vectors = np.abs(rng.standard_normal((n, 2))).astype(np.float32)
        costs = (1 - vectors[:, 0] / np.linalg.norm(vectors, axis=1)).tolist()
        optimum = best_tree(neighbours, groups, costs)
        for budget in (10, 10**6):
            result = bubble(*graph, _origins(groups), node_costs([1.0, 0.0], vectors), budget=budget)
            ratios[m, budget].append(_worse_than(optimum, [_nodes(x) for x in result], groups, costs))
            for candidate in result:
                nodes = _nodes(candidate)
                assert is_connected(neighbours, nodes) and len(set(candidate.origins)) == len(candidate.origins) > 1
                assert len(nodes) > 1 or sum(nodes <= group for group in groups) > 1
        assert (ratios[m, 10**6][-1] is None) == (optimum is None)
    for (m, budget), each in ratios.items():
        joined = [ratio for ratio in each if ratio is not None]
        assert min(joined) > 0.999 and (budget == 10 or max(joined) < max(m - 1, 1) + 0.001)
        assert np.mean(joined) < 1.02
        assert len(joined) >= 0.8 * sum(ratio is not None for ratio in ratios[m, 10**6])


def _worse_than(optimum, candidates, groups, costs):
    """How often the least cost the cheapest candidate of all groups costs; None where there is none."""
    terminals = set.union(*groups)
    whole = [nodes for nodes in candidates if all(nodes & group for group in groups)]
    paid = [sum(costs[v] for v in nodes - terminals) for nodes in whole]
    return (min(paid) + 1e-3) / (optimum + 1e-3) if paid else None
