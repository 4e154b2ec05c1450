"""nano-graphrag in its `local` mode, the one that returns passages, with its file storages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from driver import Driver, Passage, Texts, run
from nano_graphrag import GraphRAG, QueryParam
from nano_graphrag._llm import openai_complete_if_cache
from nano_graphrag._utils import wrap_embedding_func_with_attrs
from openai import AsyncOpenAI

_client = AsyncOpenAI()


@wrap_embedding_func_with_attrs(embedding_dim=384, max_token_size=512)
async def _embed(texts: list[str]) -> Any:
    response = await _client.embeddings.create(model="minilm", input=texts, encoding_format="float")
    return np.array([each.embedding for each in response.data])


async def _complete(prompt: str, system_prompt: str | None = None, **more: Any) -> str:
    return await openai_complete_if_cache("nano-graphrag", prompt, system_prompt=system_prompt, **more)


class NanoGraphRAG(Driver):
    def __init__(self, folder: Path, url: str, limit: int) -> None:
        super().__init__(folder, url, limit)
        self._rag = GraphRAG(
            working_dir=str(folder), best_model_func=_complete, cheap_model_func=_complete, embedding_func=_embed
        )

    def build(self, passages: list[Passage]) -> None:
        self._texts = Texts(passages)
        self._rag.insert([passage.reading for passage in passages])

    def search(self, question: str) -> Any:
        return self._rag.query(question, QueryParam(mode="local", only_need_context=True))

    def ids(self, found: str | None) -> list[str]:
        return self._texts.ids(found.rsplit("-----Sources-----", 1)[1]) if found else []

    def add(self, passage: Passage) -> None:
        self._texts.add(passage)
        self._rag.insert([passage.reading])


if __name__ == "__main__":
    run(NanoGraphRAG)
