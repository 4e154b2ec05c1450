"""Paths of knowledge units: each unit is searched with the part of the question that is not yet covered (Clue-RAG)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item
from graphwright.kernels.ranking import top
from graphwright.models.protocols import CrossEncoder, Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.propositions import Propositions, propositions, unit_vectors
from graphwright.operators.rerank.rerank import SCORES_ITEMS
from graphwright.operators.rerank.scorer import Scorer, score_function
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import overlap
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex, cosines

Path = tuple[int, ...]
"""Numbers of units, ordered by their texts."""
Reached = tuple[int, Scores, Path]
"""An entity, the remaining query vector of its path, and the path."""


@dataclass(frozen=True, repr=False)
class UnitPaths(Operator):
    """Search paths of knowledge units from entities, subtracting each unit from the query (Q-Iter of Clue-RAG).

    A unit is a statement of edges (see `propositions`). At each of `depth` steps, every entity reached takes the
    `units` units about it (the paper's K) with the largest cosine to its query vector, and subtracts the vector of the
    unit: q' = q - u. Of all paths that are one unit longer, equal sets of units once, the `width` (M) best stay by
    `model`, which reads the question and the texts of the path together. The entities of their last units are reached
    next. The evidence is the paths of all steps. The first entities are those of the evidence, with the question as
    query.

    `triples`: vectors by edge (`Snapshot.triples`); without them units are compared with the question by words, nothing
    is subtracted, and the trace notes it.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder, OverlapCrossEncoder
    >>> kin = Graph.from_triples([("Ida", "spouse", "Udo"), ("Ida", "ally", "Ugo"), ("Udo", "lived in", "Graz")])
    >>> index = VectorIndex.from_array(HashEncoder().encode([kin.edge_text(edge) for edge in range(3)]), HashEncoder())
    >>> state = start("Where lived the spouse of Ida?", kin, evidence=Evidence.of_nodes([0]))
    >>> UnitPaths(index, OverlapCrossEncoder(), units=1, width=1, depth=2)(state).evidence.texts(kin)
    ['Ida spouse Udo; Udo lived in Graz', 'Ida spouse Udo']
    """

    triples: VectorIndex | None
    model: Annotated[Encoder | CrossEncoder | Scorer, SCORES_ITEMS]
    units: Annotated[int, AtLeast(1)] = 3
    width: Annotated[int, AtLeast(1)] = 5
    depth: Annotated[int, AtLeast(1)] = 3
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Search step by step, and rank the paths of all steps."""
        items, known = state.items, propositions(state.graph, self.triples)
        entities = np.unique(np.concatenate((items.nodes, state.graph.ends(items.edges)))).tolist()
        reached: list[Reached] = [(entity, self._query(state, run), ()) for entity in entities]
        score, paths = score_function(self.model, state, run), dict[Path, float]()
        for _ in range(self.depth):
            longer = self._longer(state, known, reached)
            if not longer:
                break
            ordered = list(longer)
            scores = score(Evidence.of_trees(state.graph, (_item(known, path) for path in ordered), render=_text))
            best = [ordered[at] for at in top(scores, self.width).tolist()]
            paths |= {path: float(scores[ordered.index(path)]) for path in best}
            reached = [
                (entity, longer[path][1], path)
                for path in best
                for entity in known.nodes[known.entities.row(longer[path][0])].tolist()
            ]
        ranked = (_item(known, path) for path in paths)
        return state.with_(evidence=Evidence.of_trees(state.graph, ranked, list(paths.values()), _text))

    def _query(self, state: State, run: Run) -> Scores:
        """Return the unit vector of the question, empty without vectors."""
        if self.triples is None:
            run.note_missing("triples")
            return np.empty(0)
        vector = self.triples.encode(state.question.text, run).astype(np.float64)
        unit: Scores = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return unit

    def _longer(self, state: State, known: Propositions, reached: list[Reached]) -> dict[Path, tuple[int, Scores]]:
        """Return the paths with one more unit: its number, and the remaining query vector."""
        longer = dict[Path, tuple[int, Scores]]()
        for entity, query, path in reached:
            near = np.setdiff1d(known.of(entity), path)
            vectors = None if self.triples is None else unit_vectors(self.triples, known.rows[near])
            if vectors is None:
                texts = (known.text(state.graph, unit) for unit in near.tolist())
                scores = np.array([overlap(state.question.text, text) for text in texts], np.float64)
            else:
                scores = cosines(vectors, query)
            for at in top(scores, self.units).tolist():
                unit = int(near[at])
                key = tuple(sorted((*path, unit), key=lambda number: (known.text(state.graph, number), number)))
                longer[key] = unit, query if vectors is None else query - vectors[at]
        return longer


def _item(known: Propositions, path: Path) -> tuple[list[int], list[int]]:
    """Return a path as an item: all edges of each unit, which several passages may state."""
    return [], [edge for unit in path for edge in known.edges.row(unit).tolist()]


def _text(graph: Graph, item: Item) -> str:
    """Return the texts of the units of a path, each once."""
    return "; ".join(dict.fromkeys(map(graph.edge_text, item.edges)))
