"""Retrieval and reasoning in turn: search with the last sentence of a chain of thought (IRCoT)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.models.protocols import LLM, Encoder
from graphwright.operators.operator import Operator, Wrapper
from graphwright.operators.rerank.granker import evidence_nodes
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.prompts.templates import data_line
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import words

__all__ = ["FollowUp", "HasThoughts", "Think"]

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


@dataclass(frozen=True, repr=False)
class Think(Operator):
    """Add the next thought to the anchors: one sentence, given the best passages (IRCoT, "reason step").

    A language model writes it, given the best `passages` passages and the thoughts before, or says that no more is
    needed. An encoder is the offline twin: the thought is the question followed by the sentence of these passages,
    with its title, that is nearest to the question and is not a thought yet.

    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Graz", "is on", "the Mur"), ("the Mur", "is", "cold")])
    >>> state = start("Which river is Graz on?", graph, evidence=Evidence.of_nodes([0, 1]))
    >>> [anchor.text for anchor in Think(HashEncoder())(state).anchors]
    ['Which river is Graz on? Graz is on the Mur.']
    """

    model: LLM | Encoder
    passages: Annotated[int, AtLeast(1)] = 5
    needs = ("evidence",)
    gives = ("anchors",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.model, str) or not isinstance(self.model, LLM | Encoder):
            raise OptionError(f"Think: model is {self.model!r}; it must be a language model or an encoder.")

    def apply(self, state: State, run: Run) -> State:
        """Add the thought; none if nothing was retrieved, or no more is needed."""
        anchors, nodes = state.anchors or (), evidence_nodes(state)[: self.passages].tolist()
        thought = ""
        if nodes:
            write = _written if isinstance(self.model, LLM) else _nearest
            thought = write(self.model, state, run, nodes)  # type: ignore[arg-type]
        if not thought:
            run.note("no further thought")
            return state.with_(anchors=anchors)
        return state.with_(anchors=(*anchors, Anchor(thought, kind="thought")))


def _written(model: LLM, state: State, run: Run, nodes: list[int]) -> str:
    """Return the sentence that a language model writes; "" if it needs none, or repeats itself."""
    passages = [
        data_line({"passage": number, "title": title, "text": text[:_PASSAGE_CHARACTERS]})
        for number, (title, text) in enumerate((_title_and_text(state.graph, node) for node in nodes), 1)
    ]
    earlier = _thoughts(state)
    reply = run.reply(
        model,
        "ircot",
        question=data_line({"question": state.question.text}),
        passages="\n".join(passages),
        thoughts=data_line({"thoughts": earlier}),
    )
    if reply is None:
        return ""
    thought = " ".join(reply.thought.split())
    return "" if reply.enough or thought in earlier else thought


def _nearest(encoder: Encoder, state: State, run: Run, nodes: list[int]) -> str:
    """Return the question with the nearest sentence that is not a thought yet; "" if there is none."""
    question, earlier = state.question.text, _thoughts(state)
    sentences = dict.fromkeys(sentence for node in nodes for sentence in _sentences(state.graph, node))
    new = [sentence for sentence in sentences if f"{question} {sentence}" not in earlier]
    if not new:
        return ""
    vectors = run.encode(encoder, [question, *new]).astype(np.float64)
    cosines = vectors[1:] @ vectors[0] / np.maximum(np.linalg.norm(vectors[1:], axis=1), 1e-12)
    return f"{question} {new[int(cosines.argmax())]}"


def _sentences(graph: Graph, node: int) -> Iterator[str]:
    """Yield the sentences of a passage, each after the passage's title."""
    title, text = _title_and_text(graph, node)
    for start, end in sentence_spans(text):
        if words(text[start:end]):
            yield f"{title}. {text[start:end]}" if title else text[start:end]


def _title_and_text(graph: Graph, node: int) -> tuple[str, str]:
    return graph.title_of(node), graph.passage(node)


@dataclass(frozen=True, repr=False)
class FollowUp(Wrapper):
    """Run a search with the last thought as the question, and add its results to the evidence (IRCoT).

    Without a thought it searches with the question. A new item has the score 1/rank, its best over all searches, so
    that the first results of each search come first, then the second ones; items of the evidence have their scores,
    1/rank without.

    >>> from graphwright.index.vector_index import VectorIndex
    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.search.search import VectorSearch
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Graz", "in", "Austria"), ("Lyon", "in", "France")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = start("Graz?", graph, anchors=[Anchor("It was Lyon.", kind="thought")], evidence=Evidence.of_nodes([0]))
    >>> evidence = FollowUp(VectorSearch(index) % 1)(state).evidence; evidence.nodes.tolist(), evidence.scores.tolist()
    ([0, 2], [1.0, 1.0])
    """

    def execute(self, state: State, run: Run, k: int | None = None) -> State:
        """Search and merge, and keep the k best."""
        if state.answer is not None:
            return state
        query = (_thoughts(state)[-1:] or [state.question.text])[0]
        after = self.step.execute(state.with_(question=replace(state.question, text=query)), run, k)
        best: dict[Any, float] = {}
        for evidence in (state.evidence, None if after.evidence is None else after.evidence.unscored()):
            if evidence is not None:
                for item, score in zip(evidence.identities(), evidence.ranked_scores.tolist(), strict=True):
                    best[item] = max(score, best.get(item, score))
        merged = Evidence.of_pieces(best, list(best.values()))
        return state.with_(evidence=merged if k is None else merged.top(k), trace=after.trace)
