"""Search with an expanded question: relevance feedback, HyDE, and chains of thought (IRCoT)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.models.protocols import LLM, Encoder, PassageText, Reader
from graphwright.operators.operator import Composite, Operator, Ranker, top_of
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.run import Run
from graphwright.operators.search.search import nearest
from graphwright.operators.state import Anchor, State
from graphwright.prompts.templates import data_line
from graphwright.search.vector_index import VectorIndex, cosines
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import words


@dataclass(frozen=True, repr=False)
class Feedback(Reranker):
    """Search with the question's vector moved towards the evidence: pseudo-relevance feedback (Rocchio, 1971).

        q' = (q + β · mean of v_d over the nodes d of the evidence) / (1 + β)

    The evidence is taken as relevant, so cut it to a few items before. Nodes without a vector are ignored. `index`: as
    in VectorSearch; `beta`: β, the weight of the evidence relative to the question.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> graph = Graph.from_triples([("lorry", "r", "red lorry"), ("red car", "r", "blue")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = start("a lorry", graph, evidence=Evidence.of_nodes([1]))
    >>> graph.names.take(Feedback(index)(state).evidence.nodes)[:3]
    ['red lorry', 'lorry', 'red car']
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

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder, ScriptedLLM
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz in Styria", "in", "Austria")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> search = HypotheticalPassage(index, ScriptedLLM(['{"passage": "It is Graz, in Styria."}']))
    >>> graph.names.take((search % 1)(start("Where is the clock tower?", graph)).evidence.nodes)
    ['Graz in Styria']
    """

    index: VectorIndex
    model: Annotated[LLM, Has("a language model", "complete")]
    gives = ("evidence",)

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
    """Holds once the state has this many thoughts, for Repeat.

    >>> HasThoughts(3)
    HasThoughts(count=3)
    """

    count: int

    def __call__(self, state: State) -> bool:
        """Return whether the state has that many thoughts."""
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
    repeated reply gives no thought. SpanThought and SentenceThought need no language model.

    >>> from graphwright import start; from graphwright.models import ScriptedLLM
    >>> graph = Graph.from_triples([("Graz", "is on", "the Mur")])
    >>> state = start("Where is it?", graph, evidence=Evidence.of_nodes([0]))
    >>> Think(ScriptedLLM(['{"enough": false, "thought": "It is Graz."}']))(state).anchors[0].text
    'It is Graz.'
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
class SpanThought(_Thinking):
    """Add a thought: the question followed by a reader's best answer that is in no thought yet.

    The answer comes from the best `passages` passages, such as a name that the next search needs.

    >>> from graphwright import start; from graphwright.models import MiniLMReader
    >>> graph = Graph.from_triples([("Graz", "is on", "the Mur")])
    >>> state = start("Which river is Graz on?", graph, evidence=Evidence.of_nodes([0]))
    >>> SpanThought(MiniLMReader())(state).anchors[0].text
    'Which river is Graz on? Mur'
    """

    reader: Annotated[Reader, Has("a reader, with read", "read")]
    passages: Annotated[int, AtLeast(1)] = 5

    def thought(self, state: State, run: Run, nodes: list[int]) -> str:
        question, earlier = state.question.text, " ".join(_thoughts(state))
        texts = [PassageText(state.graph.title_of(node), state.graph.passage(node)) for node in nodes]
        answers = [span.answer(texts) for span in run.read(self.reader, question, texts)]
        return next((f"{question} {answer}" for answer in answers if answer not in f"{question} {earlier}"), "")


@dataclass(frozen=True, repr=False)
class SentenceThought(_Thinking):
    """Add a thought: the question followed by the nearest sentence, with its title, that is not a thought yet.

    The sentence comes from the best `passages` passages.

    >>> from graphwright import start; from graphwright.models import HashEncoder
    >>> graph = Graph.from_triples([("Graz", "is on", "the Mur"), ("the Mur", "is", "cold")])
    >>> state = start("Which river is Graz on?", graph, evidence=Evidence.of_nodes([0, 1]))
    >>> [anchor.text for anchor in SentenceThought(HashEncoder())(state).anchors]
    ['Which river is Graz on? Graz is on the Mur.']
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    passages: Annotated[int, AtLeast(1)] = 5

    def thought(self, state: State, run: Run, nodes: list[int]) -> str:
        """Return the question with the nearest new sentence; "" if there is none."""
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
    """Run a search with the last thought as the question, and add its results to the evidence (IRCoT).

    Without a thought it searches with the question. The score of a new item is 1/rank, the best over all searches, so
    that the first results of all searches come first, then the second ones. Items of the evidence keep their scores
    (1/rank if they have none).

    >>> from graphwright import VectorIndex, VectorSearch, start; from graphwright.models import HashEncoder
    >>> graph = Graph.from_triples([("Graz", "in", "Austria"), ("Lyon", "in", "France")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = start("Graz?", graph, anchors=[Anchor("It was Lyon.", kind="thought")], evidence=Evidence.of_nodes([0]))
    >>> evidence = FollowUp(VectorSearch(index) % 1)(state).evidence; evidence.nodes.tolist(), evidence.scores.tolist()
    ([0, 2], [1.0, 1.0])
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
