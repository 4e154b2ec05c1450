"""GraphRAG's local and global search as methods: offline, and with a language model.

LightRAG's three modes as methods: their expressions, their results, and their use of a language model.

RAPTOR as a method: the collapsed tree, offline and with summaries that a language model writes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.shared import CORPUS, corpus_index, passages_in, prompt_of

from graphwright import Index, start
from graphwright.errors import OptionError
from graphwright.methods.registry import make_method
from graphwright.models import HashEncoder, ScriptedLLM

pytest.importorskip("igraph")

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"
NAMES = ["graphrag-local", "graphrag-global"]


def writer(system: str, user: str) -> str:
    """Summarise, rate what tells of Graz highest, and quote the first passage."""
    if "summarise a community" in system:
        return json.dumps({"summary": "All about Graz." if "Graz" in user else "All about Erstein."})
    if "rate how much" in system:
        shown = [json.loads(line) for line in user.splitlines() if line.startswith('{"number"')]
        return json.dumps({"ratings": [{"number": s["number"], "helpful": 90 * ("Graz" in s["text"])} for s in shown]})
    quote = passages_in(user)[1].split(". ")[0]
    return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})


def test_graphrag_expressions_print_as_source() -> None:
    ix = SNAPSHOT
    summaries = f"Summaries({ix.passages!r}, triples={ix.triples!r})"
    local = repr(make_method("graphrag-local", ix, entities=7, relations=5).pipeline)
    assert local.startswith(
        f"EntitySearch({ix.passages!r}, names={ix.names!r}, triples={ix.triples!r}) % 7 >> "
        f"LocalContext({summaries}, relations=5) >> ToPassages(limit=15, index={ix.passages!r}) >> "
    )
    whole = repr(make_method("graphrag-global", ix, communities=3).pipeline)
    assert whole.startswith(
        f"CommunitySearch({summaries}, level=2) % 3 >> ToPassages(limit=15, index={ix.passages!r}) >> "
    )
    llm = ScriptedLLM(writer)
    messages = f"WrittenSummaries({ix.passages!r}, triples={ix.triples!r}, model={llm!r})"
    written = repr(make_method("graphrag-global", ix, communities=3, rated=9, llm=llm).pipeline)
    assert written == (
        f"CommunitySearch({messages}, level=2) % 9 >> RateCommunities({llm!r}, {messages}, level=2) % 3 >> "
        f"ToPassages(limit=15, index={ix.passages!r}) >> "
        f"ReportContext(CommunityReports(summaries={messages}, level=2, limit=3)) >> "
        f"Fallback(Generate({llm!r}), Overview({ix.passages!r}, reader=MiniLMReader()) >> "
        f"Compare(words={ix.words!r}) >> ReadSpans(MiniLMReader()) >> Quote(MiniLMReader()))"
    )


@pytest.mark.parametrize("name", NAMES)
def test_graphrag_offline_answers_from_passages(name: str) -> None:
    state = make_method(name, SNAPSHOT)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text
    assert any(c.document == "ermengarde" for c in state.answer.citations)
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)


@pytest.mark.parametrize("name", NAMES)
def test_graphrag_model_is_shown_reports(name: str) -> None:
    llm = ScriptedLLM(writer, id=name)  # of its own: a model's reports are kept, whichever test had them written
    state = make_method(name, SNAPSHOT, llm=llm)(start("On which river does Graz lie?", SNAPSHOT.graph))
    assert state.answer is not None and len(state.answer.citations) == 1
    shown = [json.loads(line) for line in prompt_of(state).splitlines() if line.startswith("{")]
    assert next(line["text"] for line in shown if "report" in line) == "All about Graz."
    assert any("relation" in line for line in shown) == (name == "graphrag-local")
    spent = [step.operator.partition("(")[0] for step in state.trace if step.usage.completion_tokens]
    assert spent == (["ReportContext", "Generate"] if name == "graphrag-local" else ["RateCommunities", "Generate"])


def test_graphrag_global_answers_from_helpful_communities() -> None:
    op = make_method("graphrag-global", SNAPSHOT, level=0, llm=ScriptedLLM(writer, id="another"))
    for question in ("Which abbey?", "What are the main themes?"):
        state = op(start(question, SNAPSHOT.graph))
        assert state.evidence is not None and state.passages is not None and SNAPSHOT.graph.passages is not None
        assert SNAPSHOT.graph.id("Graz") in state.evidence.nodes.tolist() and len(state.evidence) == 1
        assert {SNAPSHOT.graph.passages.of(int(c)).document for c in state.passages.ids} == {"mur"}  # type: ignore[union-attr]


def test_graphrag_summaries_are_written_once(tmp_path: Path) -> None:
    with_calls: list[str] = []

    def counting(system: str, user: str) -> str:
        with_calls.append(system[:20])
        return writer(system, user)

    index = Index.create(tmp_path / "index", encoder=HashEncoder())
    index.add(CORPUS)
    llm = ScriptedLLM(counting)
    counts = []
    for _ in range(2):
        index.ask(QUESTION, method="graphrag-global", llm=llm)
        counts.append(sum(call.startswith("You summarise") for call in with_calls))
    assert counts[0] == counts[1] > 1
    index.remove(["bread"])
    index.ask(QUESTION, method="graphrag-global", llm=llm)
    assert sum(call.startswith("You summarise") for call in with_calls) > counts[1]
    index.close()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("question", ["?", "xyz qqq", "日本の首都はどこですか"])
def test_graphrag_local_with_unknown_names_finds_nothing(name: str, question: str) -> None:
    state = make_method(name, SNAPSHOT)(start(question, SNAPSHOT.graph))
    assert state.answer is not None and state.evidence is not None


@pytest.mark.parametrize("name", NAMES)
def test_graphrag_without_extra_names_remedy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphwright.errors.find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r'needs igraph.* Install it: pip install "graphwright\[communities\]"'):
        make_method(name, SNAPSHOT)


MODES = ["lightrag-local", "lightrag-global", "lightrag-hybrid"]


def keyword_writer(system: str, user: str) -> str:
    """List keywords where keywords are asked for, else quote the first passage."""
    if "list the keywords" in system:
        return json.dumps({"names": ["Lothair II", "Ermengarde of Tours"], "themes": ["founding of an abbey"]})
    quote = passages_in(user)[1].split(". ")[0]
    return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})


def test_lightrag_expressions_print_as_source() -> None:
    names, triples = f"AnchorSearch({SNAPSHOT.names!r})", f"TripleSearch({SNAPSHOT.triples!r}, limit=9"
    local, broad, hybrid = (repr(make_method(mode, SNAPSHOT, top_k=7, n=9).pipeline) for mode in MODES)
    assert local.startswith(f"NamesAndPhrases() >> {names} % 9 >> OneHop() >> ToPassages(limit=7, summed=True) >> ")
    assert broad.startswith(f"NamesAndPhrases() >> {triples}, by_question=True) >> ToPassages(limit=7) >> ")
    in_turn = f"ReciprocalRank({names} % 9 >> OneHop(), {triples}, by_question=True), constant=0)"
    assert hybrid.startswith(f"NamesAndPhrases() >> {in_turn} >> ToPassages(limit=7, summed=True) >> ")
    # With a language model there are themes to look for.
    assert f"{triples}) >> " in repr(
        make_method("lightrag-global", SNAPSHOT, n=9, llm=ScriptedLLM(keyword_writer)).pipeline
    )


@pytest.mark.parametrize("mode", MODES)
def test_lightrag_answers_offline(mode: str) -> None:
    state = make_method(mode, SNAPSHOT)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)


@pytest.mark.parametrize("mode", MODES)
def test_lightrag_model_lists_keywords_and_sees_relations(mode: str) -> None:
    llm = ScriptedLLM(keyword_writer)
    state = make_method(mode, SNAPSHOT, llm=llm)(start(QUESTION, SNAPSHOT.graph))
    assert [a.text for a in state.anchors or ()] == ["Lothair II", "Ermengarde of Tours", "founding of an abbey"]
    assert state.answer is not None and len(state.answer.citations) == 1
    assert "She founded the abbey of Erstein in Alsace." in prompt_of(state)
    kinds = {next(iter(json.loads(line))) for line in prompt_of(state).splitlines() if line.startswith("{")}
    assert {"question", "passage", "path"} <= kinds
    spent = [step.operator for step in state.trace if step.usage.completion_tokens]
    assert spent[0] == f"Keywords({llm!r})" and spent[1] == f"Generate({llm!r})" and len(spent) == 2


@pytest.mark.parametrize("message", ["", "no JSON", '{"names": [], "themes": []}'])
def test_lightrag_with_empty_keywords_uses_question(message: str) -> None:
    def reply(system: str, user: str) -> str:
        return message if "list the keywords" in system else keyword_writer(system, user)

    op = make_method("lightrag-hybrid", SNAPSHOT, llm=ScriptedLLM(reply))
    state = op(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Lothair II" in [a.text for a in state.anchors or ()]


@pytest.mark.parametrize("mode", MODES)
def test_lightrag_without_name_vectors_uses_words(mode: str) -> None:
    method = make_method(mode, replace(SNAPSHOT, names=None, triples=None))
    state = method(start("What did Ermengarde of Tours found?", SNAPSHOT.graph))
    assert state.answer is not None and state.answer.citations[0].document == "ermengarde"
    assert any("no vectors of" in note for step in state.trace for note in step.notes)


def test_raptor_expression_prints_as_source() -> None:
    whole = repr(make_method("raptor", SNAPSHOT, size=4, per_summary=2, top_k=7).pipeline)
    assert whole.startswith(
        f"TreeSearch(SummaryTree({SNAPSHOT.passages!r}, size=4), per_summary=2) % 7 >> ToPassages() >> "
    )


def test_raptor_answers_offline() -> None:
    state = make_method("raptor", SNAPSHOT, size=2)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text and state.answer.citations
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)


def test_raptor_model_writes_tree_and_answers() -> None:
    def reply(system: str, user: str) -> str:
        if "summarise texts" in system:
            # A summary that is nearer to the question than any passage.
            return json.dumps({"summary": "yeast and ovens" if "Bread" in user else "other things"})
        quote = passages_in(user)[1].split(". ")[0]
        return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})

    llm = ScriptedLLM(reply)
    state = make_method("raptor", SNAPSHOT, size=2, llm=llm)(start("yeast and ovens", SNAPSHOT.graph))
    assert state.answer is not None and state.passages is not None
    shown = [json.loads(line) for line in prompt_of(state).splitlines() if line.startswith("{")]
    assert next(line["text"] for line in shown if "report" in line) == "yeast and ovens"
    tree = state.trace[0]
    assert tree.operator.startswith("TreeSearch") and tree.usage.completion_tokens > 0
    assert tree.notes[-1].endswith("summaries were made of 6 passages")
    first = SNAPSHOT.graph.passages.of(int(state.passages.ids[0]))  # type: ignore[union-attr]
    plain = make_method("raptor", SNAPSHOT, size=2)(start("yeast and ovens", SNAPSHOT.graph)).passages
    assert first is not None and plain is not None and state.passages.scores[0] > plain.scores[0]
