"""Haystack: components alone, in a pipeline, and through YAML."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.pages import run_page
from tests.shared import corpus_index

pytest.importorskip("haystack")

from haystack import Pipeline

from graphwright import Index
from graphwright.adapters.haystack import GraphwrightAnswerer, GraphwrightRetriever

QUESTION = "Which abbey did the mother of Lothair II found?"


def test_haystack_documents_equal_passages() -> None:
    index = corpus_index()
    retriever = GraphwrightRetriever(index, method="bm25", top_k=3)
    documents = retriever.run(QUESTION)["documents"]
    assert [d.id for d in documents] == [p.id for p in index.retrieve(QUESTION, "bm25", top_k=3).passages or ()]
    assert len(retriever.run(QUESTION, top_k=1)["documents"]) == 1
    first = documents[0]
    assert index.text(first.meta["document"])[first.meta["start"] : first.meta["end"]] == first.content


def test_haystack_pipeline_round_trips_through_yaml(folder: Path) -> None:
    index = Index.open(folder)
    pipeline = Pipeline()
    pipeline.add_component("search", GraphwrightRetriever(str(folder), method="bm25", top_k=2))
    pipeline.add_component("answer", GraphwrightAnswerer(str(folder), method="bm25"))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["graphwright.adapters.haystack"])
    result = again.run({"search": {"query": QUESTION}, "answer": {"query": QUESTION}})
    assert len(result["search"]["documents"]) == 2
    answer = result["answer"]["answers"][0]
    asked = index.ask(QUESTION, "bm25").answer
    assert asked is not None and answer.data == asked.text and answer.meta["found"] == asked.found
    assert answer.meta["citations"][0]["text"] == asked.citations[0].text
    assert answer.documents[0].meta["document"] == asked.citations[0].document


def test_haystack_page_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("haystack", tmp_path, monkeypatch)
