"""Chains of triples against a plain reading of ReG's Algorithm 1."""

from __future__ import annotations

import itertools
from collections import deque
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.kernels.chains import expand_chains
from graphwright.kernels.csr import readonly


class Chain(NamedTuple):
    nodes: tuple[int, ...]
    triples: tuple[int, ...]


def algorithm_1(ways: list[tuple[int, int, int]], entities: set[int], longest: int | None) -> list[Chain]:
    """The queue of Algorithm 1 over (triple, from, to), with DESIGN's rules: a chain holds no node twice, and may go
    on from another query entity."""
    queue = deque(Chain((a, b), (i,)) for i, a, b in ways if a in entities and a != b)
    visited: set[tuple[int, int]] = set()
    found = []
    while queue:
        chain = queue.popleft()
        found.append(chain)
        if longest is not None and len(chain.triples) >= longest:
            continue
        for i, a, b in ways:
            if a == chain.nodes[-1] and b not in chain.nodes and (chain.nodes[0], b) not in visited:
                visited.add((chain.nodes[0], b))
                queue.append(Chain((*chain.nodes, b), (*chain.triples, i)))
    return found


def both_ways(triples: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    return [way for i, (h, t) in enumerate(triples) for way in ((i, h, t), (i, t, h))]


def ours(n: int, triples: list[tuple[int, int]], entities: set[int], **options: object) -> list[Chain]:
    heads, tails = [h for h, _ in triples], [t for _, t in triples]
    pointers, nodes, walked = expand_chains(n, heads, tails, sorted(entities), **options)  # type: ignore[arg-type]
    assert len(nodes) == len(walked) + len(pointers) - 1
    return [
        Chain(tuple(nodes[a + k : b + k + 1].tolist()), tuple(walked[a:b].tolist()))
        for k, (a, b) in enumerate(itertools.pairwise(pointers.tolist()))
    ]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], set[int], int | None]:
    n = draw(st.integers(1, 9))
    node = st.integers(0, n - 1)
    triples = draw(st.lists(st.tuples(node, node), max_size=24))
    return n, triples, draw(st.sets(node, max_size=3)), draw(st.none() | st.integers(1, 4))


@settings(deadline=None)
@given(worlds())
def test_with_inverses_they_are_those_of_algorithm_1_over_both_directions(world) -> None:
    n, triples, entities, longest = world
    assert ours(n, triples, entities, length=longest) == algorithm_1(both_ways(triples), entities, longest)


@settings(deadline=None)
@given(worlds())
def test_head_to_tail_they_are_those_of_algorithm_1_and_of_its_mirror_image(world) -> None:
    n, triples, entities, longest = world
    forth = algorithm_1([(i, h, t) for i, (h, t) in enumerate(triples)], entities, longest)
    back = algorithm_1([(i, t, h) for i, (h, t) in enumerate(triples)], entities, longest)
    mirrored = [Chain(chain.nodes[::-1], chain.triples[::-1]) for chain in back]
    found = ours(n, triples, entities, length=longest, inverse=False)
    assert sorted(found) == sorted(forth + mirrored)
    # Each in its own order, and the shorter ones first.
    if not set(forth) & set(mirrored):
        assert [chain for chain in found if chain in forth] == forth
        assert [chain for chain in found if chain in mirrored] == mirrored
    assert [len(chain.triples) for chain in found] == sorted(len(chain.triples) for chain in found)


@settings(deadline=None)
@given(worlds())
def test_every_prefix_is_a_chain_and_no_chain_holds_a_node_twice(world) -> None:
    n, triples, entities, longest = world
    found = set(ours(n, triples, entities, length=longest))
    for nodes, walked in found:
        assert len(set(nodes)) == len(nodes) and nodes[0] in entities
        assert len(walked) == 1 or Chain(nodes[:-1], walked[:-1]) in found


def test_a_worked_example() -> None:
    # 0 and 4 are asked for; 0 → 1 → 2 → 3 → 1, 1 → 3, and 4 → 1 → 0.
    triples = [(0, 1), (1, 2), (2, 3), (3, 1), (1, 3), (4, 1), (1, 0)]
    assert ours(5, triples, {0, 4}, inverse=False)[:9] == [
        Chain((0, 1), (0,)),
        Chain((4, 1), (5,)),
        Chain((1, 0), (6,)),
        Chain((0, 1, 2), (0, 1)),
        Chain((0, 1, 3), (0, 4)),
        Chain((4, 1, 2), (5, 1)),
        Chain((4, 1, 3), (5, 4)),
        Chain((4, 1, 0), (5, 6)),
        Chain((3, 1, 0), (3, 6)),
    ]


def test_a_node_is_extended_to_once_but_may_be_begun_with_as_well() -> None:
    # 0 → 1, 0 → 2 and 1 → 2, 1 → 3, 2 → 3: there are two ways to 3, and the first is taken.
    triples = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    forth = [Chain((0, 1), (0,)), Chain((0, 2), (1,)), Chain((0, 1, 2), (0, 2)), Chain((0, 1, 3), (0, 3))]
    assert ours(4, triples, {0}, inverse=False) == forth
    # Parallel triples at a query entity are chains of their own.
    assert ours(2, [(0, 1), (0, 1)], {0}) == [Chain((0, 1), (0,)), Chain((0, 1), (1,))]


def test_a_chain_of_any_length_and_many_sources() -> None:
    n = 3000
    line = [(i, i + 1) for i in range(n - 1)]
    assert len(ours(n, line, {0})[-1].triples) == n - 1
    assert len(ours(n, line, {0}, length=7)) == 7
    ring = [(i, (i + 1) % 60) for i in range(60)]
    assert len(ours(60, ring, set(range(60)), inverse=False, length=2)) == 60 * 4


def test_what_comes_back_is_frozen_and_inputs_may_be() -> None:
    arrays = [readonly(ids, np.int64) for ids in ([0, 1], [1, 2], [0])]
    for part in expand_chains(3, *arrays):
        assert not part.flags.writeable
    assert [part.tolist() for part in expand_chains(0, [], [], [])] == [[0], [], []]


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((2, [0], [2], [0]), {}, "tails holds 2"),
        ((2, [0], [1], [2]), {}, "sources holds 2"),
        ((2, [0, 1], [1], [0]), {}, "heads holds 2 nodes and tails 1"),
        ((2, [0], [1], [0]), {"length": 0}, "length is 0"),
    ],
)
def test_what_is_no_graph_is_refused(arguments, options, said) -> None:
    with pytest.raises(ValueError, match=said):
        expand_chains(*arguments, **options)
