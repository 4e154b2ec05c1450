"""Guided expansion: grow items of evidence step by step by neighbouring statements (BubbleRAG)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Csr, Graph, Kind
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.ranking import top
from graphwright.models.protocols import LLM, Usage
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import Near, distinct, likeness
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line
from graphwright.text.words import COMPOUND, words

__all__ = ["Grow"]

_MAX_NEIGHBOURS = 5_000  # of each kind that are compared with the question
_PROMPT_EDGES = 64  # candidates, and edges of the item, in a prompt
_DUPLICATES = 8  # so many times the candidates are ranked to find enough with different texts


@dataclass(frozen=True, repr=False)
class Grow(Operator):
    """Grow each item by neighbouring statements, step by step (BubbleRAG, section 3.5).

    Candidates are the edges between entities at the nodes added last, at first all nodes of the item, and the edges
    that its passages state; each text once. Up to `width` of them join the item with their ends, for `depth` (d) steps
    or until none is selected. A language model (`model`) selects, and says when the item is enough. Without one, the
    edges nearest to the words of the question that the item lacks are selected, with a similarity of at least
    `threshold`: by the vectors of `triples`, without them by words. An item is enough when no word is missing.

    Anytime: items grow in the order of the evidence; once `seconds`, or `tokens` of the language model, are spent, no
    step starts.

    >>> from graphwright.operators.state import start
    >>> kin = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "founded", "Erstein Abbey")])
    >>> state = start("Which abbey was founded by Lothair II's mother?", kin, evidence=Evidence.of_edges([0]))
    >>> Grow()(state).evidence.texts(kin)
    ['Lothair II mother Ermengarde; Ermengarde founded Erstein Abbey']
    """

    model: Annotated[LLM | None, Has("a language model or None", "complete")] = None
    triples: VectorIndex | None = None
    depth: Annotated[int, AtLeast(0)] = 6
    width: Annotated[int, AtLeast(1)] = 4
    threshold: Annotated[float, AtLeast(0)] = 0.3
    seconds: Annotated[float | None, AtLeast(0)] = None
    tokens: Annotated[int | None, AtLeast(0)] = None
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Grow the items in turn."""
        evidence = state.evidence
        if evidence is None:
            return state
        begun, grown, spent = time.perf_counter(), [], ""
        for number, (nodes, edges) in enumerate(evidence, 1):
            item = _GrowingItem(state.graph, nodes, edges)
            for _ in range(self.depth):
                if not spent and (spent := self._spent(begun, run.usage)):
                    run.note(f"stopped at item {number} of {len(evidence)}: the budget of {spent} is spent")
                if spent or not item.add(self._selected(state, run, item)):
                    break
            grown.append((list(item.nodes), list(item.edges)))
        return state.with_(evidence=Evidence.of_pieces(grown, evidence.scores))

    def _spent(self, begun: float, usage: Usage) -> str:
        """Return the budget that is spent, "" if none is."""
        if self.seconds is not None and time.perf_counter() - begun >= self.seconds:
            return "time"
        used = usage.prompt_tokens + usage.completion_tokens
        return "tokens" if self.tokens is not None and used >= self.tokens else ""

    def _selected(self, state: State, run: Run, item: _GrowingItem) -> list[int]:
        """Return the edges that an item grows by next."""
        if self.model is not None:
            candidates = self._candidates(state, run, item, state.question.text)
            selection = self._from_model(self.model, state, run, item, list(candidates)) if candidates else ([], False)
            if selection is not None:
                edges, item.complete = selection
                return edges
        known = item.words()
        missing = " ".join(word for word in COMPOUND.findall(state.question.text) if set(words(word)) - known)
        candidates = self._candidates(state, run, item, missing) if missing else {}
        return [edge for edge, score in candidates.items() if score >= self.threshold][: self.width]

    def _candidates(self, state: State, run: Run, item: _GrowingItem, text: str) -> Near:
        """Return the neighbours of an item nearest to a text, each edge text once."""
        edges = item.neighbours()
        if not len(edges):
            return {}
        scores = likeness(run, self.triples, state.graph.edge_text, edges, text)
        best = top(scores, _DUPLICATES * _PROMPT_EDGES)
        near = dict(zip(edges[best].tolist(), scores[best].tolist(), strict=True))
        return distinct(state.graph, near, text, _PROMPT_EDGES)

    def _from_model(
        self, model: LLM, state: State, run: Run, item: _GrowingItem, candidates: list[int]
    ) -> tuple[list[int], bool] | None:
        """Return the edges that a language model selects and whether they suffice, None without a usable reply."""
        text = state.graph.edge_text
        existing = dict.fromkeys(map(text, list(item.edges)[-_PROMPT_EDGES:]))
        lines = (data_line({"number": number, "text": text(edge)}) for number, edge in enumerate(candidates, 1))
        reply = run.reply(
            model,
            "bubblerag_grow",
            question=data_line({"question": state.question.text}),
            found="\n".join(data_line({"found": line}) for line in existing) or "(nothing)",
            most=str(self.width),
            candidates="\n".join(lines),
        )
        if reply is None:
            return None
        numbers = [number for number in dict.fromkeys(reply.numbers) if 1 <= number <= len(candidates)]
        ignored = len(reply.numbers) - len(numbers)
        if ignored:
            run.note(f"{ignored} of {len(reply.numbers)} selected numbers were ignored: unknown or repeated")
        return [candidates[number - 1] for number in numbers[: self.width]], reply.enough


class _GrowingItem:
    """An item while it grows: its nodes and edges, each once, and the nodes added last."""

    def __init__(self, graph: Graph, nodes: Ints, edges: Ints) -> None:
        self.graph = graph
        self.nodes = dict.fromkeys(np.append(nodes, graph.ends(edges)).tolist())
        self.edges = dict.fromkeys(edges.tolist())
        self.last = list(self.nodes)
        self.complete = False

    def neighbours(self) -> Ints:
        """Return the edges that it may take next, ascending."""
        columns, last = self.graph.columns, np.array(self.last, np.int64)
        edges = [_first_edges(rows, last) for rows in (columns.out, columns.into, columns.stated)]
        near = np.unique(np.concatenate(edges))
        near = near[~np.isin(near, list(self.edges)) & columns.between_entities(near)]
        return near if self.graph.whole else near[np.isin(near, self.graph.edges, assume_unique=True)]

    def words(self) -> set[str]:
        """Return the words of its edges and of the names of its entities."""
        entities = [node for node in self.nodes if self.graph.columns.kinds[node] != Kind.CHUNK]
        texts = [*map(self.graph.edge_text, self.edges), *self.graph.names.take(entities)]
        return set(words(" ".join(texts)))

    def add(self, edges: Sequence[int]) -> bool:
        """Add edges with their ends; return whether to go on: there were some, and the item is not complete."""
        ends = self.graph.ends(list(edges)).tolist()
        self.last = [node for node in dict.fromkeys(ends) if node not in self.nodes]
        self.nodes |= dict.fromkeys(ends)
        self.edges |= dict.fromkeys(edges)
        return bool(edges) and not self.complete


def _first_edges(rows: Csr, nodes: Ints) -> Ints:
    """Return the first edges of nodes, those of nodes with few edges before those of hubs."""
    return rows.rows(nodes[np.argsort(rows.indptr[nodes + 1] - rows.indptr[nodes], kind="stable")])[:_MAX_NEIGHBOURS]
