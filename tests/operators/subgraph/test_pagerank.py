"""Walks against networkx."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
from tests.shared import GRAPHS
from tests.toys import as_networkx

from graphwright import Anchor, Evidence, Graph, Induce, KHop, PersonalizedPageRank, RandomWalk, start
from graphwright.operators import Operator, PageRank
from graphwright.operators.state import State


def scores(op: Operator, state: State) -> dict[int, float]:
    result = op(state).evidence
    assert result is not None and result.scores is not None
    return dict(zip(result.nodes.tolist(), result.scores.tolist(), strict=True))


def seeded(graph: Graph, nodes: Sequence[int], weights: Sequence[float] | None = None) -> State:
    return start("?", graph, evidence=Evidence.of_nodes(nodes, weights))


def pagerank(graph: Graph, seeds: dict[int, float], restart: float = 0.15) -> dict[int, float]:
    result = nx.pagerank(as_networkx(graph), 1 - restart, seeds, max_iter=2000, tol=1e-12)
    # The power iteration begins everywhere; what is left of that at nodes without a walk to them is noise.
    return {int(n): s for n, s in result.items() if s > 1e-9}


def part(name: str) -> Graph:
    """Every other node and some more: parts without links between them, and nodes alone."""
    graph = GRAPHS[name]
    return graph.part([n for n in graph.nodes.tolist() if n % 3 != 1])


CASES = [(name, narrowed) for name in sorted(GRAPHS) for narrowed in (False, True)]


@pytest.mark.parametrize(("name", "narrowed"), CASES)
def test_pagerank_equals_networkx(name: str, narrowed: bool) -> None:
    graph = part(name) if narrowed else GRAPHS[name]
    nodes = graph.nodes.tolist()
    first, last = nodes[0], nodes[-1]
    for restart in (0.15, 0.6):
        for seeds in ({first: 1.0}, {first: 0.75, last: 0.25}):
            result = scores(PersonalizedPageRank(restart), seeded(graph, list(seeds), list(seeds.values())))
            assert result == pytest.approx(pagerank(graph, seeds, restart), abs=1e-6)
    assert PersonalizedPageRank().restart == 0.15


@pytest.mark.parametrize(("name", "narrowed"), CASES)
def test_pagerank_of_all_nodes_matches_networkx(name: str, narrowed: bool) -> None:
    graph = part(name) if narrowed else GRAPHS[name]
    if not len(graph):
        return
    for restart in (0.15, 0.5):
        wanted = pagerank(graph, dict.fromkeys(graph.nodes.tolist(), 1.0), restart)
        assert scores(PageRank(restart), start("?", graph)) == pytest.approx(wanted, abs=1e-6)


def test_pagerank_of_all_nodes_ignores_anchors() -> None:
    graph = GRAPHS["club"]
    seen = [list(scores(PageRank() % 5, start("?", graph, evidence=Evidence.of_nodes([node])))) for node in (0, 16)]
    assert seen[0] == seen[1] and len(seen[0]) == 5


def test_pagerank_seeds_weigh_by_rank_or_anchor_weight() -> None:
    graph = GRAPHS["club"]
    wanted = pagerank(graph, {5: 1.0, 20: 1 / 2, 9: 1 / 3})
    assert scores(PersonalizedPageRank(), seeded(graph, [5, 20, 9])) == pytest.approx(wanted, abs=1e-6)
    anchors = [Anchor("a", [5, 7], weight=2.0), Anchor("b", edges=[3], weight=1.0)]
    ends = graph.ends([3]).tolist()
    seeds = {5: 1.0, 7: 1.0}
    for end in ends:
        seeds[end] = seeds.get(end, 0.0) + 0.5
    state = start("?", graph, anchors=anchors)
    assert scores(PersonalizedPageRank(), state) == pytest.approx(pagerank(graph, seeds), abs=1e-6)


def test_pagerank_each_is_best_of_single_runs() -> None:
    graph = GRAPHS["club"]
    single = [pagerank(graph, {n: 1.0}) for n in (0, 33, 16)]
    wanted = {n: max(run.get(n, 0.0) for run in single) for n in graph.nodes.tolist()}
    state = seeded(graph, [0, 33, 16], [0.7, 0.2, 0.1])
    assert scores(PersonalizedPageRank(each=True), state) == pytest.approx(wanted, abs=1e-6)
    best = list(scores(PersonalizedPageRank(each=True) % 5, state))
    assert best == sorted(wanted, key=lambda n: (-wanted[n], n))[:5]
    # One piece that means two nodes is one run from both.
    pair = start("?", graph, evidence=Evidence.of_edges([0], [1.0]))
    both = pagerank(graph, dict.fromkeys(graph.ends([0]).tolist(), 1.0))
    assert scores(PersonalizedPageRank(each=True), pair) == pytest.approx(both, abs=1e-6)


@pytest.mark.parametrize(("name", "narrowed"), CASES)
@pytest.mark.parametrize("hops", [0, 1, 3])
def test_khop_distance_equals_networkx(name: str, narrowed: bool, hops: int) -> None:
    graph = part(name) if narrowed else GRAPHS[name]
    seeds = {graph.nodes.tolist()[0], graph.nodes.tolist()[-1]}
    distance = nx.multi_source_dijkstra_path_length(as_networkx(graph), seeds, cutoff=hops)
    assert scores(KHop(hops), seeded(graph, sorted(seeds))) == {n: 1 / (1 + d) for n, d in distance.items()}


@pytest.mark.parametrize(
    "op", [PersonalizedPageRank(), PersonalizedPageRank(each=True), KHop(2), RandomWalk(50)], ids=repr
)
def test_walks_from_seeds_outside_part_are_empty(op: Operator) -> None:
    inside = GRAPHS["line"].part([2, 3, 4])
    assert scores(op, seeded(inside, [0, 1], [0.5, 0.5])) == {}
    mixed, alone = seeded(inside, [0, 2], [0.9, 0.1]), seeded(inside, [2], [0.1])
    assert scores(op, mixed) == pytest.approx(scores(op, alone)) and set(scores(op, mixed)) <= {2, 3, 4}
    assert scores(op, start("?", inside, anchors=())) == {}


def test_random_walks_repeat_per_seed() -> None:
    state = seeded(GRAPHS["club"], [0, 33])
    runs = [scores(RandomWalk(40, 5, seed=seed), state) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
    assert sum(runs[0].values()) == pytest.approx(1)


def test_random_walks_approach_pagerank() -> None:
    graph = GRAPHS["club"]
    result = scores(RandomWalk(2000, 100, restart=0.3), seeded(graph, [0, 33], [0.5, 0.5]))
    wanted = pagerank(graph, {0: 1.0, 33: 1.0}, 0.3)
    assert max(abs(result.get(n, 0.0) - s) for n, s in wanted.items()) < 0.01


def test_random_walks_stop_at_length() -> None:
    graph = GRAPHS["line"]
    assert set(scores(RandomWalk(200, 2), seeded(graph, [0]))) == {0, 1, 2}
    stuck = graph.part([0, 3, 4])
    assert scores(RandomWalk(7, 9), seeded(stuck, [0])) == {0: 1.0}
    assert np.isclose(scores(RandomWalk(7, 1), seeded(graph, [0]))[0], 0.5)


def test_pagerank_each_unites_anchors_by_best_share() -> None:
    graph = GRAPHS["club"]
    anchors = [Anchor("a", [5, 7]), Anchor("b", [20])]
    options = {"walks": 40, "length": 4, "restart": 0.1, "seed": 9}
    apart = [scores(RandomWalk(**options), start("?", graph, anchors=[item])) for item in anchors]  # type: ignore[arg-type]
    wanted = {node: max(run.get(node, 0.0) for run in apart) for node in {*apart[0], *apart[1]}}
    assert scores(RandomWalk(**options, each=True), start("?", graph, anchors=anchors)) == wanted  # type: ignore[arg-type]
    assert scores(RandomWalk(**options), start("?", graph, anchors=anchors)) != wanted  # type: ignore[arg-type]


def test_khop_of_anchors_is_union() -> None:
    graph = GRAPHS["club"]
    anchors = [Anchor("a", [5]), Anchor("b", [20, 26])]
    apart = [scores(KHop(2), start("?", graph, anchors=[item])) for item in anchors]
    wanted = {node: max(run.get(node, 0.0) for run in apart) for node in {*apart[0], *apart[1]}}
    assert scores(KHop(2), start("?", graph, anchors=anchors)) == wanted


def test_pagerank_after_khop_stays_within_hops() -> None:
    graph = GRAPHS["club"]
    state = start("?", graph, entities=["member 16"])
    chain = KHop(2) >> Induce() >> PersonalizedPageRank(each=True) % 4 >> Induce()
    near = graph.part(KHop(2)(state).evidence.nodes)  # type: ignore[union-attr]
    assert set(chain(state).graph.nodes.tolist()) < set(near.nodes.tolist()) and len(chain(state).graph) == 4
    assert scores(PersonalizedPageRank(), seeded(near, [16])) != scores(PersonalizedPageRank(), seeded(graph, [16]))
