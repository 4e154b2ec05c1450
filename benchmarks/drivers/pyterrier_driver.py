"""PyTerrier with BM25 over an index of Terrier, which is in Java; an index is never changed, only made anew."""

from __future__ import annotations

from typing import Any

import pyterrier as pt
from driver import Driver, Passage, run


class PyTerrier(Driver):
    def build(self, passages: list[Passage]) -> None:
        rows = ({"docno": passage.id, "text": passage.reading} for passage in passages)
        made = pt.IterDictIndexer(str(self.folder), meta={"docno": 40}, overwrite=True).index(rows)
        self._retriever = pt.terrier.Retriever(made, wmodel="BM25", num_results=self.limit)

    def search(self, question: str) -> Any:
        words = "".join(letter if letter.isalnum() else " " for letter in question)  # signs are its query language
        return self._retriever.search(words)

    def ids(self, found: Any) -> list[str]:
        return list(found.docno)


if __name__ == "__main__":
    run(PyTerrier)
