"""Steps that pipelines have in common are done once, and each pipeline's trace is what it would have been alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from contextvars import Context
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright import (
    Evidence,
    Graph,
    Induce,
    Keep,
    KHop,
    OrElse,
    Reached,
    ReciprocalRank,
    Repeat,
    Rerank,
    Triples,
    metered,
    start,
)
from graphwright.models.base import spend
from graphwright.models.protocols import Floats
from graphwright.models.bills import billed
from graphwright.models.cache import CachedEncoder
from graphwright.models.fake import HashEncoder
from graphwright.operators.control import OnGraph
from graphwright.operators.operator import Operator
from graphwright.operators.sharing import shared, sharing
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.views import StatementGraph

CITIES = Graph.from_triples([("Graz", "on", "Mur"), ("Mur", "into", "Drava"), ("Linz", "on", "Danube")])


@dataclass(frozen=True, repr=False)
class Slow(Operator):
    """Takes a while, and counts how often."""

    ran: list[int]
    gives = ("evidence",)

    def __hash__(self) -> int:
        return 1

    def apply(self, state: State, run: Run) -> State:
        self.ran.append(1)
        spend(texts=3, tokens=7, seconds=0.001)
        time.sleep(0.02)
        return state.with_(evidence=Evidence.of_nodes([0, 1], [2.0, 1.0]))


@dataclass(frozen=True, repr=False)
class Unhashable(Slow):
    __hash__ = None  # type: ignore[assignment]


def asked() -> State:
    return start("On which river?", CITIES, entities=["Graz"])


def said(state: State) -> Any:
    found = state.evidence
    steps = [(step.operator, step.sizes, step.usage.texts, step.usage.tokens) for step in state.trace]
    return None if found is None else (found.identities(), found.scores), len(state.graph), steps


def test_an_equal_step_on_an_equal_state_is_done_once():
    ran: list[int] = []
    state = asked()
    with sharing():
        one, other = (Slow(ran) >> Keep())(state), (Slow(ran) % 1)(state)
        again = (Keep() >> Slow(ran))(state)
    assert len(ran) == 2, "with another cut it is another step"
    assert [len(s.evidence) for s in (one, other, again)] == [2, 1, 2]
    assert [step.operator.partition("(")[0] for step in again.trace] == ["Keep", "Slow"]
    assert shared() is None
    Slow(ran)(state)
    assert len(ran) == 3


def test_a_shared_step_bears_the_time_and_the_models_work_of_the_first():
    ran: list[int] = []
    state = asked()
    with sharing():
        first = Slow(ran)(state)
        begun = time.perf_counter()
        with metered() as usage:
            second = (Slow(ran) >> Keep())(state)
        assert time.perf_counter() - begun < 0.02
    assert second.trace[0] is first.trace[0] and first.trace[0].seconds >= 0.02
    assert (usage.texts, usage.tokens, usage.seconds) == (3, 7, 0.001)
    assert usage.saved == pytest.approx(first.trace[0].seconds)


@dataclass(frozen=True, repr=False)
class Around(Operator):
    step: Operator
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        return self.step.run(state)


def test_a_step_around_shared_steps_bears_what_these_took():
    ran: list[int] = []
    state = asked()
    with sharing():
        Slow(ran)(state)
        around = Around(Slow(ran))(state)
    assert len(ran) == 1 and around.trace[-1].seconds >= 0.02


def test_what_cannot_be_compared_is_not_shared():
    ran: list[int] = []
    state = asked()
    with sharing():
        Unhashable(ran)(state), Unhashable(ran)(state)
    assert len(ran) == 2


def test_a_branch_and_a_wrapped_step_are_shared_too():
    ran: list[int] = []
    state = asked()
    with sharing():
        Slow(ran)(state)
        both, elsewhere = (Keep() | Slow(ran))(state), OnGraph(StatementGraph(), Slow(ran))(state)
    assert len(ran) == 1 and len(both.evidence) == len(elsewhere.evidence) == 2


def test_a_narrowed_graph_is_shared_without_what_others_worked_out_from_it():
    state = asked()
    narrow = KHop(1) % 9 >> Induce()
    with sharing():
        first, second = narrow(state), narrow(state)
        _ = first.graph.adjacency
        assert second.graph is not first.graph and "adjacency" not in vars(second.graph)
        assert second.graph.place == first.graph.place
        one = Triples()(first)
        assert Triples()(second).trace[-1] is one.trace[-1]


def test_a_vector_made_in_a_shared_step_is_not_paid_for_twice():
    encoder = CachedEncoder(HashEncoder())
    pipelines = [Triples() >> Rerank(encoder) % 2, Triples() >> Rerank(encoder) % 2 >> Keep() >> Rerank(encoder) % 1]
    alone = []
    for pipeline in pipelines:
        object.__setattr__(encoder, "_recent", type(encoder._recent)())
        with billed(), metered() as usage:
            pipeline(asked())
        alone.append(usage.texts)
    object.__setattr__(encoder, "_recent", type(encoder._recent)())
    state, together = asked(), []
    with sharing():
        for pipeline in pipelines:
            with billed(), metered() as usage:
                pipeline(state)
            together.append(usage.texts)
    assert together == alone


def costs(pipelines: list[Operator], encoder: CachedEncoder, together: bool) -> dict[str, Any]:
    """What each pipeline takes, and each of its steps, every one with a bill of its own."""
    found: dict[str, Any] = {}
    with sharing() if together else nullcontext():
        for pipeline in pipelines:
            if not together:
                encoder._recent.clear()
            with billed(), metered() as usage:
                after = pipeline(asked())
            found[repr(pipeline)] = usage.texts, usage.tokens, said(after)
    return found


@dataclass(frozen=True)
class Exact:
    """An encoder whose tokens are as many as characters, so that what a text of a batch took is known."""

    id: str = "exact"

    def encode(self, texts: Sequence[str]) -> Floats:
        spend(texts=len(texts), tokens=sum(len(text) + 1 for text in texts))
        return Context().run(HashEncoder().encode, texts)  # with no meter


ENCODER = CachedEncoder(Exact())
FEW, ONE = Triples() >> Rerank(ENCODER) % 2, Triples() >> Rerank(ENCODER) % 1
PIPELINES = [
    ONE,
    FEW % 1,
    FEW >> Keep() >> Rerank(ENCODER) % 1,
    ReciprocalRank(FEW, ONE),
    ReciprocalRank(ONE, FEW, constant=10) % 1,
    (ONE | FEW) >> Rerank(ENCODER),
    OrElse(KHop(1), FEW) >> Rerank(ENCODER),
    OnGraph(StatementGraph(), FEW),
    KHop(2) % 9 >> Induce() >> Repeat((Keep() | Triples()) >> Rerank(ENCODER), until=Reached(nodes=9)),
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIPELINES), min_size=2, max_size=5, unique_by=repr))
def test_whatever_others_are_asked_and_when_a_pipeline_takes_what_it_takes_alone(some: list[Operator]):
    ENCODER._recent.clear()
    together = costs(some, ENCODER, True)
    assert repr(together) == repr(costs(some, ENCODER, False))


def test_steps_inside_a_shared_step_stay_in_the_trace():
    state = asked()
    around = Keep() >> Around(KHop(1) % 2) >> Keep()
    alone = [step.operator for step in around(state).trace]
    with sharing():
        for _ in range(2):
            assert [step.operator for step in around(state).trace] == alone
    assert len(alone) == 4


def test_pipelines_find_the_same_together_as_alone():
    encoder = HashEncoder()
    pipelines = [
        KHop(2) % 9 >> Induce() >> Triples() >> Rerank(encoder) % 2,
        KHop(2) % 9 >> Induce() >> Triples() >> Rerank(encoder) % 1,
        (Keep() | KHop(2) % 9 >> Induce() >> Triples()) >> Rerank(encoder) % 2,
        OnGraph(StatementGraph(), KHop(1) % 2),
    ]
    alone = [said(pipeline(asked())) for pipeline in pipelines]
    state = asked()
    with sharing():
        together = [said(pipeline(state)) for pipeline in pipelines]
    assert [repr(one) for one in together] == [repr(one) for one in alone]
