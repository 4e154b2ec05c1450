"""LlamaIndex: nodes with spans, responses with cited sources; sync and async."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.adapters.pages import run_page
from tests.shared import corpus_index

pytest.importorskip("llama_index.core")

from graphwright import Index
from graphwright.adapters.llamaindex import GraphwrightQueryEngine, GraphwrightRetriever

QUESTION = "Which abbey did the mother of Lothair II found?"


def test_llamaindex_nodes_equal_passages() -> None:
    index = corpus_index()
    retriever = GraphwrightRetriever(index, method="hybrid", top_k=3)
    nodes = retriever.retrieve(QUESTION)
    passages = list(index.retrieve(QUESTION, "hybrid", top_k=3).passages or ())
    assert [(n.node.node_id, n.score, n.text) for n in nodes] == [(p.id, p.score, p.text) for p in passages]
    for scored in nodes:
        whole = index.text(scored.metadata["document"])
        assert whole[scored.node.start_char_idx : scored.node.end_char_idx] == scored.text
    assert [n.node.node_id for n in asyncio.run(retriever.aretrieve(QUESTION))] == [p.id for p in passages]


def test_llamaindex_sources_equal_citations(folder: Path) -> None:
    engine = GraphwrightQueryEngine(folder, method="bm25")
    answer = Index.open(folder).ask(QUESTION, "bm25").answer
    assert answer is not None and answer.citations
    for response in (engine.query(QUESTION), asyncio.run(engine.aquery(QUESTION))):
        assert response.response == answer.text and response.metadata["found"] == answer.found
        spans = [(n.metadata["document"], n.node.start_char_idx, n.node.end_char_idx) for n in response.source_nodes]
        assert spans == [(cited.document, cited.start, cited.end) for cited in answer.citations]
        assert [n.text for n in response.source_nodes] == [cited.text for cited in answer.citations]


def test_llamaindex_page_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("llamaindex", tmp_path, monkeypatch)
