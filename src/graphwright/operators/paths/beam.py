"""Beam search over paths: by a scorer (LEGO-GraphRAG), and by relations, then entities (Think-on-Graph)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, item_text
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item
from graphwright.graph.walks import relation_words, ways_of
from graphwright.models.protocols import CrossEncoder, Encoder
from graphwright.operators.operator import IS_OPERATOR, Operator
from graphwright.operators.paths.node_paths import path_evidence, query_entities
from graphwright.operators.rerank.rerank import Choose, best_by
from graphwright.operators.rerank.scorer import ModelOf, Scorer, ranked_by, score_function
from graphwright.operators.run import Run
from graphwright.operators.state import State

_MAX_WIDTHS = 4  # dynamic pruning keeps at most this many times the width


@dataclass(frozen=True, repr=False)
class BeamSearch(Operator):
    """Search paths from each query entity; a model selects the best of every length (ISAR, section 3.3.3).

    For each query entity separately: extend the beams by each neighbour that they do not contain, select the `width`
    (the paper's B) best, and repeat up to `length` edges (L). The evidence is the beams of every length; of equal
    scores the shorter path comes first. Query entities as for ShortestPaths.

    `model` selects the best: an Encoder or CrossEncoder by the text of the whole path; a Scorer, such as Steps for
    triple-level scoring; or any operator that ranks evidence (1/rank without scores), so that models can be combined:

        BeamSearch(encoder) >> Choose(llm)                          LLMs-R: the LLM refines the result
        BeamSearch(Rerank(encoder) % 64 >> Choose(llm))             EEMs-PF: the LLM chooses from the encoder's best
        BeamSearch(Choose(llm) | Rerank(encoder))                   EEMs-S: the encoder's best after the LLM's choice

    `slack`: dynamic pruning (section 4.2, which gives no rule). Besides the `width` best, paths stay whose scores are
    at most `slack` standard deviations of the 4 · `width` best scores below the last of these, up to 4 · `width` in
    all. With 0, ties with the last path stay.

    >>> from graphwright import start; from graphwright.models import OverlapCrossEncoder
    >>> family = Graph.from_triples([("Bertha", "child", "Ida"), ("Bertha", "ally", "Otto"), ("Ida", "spouse", "Udo")])
    >>> state = start("Who is the spouse of the child of Bertha?", family, entities=["Bertha"])
    >>> BeamSearch(OverlapCrossEncoder(), width=1)(state).evidence.texts(family)
    ['Bertha child Ida; Ida spouse Udo', 'Bertha child Ida']
    """

    model: Annotated[Encoder | CrossEncoder | Scorer | Operator, ModelOf(Encoder, CrossEncoder, Scorer, Operator)]
    width: Annotated[int, AtLeast(1)] = 8
    length: Annotated[int, AtLeast(1)] = 4
    slack: Annotated[float | None, AtLeast(0)] = None
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.model, Operator):
            unmet = set(self.model.needs) - {"evidence", "anchors|evidence", "evidence|anchors"}
            if unmet or "evidence" not in self.model.gives:
                raise OptionError(
                    f"BeamSearch: model is {self.model!r}; an operator must rank evidence and need nothing else."
                )
            if self.slack is not None and isinstance(self.model, Choose):
                raise OptionError(
                    f"BeamSearch: slack is {self.slack!r}, which needs scores, but Choose only ranks; omit it."
                )

    def apply(self, state: State, run: Run) -> State:
        rank, levels = self._ranking(state, run), []
        for source in state.graph.at(query_entities(state)).tolist():
            beams = Evidence.of_nodes([source])
            for _ in range(self.length):
                paths = _extended(state.graph, beams)
                if not len(paths):
                    break
                beams = self._pruned(rank(paths, self.width if self.slack is None else _MAX_WIDTHS * self.width))
                levels.append(beams)
        return state.with_(evidence=_united(levels))

    def _pruned(self, best: Evidence) -> Evidence:
        if self.slack is None or best.scores is None or len(best) <= self.width:
            return best.top(self.width) if self.slack is None else best
        threshold = best.scores[self.width - 1] - self.slack * best.scores.std()
        return best.top(int((best.scores >= threshold).sum()))

    def _ranking(self, state: State, run: Run) -> Callable[[Evidence, int], Evidence]:
        model = self.model
        if not isinstance(model, Operator):
            scorer = score_function(model, state, run)
            return lambda paths, k: ranked_by(paths, scorer(paths), k)
        return lambda paths, k: best_by(model, paths, state, run, k)


def _united(levels: list[Evidence]) -> Evidence:
    items = (item for level in levels for item in level.items())
    return Evidence.of_items(items, [score for level in levels if level.scores is not None for score in level.scores])


def _extended(graph: Graph, beams: Evidence) -> Evidence:
    """Return the paths that are one edge longer than beams of one length; no node twice."""
    if not len(beams):
        return beams
    nodes = beams.nodes.reshape(len(beams), -1)
    owner, near = graph.adjacency.expand(graph.local(nodes[:, -1]))
    paths = np.column_stack((nodes[owner], graph.at(near)))
    paths = paths[(paths[:, :-1] != paths[:, -1:]).all(axis=1)]
    return path_evidence(graph, paths.ravel(), np.arange(len(paths) + 1) * paths.shape[1])


Walk = tuple[tuple[int, ...], tuple[int, ...]]  # the nodes and the edges of a path


@dataclass(frozen=True, repr=False)
class Explore(Operator):
    """Search paths from each query entity; a model chooses relations, then entities (ToG, Sun et al., 2024).

    For each query entity separately, up to `depth` edges (ToG's D): select the `width` directed relations (N) that
    extend the paths and fit the question best, then the `width` best of the nodes that they lead to. `ranker` selects
    them: Rerank, or Choose, with which the search ends if none is chosen. Of the candidates of a step only the first
    `max_relations`, `max_nodes` are ranked, with a note (the paper draws some nodes at random). The evidence is the
    paths of every length. ToG also asks its model after each step whether the paths are enough; that is left out.
    """

    ranker: Annotated[Operator, IS_OPERATOR]
    width: Annotated[int, AtLeast(1)] = 3
    depth: Annotated[int, AtLeast(1)] = 3
    max_nodes: Annotated[int, AtLeast(1)] = 256
    max_relations: Annotated[int, AtLeast(1)] = 64
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        levels: list[Evidence] = []
        for source in state.graph.at(query_entities(state)).tolist():
            beams: list[Walk] = [((source,), ())]
            while beams and len(beams[0][1]) < self.depth:
                levels.append(self._extended(state, run, beams))
                beams = levels[-1].identities()
        return state.with_(evidence=_united(levels))

    def _extended(self, state: State, run: Run, beams: list[Walk]) -> Evidence:
        """Return the best paths that are one edge longer: by the best relations, to the best nodes."""
        extensions = _extensions(state.graph, beams)
        examples = _first(run, [walks[0] for walks in extensions], self.max_relations, "relations")
        ranked = self._best(state, run, Evidence.of_paths(state.graph, examples, render=_next_relation))
        best = set(ranked.identities())
        walks = [walk for group in extensions if group[0] in best for walk in group]
        return self._best(state, run, Evidence.of_paths(state.graph, _first(run, walks, self.max_nodes, "nodes")))

    def _best(self, state: State, run: Run, paths: Evidence) -> Evidence:
        return self.ranker.ranked(state.with_(evidence=paths), run, self.width).evidence or Evidence.of_nodes([], [])


def _next_relation(graph: Graph, item: Item) -> str:
    """Return the text of a path up to its last relation, or of the sentence that states an edge without predicate."""
    if item.edges and graph.co_occurs(item.edges[-1]):
        return item_text(graph, item)
    relation = relation_words(graph, ways_of(graph, item.steps)[-1:])
    return "; ".join([*map(graph.edge_text, item.edges[:-1]), f"{graph.names[item.nodes[-2]]} {relation}"])


def _first(run: Run, walks: list[Walk], limit: int, kind: str) -> list[Walk]:
    if len(walks) > limit:
        run.note(f"only the first {limit} of {len(walks)} candidate {kind} of a step were ranked")
    return walks[:limit]


def _extensions(graph: Graph, beams: list[Walk]) -> list[list[Walk]]:
    """Return the paths that are one edge longer, grouped by path and directed relation; no node twice."""
    c, extensions = graph.columns, dict[tuple[Walk, int, bool], dict[int, Walk]]()
    for nodes, edges in beams:
        near = graph.inside(np.concatenate((c.out.row(nodes[-1]), c.into.row(nodes[-1]))).astype(np.int64))
        ends = graph.ends(near).reshape(-1, 2)
        for edge, head, tail, relation in zip(near, *ends.T, c.relation[near], strict=True):
            other = int(tail if head == nodes[-1] else head)
            if other not in nodes:
                group = extensions.setdefault(((nodes, edges), int(relation), bool(head == nodes[-1])), {})
                group.setdefault(other, ((*nodes, other), (*edges, int(edge))))  # the first of parallel edges
    return [list(group.values()) for group in extensions.values()]
