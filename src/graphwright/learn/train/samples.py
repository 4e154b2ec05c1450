"""Samples: for each labelled question what a retriever sees, and which of it explains the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import DataError
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import Ways, labelled_edges
from graphwright.index.vector_index import normalised
from graphwright.learn.retrievers.arcs import seen
from graphwright.learn.retrievers.retriever import relation_vectors
from graphwright.learn.train.candidates import ANSWER, surroundings
from graphwright.learn.train.labels import Label, Labels, expanded
from graphwright.learn.train.refine import hidden
from graphwright.models.protocols import Encoder, Floats

__all__ = ["Sample", "Samples", "samples_of"]

_BLOCK = 1_024  # questions encoded at once


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One question: the edges that its retriever sees, and the relation paths to be written.

    `nodes: int32[n]`, snapshot ids; `heads`, `tails: int32[m]`, places in nodes; `relation: int32[m]`, rows of
    `Samples.relations`; `near: float16[n, f]`, the distance encoding; `positive: bool[m]`, the edges of Ĝ+; `ways`: the
    relation paths of P̂+, each way as 2 · row + 1 for head to tail.
    """

    nodes: NDArray[np.int32]
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    relation: NDArray[np.int32]
    near: NDArray[np.float16]
    positive: NDArray[np.bool_]
    ways: tuple[Ways, ...]


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples, with the vector of each one's question, and those of all relations that any of them has."""

    rows: tuple[Sample, ...]
    questions: Floats
    relations: Floats
    rounds: int

    def part(self, at: Sequence[int] | NDArray[np.int64]) -> Samples:
        """Return some of the samples."""
        chosen = [int(i) for i in at]
        return Samples(tuple(self.rows[i] for i in chosen), self.questions[chosen], self.relations, self.rounds)


def samples_of(
    graph: Graph,
    labels: Labels,
    encoder: Encoder,
    *,
    rounds: int = 3,
    progress: Callable[[str, int, int], None] | None = None,
) -> Samples:
    """Return the samples of the labels of which something was kept.

    `rounds`: of the distance encoding. Raises DataError where nothing was kept of any question.
    """
    show = progress or (lambda what, at, most: None)
    chosen = [row for row in labels.rows if row.kept]
    if not chosen:
        raise DataError(
            f"of {len(labels.rows):,} labelled questions none has a path that explains its answers, so nothing "
            "is learned. Look whether the graph leads from what they name to their answers."
        )
    known, nodes, place = labelled_edges(graph), int(labels.about.get("nodes", 1000)), dict[int, int]()
    rows = []
    for at, row in enumerate(chosen, 1):
        rows.append(_sample(graph, row, known, nodes, rounds, place))
        show("look around", at, len(chosen))
    questions = np.concatenate(
        [
            encoder.encode([hidden(graph, row.example) for row in chosen[at : at + _BLOCK]])
            for at in range(0, len(chosen), _BLOCK)
        ]
    )
    return Samples(tuple(rows), normalised(questions), relation_vectors(encoder, graph, list(place)), rounds)


def _sample(graph: Graph, row: Label, known: object, nodes: int, rounds: int, place: dict[int, int]) -> Sample:
    around = surroundings(graph, row.example, nodes)
    at = seen(around, around.local(row.example.entities), rounds)
    of = np.array([place.setdefault(relation, len(place)) for relation in at.relations.tolist()], np.int32)
    ways = dict.fromkeys(kept.candidate.ways for kept in row.kept if kept.candidate.pool != ANSWER)
    written = tuple(tuple(2 * place.setdefault(way >> 1, len(place)) + (way & 1) for way in one) for one in ways)
    return Sample(
        at.nodes.astype(np.int32),
        at.heads.astype(np.int32),
        at.tails.astype(np.int32),
        of[at.relation] if len(of) else np.empty(0, np.int32),
        at.near.astype(np.float16),
        np.isin(at.edges, expanded(graph, row, known)),
        written,
    )
