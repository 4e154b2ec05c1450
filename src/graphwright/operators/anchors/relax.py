"""Keyword refinement of BubbleRAG: make loose keywords specific, and match keywords worded differently."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import Has
from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.index.vector_index import VectorIndex
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.keywords import is_name, previewed, stated
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import distinct, likeness
from graphwright.operators.state import Anchor, State
from graphwright.prompts import data_line
from graphwright.text.words import COMPOUND

__all__ = ["Relax", "Specialise", "is_definite"]

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
    said = run.reply(model, "bubblerag_constraints", question=question, keywords=keywords)
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


Found = tuple[list[int], list[int]]  # nodes and edges

_SHOWN = 200  # entries of each kind that a language model is shown, and characters of one
_MOST = 5  # entries that may stand for a keyword, as the model is told


@dataclass(frozen=True, repr=False)
class Relax(Operator):
    """Let what the first passages state stand for keywords worded otherwise (BubbleRAG, section 3.2, Example 5).

    The passages of the state are a preview of the graph. Entities and relations that the first `passages` of them state
    become nodes and edges of those anchors that are not definite (see Specialise), so that "second marriage" may mean
    an edge "spouse" where the rest of the question is near. A language model says which may stand for which. Without
    one it is the `most` nearest to an anchor's text, those below `least` left out: by the vectors of `names` and
    `triples`, where there are none by the share of words.

    >>> from graphwright import Graph, Ranking, start
    >>> graph = Graph.from_triples([("Waldrada", "marriage to", "Lothair II"), ("Graz", "on the", "Mur")])
    >>> state = start("?", graph, anchors=[Anchor("second marriage")]).with_(passages=Ranking.of([0, 2], [2, 1]))
    >>> Relax(least=0.3)(state).anchors
    (Anchor('second marriage', nodes=[], edges=[0], weight=1.0),)
    """

    model: Annotated[LLM | None, Has("a language model or None", "complete")] = None
    names: VectorIndex | None = None
    triples: VectorIndex | None = None
    passages: int = 5
    most: int = 3
    least: float = 0.5
    needs = ("anchors",)
    gives = ("anchors",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.passages < 0 or self.most < 0:
            raise OptionError(f"Relax(passages={self.passages!r}, most={self.most!r}): numbers, 0 or more.")

    def apply(self, state: State, run: Run) -> State:
        """Add nodes and edges to the anchors."""
        anchors = state.anchors or ()
        loose = [at for at, anchor in enumerate(anchors) if not is_definite(anchor, state)]
        entities, edges = stated(state.graph, previewed(state, self.passages))
        if not loose or not len(entities) + len(edges):
            return state
        let_in = None if self.model is None else _matched(self.model, state, run, loose, entities, edges)
        if let_in is None:
            let_in = {at: self._nearest(anchors, at, state, run, entities, edges) for at in loose}
        return state.with_(anchors=tuple(_widened(a, let_in.get(at, ([], []))) for at, a in enumerate(anchors)))

    def _nearest(
        self, anchors: Sequence[Anchor], at: int, state: State, run: Run, entities: Ints, edges: Ints
    ) -> Found:
        """Return the nodes and edges that are nearest to an anchor's text; what another one means is not for it."""
        graph, anchor = state.graph, anchors[at]
        taken = np.concatenate([other.nodes for i, other in enumerate(anchors) if i != at] or [np.empty(0, np.int64)])
        # A theme is of relations, not of names.
        entities = entities[:0] if anchor.kind != "entity" else entities[~np.isin(entities, taken)]
        names = zip(entities, likeness(run, self.names, graph.names.__getitem__, entities, anchor.text), strict=True)
        joins = zip(edges, likeness(run, self.triples, graph.edge_text, edges, anchor.text), strict=True)
        stated_alike = dict(sorted(((int(e), float(s)) for e, s in joins if s >= self.least), key=lambda es: -es[1]))
        near = [(-float(s), 0, int(v)) for v, s in names if s >= self.least]
        near += [(-s, 1, e) for e, s in distinct(graph, stated_alike, anchor.text, self.most).items()]
        best = sorted(near)[: self.most]
        return [i for _, kind, i in best if kind == 0], [i for _, kind, i in best if kind == 1]


def _widened(anchor: Anchor, found: Found) -> Anchor:
    nodes, edges = (np.array(new, np.int64) for new in found)
    return replace(anchor, nodes=np.union1d(anchor.nodes, nodes), edges=np.union1d(anchor.edges, edges))


def _matched(
    model: LLM, state: State, run: Run, loose: Sequence[int], entities: Ints, edges: Ints
) -> dict[int, Found] | None:
    """Return the nodes and edges that a language model lets stand for anchors, None where it did not reply as asked."""
    anchors, nodes, stated_edges = state.anchors or (), entities[:_SHOWN].tolist(), edges[:_SHOWN].tolist()
    keywords = (data_line({"keyword": at + 1, "text": anchors[at].text}) for at in loose)
    said = run.reply(
        model,
        "bubblerag_relax",
        question=data_line({"question": state.question.text}),
        keywords="\n".join(keywords),
        entries="\n".join(_entries(state, nodes, stated_edges)),
    )
    if said is None:
        return None
    found: dict[int, Found] = {at: ([], []) for at in loose}
    wrong = 0
    for match in said.matches:
        for number in match.entries[:_MOST]:
            at, entry = match.keyword - 1, number - 1
            if at not in found or not 0 <= entry < len(nodes) + len(stated_edges):
                wrong += 1
            elif entry < len(nodes):
                found[at][0].append(nodes[entry])
            else:
                found[at][1].append(stated_edges[entry - len(nodes)])
    if wrong:
        run.note(f"{wrong} matches were passed over: keywords or entries that are not there")
    return found


def _entries(state: State, nodes: Sequence[int], edges: Sequence[int]) -> Iterator[str]:
    for number, node in enumerate(nodes, 1):
        yield data_line({"entry": number, "name": state.graph.names[node][:_SHOWN]})
    for number, edge in enumerate(edges, len(nodes) + 1):
        yield data_line({"entry": number, "statement": state.graph.edge_text(edge)[:_SHOWN]})
