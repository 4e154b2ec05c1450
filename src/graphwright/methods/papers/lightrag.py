"""LightRAG: entities by the question's low-level keywords, relations by its high-level ones, or both."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.generate.path_contexts import PathContext
from graphwright.methods.answering import answering, either
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, TopK
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.keywords import Keywords, NamesAndPhrases
from graphwright.operators.anchors.link_entities import AnchorSearch
from graphwright.operators.control import ReciprocalRank
from graphwright.operators.operator import Operator
from graphwright.operators.search.search import OneHop, TripleSearch
from graphwright.operators.select import ToPassages
from graphwright.search.snapshot import Snapshot


def lightrag_local(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    n: Annotated[int, Help("entities of all keywords together")] = 40,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the entities that low-level keywords name, and by their relations (LightRAG, local).

    A language model lists the keywords and is shown the entities, relations and best passages; without one the keywords
    are words of the question.
    """
    return _method(ix, llm, _low(ix, n), ToPassages(top_k, summed=True))


def lightrag_global(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    n: Annotated[int, Help("relations of all themes together")] = 40,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the relations that are nearest to the question's themes (LightRAG, global).

    Without a language model the question itself is the only theme.
    """
    return _method(ix, llm, _high(ix, n, llm), ToPassages(top_k))


def lightrag_hybrid(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    n: Annotated[int, Help("entities of all keywords together, and relations of all themes together")] = 40,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by entities of low-level and relations of high-level keywords, alternating (LightRAG, hybrid)."""
    alternating = ReciprocalRank(_low(ix, n), _high(ix, n, llm), constant=0)
    return _method(ix, llm, alternating, ToPassages(top_k, summed=True))


def _low(ix: Snapshot, n: int) -> Operator:
    return AnchorSearch(ix.names) % n >> OneHop()


def _high(ix: Snapshot, n: int, llm: LLM | None) -> Operator:
    return TripleSearch(ix.triples, n, by_question=llm is None)


def _method(ix: Snapshot, llm: LLM | None, search: Operator, sources: Operator) -> Method:
    keywords = either(llm, Keywords, NamesAndPhrases())
    return Method(keywords >> search >> sources, *answering(ix, llm, PathContext()))
