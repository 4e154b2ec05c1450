"""Paths of propositions: worked scores, connections, repeats, parts of a graph, and graphs without vectors.

Paths of knowledge units (Clue-RAG) against the same search in plain Python, and by a worked example.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import FixedEncoder, corpus_index

from graphwright import Evidence, Graph, Induce, KHop, VectorSearch, start
from graphwright.models import HashEncoder, OverlapCrossEncoder
from graphwright.operators import PropositionPaths, StatingPassages, UnitPaths
from graphwright.operators.paths.propositions import propositions
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex

KIN = Graph.from_triples(
    [
        ("Ida", "spouse", "Udo"),  # 0
        ("Udo", "lived in", "Graz"),  # 1
        ("Graz", "on the", "Mur"),  # 2
        ("Ugo", "lived in", "Lyon"),  # 3
        ("Ida", "spouse", "Udo"),  # 4, the text of 0
    ]
)


def planar(*angles: float) -> VectorIndex:
    """Vectors at these angles from the question, one an edge; the last edge shares the first one's."""
    rows = [[2 * np.cos(a), 2 * np.sin(a)] for a in angles]
    return VectorIndex(np.float32(rows), np.int32([*range(len(rows)), 0]), FixedEncoder((1.0, 0.0)))


INDEX = planar(0.3, -0.5, 1.0, 0.4)


def paths(state: State) -> dict[tuple[int, ...], float]:
    assert state.evidence is not None and state.evidence.scores is not None
    return {
        tuple(edges.tolist()): score for (_, edges), score in zip(state.evidence, state.evidence.scores, strict=True)
    }


def search(**options: int) -> dict[tuple[int, ...], float]:
    return paths(PropositionPaths(INDEX, **options)(start("?", KIN)))


def test_equal_statements_form_one_proposition() -> None:
    known = propositions(KIN, INDEX)
    assert known.edges.row(0).tolist() == [0, 4] and len(known.rows) == 4
    assert KIN.names.take(known.nodes[known.entities.row(1)]) == ["Udo", "Graz"]
    assert known.near(KIN, 1).tolist() == [0, 1, 2] and known.near(KIN, 3).tolist() == [3]
    assert propositions(KIN, None).edges.row(0).tolist() == [0]  # told apart without sentences


def test_proposition_path_score_is_cosine_of_mean() -> None:
    # 0 and 1, at 0.3 and -0.5: the mean is at -0.1. 0, 1 and 2: at atan2 of the sums.
    scores = search(width=1, length=3, jumps=0)
    three = np.cos(np.arctan2(*(sum(f(a) for a in (0.3, -0.5, 1.0)) for f in (np.sin, np.cos))))
    assert scores == pytest.approx({(0, 1): np.cos(0.1), (0,): np.cos(0.3), (0, 1, 2): three})


def test_proposition_jump_joins_unconnected() -> None:
    assert (0, 3) not in search(width=4, length=2, jumps=0)
    assert search(width=4, length=2, jumps=2)[0, 3] == pytest.approx(np.cos(0.35))


def test_proposition_set_is_one_path() -> None:
    found = list(search(width=10, length=4, jumps=4))
    assert len({frozenset(path) for path in found}) == len(found) and all(len(set(path)) == len(path) for path in found)


def test_proposition_beam_keeps_width() -> None:
    lengths = [len(path) for path in search(width=2, length=3, jumps=3)]
    assert [lengths.count(length) for length in (1, 2, 3)] == [2, 2, 2]


def test_proposition_path_text_and_entities_are_complete() -> None:
    state = (PropositionPaths(INDEX, width=1, length=2, jumps=0) % 1)(start("?", KIN))
    assert state.evidence is not None
    assert state.evidence.texts(KIN) == ["Ida spouse Udo; Udo lived in Graz"]
    assert KIN.names.take(state.evidence.nodes) == ["Ida", "Udo", "Graz"]


def test_propositions_stay_in_part() -> None:
    part = KIN.part([0, 1, 2])
    assert set(paths(PropositionPaths(INDEX)(start("?", part)))) == {(0,), (1,), (0, 1)}
    ix = corpus_index().snapshot
    state = (VectorSearch(ix.passages) % 2 >> KHop(1) >> Induce())(start("Who founded Erstein Abbey?", ix.graph))
    found = PropositionPaths(ix.triples)(state).evidence
    assert found is not None and len(found) and np.isin(found.edges, state.graph.edges).all()


def test_propositions_without_vectors_compare_words_with_note() -> None:
    state = PropositionPaths(None, width=1, length=2, jumps=0)(start("Where did the spouse of Ida live, in Graz?", KIN))
    assert next(iter(paths(state))) == (0, 1) and "compared by words" in state.trace[-1].notes[0]


def test_propositions_without_statements_are_empty() -> None:
    state = PropositionPaths(INDEX)(start("?", KIN.part([0])))
    assert state.evidence is not None and len(state.evidence) == 0


MODEL, ENCODER = OverlapCrossEncoder(), HashEncoder(16)
QUESTION = "whom does b like, who likes c, and rules d of e"
Rows = list[tuple[str, str, str]]


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / max(float(np.linalg.norm(vector)), 1e-12)


def plainly(rows: Rows, begin: list[str], units: int, width: int, depth: int) -> dict[frozenset[str], float]:
    """The search of the paper's code, with texts for units and sets of texts for paths."""
    about = {" ".join(row): {row[0], row[2]} for row in rows}
    vectors = {text: unit(ENCODER.encode([text])[0].astype(np.float64)) for text in about}
    number = {text: i for i, text in enumerate(about)}
    queue = [(name, unit(ENCODER.encode([QUESTION])[0].astype(np.float64)), frozenset[str]()) for name in begin]
    kept: dict[frozenset[str], float] = {}
    for _ in range(depth):
        candidates: dict[frozenset[str], tuple[str, np.ndarray]] = {}
        for name, query, path in queue:
            near = [text for text in about if name in about[text] and text not in path]
            near.sort(key=lambda text, query=query: (-round(float(vectors[text] @ unit(query)), 9), number[text]))
            for text in near[:units]:
                candidates[path | {text}] = text, query - vectors[text]
        scores = {path: float(MODEL.head(MODEL.latents(QUESTION, ["; ".join(sorted(path))]))[0]) for path in candidates}
        best = sorted(candidates, key=lambda path: -scores[path])[:width]
        kept |= {path: scores[path] for path in best}
        entities = list(dict.fromkeys(name for row in rows for name in (row[0], row[2])))
        queue = [
            (name, candidates[path][1], path)
            for path in best
            for name in entities
            if name in about[candidates[path][0]]
        ]
    return kept


@given(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.sampled_from(["rules", "likes", "knows"]), st.sampled_from("abcde")),
        min_size=1,
        max_size=9,
        unique=True,
    ),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_unit_paths_equal_plain_search(rows: Rows, units: int, width: int, depth: int) -> None:
    graph = Graph.from_triples(rows)
    index = VectorIndex.from_array(ENCODER.encode([graph.edge_text(edge) for edge in graph.edges]), ENCODER)
    state = start(QUESTION, graph, evidence=Evidence.of_nodes([0]))
    evidence = UnitPaths(index, MODEL, units, width, depth)(state).evidence
    expected = plainly(rows, [graph.names[0]], units, width, depth)
    assert evidence is not None and evidence.scores is not None
    actual = {
        frozenset(text.split("; ")): score for text, score in zip(evidence.texts(graph), evidence.scores, strict=True)
    }
    assert actual == pytest.approx(expected)


def test_unit_removes_covered_words_from_question() -> None:
    """The question (1, 1, 0) less the unit (1, 0, 0) asks for (0, .71, 0) - (.29, 0, 0), not for (1, 0, 0) again."""
    graph = Graph.from_triples([("Ida", "spouse", "Udo"), ("Udo", "spouse's ally", "Ugo"), ("Udo", "lived in", "Graz")])

    index = VectorIndex.from_array(
        np.array([[1, 0.2, 0], [1, 0.1, 0], [0, 0.4, 1]], np.float32), FixedEncoder((1.0, 1.0, 0.0))
    )
    state = start("?", graph, evidence=Evidence.of_nodes([graph.id("Ida")]))
    evidence = UnitPaths(index, MODEL, units=1, width=1, depth=2)(state).evidence
    # (1, 1, 0)/√2 - (1, .2, 0)/1.02 = (-.27, .51, 0): cosines 0.35 with living, -0.38 with the ally.
    assert evidence is not None and "Ida spouse Udo; Udo lived in Graz" in evidence.texts(graph)


def test_unit_paths_without_vectors_compare_words() -> None:
    graph = Graph.from_triples([("Ida", "spouse", "Udo"), ("Ida", "ally", "Ugo")])
    after = UnitPaths(None, MODEL, units=1)(start("Whose spouse?", graph, evidence=Evidence.of_nodes([0])))
    assert after.evidence is not None and after.evidence.texts(graph)[0] == "Ida spouse Udo"
    assert any("compared by words" in note for note in after.trace[-1].notes)
    empty = UnitPaths(None, MODEL)(start("?", graph, evidence=Evidence.of_nodes([])))
    assert empty.evidence is not None and not len(empty.evidence)
    assert not len(StatingPassages()(empty).evidence or ())
