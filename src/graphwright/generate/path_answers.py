"""Operators that answer without a language model by names: the ends of chains and paths of the evidence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between, Has
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.graph.items import walk_to
from graphwright.graph.walks import Bundle, bundle_of, step_names
from graphwright.models.protocols import Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State
from graphwright.search.vector_index import normalised

NO_TARGET = "No path from the entities of the question leads to an answer."
_UNLINKED = "The question names no entity of the graph."
_SEPARATORS = re.compile(r"[\W_]+")  # of the words of a relation's name


@dataclass(frozen=True, repr=False)
class ChainAnswer(Operator):
    """Answer with the ends of the chain whose relations are nearest to the question.

    The score of a chain is the cosine of the question with the name where the chain begins followed by its relations,
    less `step` for each triple; ties go to the first. The text has one name per line, each cited with its walk from a
    query entity. Offline twin of the reading of chains by a language model (ReG, figure 7).

    >>> from graphwright import Evidence, Graph, start; from graphwright.models import HashEncoder
    >>> film = Graph.from_triples([("Alien", "has_genre", "Horror"), ("Alien", "director", "Scott")])
    >>> state = start("Who was the director?", film, evidence=Evidence.of_paths(film, [([0, 1], [0]), ([0, 2], [1])]))
    >>> ChainAnswer(HashEncoder())(state).answer.citations[0].path
    ('Alien', 'director', 'Scott')
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    step: Annotated[float, Between(0, 1, open_high=True)] = 0.02
    needs = ("evidence",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        graph = state.graph
        items = [(item, bundle) for item in state.items.items() if (bundle := bundle_of(graph, item)) is not None]
        if not items:
            return state.with_(answer=Answer(NO_TARGET, found=False))
        texts = [_reading(graph, bundle) for _, bundle in items]
        vectors = normalised(run.encode(self.encoder, [state.question.text, *texts]))
        scores = vectors[1:] @ vectors[0] - self.step * np.array([len(bundle.ways) for _, bundle in items])
        best, bundle = items[int(scores.argmax())]
        paths = {graph.names[end]: step_names(graph, walk_to(graph, best, end)) for end in bundle.levels[-1]}
        return state.with_(answer=_names_answer(paths))


@dataclass(frozen=True, repr=False)
class TargetAnswer(Operator):
    """Answer with the names of the nodes that the evidence leads to, best first, each with its best path.

    An item leads to the last of its nodes that the question does not name (of a triple: to its tail, else its head); a
    walk that returns to its first node leads there. The text has one name a line, at most `limit`; with `tied` only
    names from items with the best score. The citation of the same rank has the name and the path.

    >>> from graphwright import Graph, ShortestPaths, start
    >>> family = Graph.from_triples([("Bertha", "child", "Ida"), ("Udo", "spouse", "Ida")])
    >>> answer = (ShortestPaths() >> TargetAnswer())(start("Who?", family, entities=["Bertha"])).answer
    >>> answer.short, answer.citations[1].path
    (('Ida', 'Udo'), ('Bertha', 'child', 'Ida', 'spouse⁻¹', 'Udo'))
    """

    limit: Annotated[int | None, AtLeast(1)] = None
    tied: bool = False
    needs = ("evidence",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        graph = state.graph
        seeds = {node for anchor in state.anchors or () for node in anchor.seeds(graph).tolist()}
        paths: dict[str, tuple[str, ...]] = {}
        for item in self._items(state).items():
            if self.limit is not None and len(paths) >= self.limit:
                break
            ends = item.nodes or graph.ends(item.edges).tolist()
            returns = len(item.nodes) > 1 and ends[0] == ends[-1]
            target = ends[-1] if returns else next((node for node in reversed(ends) if node not in seeds), None)
            # Writing the text of a path is expensive, so it is done for new targets only.
            if target is not None and (name := graph.names[target]) not in paths:
                paths[name] = step_names(graph, walk_to(graph, item, target))
        if not paths:
            return state.with_(answer=Answer(NO_TARGET if seeds else _UNLINKED, found=False))
        return state.with_(answer=_names_answer(paths))

    def _items(self, state: State) -> Evidence:
        items = state.evidence or Evidence.of_nodes([])
        if not self.tied or items.scores is None or not len(items):
            return items
        return items.top(int(np.searchsorted(-items.scores, -items.scores[0], "right")))


def _reading(graph: Graph, bundle: Bundle) -> str:
    relations = (graph.columns.relations[way >> 1] for step in bundle.ways for way in step)
    return " ".join(
        [graph.names[bundle.levels[0][0]], *(_SEPARATORS.sub(" ", relation).strip() for relation in relations)]
    )


def _names_answer(paths: dict[str, tuple[str, ...]]) -> Answer:
    """Return the answer that lists these names, a line each, each cited with the path that leads to it."""
    citations = tuple(Citation("", name, 0, len(name), name, path) for name, path in paths.items())
    return Answer("\n".join(paths), tuple(paths), citations)
