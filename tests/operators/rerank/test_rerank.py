"""The general reranker: both kinds of models, all shapes of evidence, ties, repeated texts."""

from __future__ import annotations

import numpy as np
import pytest
from tests.shared import GRAPHS

from graphwright import Evidence, Rerank, start
from graphwright.errors import ModelError
from graphwright.models import HashEncoder, OverlapCrossEncoder

FAMILY = GRAPHS["family"]
QUESTION = "Who was the mother of Gisela?"
SHAPES = {
    "nodes": Evidence.of_nodes(range(len(FAMILY))),
    "triples": Evidence.of_edges(range(7)),
    "paths": Evidence.of_trees(FAMILY, [([0, 1, 2], [0, 1]), ([2, 4, 5], [4, 5]), ([2, 3], [3])]),
    "trees": Evidence.of_trees(FAMILY, [([1, 0, 2], [0, 2]), ([4, 5, 6], [5, 6]), ([2], [])]),
}


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("model", [HashEncoder(), OverlapCrossEncoder()], ids=repr)
def test_rerank_orders_by_score_of_text(model, shape) -> None:
    evidence = SHAPES[shape]
    state = start(QUESTION, FAMILY, evidence=evidence)
    result = Rerank(model)(state).evidence
    expected = []
    for text, key in zip(evidence.texts(FAMILY), evidence.identities(), strict=True):
        if isinstance(model, HashEncoder):
            a, b = model.encode([QUESTION, text]).astype(float)
            score = float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
        else:
            score = float(model.head(model.latents(QUESTION, [text]))[0])
        expected.append((round(-score, 6), key))
    assert [key for _, key in sorted(expected)] == result.identities()
    assert result.scores.tolist() == pytest.approx([-score for score, _ in sorted(expected)], abs=1e-6)
    for k in (1, 2, 50):
        cut = (Rerank(model) % k)(state).evidence
        assert cut.identities() == result.identities()[:k] and cut.scores.tolist() == result.scores[:k].tolist()


def test_rerank_breaks_ties_by_id_under_cut() -> None:
    state = start("nothing shared", FAMILY, evidence=Evidence.of_edges([6, 2, 4, 0]))
    assert (Rerank(OverlapCrossEncoder()) % 2)(state).evidence.edges.tolist() == [0, 2]


def test_rerank_reads_equal_texts_once() -> None:
    graph = GRAPHS["apart"]  # nodes a, b, c, x, y, z: each its own text
    state = start("a", graph, evidence=Evidence.of_trees(FAMILY, [([0], []), ([0], []), ([1], [])]))
    after = Rerank(OverlapCrossEncoder())(state)
    assert after.usage.texts == 2 and after.evidence.nodes.tolist() == [0, 0, 1]


def test_rerank_cosine_ignores_length() -> None:
    class Long(HashEncoder):
        def encode(self, texts):
            return super().encode(texts) * np.float32(3)

    state = start("Gisela", FAMILY, evidence=SHAPES["nodes"])
    plain, longer = (Rerank(model)(state).evidence for model in (HashEncoder(), Long()))
    assert plain.identities() == longer.identities() and plain.scores.tolist() == pytest.approx(longer.scores.tolist())
    assert plain.scores[0] == pytest.approx(1)
    assert Rerank(HashEncoder())(start("?!", FAMILY, evidence=SHAPES["nodes"])).evidence.scores.tolist() == [0.0] * 7


def test_rerank_prefers_cross_encoder_method() -> None:
    class BothKinds(OverlapCrossEncoder):
        def encode(self, texts):
            raise AssertionError

    assert len(Rerank(BothKinds())(start(QUESTION, FAMILY, evidence=SHAPES["nodes"])).evidence) == 7


def test_rerank_with_scores_of_wrong_shape_raises() -> None:
    class Broken(OverlapCrossEncoder):
        def head(self, latents):
            return latents

    with pytest.raises(ModelError, match=r"shape \(7, 3\) for 7 texts"):
        Rerank(Broken())(start(QUESTION, FAMILY, evidence=SHAPES["nodes"]))
