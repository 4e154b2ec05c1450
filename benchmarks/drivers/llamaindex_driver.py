"""LlamaIndex's property graph with its simple extractor, its file stores and its default retrievers.

Not asynchronous: each call would make an event loop, in which the client has lost its connections and waits a second.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driver import Driver, Passage, run
from llama_index.core import Document, PropertyGraphIndex
from llama_index.core.indices.property_graph import SimpleLLMPathExtractor
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike


class LlamaIndex(Driver):
    def __init__(self, folder: Path, url: str, limit: int) -> None:
        super().__init__(folder, url, limit)
        self._llm = OpenAILike(model="llamaindex", api_base=url, api_key="none", is_chat_model=True)
        self._encoder = OpenAILikeEmbedding(model_name="minilm", api_base=url, api_key="none")

    def build(self, passages: list[Passage]) -> None:
        self._index = PropertyGraphIndex.from_documents(
            [_document(passage) for passage in passages],
            llm=self._llm,
            embed_model=self._encoder,
            kg_extractors=[SimpleLLMPathExtractor(self._llm)],
            use_async=False,
        )
        self._index.storage_context.persist(str(self.folder))

    def search(self, question: str) -> Any:
        retriever = self._index.as_retriever(similarity_top_k=self.limit, use_async=False)
        return retriever.retrieve(question)

    def ids(self, found: Any) -> list[str]:
        return list(dict.fromkeys(each.node.ref_doc_id for each in found if each.node.ref_doc_id))

    def add(self, passage: Passage) -> None:
        self._index.insert(_document(passage))
        self._index.storage_context.persist(str(self.folder))

    def remove(self, passage: Passage) -> None:
        self._index.delete_ref_doc(passage.id, delete_from_docstore=True)
        self._index.storage_context.persist(str(self.folder))


def _document(passage: Passage) -> Document:
    return Document(text=passage.reading, id_=passage.id)


if __name__ == "__main__":
    run(LlamaIndex)
