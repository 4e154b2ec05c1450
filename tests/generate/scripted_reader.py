"""A reader that finds given texts, for the tests of steps that read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from graphwright.models import PassageText, Span


@dataclass(frozen=True)
class ScriptedReader:
    """A reader that finds given texts, and scores sentences by given parts of them.

    `texts`: the texts of the spans, which all have `score`. `sentences`: parts of sentences and their scores; a
    sentence without any of them scores 0. `max_passages`: more passages are refused.

    >>> reader = ScriptedReader(("Mur",), sentences={"flows": 0.8})
    >>> passages = [PassageText("", "It is the Mur. It flows.")]
    >>> [(span.start, span.end) for span in reader.read("?", passages)]
    [(10, 13)]
    >>> reader.sentence_scores("?", passages, [(0, 0, 14), (0, 15, 24)]).tolist()
    [0.0, 0.8]
    """

    texts: tuple[str, ...] = ()
    score: float = 1.0
    sentences: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    max_passages: int = 1_000

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return the spans of the texts, in their order. Raises ValueError for too many passages."""
        if len(passages) > self.max_passages:
            raise ValueError(f"{len(passages)} passages were read, and at most {self.max_passages} were expected.")
        places = [(text, at, p.text.find(text)) for text in self.texts for at, p in enumerate(passages)]
        return [Span(at, start, start + len(text), self.score) for text, at, start in places if start >= 0]

    def sentence_scores(
        self, question: str, passages: Sequence[PassageText], sentences: Sequence[tuple[int, int, int]]
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return the best score of the parts that each sentence has: float64[n]."""
        texts = [passages[at].text[start:end] for at, start, end in sentences]
        scores = [max((s for part, s in self.sentences.items() if part in text), default=0.0) for text in texts]
        return np.array(scores, np.float64)
