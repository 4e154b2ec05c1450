"""Reranking of evidence: by a model, by BM25, over several hops, or by a language model's choice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from numbers import Real

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph, Kind
from graphwright.index.word_index import WordIndex
from graphwright.kernels.ranking import rank_items
from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.operator import Ranker
from graphwright.operators.rerank.scorer import ScoreFunction, Scorer, checked, ranked_by, score_function
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line

__all__ = ["BM25", "Choose", "MultiHopRerank", "Rerank"]


@dataclass(frozen=True, repr=False)
class Rerank(Ranker):
    """Rank nodes, triples, paths or trees by how well a model finds their texts to fit the question.

    `model`: an Encoder, for the cosine of the vectors of question and text, or a CrossEncoder, for the head of
    its latents; one that is both is used as a CrossEncoder; or a Scorer, such as Composed, which knows the vectors of
    what pieces are made of and reads next to nothing. Model-based search in FastInsight (Definition 4);
    with `% k` the node, edge, triple and path pruning of LEGO-GraphRAG and the triple selection of ReG.
    Pieces of one text have one score, and it is read once.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> (Rerank(OverlapCrossEncoder()) % 1)(state).evidence.texts(graph)
    ['Lyon lies on Rhône']
    """

    model: Encoder | CrossEncoder | Scorer
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        checked(self.model, "Rerank", (Scorer,))

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the pieces of the evidence."""
        found = state.evidence
        if found is None or not len(found):
            return state.with_(evidence=Evidence.of_nodes([], []))
        return state.with_(evidence=ranked_by(found, score_function(self.model, state, run)(found), k))


@dataclass(frozen=True, repr=False)
class BM25(Scorer):
    """Score items by BM25 over the words of their texts (LEGO-GraphRAG, section 3.2.2 a.1).

    The statistical model of the paper's study. The texts that are scored together are the corpus in which words are
    counted (see WordIndex for the formula), so that a word of all of them, such as the name that they begin with, does
    not distinguish any. Rerank scores all items of the evidence together, BeamSearch all paths of one length from one
    query entity.

    >>> from graphwright.graph.graph import Graph; from graphwright.operators.state import start
    >>> heat = Graph.from_triples([("Heat", "directed by", "Mann"), ("Heat", "starred", "Pacino")])
    >>> score = BM25().prepare(start("Who directed Heat?", heat), Run())
    >>> score(Evidence.of_edges([0, 1])).round(2).tolist()
    [0.44, 0.12]
    """

    @property
    def id(self) -> str:
        """Name of the model."""
        return "bm25"

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the BM25 score of the question in each item's text."""

        def scores(items: Evidence) -> Scores:
            texts = items.texts(state.graph)
            row = {text: at for at, text in enumerate(dict.fromkeys(texts))}
            run.usage.texts += len(row)
            values = WordIndex.of(list(row), np.arange(len(row))).scores(state.question.text)
            return values.astype(np.float64)[[row[text] for text in texts]]

        return scores


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


@dataclass(frozen=True, repr=False)
class Choose(Ranker):
    """Keep the pieces that a language model chooses by their numbers, in the order in which it names them.

    The LLM's part in the pruning and in the path selection of LEGO-GraphRAG (sections 3.2.2 b and 3.3.2). It is shown
    `batch` texts a call and asked for at most k of each call's; those it chose meet in further calls until one call
    shows all of them, or no more than k are left. Then the r-th has the score 1/r. A number that is not there or was
    named before is passed over, with a note in the trace, as are numbers beyond k.

    `rounds`: in each further one (M-LLMs, section 5.3) the LLM is shown what it kept and asked what to add from all
    that it passed over, until there are k or it adds nothing; what it adds comes after what was kept. Where it leaves
    fewer than k, a scorer's best can fill up (EEMs-S): (Choose(llm) | Rerank(encoder)) % k.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import ScriptedLLM
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> Choose(ScriptedLLM(['{"numbers": [2, 7]}']))(state).evidence.texts(graph)
    ['Lyon lies on Rhône']
    """

    model: LLM
    batch: int = 64
    rounds: int = 1
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.model, LLM):
            raise OptionError(f"Choose({self.model!r}): a language model is needed, with complete.")
        if isinstance(self.batch, bool) or not hasattr(self.batch, "__index__") or self.batch < 2:
            raise OptionError(f"Choose(batch={self.batch!r}): how many texts a call shows, 2 or more.")
        if isinstance(self.rounds, bool) or not hasattr(self.rounds, "__index__") or self.rounds < 1:
            raise OptionError(f"Choose(rounds={self.rounds!r}): how often the model is asked to choose, 1 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Let the model choose, round by round."""
        found = state.evidence
        if found is None or not len(found):
            return state.with_(evidence=Evidence.of_nodes([], []))
        texts, question = found.texts(state.graph), data_line({"question": state.question.text})
        most, kept = len(found) if k is None else k, list[int]()
        for _ in range(self.rounds):
            left = sorted(set(range(len(found))).difference(kept))
            added = self._round(run, question, texts, kept, left, most - len(kept)) if left and len(kept) < most else []
            kept += added
            if not added:
                break
        return state.with_(evidence=found.take(kept, 1.0 / np.arange(1, len(kept) + 1)))

    def _round(
        self, run: Run, question: str, texts: Sequence[str], kept: list[int], left: list[int], most: int
    ) -> list[int]:
        """Let the model choose from what is left until one call, or no more than `most`, remain."""
        shown = "\n".join(data_line({"text": texts[i]}) for i in kept)
        while True:
            calls = [left[at : at + self.batch] for at in range(0, len(left), self.batch)]
            asked = {"question": question} | ({"kept": shown} if kept else {})
            chosen = [[call[i] for i in self._chosen(run, asked, [texts[i] for i in call], most)] for call in calls]
            # The first of every call, then the second of every call, and so on.
            merged = [i for i in chain.from_iterable(zip_longest(*chosen)) if i is not None]
            if len(calls) == 1 or len(merged) <= most or len(merged) == len(left):
                return merged[:most]
            left = merged

    def _chosen(self, run: Run, asked: dict[str, str], texts: Sequence[str], most: int) -> list[int]:
        """Ask once; return positions in `texts`, best first."""
        lines = "\n".join(data_line({"number": n, "text": text}) for n, text in enumerate(texts, 1))
        name = "choose_again" if "kept" in asked else "choose"
        reply = run.reply(self.model, name, **asked, candidates=lines, most=str(min(most, len(texts))))
        numbers = range(1, len(texts) + 1) if reply is None else reply.numbers
        known = list(dict.fromkeys(n for n in numbers if 1 <= n <= len(texts)))[:most]
        if len(known) < len(numbers):
            run.note(
                f"{len(numbers) - len(known)} of {len(numbers)} numbers chosen were passed over: not there, or too many"
            )
        return [n - 1 for n in known]
