"""A tree of passages and summaries of their clusters, searched as a whole (RAPTOR)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Checked, Has
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Columns, Graph
from graphwright.index.clustering import clusters
from graphwright.index.snapshot import SnapshotCache
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.kernels.ranking import top
from graphwright.models.protocols import LLM, Floats
from graphwright.operators.communities.summaries import central, for_each, lead, passage_line, write_summary
from graphwright.operators.operator import Ranker, source_of
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line

__all__ = ["SummaryTree", "Tree", "TreeSearch"]


@dataclass(frozen=True, eq=False)
class Tree:
    """The tree of a snapshot: its passages, `leaves: int64[n]`, and the text of each summary and the leaves under it.

    `vectors: float32[n + s, dimension]` are those of the leaves, then those of the summaries, at length 1; `under` are
    positions in `leaves`, ascending.
    """

    leaves: Ints
    vectors: Floats
    texts: tuple[str, ...]
    under: tuple[Ints, ...]


@dataclass(frozen=True, repr=False)
class SummaryTree(Checked):
    """Passages in clusters of about `size`, their summaries in clusters again, and so on (RAPTOR, Sarthi et al., 2024).

    The top level is the first of at most `size` summaries. A summary's vector is the mean of the `central` most central
    vectors of its cluster, and its text is their first sentences, so that without a language model no text is encoded.
    A `model` writes the summaries, which are then encoded by the encoder of `passages`: one call for each, several at a
    time, when the tree is first searched, counted in that step of the trace. After an empty or unusable reply the
    summary consists of first sentences, with a note. `seed`: of the clusters. A tree is made once for a snapshot.

    Three things differ from the paper. Clusters are those of k-means on the vectors (see `clusters`), not of Gaussian
    mixtures on a few dimensions made by UMAP, for which two large packages would be needed; the two steps, wide
    clusters and clusters in them, are the paper's. A passage is in one cluster of a level, not in several. And the
    number of clusters follows from `size`, not from the Bayesian information criterion.
    """

    passages: VectorIndex
    model: Annotated[LLM | None, Has("a language model or None", "complete")] = None
    size: Annotated[int, AtLeast(2)] = 10
    central: Annotated[int, AtLeast(1)] = 3
    seed: int = 0

    def __repr__(self) -> str:
        return source_of(self)

    def of(self, run: Run, graph: Graph) -> Tree:
        """Return the tree of a graph's snapshot, made at the first call."""
        columns = graph.columns
        return _trees.get(columns, self, lambda: self._build(run, columns))

    def _build(self, run: Run, columns: Columns) -> Tree:
        graph, (leaves, rows) = Graph(columns), self.passages.rows_of(self.passages.ids)
        level = normalised(np.asarray(self.passages.vectors[rows], np.float32))
        texts = [lead(graph, int(node)) for node in leaves]
        lines = [passage_line(graph, int(node)) for node in leaves] if self.model is not None else texts
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
        """Return the summaries of the clusters of one level, and their vectors."""
        gists = [(part[best], vector) for part in parts for best, vector in [central(vectors[part], self.central)]]
        gist_texts = ["\n".join(texts[at].partition("\n")[0] for at in best.tolist()) for best, _ in gists]
        model, encoder = self.model, self.passages.encoder
        if model is None or encoder is None:
            return gist_texts, np.stack([vector for _, vector in gists])

        def write(child: Run, at: int) -> str:
            cluster_lines = "\n".join(lines[i] for i in parts[at].tolist())
            return write_summary(child, model, "cluster", cluster_lines, gist_texts[at])

        written = for_each(run, write, range(len(parts)))
        return written, normalised(run.encode(encoder, written))


@dataclass(frozen=True, repr=False)
class TreeSearch(Ranker):
    """Rank passages by the collapsed tree: leaves and summaries together, by cosine with the question (RAPTOR).

    A leaf gives an item of its passage; a summary gives an item of the `per_summary` passages under it that are nearest
    to the question. A passage is assigned only to its best item.

    >>> import tempfile
    >>> from graphwright.index_folder import Index
    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> index = Index.create(tempfile.mkdtemp() + "/index", encoder=HashEncoder())
    >>> _ = index.add([{"id": f"{n}", "text": f"Graz lies on the {n}."} for n in ("Mur", "Drava", "Rhine")])
    >>> search = TreeSearch(SummaryTree(index.snapshot.passages, size=2)) % 1
    >>> search(start("Which is the Drava?", index.graph)).evidence.texts(index.graph)
    ['Graz lies on the Drava.']
    """

    tree: SummaryTree
    per_summary: Annotated[int, AtLeast(1)] = 1
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Read the collapsed tree in the order of scores, until there are k items."""
        tree = self.tree.of(run, state.graph)
        node_scores = (tree.vectors @ self.tree.passages.encode(state.question.text, run)).astype(np.float64)
        pieces: list[tuple[list[int], list[int]]] = []
        scores: list[float] = []
        for nodes, score in self._items(tree, node_scores, state.graph):
            if k is not None and len(scores) >= k and score < scores[k - 1]:
                break
            pieces.append((nodes, []))
            scores.append(score)
        evidence = Evidence.of_pieces(pieces, scores)
        return state.with_(evidence=evidence if k is None else evidence.top(k))

    def _items(self, tree: Tree, scores: Scores, graph: Graph) -> Iterator[tuple[list[int], float]]:
        """Yield the passages of each leaf and summary, with its score, best first."""
        inside = graph.holds(tree.leaves)
        used = ~inside
        for at in top(scores, len(scores)).tolist():
            under = np.array([at]) if at < len(tree.leaves) else tree.under[at - len(tree.leaves)]
            under = under[inside[under]]
            best = under[top(scores[under], self.per_summary)]
            best = np.sort(best[~used[best]])
            if len(best):
                used[best] = True
                yield tree.leaves[best].tolist(), float(scores[at])


_trees: SnapshotCache[Tree] = SnapshotCache()
