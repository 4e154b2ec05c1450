"""Retrieval and reasoning in turn: search with the last sentence of a chain of thought (IRCoT)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.models.protocols import LLM, Encoder
from graphwright.operators.operator import Operator, Wrapper
from graphwright.operators.rerank.granker import retrieved
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.prompts import data_line
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import words

__all__ = ["FollowUp", "Think", "Thoughts"]

_ROOM = 2_000  # characters of a passage that a model is shown


def _thoughts(state: State) -> list[str]:
    return [anchor.text for anchor in state.anchors or () if anchor.kind == "thought"]


@dataclass(frozen=True)
class Thoughts:
    """Enough once so many thoughts were had: when to stop repeating.

    >>> Thoughts(3)
    Thoughts(most=3)
    """

    most: int

    def __call__(self, state: State) -> bool:
        """Return whether the state has that many."""
        return len(_thoughts(state)) >= self.most


@dataclass(frozen=True, repr=False)
class Think(Operator):
    """Add the next thought to the anchors: one sentence, from the best passages found so far (IRCoT, "reason step").

    A language model writes it, shown the `passages` best and its thoughts before; it has none where these are enough.
    An encoder stands for it offline: the thought is then the question with the one sentence of these passages, its
    title before it, that is nearest to the question and was no thought yet.

    >>> from graphwright import Graph, HashEncoder, start
    >>> graph = Graph.from_triples([("Graz", "is on", "the Mur"), ("the Mur", "is", "cold")])
    >>> state = start("Which river is Graz on?", graph, evidence=Evidence.of_nodes([0, 1]))
    >>> [thought.text for thought in Think(HashEncoder())(state).anchors]
    ['Which river is Graz on? Graz is on the Mur.']
    """

    model: LLM | Encoder
    passages: int = 5
    needs = ("evidence",)
    gives = ("anchors",)

    def __post_init__(self) -> None:
        if isinstance(self.model, str) or not isinstance(self.model, LLM | Encoder):
            raise OptionError(f"Think({self.model!r}): a language model is needed, or an encoder in its place.")
        if isinstance(self.passages, bool) or not hasattr(self.passages, "__index__") or self.passages < 1:
            raise OptionError(f"Think(passages={self.passages!r}): how many passages are read, 1 or more.")

    def apply(self, state: State, run: Run) -> State:
        """Think."""
        held, nodes = state.anchors or (), retrieved(state)[: self.passages].tolist()
        if not nodes:
            thought = ""
        elif isinstance(self.model, LLM):
            thought = _written(self.model, state, run, nodes)
        else:
            thought = _nearest(self.model, state, run, nodes)
        if not thought:
            run.note("no further thought")
            return state.with_(anchors=held)
        return state.with_(anchors=(*held, Anchor(thought, kind="thought")))


def _written(model: LLM, state: State, run: Run, nodes: list[int]) -> str:
    """Return the sentence that a language model writes, "" where it needs none or repeats itself."""
    shown = [_parts(state.graph, node) for node in nodes]
    lines = [data_line({"passage": n, "title": t, "text": text[:_ROOM]}) for n, (t, text) in enumerate(shown, 1)]
    had = _thoughts(state)
    question = data_line({"question": state.question.text})
    thoughts = data_line({"thoughts": had})
    reply = run.reply(model, "ircot", question=question, passages="\n".join(lines), thoughts=thoughts)
    if reply is None:
        return ""
    thought = " ".join(reply.thought.split())
    return "" if reply.enough or thought in had else thought


def _nearest(encoder: Encoder, state: State, run: Run, nodes: list[int]) -> str:
    """Return the question with the nearest sentence of the passages that was no thought yet, "" where there is none."""
    asked, had = state.question.text, _thoughts(state)
    lines = dict.fromkeys(line for node in nodes for line in _lines(state.graph, node))
    left = [line for line in lines if f"{asked} {line}" not in had]
    if not left:
        return ""
    vectors = run.encode(encoder, [asked, *left]).astype(np.float64)
    cosines = vectors[1:] @ vectors[0] / np.maximum(np.linalg.norm(vectors[1:], axis=1), 1e-12)
    return f"{asked} {left[int(cosines.argmax())]}"


def _lines(graph: Graph, node: int) -> Iterator[str]:
    """Yield the sentences of a passage, each with the title before it."""
    title, text = _parts(graph, node)
    for start, end in sentence_spans(text):
        if words(text[start:end]):
            yield f"{title}. {text[start:end]}" if title else text[start:end]


def _parts(graph: Graph, node: int) -> tuple[str, str]:
    return graph.title_of(node), graph.passage(node)


@dataclass(frozen=True, repr=False)
class FollowUp(Wrapper):
    """Search with the last thought in the question's place, and add what is found to the evidence (IRCoT).

    Without a thought the question itself is searched with. A piece has the score 1/rank, the best of all searches that
    found it, so that the first of each search come first, then the second of each; the evidence counts by its scores,
    1/rank where it has none.

    >>> from graphwright import Graph, HashEncoder, VectorIndex, VectorSearch, start
    >>> graph = Graph.from_triples([("Graz", "in", "Austria"), ("Lyon", "in", "France")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = start("Graz?", graph, anchors=[Anchor("It was Lyon.", kind="thought")], evidence=Evidence.of_nodes([0]))
    >>> found = FollowUp(VectorSearch(index) % 1)(state).evidence; found.nodes.tolist(), found.scores.tolist()
    ([0, 2], [1.0, 1.0])
    """

    def execute(self, state: State, run: Run, k: int | None = None) -> State:
        """Search and merge, and keep the k best."""
        if state.answer is not None:
            return state
        asked = _thoughts(state)[-1:] or [state.question.text]
        after = self.step.execute(state.with_(question=replace(state.question, text=asked[0])), run, k)
        best: dict[Any, float] = {}
        for found in (state.evidence, None if after.evidence is None else after.evidence.unscored()):
            if found is not None:
                scores = 1.0 / np.arange(1, len(found) + 1) if found.scores is None else found.scores
                for piece, score in zip(found.identities(), scores.tolist(), strict=True):
                    best[piece] = max(score, best.get(piece, score))
        merged = Evidence.of_pieces(best, list(best.values()))
        return state.with_(evidence=merged if k is None else merged.top(k), trace=after.trace)
