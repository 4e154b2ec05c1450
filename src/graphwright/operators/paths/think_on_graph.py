"""Think-on-Graph: a model first chooses by which relation to go on, then to which entity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import relation_words, ways_of
from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.paths import query_entities
from graphwright.operators.rerank.choose import Choose
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Explore"]

Step = tuple[list[int], list[int]]
"""The nodes and the edges of a path."""


def _next_relation(graph: Graph, nodes: Ints, edges: Ints) -> str:
    """Return the text of a path whose last node is not chosen yet: its edges before, the node and its next relation."""
    relation = relation_words(graph, ways_of(graph, nodes[-2:], edges[-1:]))
    return "; ".join(
        [*(graph.edge_text(int(edge)) for edge in edges[:-1]), f"{graph.names[int(nodes[-2])]} {relation}"]
    )


@dataclass(frozen=True, repr=False)
class Explore(Operator):
    """Paths from each query entity, a model choosing relations first and then entities (ToG, Sun et al., 2024).

    From each query entity on its own, up to `depth` edges: of the relations, with directions, by which the paths so far
    may go on, the `width` that fit the question best; of the nodes that these lead to, the `width` best again (ToG's D
    and N). A language model chooses by number (see Choose), and ends the search where it chooses none; an Encoder or
    CrossEncoder ranks by text (see Rerank). A step to more than `relations`, or by these to more than `most` nodes, is
    judged by the first of them, with a note in the trace; the paper draws some nodes at random. The paths given are
    those of every length: that ToG asks its model after each step whether they are enough is left out.

    >>> from graphwright import OverlapCrossEncoder, start
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Bertha", "ally", "Otto"), ("Ida", "spouse", "Udo")])
    >>> state = start("Who is the spouse of the child of Bertha?", kin, entities=["Bertha"])
    >>> Explore(OverlapCrossEncoder(), width=1)(state).evidence.texts(kin)
    ['Bertha child Ida; Ida spouse Udo', 'Bertha child Ida']
    """

    model: Encoder | CrossEncoder | LLM
    width: int = 3
    depth: int = 3
    most: int = 256
    relations: int = 64
    batch: int = 64
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if isinstance(self.model, str) or not isinstance(self.model, Encoder | CrossEncoder | LLM):
            raise OptionError(f"Explore({self.model!r}): an encoder, a cross-encoder or a language model is needed.")
        least = {"width": 1, "depth": 1, "most": 1, "relations": 1, "batch": 2}
        for name, low in least.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < low:
                raise OptionError(f"Explore({name}={value!r}): a whole number, {low} or more.")

    def apply(self, state: State, run: Run) -> State:
        """Search from each query entity, and rank all paths."""
        found: list[Evidence] = []
        for source in state.graph.at(query_entities(state)).tolist():
            beams: list[Step] = [([source], [])]
            while beams and len(beams[0][1]) < self.depth:
                turns = _turns(state.graph, beams)
                ways = _first(run, [steps[0] for steps in turns.values()], self.relations, "relations")
                chosen = self._best(state, run, Evidence.of_pieces(ways, render=_next_relation))
                taken = {_key(state.graph, nodes.tolist(), edges.tolist()) for nodes, edges in chosen}
                further = [step for key, steps in turns.items() if key in taken for step in steps]
                found.append(self._best(state, run, Evidence.of_pieces(_first(run, further, self.most, "nodes"))))
                beams = [(nodes.tolist(), edges.tolist()) for nodes, edges in found[-1]]
        pieces = [piece for part in found for piece in part]
        scores = [score for part in found for score in (part.scores if part.scores is not None else ())]
        return state.with_(evidence=Evidence.of_pieces(pieces, scores))

    def _best(self, state: State, run: Run, paths: Evidence) -> Evidence:
        """Return the `width` best of these paths, ranked."""
        judge = Choose(self.model, self.batch) if isinstance(self.model, LLM) else Rerank(self.model)
        return judge.ranked(state.with_(evidence=paths), run, self.width).evidence or Evidence.of_nodes([], [])


def _first(run: Run, steps: list[Step], most: int, what: str) -> list[Step]:
    if len(steps) > most:
        run.note(f"{most} of {len(steps)} {what} that a step leads to were judged")
    return steps[:most]


Key = tuple[tuple[int, ...], tuple[int, ...], int]
"""The nodes and the edges of a path, and the way by which it goes on."""


def _key(graph: Graph, nodes: list[int], edges: list[int]) -> Key:
    return tuple(nodes[:-1]), tuple(edges[:-1]), ways_of(graph, np.array(nodes[-2:]), np.array(edges[-1:]))[0]


def _turns(graph: Graph, beams: list[Step]) -> dict[Key, list[Step]]:
    """Return the paths that are one edge longer than these, by path and way; no node twice."""
    c, turns = graph.columns, dict[Key, dict[int, Step]]()
    for nodes, edges in beams:
        near = np.concatenate((c.out.row(nodes[-1]), c.into.row(nodes[-1]))).astype(np.int64)
        near = near if graph.whole else near[np.isin(near, graph.edges)]
        far = graph.ends(near).reshape(-1, 2)
        for edge, head, tail, relation in zip(near, *far.T, c.relation[near], strict=True):
            other = int(tail if head == nodes[-1] else head)
            if other not in nodes:
                key = tuple(nodes), tuple(edges), 2 * int(relation) + int(head == nodes[-1])
                # Of parallel edges the first.
                turns.setdefault(key, {}).setdefault(other, ([*nodes, other], [*edges, int(edge)]))
    return {key: list(steps.values()) for key, steps in turns.items()}
