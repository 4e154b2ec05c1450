"""Training questions, and the candidate paths that could explain their answers (ReG)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import DataError, OptionError
from graphwright.graph import Graph
from graphwright.graph.evidence import Ints
from graphwright.graph.walks import Ways, relation_paths
from graphwright.kernels.csr import Csr, group
from graphwright.operators import Anchor, Induce, LinkEntities, PersonalizedPageRank, start
from graphwright.search import VectorIndex
from graphwright.text.names import normal_form

if TYPE_CHECKING:
    from graphwright.data import GraphQuestion

_SHOWN = 3  # unusable questions, in an error


@dataclass(frozen=True, slots=True)
class Example:
    """A question with its entities (E_q of ReG) and its answers (A_q), by snapshot id."""

    id: str
    text: str
    entities: tuple[int, ...]
    answers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Examples:
    """The usable questions; and for each question left out, its place in the file and the reason."""

    usable: tuple[Example, ...]
    left_out: tuple[str, ...] = ()


def read_examples(
    path: Path | str, graph: Graph, *, names: VectorIndex | None = None, max_unusable: float = 0.1
) -> Examples:
    """Read questions with answers, in any format of `read_graph_questions`, and find their nodes in the graph.

    Answers and entities are names or aliases of nodes; for a question without entities they are linked from its words,
    with `names`. A question without an entity or an answer in the graph is left out. Raises DataError, with file, line
    and reason, if more than the share `max_unusable` is left out or nothing can be read.
    """
    from graphwright.data import read_graph_questions  # loads the readers of files

    if not 0 <= max_unusable <= 1:
        raise OptionError(f"max_unusable is {max_unusable!r}; it must be a number, at least 0 and at most 1.")
    questions = read_graph_questions(path)
    examples = examples_of(questions, graph, names=names, source=str(path))
    if len(examples.left_out) > max_unusable * len(questions):
        first = "\n  ".join(examples.left_out[:_SHOWN])
        raise DataError(
            f"{len(examples.left_out):,} of {len(questions):,} questions are unusable; at most {max_unusable:.0%} may "
            f"be. The first:\n  {first}\nCorrect them, or allow more with max_unusable (--max-unusable 1)."
        )
    if not questions:
        raise DataError(f"{path}: the file has no questions.")
    if not examples.usable:
        raise DataError(f"{path}: no question is usable. The first: {examples.left_out[0]}")
    return examples


def examples_of(
    questions: Iterable[GraphQuestion], graph: Graph, *, names: VectorIndex | None = None, source: str = "questions"
) -> Examples:
    """Return the examples of questions; `source`: the name of the file, for the reasons."""
    link = LinkEntities(names)
    usable: list[Example] = []
    left_out: list[str] = []
    for question in questions:
        entities, unknown_entities = _nodes(graph, question.entities)
        if not question.entities:
            anchors = link(start(question.text, graph)).anchors or ()
            entities = tuple(dict.fromkeys(node for anchor in anchors for node in anchor.seeds(graph).tolist()))
        answers, unknown_answers = _nodes(graph, question.answers)
        if not entities:
            reason = _unknown(graph, "entity", unknown_entities)
            reason = reason or "names no node of the graph; list its entities as topic_entities"
        elif not question.answers:
            reason = "has no answers; list them as answers"
        elif not answers:
            reason = _unknown(graph, "answer", unknown_answers)
        else:
            usable.append(Example(question.id, question.text, entities, answers))
            continue
        left_out.append(f"{source}:{question.line}: question {question.id!r} {reason}")
    return Examples(tuple(usable), tuple(left_out))


def _nodes(graph: Graph, names: Sequence[str]) -> tuple[tuple[int, ...], list[str]]:
    """Return the nodes with these names, and the names that no node has."""
    ids = {name: _nodes_named(graph, name) for name in names}
    nodes = dict.fromkeys(node for matches in ids.values() for node in matches.tolist())
    return tuple(nodes), [name for name in names if not len(ids[name])]


def _nodes_named(graph: Graph, name: str) -> Ints:
    """Return the nodes with this name, else those with this alias."""
    ids = graph.ids(name)
    aliases = graph.columns.aliases
    if len(ids) or not len(aliases):
        return ids
    first, last = aliases.ends(normal_form(name), np.arange(len(aliases)))
    return np.unique(graph.columns.alias_node[first:last])


def _unknown(graph: Graph, kind: str, names: Sequence[str]) -> str:
    """Return an explanation that the graph lacks these names, with the alphabetical neighbours of the first."""
    if not names:
        return ""
    neighbours = graph.around(names[0])
    nearest = f" (nearest names: {', '.join(map(repr, neighbours))})" if neighbours else ""
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"has the {kind} {names[0]!r}{nearest}{more}, which the graph lacks; use names of its nodes"


SHORTEST, QUERY, ANSWER = "shortest", "query", "answer"  # P_sp, P_q, P_a: paths, and neighbourhoods of both ends


@dataclass(frozen=True, slots=True)
class Candidate:
    """All paths from one node by the same relations: a relation path (ReG, appendix D.2), and its pool.

    `source`: a query entity, by snapshot id, or the representative answer in the pool ANSWER; `ways`: its directed
    relations (see `graphwright.graph.walks`).
    """

    source: int
    ways: Ways
    pool: str


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of one question, and the number of paths before merging (Table 1 of ReG)."""

    candidates: tuple[Candidate, ...]
    paths: int


def ppr_subgraph(graph: Graph, example: Example, nodes: int = 1000) -> Graph:
    """Return the input graph of a retriever: the PPR subgraph of the query entities."""
    anchors = [Anchor("", nodes=np.array([entity])) for entity in example.entities]
    narrow = PersonalizedPageRank(each=True) % nodes >> Induce()
    return narrow(start(example.text, graph, anchors=anchors)).graph


def candidate_pool(graph: Graph, example: Example, length: int = 4) -> Pool:
    """Return the candidates P_sp ∪ P_q ∪ P_a of a question, merged, inside a graph such as its PPR subgraph.

    Paths from one node by the same relations are one candidate. Paths lead to one representative answer, the farthest
    from the query entities within `length` edges (ties: the one listed first), as a nearer one is likelier reached by
    chance. If all answers are query entities, the paths are the shortest walks that return to them. The number of paths
    counts, before merging, all shortest paths from every query entity to every answer, and every edge at these nodes.
    """
    answers = [answer for answer in example.answers if answer in graph]
    answers = [answer for answer in answers if answer not in example.entities] or answers
    entities = [entity for entity in example.entities if entity in graph]
    if not answers or not entities:
        return Pool((), 0)
    edges, targets = _directed_edges(graph), graph.local(answers)
    searches = {entity: _ShortestPaths(edges, int(graph.local([entity])[0]), length) for entity in entities}
    distance = np.stack([search.distance[targets] for search in searches.values()]).max(axis=0)
    representative = int(targets[int(np.argmax(distance))])
    answer = int(graph.at([representative])[0])
    candidates = [
        *(Candidate(e, ways, SHORTEST) for e, search in searches.items() for ways in search.ways_to(representative)),
        *(Candidate(answer, ways, SHORTEST) for ways in (_ways_back(graph, answer) if answer in searches else ())),
        *(Candidate(e, (way,), QUERY) for e, search in searches.items() for way in edges.ways_from(search.source)),
        *(Candidate(answer, (way,), ANSWER) for way in edges.ways_from(representative)),
    ]
    paths = sum(len(edges.ways.row(int(node))) for node in (*graph.local(entities), *targets))
    paths += sum(int(search.paths[targets].sum()) for search in searches.values())
    first = {(c.source, c.ways): c for c in reversed(candidates)}
    return Pool(tuple(first.values())[::-1], paths)


def _ways_back(graph: Graph, entity: int) -> list[Ways]:
    """Return the relation paths of the shortest walks, of two or three steps, back to an entity and nowhere else."""
    for length in (2, 3):
        paths = relation_paths(graph, entity, length, returning=True)[0]
        ways = [path.ways for path in paths if len(path.ways) == length and graph.local([entity])[0] in path.targets]
        if ways:
            return ways
    return []


class _DirectedEdges(NamedTuple):
    """Each edge in both directions, by source: the node that it leads to, and its directed relation."""

    targets: Csr
    ways: Csr

    def ways_from(self, node: int) -> list[int]:
        """Return the distinct directed relations of the edges that begin at a node."""
        return sorted(set(self.ways.row(node).tolist()))


def _directed_edges(graph: Graph) -> _DirectedEdges:
    """Return the directed edges of a graph without loops; nodes by local position."""
    ends = graph.local(graph.ends(graph.edges)).reshape(-1, 2)
    distinct = ends[:, 0] != ends[:, 1]
    (heads, tails), relation = ends[distinct].T, graph.columns.relation[graph.edges][distinct]
    source, target = np.concatenate((heads, tails)), np.concatenate((tails, heads))
    ways = np.concatenate((2 * relation + 1, 2 * relation))
    return _DirectedEdges(*(group(len(graph), source, values) for values in (target, ways)))


class _ShortestPaths:
    """Breadth-first `distance` from one node: int64[n], -1 beyond `length`; `paths`: how many, parallel edges count."""

    def __init__(self, edges: _DirectedEdges, source: int, length: int) -> None:
        self.edges, self.source = edges, source
        size = len(edges.targets.indptr) - 1
        self.distance: NDArray[np.int64] = np.full(size, -1, np.int64)
        self.paths = np.zeros(size)
        self.distance[source], self.paths[source] = 0, 1.0
        front = np.array([source])
        for step in range(1, length + 1):
            sources, targets = edges.targets.expand(front, front)
            new = self.distance[targets] < 0
            np.add.at(self.paths, targets[new], self.paths[sources[new]])
            front = np.unique(targets[new])
            self.distance[front] = step
        self.paths[source] = 0.0

    def ways_to(self, target: int) -> Iterator[Ways]:
        """Yield the distinct relation paths of all shortest paths to a node within `length`."""
        steps = int(self.distance[target])
        if steps < 1:
            return
        between = np.zeros(len(self.distance), bool)
        between[target] = True
        front = np.array([target])
        for step in range(steps - 1, 0, -1):
            before = self.edges.targets.rows(front)
            front = np.unique(before[self.distance[before] == step])
            between[front] = True
        level: dict[Ways, Ints] = {(): np.array([self.source])}
        for step in range(1, steps + 1):
            longer: dict[Ways, Ints] = {}
            for ways, nodes in level.items():
                targets, last = self.edges.targets.rows(nodes), self.edges.ways.rows(nodes)
                on = between[targets] & (self.distance[targets] == step)
                for way in np.unique(last[on]).tolist():
                    longer[(*ways, way)] = np.unique(targets[on & (last == way)])
            level = longer
        yield from sorted(level)
