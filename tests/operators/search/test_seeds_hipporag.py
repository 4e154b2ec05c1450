"""The seeds of HippoRAG's walks: worked numbers for specificity, informative words, and seed weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.shared import corpus_index

from graphwright import Anchor, Evidence, Graph, VectorIndex, VectorSearch, start
from graphwright.operators import PhraseSeeds, SharedWords, SpecificSeeds
from graphwright.operators.state import State
from graphwright.search import WordIndex

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph


def named(state: State) -> dict[str, float]:
    assert state.evidence is not None and state.evidence.scores is not None
    return dict(zip(GRAPH.names.take(state.evidence.nodes), state.evidence.scores.tolist(), strict=True))


def passages_with(name: str) -> int:
    return len(GRAPH.chunks_of([GRAPH.id(name)]))


class TestSpecific:
    def test_specific_seeds_prefer_rare_names(self) -> None:
        ids = [GRAPH.id(name) for name in ("Lothair II", "Boso the Elder")]
        anchors = [Anchor("Lothair II", [ids[0]]), Anchor("Boso", [ids[1]], weight=0.5)]
        result = named(SpecificSeeds(SNAPSHOT.names)(start("?", GRAPH, anchors=anchors)))
        assert passages_with("Lothair II") > passages_with("Boso the Elder") == 1
        assert result == {"Lothair II": 1 / passages_with("Lothair II"), "Boso the Elder": 0.5}

    @pytest.mark.parametrize("names", [SNAPSHOT.names, None], ids=["vectors", "words"])
    def test_specific_seeds_use_nearest_node_for_unknown_name(self, names: VectorIndex | None) -> None:
        anchors = [Anchor("the Drava"), Anchor("Lothair II", kind="theme"), Anchor("Teutberga", weight=0.0)]
        assert list(named(SpecificSeeds(names)(start("?", GRAPH, anchors=anchors)))) == ["Drava"]

    def test_specific_seeds_outside_part_are_omitted(self) -> None:
        inside, outside = GRAPH.id("Boso the Elder"), GRAPH.id("Teutberga")
        anchors = [Anchor("Boso", [inside]), Anchor("Teutberga", [outside])]
        state = SpecificSeeds(SNAPSHOT.names)(start("?", GRAPH.part([inside]), anchors=anchors))
        assert named(state) == {"Boso the Elder": 1.0}


class TestSharedWords:
    GRAPH = Graph.from_triples(
        [("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône"), ("Linz", "lies on", "Danube")]
    )
    WORDS = WordIndex.of(["Graz lies on", "Lyon lies on", "Linz lies on"], [0, 2, 4])

    def result(self, question: str, **options: float) -> dict[str, float]:
        evidence = Evidence.of_edges([0, 1, 2], [0.9, 0.8, 0.7])
        state = SharedWords(self.WORDS, **options)(start(question, self.GRAPH, evidence=evidence))
        assert state.evidence is not None and state.evidence.scores is not None
        return dict(zip(state.evidence.texts(self.GRAPH), state.evidence.scores.tolist(), strict=True))

    def test_phrase_seeds_equal_worked_numbers(self) -> None:
        # "lies" stands in 3 of 3 passages, "Lyon" in one; "lower" in none, and does not count.
        rare, common = math.log(1 + 3 / 1.5), math.log(1 + 3 / 3.5)
        share = common / (rare + common)
        assert self.result("Lyon lies lower?", threshold=0.0) == pytest.approx(
            {"Lyon lies on Rhône": 0.8 + 1.0, "Graz lies on Mur": 0.9 + share, "Linz lies on Danube": 0.7 + share}
        )
        assert self.result("Lyon lies lower?", weight=2.0) == pytest.approx({"Lyon lies on Rhône": 0.8 + 2.0})

    def test_shared_words_without_overlap_keep_score(self) -> None:
        for question in ("Who?", "Vienna?"):
            assert list(self.result(question).values()) == [0.9, 0.8, 0.7]


class TestPhraseSeeds:
    def test_phrase_seeds_average_triples_and_weigh_passages(self) -> None:
        edges = [int(e) for e in GRAPH.columns.out.row(GRAPH.id("Lothair II"))[:2]]
        question = start("Whom did Lothair II marry?", GRAPH, evidence=Evidence.of_edges(edges, [0.8, 0.4]))
        result = named(PhraseSeeds(SNAPSHOT.passages)(question))
        expected: dict[str, float] = {}
        of: dict[str, list[float]] = {}
        for edge, score in zip(edges, (0.8, 0.4), strict=True):
            for end in {GRAPH.triple(edge)[0], GRAPH.triple(edge)[2]}:
                of.setdefault(end, []).append(score)
        expected = {end: float(np.mean(scores)) / 0.8 / passages_with(end) for end, scores in of.items()}
        near = VectorSearch(SNAPSHOT.passages)(question).evidence
        assert near is not None and near.scores is not None
        low, high = near.scores.min(), near.scores.max()
        for node, score in zip(near.nodes.tolist(), near.scores.tolist(), strict=True):
            expected[GRAPH.names[node]] = 0.05 * (score - low) / (high - low)
        assert result == pytest.approx(expected)
        assert max(result[GRAPH.names[int(node)]] for node in near.nodes) == pytest.approx(0.05)

    def test_phrase_seeds_keep_best_phrases(self) -> None:
        edges = GRAPH.columns.out.row(GRAPH.id("Lothair II"))[:3].astype(np.int64)
        state = start("Whom did Lothair II marry?", GRAPH, evidence=Evidence.of_edges(edges, [0.8, 0.6, 0.4]))
        every, best = (named(PhraseSeeds(SNAPSHOT.passages, 0.0, phrases)(state)) for phrases in (9, 2))
        weights = sorted((score for score in every.values() if score), reverse=True)
        assert len(weights) > 2 and sorted((s for s in best.values() if s), reverse=True) == weights[:2]

    def test_phrase_seeds_without_triples_are_empty(self) -> None:
        nothing = PhraseSeeds(SNAPSHOT.passages)(start("?", GRAPH, evidence=Evidence.of_edges([])))
        assert nothing.evidence is not None and not len(nothing.evidence)
        below = PhraseSeeds(SNAPSHOT.passages)(start("Who?", GRAPH, evidence=Evidence.of_edges([0], [-1.0])))
        assert below.evidence is not None and below.evidence.scores is not None and below.evidence.scores.min() >= 0
