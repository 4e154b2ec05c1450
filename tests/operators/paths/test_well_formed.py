"""Well-formed chains against the same search in plain Python, and decoded by language models."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.grammars import GrammarLLM

from graphwright import Evidence, Graph, start
from graphwright.errors import OptionError
from graphwright.models import OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import Choose, ConstrainedDecoding, WellFormedChains
from graphwright.operators.rerank.rerank import Rerank

MODEL = OverlapCrossEncoder()
QUESTION = "whom does b like, who likes c, and rules d of e"
TRIPLES = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from(["rules", "likes", "knows"]), st.sampled_from("abcde")),
    min_size=1,
    max_size=10,
)


Rows = list[tuple[str, str, str]]
Chain = tuple[int, ...]
"""The rows of a chain, in its order."""


def score(rows: Rows, chain: Chain) -> float:
    text = "; ".join(" ".join(rows[row]) for row in chain)
    return float(MODEL.head(MODEL.latents(QUESTION, [text]))[0])


def visited(rows: Rows, sources: list[str], chain: Chain) -> list[str]:
    """The names of a chain, in the order in which it visits them: where a triple begins, then its other end."""
    names: list[str] = []
    for row in chain:
        ends = (rows[row][0], rows[row][2])
        begin = next(name for name in (*names, *sources) if name in ends)
        names += [name for name in dict.fromkeys((begin, *ends)) if name not in names]
    return names


def extended(rows: Rows, sources: list[str], chains: list[Chain]) -> list[Chain]:
    """Every chain with one more triple at a name that it has visited, of equal sets of triples the first."""
    longer: dict[frozenset[int], Chain] = {}
    for chain in chains:
        for name in dict.fromkeys((*visited(rows, sources, chain), *sources)):
            for row, (head, _, tail) in enumerate(rows):
                if row not in chain and name in (head, tail):
                    longer.setdefault(frozenset((*chain, row)), (*chain, row))
    return list(longer.values())


def plainly(rows: Rows, sources: list[str], width: int, length: int) -> list[Chain]:
    """The search written out: at each step the complete chains and all continuations of the new ones are sorted."""
    numbers = list(dict.fromkeys(name for head, _, tail in rows for name in (head, tail)))
    complete: list[Chain] = []
    new: list[Chain] = [()]
    for _ in range(length):
        longer = extended(rows, sources, new)
        if not longer:
            break
        ranked = sorted(
            [*complete, *longer],
            key=lambda chain: (-score(rows, chain), [*map(numbers.index, visited(rows, sources, chain))], chain),
        )
        new = [chain for chain in ranked[:width] if chain not in complete]
        complete = ranked[:width]
    return complete


@given(TRIPLES, st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_well_formed_chains_equal_plain_search(
    rows: list[tuple[str, str, str]], width: int, length: int, two: bool
) -> None:
    graph = Graph.from_triples(rows)
    sources = list(dict.fromkeys([graph.names[0], graph.names[len(graph) - 1 if two else 0]]))
    evidence = WellFormedChains(Rerank(MODEL), width, length)(start(QUESTION, graph, entities=sources)).evidence
    expected = plainly(rows, sources, width, length)
    assert evidence is not None and [tuple(edges.tolist()) for _, edges in evidence] == expected
    assert not expected or evidence.scores.tolist() == pytest.approx([score(rows, chain) for chain in expected])  # type: ignore[union-attr]


@given(TRIPLES, st.integers(0, 999), st.integers(1, 4))
def test_random_model_writes_well_formed_chains(rows: list[tuple[str, str, str]], seed: int, length: int) -> None:
    graph = Graph.from_triples(rows)
    op = WellFormedChains(ConstrainedDecoding(GrammarLLM(seed), 2), 2, length)
    evidence = op(start("?", graph, entities=[graph.names[0]])).evidence
    assert evidence is not None and len(evidence)
    for nodes, edges in evidence:
        visited = {0}
        for edge in edges.tolist():
            ends = {int(graph.columns.heads[edge]), int(graph.columns.tails[edge])}
            assert visited & ends
            visited |= ends
        assert 1 <= len(edges) <= length and len(set(edges.tolist())) == len(edges)
        assert set(nodes.tolist()) <= visited and set(nodes.tolist()) == set(graph.ends(edges).tolist())


KIN = Graph.from_triples(
    [("Bertha", "child", "Ida"), ("Bertha", "ally", "Otto"), ("Ida", "spouse", "Udo"), ("Udo", "ally", "Otto")]
)


def test_well_formed_chains_by_number_show_continuations() -> None:
    prompts: list[list[str]] = []

    def model(system: str, user: str) -> str:
        prompts.append([json.loads(line)["text"] for line in user.split("\n") if line.startswith('{"number"')])
        return json.dumps({"numbers": [[1], [3], [1]][len(prompts) - 1]})

    op = WellFormedChains(ConstrainedDecoding(ScriptedLLM(model), 1), width=1)
    state = op(start("Who?", KIN, entities=["Bertha"]))
    assert prompts == [
        ["Bertha child Ida", "Bertha ally Otto"],
        ["Bertha child Ida", "Bertha child Ida; Bertha ally Otto", "Bertha child Ida; Ida spouse Udo"],
        [
            "Bertha child Ida; Ida spouse Udo",
            "Bertha child Ida; Ida spouse Udo; Bertha ally Otto",
            "Bertha child Ida; Ida spouse Udo; Udo ally Otto",
        ],
    ]
    assert state.evidence is not None and state.evidence.texts(KIN) == ["Bertha child Ida; Ida spouse Udo"]


def test_well_formed_chains_end_without_continuation_and_note_unranked() -> None:
    line = Graph.from_triples([("a", "r", "b")])
    evidence = WellFormedChains(Rerank(MODEL), length=4)(start("?", line, entities=["a"])).evidence
    assert evidence is not None and evidence.texts(line) == ["a r b"]
    assert len(WellFormedChains(Rerank(MODEL))(start("?", line, evidence=Evidence.of_nodes([]))).evidence or ()) == 0
    state = WellFormedChains(Rerank(MODEL), length=1, max_chains=1)(start("Otto?", KIN, entities=["Bertha"]))
    assert state.evidence is not None and state.evidence.texts(KIN) == ["Bertha child Ida"]
    assert state.trace[-1].notes == ("only the first 1 of 2 candidate chains of a step were ranked",)


def test_well_formed_chains_stay_in_part_and_accept_rankers() -> None:
    part = KIN.part([KIN.id("Bertha"), KIN.id("Ida")])
    chains = WellFormedChains(Rerank(MODEL) % 2 >> Choose(ScriptedLLM(lambda s, u: '{"numbers": [1]}')), width=1)
    evidence = chains(start("Who?", part, entities=["Bertha"])).evidence
    assert evidence is not None and evidence.texts(KIN) == ["Bertha child Ida"]
    with pytest.raises(OptionError, match="ranker is 'minilm'; it must be an operator"):
        WellFormedChains("minilm")  # type: ignore[arg-type]
