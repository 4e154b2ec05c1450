"""Keywords that mean too much alone, bound to what else the question names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

from graphwright.constraints import Has
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.keywords import is_name
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.prompts import data_line
from graphwright.text.words import COMPOUND

__all__ = ["Specialise", "is_definite"]

_FEW = 3  # nodes that a definite name may have
_COMMON = 0.02  # share of the passages in which a name stands that is common
_AROUND = 3  # words on either side of a keyword that is near no name
_FAR = 6  # words between a keyword and a name that it is bound to


@dataclass(frozen=True, repr=False)
class Specialise(Operator):
    """Bind keywords that mean too much alone to the others (BubbleRAG, section 3.2, "Anchor Specialization").

    Only the texts of anchors change, and only of those that are not definite: without a node of that name, with more
    than three of them or with one that stands in many passages, or not written as a name. A language model rewrites
    them, so that "mother" becomes "mother of Lothair II". Without one a name stays as it is, and the text of another
    keyword is the stretch of the question from it to the nearest name, at most six words away, else the three words on
    either side of it; what does not stand in the question so, as a theme of several words, becomes all of the question.

    >>> from graphwright import Graph, start
    >>> from graphwright.operators.anchors.keywords import Keywords
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde of Tours")])
    >>> state = (Keywords() >> Specialise())(start("When did the mother of Lothair II die?", graph))
    >>> [a.text for a in state.anchors]
    ['Lothair II', 'mother of Lothair II', 'Lothair II die', 'When did the mother of Lothair II die?']
    """

    model: Annotated[LLM | None, Has("a language model or None", "complete")] = None
    needs = ("anchors",)
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        """Rewrite the texts."""
        anchors = state.anchors or ()
        loose = [at for at, anchor in enumerate(anchors) if not is_definite(anchor, state)]
        if not loose:
            return state
        texts = None if self.model is None else _rewritten(self.model, state, run, anchors, loose)
        if texts is None:
            texts = {at: _in_context(anchors[at], anchors, state.question.text) for at in loose}
        return state.with_(anchors=tuple(replace(a, text=texts.get(at, a.text)) for at, a in enumerate(anchors)))


def is_definite(anchor: Anchor, state: State) -> bool:
    """Return whether an anchor is a name of few nodes, which stand in few passages."""
    graph = state.graph
    if anchor.kind != "entity" or not is_name(anchor.text) or not 0 < len(anchor.nodes) + len(anchor.edges) <= _FEW:
        return False
    total = 0 if graph.passages is None else len(graph.passages)
    return len(graph.chunks_of(anchor.nodes, anchor.edges)) <= max(_COMMON * total, _FEW)


def _rewritten(
    model: LLM, state: State, run: Run, anchors: Sequence[Anchor], loose: Sequence[int]
) -> dict[int, str] | None:
    """Return the texts that a language model gives to some anchors, None where it gives nothing that can be used."""
    question = data_line({"question": state.question.text})
    lines = [{"keyword": at, "text": anchor.text, "found": at - 1 not in loose} for at, anchor in enumerate(anchors, 1)]
    keywords = "\n".join(map(data_line, lines))
    said = run.reply(model, "bubblerag_constraints", _schema(), question=question, keywords=keywords)
    if said is None:
        return None
    given = {c.keyword - 1: " ".join(c.text.split()) for c in reversed(said.constraints)}
    used = {at: text for at, text in given.items() if at in loose and text}
    if len(used) < len(said.constraints):
        run.note(f"{len(said.constraints) - len(used)} of {len(said.constraints)} constraints were passed over")
    return used


def _in_context(anchor: Anchor, anchors: Iterable[Anchor], question: str) -> str:
    """Return the words of the question from a keyword to the nearest name, or around it."""
    if is_name(anchor.text) and anchor.kind == "entity":
        return anchor.text
    words = [found.span() for found in COMPOUND.finditer(question)]
    own = _place(anchor.text, question, words)
    if own is None:
        return question
    names = (_place(a.text, question, words) for a in anchors if a is not anchor and is_name(a.text))
    reached = [(max(place[0] - own[1], own[0] - place[1]), place) for place in names if place is not None]
    gap, nearest = min(reached, default=(_FAR + 1, own))
    if gap > _FAR:
        nearest = max(own[0] - _AROUND, 0), min(own[1] + _AROUND, len(words) - 1)
    first, last = min(own[0], nearest[0]), max(own[1], nearest[1])
    return question[words[first][0] : words[last][1]]


def _place(text: str, question: str, words: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first and the last word of the question that a text stands at, None where it does not stand there."""
    found = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", question, re.IGNORECASE)
    inside = [] if found is None else [i for i, (a, b) in enumerate(words) if a < found.end() and b > found.start()]
    return (inside[0], inside[-1]) if inside else None


@cache
def _schema() -> type[Any]:
    from pydantic import create_model

    constraint = create_model("Constraint", keyword=(int, ...), text=(str, ...))
    return create_model("Constraints", constraints=(list[constraint], ...))  # type: ignore[valid-type]
