"""Rerank items: by a model's score, smoothed over the graph; in two hops; or by a language model's choice."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between, Has, MoreThan
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph, Kind
from graphwright.kernels.messages import smooth
from graphwright.kernels.ranking import rank_items
from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.rerank.scorer import ModelOf, Scorer, ranked_by, score_function
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line, numbered_lines

SCORES_ITEMS = ModelOf(Encoder, CrossEncoder, Scorer)


def best_by(ranker: Operator, items: Evidence, state: State, run: Run, k: int) -> Evidence:
    """Return the k best items by an operator that ranks evidence, scored; its notes become those of the run."""
    after = ranker.execute(state.with_(evidence=items, trace=()), run, k)
    run.notes += [note for step in after.trace for note in step.notes]
    best = (after.evidence or Evidence.of_nodes([], [])).top(k)
    return best.take(range(len(best)), best.ranked_scores) if best.scores is None else best


class Reranker(Ranker):
    """Base of operators that make evidence of the items of the evidence; without items the result is empty."""

    needs = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        items = state.items
        ranking = self.rerank(items, state, run, k) if len(items) else Evidence.of_nodes([], [])
        return state.with_(evidence=ranking.top(k))

    @abstractmethod
    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        """Return the new items in order, at least the k best (all, if None)."""


@dataclass(frozen=True, repr=False)
class Rerank(Reranker):
    """Rank nodes, triples, paths or trees by a model's score of their texts (FastInsight, Definition 4).

    `model`: an Encoder, for the cosine of the vectors of question and text; a CrossEncoder, for the head of its
    latents, also where it is both; or a Scorer. With `% k` this is the node, edge, triple and path pruning of
    LEGO-GraphRAG and the triple selection of ReG. Items with equal texts have the same score, read once.

    >>> from graphwright import Graph, start; from graphwright.models import OverlapCrossEncoder
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> (Rerank(OverlapCrossEncoder()) % 1)(state).evidence.texts(graph)
    ['Lyon lies on Rhône']
    """

    model: Annotated[Encoder | CrossEncoder | Scorer, SCORES_ITEMS]

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        return ranked_by(items, score_function(self.model, state, run)(items), k)


@dataclass(frozen=True, repr=False)
class GRanker(Reranker):
    """Rerank nodes by a cross-encoder whose latents are smoothed over the graph (FastInsight, Algorithm 2).

        H = latents(q, texts),  W = A D⁻¹,  P = diag(W 1)⁻¹ W,  H' = (1 - α) H + α P H,  S = head(H')

    A joins retrieved nodes that are neighbours; D holds their degrees in the whole snapshot, so that a neighbour with
    many neighbours counts less. A node without a retrieved neighbour keeps its own latent. `alpha` is α, 0 (the
    cross-encoder alone) to 1 (neighbours alone). Ranks the nodes of the evidence, both ends of a triple.

    >>> from graphwright import Graph, start; from graphwright.models import OverlapCrossEncoder
    >>> graph = Graph.from_triples([("red fox", "r", "den"), ("hen", "r", "barn")])
    >>> state = start("red fox", graph, evidence=Evidence.of_nodes([2, 1, 0]))
    >>> graph.names.take(GRanker(OverlapCrossEncoder())(state).evidence.nodes)
    ['red fox', 'den', 'hen']
    """

    cross_encoder: Annotated[CrossEncoder, Has("a cross-encoder, with latents and head", "latents", "head")]
    alpha: Annotated[float, Between(0, 1)] = 0.2

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        nodes = np.array(list(state.node_scores()), np.int64)
        texts = [state.graph.reading(node) for node in nodes.tolist()]
        latents = run.latents(self.cross_encoder, state.question.text, texts)
        smoothed = smooth(*state.graph.columns.adjacency, nodes, latents, self.alpha)
        return Evidence.of_nodes(nodes, self.cross_encoder.head(smoothed), items.steps_to(nodes))


_HUB_NEIGHBOURS = 100  # a node with more is a hub
_NAME_CHARACTERS = 300  # of the names added to a question: as many as a small model reads well


@dataclass(frozen=True, repr=False)
class MultiHopRerank(Reranker):
    """Rank items in two hops: by the question, and by the question with the names of the best items added.

    The second passage of a two-hop chain shares few words with the question; the connecting entity is named in the
    first passage. So all items are scored with the question q, and again with q and the names that the graph joins with
    each of the `contexts` best items s and that q lacks:

        p(t | q) = softmax_t(m(q, t) / temperature)
        score(t) = p(t | q) + Σ_s p(s | q) · p(t | q + names of s),   t ≠ s,

    the expected visits to t of a random walk of two steps; an item that adds no name has no second step. m is the score
    of `model` (see Rerank), and `temperature` is in its units: 0.5 fits the embedded cross-encoder, 0.05 cosines. Names
    come from `state.graph` only; those in the item's text first.

    Ours. Adding retrieved text to the question is from multi-hop dense retrieval (Xiong et al., 2021, with whole
    passages), scoring chains by a reader from Beam Retrieval (Zhang et al., 2024, with training).

    >>> from graphwright import start; from graphwright.models import OverlapCrossEncoder
    >>> kin = Graph.from_triples([("Ida", "wife of", "Udo"), ("Ugo", "lived in", "Lyon"), ("Udo", "lived in", "Graz")])
    >>> state = start("Where did the husband of Ida live?", kin, evidence=Evidence.of_edges([0, 1, 2]))
    >>> MultiHopRerank(OverlapCrossEncoder(), temperature=0.1)(state).evidence.texts(kin)
    ['Ida wife of Udo', 'Udo lived in Graz', 'Ugo lived in Lyon']
    """

    model: Annotated[Encoder | CrossEncoder | Scorer, SCORES_ITEMS]
    contexts: Annotated[int, AtLeast(0)] = 3
    temperature: Annotated[float, MoreThan(0)] = 0.5

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        scores = score_function(self.model, state, run)(items)
        first = self._softmax(scores)
        totals = first.copy()
        best = rank_items(scores, items.nodes, items.node_ptr, items.edges, items.edge_ptr)[: self.contexts]
        for context in best.tolist():
            names = _new_names(state, items.take([context]))
            if names:
                question = replace(state.question, text=f"{state.question.text} {' '.join(names)}")
                scores = score_function(self.model, state.with_(question=question), run)(items)
                others = np.delete(np.arange(len(items)), context)
                totals[others] += first[context] * self._softmax(scores[others])
                run.note(f"read again with {', '.join(names)}")
        return ranked_by(items, totals, k)

    def _softmax(self, scores: Scores) -> Scores:
        """Return the softmax of the scores; zeros where no score is finite."""
        largest = scores.max(initial=-np.inf)
        if not np.isfinite(largest):
            return np.zeros(len(scores))
        powers = np.exp((scores - largest) / self.temperature)
        shares: Scores = powers / powers.sum()
        return shares


def _new_names(state: State, item: Evidence) -> list[str]:
    """Return the names joined with an item in the graph that the question lacks, in the order of the item's text."""
    graph = state.graph
    nodes = item.nodes if len(item.nodes) else graph.ends(item.edges)
    neighbours = [_neighbours(graph, position) for position in graph.local(nodes).tolist()]
    question, text = state.question.text.casefold(), item.texts(graph)[0].casefold()
    names: dict[str, str] = {}
    for name in sorted(_names(graph, np.concatenate((nodes, *neighbours)))):
        names.setdefault(name.casefold(), name)
    places = {folded: _place(folded, text) for folded in names if folded and _place(folded, question) < 0}
    selected: list[str] = []
    for folded in sorted(places, key=lambda folded: (places[folded] < 0, places[folded], folded)):
        if sum(map(len, selected)) + len(folded) <= _NAME_CHARACTERS:
            selected.append(names[folded])
    return selected


def _neighbours(graph: Graph, position: int) -> Ints:
    """Return the neighbours of the node at a position: all of a passage, none of any other hub."""
    neighbours = graph.at(graph.adjacency.row(position))
    passage = graph.columns.kinds[graph.at([position])[0]] == Kind.CHUNK
    return neighbours if passage or len(neighbours) <= _HUB_NEIGHBOURS else neighbours[:0]


def _names(graph: Graph, nodes: Ints) -> list[str]:
    """Return the names of nodes; that of a passage is its title, and may be empty."""
    passages = (graph.columns.kinds[nodes] == Kind.CHUNK).tolist()
    pairs = zip(nodes.tolist(), passages, strict=True)
    return [graph.title_of(node) if passage else graph.names[node] for node, passage in pairs]


def _place(name: str, text: str) -> int:
    """Return the position of a name in a text, as whole words; -1 if it is absent."""
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return -1 if match is None else match.start()


@dataclass(frozen=True, repr=False)
class Choose(Reranker):
    """Keep the items that a language model selects by number, in its order (LEGO-GraphRAG, 3.2.2 b and 3.3.2).

    A prompt shows `batch` texts and asks for at most k of them. The items selected from all prompts enter further
    prompts, until one prompt shows all of them, or at most k are left. The r-th item then scores 1/r. Unknown and
    repeated numbers, and those beyond k, are ignored with a note.

    `rounds`: in each further round (M-LLMs, section 5.3) the model is shown the items selected so far and asked for
    additions among all others, until there are k or it adds none; additions come last. To fill up by a scorer (EEMs-S):
    (Choose(llm) | Rerank(encoder)) % k.

    >>> from graphwright import Graph, start; from graphwright.models import ScriptedLLM
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> Choose(ScriptedLLM(['{"numbers": [2, 7]}']))(state).evidence.texts(graph)
    ['Lyon lies on Rhône']
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    batch: Annotated[int, AtLeast(2)] = 64
    rounds: Annotated[int, AtLeast(1)] = 1

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        texts, question = items.texts(state.graph), data_line({"question": state.question.text})
        limit, selected = len(items) if k is None else k, list[int]()
        for _ in range(self.rounds):
            others = sorted(set(range(len(items))).difference(selected))
            if not others or len(selected) >= limit:
                break
            values = {"question": question}
            if selected:
                values["selected"] = "\n".join(data_line({"text": texts[i]}) for i in selected)
            added = self._round(run, values, texts, others, limit - len(selected))
            selected += added
            if not added:
                break
        return items.take(selected, 1.0 / np.arange(1, len(selected) + 1))

    def _round(
        self, run: Run, values: dict[str, str], texts: Sequence[str], candidates: list[int], limit: int
    ) -> list[int]:
        """Let the model select among candidates until one prompt shows all of them, or at most `limit` remain."""
        while True:
            batches = [candidates[at : at + self.batch] for at in range(0, len(candidates), self.batch)]
            selected = [
                [batch[i] for i in self._selected(run, values, [texts[i] for i in batch], limit)] for batch in batches
            ]
            # The first of every batch, then the second of every batch, and so on.
            merged = [i for i in chain.from_iterable(zip_longest(*selected)) if i is not None]
            if len(batches) == 1 or len(merged) <= limit or len(merged) == len(candidates):
                return merged[:limit]
            candidates = merged

    def _selected(self, run: Run, values: dict[str, str], texts: Sequence[str], limit: int) -> list[int]:
        """Return the positions of the texts that one prompt selects, best first; the first without a usable reply."""
        prompt = "choose_again" if "selected" in values else "choose"
        reply = run.reply(
            self.model, prompt, **values, candidates=numbered_lines(texts), most=str(min(limit, len(texts)))
        )
        if reply is None:
            return list(range(min(limit, len(texts))))
        numbers = list(dict.fromkeys(number for number in reply.numbers if 1 <= number <= len(texts)))[:limit]
        ignored = len(reply.numbers) - len(numbers)
        if ignored:
            run.note(f"{ignored} of {len(reply.numbers)} selected numbers were ignored: unknown, repeated or too many")
        return [number - 1 for number in numbers]


def ratings_by(run: Run, model: LLM, prompt: str, question: str, texts: Sequence[str], listed: str) -> list[float]:
    """Return a model's ratings of texts, 0 to 1, 0 for none. `prompt`: its name; `listed`: its name for the texts."""
    reply = run.reply(model, prompt, question=data_line({"question": question}), **{listed: numbered_lines(texts)})
    ratings = [] if reply is None else reply.ratings
    known = {rating.number: min(max(rating.helpful, 0), 100) / 100 for rating in ratings}
    unknown = sum(not 1 <= rating.number <= len(texts) for rating in ratings)
    if unknown:
        run.note(f"{unknown} of {len(ratings)} ratings were ignored: there are {len(texts)} {listed}")
    return [known.get(number, 0.0) for number in range(1, len(texts) + 1)]


@dataclass(frozen=True, repr=False)
class ConstrainedDecoding(Reranker):
    """Select the items that a language model writes, constrained by a trie of all texts (GCR, Luo et al., 2025).

    The model sees the question and its entities, not the items, and can only write the text of an item. At most `items`
    are written, best first; the r-th scores 1/r, and items with one text share it. A server of llama.cpp takes a
    grammar that is made from the trie, one request for each item, without those written before. Any other model selects
    items by number, `batch` a prompt (see Choose), and the trace notes it.
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    items: Annotated[int, AtLeast(1)] = 10
    batch: Annotated[int, AtLeast(2)] = 64

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        items_of, most = dict[str, list[int]](), min(self.items, self.items if k is None else k)
        for number, text in enumerate(items.texts(state.graph)):
            items_of.setdefault(data_line(text), []).append(number)
        named = dict.fromkeys(anchor.text for anchor in state.anchors or ())
        question, entities = data_line({"question": state.question.text}), "\n".join(map(data_line, named))
        prompt = run.prompts.messages("decode", question=question, entities=entities or data_line("none"))
        texts = run.decode(self.model, prompt, list(items_of), most)
        if texts is None:
            return Choose(self.model, self.batch).rerank(items, state, run, most).top(most)
        numbers = [(number, 1.0 / rank) for rank, text in enumerate(texts, 1) for number in items_of[text]]
        return items.take([number for number, _ in numbers], np.array([score for _, score in numbers]))
