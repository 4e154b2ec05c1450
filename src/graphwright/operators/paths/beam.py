"""Beam search over paths: by a scorer (LEGO-GraphRAG) and by relations, then entities (Think-on-Graph)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import relation_words, ways_of
from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.paths import edges_between, query_entities
from graphwright.operators.rerank.rerank import Choose, Rerank
from graphwright.operators.rerank.scorer import Scorer, ranked_by, score_function
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["BeamSearch", "Explore"]

_BOUND = 4  # times the width that dynamic pruning keeps at most


Step = Callable[[Evidence, int], Evidence]
"""Gives the best of some paths, as many as asked for, ranked and scored."""


@dataclass(frozen=True, repr=False)
class BeamSearch(Operator):
    """Paths from each query entity, of which a model keeps the best at every length (ISAR, section 3.3.3).

    From each query entity on its own: prolong the beams by each neighbour that they do not hold yet, keep the `width`
    (the paper's B) best of these, and again, up to `length` edges (L). The paths given are the beams of every length.
    Ties fall by the nodes, so the shorter path comes first. Query entities as for ShortestPaths.

    `model` keeps the best: an Encoder or CrossEncoder by the text of the whole path; a Scorer, such as Steps for
    triple-level scoring, or Composed, which reads next to nothing; a language model by number, `batch` texts shown a
    call (see Choose); or any operator that ranks evidence, which is how models are put together:

        BeamSearch(encoder) >> Choose(llm)                          LLMs-R: the LLM refines what was found
        BeamSearch(Rerank(encoder) % 64 >> Choose(llm))             EEMs-PF: the LLM chooses from the encoder's best
        BeamSearch(Choose(llm) | Rerank(encoder))                   EEMs-S: the encoder's best fill up what the LLM left

    with Rerank(cross_encoder) % n in the place of Choose(llm) where there is no LLM. What comes without scores, as from
    an LLM or from `|`, has the score 1/rank.

    `slack`: dynamic pruning (section 4.2, which gives no rule). Beyond the `width` best, paths are kept that score at
    most `slack` standard deviations less than the last of these, 4 · `width` in all at most; the deviation is that of
    the 4 · `width` best scores. With 0 those that tie with the last one are kept.

    >>> from graphwright.operators.state import start; from graphwright.models.fake import OverlapCrossEncoder
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Bertha", "ally", "Otto"), ("Ida", "spouse", "Udo")])
    >>> state = start("Who is the spouse of the child of Bertha?", kin, entities=["Bertha"])
    >>> BeamSearch(OverlapCrossEncoder(), width=1)(state).evidence.texts(kin)
    ['Bertha child Ida; Ida spouse Udo', 'Bertha child Ida']
    """

    model: Encoder | CrossEncoder | Scorer | LLM | Operator
    width: int = 8
    length: int = 4
    batch: int = 64
    slack: float | None = None
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        _check_model(self.model)
        for name, value, least in (("width", self.width, 1), ("length", self.length, 1), ("batch", self.batch, 2)):
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
                raise OptionError(f"BeamSearch({name}={value!r}): a whole number, {least} or more.")
        if self.slack is not None and (isinstance(self.model, LLM) or not 0 <= self.slack < float("inf")):
            raise OptionError(
                f"BeamSearch(slack={self.slack!r}): 0 or more, for a model that scores; an LLM only ranks."
            )

    def apply(self, state: State, run: Run) -> State:
        """Search from each query entity, and rank all beams."""
        found, step = [], self._step(state, run)
        for source in state.graph.at(query_entities(state)).tolist():
            beams = Evidence.of_nodes([source])
            for _ in range(self.length):
                paths = _prolonged(state.graph, beams)
                if not len(paths):
                    break
                beams = self._kept(step(paths, self.width if self.slack is None else _BOUND * self.width))
                found.append(beams)
        return state.with_(evidence=_ranked(found))

    def _kept(self, best: Evidence) -> Evidence:
        """Return those of the best that are within the width, or close to what is."""
        if self.slack is None or best.scores is None or len(best) <= self.width:
            return best.top(self.width) if self.slack is None else best
        least = best.scores[self.width - 1] - self.slack * best.scores.std()
        return best.top(int((best.scores >= least).sum()))

    def _step(self, state: State, run: Run) -> Step:
        """Return what ranks the paths of one length."""
        if isinstance(self.model, Operator | LLM):
            return lambda paths, k: self._run(state.with_(evidence=paths, trace=()), run, k)
        judge = score_function(self.model, state, run)
        return lambda paths, k: ranked_by(paths, judge(paths), k)

    def _run(self, state: State, run: Run, k: int) -> Evidence:
        """Run an operator on paths; what it notes is noted here."""
        step = Choose(self.model, self.batch) if isinstance(self.model, LLM) else self.model
        after = step.execute(state, run, k)  # type: ignore[union-attr]
        for text in (text for one in after.trace for text in one.notes):
            run.note(text)
        best = (after.evidence or Evidence.of_nodes([], [])).top(k)
        if best.scores is None:
            return best.take(range(len(best)), 1.0 / np.arange(1, len(best) + 1))
        return best


def _check_model(model: object) -> None:
    if isinstance(model, Operator):
        if "evidence" not in model.gives or set(model.needs) - {"evidence", "anchors|evidence", "evidence|anchors"}:
            raise OptionError(f"BeamSearch({model!r}): an operator that ranks evidence and needs nothing else.")
    elif not isinstance(model, Encoder | CrossEncoder | Scorer | LLM):
        raise OptionError(
            f"BeamSearch({model!r}): an encoder, a cross-encoder, a scorer, a language model or an operator is needed."
        )


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
    near = graph.at(rows.rows(ends))
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


Walk = tuple[list[int], list[int]]
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
            beams: list[Walk] = [([source], [])]
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


def _first(run: Run, steps: list[Walk], most: int, what: str) -> list[Walk]:
    if len(steps) > most:
        run.note(f"{most} of {len(steps)} {what} that a step leads to were judged")
    return steps[:most]


Key = tuple[tuple[int, ...], tuple[int, ...], int]
"""The nodes and the edges of a path, and the way by which it goes on."""


def _key(graph: Graph, nodes: list[int], edges: list[int]) -> Key:
    return tuple(nodes[:-1]), tuple(edges[:-1]), ways_of(graph, np.array(nodes[-2:]), np.array(edges[-1:]))[0]


def _turns(graph: Graph, beams: list[Walk]) -> dict[Key, list[Walk]]:
    """Return the paths that are one edge longer than these, by path and way; no node twice."""
    c, turns = graph.columns, dict[Key, dict[int, Walk]]()
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
