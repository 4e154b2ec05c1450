"""What flows through a pipeline: one frozen value that operators map to the next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Ranking
from graphwright.graph.graph import Graph

if TYPE_CHECKING:
    from graphwright.models.base import Usage

__all__ = ["Anchor", "Citation", "Question", "Reply", "State", "Step", "start"]


@dataclass(frozen=True)
class Question:
    """A question; `entities` (names in the graph) and `answers` where they are known."""

    text: str
    id: str = ""
    entities: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Anchor:
    """Something that the question names: its words, the nodes and edges they mean, and how much they count.

    >>> Anchor("Lothair II", nodes=[7])
    Anchor('Lothair II', nodes=[7], edges=[], weight=1.0)
    """

    text: str
    nodes: Ints = ()  # type: ignore[assignment]
    edges: Ints = ()  # type: ignore[assignment]
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (isinstance(self.weight, Real) and math.isfinite(self.weight) and self.weight >= 0):
            raise OptionError(f"anchor {self.text!r} has weight {self.weight!r}; a weight is a number, 0 or more.")
        for name in ("nodes", "edges"):
            # Evidence checks and freezes ids; an anchor's are of the same kind.
            object.__setattr__(self, name, Evidence.of_nodes(getattr(self, name)).nodes)

    def seeds(self, graph: Graph) -> Ints:
        """Return the nodes that this anchor means, an edge meaning both its ends; distinct, ascending."""
        return np.unique(np.concatenate((self.nodes, graph.ends(self.edges))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Anchor) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.text, tuple(self.nodes.tolist()), tuple(self.edges.tolist()), self.weight

    def __repr__(self) -> str:
        return f"Anchor({self.text!r}, nodes={self.nodes.tolist()}, edges={self.edges.tolist()}, weight={self.weight})"


@dataclass(frozen=True)
class Citation:
    """Where a statement of an answer stands: document, chunk, characters `start` to `end` of the document.

    `text` is what stands there, to the letter; `path` is the walk in the graph that led there, as names
    and relations in turn.
    """

    document: str
    chunk: str
    start: int
    end: int
    text: str
    path: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return its fields as JSON holds them."""
        return {**vars(self), "path": list(self.path)}


@dataclass(frozen=True)
class Reply:
    """An answer and what it rests on. `found` is False where the documents do not hold one."""

    text: str
    citations: tuple[Citation, ...] = ()
    found: bool = True


@dataclass(frozen=True)
class Step:
    """What one operator did: how long it took, what models did for it, and the state it gave.

    `after` shares its arrays with the states around it, so that keeping it costs nothing.
    """

    operator: str
    seconds: float
    usage: Usage
    sizes: Mapping[str, int]
    notes: tuple[str, ...] = ()
    after: State | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class State:
    """The value that flows through a pipeline; see docs/datamodel.md.

    `evidence` and `chunks` are None while nobody looked, and empty once something looked and found nothing.
    """

    question: Question
    graph: Graph
    anchors: tuple[Anchor, ...] | None = None
    evidence: Evidence | None = None
    chunks: Ranking | None = None
    prompt: str | None = None
    answer: Reply | None = None
    trace: tuple[Step, ...] = ()

    def with_(self, **changes: Any) -> State:
        """Return this state with some fields changed."""
        return replace(self, **changes)

    def fields(self) -> frozenset[str]:
        """Return the names of the fields that are set."""
        return frozenset(name for name in FIELDS if getattr(self, name) is not None)

    def sizes(self) -> dict[str, int]:
        """Return how much of everything there is: nodes, anchors, pieces of evidence, passages."""
        counts = {"nodes": len(self.graph)}
        counts |= {
            name: len(getattr(self, name)) for name in ("anchors", "evidence", "chunks") if name in self.fields()
        }
        return counts


FIELDS = ("question", "graph", "anchors", "evidence", "chunks", "prompt", "answer")


def start(
    question: str | Question,
    graph: Graph,
    *,
    entities: Iterable[str] = (),
    anchors: Iterable[Anchor] | None = None,
    evidence: Evidence | None = None,
) -> State:
    """Return the state that a pipeline begins with.

    `entities` are names of nodes: each becomes an anchor unless `anchors` is given. A name that the
    graph does not hold gives an anchor without nodes, and a note in the trace.

    >>> graph = Graph.from_triples([("Bertha", "mother of", "Lothair II")])
    >>> start("Whose mother is Bertha?", graph, entities=["Bertha"]).anchors
    (Anchor('Bertha', nodes=[0], edges=[], weight=1.0),)
    """
    asked = question if isinstance(question, Question) else Question(question)
    if not isinstance(asked.text, str):
        raise OptionError(f"{asked.text!r} is no question; a question is a text, or a Question of one.")
    if not asked.text.strip():
        raise OptionError(f"The question is empty ({asked.text!r}); ask something.")
    names = (entities,) if isinstance(entities, str) else tuple(entities)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(f"entities are names of nodes; given were {names!r}. For node ids, give anchors.")
    names = names or asked.entities
    if names and names != asked.entities:
        asked = replace(asked, entities=names)
    notes: list[str] = []
    if anchors is None and names:
        anchors = [_anchor(name, graph, notes) for name in names]
    given = None if anchors is None else tuple(anchors)
    _check(given or (), evidence, graph)
    state = State(asked, graph, given, evidence)
    return state if not notes else state.with_(trace=(_noted(state, notes),))


def _anchor(name: str, graph: Graph, notes: list[str]) -> Anchor:
    found = graph.ids(name)
    if not len(found):
        notes.append(f"no node is named {name!r}")
    return Anchor(name, found)


def _noted(state: State, notes: list[str]) -> Step:
    from graphwright.models.base import Usage

    return Step("start", 0.0, Usage(calls=0), state.sizes(), tuple(notes), state)


def _check(anchors: tuple[Anchor, ...], evidence: Evidence | None, graph: Graph) -> None:
    n, m = len(graph.columns.names), len(graph.columns.heads)
    for anchor in anchors:
        if not isinstance(anchor, Anchor):
            raise OptionError(f"{anchor!r} is no anchor; give Anchor(text, nodes), or the name as one of the entities.")
        _within(f"anchor {anchor.text!r}", anchor.nodes, n, "node")
        _within(f"anchor {anchor.text!r}", anchor.edges, m, "edge")
    if evidence is not None:
        _within("the evidence", evidence.nodes, n, "node")
        _within("the evidence", evidence.edges, m, "edge")


def _within(what: str, ids: ArrayLike, count: int, kind: str) -> None:
    outside = [int(i) for i in np.asarray(ids) if i >= count]
    if outside:
        raise OptionError(f"{what} has {kind} {outside[0]}, but the graph's {kind}s end at {count - 1}.")
