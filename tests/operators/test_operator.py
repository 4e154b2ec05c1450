"""The algebra: composition, cutting, union, repetition, wiring and trace."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.shared import GRAPHS
from tests.toys import family_state, same

from graphwright import Evidence, Graph, Induce, Keep, KHop, PersonalizedPageRank, Triples, start
from graphwright.errors import NeedsError, OptionError
from graphwright.graph.graph import Kind
from graphwright.models import Usage
from graphwright.operators import HasEvidence, If, OnGraph, Only, Reached, Repeat
from graphwright.operators.operator import Cut, Operator, Ranker, Then
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, State


@dataclass(frozen=True, repr=False)
class Give(Operator):
    """Gives fixed nodes, best first."""

    nodes: tuple[int, ...]
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        run.usage.add(Usage(tokens=len(self.nodes)))
        return state.with_(evidence=Evidence.of_nodes(self.nodes, [1 / (i + 1) for i in range(len(self.nodes))]))


@dataclass(frozen=True, repr=False)
class Early(Ranker):
    """Remembers how many pieces it was told to keep."""

    asked: tuple[int | None, ...] = ()
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        TOLD.append(k)
        return state.with_(evidence=Evidence.of_nodes([0, 1, 2, 3], [4, 3, 2, 1]).top(4 if k is None else k))


@dataclass(frozen=True, repr=False)
class Neighbours(Operator):
    """Gives the next node that the evidence does not hold, as a fusion step would."""

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        assert state.evidence is not None
        new = [v for v in range(5) if v not in state.evidence.nodes][:2]
        return state.with_(evidence=Evidence.of_nodes(new))


@dataclass(frozen=True, repr=False)
class Say(Operator):
    """Answers at once."""

    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        return state.with_(answer=Answer("enough"))


TOLD: list[int | None] = []
LINE = GRAPHS["line"]
STATE = start("?", LINE)


def nodes(state: State) -> list[int]:
    assert state.evidence is not None
    return state.evidence.nodes.tolist()


def test_then_is_associative_and_flat() -> None:
    a, b, c = Give((0,)), Keep(), Triples()
    assert (a >> b) >> c == a >> (b >> c) == Then((a, b, c))


def test_operator_precedence_equals_python() -> None:
    pipeline = Give((0, 1)) % 1 >> Keep() | Give((2,))
    assert repr(pipeline) == "Give((0, 1)) % 1 >> Keep() | Give((2,))"
    assert repr(Keep() >> (Keep() | Keep()) >> Keep() % 2) == "Keep() >> (Keep() | Keep()) >> Keep() % 2"
    assert repr((Keep() >> Keep()) % 2) == "(Keep() >> Keep()) % 2"


@pytest.mark.parametrize(
    "made",
    [
        Give((0,)) >> Keep() % 3,
        (Keep() | Give((1,))) % 2,
        Keep() | (Keep() | Keep()),
        Repeat((Keep() | Neighbours() % 1) >> Keep(), until=Reached(nodes=3)),
        PersonalizedPageRank(0.3, each=True) % 4 >> Induce() >> Triples(),
        Only(Kind.CHUNK) >> KHop(2),
    ],
    ids=repr,
)
def test_operator_repr_is_source(made: Operator) -> None:
    assert eval(repr(made)) == made
    assert hash(eval(repr(made))) == hash(made)


def test_trace_says_what_step_does_with_its_values() -> None:
    state = (Give((0,)) >> KHop(2))(family_state())
    assert [step.about for step in state.trace] == ["Gives fixed nodes", "Find the nodes within 2 hops of the seeds"]


def test_union_keeps_first_order_without_scores() -> None:
    both = (Give((3, 1)) | Give((1, 2, 3, 0)))(STATE)
    assert nodes(both) == [3, 1, 2, 0]
    assert both.evidence is not None and both.evidence.scores is None


def test_union_takes_other_fields_from_first() -> None:
    state = family_state()
    narrowed = (Give((0,)) | (Give((1, 2)) >> Induce() >> Triples()))(state)
    assert narrowed.graph is state.graph
    assert len(narrowed.evidence or ()) == 2


def test_cut_reaches_operator_that_stops_early() -> None:
    TOLD.clear()
    assert nodes((Early() % 2)(STATE)) == [0, 1]
    assert nodes(((Keep() >> Early()) % 3)(STATE)) == [0, 1, 2]
    assert nodes((Early() % 3 % 1)(STATE)) == [0]
    assert nodes(((Early() | Give((4,))) % 2)(STATE)) == [0, 1]
    assert TOLD == [2, 3, 1, 2]


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3", None])
def test_cut_with_invalid_number_raises(k: object) -> None:
    with pytest.raises(OptionError, match="at least 1"):
        Keep() % k  # type: ignore[operator]


def test_repeat_stops_when_enough_and_caps_unions() -> None:
    loop = Give((0,)) >> Repeat(Keep() | Neighbours(), until=Reached(nodes=4))
    assert nodes(loop(STATE)) == [0, 1, 2, 3]


def test_repeat_stops_when_step_adds_nothing() -> None:
    loop = Give((0,)) >> Repeat(Keep() | Neighbours(), until=Reached(nodes=99))
    assert nodes(loop(STATE)) == [0, 1, 2, 3, 4]
    assert len((Give((0,)) >> Repeat(Keep(), until=Reached(nodes=99)))(STATE).trace) == 2


def test_wiring_error_names_step_need_and_remedy() -> None:
    TOLD.clear()
    with pytest.raises(
        NeedsError,
        match=r"step 3 of 4, Neighbours\(\) % 2, needs 'evidence', which no earlier step gives. Put a search",
    ):
        (Early() >> Induce() >> Neighbours() % 2 >> Keep())(STATE)
    assert TOLD == []
    with pytest.raises(NeedsError, match="'evidence' or 'anchors'"):
        PersonalizedPageRank()(STATE)


def test_pipeline_computes_needs_and_gives() -> None:
    assert (Keep() >> PersonalizedPageRank() >> Induce()).needs == ("evidence|anchors",)
    assert (Give((0,)) >> Neighbours()).needs == ()
    assert (Neighbours() % 3 | Give((0,))).needs == ("evidence",)
    assert Repeat(Neighbours(), until=Reached(nodes=1)).needs == ("evidence",)
    assert (Give((0,)) >> Induce()).gives == ("graph",)


def test_empty_evidence_meets_need_and_none_does_not() -> None:
    empty = start("?", LINE, evidence=Evidence.of_nodes([]))
    assert len(PersonalizedPageRank()(empty).evidence or ()) == 0
    with pytest.raises(NeedsError):
        Induce()(STATE)


def test_trace_has_step_per_operator_with_cost() -> None:
    trace = (Give((0, 1)) >> (Keep() | Give((2,))) >> Keep() % 2)(STATE).trace
    assert [s.operator for s in trace] == ["Give((0, 1))", "Keep()", "Give((2,))", "Keep() % 2"]
    assert [s.usage.tokens for s in trace] == [2, 0, 1, 0]
    assert [s.sizes["evidence"] for s in trace] == [2, 2, 1, 2]
    assert all(s.seconds >= 0 for s in trace)
    assert trace[0].after is not None and trace[0].after.trace == ()


def test_answered_state_passes_through_pipeline() -> None:
    done = (Give((0,)) >> Say())(STATE)
    assert (Give((1, 2)) | Triples())(done) is done
    assert Repeat(Neighbours(), until=Reached(nodes=9))(done) is done


def test_narrowing_keeps_snapshot_ids_and_clears_evidence() -> None:
    narrowed = (Give((3, 1, 2)) >> Induce())(STATE)
    assert narrowed.evidence is None
    assert narrowed.graph.nodes.tolist() == [1, 2, 3]
    assert Triples()(narrowed).evidence.edges.tolist() == [1, 2]  # type: ignore[union-attr]


def test_triples_narrow_to_their_ends() -> None:
    state = start("?", LINE, evidence=Evidence.of_edges([3]))
    assert Induce()(state).graph.nodes.tolist() == [3, 4]


def test_union_of_empty_parts_is_empty() -> None:
    assert (Keep() | Keep())(STATE).evidence is None
    assert same((Keep() | Give((1,)))(STATE).evidence, Evidence.of_nodes([1]))


def test_cut_is_value() -> None:
    assert Keep() % 3 == Cut(Keep(), 3)
    assert len({Keep() % 3, Keep() % 3, Keep() % 4}) == 2


def test_search_of_empty_graph_is_empty() -> None:
    empty = Graph.from_triples([])
    state = start("?", empty, evidence=Evidence.of_nodes([]))
    assert len((Triples() % 3)(state).evidence or ()) == 0
    assert len((PersonalizedPageRank() % 3 >> Induce())(state).graph) == 0


@pytest.mark.parametrize("wrong", [None, 5, "Keep()", Keep])
@pytest.mark.parametrize(
    "composed",
    [
        lambda wrong: Keep() >> wrong,
        lambda wrong: Keep() | wrong,
        lambda wrong: Cut(wrong, 3),
        lambda wrong: Repeat(wrong, until=Reached(3)),
        lambda wrong: If(HasEvidence(), Keep(), wrong),
        lambda wrong: OnGraph(lambda graph: graph, wrong),
    ],
)
def test_pipeline_with_non_operator_raises(composed: Callable[[Any], Operator], wrong: Any) -> None:
    with pytest.raises(OptionError, match=r"operator, such as|is not an operator"):
        composed(wrong)


def test_pipeline_with_invalid_state_or_condition_raises() -> None:
    with pytest.raises(OptionError, match="None is not a state"):
        Keep()(None)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="until is None; it must be a function"):
        Repeat(Keep(), until=None)  # type: ignore[arg-type]
