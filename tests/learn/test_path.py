"""The decoder of relation paths compared with the likelihood of all relation paths."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.shared import GRAPHS
from tests.toys import untrained

from graphwright import Chains, Evidence, Graph, MergeChains, Triples, start
from graphwright.errors import OptionError
from graphwright.graph.walks import relation_paths, relation_text, ways_of
from graphwright.learn import Decode, PathRetriever
from graphwright.models import HashEncoder
from graphwright.operators.paths.node_paths import query_entities
from graphwright.operators.run import Run
from graphwright.operators.state import State

LENGTH = 3


def writer(seed: int = 0) -> PathRetriever:
    made = untrained("path", seed)
    assert isinstance(made, PathRetriever)
    return made


def asked(graph: Graph, *entities: str) -> State:
    return start("who is the child of the spouse", graph, entities=entities or [graph.names[0]])


def plain_chances(retriever: PathRetriever, state: State, ways: tuple[int, ...]) -> list[tuple[list[float], float]]:
    """After each prefix of a relation path, the log-probability of every way, and of the end; an Elman network."""
    w = {name: value.astype(np.float64) for name, value in retriever.weights.items()}
    question = HashEncoder().encode([state.question.text])[0].astype(np.float64)
    words = HashEncoder().encode([name.replace("_", " ") for name in state.graph.columns.relations])
    halves = [half for word in words for half in np.split(word.astype(np.float64) @ w["relation"], 2)]
    hidden = np.maximum(question @ w["question"] + w["start"], 0)
    result = []
    for way in (*ways, None):
        logits = [float(hidden @ w["write"] @ half) for half in halves]
        logits.append(float((hidden @ w["end weights"] + w["end"])[0]))
        norm = math.log(sum(map(math.exp, logits)))
        result.append(([logit - norm for logit in logits[:-1]], logits[-1] - norm))
        if way is not None:
            hidden = hidden @ w["carry"] + halves[way] @ w["step"] + question @ w["again"] + w["bias"]
            hidden = np.maximum(hidden, 0)
    return result


def likelihood(retriever: PathRetriever, state: State, ways: tuple[int, ...]) -> float:
    """log p(r(P) | q): the likelihood of a relation path, its end included (Eq. 35)."""
    chances = plain_chances(retriever, state, ways)
    return sum(on[way] for way, (on, _) in zip(ways, chances, strict=False)) + chances[-1][1]


def paths_of(state: State, length: int = LENGTH) -> list[tuple[int, ...]]:
    """All relation paths that the graph can carry out from the entity, returning ones too."""
    (source,) = state.graph.at(query_entities(state)).tolist()
    return [path.ways for path in relation_paths(state.graph, source, length, returning=True)[0]]


@st.composite
def small(draw: st.DrawFn) -> Graph:
    name = st.sampled_from("abcde")
    rows = draw(st.lists(st.tuples(name, st.sampled_from(["child", "spouse", "ward"]), name), min_size=1, max_size=7))
    return Graph.from_triples(rows)


@given(small(), st.integers(0, 9))
def test_wide_beam_equals_exhaustive_path_ranking(graph: Graph, seed: int) -> None:
    state, retriever = asked(graph), writer(seed)
    every = paths_of(state)
    assume(all(sum(len(ways) == n for ways in every) <= 20 for n in range(1, LENGTH + 1)))
    result = Decode(retriever, LENGTH)(state).evidence
    assert result.render is relation_text and result.scores is not None
    wanted = sorted((-likelihood(retriever, state, ways), ways) for ways in every)[:20]
    assert result.scores == pytest.approx([-cost for cost, _ in wanted], abs=1e-4)
    # Two relation paths as likely as each other may change places.
    written = {ways_of(graph, item.steps) for item in result.items()}
    assert len(written) == min(len(every), 20) and written <= set(every)
    for item, score in zip(result.items(), result.scores, strict=True):
        walk, ways = item.nodes, ways_of(graph, item.steps)
        assert walk[0] == 0 and len(walk) == len(item.edges) + 1
        for at in range(1, len(ways)):  # never straight back
            assert walk[at - 1] != walk[at + 1] or ways[at] != ways[at - 1] ^ 1
        assert likelihood(retriever, state, ways) == pytest.approx(score, abs=1e-4)


def test_decode_adds_cosine_of_question_and_relations() -> None:
    graph, plain = GRAPHS["family"], writer()
    checkpoint = plain.checkpoint
    retriever = replace(plain, checkpoint=replace(checkpoint, about={**checkpoint.about, "meaning": 3.0}))
    state = asked(graph, "Gisela")
    result = Decode(retriever, 2, width=1000)(state).evidence
    assert result is not None and result.scores is not None and len(result) > 2
    question = HashEncoder().encode([state.question.text])[0].astype(np.float64)
    for item, score in zip(result.items(), result.scores.tolist(), strict=True):
        ways = ways_of(graph, item.steps)
        words = HashEncoder().encode([graph.columns.relations[way >> 1].replace("_", " ") for way in ways])
        mean = words.astype(np.float64).mean(axis=0)
        cosine = question @ mean / np.linalg.norm(mean) / np.linalg.norm(question)
        assert score == pytest.approx(likelihood(plain, state, ways) + 3 * cosine, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_path_and_continuation_probabilities_sum_to_one(seed: int) -> None:
    graph, retriever = GRAPHS["family"], writer(seed)
    state = asked(graph, "Lothair I")
    decoder, ways = retriever.decoder(state, Run()), range(2 * len(graph.columns.relations))
    every = [item for n in range(3) for item in itertools.product(ways, repeat=n)]
    ended = sum(math.exp(decoder.path_log_probability(item)) for item in every)
    going_on = 0.0
    for item in itertools.product(ways, repeat=3):
        chances = plain_chances(retriever, state, item)
        going_on += math.exp(sum(on[way] for way, (on, _) in zip(item, chances, strict=False)))
    assert ended + going_on == pytest.approx(1.0, abs=1e-5) and 0 < ended < 1
    result = Decode(retriever, LENGTH)(state).evidence
    assert result is not None and result.scores is not None and np.exp(result.scores).sum() < 1


def test_beam_continues_best_prefixes_only() -> None:
    graph, retriever = GRAPHS["family"], writer()
    state = asked(graph, "Lothair I")
    best, level = list[tuple[float, tuple[int, ...]]](), [()]
    for n in range(1, LENGTH + 1):
        longer = [ways for ways in paths_of(state) if len(ways) == n and ways[:-1] in level]

        def prefix(ways: tuple[int, ...]) -> float:
            chances = plain_chances(retriever, state, ways)
            return sum(on[way] for way, (on, _) in zip(ways, chances, strict=False))

        level = sorted(longer, key=prefix, reverse=True)[:2]
        best += [(likelihood(retriever, state, ways), ways) for ways in level]
    result = (Decode(retriever, LENGTH) % 2)(state).evidence
    assert result is not None and result.scores is not None
    assert [ways_of(graph, item.steps) for item in result.items()] == [
        ways for _, ways in sorted(best, reverse=True)[:2]
    ]


def test_decode_searches_from_each_question_entity() -> None:
    graph, retriever = GRAPHS["family"], writer(3)
    apart = [Decode(retriever, 2)(asked(graph, who)).evidence for who in ("Gisela", "Ermengarde of Tours")]
    # The question names both now, and reads the same with neither of them in it.
    both = (Decode(retriever, 2) % 20)(asked(graph, "Gisela", "Ermengarde of Tours")).evidence
    assert both is not None and both.scores is not None
    every = [pair for result in apart if result is not None and result.scores is not None
             for pair in zip(result.identities(), result.scores.tolist(), strict=True)]  # fmt: skip
    assert both.scores.tolist() == sorted((score for _, score in every), reverse=True)[:20]
    assert set(both.identities()) <= {identity for identity, _ in every}


def test_decode_returns_walks_of_best_paths() -> None:
    graph, retriever = GRAPHS["family"], writer()
    state = asked(graph, "Waldrada")
    plans, result = (Decode(retriever, LENGTH) % 20)(state).evidence, retriever.search(500)(state).evidence
    assert plans is not None and result is not None and plans.scores is not None and result.scores is not None
    score = {ways_of(graph, item.steps): s for item, s in zip(plans.items(), plans.scores.tolist(), strict=True)}
    for item, s in zip(result.items(), result.scores.tolist(), strict=True):
        assert score[ways_of(graph, item.steps)] == s
    # Waldrada has two daughters, of whom the one walk that stands for the relation path shows one.
    named = {graph.names[int(nodes[-1])] for nodes, edges in result if len(edges) == 1}
    assert {"Gisela", "Bertha"} <= named and len(plans) < len(result)


def test_item_is_scored_by_its_relations() -> None:
    graph, retriever = GRAPHS["family"], writer()
    state = asked(graph, "Lothair I")
    chains = (Triples() >> Chains(2) >> MergeChains())(state).evidence
    assert chains is not None and any(len(edges) > 2 for _, edges in chains)
    mother = 2 * list(graph.columns.relations).index("mother of") + 1
    spouse = 2 * list(graph.columns.relations).index("spouse") + 1
    by_text = dict(zip(chains.texts(graph), retriever.prepare(state, Run())(chains).tolist(), strict=True))
    for text, ways in (
        ("Lothair I → [spouse] → Ermengarde of Tours", (spouse,)),
        ("Lothair I → [father of] → Lothair II → [spouse] → Teutberga; Waldrada", (mother + 2, spouse)),
    ):
        assert by_text[text] == pytest.approx(likelihood(retriever, state, ways), abs=1e-4)
    triple = retriever.prepare(state, Run())(Evidence.of_edges([1]))
    assert triple == pytest.approx([likelihood(retriever, state, (mother,))], abs=1e-4)


def test_decode_in_part_uses_its_relations() -> None:
    graph, retriever = GRAPHS["family"], writer()
    part = graph.part([graph.id("Lothair II"), graph.id("Teutberga"), graph.id("Waldrada")])
    result = Decode(retriever, 1)(asked(graph, "Lothair II").with_(graph=part)).evidence
    assert result is not None and result.scores is not None and result.texts(graph) == ["spouse"]
    alone = asked(Graph.from_triples([("Lothair II", "spouse", "Teutberga")]), "Lothair II")
    assert result.scores == pytest.approx([likelihood(retriever, alone, (1,))], abs=1e-4)


def test_decode_without_continuation_is_empty() -> None:
    graph = GRAPHS["family"]
    lone = asked(graph, "Gisela").with_(graph=graph.part([graph.id("Gisela")]))
    for state in (lone, start("who", graph, anchors=[])):
        result = writer().search(5)(state).evidence
        assert result is not None and len(result) == 0


def test_decode_finds_relation_path_returning_to_node() -> None:
    graph = Graph.from_triples([("a", "r", "b"), ("b", "s", "c"), ("c", "t", "d"), ("d", "u", "b")])
    result = Decode(writer(), 4)(asked(graph, "a")).evidence
    assert result is not None
    by_ways = {ways_of(graph, item.steps): graph.names.take(item.nodes) for item in result.items()}
    assert by_ways[(1, 3, 5, 7)] == ["a", "b", "c", "d", "b"]


def test_decode_finds_path_through_intermediate_walk() -> None:
    films = Graph.from_triples(
        [("Heat", "directed_by", "Mann"), ("Ali", "directed_by", "Mann"), ("Ali", "written_by", "Mann")]
    )
    result = writer().search(100)(asked(films, "Heat")).evidence
    assert result is not None
    assert ["Heat", "Mann", "Ali", "Mann"] in [films.names.take(nodes) for nodes, _ in result]


def test_decode_over_cost_limit_is_noted() -> None:
    state = Decode(writer(), 2, max_edges=3)(asked(GRAPHS["star"], "hub"))
    assert state.evidence is not None and len(state.evidence) == 0
    assert state.trace[-1].notes == ("a relation path leads to too many nodes to be extended; raise `max_edges`",)


def test_decode_with_invalid_retriever_raises() -> None:
    with pytest.raises(OptionError, match="it must be a trained path retriever"):
        Decode(untrained("triple"))  # type: ignore[arg-type]
