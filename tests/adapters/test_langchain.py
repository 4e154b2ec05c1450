"""LangChain: its own suite for retrievers, metadata, filters, the tool; sync and async."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.pages import run_page
from tests.shared import corpus_index

pytest.importorskip("langchain_core")
pytest.importorskip("langchain_tests")

from langchain_tests.integration_tests import RetrieversIntegrationTests

from graphwright.adapters.langchain import GraphwrightRetriever, answer_tool

QUESTION = "Which abbey did the mother of Lothair II found?"


class TestSuite(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[GraphwrightRetriever]:
        return GraphwrightRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": corpus_index(), "method": "bm25"}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION

    @property
    def num_results_arg_name(self) -> str:
        return "top_k"


def test_langchain_documents_equal_passages() -> None:
    index = corpus_index()
    retriever = GraphwrightRetriever(index=index, top_k=3)
    documents = retriever.invoke(QUESTION)
    passages = list(index.retrieve(QUESTION, top_k=3).passages or ())
    assert [d.page_content for d in documents] == [p.text for p in passages]
    assert [d.metadata["document"] for d in documents] == [p.document for p in passages]
    document = documents[0]
    text = index.text(document.metadata["document"])
    assert text[document.metadata["start"] : document.metadata["end"]] == document.page_content
    assert asyncio.run(retriever.ainvoke(QUESTION)) == documents


def test_langchain_retriever_accepts_path_and_filter(folder: Path) -> None:
    retriever = GraphwrightRetriever(index=str(folder), method="bm25", filter={"documents": ["mur"]})
    assert {d.metadata["document"] for d in retriever.invoke("Where does the Mur rise?")} == {"mur"}


def test_langchain_with_invalid_arguments_raises() -> None:
    with pytest.raises(ValueError, match="path of its folder"):
        GraphwrightRetriever(index=3)
    with pytest.raises(ValueError, match="extra"):
        GraphwrightRetriever(index=corpus_index(), k=3)


def test_langchain_tool_answers_with_citations() -> None:
    tool = answer_tool(corpus_index(), method="bm25")
    call = {"name": tool.name, "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
    for message in (tool.invoke(call), asyncio.run(tool.ainvoke(call))):
        citation = message.artifact["citations"][0]
        assert f"[1] {citation['document']}, characters {citation['start']}-{citation['end']}" in message.content
        assert message.content.startswith(message.artifact["answer"])


def test_langchain_page_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("langchain", tmp_path, monkeypatch)
