"""Candidate paths, against all shortest paths as networkx finds them."""

from __future__ import annotations

import itertools

import networkx as nx
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.shared import GRAPHS

from graphwright import Graph
from graphwright.learn.candidates import ANSWER, QUERY, SHORTEST, Candidate, Example, Pool, candidate_pool, ppr_subgraph

NAMES = "abcdefg"
Ways = tuple[int, ...]


def example(entities: list[int], answers: list[int], text: str = "?") -> Example:
    return Example("q", text, tuple(entities), tuple(answers))


@st.composite
def asked(draw: st.DrawFn) -> tuple[Graph, Example, int]:
    """A small multigraph, all of it or a part, a question over its nodes, and how long paths may be."""
    name = st.sampled_from(NAMES)
    rows = draw(st.lists(st.tuples(name, st.sampled_from("rst"), name), min_size=1, max_size=16))
    graph = Graph.from_triples(rows)
    node = st.integers(0, len(graph) - 1)
    selected = draw(st.none() | st.sets(node, min_size=1))
    some = st.lists(node, min_size=1, max_size=3, unique=True)
    question = example(draw(some), draw(some))
    return graph if selected is None else graph.part(sorted(selected)), question, draw(st.integers(1, 4))


def between(graph: Graph, a: int, b: int) -> list[int]:
    """The ways of all edges that lead from one node to another, one for each edge."""
    c, result = graph.columns, []
    for edge in graph.edges.tolist():
        ends = int(c.heads[edge]), int(c.tails[edge])
        if a != b and ends in ((a, b), (b, a)):
            result.append(2 * int(c.relation[edge]) + (ends == (a, b)))
    return result


def plain_pool(graph: Graph, question: Example, length: int) -> tuple[dict[str, set[tuple[int, Ways]]], int]:
    """The candidates by pool, and the number of paths, all paths of all pairs walked one by one."""
    nodes = graph.nodes.tolist()
    simple = nx.Graph()
    simple.add_nodes_from(nodes)
    simple.add_edges_from((a, b) for a in nodes for b in nodes if between(graph, a, b))
    entities = [v for v in question.entities if v in nodes]
    answers = [v for v in question.answers if v in nodes and v not in entities]
    if not entities or not answers:
        return {}, 0
    hops = {e: nx.single_source_shortest_path_length(simple, e, length) for e in entities}
    chosen = max(answers, key=lambda a: max(hops[e].get(a, -1) for e in entities))
    result: dict[str, set[tuple[int, Ways]]] = {SHORTEST: set(), QUERY: set(), ANSWER: set()}
    paths = 0
    for entity, answer in itertools.product(entities, answers):
        walks = nx.all_shortest_paths(simple, entity, answer) if answer in hops[entity] else []
        for walk in walks:
            ways = list(itertools.product(*(between(graph, a, b) for a, b in itertools.pairwise(walk))))
            paths += len(ways)
            if answer == chosen:
                result[SHORTEST] |= {(entity, item) for item in ways}
    for node in (*entities, *answers):
        at = [way for other in nodes for way in between(graph, node, other)]
        paths += len(at)
        if node in entities:
            result[QUERY] |= {(node, (way,)) for way in at}
        if node == chosen:
            result[ANSWER] |= {(node, (way,)) for way in at}
    return result, paths


@given(asked())
def test_candidates_are_shortest_paths_and_end_edges(
    given: tuple[Graph, Example, int],
) -> None:
    graph, question, _ = given
    assume(any(v in graph and v not in question.entities for v in question.answers))
    wanted, paths = plain_pool(*given)
    result = candidate_pool(*given)
    assert result.paths == paths
    keys = [(c.source, c.ways) for c in result.candidates]
    assert len(keys) == len(set(keys)) and set(keys) == set().union(*wanted.values())
    # What is in more than one pool is listed as of the first.
    assert {(c.source, c.ways) for c in result.candidates if c.pool == SHORTEST} == wanted.get(SHORTEST, set())
    for c in result.candidates:
        assert c.pool == next(name for name in (SHORTEST, QUERY, ANSWER) if (c.source, c.ways) in wanted[name])


KIN = Graph.from_triples(
    [
        ("Ida", "child", "Udo"),
        ("Udo", "child", "Bea"),
        ("Ida", "heir", "Udo"),
        ("Ida", "child", "Ada"),
        ("Ada", "child", "Bea"),
        ("Bea", "spouse", "Kai"),
        ("Ida", "ward", "Kai"),
        ("Far", "child", "Off"),
    ]
)
IDA, UDO, BEA, ADA, KAI, FAR = map(KIN.id, ("Ida", "Udo", "Bea", "Ada", "Kai", "Far"))
CHILD, HEIR, SPOUSE, WARD = range(4)


def test_paths_of_same_relations_merge_at_farthest_answer() -> None:
    # Bea is two steps away and Kai one, so that the ward, which others of the answers are not, is no candidate path.
    result = candidate_pool(KIN, example([IDA], [KAI, BEA]))
    down, up = 2 * CHILD + 1, 2 * CHILD
    shortest = [c for c in result.candidates if c.pool == SHORTEST]
    assert shortest == [
        Candidate(IDA, (down, down), SHORTEST),
        Candidate(IDA, (2 * HEIR + 1, down), SHORTEST),
        Candidate(IDA, (2 * WARD + 1, 2 * SPOUSE), SHORTEST),
    ]
    assert Candidate(BEA, (up,), ANSWER) in result.candidates and Candidate(IDA, (down,), QUERY) in result.candidates
    assert KAI not in {c.source for c in result.candidates}
    # Ida → Kai: 1; Ida → Bea: by Udo (child or heir), by Ada, by Kai; edges: 4 at Ida, 3 at Bea, 2 at Kai.
    assert result.paths == 1 + 4 + 4 + 3 + 2


def test_equally_far_answers_merge_at_first_listed() -> None:
    assert {c.source for c in candidate_pool(KIN, example([BEA], [ADA, UDO])).candidates} == {BEA, ADA}
    assert {c.source for c in candidate_pool(KIN, example([BEA], [UDO, ADA])).candidates} == {BEA, UDO}


def test_unreachable_answer_has_end_edges_only() -> None:
    result = candidate_pool(KIN, example([IDA], [FAR]))
    assert {c.pool for c in result.candidates} == {QUERY, ANSWER} and result.paths == 4 + 1
    assert not any(c.pool == SHORTEST for c in candidate_pool(KIN, example([IDA], [BEA]), length=1).candidates)


def test_answer_named_in_question_is_reached_by_returning_walks() -> None:
    # Udo is a child and the heir; what leads there and back by one triple does not count.
    result = candidate_pool(KIN, example([IDA], [IDA]))
    assert [c for c in result.candidates if c.pool == SHORTEST] == [
        Candidate(IDA, (2 * CHILD + 1, 2 * HEIR), SHORTEST),
        Candidate(IDA, (2 * HEIR + 1, 2 * CHILD), SHORTEST),
    ]
    # Where two steps do not return, three may.
    ring = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")])
    result = candidate_pool(ring, example([0], [0]))
    assert [c.ways for c in result.candidates if c.pool == SHORTEST] == [(0, 0, 0), (1, 1, 1)]


def test_answer_out_of_reach_has_no_candidates() -> None:
    assert candidate_pool(KIN.part([UDO, BEA]), example([IDA], [BEA])) == Pool((), 0)


def test_surroundings_cover_each_named_entity() -> None:
    club = GRAPHS["club"]
    item, other = club.id("member 16"), club.id("member 26")
    around = ppr_subgraph(club, example([item, other], []), nodes=8)
    assert len(around) == 8 and item in around and other in around
    inside = [edge for edge in club.edges.tolist() if all(v in around for v in club.ends([edge]).tolist())]
    assert around.edges.tolist() == inside and inside
    assert len(ppr_subgraph(club, example([item], []))) == len(club)
