"""FastInsight as a method: the paper's expression, over passages that refer to each other.

HyDE as a method: a written passage with a language model, feedback without one.

IRCoT as a method: alternating searches and thoughts, by a language model and by its offline twin.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.shared import corpus_index, passages_in

from graphwright import Graph, VectorIndex, start
from graphwright.graph import Kind
from graphwright.methods.registry import make_method
from graphwright.models import HashEncoder, MiniLMCrossEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import HasThoughts, WordSearch
from graphwright.operators.run import Run
from graphwright.operators.subgraph.views import PassageGraph

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def test_fastinsight_expression_equals_paper() -> None:
    whole = repr(make_method("fastinsight", SNAPSHOT, batch=4, budget=30, alpha=0.3, beta=0.5, top_k=7).pipeline)
    model = MiniLMCrossEncoder()
    ix, rank = repr(SNAPSHOT.passages), f"GRanker({model!r}, alpha=0.3)"
    loop = f"Repeat((Keep() | STeX({ix}, beta=0.5) % 4) >> {rank}, until=Reached(nodes=30))"
    assert whole.startswith(
        f"OnGraph(PassageGraph(), VectorSearch({ix}) % 4 >> {rank} >> {loop}) % 7 >> ToPassages() >> "
    )


def test_fastinsight_follows_references_within_budget() -> None:
    few = make_method("fastinsight", SNAPSHOT, batch=1, budget=3, cross_encoder=OverlapCrossEncoder())
    state = few.search(start(QUESTION, SNAPSHOT.graph))
    assert state.passages is not None and len(state.passages) == 3 and state.graph is SNAPSHOT.graph
    nodes = state.passages.ids.tolist()
    assert all(SNAPSHOT.graph.columns.kinds[nodes] == Kind.CHUNK)
    # Each was next to another one; the first was found by its vector.
    rows = PassageGraph()(SNAPSHOT.graph).columns.adjacency
    assert all(set(rows.row(node).tolist()) & set(nodes) for node in nodes)
    # What nothing refers to is never reached.
    every = make_method("fastinsight", SNAPSHOT, batch=1, cross_encoder=OverlapCrossEncoder())
    result = every(start(QUESTION, SNAPSHOT.graph)).passages
    documents = {SNAPSHOT.graph.passages.of(int(c)).document for c in result.ids}  # type: ignore[union-attr]
    assert documents == {"lothair", "teutberga", "ermengarde", "erstein"}


def test_fastinsight_reads_each_passage_once() -> None:
    op = make_method("fastinsight", SNAPSHOT, batch=1, cross_encoder=OverlapCrossEncoder()).search
    run = Run()
    state = op(start(QUESTION, SNAPSHOT.graph), run)
    ranked = sum("GRanker" in step.operator for step in state.trace)
    encoded = 1  # the question
    assert ranked >= 4 and run.usage.texts <= len(state.evidence) + encoded  # type: ignore[arg-type]


def test_fastinsight_answers() -> None:
    answer = make_method("fastinsight", SNAPSHOT)(start("Where did the abbey of Erstein stand?", SNAPSHOT.graph)).answer
    assert answer is not None and answer.found and "Erstein" in answer.text


def test_fastinsight_on_references_only_uses_links() -> None:
    alone = repr(make_method("fastinsight", SNAPSHOT, relations=("refers to",)).pipeline)
    assert alone.startswith("OnGraph(PassageGraph(relations=('refers to',)), ") and ") % 15 >> ToPassages()" in alone
    few = make_method("fastinsight", SNAPSHOT, batch=2, relations=("refers to",), cross_encoder=OverlapCrossEncoder())
    chunks = few.search(start(QUESTION, SNAPSHOT.graph)).passages
    assert chunks is not None and len(chunks) == 2  # the toy corpus has no links, so nothing is added


def test_fastinsight_entities_use_passage_vectors() -> None:
    whole = make_method(
        "fastinsight-entities", SNAPSHOT, batch=2, budget=6, top_k=3, cross_encoder=OverlapCrossEncoder()
    )
    vectors = "entity_vectors(ix.graph, ix.passages)"
    assert repr(whole.search).startswith(f"OnGraph(EntityGraph(), VectorSearch({vectors}) % 2 >> GRanker(")
    state = whole.search(start(QUESTION, SNAPSHOT.graph))
    assert state.evidence is not None and len(state.evidence) == 6 and state.graph is SNAPSHOT.graph
    assert all(SNAPSHOT.graph.columns.kinds[state.evidence.nodes] == Kind.ENTITY)
    assert state.passages is not None and len(state.passages) == 3
    assert whole(start("Where did the abbey of Erstein stand?", SNAPSHOT.graph)).answer.found  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["fastinsight", "gar"])
def test_fastinsight_reads_each_pair_once(name: str) -> None:
    # The search finds the first node of each pair, and the expansion the second.
    pairs = Graph.from_triples([(f"a{at}", "next", f"b{at}") for at in range(2600)])
    vectors = VectorIndex.from_array(np.tile([[1.0], [0.5]], (2600, 4)), HashEncoder(4))
    snapshot = replace(SNAPSHOT, graph=pairs, passages=vectors, names=None, triples=None)
    op = make_method(name, snapshot, batch=2500, budget=5000, cross_encoder=OverlapCrossEncoder()).search
    run = Run()
    op(start("a1 next", pairs), run)
    assert 5000 <= run.usage.texts < 5010


QUESTION_HYDE = "Which building was burned by rebels?"
BURNED = "The abbey of Erstein in Alsace was destroyed during the Peasants' War of 1525."


def test_hyde_expressions_print_as_source() -> None:
    ix = repr(SNAPSHOT.passages)
    whole = repr(make_method("hyde", SNAPSHOT, top_k=7, feedback=3, beta=0.5).pipeline)
    assert whole.startswith(f"VectorSearch({ix}) % 3 >> Feedback({ix}, beta=0.5) % 7 >> ToPassages() >> ")
    llm = ScriptedLLM([""])
    whole = repr(make_method("hyde", SNAPSHOT, top_k=7, llm=llm).pipeline)
    assert whole.startswith(f"HypotheticalPassage({ix}, {llm!r}) % 7 >> ToPassages() >> ")


def test_hyde_text_leads_to_passage_and_is_not_cited() -> None:
    def reply(system: str, user: str) -> str:
        if "by which a collection is searched" in system:
            return json.dumps({"passage": BURNED})
        shown = passages_in(user)
        assert BURNED not in user and "destroyed in 1525" in shown[1]
        quote = "It was destroyed in 1525"
        return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})

    state = make_method("hyde", SNAPSHOT, llm=ScriptedLLM(reply))(start(QUESTION_HYDE, SNAPSHOT.graph))
    assert state.answer is not None and [c.document for c in state.answer.citations] == ["erstein"]


def test_feedback_method_moves_question_by_first_passages() -> None:
    state = start(QUESTION_HYDE, SNAPSHOT.graph)
    plain, moved, heavy = (
        op.search(state).passages
        for op in (
            make_method("vector", SNAPSHOT),
            make_method("hyde", SNAPSHOT, feedback=1),
            make_method("hyde", SNAPSHOT, feedback=1, beta=1e6),
        )
    )
    assert plain is not None and moved is not None and heavy is not None
    assert moved.ids[0] == heavy.ids[0] == plain.ids[0]
    assert heavy.scores[0] == pytest.approx(1.0, abs=1e-3) and moved.scores[0] > plain.scores[0]


def test_ircot_expression_prints_as_source() -> None:
    first = WordSearch(SNAPSHOT.words)
    whole = repr(make_method("ircot", SNAPSHOT, top_k=7, k=4, steps=2, shown=3, first=first).pipeline)
    search, think = f"FollowUp({first!r} % 4)", f"SentenceThought({SNAPSHOT.encoder!r}, passages=3)"
    assert whole.startswith(
        f"({search} >> Repeat({think} >> {search}, until={HasThoughts(2)!r})) % 7 >> ToPassages() >> "
    )
    assert "ScoreSum(VectorSearch(" in repr(make_method("ircot", SNAPSHOT).pipeline)


def test_ircot_interleaves_searches() -> None:
    first = WordSearch(SNAPSHOT.words)
    thoughts = ["Ermengarde founded Erstein.", "The Mur joins the Drava."]
    script = ScriptedLLM([json.dumps({"enough": False, "thought": thought}) for thought in thoughts])
    op = make_method("ircot", SNAPSHOT, k=2, steps=2, first=first, llm=script).search
    state = op(start("Who married Teutberga?", SNAPSHOT.graph))
    asked = ["Who married Teutberga?", *thoughts]
    each = [(first % 2)(start(text, SNAPSHOT.graph)).evidence.nodes.tolist() for text in asked]  # type: ignore[union-attr]
    assert state.passages is not None
    ids = state.passages.ids.tolist()
    assert set(ids[:3]) == {nodes[0] for nodes in each} and set(ids) == {node for nodes in each for node in nodes}


def test_ircot_model_thinks_then_answers() -> None:
    def reply(system: str, user: str) -> str:
        if "one sentence at a time" in system:
            enough = "destroyed in 1525" in user.partition("Your sentences so far")[2]
            return json.dumps({"enough": enough, "thought": "" if enough else "The abbey was destroyed in 1525."})
        quote = "It was destroyed in 1525"
        number = next(n for n, text in passages_in(user).items() if quote in text)
        cited = [{"passage": number, "quote": quote}]
        return json.dumps({"found": True, "text": f"{quote} [1].", "citations": cited})

    op = make_method("ircot", SNAPSHOT, steps=6, llm=ScriptedLLM(reply))
    state = op(start("What became of what Ermengarde founded?", SNAPSHOT.graph))
    assert state.answer is not None and [c.document for c in state.answer.citations] == ["erstein"]
    assert len(state.anchors or ()) == 1


def test_ircot_offline_answers() -> None:
    state = make_method("ircot", SNAPSHOT)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)
