"""Contexts that show paths, the most reliable last (PathRAG, Eq. 5 and 6), or evidence chains (ReG)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Checked
from graphwright.generate.contexts import (
    CONTEXT_PASSAGES,
    CONTEXT_TOKENS,
    MIN_TOKENS,
    Budgeted,
    line_size,
    longest,
    with_passages,
)
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item, ItemKind
from graphwright.graph.walks import write_walk
from graphwright.kernels.ranking import top
from graphwright.operators.anchors.keywords import themes
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import Context, data_line, spaced_tokens
from graphwright.search.vector_index import VectorIndex
from graphwright.text.words import words

_PATHS = 0.5  # share of paths, chains and edges in a context before its passages are added
_MAX_COMPARED = 5_000  # edges that are compared by words
_SIGNS = re.compile("[→;]")  # the signs that a chain is written with


@dataclass(frozen=True)
class GlobalEdges(Checked):
    """Find the edges that are nearest to the question's themes, as LightRAG retrieves them for global keywords.

    `triples`: vectors of edges (`Snapshot.triples`). An edge's score is its largest cosine with any theme; without
    vectors, of the edges at the nodes of the evidence, the share of the themes' words in its text. Of edges with the
    same text the first counts. `by_question`: the question is the only theme, as without a language model.
    """

    triples: VectorIndex | None
    limit: Annotated[int, AtLeast(1)] = 10
    by_question: bool = False

    def __call__(self, state: State, run: Run) -> Ints:
        """Return the edges, best first."""
        queries = [state.question.text] if self.by_question else [theme.text for theme in themes(state)]
        if not queries:
            return np.empty(0, np.int64)
        if self.triples is None:
            ids, scores = _by_words(state, queries, run)
        else:
            ids, scores = _by_vectors(self.triples, state, queries, run)
        # One sentence states many edges, so more are ranked than are returned.
        edge_of: dict[str, int] = {}
        for edge in ids[top(scores, min(20 * self.limit, len(ids)))].tolist():
            edge_of.setdefault(state.graph.edge_text(edge), edge)
            if len(edge_of) == self.limit:
                break
        return np.array(list(edge_of.values()), np.int64)


def _by_vectors(index: VectorIndex, state: State, queries: list[str], run: Run) -> tuple[Ints, NDArray[np.float64]]:
    ids, rows = index.rows_of(index.ids if state.graph.whole else state.graph.edges)
    lengths = index.lengths
    best = np.full(len(index.vectors), -np.inf)
    for text in queries:
        query = index.encode(text, run)
        norms = lengths * np.linalg.norm(query)
        best = np.maximum(best, np.divide(index.scores(query), norms, out=np.zeros(len(norms)), where=norms > 0))
    return ids, best[rows]


def _by_words(state: State, queries: list[str], run: Run) -> tuple[Ints, NDArray[np.float64]]:
    run.note_missing("triples")
    graph, evidence, columns = state.graph, state.evidence, state.graph.columns
    nodes = np.empty(0, np.int64)
    if evidence is not None:
        nodes = np.unique(np.append(evidence.nodes, graph.ends(evidence.edges)))
    ids = np.unique(np.append(columns.out.rows(nodes), columns.into.rows(nodes)))
    if not graph.whole:
        ids = ids[np.isin(ids, graph.edges, assume_unique=True)]
    ids = ids[columns.between_entities(ids)][:_MAX_COMPARED]
    query_words = set(words(" ".join(queries)))
    counts = [len(query_words.intersection(words(graph.edge_text(edge)))) for edge in ids.tolist()]
    scores = np.array(counts, np.float64) / max(len(query_words), 1)
    return ids[scores > 0], scores[scores > 0]


@dataclass(frozen=True, repr=False)
class PathContext(Budgeted):
    """Show the question and the paths in ascending order of reliability, the best last (PathRAG, Eq. 6).

    A path is one line of JSON with its rank, the numbers of the passages that state it, and its steps (Eq. 5): the
    texts of nodes and edges in walk order, parallel edges together. `edges`: finds the edges that are shown after the
    question. `passages`: how many are shown before the paths; the paper shows none. `tokens`: the limit of all lines.
    The best paths, then edges take at most half of it, and the tokens that the passages leave. Lines that do
    not fit are left out, but the texts of the best path are cut.

    >>> from graphwright import Evidence, start
    >>> graph = Graph.from_triples([("Bertha", "mother of", "Gisela"), ("Gisela", "wife of", "Godfrid")])
    >>> paths = Evidence.of_paths(graph, [([0, 1], [0]), ([0, 1, 2], [0, 1])], [0.9, 0.7])
    >>> print(*PathContext()(start("Who?", graph, evidence=paths)).context.after, sep=chr(10))
    {"path": 2, "steps": ["Bertha", "Bertha mother of Gisela", "Gisela", "Gisela wife of Godfrid", "Godfrid"]}
    {"path": 1, "steps": ["Bertha", "Bertha mother of Gisela", "Gisela"]}
    """

    passages: Annotated[int, AtLeast(0)] = CONTEXT_PASSAGES
    tokens: Annotated[int, AtLeast(MIN_TOKENS)] = CONTEXT_TOKENS
    edges: GlobalEdges | None = None
    needs = ("evidence",)
    gives = ("context",)
    template: ClassVar[str] = "pathrag"  # the name of the prompt

    def apply(self, state: State, run: Run) -> State:
        edges = () if self.edges is None else self.edges(state, run).tolist()
        relations = [data_line({"relation": state.graph.edge_text(edge)}) for edge in edges]

        def items(numbers: Mapping[int, int], tokens: int) -> Iterator[str]:
            yield from dict.fromkeys((*self._evidence(state, numbers, tokens), *relations))

        lines, passages = with_passages(state, self.passages, self.tokens, _PATHS, items)
        themes = [line for line in lines if line in relations]
        paths = [line for line in lines if line not in relations]
        ascending = tuple(reversed(paths))
        return state.with_(context=Context(state.question.original, self.template, passages, tuple(themes), ascending))

    def _evidence(self, state: State, numbers: Mapping[int, int], tokens: int) -> Iterator[str]:
        """Yield the lines of the evidence, the best first; `numbers` are those of the shown passages, by node."""
        graph = state.graph
        for rank, item in enumerate(state.items.items(), 1):
            steps = [f"passage {numbers[v]}" if v in numbers else text for v, text in texts_along(graph, item)]
            sources = {*graph.chunks_of((), item.edges).tolist(), *item.nodes} & numbers.keys()
            about = {"path": rank} | ({"passages": sorted(numbers[node] for node in sources)} if sources else {})
            yield _path_line(about, steps, tokens if rank == 1 else None)


@dataclass(frozen=True, repr=False)
class FlatContext(PathContext):
    """Show the question, and each node and each edge of the paths once (PathRAG, RQ3 and Table 3: flat).

    Options are those of PathContext. The texts of the best paths come last, edges before nodes.

    >>> from graphwright import Evidence, start
    >>> graph = Graph.from_triples([("Bertha", "mother of", "Gisela"), ("Gisela", "wife of", "Godfrid")])
    >>> paths = Evidence.of_paths(graph, [([0, 1], [0]), ([0, 1, 2], [0, 1])], [0.9, 0.7])
    >>> print(*FlatContext()(start("Who?", graph, evidence=paths)).context.after, sep=chr(10))
    {"relation": "Gisela wife of Godfrid"}
    {"relation": "Bertha mother of Gisela"}
    {"entity": "Godfrid"}
    {"entity": "Gisela"}
    {"entity": "Bertha"}
    """

    template: ClassVar[str] = "pathrag_flat"

    def _evidence(self, state: State, numbers: Mapping[int, int], tokens: int) -> Iterator[str]:
        """Yield the lines of nodes, then those of edges, each text once."""
        steps = [step for item in state.items.items() for step in texts_along(state.graph, item)]
        entities = dict.fromkeys(text for node, text in steps if node >= 0 and node not in numbers)
        relations = dict.fromkeys(text for node, text in steps if node < 0)
        yield from (data_line({"entity": text}) for text in entities)
        yield from (data_line({"relation": text}) for text in relations)


def _path_line(about: Mapping[str, object], steps: list[str], tokens: int | None) -> str:
    def line(length: int) -> str:
        return data_line({**about, "steps": [step[:length] for step in steps]})

    length = max(map(len, steps), default=0)
    return line(length) if tokens is None else longest(line, length, lambda cut: line_size(cut) <= tokens)


def texts_along(graph: Graph, item: Item) -> list[tuple[int, str]]:
    """Return the texts along an item, each with its node, -1 for edges: of a path nodes and edges in turn (Eq. 5).

    Between two nodes are the texts of all edges that join them; if one of the two is a passage, the relations alone.
    """
    texts = [(node, graph.reading(node)) for node in item.nodes]
    if item.kind != ItemKind.PATH:
        return texts + [(-1, graph.edge_text(edge)) for edge in item.edges]
    steps = texts[:1]
    for ends, after in zip(pairwise(item.nodes), texts[1:], strict=True):
        joins = graph.edges_between(*ends).tolist()
        steps += [(-1, "; ".join(dict.fromkeys(_edge_text(graph, edge) for edge in joins))), after]
    return steps


def _edge_text(graph: Graph, edge: int) -> str:
    return graph.edge_text(edge) if graph.columns.between_entities(np.array([edge]))[0] else graph.triple(edge)[1]


@dataclass(frozen=True, repr=False)
class ChainContext(Budgeted):
    """Show the question and the chains, each one line: `Q1 → [r1] → a → [r2] → x; y` (ReG, figure 7).

    Names and relations are escaped as texts of passages are, and so are the signs → and ; in them: no name can pass
    for another hop, chain or instruction. Brackets that would make a chat-template token are spaced: `[ ACTED_IN ]`.
    Items without edges are not shown. The best `passages` follow as in PassageContext. `tokens`: the limit of all
    lines. Chains take at most half of it, and the tokens that the passages leave; the first is cut to fit.

    >>> from graphwright import Evidence, Graph, start
    >>> film = Graph.from_triples([("Alien", "genre", "Horror"), ("Alien", "genre", "Drama")])
    >>> state = start("Which genres?", film, evidence=Evidence.of_trees(film, [([0, 1, 2], [0, 1])]))
    >>> print(*ChainContext()(state).context.before)
    Chain 1. Alien → [genre] → Horror; Drama
    """

    passages: Annotated[int, AtLeast(1)] = CONTEXT_PASSAGES
    tokens: Annotated[int, AtLeast(MIN_TOKENS)] = CONTEXT_TOKENS
    needs = ("evidence",)
    gives = ("context",)

    def apply(self, state: State, run: Run) -> State:
        items = partial(_chain_lines, state)
        chains, passages = with_passages(state, self.passages, self.tokens, _PATHS, items)
        return state.with_(context=Context(state.question.original, "chains", passages, tuple(chains)))


def _chain_lines(state: State, numbers: Mapping[int, int], tokens: int) -> Iterator[str]:
    """Yield the lines of the chains, best first; the best is cut if it takes more than `tokens`."""
    for number, item in enumerate(state.items.items(), 1):
        if not item.edges:
            continue
        # An item that is not a chain, such as a triple, is shown by the texts of its edges.
        texts = (_escaped(state.graph.edge_text(edge)) for edge in item.edges)
        chain = write_walk(state.graph, item, _escaped) or "; ".join(texts)
        line = spaced_tokens(f"Chain {number}. {chain}")
        if number == 1 and line_size(line) > tokens:
            line = longest(partial(_whole_ends, line), len(line), lambda cut: line_size(cut) <= tokens)
        yield line


def _whole_ends(line: str, characters: int) -> str:
    """Return the beginning of a chain's line, cut after a whole name of an end."""
    return line if characters >= len(line) else line[:characters].rpartition("; ")[0] + "; …"


def _escaped(text: str) -> str:
    return _SIGNS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", data_line(text)[1:-1])
