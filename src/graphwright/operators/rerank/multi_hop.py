"""Reading on: what the best pieces name, asked together with the question."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph, Kind
from graphwright.kernels.ranking import rank_items
from graphwright.models.protocols import CrossEncoder, Encoder
from graphwright.operators.operator import Ranker
from graphwright.operators.rerank.scorer import Scorer, checked, ranked_by, score_function
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["MultiHopRerank"]

_MANY = 100  # neighbours that make a hub
_CHARACTERS = 300  # of names that a question is asked with: what a small model reads well


@dataclass(frozen=True, repr=False)
class MultiHopRerank(Ranker):
    """Rank pieces by what a model finds where it reads on: the question asked again with what the best pieces name.

    The second passage of a chain of two has little of the question, and what it has to do with it stands in the first.
    So all pieces are read with the question q, and again with q and the names that each of the `contexts` best pieces
    s, as far as the question does not hold them, is joined with in the graph:

        p(t | q) = softmax_t(m(q, t) / temperature)
        score(t) = p(t | q) + Σ_s p(s | q) · p(t | q + names of s),   t ≠ s,

    the visits to t of a walk of two steps that the model leads; from a piece that names nothing new it does not go on.
    m is the head of a CrossEncoder's latents, the cosine of an Encoder, or a Scorer, and `temperature` is in its units:
    0.5 fits the embedded cross-encoder, cosines take 0.05. A model reads at most (1 + `contexts`) times the pieces.
    Names are those inside `state.graph`; those in the piece's text come first.

    Ours; the question prolonged by what was found is that of multi-hop dense retrieval (Xiong et al., 2021, there by
    whole passages), a search over chains by a reader that of Beam Retrieval (Zhang et al., 2024, there trained).

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> kin = Graph.from_triples([("Ida", "wife of", "Udo"), ("Ugo", "lived in", "Lyon"), ("Udo", "lived in", "Graz")])
    >>> state = start("Where did the husband of Ida live?", kin, evidence=Evidence.of_edges([0, 1, 2]))
    >>> MultiHopRerank(OverlapCrossEncoder(), temperature=0.1)(state).evidence.texts(kin)
    ['Ida wife of Udo', 'Udo lived in Graz', 'Ugo lived in Lyon']
    """

    model: Encoder | CrossEncoder | Scorer
    contexts: int = 3
    temperature: float = 0.5
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        checked(self.model, "MultiHopRerank", (Scorer,))
        if isinstance(self.contexts, bool) or not hasattr(self.contexts, "__index__") or self.contexts < 0:
            raise OptionError(f"MultiHopRerank(contexts={self.contexts!r}): a whole number of pieces, 0 or more.")
        said = self.temperature
        if isinstance(said, bool) or not isinstance(said, Real) or not 0 < said < float("inf"):
            raise OptionError(f"MultiHopRerank(temperature={said!r}): a number above 0.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the pieces of the evidence."""
        found = state.evidence
        if found is None or not len(found):
            return state.with_(evidence=Evidence.of_nodes([], []))
        scores = score_function(self.model, state, run)(found)
        first = self._shares(scores)
        total = first.copy()
        best = rank_items(scores, found.nodes, found.node_ptr, found.edges, found.edge_ptr)[: self.contexts]
        for at in best.tolist():
            names = _named(state, found.take([at]))
            if names:
                asked = replace(state.question, text=f"{state.question.text} {' '.join(names)}")
                others = np.delete(np.arange(len(found)), at)
                again = score_function(self.model, state.with_(question=asked), run)(found)
                total[others] += first[at] * self._shares(again[others])
                run.note(f"read on with {', '.join(names)}")
        return state.with_(evidence=ranked_by(found, total, k))

    def _shares(self, scores: Scores) -> Scores:
        """Return the softmax of the scores; zeros where no score is finite."""
        most = scores.max(initial=-np.inf)
        if not np.isfinite(most):
            return np.zeros(len(scores))
        shares = np.exp((scores - most) / self.temperature)
        whole: Scores = shares / shares.sum()
        return whole


def _named(state: State, piece: Evidence) -> list[str]:
    """Return the names that a piece is joined with here and the question does not hold, in the order of its text."""
    graph = state.graph
    own = piece.nodes if len(piece.nodes) else graph.ends(piece.edges)
    rows = [_neighbours(graph, at) for at in graph.local(own).tolist()]
    asked, text = state.question.text.casefold(), piece.texts(graph)[0].casefold()
    names: dict[str, str] = {}
    for name in sorted(_names(graph, np.concatenate((own, *rows)))):
        names.setdefault(name.casefold(), name)
    places = {low: _place(low, text) for low in names if low and _place(low, asked) < 0}
    kept: list[str] = []
    for low in sorted(places, key=lambda low: (places[low] < 0, places[low], low)):
        if sum(map(len, kept)) + len(low) <= _CHARACTERS:
            kept.append(names[low])
    return kept


def _neighbours(graph: Graph, at: int) -> Ints:
    """Return the neighbours of the node at a position; none of a hub, as so many say nothing, but all of a passage."""
    row = graph.at(graph.adjacency.row(at))
    passage = graph.columns.kinds[graph.at([at])[0]] == Kind.CHUNK
    return row if passage or len(row) <= _MANY else row[:0]


def _names(graph: Graph, nodes: Ints) -> list[str]:
    """Return the names of nodes; that of a passage is its title, and may be empty."""
    chunks = (graph.columns.kinds[nodes] == Kind.CHUNK).tolist()
    named = zip(nodes.tolist(), chunks, strict=True)
    return [graph.title_of(node) if chunk else graph.names[node] for node, chunk in named]


def _place(name: str, text: str) -> int:
    """Return where a name stands in a text as whole words, -1 if nowhere."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return -1 if found is None else found.start()
