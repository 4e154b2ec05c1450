"""Walks by relations against all simple walks, written down one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.kernels.csr import group
from graphwright.kernels.relation_paths import Front, Labelled, leading, walks_by
from graphwright.kernels.workspace import workspace

Triple = tuple[int, int, int]  # head, relation, tail
RELATIONS = 3


@st.composite
def worlds(draw: st.DrawFn) -> tuple[int, list[Triple]]:
    n = draw(st.integers(1, 7))
    node, relation = st.integers(0, n - 1), st.integers(0, RELATIONS - 1)
    return n, draw(st.lists(st.tuples(node, relation, node), max_size=16))


def labelled(n: int, triples: list[Triple]) -> Labelled:
    heads, relation, tails = np.array(triples, np.int32).reshape(-1, 3).T
    edges = np.arange(len(triples), dtype=np.int32)
    parts = (np.ascontiguousarray(part) for part in (heads, tails, relation))
    return Labelled(*group(n, heads, edges), *group(n, tails, edges), *parts)


def simple_walks(
    triples: list[Triple], walk: tuple[int, ...], ways: tuple[int, ...], length: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield every walk of `length` more steps that holds no node twice, with its ways."""
    if not length:
        yield walk, ways
        return
    for head, relation, tail in triples:
        for here, there, way in ((head, tail, 2 * relation + 1), (tail, head, 2 * relation)):
            if here == walk[-1] and there not in walk:
                yield from simple_walks(triples, (*walk, there), (*ways, way), length - 1)


@settings(deadline=None)
@given(worlds())
def test_one_step_leads_to_the_neighbours_by_each_relation_each_way(world: tuple[int, list[Triple]]) -> None:
    n, triples = world
    found = leading(labelled(n, triples), RELATIONS, Front.of(0), np.array([-1], np.int32), 0)
    wanted: dict[int, set[int]] = {}
    for (_, end), (way,) in simple_walks(triples, (0,), (), 1):
        wanted.setdefault(way, set()).add(end)
    assert {way: set(front.nodes.tolist()) for way, front in found.items()} == wanted
    for way, front in found.items():
        assert len(set(front.nodes.tolist())) == len(front.nodes) and (front.parents == 0).all()
        for node, edge in zip(front.nodes.tolist(), front.edges.tolist(), strict=True):
            head, relation, tail = triples[edge]
            assert relation == way >> 1 and (head, tail) == ((0, node) if way & 1 else (node, 0))
        only = leading(labelled(n, triples), RELATIONS, Front.of(0), np.array([-1], np.int32), 0, way)
        assert list(only) == [way] and only[way].nodes.tolist() == front.nodes.tolist()
    assert not workspace(n).marks.any()


@settings(deadline=None)
@given(worlds(), st.lists(st.integers(0, 2 * RELATIONS - 1), min_size=1, max_size=4))
def test_every_walk_by_given_ways_is_found_once(world: tuple[int, list[Triple]], ways: list[int]) -> None:
    n, triples = world
    nodes, edges = walks_by(labelled(n, triples), 0, tuple(ways), 10_000)
    wanted = {walk for walk, by in simple_walks(triples, (0,), (), len(ways)) if by == tuple(ways)}
    assert {tuple(row) for row in nodes.tolist()} == wanted and len(nodes) == len(wanted)
    for along, by in zip(nodes.tolist(), edges.tolist(), strict=True):
        for at, edge in enumerate(by):
            head, relation, tail = triples[edge]
            ends = (along[at], along[at + 1])
            assert relation == ways[at] >> 1 and (head, tail) == (ends if ways[at] & 1 else ends[::-1])
    assert not workspace(n).marks.any()


def test_no_more_walks_than_asked_for() -> None:
    star = [(0, 0, leaf) for leaf in range(1, 6)]
    assert walks_by(labelled(6, star), 0, (1,), 2)[0].tolist() == [[0, 1], [0, 2]]
