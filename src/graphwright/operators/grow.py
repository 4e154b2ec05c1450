"""Guided expansion: grow items of evidence step by step by neighbouring statements (BubbleRAG)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.kernels.ranking import top
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import Near, distinct_edges, edges_at, likeness
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line, numbered_lines
from graphwright.search.vector_index import VectorIndex

_PROMPT_EDGES = 64  # candidates, and edges of the item, in a prompt
_DUPLICATES = 8  # 8 times the candidates are ranked to find enough with different texts


@dataclass(frozen=True, repr=False)
class Grow(Operator):
    """Grow each item by neighbouring statements, step by step (BubbleRAG, section 3.5).

    Candidates are the statements at the nodes added last, at first all nodes of the item, and those of its passages:
    the texts of edges between entities, each once. Up to `width` of them join the item whole, with all edges of a
    sentence and their ends, for `depth` (d) steps or until none is selected. The nearest to the question join, by the
    vectors of `triples` or else by words, as long as they are nearer to it than the statements of the item are in the
    mean: then the mean value of the item, which BubbleRAG maximises (Def. 1), rises.

    >>> from graphwright.operators.state import start
    >>> kin = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "founded", "Erstein Abbey")])
    >>> state = start("Which abbey did Ermengarde found?", kin, evidence=Evidence.of_edges([0]))
    >>> Grow()(state).evidence.texts(kin)
    ['Lothair II mother Ermengarde; Ermengarde founded Erstein Abbey']
    """

    triples: VectorIndex | None = None
    depth: Annotated[int, AtLeast(0)] = 6
    width: Annotated[int, AtLeast(1)] = 4
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        grown = []
        for nodes, edges in state.items:
            item = _GrowingItem(state.graph, nodes, edges)
            for _ in range(self.depth):
                if not item.add(self._selected(state, run, item)):
                    break
            grown.append((list(item.nodes), list(item.edges)))
        return state.with_(evidence=Evidence.of_trees(state.graph, grown, state.items.scores))

    def _selected(self, state: State, run: Run, item: _GrowingItem) -> list[int]:
        return self._nearer(state, run, item, self._candidates(state, run, item, self.width))

    def _nearer(self, state: State, run: Run, item: _GrowingItem, candidates: Near) -> list[int]:
        """Return the candidates that are nearer to the question than the statements of the item in the mean."""
        if not candidates:
            return []
        edges = np.array(list(item.statements.values()), np.int64)
        values = likeness(run, self.triples, state.graph.edge_text, edges, state.question.text)
        value = values.mean() if len(values) else 0.0
        return [edge for edge, score in candidates.items() if score > value][: self.width]

    def _candidates(self, state: State, run: Run, item: _GrowingItem, count: int) -> Near:
        """Return the neighbours of an item nearest to the question with their similarity, each new text once."""
        edges, question = item.neighbours(), state.question.text
        if not len(edges):
            return {}
        scores = likeness(run, self.triples, state.graph.edge_text, edges, question)
        best = top(scores, _DUPLICATES * count)
        near = dict(zip(edges[best].tolist(), scores[best].tolist(), strict=True))
        state.graph.fetch_texts(list(near))
        new = {edge: score for edge, score in near.items() if state.graph.edge_text(edge) not in item.statements}
        return distinct_edges(state.graph, new, question, count)


@dataclass(frozen=True, repr=False)
class GrowByModel(Grow):
    """Grow each item by neighbouring statements that a language model selects (BubbleRAG, section 3.5).

    `model` selects among the candidates of Grow that are nearest to the question, and decides when the item suffices.
    Without a usable reply the step of the item is that of Grow.
    """

    model: Annotated[LLM, Has("a language model", "complete")] = field(kw_only=True)

    def _selected(self, state: State, run: Run, item: _GrowingItem) -> list[int]:
        """Return the edges that the model selects, those that Grow does without a usable reply."""
        candidates = self._candidates(state, run, item, max(self.width, _PROMPT_EDGES))
        selected = self._by_model(state, run, item, list(candidates)) if candidates else []
        return self._nearer(state, run, item, candidates) if selected is None else selected

    def _by_model(self, state: State, run: Run, item: _GrowingItem, candidates: list[int]) -> list[int] | None:
        text = state.graph.edge_text
        existing = dict.fromkeys(map(text, list(item.edges)[-_PROMPT_EDGES:]))
        reply = run.reply(
            self.model,
            "bubblerag_grow",
            question=data_line({"question": state.question.text}),
            found="\n".join(data_line({"found": line}) for line in existing) or "(nothing)",
            most=str(self.width),
            candidates=numbered_lines(map(text, candidates)),
        )
        if reply is None:
            return None
        item.complete = reply.enough
        numbers = [number for number in dict.fromkeys(reply.numbers) if 1 <= number <= len(candidates)]
        ignored = len(reply.numbers) - len(numbers)
        if ignored:
            run.note(f"{ignored} of {len(reply.numbers)} selected numbers were ignored: unknown or repeated")
        return [candidates[number - 1] for number in numbers[: self.width]]


class _GrowingItem:
    """An item while it grows: its nodes and edges, each once, an edge of each statement, and the nodes added last."""

    def __init__(self, graph: Graph, nodes: Ints, edges: Ints) -> None:
        self.graph = graph
        self.nodes = dict.fromkeys(np.append(nodes, graph.ends(edges)).tolist())
        self.edges = dict.fromkeys(edges.tolist())
        self.statements: dict[str, int] = {}
        self.sentences = set[int]()  # the edges of all statements that it has, also those that it lacks
        self._state(self.edges)
        self.last = list(self.nodes)
        self.complete = False

    def neighbours(self) -> Ints:
        """Return the edges that it may take next, ascending: those of other sentences than it has."""
        columns, last = self.graph.columns, np.array(self.last, np.int64)
        near = edges_at(columns, last, columns.stated)
        return self.graph.inside(near[~np.isin(near, list(self.sentences)) & columns.between_entities(near)])

    def add(self, edges: Sequence[int]) -> bool:
        """Add statements whole, with their ends; return whether to go on: there were some, and more are wanted."""
        edges = list(dict.fromkeys(chain.from_iterable(map(self._whole, edges))))
        ends = self.graph.ends(edges).tolist()
        self.last = [node for node in dict.fromkeys(ends) if node not in self.nodes]
        self.nodes |= dict.fromkeys(ends)
        self.edges |= dict.fromkeys(edges)
        self._state(edges)
        return bool(edges) and not self.complete

    def _state(self, edges: Iterable[int]) -> None:
        for edge in edges:
            self.statements.setdefault(self.graph.edge_text(edge), edge)
            if edge not in self.sentences:
                self.sentences.update(self._whole(edge))

    def _whole(self, edge: int) -> list[int]:
        """Return an edge, and the others of its sentence: those of its passages with its text."""
        graph, columns, text = self.graph, self.graph.columns, self.graph.edge_text(edge)
        if columns.edge_chunks is None:
            return [edge]
        beside = np.unique(columns.stated.rows(columns.edge_chunks.row(edge).astype(np.int64)))
        graph.fetch_texts(beside)
        return [edge, *(other for other in graph.inside(beside).tolist() if graph.edge_text(other) == text)]
