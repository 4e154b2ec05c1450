"""Walks by relations against all walks that count, written down one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.kernels.csr import group, workspace
from graphwright.kernels.relation_paths import Front, Labelled, leading, walks_by

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
    triples: list[Triple], length: int, walk: tuple[int, ...] = (0,), ways: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield every walk from 0 that comes to it no more, nor straight back by the relation that it came by; its ways."""
    if not length:
        yield walk, ways
        return
    for head, relation, tail in set(triples):
        for here, there, way in ((head, tail, 2 * relation + 1), (tail, head, 2 * relation)):
            straight_back = ways and there == walk[-2] and way // 2 == ways[-1] // 2 and way != ways[-1]
            if here == walk[-1] != there != 0 and not straight_back:
                yield from plain_walks(triples, length - 1, (*walk, there), (*ways, way))


@settings(deadline=None)
@given(worlds())
def test_one_step_leads_to_the_neighbours_by_each_relation_each_way(world: tuple[int, list[Triple]]) -> None:
    n, triples = world
    found = leading(labelled(n, triples), RELATIONS, Front.of(0), np.array([-1], np.int32), 0)
    wanted: dict[int, set[int]] = {}
    for (_, end), (way,) in plain_walks(triples, 1):
        wanted.setdefault(way, set()).add(end)
    assert {way: set(front.nodes.tolist()) for way, front in found.items()} == wanted
    for way, front in found.items():
        assert len(set(front.nodes.tolist())) == len(front.nodes) and (front.parents == 0).all()
        for node, edge in zip(front.nodes.tolist(), front.edges.tolist(), strict=True):
            head, relation, tail = triples[edge]
            assert relation == way >> 1 and (head, tail) == ((0, node) if way & 1 else (node, 0))
    assert not workspace(n).marks.any()


@settings(deadline=None)
@given(worlds(4, 8, 12))
def test_fronts_are_exactly_the_ends_of_all_walks_up_to_five_steps(world: tuple[int, list[Triple]]) -> None:
    n, triples = world
    graph = labelled(n, triples)
    level = {(): (Front.of(0), np.array([-1], np.int32), -1)}
    for length in range(1, 6):
        longer = {}
        for ways, (front, before, came) in level.items():
            found = leading(graph, RELATIONS, front, before, 0, came)
            for way, on in found.items():
                longer[*ways, way] = on, front.nodes[on.parents], way
            for way in range(2 * RELATIONS):
                alone = leading(graph, RELATIONS, front, before, 0, came, way)
                assert [(at, on.nodes.tolist()) for at, on in alone.items()] == [
                    (at, on.nodes.tolist()) for at, on in found.items() if at == way
                ]
        level, wanted = longer, dict[tuple[int, ...], set[int]]()
        for walk, ways in plain_walks(triples, length):
            wanted.setdefault(ways, set()).add(walk[-1])
        assert {ways: sorted(front.nodes.tolist()) for ways, (front, *_) in level.items()} == {
            ways: sorted(ends) for ways, ends in wanted.items()
        }


@settings(deadline=None)
@given(worlds(4, 8, 12), st.lists(st.integers(0, 2 * RELATIONS - 1), min_size=1, max_size=5))
def test_every_walk_by_given_ways_is_found_once(world: tuple[int, list[Triple]], any_ways: list[int]) -> None:
    n, triples = world
    wanted: dict[tuple[int, ...], set[tuple[int, ...]]] = {tuple(any_ways): set()}
    for walk, ways in plain_walks(triples, len(any_ways)):
        wanted.setdefault(ways, set()).add(walk)
    for ways in list(wanted)[:30]:
        nodes, edges = walks_by(labelled(n, triples), 0, ways, 10_000)
        assert {tuple(row) for row in nodes.tolist()} == wanted[ways] and len(nodes) == len(wanted[ways])
        for along, by in zip(nodes.tolist(), edges.tolist(), strict=True):
            for at, edge in enumerate(by):
                head, relation, tail = triples[edge]
                ends = (along[at], along[at + 1])
                assert relation == ways[at] >> 1 and (head, tail) == (ends if ways[at] & 1 else ends[::-1])
                assert edge == triples.index(triples[edge])  # of parallel ones the first
    assert not workspace(n).marks.any()


def test_a_walk_goes_back_by_another_relation_but_not_straight_back_nor_to_where_it_began() -> None:
    director, writer = 0, 1
    heat, mann, ali = range(3)
    triples = [(heat, director, mann), (ali, director, mann), (ali, writer, mann), (heat, writer, mann)]
    graph, to, back, wrote = labelled(3, triples), 2 * director + 1, 2 * director, 2 * writer + 1
    assert walks_by(graph, heat, (to, back, wrote), 9)[0].tolist() == [[heat, mann, ali, mann]]
    assert walks_by(graph, heat, (to, back, to), 9)[0].tolist() == []
    assert walks_by(graph, heat, (to, 2 * writer), 9)[0].tolist() == [[heat, mann, ali]]


def test_no_more_walks_than_asked_for() -> None:
    star = [(0, 0, leaf) for leaf in range(1, 6)]
    assert walks_by(labelled(6, star), 0, (1,), 2)[0].tolist() == [[0, 1], [0, 2]]
