"""Control: the selected branch, its input state, and the needs and results of the pipeline."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.scripted import WordReader
from tests.shared import GRAPHS, corpus_index
from tests.toys import same

from graphwright import Evidence, Induce, Keep, KHop, ToPassages, Triples, start
from graphwright.errors import NeedsError
from graphwright.generate import Quote
from graphwright.graph import Graph
from graphwright.operators import Fallback, HasEvidence, If, OnGraph, Operator, Reached, Repeat
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State

FAMILY = GRAPHS["family"]
SEARCH_OR_ALL = KHop(1) >> If(HasEvidence(), Keep(), Triples())


def test_if_runs_branch_selected_by_state() -> None:
    linked = SEARCH_OR_ALL(start("?", FAMILY, entities=["Bertha"]))
    assert same(linked.evidence, KHop(1)(start("?", FAMILY, entities=["Bertha"])).evidence)
    assert [step.operator for step in linked.trace] == ["KHop(1)", "Keep()"]
    unlinked = SEARCH_OR_ALL(start("?", FAMILY, anchors=[]))
    assert unlinked.evidence is not None and unlinked.evidence.edges.tolist() == FAMILY.edges.tolist()
    assert [step.operator for step in unlinked.trace] == ["KHop(1)", "Triples()"]


def test_if_passes_cut_and_cap_to_branches() -> None:
    op = If(HasEvidence(), Keep(), Triples()) % 2
    assert repr(op) == "If(HasEvidence(), Keep(), Triples()) % 2"
    for evidence in (Evidence.of_nodes([0, 1, 2]), None):
        state = op(start("?", FAMILY, evidence=evidence))
        assert state.evidence is not None and len(state.evidence) == 2
    grown = Repeat(If(HasEvidence(), Keep() | KHop(1), Triples()), until=Reached(nodes=3))
    state = grown(start("?", FAMILY, evidence=Evidence.of_nodes([0])))
    assert state.evidence is not None and len(state.evidence) == 3


def test_if_needs_union_of_branch_needs() -> None:
    op: Operator = If(HasEvidence(), Triples(), KHop(1))
    assert op.needs == ("evidence|anchors",) and op.gives == ("evidence",)
    with pytest.raises(NeedsError, match=r"KHop\(1\)"):
        op(start("?", FAMILY))


def test_if_gives_intersection_of_branch_gives() -> None:
    assert If(HasEvidence(), Triples() >> ToPassages(), Triples()).gives == ("evidence",)


def test_answered_state_passes_through_control() -> None:
    snapshot = corpus_index().snapshot
    answering = Triples() >> ToPassages() >> Quote(WordReader())
    state = (answering >> If(HasEvidence(), Triples(), Triples()))(
        start("Who founded the abbey of Erstein?", snapshot.graph)
    )
    assert state.answer is not None and [step.operator for step in state.trace][-1].startswith("Quote")


def test_on_graph_restores_graph() -> None:
    def part(graph: Graph) -> Graph:
        return graph.part([0, 1])

    state = OnGraph(part, Triples())(start("?", FAMILY))
    assert state.graph is FAMILY and state.evidence is not None
    assert len(state.evidence) == len(FAMILY.part([0, 1]).edges) < len(FAMILY.edges)
    assert OnGraph(part, Induce())(start("?", FAMILY, evidence=Evidence.of_nodes([0]))).graph is FAMILY


@dataclass(frozen=True, repr=False)
class Failing(Operator):
    """Streams a text, sets anchors, and fails or not."""

    fails: bool
    text: str = ""
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        if self.text and run.on_text is not None:
            run.on_text(self.text)
        if self.fails:
            run.fail("of no use")
        return state.with_(anchors=(Anchor(self.text or "none"),))


def test_fallback_after_failure_runs_second_on_earlier_state() -> None:
    state = Fallback(Failing(True, "first"), Failing(False, "second"))(start("?", GRAPHS["family"]))
    assert [anchor.text for anchor in state.anchors or ()] == ["second"]
    assert [(step.failed, step.notes) for step in state.trace] == [(True, ("of no use",)), (False, ())]


def test_fallback_after_usable_result_runs_no_second() -> None:
    state = Fallback(Failing(False, "first"), Failing(True, "second"))(start("?", GRAPHS["family"]))
    assert [anchor.text for anchor in state.anchors or ()] == ["first"] and len(state.trace) == 1


def test_fallback_streams_no_second_text_after_first() -> None:
    heard: list[str] = []
    for first in ("first", ""):
        Fallback(Failing(True, first), Failing(False, "second"))(
            start("?", GRAPHS["family"]), Run(on_text=heard.append)
        )
    assert heard == ["first", "second"]


def test_fallback_of_steps_counts_last_one() -> None:
    steps = Failing(True) >> Failing(False, "later")
    state = Fallback(steps, Failing(False, "second"))(start("?", GRAPHS["family"]))
    assert [anchor.text for anchor in state.anchors or ()] == ["later"]
