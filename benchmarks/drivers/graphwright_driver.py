"""graphwright with its default method and a language model that extracts with descriptions.

The scorer of passages is the one that was fitted without MuSiQue, of which the questions are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driver import Driver, Passage, run

from graphwright import Index
from graphwright.extract import GenerativeExtractor
from graphwright.models import OpenAIEncoder, OpenAILLM
from graphwright.operators.rerank.fitted_scorer import PassageScorer

SCORER = PassageScorer.read(Path(__file__).parents[1] / "results" / "scorer" / "musique.json")


class Graphwright(Driver):
    def __init__(self, folder: Path, url: str, limit: int) -> None:
        super().__init__(folder, url, limit)
        llm = OpenAILLM("graphwright", url, max_tokens=8192)
        encoder = OpenAIEncoder("minilm", url)
        self._index = Index.create(folder / "index", encoder=encoder, extractor=GenerativeExtractor(llm))

    def build(self, passages: list[Passage]) -> None:
        self._index.add([vars(passage) for passage in passages])

    def search(self, question: str) -> Any:
        return self._index.retrieve(question, "multihop", top_k=self.limit, scorer=SCORER)

    def ids(self, found: Any) -> list[str]:
        return list(dict.fromkeys(passage.document for passage in found.passages))

    def add(self, passage: Passage) -> None:
        self._index.add([vars(passage)])

    def remove(self, passage: Passage) -> None:
        self._index.remove([passage.id])

    def close(self) -> None:
        self._index.close()


if __name__ == "__main__":
    run(Graphwright)
