"""HyDE: a search with the passage that would answer, instead of with the question."""

from __future__ import annotations

from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Operator
from graphwright.operators.search.feedback import Feedback, HypotheticalPassage
from graphwright.operators.search.search import VectorSearch

__all__ = ["hyde"]


def hyde(
    ix: Snapshot, passages: int = 20, feedback: int = 5, beta: float = 0.75, *, llm: LLM | None = None
) -> Operator:
    """Passages near a passage written for the question; offline, near the first that were found (HyDE).

    A language model writes the passage that would answer, and answers at the end from what was found by it. Without one
    its twin is pseudo-relevance feedback: the first `feedback` passages move the question's vector by `beta`.
    """
    if llm is not None:
        return HypotheticalPassage(ix.passages, llm) % passages >> answering(ix, passages, llm)
    first = VectorSearch(ix.passages) % feedback
    return first >> Feedback(ix.passages, beta) % passages >> answering(ix, passages)
