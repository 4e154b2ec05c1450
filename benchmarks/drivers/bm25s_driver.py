"""bm25s: BM25 with a stemmer, as its README has it; an index is never changed, only made anew."""

from __future__ import annotations

import bm25s
import Stemmer
from driver import Driver, Passage, run


class BM25s(Driver):
    def build(self, passages: list[Passage]) -> None:
        self._ids = [passage.id for passage in passages]
        self._stemmer = Stemmer.Stemmer("english")
        tokens = bm25s.tokenize(
            [passage.reading for passage in passages], stopwords="en", stemmer=self._stemmer, show_progress=False
        )
        self._index = bm25s.BM25()
        self._index.index(tokens, show_progress=False)
        self._index.save(self.folder)

    def search(self, question: str) -> list[int]:
        tokens = bm25s.tokenize(question, stopwords="en", stemmer=self._stemmer, show_progress=False)
        limit = min(self.limit, len(self._ids))
        places: list[int] = self._index.retrieve(tokens, k=limit, show_progress=False).documents[0].tolist()
        return places

    def ids(self, found: list[int]) -> list[str]:
        return [self._ids[place] for place in found]


if __name__ == "__main__":
    run(BM25s)
