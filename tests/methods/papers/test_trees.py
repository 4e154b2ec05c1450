"""BubbleRAG as a method: offline on any index, with a language model at each of its steps, and its ablations.

G-Retriever as a method: the prize-collecting tree, its passages, and its prompt.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.llm_server import LLMServer
from tests.shared import GRAPHS, corpus_index, passages_in, prompt_of, vectors_of
from tests.toys import same

from graphwright import Bubble, Coverage, Evidence, State, VectorIndex, start
from graphwright.graph.graph import Kind
from graphwright.methods.papers.trees import anchor_groups, evidence_graphs
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import HashEncoder, OpenAILLM, ScriptedLLM
from graphwright.operators import GroupAnchors, Grow, NamesAndPhrases, OnGraph, Operator, StatementGraph
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.snapshot import Snapshot

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
NAMES, TRIPLES, WORDS = SNAPSHOT.names, SNAPSHOT.triples, SNAPSHOT.words
QUESTION = "Which abbey did the mother of Lothair II found?"
ONE_STEP = "When was the abbey of Erstein destroyed?"
FOUNDED = "Ermengarde of Tours: She founded the abbey of Erstein in Alsace."
STEPS = ["enough", "keywords", "constraints", "relax", "groups", "grow", "answer"]


def data(user: str, key: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (line for line in user.splitlines() if line.startswith("{")))
    return [line for line in lines if key in line]


def step_of(system: str, user: str) -> str:
    begins = {
        "You list what": "keywords",
        "You make the keywords": "constraints",
        "You say which entries": "relax",
        "You sort what": "groups",
        "You decide where": "grow",
    }
    known = next((step for begin, step in begins.items() if system.startswith(begin)), "")
    return known or ("enough" if "If they do not hold all" in user else "answer")


def reply(system: str, user: str) -> str:
    """A model that does each step as the paper does in its example."""
    step = step_of(system, user)
    if step == "keywords":
        message: dict[str, Any] = {"names": ["Lothair II"], "implied": ["Ermengarde of Tours"], "relations": ["found"]}
    elif step == "constraints":
        last = next(line for line in data(user, "keyword") if not line["found"])
        message = {"constraints": [{"keyword": last["keyword"], "text": "founding of an abbey"}]}
    elif step == "relax":
        number = next(line["entry"] for line in data(user, "entry") if "founded" in line.get("statement", ""))
        message = {"matches": [{"keyword": line["keyword"], "entries": [number]} for line in data(user, "keyword")]}
    elif step == "groups":
        by_keyword: dict[str, list[int]] = {}
        for line in data(user, "candidate"):
            by_keyword.setdefault(line["for"][0], []).append(line["candidate"])
        message = {"groups": [{"intent": k, "numbers": n, "weight": 0.5} for k, n in by_keyword.items()]}
    elif step == "grow":
        founded = [line["number"] for line in data(user, "number") if "founded" in line["text"]]
        message = {"numbers": founded, "enough": not founded}
    elif step == "enough":
        message = {"found": False, "text": "", "citations": []}
    else:
        number, text = next((n, t) for n, t in passages_in(user).items() if "founded" in t)
        quote = next(part for part in text.split(". ") if "founded" in part)
        message = {"found": True, "text": "Erstein [1].", "citations": [{"passage": number, "quote": quote}]}
    return json.dumps(message)


def asked(question: str = QUESTION) -> State:
    return start(question, GRAPH)


def chunks(state: State) -> list[int]:
    assert state.passages is not None
    return state.passages.ids.tolist()


def after(state: State, step: str) -> State:
    """The state behind the last step of that name."""
    result = [s.after for s in state.trace if s.operator.startswith(f"{step}(")]
    assert result and result[-1] is not None
    return result[-1]


def pieces_of(state: State) -> Evidence:
    steps = {step.operator.partition("(")[0] for step in state.trace}
    grown = next((name for name in ("Grow", "GrowByModel") if name in steps), "Coverage")
    result = after(state, grown).evidence
    assert result is not None
    return result


def test_bubblerag_expression_equals_paper() -> None:
    search = f"VectorSearch({SNAPSHOT.passages!r}) % 15 >> ToPassages() >> "
    groups = f"NamesAndPhrases() >> SpecialiseInContext() >> GroupAnchors({NAMES!r}, {TRIPLES!r}, words={WORDS!r})"
    graphs = f"OnGraph(StatementGraph(), Bubble({NAMES!r}) >> Coverage({NAMES!r}) % 3) >> Grow(triples={TRIPLES!r})"
    passages = f"SharedBudget(ToPassages(index={SNAPSHOT.passages!r}), read=5)"
    assert repr(make_method("bubblerag", SNAPSHOT).pipeline).startswith(
        f"{search}{groups} >> {graphs} >> Unite() >> {passages} >> "
    )
    own = repr(
        make_method("bubblerag", SNAPSHOT, top_k=7, preview=1, n=2, hops=4, budget=20, alpha=2.0, depth=1).pipeline
    )
    assert f"Bubble({NAMES!r}, hops=4, budget=20) >> Coverage({NAMES!r}, alpha=2.0) % 2) >> Grow(" in own
    assert (
        f"VectorSearch({SNAPSHOT.passages!r}) % 7 >> " in own and ", limit=7, read=1) >> " in own and "depth=1)" in own
    )
    # These steps need a language model.
    assert not any(f"{step}(" in own for step in ("AnswerIfEnough", "LatentKeywords", "Relax"))
    llm = ScriptedLLM(reply)
    with_model = repr(make_method("bubblerag", SNAPSHOT, llm=llm).pipeline)
    for step in (
        "AnswerIfEnough({}, passages=5)",
        "Fallback(LatentKeywords({}, passages=5), ",
        "Fallback(Specialise({}), ",
    ):
        assert step.format(repr(llm)) in with_model
    assert (
        with_model.count(repr(llm)) == len(STEPS) and f"HybridContext() >> Fallback(Generate({llm!r}), " in with_model
    )
    options = {"top_k", "n", "hops", "budget", "alpha", "depth", "preview", "groups", "graphs", "llm"}
    options |= {"context_passages", "context_tokens", "confidence"}
    assert set(METHODS["bubblerag"].options) == options


def test_bubblerag_offline_finds_connected_items_and_passages() -> None:
    state = make_method("bubblerag", SNAPSHOT)(asked())
    assert state.answer is not None and "Erstein" in state.answer.text
    assert any(c.document == "ermengarde" for c in state.answer.citations)
    assert GRAPH.names[chunks(state)[0]] == "ermengarde#0" and len(chunks(state)) == 6
    # The passages of the evidence graphs come first, then those of the vector search that they lack.
    assert state.evidence is not None and len(state.evidence) == 1
    behind = set(GRAPH.chunks_of(state.evidence.nodes, state.evidence.edges).tolist())
    assert behind == set(chunks(state)[: len(behind)])
    groups = after(state, "GroupAnchors").anchors or ()
    assert sum(a.weight for a in groups) == pytest.approx(1)
    result = pieces_of(state)
    assert 1 <= len(result) <= 3 and len(result.nodes)
    assert set(result.nodes.tolist()) == set(state.evidence.nodes.tolist())
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)


def test_bubblerag_without_name_vectors_uses_words() -> None:
    snapshot = replace(SNAPSHOT, names=None, triples=None)
    state = make_method("bubblerag", snapshot)(asked())
    assert state.answer is not None and "Erstein" in state.answer.text
    steps = " >> ".join(step.operator for step in state.trace)
    assert len(pieces_of(state).edges) and "Bubble(entity_vectors(ix.graph, ix.passages))" in steps
    written = make_method("bubblerag", snapshot, llm=ScriptedLLM(reply))(asked())
    assert written.answer is not None and written.answer.text == "Erstein [1]."


def check_answered(state: State, steps: list[str]) -> None:
    assert state.answer is not None and state.answer.text == "Erstein [1]."
    assert [c.document for c in state.answer.citations] == ["ermengarde"]
    grows = steps.count("grow")
    assert grows and [step for step in steps if step != "grow"] == [step for step in STEPS if step != "grow"]
    assert steps == [*STEPS[:5], *["grow"] * grows, "answer"]
    assert [a.text for a in after(state, "GroupByModel").anchors or ()] == [
        "Lothair II",
        "founding of an abbey",
        "Ermengarde of Tours",
    ]
    # What was chosen in growing is shown as a triple, and the passages to quote from.
    edges, before = pieces_of(state).edges.tolist(), after(state, "Coverage").evidence
    assert before is not None and {GRAPH.edge_text(e) for e in set(edges) - set(before.edges.tolist())} == {FOUNDED}
    shown = {tuple(line["triple"]) for line in data(prompt_of(state), "triple")}
    stated = {line["statement"] for line in data(prompt_of(state), "statement")}
    assert shown == {GRAPH.triple(e) for e in edges if not GRAPH.co_occurs(e)}
    assert stated == {GRAPH.edge_text(e) for e in edges if GRAPH.co_occurs(e)}
    assert set(passages_in(prompt_of(state))) == set(range(1, 7))


def test_bubblerag_asks_model_at_every_step() -> None:
    steps: list[str] = []

    def noted(system: str, user: str) -> str:
        steps.append(step_of(system, user))
        return reply(system, user)

    state = make_method("bubblerag", SNAPSHOT, llm=ScriptedLLM(noted))(asked())
    check_answered(state, steps)
    calls = [step.operator.partition("(")[0] for step in state.trace if step.usage.completion_tokens]
    assert calls == [
        "AnswerIfEnough",
        "LatentKeywords",
        "Specialise",
        "Relax",
        "GroupByModel",
        "GrowByModel",
        "Generate",
    ]


def test_bubblerag_over_http_asks_model_at_every_step() -> None:
    def message(request: dict[str, Any]) -> str:
        return reply(request["messages"][0]["content"], request["messages"][-1]["content"])

    with LLMServer(message) as server:
        state = make_method("bubblerag", SNAPSHOT, llm=OpenAILLM("any", server.url))(asked())
    messages = [[m["content"] for m in request.json["messages"]] for request in server.requests]
    check_answered(state, [step_of(m[0], m[-1]) for m in messages])
    assert all("json_schema" in request.json["response_format"] for request in server.requests)


@pytest.mark.parametrize("nonsense", ["", "I would rather talk about bread.", "{}", '{"numbers": "all"}'])
def test_bubblerag_with_invalid_replies_falls_back(nonsense: str) -> None:
    def broken(system: str, user: str) -> str:
        return reply(system, user) if step_of(system, user) == "answer" else nonsense

    offline = make_method("bubblerag", SNAPSHOT)(asked())
    state = make_method("bubblerag", SNAPSHOT, llm=ScriptedLLM(broken))(asked())
    assert state.answer is not None and state.answer.citations and chunks(state) == chunks(offline)
    assert after(state, "GroupAnchors").anchors == after(offline, "GroupAnchors").anchors
    assert same(state.evidence, offline.evidence)


def test_bubblerag_early_answer_ends_ask_not_retrieve() -> None:
    def sure(system: str, user: str) -> str:
        assert step_of(system, user) == "enough"
        number = next(n for n, text in passages_in(user).items() if "1525" in text)
        quote = "It was destroyed in 1525"
        return json.dumps({"found": True, "text": "1525 [1].", "citations": [{"passage": number, "quote": quote}]})

    whole = make_method("bubblerag", SNAPSHOT, llm=ScriptedLLM(sure))
    written = whole(asked(ONE_STEP))
    assert written.answer is not None and written.answer.text == "1525 [1]." and len(written.trace) == 3
    assert "AnswerIfEnough" not in repr(whole.retrieval)


assert NAMES is not None
ABLATIONS: dict[str, dict[str, Operator]] = {
    "SpecialiseInContext": {"groups": NamesAndPhrases() >> GroupAnchors(NAMES, TRIPLES, WORDS)},
    "Coverage": {"graphs": OnGraph(StatementGraph(), Bubble(NAMES) % 3) >> Grow(triples=TRIPLES)},
    "Grow": {"graphs": OnGraph(StatementGraph(), Bubble(NAMES) >> Coverage(NAMES) % 3)},
}


@pytest.mark.parametrize("step", ABLATIONS)
def test_bubblerag_ablations_change_expression(step: str) -> None:
    whole, less = (repr(make_method("bubblerag", SNAPSHOT, **changed).pipeline) for changed in ({}, ABLATIONS[step]))
    assert f"{step}(" in whole and f"{step}(" not in less
    state = make_method("bubblerag", SNAPSHOT, **ABLATIONS[step])(asked())
    assert state.answer is not None and state.answer.citations and 1 <= len(chunks(state)) <= 15


def test_bubblerag_defaults_are_ablation_targets() -> None:
    given = make_method("bubblerag", SNAPSHOT, groups=anchor_groups(SNAPSHOT), graphs=evidence_graphs(SNAPSHOT))
    assert given == make_method("bubblerag", SNAPSHOT)


@pytest.mark.parametrize("depth", [0, 1, 6])
def test_bubblerag_depth_bounds_growth(depth: int) -> None:
    state = make_method("bubblerag", SNAPSHOT, depth=depth, n=2, llm=ScriptedLLM(reply))(asked())
    before, grown = after(state, "Coverage").evidence, pieces_of(state)
    assert before is not None and len(before) == len(grown) == 2
    assert len(grown.edges) >= len(before.edges) and (depth or len(grown.edges) == len(before.edges))


@pytest.mark.parametrize(("k", "preview"), [(1, None), (2, 1), (3, 9), (4, None)])
def test_bubblerag_preview_and_context_share_budget(k: int, preview: int | None) -> None:
    """The budget of section 4.1, over every question of two words of the corpus: what a model is shown, distinct."""
    read: set[str] = set()

    def model(system: str, user: str) -> str:
        read.update(line["text"] for line in data(user, "passage"))
        return reply(system, user) if step_of(system, user) in ("groups", "grow") else "{}"

    method = make_method("bubblerag", SNAPSHOT, top_k=k, preview=preview, llm=ScriptedLLM(model))
    for name in GRAPH.names.take(np.flatnonzero(GRAPH.columns.kinds == Kind.ENTITY)):
        read.clear()
        state = method(asked(f"Who is {name}?"))
        shown = {GRAPH.passage(node) for node in chunks(state)}
        assert 0 < len(chunks(state)) <= k and read == shown and len(read) <= k


@pytest.mark.parametrize("question", ["?", "Who?", "xyz qqq", "日本の首都はどこですか", "What are the main themes?"])
def test_bubblerag_without_entities_returns_passages(question: str) -> None:
    state = make_method("bubblerag", SNAPSHOT)(asked(question))
    assert state.answer is not None and len(chunks(state)) == 6


def test_bubblerag_without_passages_returns_nodes() -> None:
    graph, encoder = GRAPHS["family"], HashEncoder()
    around = [sorted({*graph.columns.out.row(v).tolist(), *graph.columns.into.row(v).tolist()}) for v in graph.nodes]
    texts = ["; ".join(map(graph.edge_text, edges)) for edges in around]
    triples = VectorIndex.from_array(encoder.encode([graph.edge_text(e) for e in graph.edges.tolist()]), encoder)
    nodes = VectorIndex.from_array(encoder.encode(texts), encoder)
    words = WordIndex.of(texts, np.arange(len(graph)))
    snapshot = Snapshot(graph, nodes, words, vectors_of(graph), triples, encoder, {})
    state = make_method("bubblerag", snapshot)(start("Who was the mother of Gisela?", graph))
    assert graph.id("Waldrada") in chunks(state)[:2] and set(chunks(state)) <= set(graph.nodes.tolist())
    assert state.answer is not None and pieces_of(state).texts(graph)[0].startswith("Waldrada mother of Gisela")


def test_g_retriever_expression_prints_as_source() -> None:
    prizes = f"Prizes({SNAPSHOT.passages!r}, triples={SNAPSHOT.triples!r}, k=4)"
    whole = repr(make_method("g-retriever", SNAPSHOT, k=4, cost=1.0).pipeline)
    assert whole.startswith(f"PrizeTree({prizes}, cost=1.0) >> ToPassages(limit=15, summed=True, items=PrizedItems(")
    by_names = repr(make_method("g-retriever", SNAPSHOT, nodes=SNAPSHOT.names).pipeline)
    assert by_names.startswith(f"PrizeTree(Prizes({SNAPSHOT.names!r}, triples={SNAPSHOT.triples!r})) >> ")


def test_g_retriever_offline_answers_from_connected_item() -> None:
    state = make_method("g-retriever", SNAPSHOT)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text
    assert state.evidence is not None and len(state.evidence) == 1
    nodes, edges = state.evidence.piece(0)
    assert len(edges) >= len(nodes) - 1 > 1
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)


def test_g_retriever_model_is_shown_tree() -> None:
    def reply(system: str, user: str) -> str:
        quote = passages_in(user)[1].split(". ")[0]
        return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})

    state = make_method("g-retriever", SNAPSHOT, llm=ScriptedLLM(reply))(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and len(state.answer.citations) == 1 and state.evidence is not None
    shown = [json.loads(line) for line in prompt_of(state).splitlines() if line.startswith("{")]
    (tree,) = [line["steps"] for line in shown if "path" in line]
    nodes, edges = state.evidence.piece(0)
    assert len(tree) == len(nodes) + len(edges)
    assert {SNAPSHOT.graph.edge_text(int(e)) for e in edges} <= set(tree)
