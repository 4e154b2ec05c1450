"""Searches by a vector that stands nearer to the answer than the question's: relevance feedback, and HyDE."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.index.vector_index import VectorIndex
from graphwright.models.protocols import LLM, Floats
from graphwright.operators.operator import Ranker
from graphwright.operators.rerank.granker import retrieved
from graphwright.operators.run import Run
from graphwright.operators.search.search import nearest
from graphwright.operators.state import State
from graphwright.prompts import data_line

__all__ = ["Feedback", "HypotheticalPassage"]


@dataclass(frozen=True, repr=False)
class Feedback(Ranker):
    """Search again with the question's vector moved to what was found: pseudo-relevance feedback (Rocchio, 1971).

        q' = (q + β · mean of v_d over the nodes d of the evidence) / (1 + β)

    The evidence is taken for relevant, so cut it to a few before; what is found again may hold it or not. A node
    without a vector says nothing. `index`: as in VectorSearch; `beta` is β, what they weigh beside the question.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import HashEncoder
    >>> graph = Graph.from_triples([("lorry", "r", "red lorry"), ("red car", "r", "blue")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = start("a lorry", graph, evidence=Evidence.of_nodes([1]))
    >>> graph.names.take(Feedback(index)(state).evidence.nodes)[:3]
    ['red lorry', 'lorry', 'red car']
    """

    index: VectorIndex
    beta: float = 0.75
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.beta) and self.beta >= 0):
            raise OptionError(f"Feedback(beta={self.beta!r}): a number, 0 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Move the vector and search; nothing where nothing was found."""
        nodes = retrieved(state)
        if not len(nodes):
            return state.with_(evidence=Evidence.of_nodes([], []))
        query, vectors = self.index.encode(state.question.text, run), []
        for part in self.index.parts:
            vectors.append(part.vectors[part.rows_of(nodes)[1]])
            nodes = nodes[~part.has(nodes)]
        return state.with_(evidence=nearest(self.index, self._moved(query, np.concatenate(vectors)), state, k))

    def _moved(self, query: Floats, vectors: Floats) -> Floats:
        if not len(vectors):
            return query
        moved: Floats = (query + np.float32(self.beta) * vectors.mean(axis=0)) / np.float32(1 + self.beta)
        return moved


@dataclass(frozen=True, repr=False)
class HypotheticalPassage(Ranker):
    """Search with a passage that a language model wrote for the question, true or not (HyDE, Gao et al., 2023).

    The vector is the mean of the passage's and the question's, that is N = 1 passage in the paper's terms, since a
    reply is one text. Where the model writes nothing the question is searched with alone, and the trace says so.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import HashEncoder, ScriptedLLM
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz in Styria", "in", "Austria")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> search = HypotheticalPassage(index, ScriptedLLM(['{"passage": "It is Graz, in Styria."}']))
    >>> graph.names.take((search % 1)(start("Where is the clock tower?", graph)).evidence.nodes)
    ['Graz in Styria']
    """

    index: VectorIndex
    model: LLM
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.model, LLM):
            raise OptionError(f"HypotheticalPassage({self.model!r}): a language model is needed, with complete.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Have a passage written, and search."""
        reply = run.reply(self.model, "hypothetical_passage", question=data_line({"question": state.question.text}))
        passage = "" if reply is None else reply.passage.strip()
        query = self.index.encode(state.question.text, run)
        if passage:
            query = (query + self.index.encode(passage, run)) / np.float32(2)
        else:
            run.note("the model wrote no passage; the question is searched with alone")
        return state.with_(evidence=nearest(self.index, query, state, k))
