"""HippoRAG and HippoRAG 2: PageRank from entities of the question, or from triples and passages near it."""

from __future__ import annotations

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.graph.graph import Kind
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.keywords import Keywords, NamesAndPhrases
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.control import Fallback, HasEvidence, If, OnGraph
from graphwright.operators.operator import Keep
from graphwright.operators.rerank.choose import Choose
from graphwright.operators.search.hipporag import PhraseSeeds, SharedWords, SpecificSeeds
from graphwright.operators.search.search import TripleSearch, VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import Only
from graphwright.operators.subgraph.pagerank import PersonalizedPageRank
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.search.snapshot import Snapshot


def hipporag(
    ix: Snapshot, top_k: int = CONTEXT_PASSAGES, nodes: int = 1000, restart: float = 0.5, *, llm: LLM | None = None
) -> Method:
    """Rank passages by the PageRank of their entities, from the entities that the question names (HippoRAG).

    `restart`: 1 minus the damping factor; `nodes`: entities that are ranked. A language model lists the names, each
    linked to the nearest entity; without one LinkEntities finds them. Seeds are weighted by node specificity. A
    question without a name is searched by its vector.
    """
    named = LinkEntities(ix.names) if llm is None else Fallback(Keywords(llm), NamesAndPhrases())
    walk = named >> SpecificSeeds(ix.names) >> OnGraph(StatementGraph(), PersonalizedPageRank(restart) % nodes)
    search = walk >> If(HasEvidence(), Keep(), VectorSearch(ix.passages) % top_k)
    return Method(search >> ToPassages(top_k, summed=True), *answering(ix, llm))


def hipporag2(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    triples: int = 5,
    phrases: int = 5,
    nodes: int = 1000,
    restart: float = 0.5,
    weight: float = 0.05,
    *,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by PageRank from the triples nearest to the question, and from all passages (HippoRAG 2).

    `triples`: those nearest to the question, of which a language model selects (recognition memory), or else rare words
    shared with the question. `phrases`: the most of their entities that are seeds; `weight`: that of passages as seeds,
    relative to these; `restart`: 1 minus the damping factor; `nodes`: nodes that are ranked. If no triple is selected,
    passages are ranked by their vectors.
    """
    recognised = SharedWords(ix.words) if llm is None else Choose(llm)
    near = LinkEntities(ix.names) >> TripleSearch(ix.triples, triples) >> recognised
    walk = (
        near >> PhraseSeeds(ix.passages, weight, phrases) >> PersonalizedPageRank(restart) % nodes >> Only(Kind.CHUNK)
    )
    search = walk % top_k >> If(HasEvidence(), Keep(), VectorSearch(ix.passages) % top_k)
    return Method(search >> ToPassages(), *answering(ix, llm))
