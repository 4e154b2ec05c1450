"""Paths of propositions: worked scores, connections, repeats, parts of a graph, and graphs without vectors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.shared import FixedEncoder, corpus_index

from graphwright import Graph, Induce, KHop, VectorSearch, start
from graphwright.models import HashEncoder
from graphwright.operators import PropositionPaths
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


def test_proposition_reread_ranks_by_text_vector() -> None:
    encoder = HashEncoder()
    index = VectorIndex.from_array(encoder.encode([KIN.edge_text(edge) for edge in range(4)]), encoder)
    question = "Where did the spouse of Ida live?"
    state = PropositionPaths(index, width=2, length=2, reread=9)(start(question, KIN))
    asked, text = encoder.encode([question, "Ida spouse Udo Udo lived in Graz"])
    cosine = float(asked @ text / np.linalg.norm(asked) / np.linalg.norm(text))
    found = paths(state)
    assert found.get((0, 1), found.get((1, 0))) == pytest.approx(cosine, abs=1e-6)


def test_propositions_without_vectors_compare_words_with_note() -> None:
    state = PropositionPaths(None, width=1, length=2, jumps=0)(start("Where did the spouse of Ida live, in Graz?", KIN))
    assert next(iter(paths(state))) == (0, 1) and "compared by words" in state.trace[-1].notes[0]


def test_propositions_without_statements_are_empty() -> None:
    state = PropositionPaths(INDEX)(start("?", KIN.part([0])))
    assert state.evidence is not None and len(state.evidence) == 0
