"""Entities that sentences connect with those of the question (LinearRAG)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence
from graphwright.kernels.ranking import top
from graphwright.operators.operator import Operator
from graphwright.operators.paths.propositions import Propositions, propositions
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import likeness
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex

Walk = tuple[tuple[int, ...], tuple[int, ...]]
"""Nodes and edges of a path: entities, and between two of them an edge of the sentence that names both."""


@dataclass(frozen=True, repr=False)
class Bridge(Operator):
    """Activate entities that sentences near the question share with active ones (LinearRAG, semantic bridging).

    The question's entities are active with the weights of their anchors. In each of `rounds` rounds every newly active
    entity selects the `sentences` sentences nearest to the question among those that name it and that no other has
    selected. A sentence activates its other entities with the product of the entity's score and the sentence's cosine.
    Scores below `threshold` activate nothing. The evidence is a path from an anchor for each activation: entities as
    nodes, and one edge of each sentence; the last node is the entity.

    Relations are ignored. `triples`: vectors by edge (`Snapshot.triples`); without them sentences are compared by
    words, and the trace notes it.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> kin = Graph.from_triples([("Ida", "spouse", "Udo"), ("Ida", "lived in", "Lyon"), ("Udo", "lived in", "Graz")])
    >>> index = VectorIndex.from_array(HashEncoder().encode([kin.edge_text(edge) for edge in range(3)]), HashEncoder())
    >>> state = start("Where did the spouse of Ida live?", kin, entities=["Ida"])
    >>> evidence = Bridge(index, sentences=1, threshold=0.05)(state).evidence
    >>> [kin.names.take(nodes) for nodes, _ in evidence], evidence.scores.round(2).tolist()
    ([['Ida'], ['Ida', 'Udo'], ['Ida', 'Udo', 'Graz']], [1.0, 0.52, 0.09])
    """

    triples: VectorIndex | None
    rounds: Annotated[int, AtLeast(0)] = 2
    sentences: Annotated[int, AtLeast(1)] = 3
    threshold: Annotated[float, AtLeast(0)] = 0.4
    needs = ("anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        if self.triples is None:
            run.note_missing("triples")
        known, used = propositions(state.graph, self.triples), set[int]()
        active = _anchored(state)
        walks = {walk: score for score, walk in active.values()}
        for _ in range(self.rounds):
            new = dict[int, tuple[float, Walk]]()
            for score, walk in sorted(active.values(), key=lambda entry: (-entry[0], entry[1])):
                for value, longer in self._bridged(state, run, known, used, score, walk):
                    walks[longer] = value
                    new[longer[0][-1]] = max(new.get(longer[0][-1], (0.0, longer)), (value, longer))
            active = new
        return state.with_(evidence=Evidence.of_trees(state.graph, walks, list(walks.values())))

    def _bridged(
        self, state: State, run: Run, known: Propositions, used: set[int], score: float, walk: Walk
    ) -> list[tuple[float, Walk]]:
        """Return the walks continued by sentences at a walk's end, with scores; add the sentences to `used`."""
        nodes, edges = walk
        if score < self.threshold:
            return []
        at = known.of(nodes[-1])
        at = at[[number not in used for number in at.tolist()]] if len(at) else at
        first = known.edges.values[known.edges.indptr[at]].astype(np.int64)
        near = likeness(run, self.triples, state.graph.edge_text, first, state.question.text)
        longer = list[tuple[float, Walk]]()
        for best in top(near, self.sentences).tolist():
            used.add(int(at[best]))
            value = score * float(near[best])
            if value >= self.threshold:
                entities = known.nodes[known.entities.row(int(at[best]))].tolist()
                others = [entity for entity in entities if entity not in nodes]
                longer += [(value, ((*nodes, entity), (*edges, int(first[best])))) for entity in others]
        return longer


def _anchored(state: State) -> dict[int, tuple[float, Walk]]:
    """Return the entities of the anchors, each with its largest weight and a walk of one node."""
    active = dict[int, tuple[float, Walk]]()
    for anchor in state.anchors or ():
        nodes = anchor.seeds(state.graph)
        for node in nodes[state.graph.holds(nodes)].tolist() if anchor.kind == "entity" and anchor.weight else ():
            active[node] = max(active.get(node, (0.0, ((node,), ()))), (anchor.weight, ((node,), ())))
    return active
