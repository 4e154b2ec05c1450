"""Pieces of evidence, grown step by step by the neighbours that lead to the answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Annotated

import numpy as np

from graphwright.constraints import Has
from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Csr, Graph, Kind
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.ranking import top
from graphwright.models.protocols import LLM, Usage
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import Near, distinct, likeness
from graphwright.operators.state import State
from graphwright.prompts import data_line
from graphwright.text.words import COMPOUND, words

__all__ = ["Grow"]

_LOOKED_AT = 5_000  # neighbours of each kind that are compared with the question
_SHOWN = 64  # of these, what a language model is shown, and of what was found already
_ALIKE = 8  # edges of one text are passed over until there are so many texts, among so many times as many


@dataclass(frozen=True, repr=False)
class Grow(Operator):
    """Grow each piece by what its neighbours state, step by step (BubbleRAG, section 3.5).

    From the nodes that came last, at first all of the piece, the edges between entities that begin or end there, and
    those that its passages state, are candidates; up to `width` are chosen and join the piece with their ends, for
    `depth` (d) steps, or until none is chosen. Of edges with the same text one is a candidate. A language model
    chooses, and says when there is enough. Without one the question is cut down to the words that the piece does not
    say yet; the edges nearest to that rest are chosen, by the vectors of `triples`, where there are none by words, and
    none below `least`. There is enough when nothing is left.

    Anytime: pieces grow in the order of the evidence, and once `seconds`, or `tokens` of the language model, are spent
    no step begins any more.

    >>> from graphwright.operators.state import start
    >>> kin = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "founded", "Erstein Abbey")])
    >>> found = start("Which abbey was founded by Lothair II's mother?", kin, evidence=Evidence.of_edges([0]))
    >>> Grow()(found).evidence.texts(kin)
    ['Lothair II mother Ermengarde; Ermengarde founded Erstein Abbey']
    """

    model: Annotated[LLM | None, Has("a language model or None", "complete")] = None
    triples: VectorIndex | None = None
    depth: int = 6
    width: int = 4
    least: float = 0.3
    seconds: float | None = None
    tokens: int | None = None
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("depth", 0), ("width", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
                raise OptionError(f"Grow({name}={value!r}): a whole number, {least} or more.")
        for name in ("seconds", "tokens", "least"):
            value = getattr(self, name)
            known = isinstance(value, Real) and not isinstance(value, bool)
            if not (known and value >= 0) and (name == "least" or value is not None):
                raise OptionError(f"Grow({name}={value!r}): a number, 0 or more, or for a budget None.")

    def apply(self, state: State, run: Run) -> State:
        """Grow the pieces in turn."""
        found = state.evidence
        if found is None:
            return state
        begun, grown, spent = time.perf_counter(), [], ""
        for at, (nodes, edges) in enumerate(found):
            piece = _Piece(state.graph, nodes, edges)
            for _ in range(self.depth):
                if not spent and (spent := self._spent(begun, run.usage)):
                    run.note(f"stopped at item {at + 1} of {len(found)}: {spent} spent")
                if spent or not piece.add(self._chosen(state, run, piece)):
                    break
            grown.append((list(piece.nodes), list(piece.edges)))
        return state.with_(evidence=Evidence.of_pieces(grown, found.scores))

    def _spent(self, begun: float, usage: Usage) -> str:
        """Return which budget is spent, nothing where none is."""
        if self.seconds is not None and time.perf_counter() - begun >= self.seconds:
            return "time"
        used = usage.prompt_tokens + usage.completion_tokens
        return "tokens" if self.tokens is not None and used >= self.tokens else ""

    def _chosen(self, state: State, run: Run, piece: _Piece) -> list[int]:
        """Return the edges that a piece grows by next."""
        if self.model is not None:
            near = self._near(state, run, piece, state.question.text)
            reply = (
                _asked(self.model, state, run, list(piece.edges), list(near), self.width) if near else _Said([], False)
            )
            if reply is not None:
                piece.closed = reply.enough
                return reply.edges
        said = piece.words()
        rest = " ".join(word for word in COMPOUND.findall(state.question.text) if set(words(word)) - said)
        near = self._near(state, run, piece, rest) if rest else {}
        return [edge for edge, value in near.items() if value >= self.least][: self.width]

    def _near(self, state: State, run: Run, piece: _Piece, sought: str) -> Near:
        """Return the neighbours of a piece that are nearest to a text, of those with the same text one."""
        edges = piece.neighbours()
        if not len(edges):
            return {}
        values = likeness(run, self.triples, state.graph.edge_text, edges, sought)
        best = top(values, _ALIKE * _SHOWN)
        near = dict(zip(edges[best].tolist(), values[best].tolist(), strict=True))
        return distinct(state.graph, near, sought, _SHOWN)


class _Piece:
    """A piece while it grows: nodes and edges, each once, and where it may grow."""

    def __init__(self, graph: Graph, nodes: Ints, edges: Ints) -> None:
        self.graph = graph
        self.nodes = dict.fromkeys(np.append(nodes, graph.ends(edges)).tolist())
        self.edges = dict.fromkeys(edges.tolist())
        self.last = list(self.nodes)
        self.closed = False

    def neighbours(self) -> Ints:
        """Return the edges that it may take next, ascending."""
        columns, last = self.graph.columns, np.array(self.last, np.int64)
        found = np.unique(np.concatenate([_first(rows, last) for rows in (columns.out, columns.into, columns.stated)]))
        found = found[~np.isin(found, list(self.edges)) & columns.between_entities(found)]
        return found if self.graph.whole else found[np.isin(found, self.graph.edges, assume_unique=True)]

    def words(self) -> set[str]:
        """Return the words that it says: those of its edges, and of the names of its entities."""
        entities = [node for node in self.nodes if self.graph.columns.kinds[node] != Kind.CHUNK]
        texts = [*map(self.graph.edge_text, self.edges), *self.graph.names.take(entities)]
        return set(words(" ".join(texts)))

    def add(self, edges: Sequence[int]) -> bool:
        """Take edges with their ends; return whether it may grow on: there were some, and it is not closed."""
        ends = self.graph.ends(list(edges)).tolist()
        self.last = [node for node in dict.fromkeys(ends) if node not in self.nodes]
        self.nodes |= dict.fromkeys(ends)
        self.edges |= dict.fromkeys(edges)
        return bool(edges) and not self.closed


def _first(rows: Csr, nodes: Ints) -> Ints:
    """Return the first edges of some nodes, those of nodes with few of them before those of hubs."""
    return rows.rows(nodes[np.argsort(rows.indptr[nodes + 1] - rows.indptr[nodes], kind="stable")])[:_LOOKED_AT]


@dataclass(frozen=True)
class _Said:
    """What a language model said: the edges that it chose, and whether that is enough."""

    edges: list[int]
    enough: bool


def _asked(
    model: LLM, state: State, run: Run, found: Sequence[int], candidates: Sequence[int], most: int
) -> _Said | None:
    """Ask a language model, None where it does not reply as it should."""
    text = state.graph.edge_text
    known = dict.fromkeys(map(text, found[-_SHOWN:]))
    lines = (data_line({"number": n, "text": text(edge)}) for n, edge in enumerate(candidates, 1))
    said = run.reply(
        model,
        "bubblerag_grow",
        question=data_line({"question": state.question.text}),
        found="\n".join(data_line({"found": t}) for t in known) or "(nothing)",
        most=str(most),
        candidates="\n".join(lines),
    )
    if said is None:
        return None
    numbers = [n for n in dict.fromkeys(said.numbers) if 1 <= n <= len(candidates)]
    wrong = len(said.numbers) - len(numbers)
    if wrong:
        run.note(f"{wrong} of {len(said.numbers)} numbers chosen were passed over: not there, or given twice")
    return _Said([candidates[n - 1] for n in numbers[:most]], said.enough)
