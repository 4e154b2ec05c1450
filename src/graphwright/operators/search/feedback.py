"""Search with an expanded question: pseudo-relevance feedback, and HyDE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence
from graphwright.index.vector_index import VectorIndex
from graphwright.models.protocols import LLM, Floats
from graphwright.operators.operator import Ranker
from graphwright.operators.rerank.granker import evidence_nodes
from graphwright.operators.run import Run
from graphwright.operators.search.search import nearest
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line

__all__ = ["Feedback", "HypotheticalPassage"]


@dataclass(frozen=True, repr=False)
class Feedback(Ranker):
    """Search with the question's vector moved towards the evidence: pseudo-relevance feedback (Rocchio, 1971).

        q' = (q + β · mean of v_d over the nodes d of the evidence) / (1 + β)

    The evidence is taken as relevant, so cut it to a few items before. Nodes without a vector are ignored. `index`: as
    in VectorSearch; `beta`: β, the weight of the evidence relative to the question.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import HashEncoder
    >>> graph = Graph.from_triples([("lorry", "r", "red lorry"), ("red car", "r", "blue")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = start("a lorry", graph, evidence=Evidence.of_nodes([1]))
    >>> graph.names.take(Feedback(index)(state).evidence.nodes)[:3]
    ['red lorry', 'lorry', 'red car']
    """

    index: VectorIndex
    beta: Annotated[float, AtLeast(0)] = 0.75
    needs = ("evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Move the vector and search; without evidence the result is empty."""
        nodes = evidence_nodes(state)
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
    """Search with a passage that a language model writes for the question, true or not (HyDE, Gao et al., 2023).

    The query is the mean of the vectors of the passage and the question (N = 1 in the paper). If the model writes
    nothing, the question alone is used, and the trace notes it. Its offline twin is Feedback.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import HashEncoder, ScriptedLLM
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz in Styria", "in", "Austria")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> search = HypotheticalPassage(index, ScriptedLLM(['{"passage": "It is Graz, in Styria."}']))
    >>> graph.names.take((search % 1)(start("Where is the clock tower?", graph)).evidence.nodes)
    ['Graz in Styria']
    """

    index: VectorIndex
    model: Annotated[LLM, Has("a language model", "complete")]
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Let the model write a passage, and search."""
        reply = run.reply(self.model, "hypothetical_passage", question=data_line({"question": state.question.text}))
        passage = "" if reply is None else reply.passage.strip()
        query = self.index.encode(state.question.text, run)
        if passage:
            query = (query + self.index.encode(passage, run)) / np.float32(2)
        else:
            run.note("the model wrote no passage; the question alone is used")
        return state.with_(evidence=nearest(self.index, query, state, k))
