"""Beam search: paths that a model finds worth following, step by step (LEGO-GraphRAG, section 3.3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.models.base import LLM, CrossEncoder, Encoder
from graphwright.retrieve.choose import Choose
from graphwright.retrieve.operator import Operator
from graphwright.retrieve.paths import edges_between, query_entities
from graphwright.retrieve.rerank import Rerank
from graphwright.retrieve.state import State

__all__ = ["BeamSearch"]


@dataclass(frozen=True, repr=False)
class BeamSearch(Operator):
    """Paths from each query entity, of which a model keeps the best at every length (ISAR, section 3.3.3).

    From each query entity on its own: prolong the beams by each neighbour that they do not hold yet, keep the `width`
    (the paper's B) best of these, and again, up to `length` edges (L). The paths given are the beams of every length.
    An Encoder or CrossEncoder scores the text of the whole path against the question, `batch` texts a call; a
    language model chooses by number (see Choose), and the r-th it names has the score 1/r. Ties fall by the nodes, so
    the shorter path comes first. Query entities as for ShortestPaths.

    >>> from graphwright.retrieve.state import start; from graphwright.models.fake import OverlapCrossEncoder
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Bertha", "ally", "Otto"), ("Ida", "spouse", "Udo")])
    >>> state = start("Who is the spouse of the child of Bertha?", kin, entities=["Bertha"])
    >>> BeamSearch(OverlapCrossEncoder(), width=1)(state).evidence.texts(kin)
    ['Bertha child Ida; Ida spouse Udo', 'Bertha child Ida']
    """

    model: Encoder | CrossEncoder | LLM
    width: int = 8
    length: int = 4
    batch: int = 64
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.model, Encoder | CrossEncoder | LLM):
            raise OptionError(f"BeamSearch({self.model!r}): an encoder, a cross-encoder or a language model is needed.")
        for name, value, least in (("width", self.width, 1), ("length", self.length, 1), ("batch", self.batch, 2)):
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
                raise OptionError(f"BeamSearch({name}={value!r}): a whole number, {least} or more.")

    def apply(self, state: State) -> State:
        """Search from each query entity, and rank all beams."""
        found = []
        for source in state.graph.nodes[query_entities(state)].tolist():
            beams = Evidence.of_nodes([source])
            for _ in range(self.length):
                beams = self._best(state, _prolonged(state.graph, beams))
                if not len(beams):
                    break
                found.append(beams)
        return state.with_(evidence=_ranked(found))

    def _best(self, state: State, paths: Evidence) -> Evidence:
        """Return the `width` best of these paths, ranked."""
        if isinstance(self.model, LLM):
            return _of(Choose(self.model, self.batch).ranked(state.with_(evidence=paths), self.width))
        calls = [range(at, min(at + self.batch, len(paths))) for at in range(0, len(paths), self.batch)]
        ranker, parts = Rerank(self.model), [state.with_(evidence=paths.take(call)) for call in calls]
        return _ranked([_of(ranker.ranked(part, self.width)) for part in parts]).top(self.width)


def _of(state: State) -> Evidence:
    return Evidence.of_nodes([], []) if state.evidence is None else state.evidence


def _ranked(parts: list[Evidence]) -> Evidence:
    """Return the pieces of all parts as one ranking, by the scores that they have."""
    pieces = [piece for part in parts for piece in part]
    return Evidence.of_pieces(pieces, [score for part in parts if part.scores is not None for score in part.scores])


def _prolonged(graph: Graph, beams: Evidence) -> Evidence:
    """Return the paths that are one edge longer than these, which are all of one length; no node twice."""
    if not len(beams):
        return beams
    nodes, edges = beams.nodes.reshape(len(beams), -1), beams.edges.reshape(len(beams), -1)
    rows, ends = graph.adjacency, graph.local(nodes[:, -1])
    owner = np.repeat(np.arange(len(beams)), rows.indptr[ends + 1] - rows.indptr[ends])
    near = graph.nodes[rows.rows(ends)]
    new = (nodes[owner] != near[:, None]).all(axis=1)
    owner, near = owner[new], near[new]
    joining = edges_between(graph, nodes[owner, -1], near)
    return Evidence(
        *_rows(np.column_stack((nodes[owner], near))), *_rows(np.column_stack((edges[owner], joining))), None
    )


def _rows(table: NDArray[np.int64]) -> tuple[Ints, Ints]:
    """Return the rows of a table end to end, and where each begins; read-only."""
    flat, ptr = table.ravel(), np.arange(len(table) + 1) * table.shape[1]
    flat.flags.writeable = ptr.flags.writeable = False
    return flat, ptr
