"""Communities of entities: nested partitions, with a modularity like that of networkx, and reproducible."""

from __future__ import annotations

import random
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, corpus_index
from tests.toys import as_networkx

from graphwright import Graph
from graphwright.errors import OptionError
from graphwright.graph import Kind
from graphwright.models.protocols import Floats
from graphwright.search import Communities, communities
from graphwright.search.clustering import clusters
from graphwright.search.vector_index import normalised

pytest.importorskip("igraph")


def rings(groups: int, size: int) -> Graph:
    """Cliques in a ring, the ends of neighbours joined by one edge."""
    triples = []
    for at in range(groups):
        names = [f"{at}-{i}" for i in range(size)]
        triples += [(a, "knows", b) for a, b in combinations(names, 2)]
        triples.append((names[-1], "knows", f"{(at + 1) % groups}-0"))
    return Graph.from_triples(triples)


def parts(result: Communities, level: int) -> list[set[int]]:
    return [set(result.members.row(at).tolist()) for at in result.at(level).tolist()]


def test_cliques_form_communities() -> None:
    graph = rings(6, 5)
    expected = [{graph.id(f"{at}-{i}") for i in range(5)} for at in range(6)]
    assert sorted(parts(communities(graph), 0), key=min) == sorted(expected, key=min)


@pytest.mark.parametrize("graph", [*GRAPHS.values(), corpus_index().graph], ids=repr)
def test_community_levels_are_nested(graph: Graph) -> None:
    result = communities(graph, max_size=2)
    simple = as_networkx(graph).subgraph(np.flatnonzero(graph.columns.kinds == Kind.ENTITY).tolist())
    joined = {v for v in simple if simple.degree(v)}
    assert result.level.tolist() == sorted(result.level.tolist())
    for level in range(int(result.level.max(initial=0)) + 2):
        here = parts(result, level)
        assert sum(map(len, here)) == len(set().union(*here))  # disjoint
        assert all(nx.is_connected(simple.subgraph(part)) for part in here)
        assert set().union(*here) == joined
        of = result.of_nodes(level)
        assert all(
            set(np.flatnonzero(of == at).tolist()) == set(result.members.row(at).tolist()) for at in result.at(level)
        )
    for at in range(len(result)):
        above = int(result.parent[at])
        assert (above == -1) == (result.level[at] == 0)
        if above >= 0:
            assert result.level[above] == result.level[at] - 1 and above < at
            assert set(result.members.row(at).tolist()) < set(result.members.row(above).tolist())


def test_communities_reach_modularity_of_independent_search() -> None:
    graph = GRAPHS["club"]
    simple = as_networkx(graph)
    ours = nx.community.modularity(simple, parts(communities(graph), 0))
    theirs = nx.community.modularity(simple, nx.community.greedy_modularity_communities(simple))
    assert ours >= theirs and ours > 0.41


def test_communities_repeat_per_seed_and_keep_global_random_state() -> None:
    triples = [graph.triple(int(e)) for graph in [rings(9, 3)] for e in graph.edges]
    random.seed(5)
    expected = random.random()
    random.seed(5)
    item, two = (communities(Graph.from_triples(triples), max_size=3, seed=1) for _ in range(2))
    assert random.random() == expected
    assert item.members.values.tolist() == two.members.values.tolist() and item.parent.tolist() == two.parent.tolist()
    graph = Graph.from_triples(triples)
    assert communities(graph) is communities(graph.part([0, 1, 2])) is not communities(graph, seed=2)


def test_communities_weigh_parallel_edges_and_ignore_passages() -> None:
    once = [(a, "r", b) for a, b in ["ab", "bc", "cd", "da"]]
    twice = Graph.from_triples([*once, *once[::2], *once[::2]])
    assert parts(communities(twice), 0) == [{0, 1}, {2, 3}]
    graph = corpus_index().graph
    members = communities(graph).members.values
    assert (graph.columns.kinds[members] == Kind.ENTITY).all()
    assert len(communities(Graph.from_triples([]))) == len(communities(Graph.from_triples([("a", "r", "a")]))) == 0


def test_communities_without_extra_name_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphwright.errors.find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r'pip install "graphwright\[communities\]"'):
        communities(GRAPHS["line"])


def some(count: int, seed: int, dimension: int = 5) -> Floats:
    return normalised(np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32))


@given(st.integers(0, 60), st.integers(1, 12), st.integers(0, 5))
def test_every_vector_has_one_cluster(count: int, size: int, seed: int) -> None:
    vectors = some(count, seed)
    result = clusters(vectors, size, seed)
    assert sorted(np.concatenate([[], *result]).astype(int).tolist()) == list(range(count))
    assert all(len(part) and (np.diff(part) > 0).all() for part in result)
    assert [part[0] for part in result] == sorted(part[0] for part in result)
    assert [part.tolist() for part in clusters(vectors, size, seed)] == [part.tolist() for part in result]


def test_near_vectors_share_cluster() -> None:
    middles = np.eye(6, dtype=np.float32)
    vectors = normalised(np.repeat(middles, 5, axis=0) + 0.05 * some(30, 1, 6))
    of = np.empty(30, int)
    for at, part in enumerate(clusters(vectors, 5)):
        of[part] = at
    # Two means may begin in one group; no cluster holds vectors of groups that another could have split off whole.
    apart = [len({of[i] for i in range(at, at + 5)}) for at in range(0, 30, 5)]
    assert sum(number == 1 for number in apart) >= 4
    within = [float((vectors[part] @ vectors[part].mean(axis=0)).mean()) for part in clusters(vectors, 5)]
    assert np.mean(within) > 0.7


def test_clusters_have_about_requested_size() -> None:
    for size in (5, 10, 20):
        result = clusters(some(1000, 2, 32), size)
        assert 0.6 * 1000 / size <= len(result) <= 1.4 * 1000 / size
