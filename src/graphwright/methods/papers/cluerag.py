"""Clue-RAG: paths of knowledge units over shared entities, reranked at each step."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, TopK
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.protocols import CrossEncoder
from graphwright.operators.anchors.keywords import Keywords, NamesAndPhrases
from graphwright.operators.anchors.link_entities import AnchorSearch, LinkEntities
from graphwright.operators.control import Fallback, HasEvidence, If
from graphwright.operators.operator import Keep
from graphwright.operators.paths.propositions import PropositionPaths
from graphwright.operators.paths.unit_paths import UnitPaths
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import StatingPassages
from graphwright.search.snapshot import Snapshot


def clue_rag(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    units: Annotated[
        int, Help("K, the units nearest to the question, and the entities nearest to each of its names")
    ] = 3,
    width: Annotated[int, Help("M, the paths that stay at each step")] = 5,
    depth: Annotated[int, Help("D, the steps")] = 3,
    *,
    cross_encoder: Annotated[
        CrossEncoder | None, Help("the model that reranks paths and passages, by default the embedded one")
    ] = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rerank the passages of knowledge units that are reached from unit to unit over shared entities (Clue-RAG).

    The search begins at the entities of the units nearest to the question (knowledge anchoring), and at the entities
    nearest to each of its names (entity linking), which a language model lists, or else LinkEntities finds. A
    question that leads to no unit is searched by its vector.
    """
    model = cross_encoder or MiniLMCrossEncoder()
    names = LinkEntities(ix.names) if llm is None else Fallback(Keywords(llm), NamesAndPhrases())
    begin = PropositionPaths(ix.triples, units, length=1) | AnchorSearch(ix.names, units)
    search = UnitPaths(ix.triples, model, units, width, depth) >> StatingPassages() >> Rerank(model) % top_k
    dense = If(HasEvidence(), Keep(), VectorSearch(ix.passages) % top_k)
    return Method(names >> begin >> search >> dense >> ToPassages(), *answering(ix, llm))
