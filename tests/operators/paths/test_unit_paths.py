"""Paths of knowledge units (Clue-RAG) against the same search in plain Python, and by a worked example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import FixedEncoder

from graphwright import Evidence, Graph, VectorIndex, start
from graphwright.models import HashEncoder, OverlapCrossEncoder
from graphwright.operators import StatingPassages, UnitPaths

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
