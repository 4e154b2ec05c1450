"""Reading on: what the best pieces name, asked together with the question."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph, Kind
from graphwright.kernels.pieces import rank_pieces
from graphwright.models.base import CrossEncoder, Encoder
from graphwright.retrieve.operator import Ranker, note
from graphwright.retrieve.scorer import Scorer, checked, judge_of, ranked_by
from graphwright.retrieve.state import State

__all__ = ["ReadOn"]

_NEIGHBOURS = 100  # of a node, that its names are looked for among
_CHARACTERS = 300  # of names that a question is asked with: what a small model reads well


@dataclass(frozen=True, repr=False)
class ReadOn(Ranker):
    """Rank pieces by what a model finds where it reads on: the question asked again with what the best pieces name.

    The second passage of a chain of two has little of the question, and what it has to do with it stands in the first.
    So all pieces are read with the question q, and again with q and the names that each of the `contexts` best pieces
    s, as far as the question does not hold them, is joined with in the graph:

        p(t | q) = softmax_t(m(q, t) / temperature)
        score(t) = p(t | q) + Σ_s p(s | q) · p(t | q + names of s),   t ≠ s,

    the visits to t of a walk of two steps that the model leads. m is the cosine of an Encoder, the head of a
    CrossEncoder's latents, or a Scorer; `temperature` is in its units (0.5 fits the embedded cross-encoder). A model
    reads (1 + `contexts`) times the pieces. Ours; the question prolonged by what was found is that of multi-hop dense
    retrieval (Xiong et al., 2021, there by whole passages), a search over chains by a reader that of Beam Retrieval
    (Zhang et al., 2024, there trained).

    >>> from graphwright.retrieve.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> kin = Graph.from_triples([("Ida", "wife of", "Udo"), ("Udo", "lived in", "Graz"), ("Ugo", "lived in", "Lyon")])
    >>> state = start("Where did the husband of Ida live?", kin, evidence=Evidence.of_edges([0, 1, 2]))
    >>> ReadOn(OverlapCrossEncoder(), temperature=0.1)(state).evidence.texts(kin)
    ['Ida wife of Udo', 'Udo lived in Graz', 'Ugo lived in Lyon']
    """

    model: Encoder | CrossEncoder | Scorer
    contexts: int = 3
    temperature: float = 0.5
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        checked(self.model, "ReadOn", (Scorer,))
        if isinstance(self.contexts, bool) or not isinstance(self.contexts, int) or self.contexts < 0:
            raise OptionError(f"ReadOn(contexts={self.contexts!r}): a whole number of pieces, 0 or more.")
        if not self.temperature > 0:
            raise OptionError(f"ReadOn(temperature={self.temperature!r}): a number above 0.")

    def ranked(self, state: State, k: int | None) -> State:
        """Rank the pieces of the evidence."""
        found = state.evidence
        if found is None or not len(found):
            return state.with_(evidence=Evidence.of_nodes([], []))
        first = self._shares(judge_of(self.model, state)(found))
        total = first.copy()
        best = rank_pieces(first, found.nodes, found.node_ptr, found.edges, found.edge_ptr)[: self.contexts]
        for at in best.tolist():
            names = _named(state, found.take([at]))
            if names and len(found) > 1:
                asked = replace(state.question, text=f"{state.question.text} {' '.join(names)}")
                scores = judge_of(self.model, state.with_(question=asked))(found)
                others = np.where(np.arange(len(found)) == at, -np.inf, scores)
                total += first[at] * self._shares(others)
                note(f"read on with {', '.join(names)}")
        return state.with_(evidence=ranked_by(found, total, k))

    def _shares(self, scores: Scores) -> Scores:
        """Return the softmax of the scores."""
        shares = np.exp((scores - scores.max()) / self.temperature)
        whole: Scores = shares / shares.sum()
        return whole


def _named(state: State, piece: Evidence) -> list[str]:
    """Return the names that a piece is joined with here and the question does not hold, in the order of its text."""
    graph = state.graph
    own = piece.nodes if len(piece.nodes) else graph.ends(piece.edges)
    rows = [graph.at(graph.adjacency.row(at)[:_NEIGHBOURS]) for at in graph.local(own).tolist()]
    asked, text = state.question.text.casefold(), piece.texts(graph)[0].casefold()
    names = {name.casefold(): name for name in _names(graph, np.concatenate((own, *rows))) if name}
    places = {low: text.find(low) for low in names if low not in asked}
    kept: list[str] = []
    for low in sorted(places, key=lambda low: (places[low] < 0, places[low], low)):
        if sum(map(len, kept)) + len(low) <= _CHARACTERS:
            kept.append(names[low])
    return kept


def _names(graph: Graph, nodes: Ints) -> list[str]:
    """Return the names of nodes; that of a passage is its title, and may be empty."""
    passages, kinds = graph.passages, graph.columns.kinds[nodes]
    named = zip(nodes.tolist(), (kinds == Kind.CHUNK).tolist(), strict=True)
    return [
        (passages.title_of(node) if passages is not None else "") if chunk else graph.names[node]
        for node, chunk in named
    ]
