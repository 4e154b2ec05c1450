"""Method: three parts and a budget, and methods from operators, functions and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.shared import corpus_index, passages_in, prompt_of

from graphwright import Keep, ToPassages, VectorSearch, start
from graphwright.errors import OptionError
from graphwright.generate import Generate, PassageContext, PathContext, Quote
from graphwright.generate.path_answers import TargetAnswer
from graphwright.methods.answering import answering
from graphwright.methods.method import Method, read_method_file
from graphwright.methods.registry import make_method, method_of
from graphwright.models import MiniLMReader, ScriptedLLM
from graphwright.operators import Fallback, HasEvidence, LinkEntities, ShortestPaths
from graphwright.operators.control import If

INDEX = corpus_index()
SNAPSHOT = INDEX.snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"
REPLY = '{"found": true, "text": "Erstein.", "citations": []}'
SEARCH = VectorSearch(SNAPSHOT.passages) % 5


def test_method_with_budget_shows_model_so_many_passages() -> None:
    method = Method(SEARCH >> ToPassages(), PassageContext(), Generate(ScriptedLLM([REPLY] * 2)), passages=2)
    assert len(passages_in(prompt_of(method(start(QUESTION, SNAPSHOT.graph))))) == 2
    assert len(passages_in(prompt_of(method.within(passages=3)(start(QUESTION, SNAPSHOT.graph))))) == 3


def test_budget_of_context_with_branches_reaches_each_branch() -> None:
    method = Method(SEARCH, If(HasEvidence(), PassageContext(), PathContext()), passages=4, tokens=900)
    assert repr(method.ending) == (
        "If(HasEvidence(), PassageContext(passages=4, tokens=900), PathContext(passages=4, tokens=900))"
    )


def test_method_repr_evaluates_to_equal_method() -> None:
    method = Method(ShortestPaths(), PathContext(), TargetAnswer(), passages=3)
    assert repr(method) == "Method(ShortestPaths(), context=PathContext(), answer=TargetAnswer(), passages=3)"
    assert eval(repr(method), {**globals()}) == method != replace(method, tokens=900)


def test_method_of_operator_that_searches_answers_as_all_methods_do() -> None:
    method = method_of(SEARCH, SNAPSHOT)
    assert (method.context, method.answer) == answering(SNAPSHOT) and method.search == SEARCH >> ToPassages()
    llm = ScriptedLLM([REPLY])
    assert isinstance(method_of(SEARCH, SNAPSHOT, llm).answer, Fallback)


def test_method_of_operator_that_answers_is_that_operator() -> None:
    own = SEARCH >> ToPassages() >> Quote(MiniLMReader())
    method = method_of(lambda ix: own, SNAPSHOT)
    assert method.pipeline == own and method.retrieval == SEARCH >> ToPassages()
    assert INDEX.retrieve(QUESTION, own).answer is None and INDEX.ask(QUESTION, own).answer is not None


def test_method_of_function_with_parameter_llm_gets_model() -> None:
    llm = ScriptedLLM([REPLY])

    def build(ix: object, llm: object = None) -> Method:
        return Method(SEARCH >> ToPassages(), PassageContext(), Keep() if llm is None else Generate(llm))  # type: ignore[arg-type]

    assert method_of(build, SNAPSHOT, llm).answer == Generate(llm) and method_of(build, SNAPSHOT).answer == Keep()


def test_ask_and_retrieve_take_method() -> None:
    method = make_method("bm25", SNAPSHOT, top_k=3)
    assert INDEX.ask(QUESTION, method).answer == INDEX.ask(QUESTION, "bm25", top_k=3).answer
    with pytest.raises(OptionError, match="filter"):
        INDEX.ask(QUESTION, method, filter={"documents": ["bread"]})


FILE = "from graphwright.operators import KHop, LinkEntities\n"


@pytest.mark.parametrize("name", ["method", "mine"])
def test_read_method_file_with_one_function_is_named_after_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "two_hops.py"
    path.write_text(f"{FILE}def {name}(ix):\n    return LinkEntities(ix.names) >> KHop(2)\n", encoding="utf-8")
    build = read_method_file(path)
    assert build.__name__ == "two_hops"  # type: ignore[attr-defined]
    assert method_of(build, SNAPSHOT).search.operators[0] == LinkEntities(SNAPSHOT.names)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no function named method: it defines no function"),
        ("def a(ix): ...\ndef b(ix): ...\n", "it defines a, b"),
        ("def method(ix:\n", "cannot be run: SyntaxError"),
        ("1 / 0\n", "cannot be run: ZeroDivisionError"),
        ("raise SystemExit\n", "cannot be run: SystemExit"),
    ],
)
def test_read_method_file_without_method_raises(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match=message):
        read_method_file(path)
    with pytest.raises(OptionError, match="cannot be run: FileNotFoundError"):
        read_method_file(tmp_path / "none.py")
