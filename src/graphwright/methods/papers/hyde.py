"""HyDE: search with a generated passage instead of the question."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, TopK
from graphwright.operators.search.feedback import Feedback, HypotheticalPassage
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.search.snapshot import Snapshot


def hyde(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    feedback: Annotated[
        int, Help("without a language model, the first passages of a search, which move the question's vector")
    ] = 5,
    beta: Annotated[float, Help("weight of the feedback passages relative to the question")] = 0.75,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by their nearness to a hypothetical passage that answers the question (HyDE).

    A language model writes that passage. Its offline twin is pseudo-relevance feedback.
    """
    if llm is not None:
        return Method(HypotheticalPassage(ix.passages, llm) % top_k >> ToPassages(), *answering(ix, llm))
    first = VectorSearch(ix.passages) % feedback
    return Method(first >> Feedback(ix.passages, beta) % top_k >> ToPassages(), *answering(ix))
