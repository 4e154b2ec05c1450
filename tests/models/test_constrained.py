"""Grammars of given texts: an independent reader of GBNF accepts the texts and nothing else; and decoding by them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.grammars import GrammarLLM, language

from graphwright.errors import BudgetError, LLMResponseError
from graphwright.models import BudgetedLLM, CachedLLM, ScriptedLLM
from graphwright.models.constrained import Unconstrained, decode, grammar_of
from graphwright.models.protocols import LLM

TEXTS = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=12)


@given(TEXTS)
def test_grammar_accepts_given_texts_only(texts: list[str]) -> None:
    grammar = grammar_of(texts)
    assert language(grammar) == set(texts)
    assert grammar.isascii() and all(" ::= " in line for line in grammar.split("\n"))


def written(llm: LLM, texts: list[str], k: int) -> list[str]:
    return decode(llm, texts, k, lambda m: m.complete("", "?"))


def test_constrained_request_omits_written_texts() -> None:
    server = GrammarLLM()
    assert len(set(written(server, ["a", "c", "b"], 2))) == 2 and len(server.grammars) == 2
    assert sorted(written(server, ["a", "c", "b", "c"], 9)) == ["a", "b", "c"]
    assert server.grammars[2:] == ['root ::= "a" | "b" | "c"', server.grammars[1]]


def test_wrappers_pass_grammar_on(tmp_path: Path) -> None:
    server = GrammarLLM()
    llm = CachedLLM(BudgetedLLM(server, max_tokens=17), tmp_path / "replies.sqlite")
    first = written(llm, ["a", "b", "c"], 1)
    assert first == written(llm, ["a", "b", "c"], 1) and llm.llm.spent.calls == 1  # type: ignore[attr-defined]
    assert written(llm, ["a", "b"], 1) and llm.llm.spent.prompt_tokens == 10  # type: ignore[attr-defined]
    held = BudgetedLLM(server, max_tokens=0)
    with pytest.raises(BudgetError):
        written(held, ["a long text", "b"], 1)
    with pytest.raises(Unconstrained, match="takes no grammar"):
        written(CachedLLM(ScriptedLLM(["a"]), tmp_path / "other.sqlite"), ["a", "b"], 1)


def test_ignored_or_refused_grammar_is_noticed() -> None:
    class Ignoring(GrammarLLM):
        def with_grammar(self, grammar: str) -> GrammarLLM:
            return self

    class Refusing(GrammarLLM):
        def with_grammar(self, grammar: str) -> GrammarLLM:
            raise LLMResponseError("Unrecognized request argument supplied: grammar")

    with pytest.raises(Unconstrained, match="a text which its grammar does not allow"):
        written(Ignoring(), ["a", "b"], 1)
    with pytest.raises(Unconstrained, match="Unrecognized"):
        written(Refusing(), ["a", "b"], 1)
