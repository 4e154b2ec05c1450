"""Chains and their merging against a plain reading of ReG, appendix D.4, over names."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphwright import Anchor, Chains, Evidence, Graph, MergeChains, start
from graphwright.errors import NeedsError
from graphwright.graph.items import path_item, tree_item
from graphwright.graph.walks import walks_along, ways_of
from graphwright.operators import Instances, RelationPaths
from graphwright.operators.state import State

Triple = tuple[str, str, str]
# The example of the paper's prompt (figure 7), and a second entity for the merging of several.
GIANTS = [
    ("Lou Seal", "sports.mascot.team", "San Francisco Giants"),
    ("San Francisco Giants", "sports.sports_team.championships", "2012 World Series"),
    ("San Francisco Giants", "sports.sports_team.championships", "2014 World Series"),
    ("San Francisco Giants", "sports.sports_team.championships", "2010 World Series"),
    ("Madison Bumgarner", "mvp of", "2014 World Series"),
]


def texts_of(triples: list[Triple], entities: list[str], steps: object, order: list[int] | None = None) -> list[str]:
    graph = Graph.from_triples(triples)
    known = [name for name in entities if len(graph.ids(name))]
    state = start("?", graph, entities=known, anchors=[Anchor(n, graph.ids(n)) for n in known])
    state = state.with_(evidence=Evidence.of_edges(order if order is not None else range(len(triples))))
    evidence = steps(state).evidence  # type: ignore[operator]
    assert evidence is not None and evidence.scores is None
    return evidence.texts(graph)


def test_chains_equal_paper_example() -> None:
    chains = texts_of(GIANTS, ["Lou Seal"], Chains(length=2, inverse=False))
    first = "Lou Seal → [sports.mascot.team] → San Francisco Giants"
    won = f"{first} → [sports.sports_team.championships] → "
    assert chains == [first, *(f"{won}{year} World Series" for year in (2012, 2014, 2010))]
    merged = texts_of(GIANTS, ["Lou Seal"], Chains(length=2) >> MergeChains())
    assert merged == [first, f"{won}2012 World Series; 2014 World Series; 2010 World Series"]
    # Each prefix is a chain, and beyond two triples there is one more, against a relation.
    assert texts_of(GIANTS, ["Lou Seal"], Chains())[4:] == [f"{won}2014 World Series → [mvp of⁻¹] → Madison Bumgarner"]


def test_merged_chains_group_entities_by_shared_targets() -> None:
    entities = ["Lou Seal", "Madison Bumgarner"]
    assert texts_of(GIANTS, entities, Chains(length=2, inverse=False) >> MergeChains()) == [
        "Lou Seal → [sports.mascot.team] → San Francisco Giants",
        "Madison Bumgarner → [mvp of] → 2014 World Series",
        "Lou Seal → [sports.mascot.team] → San Francisco Giants → [sports.sports_team.championships] → "
        "2014 World Series",
    ]


PARALLEL = [
    ("Q", "r0", "a"),
    ("a", "r1", "b"),
    ("a", "r2", "b"),
    ("a", "r2", "c"),
    ("a", "r1", "c"),
    ("a", "r1", "d"),
    ("b", "r2", "a"),
    ("a", "r1", "b"),
]


def test_parallel_chains_name_all_relations_of_a_step() -> None:
    assert texts_of(PARALLEL, ["Q"], Chains()) == [
        "Q → [r0] → a",
        "Q → [r0] → a → [r1] → b",
        "Q → [r0] → a → [r2] → c",
        "Q → [r0] → a → [r1] → d",
    ]
    # Appendix E of ReG: (h, r1, t); (h, r2, t) become (h, r1 ⊕ r2, t), so that r2 is not lost.
    chains = ["Q → [r0] → a", "Q → [r0] → a → [r1; r2] → b", "Q → [r0] → a → [r1; r2] → c", "Q → [r0] → a → [r1] → d"]
    assert texts_of(PARALLEL, ["Q"], Chains(parallel=True)) == chains
    assert texts_of(PARALLEL, ["b"], Chains(1, parallel=True)) == ["b → [r1⁻¹; r2⁻¹] → a", "b → [r2] → a"]
    assert texts_of(PARALLEL, ["c"], Chains(2, inverse=False, parallel=True)) == [
        "a → [r1; r2] → c",
        "Q → [r0] → a → [r1; r2] → c",
        "b → [r2] → a → [r1; r2] → c",
    ]


def test_parallel_chains_of_the_same_relations_merge() -> None:
    assert texts_of(PARALLEL, ["Q"], Chains(parallel=True) >> MergeChains()) == [
        "Q → [r0] → a",
        "Q → [r0] → a → [r1; r2] → b; c",
        "Q → [r0] → a → [r1] → d",
    ]
    inward = Chains(1, inverse=False, parallel=True) >> MergeChains()
    assert texts_of([*PARALLEL, ("e", "r1", "c"), ("e", "r2", "c")], ["c"], inward) == ["a; e → [r1; r2] → c"]


def test_parallel_steps_at_other_places_do_not_merge() -> None:
    first = [("Q", "r", "a"), ("Q", "s", "a"), ("a", "t", "x")]  # (r; s), t
    second = [("Q", "r", "b"), ("b", "s", "y"), ("b", "t", "y")]  # r, (s; t)
    texts = texts_of([*first, *second], ["Q"], Chains(parallel=True) >> MergeChains())
    assert texts[2:] == ["Q → [r; s] → a → [t] → x", "Q → [r] → b → [s; t] → y"]


def test_parallel_chains_without_parallel_triples_equal_chains() -> None:
    entities = ["Lou Seal", "Madison Bumgarner"]
    for steps in (lambda **o: Chains(**o), lambda **o: Chains(**o) >> MergeChains()):
        assert texts_of(GIANTS, entities, steps(parallel=True)) == texts_of(GIANTS, entities, steps())


def test_head_to_tail_chains_may_end_at_query_entity() -> None:
    film = [("x", "genre", "Drama"), ("y", "genre", "Drama"), ("A", "act", "x"), ("A", "act", "y")]
    assert texts_of(film, ["Drama"], Chains(inverse=False)) == [
        "x → [genre] → Drama",
        "y → [genre] → Drama",
        "A → [act] → x → [genre] → Drama",
    ]
    assert texts_of(film, ["Drama"], Chains(inverse=False) >> MergeChains()) == [
        "x; y → [genre] → Drama",
        "A → [act] → x → [genre] → Drama",
    ]
    # Between two query entities a chain is given once.
    assert texts_of(film[:1], ["x", "Drama"], Chains(inverse=False)) == ["x → [genre] → Drama"]
    assert texts_of(film[:1], ["x", "Drama"], Chains()) == ["x → [genre] → Drama", "Drama → [genre⁻¹] → x"]


def test_chains_follow_evidence_order() -> None:
    triples = [("q", "r", "a"), ("q", "s", "b"), ("a", "r", "c"), ("b", "s", "c")]
    first = "q → [r] → a → [r] → c"
    assert texts_of(triples, ["q"], Chains(2, inverse=False))[-1] == first
    other = texts_of(triples, ["q"], Chains(2, inverse=False), order=[1, 3, 0, 2])
    assert other == ["q → [s] → b", "q → [r] → a", "q → [s] → b → [s] → c"]


def test_chains_accept_scored_and_unscored_evidence() -> None:
    graph = Graph.from_triples([("q", "r", "a"), ("a", "r", "b"), ("b", "r", "c")])
    anchors = [Anchor("by an edge", edges=[0])]
    state = start("?", graph, anchors=anchors, evidence=Evidence.of_edges([1, 0, 1, 0]))
    assert Chains(inverse=False)(state).evidence.texts(graph) == [  # type: ignore[union-attr]
        "a → [r] → b",
        "q → [r] → a",
        "q → [r] → a → [r] → b",
    ]
    # Paths give their triples; nodes give none.
    paths = Evidence.of_trees(graph, [([1, 2, 3], [1, 2]), ([0], [])])
    assert Chains()(state.with_(evidence=paths)).evidence.texts(graph)[-1] == "a → [r] → b → [r] → c"  # type: ignore[union-attr]
    assert len(Chains()(state.with_(evidence=Evidence.of_nodes([0, 1]))).evidence) == 0  # type: ignore[arg-type]
    assert len(Chains()(state.with_(anchors=())).evidence) == 0  # type: ignore[arg-type]
    with pytest.raises(NeedsError, match="anchors"):
        Chains()(start("?", graph, evidence=Evidence.of_edges([0])))
    # Ids are those of the snapshot in a part of it too.
    part = state.with_(graph=graph.part([1, 2, 3]), anchors=(Anchor("a", [1]),), evidence=Evidence.of_edges([1, 2]))
    assert Chains()(part).evidence.identities()[-1] == ((1, 2, 3), (1, 2))  # type: ignore[union-attr]


def test_merge_keeps_other_items_in_place() -> None:
    graph = Graph.from_triples([("q", "r", "a"), ("q", "r", "b"), ("c", "r", "q")])
    state = start("?", graph, entities=["q"])
    no_walks = [([0, 1], [0]), ([3], []), ([], []), ([], [2]), ([1, 2], [0, 1]), ([], [1])]
    pieces = Evidence.of_items([*(tree_item(graph, *piece) for piece in no_walks), path_item(graph, [0, 1, 0], [0, 0])])
    merged = MergeChains()(state.with_(evidence=pieces)).evidence
    assert merged is not None
    assert merged.identities() == [
        ((0, 1, 2), (0, 1)),
        ((3,), ()),
        ((), ()),
        ((3, 0), (2,)),
        ((1, 2), (0, 1)),
        ((0, 1, 0), (0, 0)),
    ]


@dataclass
class Walk:
    """A chain by its nodes and by relation and direction of each step, in walk order."""

    nodes: tuple[str, ...]
    ways: tuple[tuple[str, bool], ...]

    def ending(self, entity: str) -> Walk:
        """The same, read the other way, where it ends at an entity that it does not begin at."""
        return Walk(self.nodes[::-1], tuple((r, not forward) for r, forward in self.ways[::-1]))


def plain_chains(ways: list[tuple[str, str, bool, str]], entities: set[str], longest: int | None) -> list[Walk]:
    queue = deque(Walk((a, b), ((r, f),)) for a, r, f, b in ways if a in entities and a != b)
    visited: set[tuple[str, str]] = set()
    chains = []
    while queue:
        chain = queue.popleft()
        chains.append(chain)
        for a, r, f, b in ways if longest is None or len(chain.ways) < longest else ():
            pair = chain.nodes[0], b
            if a == chain.nodes[-1] and b not in chain.nodes and pair not in visited:
                visited.add(pair)
                queue.append(Walk((*chain.nodes, b), (*chain.ways, (r, f))))
    return chains


def line(levels: list[list[str]], ways: tuple[tuple[str, bool], ...]) -> str:
    parts = ["; ".join(dict.fromkeys(levels[0]))]
    for (relation, forward), level in zip(ways, levels[1:], strict=True):
        parts += [f"[{relation}{'' if forward else '⁻¹'}]", "; ".join(dict.fromkeys(level))]
    return " → ".join(parts)


def plain_merged(chains: list[Walk]) -> list[tuple[list[str], list[str]]]:
    """Appendix D.4.2 over outward chains: merged paths, then groups of them, by the words of DESIGN.

    Each is a line, and the lines that may stand in its place: those of its chains, where a node is reached after
    different hops, so that the line may be ambiguous.
    """
    paths: dict[tuple[str, object], list[Walk]] = {}
    for chain in chains:
        paths.setdefault((chain.nodes[0], chain.ways), []).append(chain)
    groups: list[tuple[list[tuple[str, object]], set[str]]] = []
    for key, walks in paths.items():
        targets = {walk.nodes[-1] for walk in walks}
        for members, shared in groups:
            if all(key[0] != source for source, _ in members) and shared & targets:
                members.append(key)
                shared &= targets
                break
        else:
            groups.append(([key], targets))
    merged = []
    for members, shared in groups:
        for key in members:
            selected = [w for w in paths[key] if len(members) == 1 or w.nodes[-1] in shared]
            levels = [list(level) for level in zip(*(w.nodes for w in selected), strict=True)]
            if selected:
                one = [line(levels, selected[0].ways)]
                apart = len({node for level in levels for node in level}) == sum(len(set(level)) for level in levels)
                merged.append((one, one if apart else [line([[n] for n in w.nodes], w.ways) for w in selected]))
    return merged


def assert_merged(texts: list[str], expected: list[tuple[list[str], list[str]]]) -> None:
    """Check that the texts are these lines, each or what may stand in its place, in order."""
    for one, walks in expected:
        found = one if texts[: len(one)] == one else walks
        assert texts[: len(found)] == found
        texts = texts[len(found) :]
    assert not texts


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Triple], list[str], int | None]:
    names = st.sampled_from("abcdefg"[: draw(st.integers(2, 7))])
    relations = st.sampled_from(["r", "s"][: draw(st.integers(1, 2))])
    triples = draw(st.lists(st.tuples(names, relations, names), min_size=1, max_size=22))
    return triples, draw(st.lists(names, max_size=3, unique=True)), draw(st.none() | st.integers(1, 4))


def both_ways(triples: list[Triple]) -> list[tuple[str, str, bool, str]]:
    return [way for h, r, t in triples for way in ((h, r, True, t), (t, r, False, h))]


# Repeated triples give chains that are written alike, and so is what they are merged to.
@given(worlds())
@example(
    (
        [("b", "r", "e"), ("c", "r", "a"), ("c", "r", "e"), ("d", "r", "a"), ("f", "r", "b"), ("f", "r", "c")],
        ["f"],
        None,
    )
)
@example(
    (
        [("q", "r", "a"), ("q", "r", "b"), ("a", "r", "b"), ("b", "r", "a"), ("b", "r", "c"), ("a", "r", "d")],
        ["q"],
        None,
    )
)
def test_chains_and_merged_chains_have_texts(world: tuple[list[Triple], list[str], int | None]) -> None:
    triples, entities, longest = world
    chains = plain_chains(both_ways(triples), set(entities), longest)
    assert texts_of(triples, entities, Chains(longest)) == [line([[n] for n in c.nodes], c.ways) for c in chains]
    assert_merged(texts_of(triples, entities, Chains(longest) >> MergeChains()), plain_merged(chains))
    ahead = plain_chains([(h, r, True, t) for h, r, t in triples], set(entities), longest)
    behind = plain_chains([(t, r, False, h) for h, r, t in triples], set(entities), longest)
    behind = [Walk(c.nodes[::-1], tuple((r, True) for r, _ in c.ways[::-1])) for c in behind]
    expected = {line([[n] for n in c.nodes], c.ways) for c in ahead + behind}
    assert set(texts_of(triples, entities, Chains(longest, inverse=False))) == expected


@given(worlds(), st.randoms())
def test_chains_do_not_depend_on_numbering(world, random) -> None:
    triples, entities, longest = world
    order = list(range(len(triples)))
    random.shuffle(order)
    shuffled = [triples[i] for i in order]
    back = [order.index(i) for i in range(len(triples))]
    for steps in (Chains(longest), Chains(longest, inverse=False), Chains(longest) >> MergeChains()):
        assert texts_of(triples, entities, steps) == texts_of(shuffled, entities, steps, order=back)


@given(worlds(), st.booleans())
def test_merged_chains_cover_all_chains(world, inverse) -> None:
    triples, entities, longest = world
    graph = Graph.from_triples(triples)
    known = [name for name in entities if len(graph.ids(name))]
    state = start("?", graph, entities=known, anchors=[Anchor(n, graph.ids(n)) for n in known])
    state = state.with_(evidence=Evidence.of_edges(range(len(triples))))
    chains = Chains(longest, inverse)(state)
    merged = MergeChains()(chains)
    assert chains.evidence is not None and merged.evidence is not None
    edges = {frozenset(edges.tolist()) for _, edges in chains.evidence}
    for nodes, item_edges in merged.evidence:
        assert len(set(nodes.tolist())) == len(nodes) and len(set(item_edges.tolist())) == len(item_edges)
        inside = [chain for chain in edges if chain <= set(item_edges.tolist())]
        assert set().union(*inside) == set(item_edges.tolist())
        assert set(graph.ends(item_edges).tolist()) == set(nodes.tolist())
    if len(known) < 2:
        again = MergeChains()(merged).evidence
        # Merging again changes no item; the order of items may change where a first chain joins a later one.
        assert again is not None and sorted(again.identities()) == sorted(merged.evidence.identities())
        assert set().union(*edges) == {edge for _, item_edges in merged.evidence for edge in item_edges.tolist()}


def every_walk(state: State) -> Evidence:
    """All walks by the relation paths of the evidence, path by path, by their nodes."""
    graph, pieces = state.graph, []
    for item in state.items.items():
        nodes, edges = walks_along(graph, item.nodes[0], ways_of(graph, item.steps), 100_000)
        order = np.lexsort(nodes.T[::-1])
        pieces += list(zip(graph.at(nodes[order]), graph.edges[edges[order]], strict=True))
    return Evidence.of_paths(graph, pieces)


def walked(triples: list[Triple], length: int, *, every: bool) -> tuple[list[Walk], list[str]]:
    """All walks by the relation paths from the first head, and what they are merged to."""
    graph = Graph.from_triples(triples)
    state = start("?", graph, entities=[triples[0][0]])
    state = RelationPaths(length)(state)
    state = state.with_(evidence=every_walk(state)) if every else Instances()(state)
    merged = MergeChains()(state).evidence
    assert state.evidence is not None and merged is not None
    walks = []
    for item in state.evidence.items():
        ways = ((graph.columns.relations[way >> 1], bool(way & 1)) for way in ways_of(graph, item.steps))
        walks.append(Walk(tuple(graph.names.take(item.nodes)), tuple(ways)))
    return walks, merged.texts(graph)


FILM = [("X", "by", "D"), ("F", "by", "D"), ("G", "by", "D"), ("F", "written", "D"), ("G", "written", "D")]


def test_merged_walks_with_repeated_node_keep_ends() -> None:
    _, merged = walked([*FILM, ("G", "written", "W")], 4, every=True)
    back = "X → [by] → D → [by⁻¹] → F; G → [written] → D"
    # By the fourth step the triples of the second are walked again.
    assert f"{back}; W" in merged and f"{back} → [by⁻¹] → F; G" in merged
    # A film of both directors of X leads from each to the other.
    both = [("X", "by", "D"), ("X", "by", "E"), ("F", "by", "D"), ("F", "by", "E")]
    assert walked(both, 3, every=False)[1][-1] == "X → [by] → D; E → [by⁻¹] → F → [by] → E; D"
    # Of a and b, which lead to each other, the steps tell which way they are walked.
    pair = [("X", "r", "a"), ("X", "r", "b"), ("a", "r", "b"), ("b", "r", "a")]
    assert walked(pair, 2, every=False)[1] == [
        "X → [r] → a; b",
        "X → [r] → a; b → [r⁻¹] → b; a",
        "X → [r] → a; b → [r] → b; a",
    ]


@given(worlds(), st.integers(1, 4), st.booleans())
@example((FILM, [], None), 4, True)
def test_merged_walks_share_line_by_relation_path(world, length: int, every: bool) -> None:
    walks, merged = walked(world[0], length, every=every)
    groups: dict[object, list[Walk]] = {}
    for walk in walks:
        groups.setdefault(walk.ways, []).append(walk)
    for ways, group in groups.items():
        whole = [line([list(level) for level in zip(*(w.nodes for w in group), strict=True)], group[0].ways)]
        each = [line([[node] for node in walk.nodes], walk.ways) for walk in group]
        texts = whole if merged[:1] == whole else each
        assert merged[: len(texts)] == texts, ways
        merged = merged[len(texts) :]
        # Only where they are at a node after different hops are they told apart.
        hops = [set(level) for level in zip(*(walk.nodes for walk in group), strict=True)]
        assert texts == whole or len(set().union(*hops)) < sum(map(len, hops))
    assert not merged


def test_chains_of_500_triples_are_complete() -> None:
    # A graph like a film's neighbourhood: many leaves, and hubs such as genres and years.
    rng = np.random.default_rng(3)
    films = [f"film {i}" for i in range(60)]
    triples = [("film 0", "directed_by", "person 0"), ("film 1", "directed_by", "person 0")]
    while len(triples) < 500:
        film, kind = films[rng.integers(60)], int(rng.integers(4))
        triples.append(
            (film, f"relation {kind}", f"{'person' if kind < 2 else 'hub'} {rng.integers(200 if kind < 2 else 12)}")
        )
    graph = Graph.from_triples(triples)
    state: State = start("?", graph, entities=["person 0"]).with_(evidence=Evidence.of_edges(range(500)))
    steps = Chains() >> MergeChains()
    chains = Chains()(state).evidence
    assert chains is not None and 200 < len(chains) < 2000
    spent = []
    for _ in range(7):
        begun = time.perf_counter()
        steps(state)
        spent.append(time.perf_counter() - begun)
    assert min(spent) < 0.05
