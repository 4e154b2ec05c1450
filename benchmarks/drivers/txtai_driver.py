"""txtai with its hybrid search: vectors and BM25, with the texts in its database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from driver import Driver, Passage, run
from openai import OpenAI
from txtai import Embeddings


class Txtai(Driver):
    def __init__(self, folder: Path, url: str, limit: int) -> None:
        super().__init__(folder, url, limit)
        client = OpenAI()

        def encode(texts: list[str]) -> Any:
            response = client.embeddings.create(model="minilm", input=list(texts))
            return np.array([each.embedding for each in response.data], np.float32)

        self._index = Embeddings(method="external", transform=encode, hybrid=True, content=True)

    def build(self, passages: list[Passage]) -> None:
        self._index.index((passage.id, passage.reading, None) for passage in passages)
        self._index.save(str(self.folder))

    def search(self, question: str) -> Any:
        return self._index.search(question, self.limit)

    def ids(self, found: Any) -> list[str]:
        return [each["id"] for each in found]

    def add(self, passage: Passage) -> None:
        self._index.upsert([(passage.id, passage.reading, None)])
        self._index.save(str(self.folder))

    def remove(self, passage: Passage) -> None:
        self._index.delete([passage.id])
        self._index.save(str(self.folder))


if __name__ == "__main__":
    run(Txtai)
