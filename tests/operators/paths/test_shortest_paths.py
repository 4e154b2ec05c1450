"""Path retrieval against networkx, on graphs with parallel edges, loops and narrowed parts."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, TRIPLES
from tests.toys import as_networkx

from graphwright import Anchor, EnumeratedPaths, Evidence, Graph, Rerank, ShortestPaths, State, start
from graphwright.errors import DataError, OptionError
from graphwright.models import HashEncoder

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
