"""Keyword refinement of BubbleRAG: make vague keywords specific, and match keywords that are worded differently."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Ints
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.keywords import entities_and_edges, is_name, top_passages
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.prompts.templates import data_line
from graphwright.text.words import COMPOUND

__all__ = ["Relax", "Specialise", "is_definite"]

_MAX_NODES = 3  # of a definite name
_MAX_SHARE = 0.02  # of the passages that mention a definite name
_CONTEXT_WORDS = 3  # on either side of a keyword without a name near it
_MAX_GAP = 6  # words between a keyword and the name that specialises it
_PROMPT_ENTRIES = 200  # of each kind in a prompt, and characters of each
_PROMPT_MATCHES = 5  # entries that a language model may match with a keyword

Matches = tuple[list[int], list[int]]
"""Nodes and edges that a keyword may mean."""


@dataclass(frozen=True, repr=False)
class Specialise(Operator):
    """Make vague keywords specific with words of the question (BubbleRAG, section 3.2, "Anchor Specialization").

    Only texts change, of anchors that are not definite: that are not written as a name, have no node or more than
    three, or whose nodes are mentioned in more than 2 % of the passages. A language model (`model`)
    rewrites them: "mother" becomes "mother of Lothair II". Without one, names stay, and another keyword becomes the
    part of the question from it to the nearest name, at most six words away, else three words on either side; a
    keyword that is not a part of the question, such as a theme of several words, becomes the whole question.

    >>> from graphwright.graph.graph import Graph
    >>> from graphwright.operators.anchors.keywords import Keywords
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde of Tours")])
    >>> state = (Keywords() >> Specialise())(start("When did the mother of Lothair II die?", graph))
    >>> [anchor.text for anchor in state.anchors]
    ['Lothair II', 'mother of Lothair II', 'Lothair II die', 'When did the mother of Lothair II die?']
    """

    model: Annotated[LLM | None, Has("a language model or None", "complete")] = None
    needs = ("anchors",)
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        """Rewrite the texts."""
        anchors = state.anchors or ()
        vague = _vague(anchors, state)
        if not vague:
            return state
        texts = None if self.model is None else _rewritten(self.model, state, run, vague)
        if texts is None:
            texts = {i: _in_context(anchors[i], anchors, state.question.text) for i in vague}
        return state.with_(anchors=tuple(replace(a, text=texts.get(i, a.text)) for i, a in enumerate(anchors)))


def is_definite(anchor: Anchor, state: State) -> bool:
    """Return whether an anchor is a name of few nodes that few passages mention."""
    graph = state.graph
    count = len(anchor.nodes) + len(anchor.edges)
    if anchor.kind != "entity" or not is_name(anchor.text) or not 0 < count <= _MAX_NODES:
        return False
    total = 0 if graph.passages is None else len(graph.passages)
    return len(graph.chunks_of(anchor.nodes, anchor.edges)) <= max(_MAX_SHARE * total, _MAX_NODES)


def _vague(anchors: Sequence[Anchor], state: State) -> list[int]:
    """Return the positions of the anchors that are not definite."""
    return [i for i, anchor in enumerate(anchors) if not is_definite(anchor, state)]


def _rewritten(model: LLM, state: State, run: Run, vague: Sequence[int]) -> dict[int, str] | None:
    """Return the texts that a language model gives to vague anchors, None without a usable reply."""
    anchors = state.anchors or ()
    question = data_line({"question": state.question.text})
    keywords = (
        data_line({"keyword": number, "text": anchor.text, "found": number - 1 not in vague})
        for number, anchor in enumerate(anchors, 1)
    )
    reply = run.reply(model, "bubblerag_constraints", question=question, keywords="\n".join(keywords))
    if reply is None:
        return None
    texts = {item.keyword - 1: " ".join(item.text.split()) for item in reversed(reply.constraints)}
    valid = {i: text for i, text in texts.items() if i in vague and text}
    if len(valid) < len(reply.constraints):
        ignored = len(reply.constraints) - len(valid)
        run.note(f"{ignored} of {len(reply.constraints)} constraints were ignored")
    return valid


def _in_context(anchor: Anchor, anchors: Iterable[Anchor], question: str) -> str:
    """Return the part of the question from a keyword to the nearest name, or around the keyword."""
    if is_name(anchor.text) and anchor.kind == "entity":
        return anchor.text
    offsets = [match.span() for match in COMPOUND.finditer(question)]
    own = _position(anchor.text, question, offsets)
    if own is None:
        return question
    names = (_position(a.text, question, offsets) for a in anchors if a is not anchor and is_name(a.text))
    gaps = [(max(name[0] - own[1], own[0] - name[1]), name) for name in names if name is not None]
    gap, nearest = min(gaps, default=(_MAX_GAP + 1, own))
    if gap > _MAX_GAP:
        nearest = max(own[0] - _CONTEXT_WORDS, 0), min(own[1] + _CONTEXT_WORDS, len(offsets) - 1)
    first, last = min(own[0], nearest[0]), max(own[1], nearest[1])
    return question[offsets[first][0] : offsets[last][1]]


def _position(text: str, question: str, offsets: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first and last word of the question where a text occurs, None if it does not."""
    match = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", question, re.IGNORECASE)
    if match is None:
        return None
    inside = [i for i, (start, end) in enumerate(offsets) if start < match.end() and end > match.start()]
    return (inside[0], inside[-1]) if inside else None


@dataclass(frozen=True, repr=False)
class Relax(Operator):
    """Match vague keywords with entities and statements of the first passages (BubbleRAG, section 3.2, Example 5).

    The entities and edges of the first `passages` passages become nodes and edges of the anchors that are not definite
    (see Specialise), so that "second marriage" may mean an edge "spouse" near the rest of the question. A language
    model (`model`) chooses them; the step needs one. If its reply is unusable, the anchors do not change.

    >>> from graphwright.graph.evidence import Ranking
    >>> from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import ScriptedLLM
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Waldrada", "wife of", "Lothair II"), ("Graz", "on the", "Mur")])
    >>> state = start("?", graph, anchors=[Anchor("marriage")]).with_(passages=Ranking.of([0], [1]))
    >>> Relax(ScriptedLLM(['{"matches": [{"keyword": 1, "entries": [3]}]}']))(state).anchors
    (Anchor('marriage', nodes=[], edges=[0], weight=1.0),)
    """

    model: Annotated[LLM, Has("a language model", "complete")]
    passages: Annotated[int, AtLeast(0)] = 5
    needs = ("anchors",)
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        """Add nodes and edges to the anchors."""
        anchors = state.anchors or ()
        vague = _vague(anchors, state)
        entities, edges = entities_and_edges(state.graph, top_passages(state, self.passages))
        if not vague or not len(entities) + len(edges):
            return state
        matches = _matched(self.model, state, run, vague, entities, edges)
        return state.with_(anchors=tuple(_extended(a, matches.get(i, ([], []))) for i, a in enumerate(anchors)))


def _extended(anchor: Anchor, matches: Matches) -> Anchor:
    nodes, edges = (np.array(ids, np.int64) for ids in matches)
    return replace(anchor, nodes=np.union1d(anchor.nodes, nodes), edges=np.union1d(anchor.edges, edges))


def _matched(
    model: LLM, state: State, run: Run, vague: Sequence[int], entities: Ints, edges: Ints
) -> dict[int, Matches]:
    """Return the nodes and edges that a language model matches with vague anchors; none without a usable reply."""
    anchors = state.anchors or ()
    candidates = [(0, node) for node in entities[:_PROMPT_ENTRIES].tolist()]
    candidates += [(1, edge) for edge in edges[:_PROMPT_ENTRIES].tolist()]
    reply = run.reply(
        model,
        "bubblerag_relax",
        question=data_line({"question": state.question.text}),
        keywords="\n".join(data_line({"keyword": i + 1, "text": anchors[i].text}) for i in vague),
        entries="\n".join(_entries(state, candidates)),
    )
    matches: dict[int, Matches] = {i: ([], []) for i in vague}
    ignored = 0
    for match in () if reply is None else reply.matches:
        for number in match.entries[:_PROMPT_MATCHES]:
            if match.keyword - 1 not in matches or not 1 <= number <= len(candidates):
                ignored += 1
                continue
            kind, i = candidates[number - 1]
            matches[match.keyword - 1][kind].append(i)
    if ignored:
        run.note(f"{ignored} matches were ignored: no such keyword or entry")
    return matches


def _entries(state: State, candidates: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the candidates as lines of JSON."""
    for number, (kind, i) in enumerate(candidates, 1):
        key, text = ("statement", state.graph.edge_text(i)) if kind else ("name", state.graph.names[i])
        yield data_line({"entry": number, key: text[:_PROMPT_ENTRIES]})
