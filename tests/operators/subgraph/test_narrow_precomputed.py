"""Communities as subgraphs: their seeds, their size, and their place in the graph."""

from __future__ import annotations

from tests.shared import GRAPHS, vectors_of

from graphwright import Evidence, Graph, Induce, VectorSearch, start
from graphwright.operators import CommunityOf
from graphwright.search import communities

# Three triangles in a row, and a node that nothing joins with another.
PAIRS = ["ab", "bc", "ca", "cx", "xy", "yz", "zx", "zp", "pq", "qr", "rp"]
GRAPH = Graph.from_triples([(a, "knows", b) for a, b in PAIRS] + [("alone", "is", "alone")])


def names(state_names: list[str], op: object = CommunityOf(max_nodes=3)) -> list[str]:
    result = op(start("?", GRAPH, entities=state_names)).evidence  # type: ignore[operator]
    assert result is not None and result.scores is None
    return GRAPH.names.take(result.nodes)


def test_community_of_seed_without_community_is_seed() -> None:
    assert names(["a"]) == ["a", "b", "c"]
    assert names(["q", "b"]) == ["a", "b", "c", "p", "q", "r"]
    assert names(["alone", "y"]) == ["x", "y", "z", "alone"]
    assert len(CommunityOf(3)(start("?", GRAPH, anchors=[])).evidence or ()) == 0


def test_community_of_orders_by_seed_score() -> None:
    state = start("?", GRAPH, evidence=Evidence.of_nodes([GRAPH.id("a"), GRAPH.id("q")], [0.2, 0.9]))
    result = (CommunityOf(max_nodes=3) % 3)(state).evidence
    assert result is not None and GRAPH.names.take(result.nodes) == ["p", "q", "r"]


def test_community_size_is_limited_and_shrinks_in_part() -> None:
    club = GRAPHS["club"]
    for largest in (5, 34):
        divided = communities(club, largest)
        result = CommunityOf(largest)(start("?", club, entities=["member 0"])).evidence
        wanted = divided.members.row(divided.of_nodes(int(divided.level.max()))[0])
        assert result is not None and result.nodes.tolist() == wanted.tolist()
    part = GRAPH.part([GRAPH.id(name) for name in "abx"])
    inside = (CommunityOf(3) >> Induce())(start("?", part, entities=["a"]))
    assert inside.graph.nodes.tolist() == [GRAPH.id("a"), GRAPH.id("b")]


def test_communities_of_vector_seeds_are_returned() -> None:
    both = CommunityOf(3) | VectorSearch(vectors_of(GRAPH)) % 1 >> CommunityOf(3)
    result = both(start("r", GRAPH, entities=["a"])).evidence
    assert result is not None and GRAPH.names.take(result.nodes) == ["a", "b", "c", "p", "q", "r"]


def test_community_parts_are_counted() -> None:
    after = (CommunityOf(3) >> Induce())(start("?", GRAPH, entities=["a", "q", "alone"]))
    assert after.trace[-1].notes == ("narrowed to 7 nodes and 7 edges in 3 connected components",)
