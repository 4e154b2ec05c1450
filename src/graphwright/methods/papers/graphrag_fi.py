"""GraphRAG-FI: the two filters of its retrieved paths."""

from __future__ import annotations

from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.rerank.choose import Choose
from graphwright.operators.rerank.rerank import AboveThreshold, Rerank
from graphwright.operators.rerank.scorer import Scorer


def filters(
    model: Encoder | CrossEncoder | Scorer, llm: LLM | None = None, threshold: float = 0.5, shown: int = 64
) -> Operator:
    """Return both filters of GraphRAG-FI (Guo et al., 2025): paths that score enough, then those that an LLM chooses.

    Paths that pass only the first filter follow the chosen ones, as in the paper's prompt. The paper's first filter
    uses a model's attention, which servers do not return; the scores of `model`, scaled from 0 to 1, take its place.
    Without a language model only the first filter is applied. `shown`: paths in one prompt. The paper's third part,
    which chooses between two answers by logits, is not implemented.

    >>> from graphwright.models.fake import HashEncoder
    >>> filters(HashEncoder())
    Rerank(HashEncoder(dimension=64)) >> AboveThreshold()
    """
    coarse = Rerank(model) >> AboveThreshold(threshold)
    return coarse if llm is None else coarse >> (Choose(llm, shown) | Keep())
