"""Control: repeat a step, branch, run a step on another view of the graph, fall back, or fuse searches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated

import numpy as np

from graphwright.constraints import Has
from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Scores
from graphwright.graph.graph import Graph
from graphwright.operators.operator import IS_OPERATOR, Composite, Operator, top_of
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.views import with_steps_of

Predicate = Callable[[State], bool]  # on a state; as `until` of Repeat with a `cap`, the items it works towards
View = Callable[[Graph], Graph]  # another graph over the same node ids, such as the graph of passages alone


@dataclass(frozen=True)
class HasEvidence:
    """Holds if the state has at least one item of evidence."""

    def __call__(self, state: State) -> bool:
        return len(state.items) > 0


@dataclass(frozen=True)
class Reached:
    """Holds once the evidence has this many distinct nodes."""

    nodes: int

    @property
    def cap(self) -> int:
        """The number of nodes that a loop works towards."""
        return self.nodes

    def __call__(self, state: State) -> bool:
        return len({*state.items.nodes.tolist(), *state.graph.ends(state.items.edges).tolist()}) >= self.nodes


@dataclass(frozen=True, repr=False)
class Repeat(Composite):
    """Run a step, every `|` in it limited to the condition's cap, until the condition holds or no item is new."""

    step: Annotated[Operator, IS_OPERATOR]
    until: Annotated[Predicate, Has("a function of a state", "__call__")]

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        cap = getattr(self.until, "cap", None)
        step = self.step if cap is None else self.step.capped(cap)
        known = set(state.items.identities())
        while state.answer is None and not self.until(state):
            state = step.execute(state, run)
            new = set(state.items.identities()) - known
            if not new:
                break
            known |= new
        return top_of(state, ("evidence",), k)

    def __repr__(self) -> str:
        return f"Repeat({self.step!r}, until={self.until!r})"


@dataclass(frozen=True, repr=False)
class If(Composite):
    """Run the first step where a condition holds, else the second."""

    predicate: Annotated[Predicate, Has("a function of a state", "__call__")]
    then: Annotated[Operator, IS_OPERATOR]
    otherwise: Annotated[Operator, IS_OPERATOR]

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        return (self.then if self.predicate(state) else self.otherwise).execute(state, run, k)


@dataclass(frozen=True, repr=False)
class OnGraph(Composite):
    """Run a step on another view of the graph (see `operators.subgraph.views`), then restore the graph.

    Node ids are the same in both. Steps to nodes are translated: where the view joined two nodes, to their edge in the
    restored graph, or to two edges over a common neighbour.
    """

    view: Annotated[View, Has("a function of a graph", "__call__")]
    step: Annotated[Operator, IS_OPERATOR]

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        view = self.view(state.graph)
        if not getattr(self.view, "has_other_edges", False):
            return self.step.execute(state.with_(graph=view), run, k).with_(graph=state.graph)
        given = None if state.evidence is None else state.evidence.without_steps()
        after = self.step.execute(state.with_(graph=view, evidence=given), run, k)
        evidence = state.evidence if after.evidence is given else with_steps_of(state.graph, after.items, view)
        return after.with_(graph=state.graph, evidence=evidence)


@dataclass(frozen=True, repr=False)
class Fallback(Composite):
    """Run the first step; if it gives no usable result, run the second on the state before it.

    A step without a usable result calls `Run.fail`, as after an unusable reply of a language model. The trace keeps the
    failed step; of several steps the last counts. If the first has streamed text, the second streams none.

    >>> from graphwright import Graph, start; from graphwright.models import ScriptedLLM
    >>> from graphwright.operators import Keywords, NamesAndPhrases
    >>> graph = Graph.from_triples([("Graz", "on the", "Mur")])
    >>> state = Fallback(Keywords(ScriptedLLM(["?", "?"])), NamesAndPhrases())(start("Where is Graz?", graph))
    >>> [anchor.text for anchor in state.anchors], [step.failed for step in state.trace]
    (['Graz'], [True, False])
    """

    first: Annotated[Operator, IS_OPERATOR]
    second: Annotated[Operator, IS_OPERATOR]

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        sent: list[str] = []
        after = self.first.execute(state, run if run.on_text is None else _recording(run, run.on_text, sent), k)
        if len(after.trace) == len(state.trace) or not after.trace[-1].failed:
            return after
        quiet = replace(run, on_text=None) if sent else run
        return self.second.execute(state.with_(trace=after.trace), quiet, k)


def _recording(run: Run, on_text: Callable[[str], None], sent: list[str]) -> Run:

    def pass_on(text: str) -> None:
        sent.append(text)
        on_text(text)

    return replace(run, on_text=pass_on)


@dataclass(frozen=True, repr=False)
class Scaled(Composite):
    """Scale the scores of a step (1/rank without): 1 for its best item, 0 for its last; 1 for all if they are equal.

    So even the scores of a cross-encoder, which may be below 0, can be blended with the former ones: `ScoreSum(Keep(),
    Scaled(Rerank(model)), weights=(0.7, 0.3))`.
    """

    step: Annotated[Operator, IS_OPERATOR]

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        after = self.step.execute(state, run)
        scaled = after.items.take(np.arange(len(after.items)), after.items.scaled_scores)
        return top_of(after.with_(evidence=scaled), ("evidence",), k)


class _Fusion(Composite):
    """Runs its parts on the same state and scores each of their items; the other fields do not change."""

    parts: tuple[Operator, ...]

    def after(self, fields: frozenset[str]) -> frozenset[str]:
        return fields | {"evidence"}

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        run.ahead[:] = [reading for part in self.parts if (reading := part.ahead(state)) is not None]
        states = [part.execute(state, run) for part in self.parts]
        run.ahead.clear()
        steps = [step for result in states for step in result.trace[len(state.trace) :]]
        after = state.with_(trace=(*state.trace, *steps))
        parts = [result.items for result in states]
        return self.traced(after, run, k, lambda _: top_of(after.with_(evidence=self._fuse(parts)), self.gives, k))

    def _fuse(self, parts: list[Evidence]) -> Evidence:
        if all(evidence.only_nodes and not len(evidence.steps.edges) for evidence in parts):
            return self._fuse_nodes(parts)
        totals: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for at, evidence in enumerate(parts):
            for key, score in zip(evidence.identities(), self.scores(at, evidence).tolist(), strict=True):
                totals[key] = totals.get(key, 0.0) + score
        united = reduce(Evidence.union, parts)
        return united.take(range(len(united)), [totals[key] for key in united.identities()])

    def _fuse_nodes(self, parts: list[Evidence]) -> Evidence:
        """Fuse items that are single nodes without steps, with arrays: thousands of passages in a millisecond."""
        nodes, at = np.unique(np.concatenate([evidence.nodes for evidence in parts]), return_inverse=True)
        scores = np.concatenate([self.scores(i, evidence) for i, evidence in enumerate(parts)])
        return Evidence.of_nodes(nodes, np.bincount(at, scores, len(nodes)))

    @abstractmethod
    def scores(self, at: int, evidence: Evidence) -> Scores:
        """Return the addend of part `at` to the score of each of its items."""


@dataclass(frozen=True, repr=False, init=False)
class ReciprocalRank(_Fusion):
    """Fuse by rank: the sum of 1/(constant + rank) over the parts (Cormack, Clarke and Büttcher, 2009, with 60)."""

    parts: tuple[Operator, ...]
    constant: int
    scale = "sums of 1 / (constant + rank) over the searches that are fused"

    def __init__(self, *parts: Operator, constant: int = 60) -> None:
        if constant < 0:
            raise OptionError(f"ReciprocalRank(constant={constant!r}): a number, 0 or more.")
        object.__setattr__(self, "parts", _checked(parts))
        object.__setattr__(self, "constant", constant)

    def scores(self, at: int, evidence: Evidence) -> Scores:
        return 1.0 / (self.constant + np.arange(1, len(evidence) + 1))

    def __repr__(self) -> str:
        constant = "" if self.constant == 60 else f", constant={self.constant}"
        return f"ReciprocalRank({', '.join(map(repr, self.parts))}{constant})"


@dataclass(frozen=True, repr=False, init=False)
class ScoreSum(_Fusion):
    """Fuse by score: the weighted sum of an item's scores (1/rank without scores), each part's divided by its largest.

    `weights`: one per part, 1 each by default. A part whose largest score is not above 0 adds nothing.
    """

    parts: tuple[Operator, ...]
    weights: tuple[float, ...]
    scale = "sums over the searches that are fused, each up to 1 times its weight"

    def __init__(self, *parts: Operator, weights: tuple[float, ...] | None = None) -> None:
        weights = (1.0,) * len(parts) if weights is None else tuple(weights)
        if len(weights) != len(parts):
            raise OptionError(f"ScoreSum has {len(parts)} parts and {len(weights)} weights; give one weight for each.")
        object.__setattr__(self, "parts", _checked(parts))
        object.__setattr__(self, "weights", weights)

    def scores(self, at: int, evidence: Evidence) -> Scores:
        ranked = evidence.ranked_scores
        largest = ranked.max(initial=0.0)
        return self.weights[at] * ranked / largest if largest > 0 else np.zeros(len(ranked))

    def __repr__(self) -> str:
        weights = "" if set(self.weights) <= {1.0} else f", weights={self.weights}"
        return f"ScoreSum({', '.join(map(repr, self.parts))}{weights})"


def _checked(parts: tuple[Operator, ...]) -> tuple[Operator, ...]:
    if len(parts) < 2 or not all(isinstance(part, Operator) for part in parts):
        raise OptionError(f"a fusion takes two operators or more, not {parts!r}.")
    return parts
