"""Search with the question in other words: respelt, condensed, expanded by feedback, HyDE or IRCoT."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence, Scores
from graphwright.graph.graph import Graph
from graphwright.kernels.ranking import top
from graphwright.models.protocols import LLM, Encoder
from graphwright.operators.operator import Composite, Operator, Ranker, top_of
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.run import Run
from graphwright.operators.search.search import nearest
from graphwright.operators.state import Anchor, State
from graphwright.prompts.templates import data_line
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.unknown_words import (
    ACRONYM,
    INITIALS_WEIGHTS,
    LIKELY,
    Context,
    as_written,
    is_plain_word,
    probability,
)
from graphwright.search.vector_index import VectorIndex, cosines
from graphwright.text.scripts import UNSPACED
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import IDENTIFIER, PIECE, identifiers, terms, words

WORD = re.compile(r"[^\W\d_]{2,}")
_TEXTS = 2_000  # passages that are searched for a phrase
_LINES = 3  # lines of a question that is not condensed
_LONG, _KEPT = 128, 40  # words of a question that is condensed, and of what is kept
_ROUNDS = 2
_MEANINGS = 3  # phrases that an acronym may stand for, all of which are searched
_SHARE = 0.3  # of the best line's weight, which a line that is kept reaches


@dataclass(frozen=True, repr=False)
class Reword(Operator):
    """Put the question into words that the index has, for all steps after it.

    A word that no passage has is replaced by the word that it is most probably misspelt for, and an acronym by the
    phrase that it most probably stands for, if the probability is at least 0.7 (see `search.unknown_words`), with up to
    two others about as probable. An identifier is replaced as a whole, else by its pieces. Of a question of more than
    three lines or 128 words, such as a pasted log, only the most informative words are kept (`condensed`). The trace
    notes every change.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("Kubernetes", "runs", "containers")])
    >>> Reword(WordIndex.of(["Kubernetes runs containers"], np.arange(1)))(start("What does Kuberntes run?", graph))
    State('What does Kubernetes run?': 2 nodes, 1 steps)
    """

    words: WordIndex

    def apply(self, state: State, run: Run) -> State:
        asked = state.question.text
        text = condensed(asked, self.words)
        if text != asked:
            run.note(f"the question was cut to its most informative words: {text}")
        for _ in range(_ROUNDS):  # a word that is corrected makes the next one surer
            changed = self._corrected(text, state, run)
            if changed == text:
                break
            text = changed
        return state if text == asked else state.with_(question=replace(state.question, text=text, asked=asked))

    def _corrected(self, text: str, state: State, run: Run) -> str:
        context = Context(self.words, text)

        def corrected(match: re.Match[str]) -> str:
            meaning = self._meaning(match.group(), context, state, run)
            if meaning:
                run.note(f"{match.group()!r} was read as {meaning!r}")
            return meaning or match.group()

        def piece(match: re.Match[str]) -> str:
            return corrected(match) if identifiers(match.group()) else match.group()

        def whole(match: re.Match[str]) -> str:
            if not identifiers(match.group()):
                return WORD.sub(corrected, match.group())
            meaning = corrected(match)
            return meaning if meaning != match.group() else PIECE.sub(piece, meaning)

        return IDENTIFIER.sub(whole, text)

    def _meaning(self, word: str, context: Context, state: State, run: Run) -> str:
        """Return what a word stands for, "" for itself."""
        form = identifiers(word)[:1] or words(word)
        if len(form) != 1 or self.words.frequency(form[0]) or UNSPACED.search(word):
            return ""
        near, spelt = context.spelt(form[0])
        phrase, stands_for = self._phrase(word, context, state)
        if max(spelt, stands_for) < LIKELY:
            return ""
        return phrase if stands_for >= spelt else self._written(near, state, not word[0].islower())

    def _phrase(self, word: str, context: Context, state: State) -> tuple[str, float]:
        """Return the phrase that an acronym stands for, with others about as probable, and the probability of them."""
        letters = word[:-1] if word.endswith("s") and word[:-1].isupper() else word
        if not letters.isalpha() or len(letters) not in ACRONYM or is_plain_word(letters, context.question):
            return "", 0.0
        rows = top(context.share, min(_TEXTS, len(context.share))).tolist()
        texts = [state.graph.passage(int(self.words.nodes[row])) for row in rows]
        phrases = context.phrases(letters, texts, rows)
        chances, distinct = probability(phrases, INITIALS_WEIGHTS), dict[tuple[str, ...], int]()
        for at in np.argsort(-chances, kind="stable").tolist():
            if chances[at] >= chances.max() / 2:
                distinct.setdefault(tuple(words(phrases[at].text)), at)
        meant = list(distinct.values())[:_MEANINGS]
        return " or ".join(phrases[at].text for at in meant), min(float(chances[meant].sum()), 1.0)

    def _written(self, word: str, state: State, capital: bool) -> str:
        rows, _ = self.words.postings(word)
        node = int(self.words.nodes[rows[0]])
        return as_written(word, f"{state.graph.title_of(node)} {state.graph.passage(node)}", capital)


def condensed(text: str, index: WordIndex) -> str:
    """Return a question of up to three lines and 128 words unchanged, of a longer one the most informative words.

    A line weighs as much as the terms that one passage shares with it: the idf of each in the index, times its idf
    among the lines of the question. Lines of up to 40 words in all are kept, and of them the words that the index has,
    in their order. One paragraph is cut by sentences.

    >>> index = WordIndex.of(["Reset the pump after E-17.", "The log has lines.", "Call us."], np.arange(3))
    >>> condensed("log line 1\\nlog line 2\\nlog line 3\\npump: E-17", index)
    'pump: E-17'
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) <= _LINES:
        if len(text.split()) <= _LONG:
            return text
        lines = [text[start:end] for start, end in sentence_spans(text)]
    lines = [part for line in dict.fromkeys(lines) for part in _pieces(line)]
    weights = _weights(lines, index)

    def known(word: str) -> bool:
        return any(map(index.frequency, terms(word)))

    kept: list[int] = []
    room = _KEPT
    for at in np.argsort(-weights, kind="stable").tolist():
        size = len(lines[at].split())
        if size <= room and (not kept or weights[at] >= _SHARE * weights[kept[0]] > 0):
            kept.append(at)
            room -= size
    found = dict.fromkeys(word for at in sorted(kept) for word in lines[at].split() if known(word))
    return " ".join(found) or text[: _LONG * 8]


def _pieces(line: str) -> list[str]:
    parts = line.split()
    return [" ".join(parts[at : at + _KEPT]) for at in range(0, len(parts), _KEPT)] if len(parts) > _KEPT else [line]


def _weights(lines: list[str], index: WordIndex) -> Scores:
    found = [list(dict.fromkeys(terms(line))) for line in lines]
    counts = Counter(term for line in found for term in line)
    postings = {term: index.postings(term)[0] for term in counts}
    best = np.zeros(len(lines))
    for at, line in enumerate(found):
        known = [term for term in line if len(postings[term])]
        if known:
            own = [index.rarity(len(postings[term])) * np.log1p(len(lines) / counts[term] - 1) for term in known]
            rows, position = np.unique(np.concatenate([postings[term] for term in known]), return_inverse=True)
            weights = np.repeat(own, [len(postings[term]) for term in known])
            best[at] = np.bincount(position, weights, len(rows)).max()
    return best


@dataclass(frozen=True, repr=False)
class Feedback(Reranker):
    """Search with the question's vector moved towards the evidence: pseudo-relevance feedback (Rocchio, 1971).

        q' = (q + β · mean of v_d over the nodes d of the evidence) / (1 + β)

    The evidence is taken as relevant, so cut it to a few items before. Nodes without a vector are ignored.
    """

    index: VectorIndex
    beta: Annotated[float, AtLeast(0)] = 0.75

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        nodes = np.array(list(state.node_scores()), np.int64)
        query, known = self.index.encode(state.question.text, run), nodes[self.index.has(nodes)]
        if len(known):
            query = (query + np.float32(self.beta) * self.index.of(known).mean(axis=0)) / np.float32(1 + self.beta)
        return nearest(self.index, query, state, k)


@dataclass(frozen=True, repr=False)
class HypotheticalPassage(Ranker):
    """Search with a passage that a language model writes for the question, true or not (HyDE, Gao et al., 2023).

    The query is the mean of the vectors of the passage and the question (N = 1 in the paper). If the model writes
    nothing, the question alone is used, and the trace notes it. Feedback needs no model.
    """

    index: VectorIndex
    model: Annotated[LLM, Has("a language model", "complete")]
    gives = ("evidence",)
    scale = "cosine similarity of the vectors of question and text, from -1 to 1"

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        reply = run.reply(self.model, "hypothetical_passage", question=data_line({"question": state.question.text}))
        passage = "" if reply is None else reply.passage.strip()
        query = self.index.encode(state.question.text, run)
        if passage:
            query = (query + self.index.encode(passage, run)) / np.float32(2)
        else:
            run.note("the model wrote no passage; the question alone is used")
        return state.with_(evidence=nearest(self.index, query, state, k))


_PASSAGE_CHARACTERS = 2_000  # of a passage in a prompt


def _thoughts(state: State) -> list[str]:
    return [anchor.text for anchor in state.anchors or () if anchor.kind == "thought"]


@dataclass(frozen=True)
class HasThoughts:
    """Holds once the state has this many thoughts, for Repeat."""

    count: int

    def __call__(self, state: State) -> bool:
        return len(_thoughts(state)) >= self.count


class _Thinking(Operator):
    """Adds the next thought to the anchors, given the best passages; none if nothing was retrieved, or at the end."""

    passages: int
    needs = ("evidence",)
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        anchors, nodes = state.anchors or (), list(state.node_scores())[: self.passages]
        thought = self.thought(state, run, nodes) if nodes else ""
        if not thought:
            run.note("no further thought")
            return state.with_(anchors=anchors)
        return state.with_(anchors=(*anchors, Anchor(thought, kind="thought")))

    @abstractmethod
    def thought(self, state: State, run: Run, nodes: list[int]) -> str:
        """Return the next thought, "" if there is none."""


@dataclass(frozen=True, repr=False)
class Think(_Thinking):
    """Add the next thought to the anchors: a sentence by a language model (IRCoT, "reason step").

    The model reads the best `passages` passages and the earlier thoughts, and may end the chain. An unusable or
    repeated reply gives no thought. SentenceThought needs no language model.
    """

    model: Annotated[LLM, Has("a language model", "complete")]
    passages: Annotated[int, AtLeast(1)] = 5

    def thought(self, state: State, run: Run, nodes: list[int]) -> str:
        """Return the sentence that the model writes; "" if it needs none, or repeats an earlier thought."""
        graph, earlier = state.graph, _thoughts(state)
        passages = [
            {"passage": number, "title": graph.title_of(node), "text": graph.passage(node)[:_PASSAGE_CHARACTERS]}
            for number, node in enumerate(nodes, 1)
        ]
        reply = run.reply(
            self.model,
            "ircot",
            question=data_line({"question": state.question.text}),
            passages="\n".join(map(data_line, passages)),
            thoughts=data_line({"thoughts": earlier}),
        )
        if reply is None:
            return ""
        thought = " ".join(reply.thought.split())
        return "" if reply.enough or thought in earlier else thought


@dataclass(frozen=True, repr=False)
class SentenceThought(_Thinking):
    """Add a thought: the question and the nearest new sentence, with its title, of the best `passages` passages."""

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    passages: Annotated[int, AtLeast(1)] = 5

    def thought(self, state: State, run: Run, nodes: list[int]) -> str:
        question, earlier = state.question.text, _thoughts(state)
        sentences = dict.fromkeys(sentence for node in nodes for sentence in _sentences(state.graph, node))
        new = [sentence for sentence in sentences if f"{question} {sentence}" not in earlier]
        if not new:
            return ""
        vectors = run.encode(self.encoder, [question, *new]).astype(np.float64)
        return f"{question} {new[int(cosines(vectors[1:], vectors[0]).argmax())]}"


def _sentences(graph: Graph, node: int) -> Iterator[str]:
    """Yield the sentences of a passage, each after the passage's title."""
    title, text = graph.title_of(node), graph.passage(node)
    for start, end in sentence_spans(text):
        if words(text[start:end]):
            yield f"{title}. {text[start:end]}" if title else text[start:end]


@dataclass(frozen=True, repr=False)
class FollowUp(Composite):
    """Run a search with the last thought, else with the question, and add its results to the evidence (IRCoT).

    The score of a new item is 1/rank, the best over all searches, so that the first results of all searches come first.
    Items of the evidence keep their scores (1/rank if they have none).
    """

    step: Operator

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        query = (_thoughts(state)[-1:] or [state.question.text])[0]
        after = self.step.execute(state.with_(question=replace(state.question, text=query)), run, k)
        best: dict[Any, float] = {}
        for evidence in (state.items, after.items.unscored()):
            for item, score in zip(evidence.identities(), evidence.ranked_scores.tolist(), strict=True):
                best[item] = max(score, best.get(item, score))
        united = state.items.union(after.items)
        merged = united.take(range(len(united)), [best[item] for item in united.identities()])
        return top_of(state.with_(evidence=merged, trace=after.trace), ("evidence",), k)
