"""Constrained decoding writes paths that the graph has, whatever the names and whatever the model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.grammars import GrammarLLM, language

from graphwright import EnumeratedPaths, Evidence, Graph, start
from graphwright.errors import BudgetError, ReplyCutError
from graphwright.models import BudgetedLLM, ScriptedLLM
from graphwright.operators import ConstrainedDecoding
from graphwright.operators.run import Run

NAMES = st.one_of(
    st.sampled_from(['"', "\\", "\n", "a\nb", '", "', "<|im_end|>", "é", "日本", "𝔊", "\x00", "| r1", '" | "', "::="]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
)
TRIPLES = st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=8)
FILMS = Graph.from_triples([("Heat", "by", "Mann"), ("Heat", "stars", "Pacino"), ("Ali", "by", "Mann")])


@pytest.mark.slow
@given(TRIPLES, st.integers(0, 2**16), st.integers(1, 3), st.integers(1, 4))
def test_constrained_decoding_writes_existing_paths_only(
    rows: list[tuple[str, str, str]], seed: int, length: int, k: int
) -> None:
    graph, llm = Graph.from_triples(rows), GrammarLLM(seed)
    state = (EnumeratedPaths(length) % 60)(start("Who?", graph, entities=[graph.names[0]]))
    assert state.evidence is not None
    after = ConstrainedDecoding(llm, items=k)(state)
    assert after.evidence is not None and after.trace[-1].notes == ()
    existing = set(graph_rows(graph))
    for nodes, edges in after.evidence:
        assert nodes[0] == 0 and 1 <= len(edges) <= length and len(set(nodes.tolist())) == len(nodes) == len(edges) + 1
        for a, b, edge in zip(nodes[:-1].tolist(), nodes[1:].tolist(), edges.tolist(), strict=True):
            assert (a, edge, b) in existing or (b, edge, a) in existing
    # The grammar of the first request has the texts of all paths and no other.
    texts = {json.dumps(text) for text in state.evidence.texts(graph)}
    assert not llm.grammars or {json.dumps(json.loads(text)) for text in language(llm.grammars[0])} == texts
    assert len({*after.evidence.texts(graph)}) == min(k, len(texts))


def graph_rows(graph: Graph) -> list[tuple[int, int, int]]:
    columns = graph.columns
    return [(int(columns.heads[edge]), int(edge), int(columns.tails[edge])) for edge in graph.edges]


def test_constrained_prompt_holds_question_without_paths() -> None:
    prompts: list[str] = []

    class Watched(GrammarLLM):
        def with_grammar(self, grammar: str) -> Watched:
            return Watched(self.seed, grammar, self.grammars)

        def complete(self, system: str, user: str, **options: object) -> object:  # type: ignore[override]
            prompts.append(user)
            return super().complete(system, user)

    state = EnumeratedPaths(2)(start('Who stars in "Heat"?', FILMS, entities=["Heat"]))
    ConstrainedDecoding(Watched(), items=2)(state)
    assert len(prompts) == 2 and prompts[0] == prompts[1]
    assert prompts[0] == ('The question:\n{"question": "Who stars in \\"Heat\\"?"}\nThe entities:\n"Heat"\nThe path:')


def test_constrained_items_of_equal_text_share_score() -> None:
    twins = Graph.from_triples([("a", "r", "b"), ("a", "r", "b"), ("a", "s", "c")])
    state = start("?", twins, evidence=Evidence.of_edges([0, 1]))
    evidence = ConstrainedDecoding(GrammarLLM())(state).evidence
    assert evidence is not None and evidence.edges.tolist() == [0, 1] and evidence.scores is not None
    assert evidence.scores.tolist() == [1.0, 1.0]


def test_unconstrained_server_selects_by_number_once() -> None:
    class Ignoring(ScriptedLLM):
        def with_grammar(self, grammar: str) -> Ignoring:
            return self

    llm = Ignoring(["Pacino, I think.", '{"numbers": [2]}', '{"numbers": [1]}'])
    state, run = EnumeratedPaths(1)(start("Who?", FILMS, entities=["Heat"])), Run()
    first = ConstrainedDecoding(llm)(state, run)
    assert first.evidence is not None and first.evidence.texts(FILMS) == ["Heat stars Pacino"]
    assert "which its grammar does not allow" in first.trace[-1].notes[0]
    second = ConstrainedDecoding(llm)(state, run)
    assert second.evidence is not None and second.evidence.texts(FILMS) == ["Heat by Mann"]


def test_constrained_decoding_over_budget_keeps_first_items() -> None:
    state = EnumeratedPaths(1)(start("Who?", FILMS, entities=["Heat"]))
    with pytest.raises(BudgetError):
        ConstrainedDecoding(BudgetedLLM(GrammarLLM(), max_tokens=3))(state)

    class Slow(GrammarLLM):
        def with_grammar(self, grammar: str) -> Slow:
            return self

        def complete(self, system: str, user: str, **_: object) -> object:  # type: ignore[override]
            raise ReplyCutError("it took more than 60 seconds.")

    after = (ConstrainedDecoding(Slow()) % 1)(state)
    assert after.evidence is not None and after.evidence.texts(FILMS) == ["Heat by Mann"]
    assert any("took more than 60 seconds" in note for note in after.trace[-1].notes)
