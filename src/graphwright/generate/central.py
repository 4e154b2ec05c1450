"""What is most central: the passages that all others are like, and the sentences that say most of what passages do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.generate.broad import names_nothing
from graphwright.generate.reader import sentences_of
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.models.protocols import Encoder, Span
from graphwright.operators.operator import Ranker, source_of
from graphwright.operators.run import Run
from graphwright.operators.search.central import most_central
from graphwright.operators.state import State

__all__ = ["CentralReader", "CentralSearch", "most_central"]

_NEAR = 0.6  # of the nearest, for a sentence to be about what is asked
_STOPS = ".!…。！।؟\"'”’»)"


@dataclass(frozen=True, repr=False)
class CentralSearch(Ranker):
    """The passages that all others are most like, each unlike those before it; the question is not looked at.

    Centrality is the mean cosine with all passages: the degree in the graph of cosines, which the random walk of
    LexRank (Erkan and Radev, 2004) stays near, since that graph is dense. In the mean a document of n passages counts
    for √n, so that a long one says more than a short one, and does not drown twenty of them. The order is that of
    maximal marginal relevance (Carbonell and Goldstein, 1998). Offline twin of community and RAPTOR summaries.

    `index`: vectors of the passages. `sample`: passages looked at, evenly from first to last, so that the time is
    bounded. `found`: passages given at most.
    """

    index: VectorIndex
    sample: int = 2_000
    found: int = 100
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if self.sample < 1 or self.found < 1:
            raise OptionError(f"{self!r}: the passages to look at and to give are 1 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank passages of the graph."""
        inside = self.index.ids if state.graph.whole else self.index.ids[state.graph.holds(self.index.ids)]
        known, rows = self.index.rows_of(_evenly(inside, self.sample))
        vectors = normalised(np.asarray(self.index.vectors[rows], np.float32))
        if not len(known):
            return state.with_(evidence=Evidence.of_nodes([]))
        mean = np.average(vectors, axis=0, weights=_shares(state.graph, known)).astype(np.float32)
        best, values = most_central(vectors, vectors @ mean, min(self.found, k or self.found))
        return state.with_(evidence=Evidence.of_nodes(known[best], values))


@dataclass(frozen=True, repr=False)
class CentralReader:
    """Quotes for a broad question the sentences that are most like all passages together, one of each passage at most.

    `most`: sentences at most. `sentences`: how many are read, evenly over the passages. A sentence counts by its
    mean cosine with the passages, and its cosine with the question where that names something; one that is then far
    from the question, below `least` and below six tenths of the nearest, is left out. Those taken are unlike each other
    (see CentralSearch). Headings and sentences of a few words or of very many are not read.

    >>> from graphwright.models.fake import HashEncoder
    >>> text = "Bread is made by bakers everywhere. The river Mur flows through Graz and Styria."
    >>> CentralReader(HashEncoder(), most=1).read("Summarise this.", [text, "The river Mur flows on."])
    [Span(passage=0, start=36, end=80, score=0.7, text='')]
    """

    encoder: Encoder
    most: int = 6
    sentences: int = 240
    least: float = 0.3

    def __repr__(self) -> str:
        return source_of(self)

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        """Return spans of whole sentences, best first."""
        places = self._places(passages)
        if not places:
            return []
        texts = [passages[i][start:end] for i, start, end in places]
        held = sorted({i for i, *_ in places})
        vectors = normalised(self.encoder.encode([question, *(passages[i] for i in held), *texts]))
        asked, whole, vectors = vectors[0], vectors[1 : len(held) + 1], vectors[len(held) + 1 :]
        counts = vectors @ whole.mean(axis=0)
        if not names_nothing(question):
            near = vectors @ asked
            nearest = float(near.max())
            kept = np.flatnonzero(near >= min(self.least, max(_NEAR * nearest, 0.0), nearest))
            vectors, counts, places = vectors[kept], (counts + near)[kept], [places[at] for at in kept.tolist()]
        best, values = most_central(vectors, counts, self.most, np.array([i for i, *_ in places]))
        chosen = [places[at] for at in best.tolist()]
        return [Span(i, start, end, round(float(v), 4)) for (i, start, end), v in zip(chosen, values, strict=True)]

    def _places(self, passages: Sequence[str]) -> list[tuple[int, int, int]]:
        """Return passage, start and end of the sentences to read."""
        each = max(1, self.sentences // max(len(passages), 1))
        found = [(i, *span) for i, text in enumerate(passages[: self.sentences]) for span in _telling(text, each)]
        # Where nothing is a full sentence, as in lists and notes, what there is has to do.
        return found or [(i, *s) for i, text in enumerate(passages) for s in sentences_of(text)][: self.sentences]


def _shares(graph: Graph, nodes: Ints) -> NDArray[np.float64]:
    """Return what each passage counts for, by its document; all alike on a graph without passages: float64[n]."""
    if graph.passages is None:
        return np.ones(len(nodes))
    row = np.minimum(np.searchsorted(graph.passages.nodes, nodes), len(graph.passages.nodes) - 1)
    _, of, count = np.unique(graph.passages.document[row], return_inverse=True, return_counts=True)
    shares: NDArray[np.float64] = 1 / np.sqrt(count[of])
    return shares


def _evenly(ids: Ints, count: int) -> Ints:
    return ids if len(ids) <= count else ids[np.linspace(0, len(ids) - 1, count).astype(np.int64)]


def _telling(passage: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of full sentences of middling length, evenly over the passage where they are too many."""
    spans = [(a, b) for a, b in sentences_of(passage) if 40 <= b - a <= 400 and passage[b - 1] in _STOPS]
    yield from (spans[int(at)] for at in _evenly(np.arange(len(spans)), most))
