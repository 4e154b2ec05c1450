"""Paths against those of networkx."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.kernels.csr import group, undirected
from graphwright.kernels.paths import (
    ADJACENT,
    APART,
    joining_edges,
    meeting_nodes,
    paths_between,
    shortest_paths,
    simple_paths,
)

graphs = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=16),
        st.lists(st.integers(0, n - 1), max_size=3),
    )
)


def both(n, pairs):
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    theirs = nx.empty_graph(n)
    theirs.add_edges_from((a, b) for a, b in pairs if a != b)
    return theirs, undirected(n, ends[:, 0], ends[:, 1])


def listed(result):
    nodes, ptr = result
    return [nodes[a:b].tolist() for a, b in pairwise(ptr)]


def in_order(paths):
    return sorted(paths, key=lambda path: (len(path), path))


@given(graphs, st.integers(0, 5))
def test_simple_paths_equal_networkx(case, length):
    n, pairs, sources = case
    theirs, ours = both(n, pairs)
    expected = [
        path
        for source in set(sources)
        for target in theirs
        if target != source
        for path in nx.all_simple_paths(theirs, source, target, cutoff=length)
    ]
    result = listed(simple_paths(*ours, sources, length))
    assert result == in_order(expected)
    for k in (0, 1, 3, 1000):
        assert listed(simple_paths(*ours, sources, length, k)) == result[:k]


@given(graphs)
def test_shortest_paths_equal_networkx(case):
    n, pairs, sources = case
    theirs, ours = both(n, pairs)
    each = [
        list(nx.all_shortest_paths(theirs, source, target))
        for source in set(sources)
        for target in nx.node_connected_component(theirs, source) - {source}
    ]
    every = listed(shortest_paths(*ours, sources, every=True))
    item = listed(shortest_paths(*ours, sources))
    assert every == in_order(path for paths in each for path in paths)
    assert item == in_order(min(paths) for paths in each)
    for k in (0, 1, 3, 1000):
        assert listed(shortest_paths(*ours, sources, k=k)) == item[:k]
        assert listed(shortest_paths(*ours, sources, every=True, k=k)) == every[:k]


@given(graphs, st.data())
def test_joining_edges_are_smallest_ids(case, data):
    n, pairs, _ = case
    record = sorted(data.draw(st.sets(st.integers(0, len(pairs) - 1)))) if pairs else []
    heads, tails = np.array(pairs, np.int32).reshape(-1, 2).T
    rows = [group(n, ends, np.arange(len(pairs))) for ends in (heads, tails)]
    for some in (None, record):
        within = range(len(pairs)) if some is None else some
        least = {}
        for edge in reversed(within):
            least[pairs[edge]] = least[pairs[edge][::-1]] = edge
        item, other = ([pair[side] for pair in least] for side in (0, 1))
        assert joining_edges(item, other, *rows, heads, tails, some).tolist() == list(least.values())


def test_first_of_many_paths_cost_little():
    # Each of 40 squares in a row doubles the shortest paths: 2^40 to the last corner.
    steps = [(3 * i, 3 * i + side) for i in range(40) for side in (1, 2)]
    steps += [(3 * i + side, 3 * i + 3) for i in range(40) for side in (1, 2)]
    _, graph = both(121, steps)
    assert len(listed(shortest_paths(*graph, [0], every=True, k=5000))) == 5000
    full = undirected(300, *np.triu_indices(300, 1))
    assert listed(simple_paths(*full, [0], 200, 301))[-2:] == [[0, 1, 2], [0, 1, 3]]


def test_path_kernels_with_invalid_arguments_raise():
    graph = undirected(3, [0], [1])
    rows = group(3, [0], [0]), group(3, [1], [0])
    with pytest.raises(ValueError, match="sources holds 3"):
        simple_paths(*graph, [3], 2)
    with pytest.raises(ValueError, match="length is -1"):
        simple_paths(*graph, [0], -1)
    with pytest.raises(ValueError, match="nodes 0 and 2 are not joined"):
        joining_edges([0, 0], [1, 2], *rows, [0], [1])


cases = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30),
        st.lists(st.integers(0, n - 1), max_size=3),
        st.integers(0, n - 1),
        st.integers(0, 8),
    )
)


@given(cases)
def test_shortest_paths_between_two_nodes_equal_networkx(case):
    n, pairs, sources, target, limit = case
    theirs, ours = both(n, pairs)
    source = sources[0] if sources else 0
    known = sorted(nx.all_shortest_paths(theirs, source, target)) if nx.has_path(theirs, source, target) else []
    assert list(paths_between(*ours, source, target)) == known
    assert list(paths_between(*ours, source, target, limit)) == [path for path in known if len(path) <= limit + 1]


def test_invalid_sources_targets_and_limits_raise():
    graph = undirected(3, [0], [1])
    with pytest.raises(ValueError, match="target holds 3"):
        list(paths_between(*graph, 0, 3, 2))
    with pytest.raises(ValueError, match="limit is -1"):
        list(paths_between(*graph, 0, 1, -1))


@given(graphs, st.data())
def test_meeting_node_is_common_neighbour_with_fewest_of_its_own(case, data):
    n, pairs, _ = case
    theirs, ours = both(n, pairs)
    asked = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=9))
    expected = [
        ADJACENT
        if theirs.has_edge(*ends)
        else min(set(theirs[ends[0]]) & set(theirs[ends[1]]), key=lambda v: (theirs.degree[v], v), default=APART)
        for ends in asked
    ]
    first, second = np.array(asked, np.int64).reshape(-1, 2).T
    assert meeting_nodes(first, second, *ours).tolist() == expected
