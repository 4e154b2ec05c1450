"""Propositions, statements joined by shared entities: beam search over paths of them (PropRAG, Clue-RAG)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import ALIAS, SYNONYM, Graph
from graphwright.graph.items import Item
from graphwright.kernels.blocks import products
from graphwright.kernels.csr import Csr, group
from graphwright.kernels.ranking import top
from graphwright.models.protocols import CrossEncoder, Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.rerank.rerank import SCORES_ITEMS
from graphwright.operators.rerank.scorer import Scorer, score_function
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import overlap
from graphwright.operators.state import State
from graphwright.search.snapshot import SnapshotCache
from graphwright.search.vector_index import VectorIndex, cosines

Path = tuple[int, ...]  # numbers of propositions, in the order in which they were added


class Propositions(NamedTuple):
    """The distinct statements of a graph's edges between entities, and the entities that each is about.

    `rows`: the row of each proposition's vector, its number without vectors; `edges`: its edges, by id; `nodes`: the
    ids of all entities, ascending; `entities`: the positions in `nodes` of each proposition's; `of_entity`: the
    propositions of each.
    """

    rows: Ints
    edges: Csr
    nodes: Ints
    entities: Csr
    of_entity: Csr

    def near(self, graph: Graph, proposition: int) -> Ints:
        """Return the propositions that share an entity with it, also over an alias or synonym edge; ascending."""
        nodes = self.nodes[self.entities.row(proposition)]
        return self.of(*nodes.tolist(), *graph.columns.by_relation(ALIAS, SYNONYM).rows(nodes).tolist())

    def of(self, *nodes: int) -> Ints:
        """Return the propositions about any of these entities, ascending."""
        if not len(self.nodes):
            return self.nodes
        at = np.minimum(np.searchsorted(self.nodes, nodes), len(self.nodes) - 1)
        return np.unique(self.of_entity.rows(at[self.nodes[at] == nodes]))

    def text(self, graph: Graph, proposition: int) -> str:
        """Return the text of a proposition."""
        return graph.edge_text(int(self.edges.row(proposition)[0]))


_all: SnapshotCache[Propositions] = SnapshotCache()


def propositions(graph: Graph, index: VectorIndex | None) -> Propositions:
    """Return the propositions of a graph's edges; edges with the same text, and row of `index`, form one.

    `index`: vectors by edge (`Snapshot.triples`); edges without a vector are left out. Those of a snapshot are cached.
    """
    if graph.whole:
        return _all.get(graph.columns, index, lambda: _collected(graph, index))
    return _collected(graph, index)


def _collected(graph: Graph, index: VectorIndex | None) -> Propositions:
    columns, edges = graph.columns, graph.edges
    edges = edges[columns.between_entities(edges)]
    edges, rows = _texts(graph, edges) if index is None else index.rows_of(edges)
    rows, of_edge = np.unique(rows, return_inverse=True)
    size, count = max(len(columns.names), 1), len(rows)
    pairs = np.unique(np.repeat(of_edge, 2) * size + graph.ends(edges))
    owner, (nodes, entity) = pairs // size, np.unique(pairs % size, return_inverse=True)
    return Propositions(
        rows, group(count, of_edge, edges), nodes, group(count, owner, entity), group(len(nodes), entity, owner)
    )


def _texts(graph: Graph, edges: Ints) -> tuple[Ints, Ints]:
    """Return the edges that state something, and a number for the text of each."""
    columns = graph.columns
    edges = np.setdiff1d(edges, columns.edges_of(ALIAS, SYNONYM), assume_unique=True)
    if columns.edge_text is None or columns.sentences is None:
        return edges, edges
    sentence = columns.edge_text[edges].astype(np.int64)
    return edges, np.where(sentence >= 0, sentence, len(columns.sentences) + edges)


@dataclass(frozen=True, repr=False)
class PropositionPaths(Operator):
    """Search paths of propositions by a beam, without a language model (PropRAG, Wang and Han, EMNLP 2025).

    A proposition is a statement of edges: a sentence, or a triple. The search begins with the `width` propositions
    nearest to the question. Each path is extended by every proposition that shares an entity with its last proposition
    (also over an alias edge), and by the `jumps` best propositions, for questions that compare unconnected things. The
    `width` best paths are extended again, up to `length` propositions. The score of a path is the cosine of the
    question and the mean of its vectors. The evidence is the paths of every length; a path has the entities of its
    propositions as nodes, and one edge of each proposition. Of paths with the same propositions the first stays.

    `triples`: vectors by edge (`Snapshot.triples`); without them a path is compared by words, and the trace notes it.
    The paper encodes the best paths of each length again, as one text.

    >>> from graphwright import start; from graphwright.models import HashEncoder
    >>> kin = Graph.from_triples([("Ida", "spouse", "Udo"), ("Ugo", "lived in", "Lyon"), ("Udo", "lived in", "Graz")])
    >>> index = VectorIndex.from_array(HashEncoder().encode([kin.edge_text(edge) for edge in range(3)]), HashEncoder())
    >>> state = start("Where did the spouse of Ida live?", kin)
    >>> PropositionPaths(index, width=1, length=2, jumps=0)(state).evidence.texts(kin)
    ['Ida spouse Udo', 'Ida spouse Udo; Udo lived in Graz']
    """

    triples: VectorIndex | None
    width: Annotated[int, AtLeast(1)] = 4
    length: Annotated[int, AtLeast(1)] = 3
    jumps: Annotated[int, AtLeast(0)] = 3
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        known = propositions(state.graph, self.triples)
        single, extended = self._scoring(state, run, known)
        best = top(single, max(self.width, self.jumps)).tolist()
        beams: list[Path] = [(number,) for number in best[: self.width]]
        paths = {frozenset(path): (path, float(single[path[0]])) for path in beams}
        for _ in range(self.length - 1):
            candidates = list[tuple[float, Path]]()
            for path in beams:
                near = np.append(known.near(state.graph, path[-1]), np.array(best[: self.jumps], np.int64))
                near = np.setdiff1d(near, path)
                scores = extended(path, near)
                # Up to len(paths) of the candidates may repeat a known set.
                first = top(scores, self.width + len(paths)).tolist()
                candidates += [(float(scores[i]), (*path, int(near[i]))) for i in first]
            beams = self._selected(candidates, paths)
        items = [_item(known, path) for path, _ in paths.values()]
        return state.with_(evidence=Evidence.of_trees(state.graph, items, [score for _, score in paths.values()]))

    def _selected(
        self, candidates: list[tuple[float, Path]], paths: dict[frozenset[int], tuple[Path, float]]
    ) -> list[Path]:
        """Return the best candidates whose set of propositions is new, and add them to the paths."""
        best = list[Path]()
        for score, path in sorted(candidates, key=lambda candidate: (-candidate[0], candidate[1])):
            if len(best) < self.width and frozenset(path) not in paths:
                paths[frozenset(path)] = path, score
                best.append(path)
        return best

    def _scoring(self, state: State, run: Run, known: Propositions) -> tuple[Scores, Callable[[Path, Ints], Scores]]:
        """Return the score of each proposition, and a function that scores a path extended by each of some."""
        if self.triples is not None:
            return _by_vectors(self.triples, known.rows, self.triples.encode(state.question.text, run))
        run.note_missing("triples")
        texts = [known.text(state.graph, number) for number in range(len(known.rows))]

        def extended(path: Path, added: Ints) -> Scores:
            begin = " ".join(texts[number] for number in path)
            return np.array([overlap(state.question.text, f"{begin} {texts[i]}") for i in added.tolist()], np.float64)

        return np.array([overlap(state.question.text, text) for text in texts], np.float64), extended


def unit_vectors(index: VectorIndex, rows: Ints) -> Scores:
    """Return the vectors in some rows of an index, at length 1."""
    units: Scores = index.vectors[rows].astype(np.float64) / np.maximum(index.lengths[rows], 1e-12)[:, None]
    return units


def _by_vectors(index: VectorIndex, rows: Ints, query: np.ndarray) -> tuple[Scores, Callable[[Path, Ints], Scores]]:
    """Return the cosine of each proposition, and a function for the mean vector of a path extended by each of some."""
    unit = query.astype(np.float64) / max(float(np.linalg.norm(query)), 1e-12)

    def extended(path: Path, added: Ints) -> Scores:
        total = unit_vectors(index, rows[np.array(path)]).sum(axis=0)
        return cosines(unit_vectors(index, rows[added]) + total, unit)

    scores = index.scores(query)[rows] if 2 * len(rows) > index.shape[0] else products(index.vectors, rows, query)
    lengths = index.lengths[rows] * np.linalg.norm(query)
    return np.divide(scores, lengths, out=np.zeros(len(rows)), where=lengths > 0), extended


def _item(known: Propositions, path: Path) -> tuple[list[int], list[int]]:
    """Return the distinct entities of a path, in its order, and the first edge of each of its propositions."""
    nodes = dict.fromkeys(node for number in path for node in known.nodes[known.entities.row(number)].tolist())
    return list(nodes), [int(known.edges.row(number)[0]) for number in path]


Reached = tuple[int, Scores, Path]  # an entity, the remaining query vector of its path, and the path


@dataclass(frozen=True, repr=False)
class UnitPaths(Operator):
    """Search paths of knowledge units from entities, subtracting each unit from the query (Q-Iter of Clue-RAG).

    A unit is a statement of edges (see `propositions`). At each of `depth` steps, every entity reached, at first those
    of the evidence, takes the `units` units about it (the paper's K) with the largest cosine to its query vector, at
    first the question's, and subtracts the vector of the unit: q' = q - u. Of all paths that are one unit longer, equal
    sets of units once, the `width` (M) best stay by `model`, which reads the question and the texts of the path
    together. The entities of their last units are reached next. The evidence is the paths of all steps.

    `triples`: vectors by edge (`Snapshot.triples`); without them units are compared with the question by words, nothing
    is subtracted, and the trace notes it.
    """

    triples: VectorIndex | None
    model: Annotated[Encoder | CrossEncoder | Scorer, SCORES_ITEMS]
    units: Annotated[int, AtLeast(1)] = 3
    width: Annotated[int, AtLeast(1)] = 5
    depth: Annotated[int, AtLeast(1)] = 3
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        items, known = state.items, propositions(state.graph, self.triples)
        entities = np.unique(np.concatenate((items.nodes, state.graph.ends(items.edges)))).tolist()
        reached: list[Reached] = [(entity, self._query(state, run), ()) for entity in entities]
        score, paths = score_function(self.model, state, run), dict[Path, float]()
        for _ in range(self.depth):
            longer = self._longer(state, known, reached)
            if not longer:
                break
            ordered = list(longer)
            scores = score(Evidence.of_trees(state.graph, (_unit_item(known, path) for path in ordered), render=_text))
            best = [ordered[at] for at in top(scores, self.width).tolist()]
            paths |= {path: float(scores[ordered.index(path)]) for path in best}
            reached = [
                (entity, longer[path][1], path)
                for path in best
                for entity in known.nodes[known.entities.row(longer[path][0])].tolist()
            ]
        ranked = (_unit_item(known, path) for path in paths)
        return state.with_(evidence=Evidence.of_trees(state.graph, ranked, list(paths.values()), _text))

    def _query(self, state: State, run: Run) -> Scores:
        if self.triples is None:
            run.note_missing("triples")
            return np.empty(0)
        vector = self.triples.encode(state.question.text, run).astype(np.float64)
        unit: Scores = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return unit

    def _longer(self, state: State, known: Propositions, reached: list[Reached]) -> dict[Path, tuple[int, Scores]]:
        """Return the paths with one more unit: its number, and the remaining query vector."""
        longer = dict[Path, tuple[int, Scores]]()
        for entity, query, path in reached:
            near = np.setdiff1d(known.of(entity), path)
            vectors = None if self.triples is None else unit_vectors(self.triples, known.rows[near])
            if vectors is None:
                texts = (known.text(state.graph, unit) for unit in near.tolist())
                scores = np.array([overlap(state.question.text, text) for text in texts], np.float64)
            else:
                scores = cosines(vectors, query)
            for at in top(scores, self.units).tolist():
                unit = int(near[at])
                key = tuple(sorted((*path, unit), key=lambda number: (known.text(state.graph, number), number)))
                longer[key] = unit, query if vectors is None else query - vectors[at]
        return longer


def _unit_item(known: Propositions, path: Path) -> tuple[list[int], list[int]]:
    """Return a path as an item: all edges of each unit, which several passages may state."""
    return [], [edge for unit in path for edge in known.edges.row(unit).tolist()]


def _text(graph: Graph, item: Item) -> str:
    return "; ".join(dict.fromkeys(map(graph.edge_text, item.edges)))
