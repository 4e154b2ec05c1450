"""HippoRAG and HippoRAG 2: PageRank from entities of the question, or from triples and passages near it."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.graph.graph import Kind
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, RankedNodes, Restart, SeedWeight, TopK
from graphwright.operators.anchors.keywords import Keywords, NamesAndPhrases
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.control import Fallback, HasEvidence, If, OnGraph
from graphwright.operators.operator import Keep
from graphwright.operators.rerank.choose import Choose
from graphwright.operators.search.search import TripleSearch, VectorSearch
from graphwright.operators.search.seeds import PhraseSeeds, SharedWords, SpecificSeeds
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import Only
from graphwright.operators.subgraph.pagerank import PersonalizedPageRank
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.search.snapshot import Snapshot


def hipporag(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    nodes: RankedNodes = 1000,
    restart: Restart = 0.5,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the PageRank of their entities, from the entities that the question names (HippoRAG).

    A language model lists the names, each linked to the nearest entity; without one LinkEntities links them. Seeds are
    weighted by node specificity. For a question without names, passages are ranked by their vectors.
    """
    named = LinkEntities(ix.names) if llm is None else Fallback(Keywords(llm), NamesAndPhrases())
    walk = named >> SpecificSeeds(ix.names) >> OnGraph(StatementGraph(), PersonalizedPageRank(restart) % nodes)
    search = walk >> If(HasEvidence(), Keep(), VectorSearch(ix.passages) % top_k)
    return Method(search >> ToPassages(top_k, summed=True), *answering(ix, llm))


def hipporag2(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    triples: Annotated[int, Help("the triples nearest to the question, from which recognition memory selects")] = 5,
    phrases: Annotated[int, Help("the most entities of the selected triples that are seeds")] = 5,
    nodes: RankedNodes = 1000,
    restart: Restart = 0.5,
    weight: SeedWeight = 0.05,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by PageRank from the triples nearest to the question, and from all passages (HippoRAG 2).

    A language model selects from the nearest triples (recognition memory); without one, triples that share rare words
    with the question are selected. If no triple is selected, passages are ranked by their vectors.
    """
    recognised = SharedWords(ix.words) if llm is None else Choose(llm)
    near = LinkEntities(ix.names) >> TripleSearch(ix.triples, triples) >> recognised
    walk = (
        near >> PhraseSeeds(ix.passages, weight, phrases) >> PersonalizedPageRank(restart) % nodes >> Only(Kind.CHUNK)
    )
    search = walk % top_k >> If(HasEvidence(), Keep(), VectorSearch(ix.passages) % top_k)
    return Method(search >> ToPassages(), *answering(ix, llm))
