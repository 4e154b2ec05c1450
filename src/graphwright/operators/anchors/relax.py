"""What the first passages state, let in for keywords that are worded otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import Has
from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.index.vector_index import VectorIndex
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.preview import previewed, stated
from graphwright.operators.anchors.specialise import is_definite
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import distinct, likeness
from graphwright.operators.state import Anchor, State
from graphwright.prompts import data_line

__all__ = ["Relax"]

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
        _schema(),
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


@cache
def _schema() -> type[Any]:
    from pydantic import create_model

    match = create_model("Match", keyword=(int, ...), entries=(list[int], ...))
    return create_model("Matches", matches=(list[match], ...))  # type: ignore[valid-type]
