"""Entity masking in questions, and a penalty for the length of paths."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.operators.operator import Composite, Operator, top_of
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.text.words import words

__all__ = ["LengthPenalty", "MaskEntities", "mask_names"]


@dataclass(frozen=True, repr=False)
class MaskEntities(Composite):
    """Run a step on the question with entity names replaced by `mask`, then restore the question.

    A name carries no information about the requested relation, but a model weighs its words like any others; relation
    paths contain no names. On MetaQA's training questions over three relations, the nodes that the first relation path
    leads to have a mean F1 of 0.46 with the names and of 0.65 without them (benchmarks/lego_map.py; the embedded
    encoder).

    >>> from graphwright.graph.evidence import Evidence
    >>> from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.rerank.rerank import Rerank
    >>> from graphwright.operators.state import start
    >>> film = Graph.from_triples([("Heat", "about", "a direct man"), ("Heat", "direct", "Mann")])
    >>> state = start("Direct man: who direct?", film, entities=["Direct Man"], evidence=Evidence.of_edges([0, 1]))
    >>> step = Rerank(HashEncoder()) % 1
    >>> step(state).evidence.texts(film), MaskEntities(step)(state).evidence.texts(film)
    (['Heat about a direct man'], ['Heat direct Mann'])
    """

    step: Operator
    mask: str = "X"

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the step, and keep the k best."""
        text = mask_names(state, self.mask)
        masked = state.with_(question=replace(state.question, text=text)) if text.strip() else state
        return self.step.execute(masked, run, k).with_(question=state.question)


@dataclass(frozen=True, repr=False)
class LengthPenalty(Composite):
    """Subtract from each item's score, for every edge, `penalty` / the number of content words of the question.

    An encoder matches more of a question in a longer text, and so prefers a path that continues past the answer. But a
    question with few content words asks for few relations; content words are those that are neither stop words (see
    `words`) nor part of a name. `penalty` is meant for cosines. It was chosen on 150 of MetaQA's training questions:
    the nodes that the first relation path leads to have a mean F1 of 0.33 without it, and of 0.56, 0.59, 0.55 at 0.1,
    0.15, 0.2.

    >>> from graphwright.graph.evidence import Evidence
    >>> from graphwright.graph.graph import Graph
    >>> from graphwright.operators.operator import Keep
    >>> from graphwright.operators.state import start
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> paths = Evidence.of_pieces([([0, 1], [0]), ([0, 1, 2], [0, 1])], [0.5, 0.53])
    >>> LengthPenalty(Keep())(start("What does it rule?", line, evidence=paths)).evidence.scores.round(2).tolist()
    [0.35, 0.23]
    """

    step: Operator
    penalty: Annotated[float, AtLeast(0)] = 0.15

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the step, lower the scores, and keep the k best."""
        after = self.step.execute(state, run)
        evidence = after.evidence
        if evidence is not None and evidence.scores is not None:
            per_edge = self.penalty / max(len(words(mask_names(state, " "))), 1)
            scores = evidence.scores - per_edge * np.diff(evidence.edge_ptr)
            after = after.with_(evidence=evidence.take(range(len(evidence)), scores))
        return top_of(after, ("evidence",), k)


def mask_names(state: State, mask: str) -> str:
    """Return the question with `mask` for each name: the texts of anchors, and the names of their nodes.

    >>> from graphwright.graph.graph import Graph
    >>> from graphwright.operators.state import start
    >>> kin = Graph.from_triples([("Bertha_of_Milan", "child", "Ida")])
    >>> mask_names(start("Who is the child of bertha of milan?", kin, entities=["Bertha_of_Milan"]), "x")
    'Who is the child of x?'
    """
    anchors = state.anchors or ()
    names = {name for anchor in anchors for name in (anchor.text, *state.graph.names.take(anchor.nodes))}
    text = state.question.text
    for name in sorted({*names, *state.question.entities}, key=len, reverse=True):
        if parts := re.findall(r"[^\W_]+", name):  # the words of a name may be separated differently in the question
            pattern = "|".join((re.escape(name), r"[\W_]+".join(map(re.escape, parts))))
            text = re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda _: mask, text, flags=re.IGNORECASE)
    return text
