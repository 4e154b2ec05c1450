"""LSA and LDA against their definitions, computed text by text."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from numpy.typing import NDArray
from published.statistical import LDA, LSA, infer_topics, latent_topics
from scipy.sparse import csr_array
from scipy.special import psi

from graphwright import BeamSearch, Evidence, Graph, Rerank, start
from graphwright.errors import OptionError
from graphwright.methods.papers.lego import cell
from graphwright.operators.run import Run
from graphwright.text.words import words

GRAPH = Graph.from_triples([("Heat", "directed_by", "Mann"), ("Heat", "starred_actors", "Pacino"), ("Ali", "by", "M")])
NOUNS = ("river", "abbey", "film", "opera", "bridge", "queen", "tower", "ship", "crown", "valley")


def random_graph(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_triples([tuple(" ".join(rng.choice(NOUNS, 2)) for _ in range(3)) for _ in range(14)])  # type: ignore[misc]


def scored(scorer: LSA | LDA, graph: Graph, question: str, edges: list[int]) -> list[float]:
    return scorer.prepare(start(question, graph), Run())(Evidence.of_edges(edges)).tolist()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dimensions", [1, 3, 100])
def test_lsa_is_cosine_among_largest_singular_vectors(seed: int, dimensions: int) -> None:
    graph, question = random_graph(seed), "the abbey at the river, and the queen"
    edges = graph.edges.tolist()
    texts = list(dict.fromkeys(graph.edge_text(edge) for edge in edges))
    vocabulary = sorted({word for text in texts for word in words(text)})
    counts = np.array([[words(text).count(word) for word in vocabulary] for text in texts], float)
    idf = np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0))) + 1
    x = counts * idf
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    v = np.linalg.svd(x)[2].T[:, : min(dimensions, *x.shape)]
    q = np.array([words(question).count(word) for word in vocabulary]) * idf
    a, b = x @ v, q @ v
    expected = dict(zip(texts, a @ b / np.linalg.norm(a, axis=1) / np.linalg.norm(b), strict=True))
    assert scored(LSA(dimensions), graph, question, edges) == pytest.approx(
        [expected[graph.edge_text(edge)] for edge in edges], abs=1e-8
    )


@pytest.mark.parametrize(("seed", "triples"), [(2, 330), (6, 330), (7, 330), (0, 40), (0, 2_600)])
def test_lsa_of_texts_that_are_much_alike(seed: int, triples: int) -> None:
    """Many singular values are equal, or 0, so that ARPACK does not find them in three of these graphs."""
    draws = np.random.default_rng(seed)
    tails = [f"name{x} place{x}" if draws.random() < 0.5 else f"name{x}" for x in draws.integers(0, triples, triples)]
    graph = Graph.from_triples([("Vienna", f"relation{draws.integers(5)}", tail) for tail in tails])
    values = np.array(scored(LSA(), graph, "relation3", graph.edges.tolist()))
    asked = np.array([" relation3 " in graph.edge_text(edge) for edge in graph.edges])
    assert values[asked].min() > values[~asked].max()


def topics_text_by_text(
    counts: NDArray[np.float64], topics: int, passes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Algorithm 1 of Hoffman et al. with one batch, in loops over texts and words."""

    def expected(row: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(psi(row) - psi(row.sum()))

    def inferred(lam: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        beta = np.array([expected(row) for row in lam])
        gamma, statistic = np.ones((len(counts), topics)), np.zeros_like(lam)
        for d, text in enumerate(counts):
            for _ in range(10):
                theta, total = expected(gamma[d]), np.zeros(topics)
                for w in np.flatnonzero(text):
                    phi = theta * beta[:, w]
                    total += text[w] * phi / phi.sum()
                gamma[d] = 1 / topics + total
            theta = expected(gamma[d])
            for w in np.flatnonzero(text):
                phi = theta * beta[:, w]
                statistic[:, w] += text[w] * phi / phi.sum()
        return gamma, statistic

    lam = np.random.default_rng(0).gamma(100.0, 0.01, (topics, counts.shape[1]))
    for _ in range(passes):
        lam = 1 / topics + inferred(lam)[1]
    return inferred(lam)[0], lam


@pytest.mark.parametrize("seed", range(4))
def test_topics_are_those_of_algorithm_text_by_text(seed: int) -> None:
    counts = np.random.default_rng(seed).poisson(0.6, (9, 7)).astype(float)
    gamma, lam = latent_topics(csr_array(counts), 3, passes=5)
    expected_gamma, expected_lam = topics_text_by_text(counts, 3, passes=5)
    np.testing.assert_allclose(gamma, expected_gamma, rtol=1e-9)
    np.testing.assert_allclose(lam, expected_lam, rtol=1e-9)
    np.testing.assert_allclose(infer_topics(csr_array(counts), lam), gamma, rtol=1e-12)


def test_lda_parts_texts_of_two_subjects_that_share_no_word() -> None:
    music = [("opera", "has", "tenor"), ("tenor", "sings", "aria"), ("aria", "of", "opera"), ("opera", "aria", "tenor")]
    water = [
        ("river", "has", "delta"),
        ("delta", "floods", "valley"),
        ("valley", "of", "river"),
        ("river", "delta", "sea"),
    ]
    graph = Graph.from_triples(music * 2 + water * 2)
    scores = scored(LDA(topics=2), graph, "Which tenor is in the opera?", graph.edges.tolist())
    of_music = np.array([graph.names[graph.columns.heads[edge]] in ("opera", "tenor", "aria") for edge in graph.edges])
    assert min(np.array(scores)[of_music]) > max(np.array(scores)[~of_music])


@pytest.mark.parametrize("scorer", [LSA(), LSA(2), LDA(topics=3)])
def test_statistical_scores_do_not_depend_on_item_order(scorer: LSA | LDA) -> None:
    graph = random_graph(3)
    edges = graph.edges.tolist()
    forwards, backwards = (scored(scorer, graph, "the abbey at the river", order) for order in (edges, edges[::-1]))
    assert forwards == backwards[::-1]


@pytest.mark.parametrize("scorer", [LSA(), LDA()])
def test_statistical_scorers_rank_evidence_and_beam_steps(scorer: LSA | LDA) -> None:
    state = start("who directed Heat", GRAPH, entities=["Heat"], evidence=Evidence.of_edges([2, 1, 0]))
    result = Rerank(scorer)(state).evidence
    assert result is not None and result.edges.tolist()[0] == 0
    assert len(BeamSearch(scorer, width=1, length=1)(state).items) == 1
    assert cell("PPR+EP-W", "OSAR-W", {"W": scorer})(state).items
    run = Run()
    scorer.prepare(state, run)(Evidence.of_edges([0, 1]))
    assert run.usage.texts == 2


@pytest.mark.parametrize("scorer", [LSA(), LDA()])
def test_statistical_score_without_common_word_is_zero(scorer: LSA | LDA) -> None:
    score = scorer.prepare(start("bridges of Königsberg", GRAPH), Run())
    assert score(Evidence.of_nodes([])).tolist() == []
    assert score(Evidence.of_edges([0, 1])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scorer", [LSA(), LDA()])
def test_statistical_scorer_without_scipy_names_extra(scorer: LSA | LDA, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("graphwright.errors.find_spec", lambda name: None if name == "scipy" else find(name))
    with pytest.raises(OptionError, match=r"graphwright\[stats\]"):
        scorer.prepare(start("who", GRAPH), Run())
