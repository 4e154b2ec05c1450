"""Walks by relations against all walks that count, written down one by one; chains against ReG's Algorithm 1."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.kernels.csr import group, readonly, workspace
from graphwright.kernels.walks import Front, Labelled, expand_chains, leading, walks_by

Triple = tuple[int, int, int]  # head, relation, tail
RELATIONS = 3


@st.composite
def worlds(draw: st.DrawFn, nodes: int = 1, least: int = 0, most: int = 16) -> tuple[int, list[Triple]]:
    """A small multigraph: loops, parallel edges, and the same triple twice."""
    n = draw(st.integers(nodes, 7))
    node, relation = st.integers(0, n - 1), st.integers(0, RELATIONS - 1)
    return n, draw(st.lists(st.tuples(node, relation, node), min_size=least, max_size=most))


def labelled(n: int, triples: list[Triple]) -> Labelled:
    heads, relation, tails = np.array(triples, np.int32).reshape(-1, 3).T
    edges = np.arange(len(triples), dtype=np.int32)
    parts = (np.ascontiguousarray(part) for part in (heads, tails, relation))
    return Labelled(*group(n, heads, edges), *group(n, tails, edges), *parts)


def plain_walks(
    triples: list[Triple],
    length: int,
    walk: tuple[int, ...] = (0,),
    ways: tuple[int, ...] = (),
    *,
    returning: bool = False,
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield every walk from 0 that comes to it no more, nor straight back by the relation that it came by; its ways.

    `returning`: it may come to 0 again, and take loops along them.
    """
    if not length:
        yield walk, ways
        return
    for head, relation, tail in set(triples):
        for here, there, way in ((head, tail, 2 * relation + 1), (tail, head, 2 * relation)):
            straight_back = ways and there == walk[-2] and way // 2 == ways[-1] // 2 and way != ways[-1]
            allowed = here != there or way % 2 if returning else here != there != 0
            if here == walk[-1] and allowed and not straight_back:
                yield from plain_walks(triples, length - 1, (*walk, there), (*ways, way), returning=returning)


@given(worlds())
def test_leading_one_step_gives_neighbours_by_relation_and_direction(world: tuple[int, list[Triple]]) -> None:
    n, triples = world
    result = leading(labelled(n, triples), RELATIONS, Front.of(0), np.array([-1], np.int32), 0)
    wanted: dict[int, set[int]] = {}
    for (_, end), (way,) in plain_walks(triples, 1):
        wanted.setdefault(way, set()).add(end)
    assert {way: set(front.nodes.tolist()) for way, front in result.items()} == wanted
    for way, front in result.items():
        assert len(set(front.nodes.tolist())) == len(front.nodes) and (front.parents == 0).all()
        for node, edge in zip(front.nodes.tolist(), front.edges.tolist(), strict=True):
            head, relation, tail = triples[edge]
            assert relation == way >> 1 and (head, tail) == ((0, node) if way & 1 else (node, 0))
    assert not workspace(n).marks.any()


@given(worlds(4, 8, 12), st.booleans())
def test_leading_gives_ends_of_all_walks(world: tuple[int, list[Triple]], returning: bool) -> None:
    n, triples = world
    graph, source = labelled(n, triples), -1 if returning else 0
    level = {(): (Front.of(0), np.array([-1], np.int32), -1)}
    for length in range(1, 5):
        longer = {}
        for ways, (front, before, came) in level.items():
            result = leading(graph, RELATIONS, front, before, source, came)
            for way, on in result.items():
                longer[*ways, way] = on, front.nodes[on.parents], way
            for way in range(2 * RELATIONS):
                alone = leading(graph, RELATIONS, front, before, source, came, way)
                assert [(at, on.nodes.tolist()) for at, on in alone.items()] == [
                    (at, on.nodes.tolist()) for at, on in result.items() if at == way
                ]
        level, wanted = longer, dict[tuple[int, ...], set[int]]()
        for walk, ways in plain_walks(triples, length, returning=returning):
            wanted.setdefault(ways, set()).add(walk[-1])
        assert {ways: sorted(front.nodes.tolist()) for ways, (front, *_) in level.items()} == {
            ways: sorted(ends) for ways, ends in wanted.items()
        }


@given(worlds(4, 8, 12), st.lists(st.integers(0, 2 * RELATIONS - 1), min_size=1, max_size=4), st.booleans())
def test_walks_by_gives_every_walk_once(world: tuple[int, list[Triple]], any_ways: list[int], returning: bool) -> None:
    n, triples = world
    wanted: dict[tuple[int, ...], set[tuple[int, ...]]] = {tuple(any_ways): set()}
    for walk, ways in plain_walks(triples, len(any_ways), returning=returning):
        wanted.setdefault(ways, set()).add(walk)
    for ways in list(wanted)[:30]:
        nodes, edges = walks_by(labelled(n, triples), 0, ways, 10_000, returning)
        assert {tuple(row) for row in nodes.tolist()} == wanted[ways] and len(nodes) == len(wanted[ways])
        for along, by in zip(nodes.tolist(), edges.tolist(), strict=True):
            for at, edge in enumerate(by):
                head, relation, tail = triples[edge]
                ends = (along[at], along[at + 1])
                assert relation == ways[at] >> 1 and (head, tail) == (ends if ways[at] & 1 else ends[::-1])
                assert edge == triples.index(triples[edge])  # of parallel ones the first
    assert not workspace(n).marks.any()


def test_walks_by_turns_back_only_by_another_relation() -> None:
    director, writer = 0, 1
    heat, mann, ali = range(3)
    triples = [(heat, director, mann), (ali, director, mann), (ali, writer, mann), (heat, writer, mann)]
    graph, to, back, wrote = labelled(3, triples), 2 * director + 1, 2 * director, 2 * writer + 1
    assert walks_by(graph, heat, (to, back, wrote), 9)[0].tolist() == [[heat, mann, ali, mann]]
    assert walks_by(graph, heat, (to, back, to), 9)[0].tolist() == []
    assert walks_by(graph, heat, (to, 2 * writer), 9)[0].tolist() == [[heat, mann, ali]]


def test_walks_by_returning_may_end_at_source() -> None:
    spouse, wrote = 0, 1
    ida, udo = range(2)
    graph = labelled(2, [(ida, spouse, udo), (udo, spouse, ida), (ida, wrote, ida)])
    to, to_of, loop = 2 * spouse + 1, 2 * spouse, 2 * wrote + 1
    assert walks_by(graph, ida, (to, to), 9, returning=True)[0].tolist() == [[ida, udo, ida]]
    assert walks_by(graph, ida, (to, to), 9)[0].tolist() == []
    assert walks_by(graph, ida, (to, to_of), 9, returning=True)[0].tolist() == []
    assert walks_by(graph, ida, (loop, to), 9, returning=True)[0].tolist() == [[ida, ida, udo]]


def test_walks_by_stops_at_max_walks() -> None:
    star = [(0, 0, leaf) for leaf in range(1, 6)]
    assert walks_by(labelled(6, star), 0, (1,), 2)[0].tolist() == [[0, 1], [0, 2]]


class Chain(NamedTuple):
    nodes: tuple[int, ...]
    triples: tuple[int, ...]


def algorithm_1(ways: list[tuple[int, int, int]], entities: set[int], longest: int | None) -> list[Chain]:
    """The queue of Algorithm 1 over (triple, from, to), with DESIGN's rules: a chain holds no node twice, and may go
    on from another query entity."""
    queue = deque(Chain((a, b), (i,)) for i, a, b in ways if a in entities and a != b)
    visited: set[tuple[int, int]] = set()
    result = []
    while queue:
        chain = queue.popleft()
        result.append(chain)
        if longest is not None and len(chain.triples) >= longest:
            continue
        for i, a, b in ways:
            if a == chain.nodes[-1] and b not in chain.nodes and (chain.nodes[0], b) not in visited:
                visited.add((chain.nodes[0], b))
                queue.append(Chain((*chain.nodes, b), (*chain.triples, i)))
    return result


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
def chain_worlds(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], set[int], int | None]:
    n = draw(st.integers(1, 9))
    node = st.integers(0, n - 1)
    triples = draw(st.lists(st.tuples(node, node), max_size=24))
    return n, triples, draw(st.sets(node, max_size=3)), draw(st.none() | st.integers(1, 4))


@given(chain_worlds())
def test_expand_chains_equals_algorithm_1_over_both_directions(world) -> None:
    n, triples, entities, longest = world
    assert ours(n, triples, entities, length=longest) == algorithm_1(both_ways(triples), entities, longest)


@given(chain_worlds())
def test_expand_chains_without_inverse_equals_algorithm_1_and_its_mirror(world) -> None:
    n, triples, entities, longest = world
    forth = algorithm_1([(i, h, t) for i, (h, t) in enumerate(triples)], entities, longest)
    back = algorithm_1([(i, t, h) for i, (h, t) in enumerate(triples)], entities, longest)
    mirrored = [Chain(chain.nodes[::-1], chain.triples[::-1]) for chain in back]
    result = ours(n, triples, entities, length=longest, inverse=False)
    assert sorted(result) == sorted(forth + mirrored)
    # Each in its own order, and the shorter ones first.
    if not set(forth) & set(mirrored):
        assert [chain for chain in result if chain in forth] == forth
        assert [chain for chain in result if chain in mirrored] == mirrored
    assert [len(chain.triples) for chain in result] == sorted(len(chain.triples) for chain in result)


def test_expand_chains_equals_worked_example() -> None:
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


def test_expand_chains_takes_and_returns_read_only_arrays() -> None:
    arrays = [readonly(ids, np.int64) for ids in ([0, 1], [1, 2], [0])]
    for part in expand_chains(3, *arrays):
        assert not part.flags.writeable
    assert [part.tolist() for part in expand_chains(0, [], [], [])] == [[0], [], []]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((2, [0], [2], [0]), {}, "tails holds 2"),
        ((2, [0], [1], [2]), {}, "sources holds 2"),
        ((2, [0, 1], [1], [0]), {}, "heads holds 2 values and tails 1"),
        ((2, [0], [1], [0]), {"length": 0}, "length is 0"),
    ],
)
def test_expand_chains_invalid_input_raises_value_error(arguments, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        expand_chains(*arguments, **options)
