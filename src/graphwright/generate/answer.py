"""Answering: from ranked passages to a text whose every statement is cited."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.graph import Graph
from graphwright.kernels.paths import nearest_path
from graphwright.models.base import Reader, Span
from graphwright.retrieve.operator import Operator
from graphwright.retrieve.state import Citation, Reply, State

__all__ = ["Answer", "walk_to"]

NOTHING = "Nothing in the documents answers this."


@dataclass(frozen=True, repr=False)
class Answer(Operator):
    """Answer from the best `passages` by what a reader finds in them.

    Each citation has the document, the chunk, the characters in the document, what stands there to the
    letter, and the walk in the graph from what the question names to that chunk. Where the reader finds
    nothing, the answer says so and cites nothing.
    """

    reader: Reader
    passages: int = 8
    needs = ("chunks",)
    gives = ("answer",)

    def __post_init__(self) -> None:
        if self.passages < 1:
            raise OptionError(f"Answer(passages={self.passages!r}): a number of passages, 1 or more.")

    def apply(self, state: State) -> State:
        """Read the passages and set the answer."""
        graph = state.graph
        nodes = [] if state.chunks is None else state.chunks.ids[: self.passages].tolist()
        titles = [_title(graph, node) for node in nodes]
        # Each passage begins with its title's line, empty or not, so that the reader can tell it from the text.
        readings = [f"{title}\n{graph.text(node)}" for title, node in zip(titles, nodes, strict=True)]
        found = self.reader.read(state.question.text, readings)
        cited = [_cite(state, nodes[s.passage], len(titles[s.passage]) + 1, s) for s in found]
        cited = [citation for citation in cited if citation.text]
        text = " ".join(citation.text for citation in cited)
        return state.with_(answer=Reply(text, tuple(cited)) if cited else Reply(NOTHING, found=False))


def _title(graph: Graph, node: int) -> str:
    title = graph.passages.title_of(node) if graph.passages is not None else ""
    return " ".join(title.split())


def _cite(state: State, node: int, before: int, span: Span) -> Citation:
    """Return a span of a reading as a citation; `before`: characters of the reading before the passage's text."""
    graph = state.graph
    start, end = max(span.start - before, 0), max(span.end - before, 0)
    text = graph.text(node)[start:end]
    passage = graph.passages.of(node) if graph.passages is not None else None
    path = walk_to(state, node)
    if passage is None:
        return Citation("", graph.names[node], start, end, text, path)
    return Citation(passage.document, passage.id, passage.start + start, passage.start + end, text, path)


def walk_to(state: State, node: int, hops: int = 4) -> tuple[str, ...]:
    """Return the shortest walk from what the question names to a node: names and relations in turn.

    A relation walked against its direction ends in ⁻¹. Empty if nothing named lies within `hops`.
    """
    graph = state.graph
    named = [anchor.seeds(graph) for anchor in state.anchors or ()]
    sources = graph.local(np.unique(np.concatenate(named))) if named else np.empty(0, np.int64)
    target = graph.local([node])
    if not len(sources) or not len(target):
        return ()
    path = graph.nodes[nearest_path(*graph.adjacency, sources, int(target[0]), hops)]
    if not len(path):
        return ()
    steps = [graph.names[int(path[0])]]
    for a, b in zip(path.tolist(), path[1:].tolist(), strict=False):
        steps += [_label(graph, a, b), graph.names[b]]
    return tuple(steps)


def _label(graph: Graph, a: int, b: int) -> str:
    edge = int(graph.edges_between(a, b)[0])
    columns = graph.columns
    relation = columns.relations[int(columns.relation[edge])]
    return relation if columns.heads[edge] == a else f"{relation}⁻¹"
