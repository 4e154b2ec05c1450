"""The method `graph` over a graph without documents: computed, or a language model reads the statements near."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.operators.query.steps import NOT_COMPUTABLE, query_reply
from tests.shared import prompt_of

from graphwright import Graph, Index
from graphwright.errors import OptionError
from graphwright.generate.query_answer import NOT_ENGLISH
from graphwright.models import HashEncoder, ScriptedLLM

PACKAGES = [
    ("gimp", "depends on", "gtk"),
    ("inkscape", "depends on", "gtk"),
    ("gtk", "depends on", "glib"),
    ("gimp", "license", "GPL"),
    ("gtk", "license", "LGPL"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("graph") / "index"
    return Index.from_graph(folder, Graph.from_triples(PACKAGES), encoder=HashEncoder())


def test_computed_answer_has_its_query_and_statements(index: Index) -> None:
    state = index.ask("What is the license of gimp?")
    assert state.answer.short == ("GPL",) and state.answer.citations[0].path == ("gimp", "license", "GPL")
    assert state.query is not None and state.query.notation == '"gimp".license'
    assert state.evidence.texts(state.graph) == ["gimp → [license] → GPL"]


def test_confidence_above_the_probability_gives_no_answer(index: Index) -> None:
    answer = index.ask("What is the license of gimp?", index.method("graph", confidence=1.0)).answer
    assert not answer.found and answer.short == () and answer.citations == ()
    assert answer.text == "The graph does not say. The nearest that it records is: gimp license GPL"


def test_confidence_outside_0_to_1_is_an_error(index: Index) -> None:
    with pytest.raises(OptionError, match="threshold"):
        index.method("graph", confidence=2.0)


def test_hops_above_4_is_an_error(index: Index) -> None:
    with pytest.raises(OptionError, match="length"):
        index.method("graph", hops=9)


def test_name_that_the_graph_lacks_gives_no_answer(index: Index) -> None:
    answer = index.ask("When was Napoleon born?").answer
    assert not answer.found and answer.text.startswith("The graph does not say.")


def test_question_in_another_language_is_refused_with_the_reason(index: Index) -> None:
    answer = index.ask("Welche Lizenz hat gimp?").answer
    assert not answer.found and answer.short == () and NOT_ENGLISH in answer.text


def test_language_model_computes_or_reads_statements(index: Index) -> None:
    computed = index.ask("What needs gtk?", llm=ScriptedLLM([query_reply('"gtk" . ~[depends on]')]))
    assert sorted(computed.answer.short) == ["gimp", "inkscape"]
    reply = '{"found": true, "text": "It costs nothing.", "citations": []}'
    prompt = prompt_of(index.ask("What does gimp cost?", llm=ScriptedLLM([NOT_COMPUTABLE, reply])))
    assert "gimp license GPL" in prompt and "gimp depends on gtk" in prompt


def test_retrieval_without_a_probable_query_gives_statements_near_the_names(index: Index) -> None:
    state = index.retrieve("What does gimp cost?", index.method("graph", confidence=1.0))
    assert {"gimp license GPL", "gimp depends on gtk"} <= set(state.evidence.texts(state.graph))


def test_foreign_labels_name_node(tmp_path: Path) -> None:
    label, located = "<http://www.w3.org/2000/01/rdf-schema#label>", "<http://x/locatedIn>"
    (tmp_path / "kb.nt").write_text(
        f'<http://x/1> {label} "Vienna"@en .\n<http://x/1> {label} "Wien"@de .\n<http://x/2> {label} "Austria"@en .\n'
        f"<http://x/1> {located} <http://x/2> .\n"
    )
    with Index.from_graph(tmp_path / "index", tmp_path / "kb.nt") as index:
        assert index.ask("Where is Wien located?").answer.short == ("Austria",)
