"""A tree of passages and summaries of what lies together, searched as a whole (RAPTOR)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Columns, Graph
from graphwright.index.clustering import clusters
from graphwright.index.snapshot import SnapshotCache
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.kernels.ranking import top
from graphwright.models.protocols import LLM, Floats
from graphwright.operators.communities.summaries import central, for_each, lead, passage_line, summarised
from graphwright.operators.operator import Ranker, source_of
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line

__all__ = ["SummaryTree", "Tree", "TreeSearch"]


@dataclass(frozen=True, eq=False)
class Tree:
    """What was made of a snapshot's passages: `leaves: int64[n]`, and of each summary its text and the leaves under it.

    `vectors: float32[n + s, dimension]` are those of the leaves, then those of the summaries, at length 1; `under`
    holds positions in `leaves`, ascending.
    """

    leaves: Ints
    vectors: Floats
    texts: tuple[str, ...]
    under: tuple[Ints, ...]


@dataclass(frozen=True, repr=False)
class SummaryTree:
    """Passages in clusters of about `size`, their summaries in clusters again, and so on (RAPTOR, Sarthi et al., 2024).

    It ends where the summaries of a level are no more than `size`. A summary's vector is the mean of the `central` most
    central vectors one level below, and its text their first sentences; so it is without a language model, and no text
    is encoded. A `model` writes the summaries, which are then encoded by the encoder of `passages`: one call for each,
    several at a time, when the tree is first searched, counted in that step of the trace. An empty or unusable reply
    leaves the first kind of summary in its place, with a note. Either tree is made once for a snapshot.

    Three things differ from the paper. Clusters are found by k-means on the vectors themselves (see `clusters`), where
    it has Gaussian mixtures on a few dimensions made by UMAP, for which two large packages would be needed; the two
    steps, wide clusters and clusters in them, are the paper's. A passage is in one cluster of a level, not in several.
    And the number of clusters comes from `size`, not from the Bayesian information criterion.
    """

    passages: VectorIndex
    model: LLM | None = None
    size: int = 10
    central: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.model is not None and not isinstance(self.model, LLM):
            raise OptionError(f"SummaryTree(model={self.model!r}): give a language model, or None to do without one.")
        if self.size < 2 or self.central < 1:
            raise OptionError(f"{self!r}: a cluster has a size of 2 or more, and 1 vector or more is central to it.")

    def __repr__(self) -> str:
        return source_of(self)

    def of(self, run: Run, graph: Graph) -> Tree:
        """Return the tree of a graph's snapshot, made at the first call."""
        columns = graph.columns
        return _trees.get(columns, self, lambda: self._made(run, columns))

    def _made(self, run: Run, columns: Columns) -> Tree:
        graph, (leaves, rows) = Graph(columns), self.passages.rows_of(self.passages.ids)
        below = normalised(np.asarray(self.passages.vectors[rows], np.float32))
        texts = [lead(graph, int(node)) for node in leaves]
        lines = [passage_line(graph, int(node)) for node in leaves] if self.model is not None else texts
        under = [np.array([at]) for at in range(len(leaves))]
        vectors, told, held = [below], list[str](), list[Ints]()
        while len(below) > self.size:
            parts = clusters(below, self.size, self.seed)
            if len(parts) == len(below):
                break
            texts, below = self._summarised(run, parts, below, texts, lines)
            lines = [data_line({"summary": text}) for text in texts]
            under = [np.sort(np.concatenate([under[at] for at in part])) for part in parts]
            vectors, told, held = [*vectors, below], [*told, *texts], [*held, *under]
        run.note(f"{len(held)} summaries were made of {len(leaves)} passages")
        return Tree(leaves, np.concatenate(vectors), tuple(told), tuple(held))

    def _summarised(
        self, run: Run, parts: list[Ints], below: Floats, texts: list[str], lines: list[str]
    ) -> tuple[list[str], Floats]:
        """Return the summaries of one level, and their vectors."""
        gists = [(part[best], vector) for part in parts for best, vector in [central(below[part], self.central)]]
        said = ["\n".join(texts[at].partition("\n")[0] for at in best.tolist()) for best, _ in gists]
        found = np.stack([vector for _, vector in gists])
        model, encoder = self.model, self.passages.encoder
        if model is None or encoder is None:
            return said, found
        shown = ["\n".join(lines[at] for at in part.tolist()) for part in parts]
        written = for_each(lambda at: summarised(run, model, "cluster", shown[at], said[at]), range(len(parts)))
        return written, normalised(run.encode(encoder, written))


@dataclass(frozen=True, repr=False)
class TreeSearch(Ranker):
    """Passages by the collapsed tree: leaves and summaries together, by cosine with the question (RAPTOR).

    A piece is what one of them stands for, in the order of their cosines: a leaf for its passage; a summary for the
    `each` passages under it that are nearest to the question. A passage that a better one stood for is not given again.

    >>> from graphwright import HashEncoder, Index, start
    >>> import tempfile
    >>> index = Index.create(tempfile.mkdtemp() + "/index", encoder=HashEncoder())
    >>> _ = index.add([{"id": f"{n}", "text": f"Graz lies on the {n}."} for n in ("Mur", "Drava", "Rhine")])
    >>> search = TreeSearch(SummaryTree(index.snapshot.passages, size=2)) % 1
    >>> search(start("Which is the Drava?", index.graph)).evidence.texts(index.graph)
    ['Graz lies on the Drava.']
    """

    tree: SummaryTree
    each: int = 1
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if self.each < 1:
            raise OptionError(f"TreeSearch(each={self.each!r}): a number of passages, 1 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Go down the collapsed tree until there are k pieces."""
        tree = self.tree.of(run, state.graph)
        scores = (tree.vectors @ self.tree.passages.encode(state.question.text, run)).astype(np.float64)
        pieces: list[tuple[list[int], list[int]]] = []
        kept: list[float] = []
        for nodes, score in self._given(tree, scores, state.graph):
            if k is not None and len(kept) >= k and score < kept[k - 1]:
                break
            pieces.append((nodes, []))
            kept.append(score)
        found = Evidence.of_pieces(pieces, kept)
        return state.with_(evidence=found if k is None else found.top(k))

    def _given(self, tree: Tree, scores: Scores, graph: Graph) -> Iterator[tuple[list[int], float]]:
        """Yield what each leaf and summary stands for, with its score, the best first."""
        held = graph.holds(tree.leaves)
        given = ~held
        for at in top(scores, len(scores)).tolist():
            under = np.array([at]) if at < len(tree.leaves) else tree.under[at - len(tree.leaves)]
            under = under[held[under]]
            best = under[top(scores[under], self.each)]
            best = np.sort(best[~given[best]])
            if len(best):
                given[best] = True
                yield tree.leaves[best].tolist(), float(scores[at])


_trees: SnapshotCache[Tree] = SnapshotCache()
