"""DSPy: predictions of one and of several queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.pages import run_page
from tests.shared import corpus_index

pytest.importorskip("dspy")

from graphwright import Index
from graphwright.adapters.dspy import GraphwrightRM

QUESTION = "Which abbey did the mother of Lothair II found?"


def test_dspy_retriever_returns_passages_of_query() -> None:
    index = corpus_index()
    prediction = GraphwrightRM(index, k=3, method="bm25")(QUESTION)
    passages = list(index.retrieve(QUESTION, "bm25", top_k=3).passages or ())
    assert prediction.passages == [p.text for p in passages]
    assert [source["document"] for source in prediction.sources] == [p.document for p in passages]


def test_dspy_retriever_interleaves_queries(folder: Path) -> None:
    index = Index.open(folder)
    queries = [QUESTION, "Where does the Mur rise?"]
    first, second = (list(index.retrieve(query, "bm25", top_k=2).passages or ()) for query in queries)
    prediction = GraphwrightRM(str(folder), k=2, method="bm25")(queries)
    assert prediction.passages == list(dict.fromkeys([first[0].text, second[0].text]))[:2]


def test_dspy_page_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("dspy", tmp_path, monkeypatch)
