"""Scorers by statistics of words: latent semantic analysis, and latent Dirichlet allocation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast
from graphwright.errors import check_installed
from graphwright.graph.evidence import Scores
from graphwright.operators.rerank.scorer import ScoreFunction, Scorer, scores_by_text
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.vector_index import cosines
from graphwright.text.words import words

Floats = NDArray[np.float64]
Counts = Any
"""A sparse matrix of scipy: how often each word (column) occurs in each text (row)."""


@dataclass(frozen=True, repr=False)
class LSA(Scorer):
    """Score items by latent semantic analysis over the words of their texts (LEGO-GraphRAG, section 3.2.2 a.1).

    The texts that are scored together are the corpus. X holds a row for each text: tf · (ln((1 + N)/(1 + df)) + 1) of
    its words, of length 1. With X ≈ U S Vᵀ, its `dimensions` largest singular values, a text x and the question q have
    the coordinates x V and q V, and the score is their cosine (Deerwester et al., 1990). Words that occur in the same
    texts are alike, so a text may score without a word of the question. Needs the extra `stats` (scipy).

    >>> from graphwright import Evidence, Graph, start
    >>> heat = Graph.from_triples([("Heat", "directed by", "Mann"), ("Heat", "starred", "Pacino")])
    >>> LSA().prepare(start("Who directed Heat?", heat), Run())(Evidence.of_edges([0, 1])).round(2).tolist()
    [0.99, 0.33]
    """

    dimensions: Annotated[int, AtLeast(1)] = 100

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the cosine of the question and each item's text among the texts scored together."""
        check_installed("scipy", "stats", self)

        def scores(counts: Counts, question: Floats) -> Scores:
            weights = np.log((1 + counts.shape[0]) / (1 + np.bincount(counts.indices, minlength=counts.shape[1]))) + 1
            rows = counts.multiply(weights).tocsr()
            lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
            rows = rows.multiply(1 / np.maximum(lengths, 1e-12)[:, None]).tocsr()
            directions = _singular_vectors(rows, self.dimensions)
            return cosines(rows @ directions, (question * weights) @ directions)

        return _by_counts(state, run, scores)


@dataclass(frozen=True, repr=False)
class LDA(Scorer):
    """Score items by latent Dirichlet allocation over the words of their texts (LEGO-GraphRAG, section 3.2.2 a.1).

    The texts that are scored together are the corpus, from which `topics` distributions of words are learned in
    `passes` passes (see `latent_topics`); the score is the cosine of the topic shares of question and text (Blei et
    al., 2003). Learning is repeated for each question, because the candidates differ. Needs the extra `stats` (scipy).

    >>> from graphwright import Evidence, Graph, start
    >>> heat = Graph.from_triples([("Heat", "directed by", "Mann"), ("Ali", "starred", "Smith")])
    >>> scores = LDA(topics=2).prepare(start("Who directed Heat?", heat), Run())(Evidence.of_edges([0, 1]))
    >>> bool(scores[0] > 0.9 > scores[1])
    True
    """

    topics: Annotated[int, AtLeast(1)] = 20
    passes: Annotated[int, AtLeast(1)] = 20

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the cosine of the topics of the question and of each item's text."""
        check_installed("scipy", "stats", self)

        def scores(counts: Counts, question: Floats) -> Scores:
            from scipy.sparse import csr_array

            shares, topics = latent_topics(counts, self.topics, self.passes)
            question_shares = infer_topics(csr_array(question[None]), topics)[0]
            return cosines(shares / shares.sum(axis=1, keepdims=True), question_shares / question_shares.sum())

        return _by_counts(state, run, scores)


def latent_topics(counts: Counts, topics: int, passes: int = 20) -> tuple[Floats, Floats]:
    """Return the topics of texts and the words of topics, as parameters of Dirichlet distributions.

    Batch variational Bayes (Hoffman et al., 2010, Algorithm 1) with both priors 1/topics. γ: float[texts, topics],
    λ: float[topics, words]. In each pass, with exp E[log θ] and exp E[log β] under these,

        γ = 1/K + E[θ] ∘ (R E[β]ᵀ),   λ = 1/K + E[β] ∘ (E[θ]ᵀ R),   R = n / (E[θ] E[β]) where a text has a word,

    γ repeatedly before λ once. λ begins as random numbers of one seed. The cost of a pass is that of the texts' words
    times the topics.
    """
    topic_words = np.random.default_rng(0).gamma(100.0, 0.01, (topics, counts.shape[1]))
    for _ in range(passes):
        shares = infer_topics(counts, topic_words)
        expected, of_words = _expected(shares), _expected(topic_words)
        topic_words = 1 / topics + of_words * (_ratios(counts, expected, of_words).T @ expected).T
    return infer_topics(counts, topic_words), topic_words


def infer_topics(counts: Counts, topic_words: Floats, repeats: int = 10) -> Floats:
    """Return the topics of texts, γ, for given words of topics, λ (see `latent_topics`)."""
    of_words, shares = _expected(topic_words), np.ones((counts.shape[0], len(topic_words)))
    for _ in range(repeats):
        expected = _expected(shares)
        shares = 1 / len(topic_words) + expected * (_ratios(counts, expected, of_words) @ of_words.T)
    return shares


def _expected(parameters: Floats) -> Floats:
    """Return exp E[log p] of the Dirichlet distribution of each row."""
    from scipy.special import psi

    values: Floats = np.exp(psi(parameters) - psi(parameters.sum(axis=1, keepdims=True)))
    return values


def _ratios(counts: Counts, texts: Floats, of_words: Floats) -> Counts:
    """Return n / (θ β) at the words of each text."""
    owner = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    likelihood = np.einsum("ik,ik->i", texts[owner], of_words.T[counts.indices])
    result = counts.copy()
    result.data = counts.data / np.maximum(likelihood, 1e-100)
    return result


_DENSE = 2_000
"""Texts or words up to which the matrix of products is decomposed as a whole: iterations may not converge if singular
values are equal, as for the equal texts of a graph."""


def _singular_vectors(rows: Counts, dimensions: int) -> Floats:
    """Return the right singular vectors of the largest singular values, as columns; none for values of 0."""
    from scipy.sparse.linalg import ArpackError, svds

    if min(rows.shape) > _DENSE:
        try:
            vectors: Floats = svds(rows, k=dimensions, v0=np.ones(min(rows.shape)))[2].T  # the same at every call
            return vectors
        except ArpackError:
            pass
    by_text = rows.shape[0] < rows.shape[1]
    products = (rows @ rows.T if by_text else rows.T @ rows).toarray()
    squares, vectors = np.linalg.eigh(products)
    largest = slice(max(np.searchsorted(squares, 1e-10 * squares[-1]), len(squares) - dimensions), None)
    return rows.T @ (vectors[:, largest] / np.sqrt(squares[largest])) if by_text else vectors[:, largest]


def _by_counts(state: State, run: Run, score: Any) -> ScoreFunction:
    """Return the function that scores items by the counts of words of their texts, and of the question's."""
    question_words = words(state.question.text)

    def scores(texts: list[str]) -> Scores:
        run.usage.texts += len(texts)
        order = sorted(range(len(texts)), key=texts.__getitem__)  # the result does not depend on the order of items
        counts, question = _counted([words(texts[at]) for at in order], question_words)
        values = np.zeros(len(texts))
        if question.any():
            values[order] = score(counts, question)
        return values

    return scores_by_text(state.graph, scores)


def _counted(texts: Sequence[Sequence[str]], question: Sequence[str]) -> tuple[Counts, Floats]:
    """Return the counts of words of texts, and those of the question among the same words."""
    from scipy.sparse import csr_array

    column = {word: at for at, word in enumerate(sorted({word for text in texts for word in text}))}
    owners = [row for row, text in enumerate(texts) for _ in text]
    columns = [column[word] for text in texts for word in text]
    counts = csr_array((np.ones(len(columns)), (owners, columns)), (len(texts), len(column)))  # adds up repeats
    known = [column[word] for word in question if word in column]
    return counts, np.bincount(np.array(known, np.int64), minlength=len(column)).astype(np.float64)
