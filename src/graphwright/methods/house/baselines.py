"""Baselines: a language model alone, and passages by vectors, by words, or by both."""

from __future__ import annotations

from graphwright.generate.answer import Generate, Unaided
from graphwright.generate.prompts import PassagePrompt
from graphwright.generate.readers import Quote, ReadSpans
from graphwright.index.snapshot import Snapshot
from graphwright.models.embedded.cross_encoder import MiniLMReader
from graphwright.models.protocols import LLM
from graphwright.operators.control import ScoreSum
from graphwright.operators.operator import Operator
from graphwright.operators.search.search import VectorSearch, WordSearch
from graphwright.operators.select import ToPassages

__all__ = ["answering", "bm25", "both", "cot", "hybrid", "vanilla", "vector"]


def answering(
    ix: Snapshot, llm: LLM | None = None, *, sources: Operator | None = None, prompt: Operator | None = None
) -> Operator:
    """Return the steps that end every method: from its evidence to an answer.

    `sources`: from the evidence to passages, by default ToPassages(). A language model answers from `prompt`, by
    default PassagePrompt(). Without one the embedded reader answers if it is confident; else the sentences nearest to
    the question are quoted.
    """
    passages = sources or ToPassages()
    if llm is not None:
        return passages >> (prompt or PassagePrompt()) >> Generate(llm)
    return passages >> ReadSpans(MiniLMReader()) >> Quote(ix.encoder)


def vanilla(ix: Snapshot, *, llm: LLM) -> Operator:
    """Answer with a language model alone: no passages and no citations."""
    return Unaided(llm)


def cot(ix: Snapshot, *, llm: LLM) -> Operator:
    """Answer with a language model alone after a chain of thought: no passages and no citations."""
    return Unaided(llm, reasoning=True)


def vector(ix: Snapshot, top_k: int = 20, *, llm: LLM | None = None) -> Operator:
    """Rank passages by the cosine of their vector with the question's (dense retrieval, naive RAG)."""
    return VectorSearch(ix.passages) % top_k >> answering(ix, llm)


def bm25(ix: Snapshot, top_k: int = 20, *, llm: LLM | None = None) -> Operator:
    """Rank passages by BM25."""
    return WordSearch(ix.words) % top_k >> answering(ix, llm)


def both(ix: Snapshot, depth: int) -> Operator:
    """Return the search by vectors and by words, each to that depth, with scores divided by the largest and summed."""
    return ScoreSum(VectorSearch(ix.passages) % depth, WordSearch(ix.words) % depth)


def hybrid(ix: Snapshot, top_k: int = 20, depth: int = 200, *, llm: LLM | None = None) -> Operator:
    """Rank passages by the sum of vector and BM25 scores, each divided by its largest.

    `depth`: the passages of each search.
    """
    return both(ix, depth) % top_k >> answering(ix, llm)
