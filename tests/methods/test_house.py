"""The methods `multihop` and `ppr`: what they find, and PageRank against an independent reference.

The method `graph` over a graph without documents: computed, or a language model reads the statements near.
"""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
from tests.operators.query.steps import NOT_COMPUTABLE, query_reply
from tests.shared import GRAPHS, corpus_index, prompt_of
from tests.toys import as_networkx, knowledge

from graphwright import Graph, Index, VectorSearch, start
from graphwright.errors import OptionError
from graphwright.generate.query_answer import NOT_ENGLISH
from graphwright.graph.graph import Kind
from graphwright.methods.registry import default_method, make_method
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.operators import AnchorNodes, LinkEntities, ScoreSum, WordSearch

SNAPSHOT = corpus_index().snapshot
QUESTION = "What was destroyed that the daughter of Hugh of Tours founded?"


def test_multihop_is_default_on_documents() -> None:
    assert default_method(imported=False) == "multihop" and default_method(imported=True) == "graph"
    walk, _, score = repr(make_method("multihop", SNAPSHOT, top_k=7).pipeline).partition("ScorePassages(")
    assert "PersonalizedPageRank(restart=0.5) % 500 >> Only(" in walk and ") % 7 >> ToPassages() >> " in score


def test_multihop_finds_both_passages_of_two_hops() -> None:
    state = corpus_index().retrieve(QUESTION, "multihop")
    assert state.passages is not None
    assert {"ermengarde", "erstein"} <= {passage.document for passage in list(state.passages)[:3]}


@pytest.mark.parametrize("restart", [0.3, 0.5])
def test_ppr_equals_plain_pagerank(restart: float) -> None:
    state = LinkEntities(SNAPSHOT.names)(start(QUESTION, SNAPSHOT.graph))
    hybrid = ScoreSum(VectorSearch(SNAPSHOT.passages) % 200, WordSearch(SNAPSHOT.words) % 200) % 2
    seeds = ScoreSum(hybrid, AnchorNodes())(state).evidence
    assert seeds is not None and seeds.scores is not None
    start_at = dict(zip(seeds.nodes.tolist(), seeds.scores.tolist(), strict=True))
    exact = nx.pagerank(as_networkx(SNAPSHOT.graph), 1 - restart, start_at, tol=1e-12, max_iter=1000)
    found = make_method("ppr", SNAPSHOT, seeds=2, restart=restart).search(start(QUESTION, SNAPSHOT.graph))
    assert found.evidence is not None and found.evidence.scores is not None and len(found.evidence)
    assert (SNAPSHOT.graph.columns.kinds[found.evidence.nodes] == Kind.CHUNK).all()
    values = [exact[node] for node in found.evidence.nodes.tolist()]
    assert found.evidence.scores.tolist() == pytest.approx(values, rel=0.02, abs=1e-4)


@pytest.mark.parametrize("method", ["multihop", "ppr"])
def test_house_methods_run_on_graph_and_empty_index(method: str, tmp_path: Path) -> None:
    ix = knowledge(GRAPHS["family"])
    state = make_method(method, ix)(start("Who was the mother of Lothair II?", ix.graph))
    # PageRank ranks the nodes of such a graph; the scorer has no words of theirs to go by.
    assert (
        state.answer is not None and state.evidence is not None and len(state.evidence) == (7 if method == "ppr" else 0)
    )
    with Index.create(tmp_path / "empty", encoder=HashEncoder()) as index:
        state = index.ask(QUESTION, method)
    assert state.answer is not None and not state.answer.found and not len(state.passages or ())


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
    reading = "The graph may say: GPL (the license of gimp). This reading has a probability of"
    assert answer.text.startswith(reading)


def test_question_that_the_graph_does_not_answer_names_the_nearest_statement(index: Index) -> None:
    answer = index.ask("Which colour has the splash screen?").answer
    assert not answer.found and answer.text.startswith("The graph does not say.")


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
