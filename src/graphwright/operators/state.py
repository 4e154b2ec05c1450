"""The value that flows through a pipeline: one frozen State, which operators map to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from graphwright.constraints import AtLeast, Checked, OneOf
from graphwright.errors import OptionError, cut
from graphwright.graph.evidence import Evidence, Ints, in_order
from graphwright.graph.graph import Graph
from graphwright.graph.ranking import Ranking
from graphwright.graph.walks import shown_path
from graphwright.kernels.far import together
from graphwright.models.protocols import Usage
from graphwright.operators.run import IN_PART, NO_VECTORS
from graphwright.prompts.templates import Context
from graphwright.text.characters import clean

if TYPE_CHECKING:
    from graphwright.operators.query.result import AskedQuery

MAX_QUESTION = 100_000  # maximum characters of a question

_ITEMS = 20  # items of evidence in `State.to_dict`
_FETCHED = 100  # passages whose texts are fetched at once when they are ranked


@dataclass(frozen=True)
class Question:
    """A question, with `entities` and `answers` where they are known.

    `asked`: its text before `Reword` changed it; `turn`: that of a conversation, if the turns before it say more.
    """

    text: str
    id: str = ""
    entities: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    asked: str = ""
    turn: str = ""

    @property
    def original(self) -> str:
        """The question as it was asked."""
        return self.asked or self.text


@dataclass(frozen=True, eq=False)
class Anchor(Checked):
    """A reference in the question: its words, the nodes and edges they may mean, and a weight.

    `kind`: "entity" for a named thing; "theme" for a topic, without a node; "thought" for one of a chain.
    """

    text: str
    nodes: Ints = ()  # type: ignore[assignment]
    edges: Ints = ()  # type: ignore[assignment]
    weight: Annotated[float, AtLeast(0)] = 1.0
    kind: Annotated[Literal["entity", "theme", "thought"], OneOf("entity", "theme", "thought")] = "entity"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("nodes", "edges"):
            # Checked and frozen as those of evidence.
            object.__setattr__(self, name, in_order(getattr(self, name), None)[0])

    def seeds(self, graph: Graph) -> Ints:
        """Return the nodes of this anchor and the ends of its edges, distinct and ascending."""
        nodes = np.concatenate((self.nodes, graph.ends(self.edges))) if len(self.edges) else self.nodes
        return np.unique(nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Anchor) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.text, tuple(self.nodes.tolist()), tuple(self.edges.tolist()), self.weight, self.kind

    def __repr__(self) -> str:
        kind = "" if self.kind == "entity" else f", kind={self.kind!r}"
        ids = f"nodes={self.nodes.tolist()}, edges={self.edges.tolist()}"
        return f"Anchor({self.text!r}, {ids}, weight={self.weight}{kind})"


@dataclass(frozen=True)
class Citation:
    """Verified source of a statement: characters `start` to `end` of a document, in one of its chunks.

    `text` is copied from there. `path`: the names and relations along the steps to the chunk. `location`: the page,
    slide, cell or lines in the file. `also_in`: the documents with a copy of the passage that has this text, too.
    """

    document: str
    chunk: str
    start: int
    end: int
    text: str
    path: tuple[str, ...] = ()
    location: str = ""
    also_in: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values, without an empty location, and without `also_in` if there are no copies."""
        fields = {**vars(self), "path": list(self.path), "also_in": list(self.also_in)}
        return {name: value for name, value in fields.items() if value or name not in ("location", "also_in")}


@dataclass(frozen=True)
class Answer:
    """An answer and its citations.

    `text` is for people, with markers [1], [2] that number the citations; `short` are bare short answers. `found` is
    False where no answer is sure. `dropped`: quotes of a language model that are in no passage; `unsupported`: the
    sentences of the text without a verified quote; those whose quotes were dropped end in [unsupported]. `choices`: the
    names that a turn of a conversation may mean, if the text asks which. `headline`: the beginning of the text, if it
    tells what is found before what that rests on.
    """

    text: str
    short: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    found: bool = True
    unsupported: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    headline: str = ""

    @property
    def verified(self) -> bool:
        """Whether every sentence has a quote that stands in the documents; not whether it follows from the quote."""
        return self.found and bool(self.citations) and not self.unsupported

    def __repr__(self) -> str:
        short = f", short={list(self.short)}" if self.short else ""
        state = f"found={self.found}, verified={self.verified}"
        return f"Answer({_brief(self.text)!r}{short}, citations={len(self.citations)}, {state})"


@dataclass(frozen=True)
class Step:
    """One step of a run: the operator, its seconds, the usage of models, and the next state, which shares its arrays.

    `failed`: whether the step has no usable result, such as after an unusable reply of a language model (see Fallback).
    `about`: what the operator does, the first clause of its documentation; `scale`: what its scores are.
    """

    operator: str
    seconds: float
    usage: Usage
    sizes: Mapping[str, int]
    notes: tuple[str, ...] = ()
    after: State | None = field(default=None, repr=False, compare=False)
    failed: bool = False
    about: str = ""
    scale: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values, without the state."""
        usage = {name: getattr(self.usage, name) for name in _USAGE}
        times = {"seconds": round(self.seconds, 6), "model_seconds": round(self.usage.seconds, 6)}
        told = {"operator": self.operator, "about": self.about, "scale": self.scale}
        return {**told, **times, **usage, "sizes": dict(self.sizes), "notes": list(self.notes)}


@dataclass(frozen=True, eq=False)
class State:
    """The value that flows through a pipeline; docs/datamodel.md describes every field.

    `evidence` and `passages` are None before a search, and empty after a search without results. `passages` ranks chunk
    nodes and iterates over Passage values. `query`: what the question was understood to ask of the facts, None where it
    was not parsed or asks nothing that is computed.
    """

    question: Question
    graph: Graph
    anchors: tuple[Anchor, ...] | None = None
    evidence: Evidence | None = None
    passages: Ranking | None = None
    context: Context | None = None
    answer: Answer | None = None
    trace: tuple[Step, ...] = ()
    query: AskedQuery | None = None

    def __post_init__(self) -> None:
        """Bind the passages to the graph, so that they can be read."""
        if self.passages is not None and self.passages.graph is not self.graph:
            object.__setattr__(self, "passages", replace(self.passages, graph=self.graph))
            together(self.graph.columns.texts.reading(self.passages.ids[:_FETCHED]))

    def with_(self, **changes: Any) -> State:
        """Return this state with some fields changed."""
        return State(**{**vars(self), **changes})

    def fields(self) -> frozenset[str]:
        """Return the names of the fields that are set."""
        return frozenset(name for name, value in vars(self).items() if value is not None and name != "trace")

    def sizes(self) -> dict[str, int]:
        """Return the number of nodes, anchors, items of evidence and passages."""
        ranked = {"anchors": self.anchors, "evidence": self.evidence, "passages": self.passages}
        return {"nodes": len(self.graph)} | {name: len(value) for name, value in ranked.items() if value is not None}

    @property
    def items(self) -> Evidence:
        """The evidence; before a search, no items."""
        return Evidence.of_nodes([]) if self.evidence is None else self.evidence

    def passage_nodes(self, limit: int | None = None) -> Ints:
        """Return the nodes of the best passages, best first; none before a search."""
        return np.empty(0, np.int64) if self.passages is None else self.passages.ids[:limit]

    def anchor_nodes(self) -> Ints:
        """Return the nodes of all anchors, distinct and ascending (see `Anchor.seeds`)."""
        seeds = (anchor.seeds(self.graph) for anchor in self.anchors or ())
        return np.unique(np.concatenate([np.empty(0, np.int64), *seeds]))

    def node_scores(self) -> dict[int, float]:
        """Return each node of the evidence, or end of its edges, with the score of its best item, or 1/rank."""
        items, best = self.items, dict[int, float]()
        values = items.ranked_scores.tolist()
        if items.only_nodes:
            for node, score in zip(items.nodes.tolist(), values, strict=True):
                best[node] = max(score, best.get(node, score))
            return best
        for (nodes, edges), score in zip(items, values, strict=True):
            for node in (nodes if len(nodes) else self.graph.ends(edges)).tolist():
                best[node] = max(score, best.get(node, score))
        return best

    @property
    def usage(self) -> Usage:
        """The usage of models in all steps of the trace."""
        total = Usage()
        for step in self.trace:
            total.add(step.usage)
        return total

    @property
    def notes(self) -> list[str]:
        """The notes of the trace that say that not all was searched that could be."""
        notes = (text for step in self.trace for text in step.notes)
        return list(dict.fromkeys(text for text in notes if text.startswith((IN_PART, NO_VECTORS))))

    def to_dict(self, *, method: str | None = None, top_k: int | None = None) -> dict[str, Any]:
        """Return the output of the command line with --json: answer, citations, passages, notes, evidence and so on.

        `method`: the name of the method. `top_k`: the number of passages (default: all).
        """
        answer, usage = self.answer, self.usage
        passages = (
            [] if self.passages is None else [p.to_dict() for p in self.passages.top(top_k or len(self.passages))]
        )
        citations = [
            {**citation.to_dict(), "shown_path": list(shown_path(self.graph, citation.path))}
            for citation in (() if answer is None else answer.citations)
        ]
        return {
            "question": self.question.original,
            "turn": self.question.turn or None,
            "method": method,
            "found": None if answer is None else answer.found,
            "answer": None if answer is None else answer.text,
            "short": [] if answer is None else list(answer.short),
            "headline": "" if answer is None else answer.headline,
            "verified": None if answer is None else answer.verified,
            "unsupported": [] if answer is None else list(answer.unsupported),
            "dropped": [] if answer is None else list(answer.dropped),
            "choices": [] if answer is None else list(answer.choices),
            "citations": citations,
            "query": None if self.query is None else self.query.to_dict(),
            "passages": passages,
            "notes": self.notes,
            "anchors": [_anchor_dict(self.graph, anchor) for anchor in self.anchors or ()],
            "evidence": _evidence_dicts(self.graph, self.items),
            "usage": {name: getattr(usage, name) for name in _USAGE},
            "trace": [step.to_dict() for step in self.trace],
        }

    def __repr__(self) -> str:
        parts = [f"{count} {name}" for name, count in self.sizes().items()]
        parts += [f"{len(self.trace)} steps"] if self.trace else []
        answer = "" if self.answer is None else f", answer={_brief(self.answer.text)!r}"
        return f"State({_brief(self.question.text)!r}: {', '.join(parts)}{answer})"


_USAGE = ("calls", "texts", "tokens", "llm_calls", "prompt_tokens", "completion_tokens", "cost")


def start(
    question: str | Question,
    graph: Graph,
    *,
    entities: Iterable[str] = (),
    anchors: Iterable[Anchor] | None = None,
    evidence: Evidence | None = None,
) -> State:
    """Return the start state of a pipeline, with the question in the characters of stored texts (`clean`).

    `entities` are names of nodes: each becomes an anchor unless `anchors` is given; an unknown name gives an anchor
    without nodes, and a note in the trace. Raises OptionError for an empty question, or ids outside the graph.

    >>> graph = Graph.from_triples([("Bertha", "mother of", "Lothair II")])
    >>> start("Whose mother is Bertha?", graph, entities=["Bertha"]).anchors
    (Anchor('Bertha', nodes=[0], edges=[], weight=1.0),)
    """
    query = question if isinstance(question, Question) else Question(question)
    if not isinstance(query.text, str):
        raise OptionError(f"{query.text!r} is not a question; give a text or a Question.")
    query = replace(query, text=clean(query.text))
    if not query.text.strip():
        raise OptionError(f"The question is empty ({query.text[:40]!r}); give a question.")
    if len(query.text) > MAX_QUESTION:
        raise OptionError(
            f"The question has {len(query.text):,} characters; at most {MAX_QUESTION:,} are read. Shorten it, and "
            f"index long texts as documents."
        )
    names = (entities,) if isinstance(entities, str) else tuple(entities)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(f"entities are names of nodes, not {names!r}. To start from node ids, give anchors.")
    names = names or query.entities
    if names and names != query.entities:
        query = replace(query, entities=names)
    notes: tuple[str, ...] = ()
    if anchors is None and names:
        anchors = [Anchor(name, graph.ids(name)) for name in names]
        notes = tuple(f"no node is named {anchor.text!r}" for anchor in anchors if not len(anchor.nodes))
    start_anchors = None if anchors is None else tuple(anchors)
    for anchor in start_anchors or ():
        if not isinstance(anchor, Anchor):
            raise OptionError(f"{anchor!r} is not an anchor; give Anchor(text, nodes), or the name in `entities`.")
        _check_ids(f"anchor {anchor.text!r}", anchor, graph)
    if evidence is not None:
        _check_ids("the evidence", evidence, graph)
    state = State(query, graph, start_anchors, evidence)
    return state.with_(trace=(Step("start", 0.0, Usage(), state.sizes(), notes, state),)) if notes else state


def _check_ids(owner: str, ids: Anchor | Evidence, graph: Graph) -> None:
    for kind, values, count in (
        ("node", ids.nodes, len(graph.columns.names)),
        ("edge", ids.edges, len(graph.columns.heads)),
    ):
        outside = values[values >= count]
        if len(outside):
            raise OptionError(f"{owner} has {kind} {outside[0]}, but the graph's {kind}s end at {count - 1}.")


def _anchor_dict(graph: Graph, anchor: Anchor) -> dict[str, Any]:
    return {
        "text": anchor.text,
        "kind": anchor.kind,
        "weight": anchor.weight,
        "nodes": graph.names.take(anchor.nodes),
        "edges": [list(graph.triple(edge)) for edge in anchor.edges.tolist()],
    }


def _evidence_dicts(graph: Graph, evidence: Evidence) -> list[dict[str, Any]]:
    best = evidence.top(_ITEMS)
    scores = [None] * len(best) if best.scores is None else best.scores.tolist()
    return [
        {"nodes": graph.names.take(nodes), "edges": [list(graph.triple(int(e))) for e in edges], "score": score}
        for (nodes, edges), score in zip(best, scores, strict=True)
    ]


def _brief(text: str) -> str:
    return cut(" ".join(text.split()), 60)
