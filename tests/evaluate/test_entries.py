"""Compared methods: names, options, expressions, and labels, each under a unique label."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import corpus_index

from graphwright import ToPassages, VectorSearch
from graphwright.errors import OptionError
from graphwright.evaluate.entries import ComparedMethod, entries, entry_of, split_list
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import ScriptedLLM
from graphwright.operators import Operator
from graphwright.search.snapshot import Snapshot

IX = corpus_index().snapshot


def mine(ix: Snapshot) -> Operator:
    return VectorSearch(ix.passages) % 3 >> ToPassages()


def test_entries_of_names_options_and_functions_are_built_as_they_are_said() -> None:
    result = entries(["vector", "ppr(restart=0.5)", mine])
    assert [entry.name for entry in result] == ["vector", "ppr(restart=0.5)", "mine"]
    made = [entry.built(IX) for entry in result]
    own = Method(mine(IX), *answering(IX))
    assert made == [make_method("vector", IX), make_method("ppr", IX, restart=0.5), own]


def test_label_may_precede_any_entry() -> None:
    assert [e.name for e in entries(["a = ppr", "b 2 = ppr(restart=0.5)", "lego 1 = lego-1"])] == ["a", "b 2", "lego 1"]
    assert entries(["a = ppr(restart=0.5)"])[0].options == {"restart": 0.5}


def test_space_in_quotes_is_kept() -> None:
    entry = entry_of("lego-1( pruning  =  'T  P',\n nodes=3 )")
    assert entry.options == {"pruning": "T  P", "nodes": 3} and entry.source == "lego-1(pruning='T  P', nodes=3)"


def test_method_accepts_objects() -> None:
    mine, given = ScriptedLLM(lambda system, user: "Graz", "mine"), ScriptedLLM(lambda system, user: "Linz", "given")
    own = entry_of(ComparedMethod("own", "vector", {"llm": mine}))
    assert "'mine'" in repr(own.built(IX, given)) and "'given'" not in repr(own.built(IX, given))
    assert own.source == "" and entry_of(ComparedMethod("x", "vector", {"top_k": 3})).source == "vector(top_k=3)"


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("ppr(restart='a')", "ppr: restart is 'a'; it must be a number (default: 0.5)."),
        ("ppr(restart=None)", "ppr: restart is None; it must be a number"),
        ("bubblerag(top_k='3')", "bubblerag: top_k is '3'; it must be a whole number"),
        ("rerank(first='vector')", "rerank(first='vector') cannot be built: "),
    ],
)
def test_entry_option_of_other_kind_raises_by_name(method: str, says: str) -> None:
    with pytest.raises(OptionError, match=f"^{re.escape(says)}"):
        entry_of(method).built(IX)


def test_entry_source_round_trips() -> None:
    for text in ("vector", "ppr(restart=0.5)", "fastinsight(relations=('refers to',))"):
        entry = entry_of(text)
        assert entry_of(entry.source, entry.name) == entry
    assert entry_of(mine).source == ""


def test_model_is_given_to_methods_that_take_one() -> None:
    llm = ScriptedLLM(lambda system, user: "Graz")
    assert "ScriptedLLM" in repr(entry_of("vector").built(IX, llm))
    assert "ScriptedLLM" in repr(entry_of(mine).built(IX, llm).answer)


@pytest.mark.parametrize(
    ("methods", "says"),
    [
        ([], "no methods to compare"),
        (["vektor"], "no method 'vektor'. Did you mean 'vector'"),
        (["lego-99(nodes=3)"], "no method 'lego-99"),
        (["ppr(restrat=0.5)"], "ppr has no option 'restrat'; it takes .*restart"),
        (["ppr(0.5)"], "options are written as name=value"),
        (["vector", "vector"], "Two methods have the name 'vector'"),
        ("ppr", r"methods is 'ppr'; give a list of methods, as \['ppr'\]"),
        (["ppr(restart=0.1, restart=0.5)"], "each name once"),
        (["ppr(restart={[]: 1})"], "options are written as name=value"),
        (["pathrag(order=HopFirst())"], "options are written as name=value.*Give other values in Python"),
        (["VectorSearch(3)"], "There is no method 'VectorSearch'"),
        ([3], "3 is not a method"),
        ([ComparedMethod("x", "ppr", {"hops": 3})], "ppr has no option 'hops'"),
    ],
)
def test_incomparable_entries_raise(methods: list[object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        entries(methods)  # type: ignore[arg-type]


def test_commas_in_brackets_and_quotes_do_not_split() -> None:
    text = "vector,ppr(restart=0.5, top_k=40), LinkEntities(ix.names) >> A('x,(y', [1, 2]) ,,"
    assert split_list(text) == ("vector", "ppr(restart=0.5, top_k=40)", "LinkEntities(ix.names) >> A('x,(y', [1, 2])")


@given(st.lists(st.sampled_from(sorted(METHODS)), min_size=1, unique=True))
def test_any_names_split_into_themselves(names: list[str]) -> None:
    assert split_list(", ".join(names)) == tuple(names)


def test_method_is_compared_with_and_without_llm() -> None:
    snapshot, llm = corpus_index().snapshot, ScriptedLLM(["unused"])
    listed = entries(["ppr@llm", "ppr@offline", "ppr", "wide = ppr(top_k=40) @ offline"])
    assert [entry.name for entry in listed] == ["ppr@llm", "ppr@offline", "ppr", "wide"]
    assert [entry.source for entry in listed] == ["ppr@llm", "ppr@offline", "ppr", "ppr(top_k=40)@offline"]
    assert [repr(llm) in repr(entry.built(snapshot, llm)) for entry in listed] == [True, False, True, False]
    assert repr(listed[1].built(snapshot, llm)) == repr(listed[2].built(snapshot))
    with pytest.raises(OptionError, match="ppr@llm needs a language model"):
        listed[0].built(snapshot)
    with pytest.raises(OptionError, match="vanilla needs a language model"):
        entries(["vanilla@offline"])[0].built(snapshot, llm)
    assert [entry_of(entry.source) for entry in listed[:3]] == list(listed[:3])
