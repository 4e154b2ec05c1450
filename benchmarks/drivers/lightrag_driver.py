"""LightRAG with its file storages, in its default mode (`mix`) without a reranker."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from driver import Driver, Passage, run
from lightrag import LightRAG, QueryParam
from lightrag.llm.openai import openai_complete_if_cache, openai_embed
from lightrag.utils import EmbeddingFunc


class LightRAGDriver(Driver):
    def __init__(self, folder: Path, url: str, limit: int) -> None:
        super().__init__(folder, url, limit)
        given = {"base_url": url, "api_key": "none"}
        self._loop = asyncio.new_event_loop()
        self._rag = LightRAG(
            working_dir=str(folder),
            workspace=folder.name,
            llm_model_func=partial(openai_complete_if_cache, "lightrag", **given),
            llm_model_name="lightrag",
            embedding_func=EmbeddingFunc(384, partial(openai_embed.func, model="minilm", **given)),
        )
        self._await(self._rag.initialize_storages())

    def _await(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    def build(self, passages: list[Passage]) -> None:
        self._insert(passages)

    def _insert(self, passages: list[Passage]) -> None:
        ids = [passage.id for passage in passages]
        texts = [passage.reading for passage in passages]
        self._await(self._rag.ainsert(texts, ids=ids, file_paths=[f"{id}.txt" for id in ids]))

    def search(self, question: str) -> Any:
        return self._await(
            self._rag.aquery_data(question, QueryParam(mode="mix", chunk_top_k=self.limit, enable_rerank=False))
        )

    def ids(self, found: Any) -> list[str]:
        chunks = found.get("data", {}).get("chunks", [])
        return list(dict.fromkeys(chunk["file_path"].removesuffix(".txt") for chunk in chunks))

    def add(self, passage: Passage) -> None:
        self._insert([passage])

    def remove(self, passage: Passage) -> None:
        self._await(self._rag.adelete_by_doc_id(passage.id))

    def close(self) -> None:
        self._await(self._rag.finalize_storages())


if __name__ == "__main__":
    run(LightRAGDriver)
