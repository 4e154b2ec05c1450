"""Summaries of communities and clusters: their most central statements, or a language model's text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.index.clustering import Communities, communities, needs_igraph
from graphwright.index.snapshot import SnapshotCache
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.models.protocols import LLM, Floats, Usage
from graphwright.operators.operator import source_of
from graphwright.operators.run import Run
from graphwright.prompts.templates import data_line
from graphwright.text.sentences import sentence_spans

__all__ = ["Gist", "Summaries", "central", "for_each", "lead", "most_central", "passage_line", "summarised"]

_CALLS = 8  # at a time
_LOOKED_AT = 2_000  # statements of a community, so that the time is bounded
_ENTITIES, _RELATIONS, _PASSAGES = 30, 30, 5  # lines that a language model is shown
_CHARACTERS = 2_000  # of a passage that it is shown
_ALL = 1 << 31  # nothing that was written is forgotten

Asked = TypeVar("Asked")
Given = TypeVar("Given")


@dataclass(frozen=True, eq=False)
class Gist:
    """The most central of what is said of a group: statements by edge id, else passages by node id, and their vector.

    `vector: float32[dimension]` is the mean of theirs at length 1, zero where nothing that is said has a vector.
    """

    edges: Ints
    passages: Ints
    vector: Floats

    def text(self, graph: Graph) -> str:
        """Return the statements, of passages the first sentence of each."""
        said = [graph.edge_text(int(edge)) for edge in self.edges]
        return "\n".join(said or [lead(graph, int(node)) for node in self.passages])


@dataclass
class _Written:
    """What was written so far, by community."""

    lock: Lock = field(default_factory=Lock)
    texts: dict[int, str] = field(default_factory=dict)
    took: dict[int, Usage] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Summaries:
    """Summaries of the communities of entities (GraphRAG, Edge et al., 2024), each made once for a snapshot.

    The gist of a community is the `statements` most central of what its edges state, by their vectors in `triples`;
    where these have none, of the passages that name its members, by `passages`. That is its summary too, unless there
    is a `model`: a language model is shown its members, statements and most central passages, and writes one. It is
    asked when a summary is first needed, and what it took is counted in that step of the trace; an empty or unusable
    reply leaves the gist in its place, with a note. `largest`: as in `communities`, which says what extra is needed.
    """

    passages: VectorIndex
    triples: VectorIndex | None = None
    model: LLM | None = None
    statements: int = 5
    largest: int = 10

    def __post_init__(self) -> None:
        if self.model is not None and not isinstance(self.model, LLM):
            raise OptionError(f"Summaries(model={self.model!r}): give a language model, or None to do without one.")
        if self.statements < 1:
            raise OptionError(f"Summaries(statements={self.statements!r}): a number of statements, 1 or more.")
        needs_igraph(self)

    def __repr__(self) -> str:
        return source_of(self)

    def communities(self, graph: Graph) -> Communities:
        """Return the communities of a graph's snapshot."""
        return communities(graph, self.largest)

    def gists(self, graph: Graph, level: int) -> tuple[Ints, list[Gist], Floats]:
        """Return the communities of a level, the gist of each, and their vectors: float32[c, dimension]."""
        columns, groups = graph.columns, self.communities(graph)
        # The model has no part in them, so that whoever writes, they are made once.
        key = self.passages, self.triples, self.statements, self.largest, level

        def make() -> tuple[Ints, list[Gist], Floats]:
            ids, whole = groups.at(level), Graph(columns)
            gists = [self._gist(whole, groups.members.row(at).astype(np.int64)) for at in ids.tolist()]
            vectors = [np.empty((0, self.passages.dimension), np.float32), *(gist.vector[None] for gist in gists)]
            return ids, gists, np.concatenate(vectors)

        return _gists.get(columns, key, make)

    def texts(self, run: Run, graph: Graph, level: int, wanted: Sequence[int]) -> list[str]:
        """Return the summaries of some communities of a level, in the order asked for."""
        ids, gists, _ = self.gists(graph, level)
        told = {at: gists[int(np.searchsorted(ids, at))].text(graph) for at in wanted}
        model = self.model
        if model is None:
            return [told[at] for at in wanted]
        kept = _written.get(graph.columns, self, _Written)
        with kept.lock:  # whoever wants the same one waits, and does not pay for it again
            new = [at for at in told if at not in kept.texts]

            def write(at: int) -> Run:
                child = run.child()
                kept.texts[at] = summarised(child, model, "community", self._lines(graph, at), told[at])
                return child

            begun = time.perf_counter()
            for at, child in zip(new, for_each(write, new), strict=True):
                run.absorb(child)
                run.notes += child.notes
                kept.took[at] = replace(child.usage, saved=(time.perf_counter() - begun) / len(new))
            for computed in (True, False):
                costs = {("summary", self, at): kept.took[at] for at in told if (at in new) == computed}
                run.charge(costs, computed=computed)
        return [kept.texts[at] for at in wanted]

    def _gist(self, graph: Graph, members: Ints) -> Gist:
        edges = _inner(graph, members)
        if self.triples is not None:
            known, rows = self.triples.rows_of(edges)
            rows, first = np.unique(rows, return_index=True)
            if len(rows):
                best, vector = central(self.triples.vectors[rows[:_LOOKED_AT]], self.statements)
                return Gist(known[first][best], np.empty(0, np.int64), vector)
        known, rows = self.passages.rows_of(graph.chunks_of(members)[:_LOOKED_AT])
        best, vector = central(self.passages.vectors[rows], self.statements)
        return Gist(np.empty(0, np.int64), known[best], vector)

    def _lines(self, graph: Graph, at: int) -> str:
        """Return what a language model is shown of a community: the best connected of its members, and so on."""
        members = self.communities(graph).members.row(at).astype(np.int64)
        rows = graph.columns.adjacency
        joined = np.argsort(-(rows.indptr[members + 1] - rows.indptr[members]), kind="stable")
        lines: list[dict[str, str]] = [{"entity": graph.text(int(v))} for v in members[joined[:_ENTITIES]]]
        said = dict.fromkeys(graph.edge_text(int(edge)) for edge in _inner(graph, members)[:_LOOKED_AT])
        lines += [{"statement": text} for text in list(said)[:_RELATIONS]]
        known, row = self.passages.rows_of(graph.chunks_of(members)[:_LOOKED_AT])
        best = central(self.passages.vectors[row], _PASSAGES)[0]
        return "\n".join([data_line(line) for line in lines] + [passage_line(graph, int(v)) for v in known[best]])


def _inner(graph: Graph, members: Ints) -> Ints:
    """Return the edges between two members, ascending."""
    edges = np.sort(graph.columns.out.rows(members))
    return edges[np.isin(graph.columns.tails[edges], members)]


def central(vectors: Floats, k: int) -> tuple[Ints, Floats]:
    """Return the positions of the k most central vectors, and their mean at length 1; zero for none."""
    units = normalised(np.asarray(vectors, np.float32))
    if not len(units):
        return np.empty(0, np.int64), np.zeros(units.shape[1], np.float32)
    best, _ = most_central(units, units @ units.mean(axis=0), k)
    return best, normalised(units[best].mean(axis=0))


def lead(graph: Graph, node: int) -> str:
    """Return a passage's title and first sentence."""
    text, title = graph.passage(node), graph.title_of(node)
    first = next((text[start:end] for start, end in sentence_spans(text)), text)
    return f"{title}: {first}" if title else first


def passage_line(graph: Graph, node: int) -> str:
    """Return a passage as a line of data for a prompt."""
    return data_line({"title": graph.title_of(node), "text": graph.passage(node)[:_CHARACTERS]})


def summarised(run: Run, model: LLM, prompt: str, lines: str, instead: str) -> str:
    """Return what a language model writes about some lines of data, or `instead` where it writes nothing of use."""
    reply = run.reply(model, prompt, lines=lines)
    text: str = "" if reply is None else reply.summary.strip()
    if not text:
        run.note("the model wrote no summary; the most central statements stand for it")
    return text or instead


def for_each(work: Callable[[Asked], Given], items: Iterable[Asked]) -> list[Given]:
    """Do the work for each item, several at a time, and return the results in order; an error ends it."""
    with ThreadPoolExecutor(_CALLS) as pool:
        begun = [pool.submit(work, item) for item in items]
        try:
            return [one.result() for one in begun]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_gists: SnapshotCache[tuple[Ints, list[Gist], Floats]] = SnapshotCache()
_written: SnapshotCache[_Written] = SnapshotCache()


_WEIGHT = 0.7
_SAME = 0.9


def most_central(
    vectors: Floats, counts: Floats, k: int, group: Ints | None = None
) -> tuple[Ints, NDArray[np.float64]]:
    """Return the positions of the k best by maximal marginal relevance, and their values, which descend.

    The value of i is 0.7 · counts[i] / max(counts) - 0.3 · s, with s its largest cosine with one taken before; what
    says the same as that one (s of 0.9 or more) is not taken. `vectors`: unit rows, float32[n, d]. `group`: of those
    with equal numbers only one is taken.
    """
    value = _WEIGHT * counts.astype(np.float64) / max(float(counts.max(initial=0.0)), 1e-9)
    likeness = np.zeros(len(value))
    best: list[int] = []
    values: list[float] = []
    free = np.ones(len(value), bool)
    while len(best) < k and free.any():
        current = np.where(free, value - (1 - _WEIGHT) * likeness, -np.inf)
        at = int(current.argmax())
        best.append(at)
        values.append(float(current[at]))
        likeness = np.maximum(likeness, vectors @ vectors[at])
        free &= likeness < _SAME
        free &= np.arange(len(value)) != at if group is None else group != group[at]
    return np.array(best, np.int64), np.array(values)
