"""Options of methods: their help, as metadata of annotations, and the options that several methods have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES, CONTEXT_TOKENS
from graphwright.models.protocols import LLM, CrossEncoder
from graphwright.operators.operator import Operator


@dataclass(frozen=True)
class Help:
    """The help of an option, in the signature of a builder: `k: Annotated[int, Help("paths, K")] = 15`."""

    text: str


TopK = Annotated[int, Help("passages in the result")]
RequiredLLM = Annotated[LLM, Help("the language model that answers")]
OptionalLLM = Annotated[
    LLM | None, Help("the language model for the answer and for the LLM steps of the paper, by default none")
]
OptionalCrossEncoder = Annotated[CrossEncoder | None, Help("the cross-encoder, by default the embedded one")]
Blend = Annotated[
    float, Help("share of the reranker's score in the final score; the rest is the search's (1: the reranker alone)")
]
FirstSearch = Annotated[Operator | None, Help("the search, by default that of `hybrid`")]
Restart = Annotated[float, Help("restart probability of PageRank, 1 minus the damping factor")]
RankedNodes = Annotated[int, Help("nodes that PageRank ranks")]
SeedWeight = Annotated[float, Help("weight of passages as seeds, relative to entities")]
CommunityLevel = Annotated[int, Help("level of the communities, 0 for the widest")]
CorpusRelations = Annotated[
    tuple[str, ...],
    Help('relations that join passages in the corpus graph (see PassageGraph): ("refers to",) for references alone'),
]

LIMITS_HELP: Mapping[str, str] = {
    "context_passages": f"passages that a language model is shown, by default {CONTEXT_PASSAGES}",
    "context_tokens": f"the most tokens of these, by default {CONTEXT_TOKENS:,}",
    "confidence": "the least probability of a short or computed answer without a language model, from 0 to 1",
}
"""Help of the options that every method has that answers with or without a language model."""
