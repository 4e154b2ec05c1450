"""GRanker: a cross-encoder's ranking in which neighbours have a say (FastInsight)."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphwright.errors import ModelError, OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Columns
from graphwright.kernels.frontier import smooth
from graphwright.models.protocols import CrossEncoder
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["GRanker", "retrieved"]


@dataclass(frozen=True, repr=False)
class GRanker(Operator):
    """Rerank nodes by a cross-encoder whose latents are smoothed over the graph (FastInsight, Algorithm 2).

        H = latents(q, texts),  W = A D⁻¹,  P = diag(W 1)⁻¹ W,  H' = (1 - α) H + α P H,  S = head(H')

    A joins retrieved nodes that are neighbours, D holds their degrees in the whole snapshot: a neighbour counts
    the less, the more neighbours it has. A node without a retrieved neighbour keeps its own latent.
    `cross_encoder` gives Encoder(q, n) as `latents` and the MLP as `head`; `alpha` is α, 0 (the cross-encoder
    alone) to 1 (neighbours alone). Ranks the nodes of the evidence, a triple's both ends.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> graph = Graph.from_triples([("red fox", "r", "den"), ("hen", "r", "barn")])
    >>> state = start("red fox", graph, evidence=Evidence.of_nodes([2, 1, 0]))
    >>> graph.names.take(GRanker(OverlapCrossEncoder())(state).evidence.nodes)
    ['red fox', 'den', 'hen']
    """

    cross_encoder: CrossEncoder
    alpha: float = 0.2
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.cross_encoder, CrossEncoder):
            raise OptionError(f"GRanker({self.cross_encoder!r}): a cross-encoder, with latents and head, is needed.")
        if not 0 <= self.alpha <= 1:
            raise OptionError(f"GRanker(alpha={self.alpha!r}): a number from 0 to 1.")

    @cached_property
    def _last(self) -> _Last:
        """What the last question read, which a loop reads again and again; not of the configuration."""
        return _Last()

    def apply(self, state: State, run: Run) -> State:
        """Rank the nodes of the evidence."""
        nodes = retrieved(state)
        if not len(nodes):
            return state.with_(evidence=Evidence.of_nodes([], []))
        texts = self._last.texts(state, nodes)
        latents = run.latents(self.cross_encoder, state.question.text, texts)
        if latents.ndim != 2 or len(latents) != len(nodes):
            raise ModelError(f"{self.cross_encoder!r} gave latents of shape {latents.shape} for {len(nodes)} texts.")
        smoothed = smooth(*state.graph.columns.adjacency, nodes, latents, self.alpha)
        return state.with_(evidence=Evidence.of_nodes(nodes, self.cross_encoder.head(smoothed)))


class _Last(threading.local):
    """The texts that the last question of a thread read, by node."""

    question = ""
    columns: Callable[[], Columns | None] = staticmethod(lambda: None)

    def __reduce__(self) -> tuple[type[_Last], tuple[()]]:
        return _Last, ()

    def texts(self, state: State, nodes: Ints) -> list[str]:
        """Return the texts of the nodes."""
        if self.columns() is not state.graph.columns or self.question != state.question.text:
            self.known: dict[int, str] = {}
            self.columns, self.question = weakref.ref(state.graph.columns), state.question.text
        known, reading = self.known, state.graph.reading
        for node in nodes.tolist():
            if node not in known:
                known[node] = reading(node)
        return [known[node] for node in nodes.tolist()]


def retrieved(state: State) -> Ints:
    """Return the nodes of the evidence, each once, in its order; a triple stands for both its ends."""
    found = state.evidence
    if found is None:
        return np.empty(0, np.int64)
    nodes = found.nodes
    if len(found.edges):
        parts = [nodes if len(nodes) else state.graph.ends(edges) for nodes, edges in found]
        nodes = np.concatenate(parts)
    return np.fromiter(dict.fromkeys(nodes.tolist()), np.int64)
