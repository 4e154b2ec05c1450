"""fast-graphrag with its defaults, but for the number of passages that it returns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driver import Driver, Passage, Texts, run
from fast_graphrag import GraphRAG, QueryParam
from fast_graphrag._llm import OpenAIEmbeddingService, OpenAILLMService
from fast_graphrag._policies._ranking import RankingPolicy_TopK


class FastGraphRAG(Driver):
    def __init__(self, folder: Path, url: str, limit: int) -> None:
        super().__init__(folder, url, limit)
        given = {"base_url": url, "api_key": "none"}
        self._rag = GraphRAG(
            working_dir=str(folder),
            domain="Find what the documents say about people, places, works and events.",
            example_queries="Who founded the abbey near the river?",
            entity_types=["concept"],
            config=GraphRAG.Config(
                llm_service=OpenAILLMService(model="fast-graphrag", **given),
                embedding_service=OpenAIEmbeddingService(model="minilm", embedding_dim=384, **given),
                chunk_ranking_policy=RankingPolicy_TopK(RankingPolicy_TopK.Config(top_k=limit)),
            ),
        )

    def build(self, passages: list[Passage]) -> None:
        self._texts = Texts(passages)
        self._rag.insert([passage.reading for passage in passages], show_progress=False)

    def search(self, question: str) -> Any:
        return self._rag.query(question, QueryParam(only_context=True))

    def ids(self, found: Any) -> list[str]:
        return self._texts.ids_of_each(chunk.content for chunk, _ in found.context.chunks)

    def add(self, passage: Passage) -> None:
        self._texts.add(passage)
        self._rag.insert(passage.reading, show_progress=False)


if __name__ == "__main__":
    run(FastGraphRAG)
