"""The operator that ranks passages by the fitted scorer."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from tests.shared import GRAPHS, corpus_index
from tests.toys import knowledge

from graphwright import Evidence, start
from graphwright.errors import OptionError
from graphwright.models import MiniLM
from graphwright.operators import ScorePassages
from graphwright.operators.rerank.fitted_scorer import PassageScorer, fitted_scorer
from graphwright.operators.rerank.passage_features import ALONE, PAIR, PassageFeatures
from graphwright.operators.run import Run

IX = corpus_index().snapshot
STATE = start("Which abbey did the mother of Lothair II found?", IX.graph)


def bm25_alone(folder: Path) -> PassageScorer:
    file = folder / "model.json"
    pair = dict.fromkeys((*PAIR, "source_score", "target_score"), 0.0)
    cover = {"open": 1.0, "overlap": 0.0}
    alone = dict.fromkeys(ALONE, 0.0) | {"bm25": 1.0}
    file.write_text(
        json.dumps({"alone": alone, "single": alone, "pair": pair, "bias": -1, "several": [0.0] * 386, "cover": cover}),
        "utf-8",
    )
    return PassageScorer.read(file)


def test_score_passages_ranks_by_scorer() -> None:
    result = ScorePassages(IX.passages, IX.words, MiniLM(), IX.triples, pool=4)(STATE).evidence
    features = PassageFeatures.of(STATE, Run(), IX.passages, IX.words, MiniLM(), IX.triples, 4)
    scorer = fitted_scorer()
    order, scores = scorer.chosen(features, *scorer(features), 100)
    assert result is not None and result.scores is not None and len(result) >= 4
    assert result.nodes.tolist() == features.nodes[order].tolist()
    assert result.scores.tolist() == pytest.approx(scores.tolist())


def test_score_passages_accepts_scorer_and_cut(tmp_path: Path) -> None:
    step = ScorePassages(IX.passages, IX.words, MiniLM(), scorer=bm25_alone(tmp_path))
    whole = step(STATE).evidence
    assert whole is not None and whole.scores is not None and len(whole) == 6 and whole.scores[0] == pytest.approx(1)
    for k in (1, 3, 50):
        cut = (step % k)(STATE).evidence
        assert cut is not None and cut.nodes.tolist() == whole.nodes[:k].tolist()
    again = pickle.loads(pickle.dumps(step))
    assert again == step and hash(again) == hash(step) and "PassageScorer(bias=-1.000" in repr(step)


def test_score_passages_adds_evidence_to_pool() -> None:
    far = int(IX.words.nodes[4])
    step = ScorePassages(IX.passages, IX.words, MiniLM(), pool=1)
    assert far not in step(STATE).evidence.nodes  # type: ignore[union-attr]
    assert far in step(STATE.with_(evidence=Evidence.of_nodes([far]))).evidence.nodes  # type: ignore[union-attr]


def test_score_passages_without_passages_is_empty() -> None:
    ix = knowledge(GRAPHS["family"])
    result = ScorePassages(ix.passages, ix.words, MiniLM())(start("Who?", ix.graph)).evidence
    assert result is not None and len(result) == 0
    with pytest.raises(OptionError, match="pool is 0"):
        ScorePassages(IX.passages, IX.words, MiniLM(), pool=0)
