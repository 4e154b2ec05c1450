"""GraphRAG's local and global search as methods: offline, and with a language model."""

from __future__ import annotations

import json
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
    llm = ScriptedLLM(writer)
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
