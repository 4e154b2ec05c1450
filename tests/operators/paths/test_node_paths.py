"""Path retrieval against networkx, on graphs with parallel edges, loops and narrowed parts.

FlowPaths on graphs: paths between the evidence, edges and texts, parts of a graph.

Orders of paths other than by reliability: by hops, and at random.
"""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, LINE, TRIPLES, corpus_index
from tests.toys import as_networkx, same

from graphwright import (
    Anchor,
    AnchorSearch,
    EnumeratedPaths,
    Evidence,
    FlowPaths,
    Graph,
    Rerank,
    ShortestPaths,
    VectorSearch,
    start,
)
from graphwright.errors import DataError, NeedsError, OptionError
from graphwright.models import HashEncoder
from graphwright.operators import HopFirst, NamesAndPhrases, Shuffled
from graphwright.operators.paths.node_paths import path_text
from graphwright.operators.state import State

# MetaQA in small: who directed, wrote and acted in what.
FILMS = [
    ("Heat", "directed_by", "Mann"),
    ("Heat", "starred_actors", "Pacino"),
    ("Heat", "written_by", "Mann"),
    ("Insider", "directed_by", "Mann"),
    ("Insider", "starred_actors", "Pacino"),
    ("Insider", "has_genre", "Drama"),
    ("Ali", "directed_by", "Mann"),
    ("Ali", "has_genre", "Drama"),
]

triples = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.sampled_from("rs"), st.sampled_from("abcdefg")), min_size=1, max_size=14
)


def walked(state: State) -> list[tuple[list[int], list[int]]]:
    assert state.evidence is not None
    return [(nodes.tolist(), edges.tolist()) for nodes, edges in state.evidence]


def with_edges(graph: Graph, paths: list[list[int]]) -> list[tuple[list[int], list[int]]]:
    """The paths in their order, each step by the smallest edge there is."""
    ordered = sorted(paths, key=lambda path: (len(path), path))
    return [(path, [int(graph.edges_between(a, b)[0]) for a, b in pairwise(path)]) for path in ordered]


def cases(graph: Graph, seed: int) -> tuple[Graph, list[int]]:
    """The graph, or a part of it, and one or two query entities of the whole."""
    part = graph if seed % 2 else graph.part([v for v in range(len(graph)) if v % 4 != seed % 4])
    return part, [seed % len(graph), (seed // 3) % len(graph)]


@given(triples, st.integers(0, 50))
def test_shortest_paths_equal_networkx(rows: list[tuple[str, str, str]], seed: int) -> None:
    graph, named = cases(Graph.from_triples(rows), seed)
    theirs = as_networkx(graph)
    each = [
        list(nx.all_shortest_paths(theirs, s, t))
        for s in set(named) & set(theirs)
        for t in set(nx.node_connected_component(theirs, s)) - {s}
    ]
    state = start("?", graph, anchors=[Anchor("q", [v]) for v in named])
    assert walked(ShortestPaths()(state)) == with_edges(graph, [min(paths) for paths in each])
    every = walked(ShortestPaths(all=True)(state))
    assert every == with_edges(graph, [p for paths in each for p in paths])
    for name in sorted({graph.names[v] for v in graph.nodes.tolist()})[:3]:
        ends = set(graph.ids(name).tolist())
        assert walked(ShortestPaths(all=True, to=name)(state)) == [path for path in every if path[0][-1] in ends]
        one = walked(ShortestPaths(to=name)(state))
        assert one == [path for path in walked(ShortestPaths()(state)) if path[0][-1] in ends]
        assert walked((ShortestPaths(to=name) % 1)(state)) == one[:1]


@given(triples, st.integers(0, 50), st.integers(1, 4))
def test_enumerated_paths_equal_networkx(rows: list[tuple[str, str, str]], seed: int, length: int) -> None:
    graph, named = cases(Graph.from_triples(rows), seed)
    theirs = as_networkx(graph)
    every = [
        path
        for s in set(named) & set(theirs)
        for t in set(theirs) - {s}
        for path in nx.all_simple_paths(theirs, s, t, cutoff=length)
    ]
    state = start("?", graph, anchors=[Anchor("both", named)])
    walks = walked(EnumeratedPaths(length)(state))
    assert walks == with_edges(graph, every)
    for k in (1, 4):
        assert walked((EnumeratedPaths(length) % k)(state)) == walks[:k]


def test_shortest_paths_equal_worked_example() -> None:
    graph = Graph.from_triples(FILMS)
    state = start("Who acted in the films that Mann directed?", graph, entities=["Mann"])
    evidence = ShortestPaths()(state).evidence
    assert evidence is not None and evidence.scores is not None
    # Of the two films that lead to Pacino, and to Drama, the one of the smaller id; of two edges to Heat the first.
    assert evidence.texts(graph) == [
        "Heat directed_by Mann",
        "Insider directed_by Mann",
        "Ali directed_by Mann",
        "Heat directed_by Mann; Heat starred_actors Pacino",
        "Insider directed_by Mann; Insider has_genre Drama",
    ]
    assert evidence.scores.tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 2, 1 / 3, 1 / 3])
    both = ShortestPaths(all=True)(state).evidence
    assert both is not None and len(both) == 7
    assert len(EnumeratedPaths(2)(state).evidence or ()) == 7
    # Insider and Ali lead to Pacino and Mann's other films by longer ways too.
    assert len(EnumeratedPaths(3)(state).evidence or ()) == 11


def test_enumerated_paths_rank_by_question() -> None:
    graph = Graph.from_triples(FILMS)
    state = start("Who starred as actors in films directed by Mann? Pacino", graph, entities=["Mann"])
    paths = ShortestPaths()(state)
    assert paths.evidence is not None
    question, *texts = HashEncoder().encode([state.question.text, *paths.evidence.texts(graph)])
    best = max(range(len(texts)), key=lambda i: float(texts[i] @ question))
    evidence = (ShortestPaths() >> Rerank(HashEncoder()) % 2)(state).evidence
    assert evidence is not None and len(evidence) == 2
    assert evidence.identities()[0] == paths.evidence.identities()[best]


def test_shortest_paths_to_unknown_target_raise() -> None:
    graph = Graph.from_triples([("a", "r", "b")])
    with pytest.raises(DataError, match="'c'"):
        ShortestPaths(to="c")(start("?", graph, entities=["a"]))


def test_paths_start_at_entities_anchors_or_evidence() -> None:
    graph = GRAPHS["family"]
    waldrada = graph.id("Waldrada")
    evidence = Evidence.of_nodes([waldrada])
    from_evidence = walked(EnumeratedPaths(1)(start("?", graph, evidence=evidence)))
    assert {nodes[0] for nodes, _ in from_evidence} == {waldrada}
    both = start("?", graph, entities=["Gisela"], evidence=evidence)
    assert {nodes[0] for nodes, _ in walked(EnumeratedPaths(1)(both))} == {graph.id("Gisela")}
    edge = start("?", graph, anchors=[Anchor("edge", edges=[0])])
    assert {nodes[0] for nodes, _ in walked(ShortestPaths()(edge))} == set(graph.ends([0]).tolist())
    for nowhere in (start("?", graph, anchors=()), start("?", graph, entities=["Nobody"])):
        for op in (ShortestPaths(), ShortestPaths(all=True) % 3, EnumeratedPaths(3)):
            assert walked(op(nowhere)) == []


@pytest.mark.parametrize("name", sorted(TRIPLES))
def test_paths_do_not_depend_on_numbering(name: str) -> None:
    graph, other = GRAPHS[name], Graph.from_triples(TRIPLES[name][::-1])
    entities = [graph.names[0], graph.names[len(graph) - 1]]
    for op in (ShortestPaths(all=True), EnumeratedPaths(2)):
        evidence = [op(start("?", g, entities=entities)).evidence for g in (graph, other)]
        by_name = [
            {tuple(g.names.take(nodes)): score for (nodes, _), score in zip(e, e.scores, strict=True)}  # type: ignore[arg-type]
            for g, e in zip((graph, other), evidence, strict=True)
            if e is not None
        ]
        assert by_name[0] == by_name[1] and by_name[0]


def test_too_many_paths_raise_with_remedy() -> None:
    state = start("?", GRAPHS["club"], entities=["member 0"])
    with pytest.raises(
        OptionError, match=r"EnumeratedPaths\(6, max_paths=1000\) finds more than 1,000 paths in Graph.*% k"
    ):
        EnumeratedPaths(6, max_paths=1000)(state)
    with pytest.raises(OptionError, match=r"ShortestPaths\(all=True, max_paths=40\) finds more than 40"):
        ShortestPaths(all=True, max_paths=40)(state)
    assert len((EnumeratedPaths(6, max_paths=1000) % 50)(state).evidence or ()) == 50
    assert len((EnumeratedPaths(30) % 5000)(state).evidence or ()) == 5000


SNAPSHOT = corpus_index().snapshot


def paths(graph: Graph, names: list[str], op: FlowPaths | None = None) -> dict[tuple[str, ...], float]:
    evidence = (op or FlowPaths())(start("?", graph, evidence=Evidence.of_nodes([graph.id(n) for n in names]))).evidence
    assert evidence is not None and evidence.scores is not None
    return {tuple(graph.names.take(nodes)): s for (nodes, _), s in zip(evidence, evidence.scores.tolist(), strict=True)}


def test_pathrag_retrieval_equals_worked_example() -> None:
    # Waldrada has three neighbours, Lothair II four. From Gisela flow 1, 0.7, 0.7 · 0.7/3 and 0.7/4 of that; from
    # Teutberga 1, 0.7, 0.7 · 0.7/4 and 0.7/3 of that, which is less.
    scores = paths(GRAPHS["family"], ["Gisela", "Teutberga"])
    score = (1 + 0.7 + 0.49 / 3 + 0.49 / 3 * 0.7 / 4) / 3
    assert scores == {("Gisela", "Waldrada", "Lothair II", "Teutberga"): pytest.approx(score)}


def test_flow_paths_without_pruning_equal_simple_paths() -> None:
    for name, graph in GRAPHS.items():
        ends = graph.nodes[:: max(1, len(graph) // 6)].tolist()
        op = FlowPaths(threshold=0.0, per_pair=10_000)
        evidence = op(start("?", graph, evidence=Evidence.of_nodes(ends))).evidence
        simple = as_networkx(graph)
        expected = {
            min(tuple(p), tuple(p[::-1]))
            for i, a in enumerate(ends)
            for b in ends[i + 1 :]
            for p in nx.all_simple_paths(simple, a, b, cutoff=3)
        }
        assert evidence is not None
        assert {min(n, n[::-1]) for n, _ in evidence.identities()} == expected, name


def test_flow_path_names_smallest_edge_and_all_parallel_texts() -> None:
    graph = Graph.from_triples([("b", "t", "a"), ("a", "r", "b"), ("b", "s", "c"), ("a", "r", "a"), ("b", "s", "c")])
    evidence = FlowPaths()(start("?", graph, evidence=Evidence.of_nodes([graph.id("a"), graph.id("c")]))).evidence
    assert evidence is not None
    nodes, edges = evidence.piece(0)
    assert graph.names.take(nodes) == ["a", "b", "c"] and edges.tolist() == [0, 2]
    assert evidence.texts(graph) == ["b t a; a r b; b s c; b s c"]
    assert evidence.top(1).render is path_text and evidence.take([0], [2.0]).texts(graph) == evidence.texts(graph)
    assert Evidence.of_trees(graph, [([1], []), ([], [2])], render=path_text).texts(graph) == ["a", "b s c"]


def test_flow_paths_stay_in_part() -> None:
    square = Graph.from_triples([("x", "r", "a"), ("a", "r", "b"), ("b", "r", "d"), ("a", "r", "c"), ("c", "r", "d")])
    ends = Evidence.of_nodes([square.id("a"), square.id("d")])
    part = square.part([square.id(n) for n in "acdx"])
    evidence = FlowPaths()(start("?", part, evidence=ends)).evidence
    # The better way round begins at d, which has one neighbour in the part; a has two there, x and c.
    assert evidence is not None and evidence.identities() == [((3, 4, 1), (4, 3))]
    assert evidence.scores is not None and evidence.scores[0] == pytest.approx((1 + 0.7 + 0.7 * 0.7 / 2) / 2)
    # Of the edges too only those of the part count, and an end outside it is none.
    bare = Graph(square.columns, part.nodes, np.array([0, 3]))
    assert len(FlowPaths()(start("?", bare, evidence=ends)).evidence) == 0  # type: ignore[arg-type]
    assert len(FlowPaths()(start("?", square.part([1, 2]), evidence=ends)).evidence) == 0  # type: ignore[arg-type]


def test_flow_paths_accept_triples_and_paths() -> None:
    graph = GRAPHS["family"]
    nodes = graph.ends([0, 5])
    plain = FlowPaths()(start("?", graph, evidence=Evidence.of_nodes(np.unique(nodes)))).evidence
    assert same(FlowPaths()(start("?", graph, evidence=Evidence.of_edges([0, 5]))).evidence, plain)
    mixed = Evidence.of_trees(graph, [(nodes[:2], [0]), (nodes[2:], [5])])
    assert same(FlowPaths()(start("?", graph, evidence=mixed)).evidence, plain)


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_flow_paths_do_not_depend_on_numbering(name: str) -> None:
    graph = GRAPHS[name]
    triples = [graph.triple(int(e)) for e in graph.edges]
    other = Graph.from_triples([triples[i] for i in np.random.default_rng(3).permutation(len(triples))])
    names = graph.names.take(graph.nodes[:: max(1, len(graph) // 5)])
    # Ties are broken by id, so every path is kept, and a path is the same both ways.
    both = [paths(g, names, FlowPaths(per_pair=10_000)) for g in (graph, other)]
    first, second = ({min(p, p[::-1]): s for p, s in scores.items()} for scores in both)
    assert first == pytest.approx(second)


def test_flow_paths_cut_equals_first_of_all() -> None:
    state = VectorSearch(SNAPSHOT.names)(start("Lothair II and Teutberga", SNAPSHOT.graph))
    whole = FlowPaths()(state).evidence
    assert whole is not None and len(whole) > 20
    for k in (1, 7, 20):
        assert same((FlowPaths() % k)(state).evidence, whole.top(k))
    for array in (whole.nodes, whole.edges, whole.scores):
        assert array is not None and not array.flags.writeable
    with pytest.raises(NeedsError, match="FlowPaths"):
        FlowPaths()(start("?", SNAPSHOT.graph))


def test_flow_paths_over_cost_limit_stay_short_with_note() -> None:
    clique = Graph.from_triples([(f"{a}", "r", f"{b}") for a in range(12) for b in range(a)])
    ends = Evidence.of_nodes([0, 5, 11])
    state = FlowPaths(threshold=0.0, hops=9, max_edges=2_000)(start("?", clique, evidence=ends))
    assert state.trace[-1].notes == (
        "paths from 3 of 3 nodes are shorter than 9 hops: the limit of 2,000 edges is reached; raise `threshold` or "
        "`max_edges`",
    )
    assert state.evidence is not None and len(state.evidence) == 9
    assert FlowPaths(threshold=0.0)(start("?", clique, evidence=ends)).trace[-1].notes == ()


QUESTION = "Which abbey did the mother of Lothair II found?"


def flow_paths(question: str = QUESTION) -> State:
    op = NamesAndPhrases() >> AnchorSearch(SNAPSHOT.names) % 40 >> FlowPaths()
    return op(start(question, SNAPSHOT.graph))


def items(state: State) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    assert state.evidence is not None
    return state.evidence.identities()


def test_hop_first_orders_by_length_stably() -> None:
    # Between two hubs little flows, (1 + 0.07 + ...) / 2; along a line much, (1 + 0.7 + 0.245 + 0.086) / 3.
    hubs = [(hub, "r", f"{hub} {i}") for hub in ("hub", "other") for i in range(9)]
    graph = Graph.from_triples([*hubs, ("hub", "r", "between"), ("between", "r", "other"), *LINE[:3]])
    ends = Evidence.of_nodes([graph.id(name) for name in ("hub", "other", "a", "d")])
    state = FlowPaths()(start("?", graph, evidence=ends))
    assert [len(edges) for _, edges in items(state)] == [3, 2]
    expected = sorted(items(state), key=lambda item: len(item[1]))
    after = HopFirst()(state)
    assert items(after) == expected != items(state)
    assert after.evidence is not None and after.evidence.scores is None
    assert after.evidence is not None and after.evidence.render is path_text  # its texts still have all parallel edges


def test_flow_at_published_decay_ranks_direct_edges_first() -> None:
    # One edge has 1 and more; two have at most (1 + 0.7 + 0.7 · 0.7 / 2) / 2, since the node between them has two.
    scored = [(len(edges), score) for edges, score in zip(*edges_and_scores(flow_paths()), strict=True)]
    assert min(score for hops, score in scored if hops == 1) > 1
    assert max(score for hops, score in scored if hops == 2) <= 0.9725


def edges_and_scores(state: State) -> tuple[list[tuple[int, ...]], list[float]]:
    assert state.evidence is not None and state.evidence.scores is not None
    return [edges for _, edges in items(state)], state.evidence.scores.tolist()


def test_shuffled_keeps_paths_and_varies_by_seed_and_question() -> None:
    state = flow_paths()
    orders = [items(Shuffled(seed)(state)) for seed in range(10)]
    assert all(sorted(order) == sorted(items(state)) for order in orders)
    assert len({tuple(order) for order in orders}) == 10
    assert items(Shuffled(3)(state)) == orders[3]
    other = start("Who?", SNAPSHOT.graph, evidence=state.evidence)
    assert items(Shuffled(3)(other)) != orders[3]


def test_path_order_cut_takes_first() -> None:
    state = flow_paths()
    for op in (HopFirst(), Shuffled(1)):
        assert items((op % 3)(state)) == items(op(state))[:3]


def test_path_order_accepts_other_items_and_empty() -> None:
    graph = GRAPHS["family"]
    mixed = Evidence.of_trees(graph, [([], [3]), ([1], []), ([0, 1], [0])], [0.9, 0.5, 0.1])
    assert items(HopFirst()(start("?", graph, evidence=mixed))) == [((1,), ()), ((), (3,)), ((0, 1), (0,))]
    for op in (HopFirst(), Shuffled()):
        assert len(op(start("?", graph, evidence=Evidence.of_nodes([]))).evidence) == 0  # type: ignore[arg-type]
        with pytest.raises(NeedsError, match=type(op).__name__):
            op(start("?", graph))
