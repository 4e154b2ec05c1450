"""One search or another: which of them runs, what it is given, and what the pipeline knows of it."""

from __future__ import annotations

import pytest
from tests.toys import GRAPHS, corpus_index, same

from graphwright import Generate, Evidence, Induce, KHop, NeedsError, OrElse, SentenceReader, ToPassages, Triples, start
from graphwright.operators.control import Reached, Repeat
from graphwright.operators.operator import Keep, Operator

FAMILY = GRAPHS["family"]


def test_the_second_runs_only_where_the_first_finds_nothing() -> None:
    found = OrElse(KHop(1), Triples())
    named = found(start("?", FAMILY, entities=["Bertha"]))
    assert same(named.evidence, KHop(1)(start("?", FAMILY, entities=["Bertha"])).evidence)
    assert [step.operator for step in named.trace] == ["KHop(1)"]
    lost = found(start("?", FAMILY, anchors=[]))
    assert lost.evidence is not None and lost.evidence.edges.tolist() == FAMILY.edges.tolist()
    assert [step.operator for step in lost.trace] == ["KHop(1)", "Triples()"]


def test_the_second_is_given_the_state_as_it_was() -> None:
    narrow = KHop(1) >> Induce() >> Keep()
    state = OrElse(narrow, Triples())(start("?", FAMILY, entities=["Bertha"]))
    # Induce cleared the evidence, so that nothing was found; the narrowed graph is not left behind.
    assert state.graph is FAMILY and state.evidence is not None and len(state.evidence) == len(FAMILY.edges)


def test_the_cut_is_handed_to_whichever_runs_and_a_cap_to_both() -> None:
    op = OrElse(KHop(2), Triples()) % 2
    assert repr(op) == "OrElse(KHop(2), Triples()) % 2"
    for anchors in ({"entities": ["Bertha"]}, {"anchors": []}):
        state = op(start("?", FAMILY, **anchors))  # type: ignore[arg-type]
        assert state.evidence is not None and len(state.evidence) == 2
    grown = Repeat(OrElse(Keep() | KHop(1), Triples()), until=Reached(nodes=3))
    state = grown(start("?", FAMILY, evidence=Evidence.of_nodes([0])))
    assert state.evidence is not None and len(state.evidence) == 3


def test_needs_of_both_are_checked_before_either_runs() -> None:
    op: Operator = OrElse(Triples(), KHop(1))
    assert op.needs == ("evidence|anchors",) and op.gives == ("evidence",)
    with pytest.raises(NeedsError, match=r"KHop\(1\)"):
        op(start("?", FAMILY))


def test_what_only_one_gives_is_not_relied_on() -> None:
    assert OrElse(Triples() >> ToPassages(), Triples()).gives == ("evidence",)


def test_an_answer_of_the_first_ends_it() -> None:
    snapshot = corpus_index().snapshot
    first = Triples() >> ToPassages() >> Generate(SentenceReader(snapshot.encoder))
    state = OrElse(first, Triples())(start("Who founded the abbey of Erstein?", snapshot.graph))
    assert state.answer is not None and state.answer.found
