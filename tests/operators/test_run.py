"""Runs: usage is counted once, shared steps run once, and each pipeline is charged its own cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Evidence, Graph, Induce, Keep, KHop, Rerank, State, Triples, start
from graphwright.errors import ModelError
from graphwright.models import HashEncoder, Usage
from graphwright.models.protocols import Floats
from graphwright.operators import HasEvidence, If, OnGraph, Operator, Reached, ReciprocalRank, Repeat, StatementGraph
from graphwright.operators.run import ModelMemory, Run, SharedSteps

CITIES = Graph.from_triples([("Graz", "on", "Mur"), ("Mur", "into", "Drava"), ("Linz", "on", "Danube")])


@dataclass(frozen=True, repr=False)
class Slow(Operator):
    """Takes a while, and counts its calls."""

    calls: list[int]
    gives = ("evidence",)

    def __hash__(self) -> int:
        return 1

    def apply(self, state: State, run: Run) -> State:
        self.calls.append(1)
        run.usage.add(Usage(texts=3, tokens=7, seconds=0.001))
        time.sleep(0.02)
        return state.with_(evidence=Evidence.of_nodes([0, 1], [2.0, 1.0]))


@dataclass(frozen=True, repr=False)
class Unhashable(Slow):
    __hash__ = None  # type: ignore[assignment]


@dataclass
class Exact:
    """An encoder with as many tokens as characters, so that the cost of each text of a batch is known."""

    id: str = "exact"

    def __hash__(self) -> int:
        return hash(self.id)

    def encode(self, texts: Sequence[str], usage: Usage | None = None) -> Floats:
        (usage or Usage()).add(Usage(calls=1, texts=len(texts), tokens=sum(len(text) + 1 for text in texts)))
        return HashEncoder().encode(texts)


def question() -> State:
    return start("On which river?", CITIES, entities=["Graz"])


def test_equal_step_on_equal_state_runs_once() -> None:
    calls: list[int] = []
    state, shared = question(), SharedSteps()
    first, cut = (Slow(calls) >> Keep())(state, Run(shared=shared)), (Slow(calls) % 1)(state, Run(shared=shared))
    again = (Keep() >> Slow(calls))(state, Run(shared=shared))
    assert len(calls) == 2, "with another cut it is another step"
    assert [len(s.evidence) for s in (first, cut, again)] == [2, 1, 2]  # type: ignore[arg-type]
    assert [step.operator.partition("(")[0] for step in again.trace] == ["Keep", "Slow"]
    Slow(calls)(state)
    assert len(calls) == 3


def test_shared_step_reports_first_time_and_usage() -> None:
    calls: list[int] = []
    state, shared = question(), SharedSteps()
    first = Slow(calls)(state, Run(shared=shared))
    begun, run = time.perf_counter(), Run(shared=shared)
    second = (Slow(calls) >> Keep())(state, run)
    assert time.perf_counter() - begun < 0.02
    assert second.trace[0].seconds == pytest.approx(first.trace[0].seconds) and first.trace[0].seconds >= 0.02
    assert (run.usage.texts, run.usage.tokens, run.usage.seconds) == (3, 7, pytest.approx(0.001))
    assert run.usage.saved == pytest.approx(first.trace[0].seconds)


@dataclass(frozen=True, repr=False)
class Around(Operator):
    step: Operator
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        return self.step.execute(state, run)


def test_step_around_shared_steps_reports_their_cost() -> None:
    calls: list[int] = []
    state, shared = question(), SharedSteps()
    Slow(calls)(state, Run(shared=shared))
    around = Around(Slow(calls))(state, Run(shared=shared))
    assert len(calls) == 1 and around.trace[-1].seconds >= 0.02


def test_unhashable_step_is_not_shared() -> None:
    calls: list[int] = []
    state, shared = question(), SharedSteps()
    for _ in range(2):
        Unhashable(calls)(state, Run(shared=shared))
    assert len(calls) == 2


def test_branches_and_views_are_shared() -> None:
    calls: list[int] = []
    state, shared = question(), SharedSteps()
    Slow(calls)(state, Run(shared=shared))
    both = (Keep() | Slow(calls))(state, Run(shared=shared))
    on_view = OnGraph(StatementGraph(), Slow(calls))(state, Run(shared=shared))
    assert len(calls) == 1 and len(both.evidence) == len(on_view.evidence) == 2  # type: ignore[arg-type]


def test_narrowed_graph_is_shared_without_caches() -> None:
    state, shared = question(), SharedSteps()
    narrow = KHop(1) % 9 >> Induce()
    first, second = narrow(state, Run(shared=shared)), narrow(state, Run(shared=shared))
    _ = first.graph.adjacency
    assert second.graph is not first.graph and "adjacency" not in vars(second.graph)
    assert second.graph.place == first.graph.place
    triples = Triples()(first, Run(shared=shared))
    assert Triples()(second, Run(shared=shared)).evidence is triples.evidence


ENCODER = Exact()
FEW, ONE = Triples() >> Rerank(ENCODER) % 2, Triples() >> Rerank(ENCODER) % 1
PIPELINES = [
    ONE,
    FEW % 1,
    FEW >> Keep() >> Rerank(ENCODER) % 1,
    ReciprocalRank(FEW, ONE),
    ReciprocalRank(ONE, FEW, constant=10) % 1,
    (ONE | FEW) >> Rerank(ENCODER),
    KHop(1) >> If(HasEvidence(), Keep(), FEW) >> Rerank(ENCODER),
    OnGraph(StatementGraph(), FEW),
    KHop(2) % 9 >> Induce() >> Repeat((Keep() | Triples()) >> Rerank(ENCODER), until=Reached(nodes=9)),
]


def cost(pipeline: Operator, run: Run) -> Any:
    state = pipeline(question(), run)
    steps = [(step.operator, step.sizes, step.usage.texts, step.usage.tokens) for step in state.trace]
    evidence = None if state.evidence is None else (state.evidence.identities(), state.evidence.scores)
    return run.usage.texts, run.usage.tokens, steps, repr(evidence)


@given(st.lists(st.sampled_from(PIPELINES), min_size=2, max_size=5, unique_by=repr))
def test_pipeline_cost_is_equal_alone_and_beside_others(pipelines: list[Operator]) -> None:
    alone = [cost(pipeline, Run(charged=set())) for pipeline in pipelines]
    memory, shared = ModelMemory(), SharedSteps()
    together = [cost(pipeline, Run(memory=memory, charged=set(), shared=shared)) for pipeline in pipelines]
    assert together == alone


def test_cached_vector_is_free_without_attribution() -> None:
    memory = ModelMemory()
    first, second = Run(memory=memory), Run(memory=memory)
    vectors = [run.encode(ENCODER, ["a", "b", "a"]).tolist() for run in (first, second)]
    assert vectors[0] == vectors[1] and (first.usage.texts, second.usage.texts) == (2, 0)


def test_memory_drops_least_recently_used() -> None:
    run = Run(memory=ModelMemory(rows=2))
    for text in ("a", "b", "a", "c", "a", "b"):
        run.encode(ENCODER, [text])
    assert run.usage.texts == 4


def test_model_is_not_called_without_texts() -> None:
    class Refuses:
        def encode(self, texts: Sequence[str]) -> Floats:
            raise AssertionError

        latents = read = head = encode

    run = Run()
    assert len(run.encode(Refuses(), [])) == len(run.scores(Refuses(), "q", [])) == 0  # type: ignore[arg-type]
    assert run.read(Refuses(), "q", []) == [] and run.usage == Usage()  # type: ignore[arg-type]


def test_unhashable_encoder_is_cached_by_identity() -> None:
    @dataclass
    class Unhashed(Exact):
        __hash__ = None  # type: ignore[assignment]

    first, second, run = Unhashed(), Unhashed(), Run()
    for encoder in (first, first, second):
        run.encode(encoder, ["a"])
    assert run.usage.texts == 2


def test_overridden_plain_method_is_called() -> None:
    class Zero(Exact):
        def encode(self, texts: Sequence[str]) -> Floats:
            return 0 * HashEncoder().encode(texts)

    run = Run()
    assert not run.encode(Zero(), ["a"]).any() and run.usage.texts == 1


def test_encoder_with_too_few_rows_raises() -> None:
    class Short:
        def encode(self, texts: Sequence[str]) -> Floats:
            return HashEncoder().encode(texts)[:1]

    with pytest.raises(ModelError, match="for 2 texts"):
        Run().encode(Short(), ["a", "b"])
