"""PyTerrier with BM25 of the engine PISA, as Terrier itself, in Java, is fetched when it first runs.

An index is never changed, only made anew.
"""

from __future__ import annotations

from typing import Any

from driver import Driver, Passage, run
from pyterrier_pisa import PisaIndex


class PyTerrier(Driver):
    def build(self, passages: list[Passage]) -> None:
        index = PisaIndex(str(self.folder), stemmer="porter2")
        index.index({"docno": passage.id, "text": passage.reading} for passage in passages)
        self._retriever = index.bm25(num_results=self.limit)

    def search(self, question: str) -> Any:
        return self._retriever.search(question)

    def ids(self, found: Any) -> list[str]:
        return list(found.docno)


if __name__ == "__main__":
    run(PyTerrier)
