"""Scores from the vectors of parts and from relations alone, compared with scoring each item."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, vectors_of

from graphwright import Anchor, EnumeratedPaths, Evidence, Graph, Rerank, VectorIndex, start
from graphwright.models import HashEncoder
from graphwright.operators import Composed, Patterns
from graphwright.operators.rerank.scorer import mask_names
from graphwright.operators.run import ModelMemory, Run

QUESTION = "which a r b s c t d"
FAMILY = GRAPHS["family"]
triples = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["r_1", "s t", "u"]), st.sampled_from("abcdef")),
    min_size=1,
    max_size=12,
)


def triples_of(graph: Graph) -> VectorIndex:
    return VectorIndex.from_array(
        HashEncoder().encode([graph.edge_text(e) for e in graph.edges.tolist()]), HashEncoder()
    )


def cosine(first: str, second: str) -> float:
    a, b = HashEncoder().encode([first, second]).astype(float)
    return float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12))


@given(triples, st.booleans(), st.booleans())
def test_item_score_is_mean_cosine_of_parts(rows: list[tuple[str, str, str]], names: bool, by_edge: bool) -> None:
    graph = Graph.from_triples(rows)
    if not (names or by_edge):
        return
    state = start(QUESTION, graph, entities=[graph.names[0]])
    paths = EnumeratedPaths(3)(state).evidence
    assert paths is not None
    pieces = paths.union(Evidence.of_edges(graph.edges)).union(Evidence.of_nodes(graph.nodes))
    expected = []
    for nodes, edges in pieces:
        parts = []
        if names:
            parts += [graph.names[v] for v in (nodes if len(nodes) else graph.ends(edges)).tolist()]
            parts += [graph.triple(e)[1].replace("_", " ") for e in edges.tolist()]
        if by_edge:
            parts += [graph.edge_text(e) for e in edges.tolist()]
        expected.append(float(np.mean([cosine(QUESTION, part) for part in parts])) if parts else 0.0)
    scorer = Composed(vectors_of(graph) if names else None, triples_of(graph) if by_edge else None)
    assert scorer.prepare(state, Run())(pieces).tolist() == pytest.approx(expected, abs=1e-6)


def test_composed_scorer_with_known_relations_encodes_question_only() -> None:
    operator = EnumeratedPaths(3) >> Rerank(Composed(vectors_of(FAMILY))) % 5
    memory = ModelMemory()
    first, second = (
        operator(start(question, FAMILY, entities=["Lothair II"]), Run(memory=memory))
        for question in (QUESTION, f"{QUESTION}?!")
    )
    assert first.usage.texts == 1 + 3 and second.usage.texts == 1
    assert second.evidence is not None and len(second.evidence) == 5


def test_parts_without_vector_score_zero() -> None:
    graph = Graph.from_triples([("fox", "r", "hen")])
    some = VectorIndex(HashEncoder().encode(["fox"]), np.array([0, -1], np.int32), HashEncoder())
    state = start("fox", graph, evidence=Evidence.of_nodes([0, 1]))
    assert Composed(some).prepare(state, Run())(Evidence.of_nodes([0, 1])).tolist() == pytest.approx([1, 0])
    assert Composed(some).prepare(state, Run())(Evidence.of_nodes([])).tolist() == []


def test_names_are_masked_in_question_and_pattern() -> None:
    graph = Graph.from_triples(
        [("Heat", "directed_by", "Mann"), ("Ali", "directed_by", "Mann"), ("Ali", "starredActors", "Smith")]
    )
    state = start("Who acted in films by the director of heat?", graph, entities=["Heat"])
    pieces = Evidence.of_trees(
        graph, [([0, 1], [0]), ([0, 1, 2], [0, 1]), ([0, 1, 2, 3], [0, 1, 2]), ([], [2]), ([3], [])]
    )
    assert Patterns(HashEncoder()).texts(state, pieces) == [
        "x directed by y",
        "x directed by y; z directed by y",
        "x directed by y; z directed by y; z starred Actors w",
        "y starred Actors z",
        "",
    ]
    result = Patterns(HashEncoder()).prepare(state, Run())(pieces)
    asked = "Who acted in films by the director of x?"
    texts = [
        "x directed by y",
        "x directed by y; z directed by y",
        "x directed by y; z directed by y; z starred Actors w",
    ]
    assert mask_names(state, "x") == asked
    assert result[:3].tolist() == pytest.approx([cosine(asked, text) for text in texts], abs=1e-6) and result[4] == 0


def test_paths_of_same_relations_tie() -> None:
    state = start("Whose mother?", FAMILY, entities=["Waldrada"])
    result = (EnumeratedPaths(1) >> Rerank(Patterns(HashEncoder())))(state).evidence
    assert result is not None and result.scores is not None
    mothers = [score for (nodes, _), score in zip(result, result.scores, strict=True) if nodes[-1] >= 5]
    assert len(mothers) == 2 and mothers[0] == mothers[1]


@pytest.mark.parametrize("question, anchors, expected", [
    ("Where is saint_louis?", [Anchor("Saint Louis")], "Where is x?"),
    ("Is Lothair II son of Lothair I?", [Anchor("", [FAMILY.id("Lothair I")]), Anchor("Lothair II")], "Is x son of x?"),
    ("a cat on a catwalk", [Anchor("cat")], "a x on a catwalk"),
    ("what is C++?", [Anchor("+"), Anchor("C++ (language)")], "what is C++?"),
    ("who?", [Anchor("nobody")], "who?"),
])  # fmt: skip
def test_mask_entities_hides_names(question: str, anchors: list[Anchor], expected: str) -> None:
    assert mask_names(start(question, FAMILY, anchors=anchors), "x") == expected


def test_patterns_of_long_paths_are_distinct() -> None:
    # 40 relations on 12 edges are more patterns than a 64-bit number tells apart.
    rng = np.random.default_rng(5)
    named = rng.integers(0, 40, (200, 12))
    named[100:] = named[:100]
    rows = [(f"{i} {j}", f"relation {r}", f"{i} {j + 1}") for i, row in enumerate(named) for j, r in enumerate(row)]
    graph = Graph.from_triples(rows)
    pieces = Evidence.of_trees(graph, [(range(13 * i, 13 * i + 13), range(12 * i, 12 * i + 12)) for i in range(200)])
    texts = Patterns(HashEncoder()).texts(start("?", graph), pieces)
    assert texts[:100] == texts[100:] and len(set(texts)) == len({tuple(row) for row in named.tolist()})
    assert texts[0].split("; ")[0] == f"y relation {named[0, 0]} z" and texts[0].endswith("x12")
