"""Paths written for a language model, the most reliable last (PathRAG, Eq. 5 and 6)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.generate.prompt import PassagePrompt, passages_in
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.rank import top
from graphwright.models.budget import estimated_tokens
from graphwright.operators.anchors.keywords import themes
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import lengths_of
from graphwright.operators.state import State
from graphwright.prompts import data_line, messages
from graphwright.text.words import words

__all__ = ["FlatPrompt", "GlobalEdges", "PathPrompt", "steps_of"]

_LEAST = 2_000  # tokens, so that the best path always has room for a part of each of its texts
_LOOKED_AT = 5_000  # edges that are compared by words


@dataclass(frozen=True)
class GlobalEdges:
    """The edges that are nearest to the question's themes, as LightRAG retrieves them for global keywords.

    `triples`: vectors by edge (`Snapshot.triples`). An edge's score is its largest cosine with any theme; of edges with
    the same text the first counts, and there are `limit` at most. Where there are no vectors, the edges at the nodes
    of the evidence are compared by words: the share of the themes' words that an edge's text holds.

    `asked`: the question itself is the theme, whatever else is: offline there are no better words for what it is about.

    >>> from graphwright import Evidence, start
    >>> from graphwright.operators.anchors.keywords import Keywords
    >>> graph = Graph.from_triples([("Ermengarde", "founded", "Erstein Abbey"), ("Ermengarde", "married", "Lothair I")])
    >>> state = Keywords()(start("Which abbey was founded by Ermengarde?", graph, evidence=Evidence.of_nodes([0])))
    >>> GlobalEdges(None)(state).tolist()
    [0]
    """

    triples: VectorIndex | None
    limit: int = 10
    asked: bool = False

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise OptionError(f"GlobalEdges(limit={self.limit!r}): a number of edges, 1 or more.")

    def __call__(self, state: State) -> Ints:
        """Return the edges, best first."""
        asked = [state.question.text] if self.asked else [theme.text for theme in themes(state)]
        if not asked:
            return np.empty(0, np.int64)
        ids, scores = _by_words(state, asked) if self.triples is None else _by_vectors(self.triples, state, asked)
        # Edges that one sentence states are many, so more are ranked than are kept.
        seen: dict[str, int] = {}
        for edge in ids[top(scores, min(20 * self.limit, len(ids)))].tolist():
            seen.setdefault(state.graph.edge_text(edge), edge)
            if len(seen) == self.limit:
                break
        return np.array(list(seen.values()), np.int64)


def _by_vectors(index: VectorIndex, state: State, asked: list[str]) -> tuple[Ints, NDArray[np.float64]]:
    ids, rows = index.rows_of(index.ids if state.graph.whole else state.graph.edges)
    length = lengths_of(index)
    best = np.full(len(index.vectors), -np.inf)
    for text in asked:
        query = index.encode(text)
        size = length * np.linalg.norm(query)
        best = np.maximum(best, np.divide(index.scores(query), size, out=np.zeros(len(size)), where=size > 0))
    return ids, best[rows]


def _by_words(state: State, asked: list[str]) -> tuple[Ints, NDArray[np.float64]]:
    run.note("there are no vectors of triples; those at the evidence were compared with the themes by words")
    graph, found = state.graph, state.evidence
    nodes = np.empty(0, np.int64) if found is None else np.unique(np.append(found.nodes, graph.ends(found.edges)))
    columns = graph.columns
    ids = np.unique(np.append(columns.out.rows(nodes), columns.into.rows(nodes)))
    if not graph.whole:
        ids = ids[np.isin(ids, graph.edges, assume_unique=True)]
    ids = ids[columns.between_entities(ids)][:_LOOKED_AT]
    wanted = set(words(" ".join(asked)))
    shares = [len(wanted.intersection(words(graph.edge_text(edge)))) / max(len(wanted), 1) for edge in ids.tolist()]
    scores = np.array(shares, np.float64)
    return ids[scores > 0], scores[scores > 0]


@dataclass(frozen=True, repr=False)
class PathPrompt(Operator):
    """The question and the paths as a prompt, in ascending order of reliability: the best comes last (PathRAG, Eq. 6).

    A path is one line of JSON with its number, which is its rank, the numbers of the passages that state it, and its
    steps (Eq. 5): the texts of nodes and edges in turn, parallel edges together. Other evidence is shown likewise.
    `edges`: what finds the edges that are shown after the question, as `GlobalEdges`. `passages`: how many of the best
    passages are shown before the paths, so that what is written can be quoted from them; the paper shows none.

    `tokens`: room for the whole prompt, by estimate; passages take half of it at most, then the best paths what they
    need, then edges. What does not fit whole is left out, but of the best path each text is cut.

    >>> from graphwright import Evidence, start
    >>> graph = Graph.from_triples([("Bertha", "mother of", "Gisela"), ("Gisela", "wife of", "Godfrid")])
    >>> paths = Evidence.of_pieces([([0, 1], [0]), ([0, 1, 2], [0, 1])], [0.9, 0.7])
    >>> print("\\n".join(PathPrompt()(start("Who?", graph, evidence=paths)).prompt.splitlines()[-2:]))
    {"path": 2, "steps": ["Bertha", "Bertha mother of Gisela", "Gisela", "Gisela wife of Godfrid", "Godfrid"]}
    {"path": 1, "steps": ["Bertha", "Bertha mother of Gisela", "Gisela"]}
    """

    tokens: int = 8_000
    edges: GlobalEdges | None = None
    passages: int = 0
    needs = ("evidence",)
    gives = ("prompt",)
    told: ClassVar[str] = "pathrag"  # the prompt's name

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.tokens < _LEAST:
            raise OptionError(f"{name}(tokens={self.tokens!r}): room for the prompt, {_LEAST} or more.")
        if self.passages < 0:
            raise OptionError(f"{name}(passages={self.passages!r}): a number of passages, 0 or more.")

    def apply(self, state: State, run: Run) -> State:
        """Write the prompt."""
        question = data_line({"question": state.question.text})
        left = self.tokens - estimated_tokens("\n\n".join(messages(self.told, question=question, lines="")))
        shown = _fitting(self._passages(state), left // 2)
        left -= _size(shown)
        found = _fitting(self._found(state, passages_in("\n".join(shown)), left), left)
        left -= _size(found)
        edges = () if self.edges is None else self.edges(state).tolist()
        said = _fitting((data_line({"relation": state.graph.edge_text(edge)}) for edge in edges), left)
        lines = "\n".join((*said, *shown, *reversed(found)))
        return state.with_(prompt="\n\n".join(messages(self.told, question=question, lines=lines)))

    def _found(self, state: State, shown: Mapping[int, str], room: int) -> Iterator[str]:
        """Yield the lines of the evidence, the best first, beside the passages that are shown."""
        return _path_lines(state, shown, room)

    def _passages(self, state: State) -> Iterator[str]:
        return PassagePrompt(self.passages, 2 * self.tokens).lines(state) if self.passages else iter(())


@dataclass(frozen=True, repr=False)
class FlatPrompt(PathPrompt):
    """The question and the nodes and edges of the paths, each once and apart, as a prompt (PathRAG, RQ3: flat).

    What the paper compares PathPrompt with (Table 3): shorter, and how things are connected is lost. Options are those
    of PathPrompt. What the best paths hold stands last, edges before nodes; what does not fit whole is left out.

    >>> from graphwright import Evidence, start
    >>> graph = Graph.from_triples([("Bertha", "mother of", "Gisela"), ("Gisela", "wife of", "Godfrid")])
    >>> paths = Evidence.of_pieces([([0, 1], [0]), ([0, 1, 2], [0, 1])], [0.9, 0.7])
    >>> print("\\n".join(FlatPrompt()(start("Who?", graph, evidence=paths)).prompt.splitlines()[-5:]))
    {"relation": "Gisela wife of Godfrid"}
    {"relation": "Bertha mother of Gisela"}
    {"entity": "Godfrid"}
    {"entity": "Gisela"}
    {"entity": "Bertha"}
    """

    told: ClassVar[str] = "pathrag_flat"

    def _found(self, state: State, shown: Mapping[int, str], room: int) -> Iterator[str]:
        """Yield the lines of nodes, then those of edges, each text once."""
        numbers = _numbers(state, shown)
        steps = [step for piece in state.evidence or () for step in steps_of(state.graph, *piece)]
        entities = dict.fromkeys(text for node, text in steps if node >= 0 and node not in numbers)
        relations = dict.fromkeys(text for node, text in steps if node < 0)
        yield from (data_line({"entity": text}) for text in entities)
        yield from (data_line({"relation": text}) for text in relations)


def _fitting(lines: Iterable[str], room: int) -> list[str]:
    """Return the lines that still fit, each in its turn."""
    kept = []
    for line in lines:
        size = _size([line])
        if size <= room:
            room -= size
            kept.append(line)
    return kept


def _size(lines: list[str]) -> int:
    return sum(estimated_tokens(line) + 1 for line in lines)


def _path_lines(state: State, shown: Mapping[int, str], room: int) -> Iterator[str]:
    """Yield the line of each path, the best first, whose texts are cut where it takes more than the room."""
    graph, numbers = state.graph, _numbers(state, shown)
    for rank, (nodes, edges) in enumerate(state.evidence or (), 1):
        steps = [f"passage {numbers[v]}" if v in numbers else text for v, text in steps_of(graph, nodes, edges)]
        behind = {*graph.chunks_of((), edges).tolist(), *nodes.tolist()} & numbers.keys()
        about = {"path": rank} | ({"passages": sorted(numbers[c] for c in behind)} if behind else {})
        longest = max(map(len, steps), default=0)
        if rank == 1 and _size([_path(about, steps, longest)]) > room:
            fits = bisect_right(range(longest + 1), room, key=lambda n: _size([_path(about, steps, n)]))
            longest = max(fits - 1, 0)
        yield _path(about, steps, longest)


def _numbers(state: State, shown: Mapping[int, str]) -> dict[int, int]:
    """Return the numbers of the passages that are shown, by node."""
    ids = [] if state.passages is None else state.passages.ids.tolist()
    return {ids[number - 1]: number for number in shown}


def _path(about: Mapping[str, object], steps: list[str], longest: int) -> str:
    return data_line({**about, "steps": [step[:longest] for step in steps]})


def steps_of(graph: Graph, nodes: Ints, edges: Ints) -> list[tuple[int, str]]:
    """Return the texts along a piece, each with its node, -1 for edges: of a path nodes and edges in turn (Eq. 5).

    Between two nodes stand the texts of all edges that join them; where one of the two is a passage, the relations
    alone. What is no path has the texts of its nodes, then those of its edges.

    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "s", "a")])
    >>> steps_of(graph, np.array([1, 0]), np.array([0]))
    [(1, 'b'), (-1, 'a r b; b s a'), (0, 'a')]
    """
    texts = [(node, graph.reading(node)) for node in nodes.tolist()]
    between = [graph.edges_between(a, b).tolist() for a, b in pairwise(nodes.tolist())]
    if len(between) != len(edges) or not all(e in joins for e, joins in zip(edges.tolist(), between, strict=True)):
        return texts + [(-1, graph.edge_text(edge)) for edge in edges.tolist()]
    steps = texts[:1]
    for joins, after in zip(between, texts[1:], strict=True):
        steps += [(-1, "; ".join(dict.fromkeys(_edge_text(graph, edge) for edge in joins))), after]
    return steps


def _edge_text(graph: Graph, edge: int) -> str:
    return graph.edge_text(edge) if graph.columns.between_entities(np.array([edge]))[0] else graph.triple(edge)[1]
