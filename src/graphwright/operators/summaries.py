"""Summaries of communities (GraphRAG) and of clusters of passages (RAPTOR): central statements, or an LLM's text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Annotated, TypeVar

import numpy as np

from graphwright.constraints import AtLeast, Checked, Has
from graphwright.errors import check_installed
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Columns, Graph
from graphwright.graph.items import Item, ItemKind
from graphwright.kernels.ranking import top
from graphwright.models.protocols import LLM, Floats, Usage
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line
from graphwright.search.clustering import Communities, clusters, communities
from graphwright.search.snapshot import SnapshotCache
from graphwright.search.vector_index import VectorIndex, normalised
from graphwright.text.sentences import sentence_spans

_MAX_CALLS = 8  # of a language model at a time
_MAX_STATEMENTS = 2_000  # of a community, so that the time is bounded
_ENTITIES, _RELATIONS, _PASSAGES = 30, 30, 5  # lines of a prompt
_CHARACTERS = 2_000  # of a passage in a prompt
_RELEVANCE = 0.7
_SAME = 0.9

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Gist:
    """The most central statements of a group, by edge id, or passages, by node id, and their mean unit vector."""

    edges: Ints
    passages: Ints
    vector: Floats

    def text(self, graph: Graph) -> str:
        """Return the statements, or the first sentence of each passage, a line each."""
        statements = [graph.edge_text(int(edge)) for edge in self.edges]
        return "\n".join(statements or [lead(graph, int(node)) for node in self.passages])


@dataclass
class _Written:
    """Summaries by a language model, by community, with the cost of each."""

    lock: Lock = field(default_factory=Lock)
    summaries: dict[int, tuple[str, Usage]] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Summaries(Checked):
    """Summaries of communities of entities (GraphRAG, Edge et al., 2024), each made once for a snapshot.

    The gist of a community is its `statements` most central statements, by their vectors in `triples`; without these,
    the most central passages that name its members. It is also the summary; WrittenSummaries has a language model write
    it. `max_size`: as in `communities`. Needs the extra `communities` (igraph).
    """

    passages: VectorIndex
    triples: VectorIndex | None = None
    statements: Annotated[int, AtLeast(1)] = 5
    max_size: Annotated[int, AtLeast(1)] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_installed("igraph", "communities", self)

    def communities(self, graph: Graph) -> Communities:
        """Return the communities of a graph's snapshot."""
        return communities(graph, self.max_size)

    def gists(self, graph: Graph, level: int) -> tuple[Ints, list[Gist], Floats]:
        """Return the communities of a level, the gist of each, and their vectors: float32[c, dimension]."""
        columns, groups = graph.columns, self.communities(graph)
        # Gists do not depend on the model, so all models share them.
        key = self.passages, self.triples, self.statements, self.max_size, level

        def compute() -> tuple[Ints, list[Gist], Floats]:
            ids, whole = groups.at(level), Graph(columns)
            gists = [self._gist(whole, groups.members.row(number).astype(np.int64)) for number in ids.tolist()]
            vectors = [np.empty((0, self.passages.dimension), np.float32), *(gist.vector[None] for gist in gists)]
            return ids, gists, np.concatenate(vectors)

        return _gists.get(columns, key, compute)

    def texts(self, run: Run, graph: Graph, level: int, numbers: Sequence[int]) -> list[str]:
        """Return the summaries of communities of a level, in the order of `numbers`."""
        ids, gists, _ = self.gists(graph, level)
        gist_texts = {number: gists[int(np.searchsorted(ids, number))].text(graph) for number in numbers}
        texts = self._texts(run, graph, gist_texts)
        return [texts[number] for number in numbers]

    def _texts(self, run: Run, graph: Graph, gist_texts: dict[int, str]) -> dict[int, str]:
        return gist_texts

    def _gist(self, graph: Graph, members: Ints) -> Gist:
        edges = _inner_edges(graph, members)
        if self.triples is not None:
            known, rows = self.triples.rows_of(edges)
            rows, first = np.unique(rows, return_index=True)
            if len(rows):
                best, vector = central(self.triples.vectors[rows[:_MAX_STATEMENTS]], self.statements)
                return Gist(known[first][best], np.empty(0, np.int64), vector)
        known, rows = self.passages.rows_of(graph.chunks_of(members)[:_MAX_STATEMENTS])
        best, vector = central(self.passages.vectors[rows], self.statements)
        return Gist(np.empty(0, np.int64), known[best], vector)


@dataclass(frozen=True, repr=False)
class WrittenSummaries(Summaries):
    """Summaries of communities that a language model writes (GraphRAG), from members, statements and central passages.

    The model is called when a summary is first needed, and its cost is counted in that step; after an empty or unusable
    reply the gist is the summary, with a note.
    """

    model: Annotated[LLM, Has("a language model", "complete")] = field(kw_only=True)

    def _texts(self, run: Run, graph: Graph, gist_texts: dict[int, str]) -> dict[int, str]:
        """Return the summaries; the model writes those that are missing."""
        written = _written.get(graph.columns, (self, run.prompts), _Written)
        with written.lock:  # threads that need the same summary wait, so that it is paid for once
            new = [number for number in gist_texts if number not in written.summaries]
            self._write(run, graph, {number: gist_texts[number] for number in new}, written.summaries)
            for computed in (True, False):
                used = [number for number in gist_texts if (number in new) == computed]
                costs = {("summary", self, number): written.summaries[number][1] for number in used}
                run.charge(costs, computed=computed)
            texts = {number: written.summaries[number][0] for number in gist_texts}
            if run.faults.cut_short:  # a later question asks the model again
                for number in new:
                    if texts[number] == gist_texts[number]:
                        del written.summaries[number]
        return texts

    def _write(
        self, run: Run, graph: Graph, gist_texts: dict[int, str], summaries: dict[int, tuple[str, Usage]]
    ) -> None:
        """Have the model write the summaries of communities, and add them to `summaries` with their costs."""

        def write(child: Run, number: int) -> None:
            text = _write_summary(child, self.model, "community", self._lines(graph, number), gist_texts[number])
            summaries[number] = text, child.usage  # at once, so that an error in another call does not lose it

        begun = time.perf_counter()
        for_each(run, write, gist_texts)
        seconds = time.perf_counter() - begun
        for number in gist_texts:
            summaries[number][1].saved = seconds / len(gist_texts)

    def _lines(self, graph: Graph, number: int) -> str:
        """Return the lines of a community for a prompt: its best connected members, statements, central passages."""
        members = self.communities(graph).members.row(number).astype(np.int64)
        by_degree = np.argsort(-graph.columns.adjacency.sizes(members), kind="stable")
        lines: list[dict[str, str]] = [{"entity": graph.text(int(v))} for v in members[by_degree[:_ENTITIES]]]
        edges = _inner_edges(graph, members)[:_MAX_STATEMENTS]
        statements = dict.fromkeys(graph.edge_text(int(edge)) for edge in edges)
        lines += [{"statement": text} for text in list(statements)[:_RELATIONS]]
        known, row = self.passages.rows_of(graph.chunks_of(members)[:_MAX_STATEMENTS])
        best = central(self.passages.vectors[row], _PASSAGES)[0]
        return "\n".join([data_line(line) for line in lines] + [_passage_line(graph, int(v)) for v in known[best]])


def _inner_edges(graph: Graph, members: Ints) -> Ints:
    edges = np.sort(graph.columns.out.rows(members))
    return edges[np.isin(graph.columns.tails[edges], members)]


def lead(graph: Graph, node: int) -> str:
    """Return a passage's title and first sentence."""
    text, title = graph.passage(node), graph.title_of(node)
    first = next((text[start:end] for start, end in sentence_spans(text)), text)
    return f"{title}: {first}" if title else first


def _passage_line(graph: Graph, node: int) -> str:
    return data_line({"title": graph.title_of(node), "text": graph.passage(node)[:_CHARACTERS]})


def _write_summary(run: Run, model: LLM, prompt: str, lines: str, default: str) -> str:
    """Return a language model's summary of lines of data; `default`, with a note, without a usable reply."""
    reply = run.reply(model, prompt, lines=lines)
    if reply is None:
        return default
    text: str = reply.summary.strip()
    if not text:
        run.note("the model wrote no summary; the most central statements replace it")
    return text or default


def for_each(run: Run, work: Callable[[Run, Task], Result], items: Iterable[Task]) -> list[Result]:
    """Do the work for each item, several at a time, in runs of their own; an error cancels the rest.

    The first item is done alone: if a model fails at it, the others are done without, and it is not asked by each.
    """
    tasks = [(run.child(), item) for item in items]
    try:
        first = [work(child, item) for child, item in tasks[:1]]
        with ThreadPoolExecutor(_MAX_CALLS) as pool:
            futures = [pool.submit(work, child, item) for child, item in tasks[1:]]
            try:
                return first + [future.result() for future in futures]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        for child, _ in tasks:
            run.absorb(child)
            run.notes += child.notes


def central(vectors: Floats, k: int) -> tuple[Ints, Floats]:
    """Return the positions of the k most central vectors, and their mean at length 1; zero for no vectors."""
    units = normalised(np.asarray(vectors, np.float32))
    if not len(units):
        return np.empty(0, np.int64), np.zeros(units.shape[1], np.float32)
    best = most_central(units, units @ units.mean(axis=0), k)
    return best, normalised(units[best].mean(axis=0))


def most_central(vectors: Floats, relevance: Floats, k: int) -> Ints:
    """Return the positions of the k best vectors by maximal marginal relevance, best first.

    The value of i is 0.7 · relevance[i] / max(relevance) - 0.3 · s, with s its largest cosine with a selected vector;
    it is not selected if s is 0.9 or more. `vectors`: unit rows, float32[n, d].
    """
    share = relevance.astype(np.float64) / max(float(relevance.max(initial=0.0)), 1e-9)
    values = _RELEVANCE * share.round(6)  # equal relevances may differ in the last digits
    likeness = np.zeros(len(values))
    free = np.ones(len(values), bool)
    best: list[int] = []
    while len(best) < k and free.any():
        at = int(np.where(free, values - (1 - _RELEVANCE) * likeness, -np.inf).argmax())
        best.append(at)
        likeness = np.maximum(likeness, vectors @ vectors[at])
        free &= likeness < _SAME
        free[at] = False
    return np.array(best, np.int64)


@dataclass(frozen=True, eq=False)
class Tree:
    """The tree of a snapshot: `leaves`, its passages, and the text and the leaves (positions) of each summary.

    `vectors: float32[n + s, dimension]` are those of the leaves, then those of the summaries, at length 1.
    """

    leaves: Ints
    vectors: Floats
    texts: tuple[str, ...]
    under: tuple[Ints, ...]


@dataclass(frozen=True, repr=False)
class SummaryTree(Checked):
    """Passages in clusters of about `size`, their summaries in clusters again, and so on (RAPTOR, Sarthi et al., 2024).

    The top level has at most `size` summaries. A summary's vector is the mean of the `central` most central vectors of
    its cluster, and its text is their first sentences; WrittenSummaryTree has a language model write it. `seed`: of the
    clusters. A tree is made once for a snapshot, and again after a
    failure of the language model.

    Unlike the paper's, clusters come from k-means (see `clusters`), not from Gaussian mixtures after UMAP, which need
    two large packages; a passage is in one cluster of a level; and their number follows from `size`, not from the
    Bayesian information criterion.
    """

    passages: VectorIndex
    size: Annotated[int, AtLeast(2)] = 10
    central: Annotated[int, AtLeast(1)] = 3
    seed: int = 0

    def of(self, run: Run, graph: Graph) -> Tree:
        """Return the tree of a graph's snapshot, made at the first call."""
        columns = graph.columns
        return _trees.get(
            columns, (self, run.prompts), lambda: self._build(run, columns), lambda _: not run.faults.cut_short
        )

    def _build(self, run: Run, columns: Columns) -> Tree:
        graph, (leaves, rows) = Graph(columns), self.passages.rows_of(self.passages.ids)
        level = normalised(np.asarray(self.passages.vectors[rows], np.float32))
        texts = [lead(graph, int(node)) for node in leaves]
        lines = self._passage_lines(graph, leaves)
        level_under = [np.array([at]) for at in range(len(leaves))]
        vectors, summaries, under = [level], list[str](), list[Ints]()
        while len(level) > self.size:
            parts = clusters(level, self.size, self.seed)
            if len(parts) == len(level):
                break
            texts, level = self._summaries(run, parts, level, texts, lines)
            lines = [data_line({"summary": text}) for text in texts]
            level_under = [np.sort(np.concatenate([level_under[at] for at in part])) for part in parts]
            vectors, summaries, under = [*vectors, level], [*summaries, *texts], [*under, *level_under]
        run.note(f"{len(under)} summaries were made of {len(leaves)} passages")
        return Tree(leaves, np.concatenate(vectors), tuple(summaries), tuple(under))

    def _summaries(
        self, run: Run, parts: list[Ints], vectors: Floats, texts: list[str], lines: list[str]
    ) -> tuple[list[str], Floats]:
        gists = [(part[best], vector) for part in parts for best, vector in [central(vectors[part], self.central)]]
        gist_texts = ["\n".join(texts[at].partition("\n")[0] for at in best.tolist()) for best, _ in gists]
        return self._texts(run, parts, lines, gist_texts, np.stack([vector for _, vector in gists]))

    def _texts(
        self, run: Run, parts: list[Ints], lines: list[str], gist_texts: list[str], vectors: Floats
    ) -> tuple[list[str], Floats]:
        """Return the texts and the vectors of the summaries of clusters, given the lines of all members."""
        return gist_texts, vectors

    def _passage_lines(self, graph: Graph, leaves: Ints) -> list[str]:
        """Return the line of each passage in a prompt; none without a language model."""
        return []


@dataclass(frozen=True, repr=False)
class WrittenSummaryTree(SummaryTree):
    """A SummaryTree whose summaries a language model writes, encoded by the encoder of `passages`.

    There is one call for each summary, when the tree is first searched, counted in that step of the trace. After an
    empty or unusable reply the summary consists of first sentences, with a note.
    """

    model: Annotated[LLM, Has("a language model", "complete")] = field(kw_only=True)

    def _texts(
        self, run: Run, parts: list[Ints], lines: list[str], gist_texts: list[str], vectors: Floats
    ) -> tuple[list[str], Floats]:
        if self.passages.encoder is None:
            return gist_texts, vectors

        def write(child: Run, at: int) -> str:
            cluster_lines = "\n".join(lines[i] for i in parts[at].tolist())
            return _write_summary(child, self.model, "cluster", cluster_lines, gist_texts[at])

        written = for_each(run, write, range(len(parts)))
        return written, normalised(run.encode(self.passages.encoder, written))

    def _passage_lines(self, graph: Graph, leaves: Ints) -> list[str]:
        return [_passage_line(graph, int(node)) for node in leaves]


@dataclass(frozen=True, repr=False)
class TreeSearch(Ranker):
    """Rank passages by the collapsed tree: leaves and summaries together, by cosine with the question (RAPTOR).

    A leaf gives an item of its passage; a summary gives an item of the `per_summary` passages under it that are nearest
    to the question. A passage is assigned only to its best item.
    """

    tree: SummaryTree
    per_summary: Annotated[int, AtLeast(1)] = 1
    scale = "cosine similarity of the vectors of question and text, from -1 to 1"

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        tree = self.tree.of(run, state.graph)
        node_scores = (tree.vectors @ self.tree.passages.encode(state.question.text, run)).astype(np.float64)
        return state.with_(evidence=first_items(self._items(tree, node_scores, state.graph), k))

    def _items(self, tree: Tree, scores: Scores, graph: Graph) -> Iterator[tuple[Ints, float]]:
        """Yield the passages of each leaf and summary, with its score, best first."""
        inside = graph.holds(tree.leaves)
        used = ~inside
        for at in top(scores, len(scores)).tolist():
            under = np.array([at]) if at < len(tree.leaves) else tree.under[at - len(tree.leaves)]
            under = under[inside[under]]
            best = under[top(scores[under], self.per_summary)]
            best = np.sort(best[~used[best]])
            used[best] = True
            yield tree.leaves[best], float(scores[at])


def first_items(items: Iterable[tuple[Ints, float]], k: int | None) -> Evidence:
    """Return the k best of items of nodes, given best first; reading stops after the k best and their ties."""
    best: list[Item] = []
    scores: list[float] = []
    for nodes, score in items:
        if k is not None and len(scores) >= k and score < scores[k - 1]:
            break
        if len(nodes):
            kind = ItemKind.NODE if len(nodes) == 1 else ItemKind.TREE
            best.append(Item(kind, tuple(nodes.tolist()), ()))
            scores.append(score)
    return Evidence.of_items(best, scores).top(k)


_gists: SnapshotCache[tuple[Ints, list[Gist], Floats]] = SnapshotCache()
_written: SnapshotCache[_Written] = SnapshotCache()
_trees: SnapshotCache[Tree] = SnapshotCache()
