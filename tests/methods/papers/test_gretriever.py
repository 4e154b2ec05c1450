"""G-Retriever as a method: the prize-collecting tree, its passages, and its prompt."""

from __future__ import annotations

import json

from tests.shared import corpus_index, passages_in, prompt_of

from graphwright import start
from graphwright.methods.registry import make_method
from graphwright.models import ScriptedLLM

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


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
