"""Asking an imported graph to which documents were added: what is recorded is computed, the rest read in passages."""

import pytest
from tests.cli.command import graphwright
from tests.operators.query.steps import NOT_COMPUTABLE
from tests.shared import prompt_of

from graphwright import Graph, Index
from graphwright.models.fake import ScriptedLLM

PACKAGES = [
    ("git", "depends_on", "zlib1g"),
    ("git", "depends_on", "perl"),
    ("git", "maintainer", "Jonathan Nieder"),
    ("curl", "depends_on", "libcurl4"),
    ("curl", "depends_on", "zlib1g"),
    ("curl", "maintainer", "Alessandro Ghedini"),
    ("libcurl4", "depends_on", "zlib1g"),
    ("libcurl4", "maintainer", "Alessandro Ghedini"),
    ("zlib1g", "maintainer", "Mark Brown"),
    ("perl", "maintainer", "Niko Tyni"),
]
TEXTS = [
    {"id": "git.txt", "title": "git", "text": "git was created by Linus Torvalds in 2005. Mark Brown uses git."},
    {"id": "curl.txt", "title": "curl", "text": "curl was first released in 1996 under the name httpget."},
    {"id": "team.txt", "title": "team", "text": "Ada Huber leads the release team. The release team met in Graz."},
]
RECORDED = [
    "Who is the maintainer of zlib1g?",
    "Who maintains git?",
    "Who maintains the packages that git depends on?",
    "Does curl depend on zlib1g?",
]


@pytest.fixture(scope="module")
def triples(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return Index.from_graph(tmp_path_factory.mktemp("graph") / "index", Graph.from_triples(PACKAGES))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    made = Index.from_graph(tmp_path_factory.mktemp("both") / "index", Graph.from_triples(PACKAGES))
    made.add(TEXTS)
    return made


@pytest.mark.parametrize("question", RECORDED)
def test_recorded_fact_is_answered_from_graph(triples: Index, index: Index, question: str) -> None:
    before, after = triples.ask(question).answer, index.ask(question).answer
    assert before.found and (after.text, after.short) == (before.text, before.short)
    assert [citation.path for citation in after.citations] == [citation.path for citation in before.citations]
    for citation in after.citations:
        assert index.text(citation.document)[citation.start : citation.end] == citation.text


def test_graph_names_and_numbers_have_paths(index: Index) -> None:
    answer = index.ask("Which packages depend on zlib1g?", "graph").answer
    assert sorted(answer.short) == ["curl", "git", "libcurl4"]
    paths = {citation.path: citation for citation in answer.citations}
    assert paths["curl", "depends_on", "zlib1g"].document == "graph:zlib1g"
    assert paths["curl", "depends_on", "zlib1g"].text == "curl depends on zlib1g"
    assert index.ask("How many packages depend on zlib1g?").answer.short == ("3",)


@pytest.mark.parametrize(
    ("question", "short", "document"),
    [
        ("Who created git?", "Linus Torvalds", "git.txt"),
        ("When was curl first released?", "1996", "curl.txt"),
        ("Who leads the release team?", "Ada Huber", "team.txt"),
    ],
)
def test_other_question_is_answered_from_documents(index: Index, question: str, short: str, document: str) -> None:
    answer = index.ask(question).answer
    assert answer.short[0] == short and {citation.document for citation in answer.citations} == {document}
    for citation in answer.citations:
        assert index.text(document)[citation.start : citation.end] == citation.text


def test_unknown_name_is_answered_from_passages(index: Index) -> None:
    state = index.ask("Which packages does Ada Huber maintain with Alessandro Ghedini?")
    assert state.passages is not None and "team.txt#0" in [state.graph.names[int(node)] for node in state.passages.ids]


def test_retrieval_returns_walks_or_passages(index: Index) -> None:
    walks, found = index.retrieve("Who maintains curl?"), index.retrieve("Who leads the release team?")
    assert walks.evidence.texts(walks.graph)[0] == "curl maintainer Alessandro Ghedini"
    assert "graph:curl" in [walks.graph.names[int(node)] for node in walks.passages.ids]
    assert found.graph.names[int(found.passages.ids[0])] == "team.txt#0"
    assert walks.answer is None and found.answer is None


def test_filtered_question_uses_documents_only(index: Index) -> None:
    chosen = {"documents": ["curl.txt"]}
    assert "libcurl4" not in index.ask("What does curl depend on?", filter=chosen).answer.text
    assert index.ask("When was curl first released?", filter=chosen).answer.short == ("1996",)
    assert repr(index.method("graph", filter=chosen)) == repr(index.method("multihop", filter=chosen))


def test_language_model_that_finds_nothing_to_compute_reads_passages_of_both(index: Index) -> None:
    reply = '{"found": true, "text": "It is known [1].", "citations": []}'
    nodes = prompt_of(index.ask("What does curl depend on?", llm=ScriptedLLM([NOT_COMPUTABLE, reply])))
    texts = prompt_of(index.ask("Who leads the release team?", llm=ScriptedLLM([NOT_COMPUTABLE, reply])))
    assert "curl depends on zlib1g" in nodes and "Ada Huber leads" in texts


def test_model_without_valid_reply_falls_back_to_graph(index: Index) -> None:
    state = index.ask("Who maintains curl?", llm=ScriptedLLM(["{}"] * 4))
    assert state.answer.short == ("Alessandro Ghedini",)


def test_info_counts_documents_beside_graph(index: Index) -> None:
    shown = graphwright("info", "--index", str(index.path)).stdout
    assert "documents       3, in 3 chunks\n" in shown and "chunks          at most" in shown


@pytest.mark.parametrize("question", ["What are these documents about?", "What are the main topics?"])
def test_broad_question_is_answered_by_topics_of_documents(index: Index, question: str) -> None:
    state = index.ask(question)
    assert state.query is None and state.answer.found and len(state.answer.citations) > 1
