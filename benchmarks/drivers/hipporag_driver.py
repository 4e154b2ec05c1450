"""HippoRAG 2 with its online extraction. vLLM, which needs a GPU, is only named: nothing of it is used."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from driver import Driver, Passage, Texts, run

_vllm = ModuleType("vllm")
_vllm.LLM = _vllm.SamplingParams = None  # type: ignore[attr-defined]
sys.modules["vllm"] = _vllm

from hipporag.HippoRAG import HippoRAG  # noqa: E402


class HippoRAGDriver(Driver):
    def __init__(self, folder: Path, url: str, limit: int) -> None:
        super().__init__(folder, url, limit)
        self._rag = HippoRAG(
            save_dir=str(folder),
            llm_model_name="hipporag",
            llm_base_url=url,
            embedding_model_name="text-embedding-minilm",  # its name for any model behind OpenAI's interface
            embedding_base_url=url,
        )

    def build(self, passages: list[Passage]) -> None:
        self._texts = Texts(passages)
        self._rag.index([passage.reading for passage in passages])

    def search(self, question: str) -> Any:
        return self._rag.retrieve([question], num_to_retrieve=self.limit)

    def ids(self, found: Any) -> list[str]:
        return self._texts.ids_of_each(found[0].docs)

    def add(self, passage: Passage) -> None:
        self._texts.add(passage)
        self._rag.index([passage.reading])
        self._rag.ready_to_retrieve = False  # or else it goes on searching what it had

    def remove(self, passage: Passage) -> None:
        self._rag.delete([passage.reading])


if __name__ == "__main__":
    run(HippoRAGDriver)
