"""Reading a graph in turns: relations of the current entities, then triples of one relation (StructGPT)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence, Piece
from graphwright.graph.relation_paths import (
    MAX_EDGES,
    RelationPath,
    extension_cost,
    extensions,
    labelled_edges,
    path_from,
    relation_text,
)
from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.path_evidence import query_entities
from graphwright.operators.rerank.choose import Choose
from graphwright.operators.rerank.mask import LengthPenalty, MaskEntities
from graphwright.operators.rerank.rerank import Rerank, best_by
from graphwright.operators.rerank.scorer import ModelOf
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line


class _ReadingInTurns(Operator):
    """Reads in turns, from each query entity, the relations of the current entities and the triples of a relation."""

    turns: int
    max_edges: int
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Read from each query entity, and rank the relation paths."""
        graph, pieces, scores = state.graph, list[Piece](), list[float]()
        for source in graph.at(query_entities(state)).tolist():
            path, score = self._read(state, run, path_from(graph, source))
            if path.ways:
                pieces.append(path.example(graph))
                scores.append(score)
        return state.with_(evidence=Evidence.of_paths(graph, pieces, scores, relation_text))

    def _read(self, state: State, run: Run, path: RelationPath) -> tuple[RelationPath, float]:
        """Return the relation path that the turns lead to, and its score."""
        labelled, score = labelled_edges(state.graph), -np.inf
        for _ in range(self.turns):
            if extension_cost(labelled, path) > self.max_edges:
                run.note("a relation leads to too many nodes to read on; raise `max_edges`")
                break
            longer = extensions(state.graph, path, labelled)
            selected = _selected(self.ranker, state, run, longer) if longer else None
            if selected is None or not self.improves(selected[1], score):
                break
            path, score = longer[selected[0]], selected[1]
            if self.is_enough(state, run, path):
                break
        return path, float(score)

    @property
    @abstractmethod
    def ranker(self) -> Operator:
        """The operator that selects a relation."""

    def improves(self, score: float, before: float) -> bool:
        """Return whether a longer relation path is taken, given its score and that of the path before."""
        return True

    def is_enough(self, state: State, run: Run, path: RelationPath) -> bool:
        """Return whether the path ends with its last relation."""
        return False


@dataclass(frozen=True, repr=False)
class ReadRelations(_ReadingInTurns):
    """Find a relation path from each query entity in turns of reading and reasoning (StructGPT, Jiang et al., 2023).

    A turn reads two interfaces of the graph. The first gives the relations of the current entities, in both directions,
    of which a language model selects one (see Choose); the second gives the triples of these entities and that
    relation. Then the model decides whether the triples are enough (prompt `structgpt`, which shows `max_triples`); if
    not, the next turn begins at the entities that they lead to. A path ends after `turns` relations, or when the model
    selects none. The evidence is a relation path for each query entity, as of RelationPaths; Instances gives its walks.
    `max_edges`: maximum edges at the entities of a turn; beyond it the path ends, with a note in the trace.
    RankRelations needs no language model.

    >>> from graphwright import Graph, start; from graphwright.models import ScriptedLLM
    >>> films = Graph.from_triples([("Heat", "directed_by", "Mann"), ("Ali", "directed_by", "Mann")])
    >>> state = start("What else did the director of Heat film?", films, entities=["Heat"])
    >>> llm = ScriptedLLM(['{"numbers": [1]}', '{"enough": false}', '{"numbers": [1]}', '{"enough": true}'])
    >>> ReadRelations(llm)(state).evidence.texts(films)
    ['directed by, directed by of']
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    turns: Annotated[int, AtLeast(1)] = 3
    max_triples: Annotated[int, AtLeast(1)] = 64
    max_edges: Annotated[int, AtLeast(1)] = MAX_EDGES

    @property
    def ranker(self) -> Operator:
        """The choice of the model."""
        return Choose(self.model)

    def is_enough(self, state: State, run: Run, path: RelationPath) -> bool:
        """Return whether the triples of the last relation are enough for the model; true without a usable reply."""
        graph = state.graph
        triples = graph.edges[np.unique(path.walks()[1][:, -1])][: self.max_triples]
        reply = run.reply(
            self.model,
            "structgpt",
            question=data_line({"question": state.question.text}),
            facts="\n".join(data_line(graph.edge_text(edge)) for edge in triples.tolist()),
        )
        return reply is None or bool(reply.enough)


@dataclass(frozen=True, repr=False)
class RankRelations(_ReadingInTurns):
    """Find a relation path from each query entity, turn by turn, by an encoder or a cross-encoder.

    The turns are those of ReadRelations. Relation paths are ranked with entity names masked and a penalty for length; a
    path ends when no longer path scores higher.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> films = Graph.from_triples([("Heat", "directed_by", "Mann"), ("Ali", "directed_by", "Mann")])
    >>> state = start("Who directed Heat?", films, entities=["Heat"])
    >>> RankRelations(HashEncoder())(state).evidence.texts(films)
    ['directed by']
    """

    model: Annotated[Encoder | CrossEncoder, ModelOf(Encoder, CrossEncoder)]
    turns: Annotated[int, AtLeast(1)] = 3
    max_edges: Annotated[int, AtLeast(1)] = MAX_EDGES

    @property
    def ranker(self) -> Operator:
        """The ranking of relation paths by the model."""
        return LengthPenalty(MaskEntities(Rerank(self.model)))

    def improves(self, score: float, before: float) -> bool:
        """Return whether the longer path scores higher."""
        return score > before


def _selected(ranker: Operator, state: State, run: Run, paths: list[RelationPath]) -> tuple[int, float] | None:
    """Return the position and the score of the best of these paths; None where the ranker selects none."""
    items = Evidence.of_paths(state.graph, [path.example(state.graph) for path in paths], render=relation_text)
    best = best_by(ranker, items, state, run, 1)
    if not len(best):
        return None
    return items.identities().index(best.identities()[0]), float(best.ranked_scores[0])
