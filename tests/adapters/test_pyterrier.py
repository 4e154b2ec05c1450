"""PyTerrier: its own suite for transformers, an experiment, and its retrievers in our pipelines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.pages import run_page
from tests.shared import corpus_index

pytest.importorskip("pyterrier")

import pandas as pd
import pyterrier as pt
from pyterrier import testing

from graphwright import ToPassages, start
from graphwright.adapters.pyterrier import GraphwrightTransformer, from_pyterrier

QUESTION = "Which abbey did the mother of Lothair II found?"
QUERIES = pd.DataFrame([["1", QUESTION], ["2", "Where does the Mur rise?"]], columns=["qid", "query"])


class TestSuite(testing.TransformerTestCase):
    @classmethod
    def get_transformer(cls) -> GraphwrightTransformer:
        return GraphwrightTransformer(corpus_index(), "bm25")


def test_pyterrier_retriever_ranks_documents() -> None:
    index = corpus_index()
    ranked = GraphwrightTransformer(index, "bm25", top_k=4)(QUERIES)
    for qid, query in QUERIES.itertuples(index=False):
        own = ranked[ranked.qid == qid]
        passages = list(index.retrieve(query, "bm25", top_k=4).passages or ())
        assert own.docno.tolist() == list(dict.fromkeys(p.document for p in passages))
        assert own["rank"].tolist() == list(range(len(own)))
    whole = GraphwrightTransformer(index, "bm25", top_k=4, documents=False)(QUERIES)
    pairs = [
        (qid, p.id)
        for qid, query in QUERIES.itertuples(index=False)
        for p in index.retrieve(query, "bm25", top_k=4).passages or ()
    ]
    assert list(whole[["qid", "passage"]].itertuples(index=False, name=None)) == pairs


def test_pyterrier_experiment_compares_methods() -> None:
    index = corpus_index()
    gold = GraphwrightTransformer(index, "bm25", top_k=1)(QUERIES)[["qid", "docno"]].assign(label=1)
    systems = [GraphwrightTransformer(index, method) for method in ("bm25", "vector")]
    result = pt.Experiment(systems, QUERIES, gold, ["recip_rank"], names=["bm25", "vector"])
    assert result.set_index("name").recip_rank["bm25"] == 1.0


def test_pyterrier_retriever_runs_in_pipeline() -> None:
    index = corpus_index()
    names = [listed.id for listed in index.list_documents()[:2]]
    rows = pd.DataFrame({"docno": [names[1], "elsewhere", names[0]], "score": [3.0, 2.0, 1.0], "rank": [0, 1, 2]})
    theirs = pt.apply.generic(lambda queries: queries[["qid", "query"]].merge(rows, how="cross"))
    state = (from_pyterrier(theirs) >> ToPassages())(start(QUESTION, index.graph))
    assert list(dict.fromkeys(passage.document for passage in state.passages or ())) == [names[1], names[0]]
    assert "elsewhere" in state.trace[0].notes[0]


def test_pyterrier_page_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("pyterrier", tmp_path, monkeypatch)
