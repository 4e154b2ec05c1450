"""PageRank over entities and passages: HippoRAG, HippoRAG 2, LinearRAG and PropRAG."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.contexts import CONTEXT_PASSAGES
from graphwright.graph.graph import Kind
from graphwright.methods.answering import answering
from graphwright.methods.house import both
from graphwright.methods.method import Help, Method, OptionalLLM, RankedNodes, Restart, SeedWeight, TopK
from graphwright.operators.anchors.keywords import Keywords, NamesAndPhrases
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.control import Fallback, HasEvidence, If, OnGraph
from graphwright.operators.operator import Keep
from graphwright.operators.paths.propositions import PropositionPaths
from graphwright.operators.rerank.rerank import Choose
from graphwright.operators.search.search import TripleSearch, VectorSearch
from graphwright.operators.search.seeds import Bridge, BridgeSeeds, PathSeeds, PhraseSeeds, SharedWords, SpecificSeeds
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import Induce, Only
from graphwright.operators.subgraph.pagerank import KHop, PersonalizedPageRank
from graphwright.operators.subgraph.views import MentionGraph, StatementGraph
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


def linearrag(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    rounds: Annotated[int, Help("rounds in which active entities activate others")] = 2,
    sentences: Annotated[int, Help("sentences that an active entity selects in a round")] = 3,
    threshold: Annotated[float, Help("the least score of an entity that is activated (see Bridge)")] = 0.4,
    ratio: Annotated[float, Help("weight of a passage's cosine beside that of its active entities")] = 2.0,
    weight: SeedWeight = 0.05,
    restart: Restart = 0.5,
    nodes: RankedNodes = 1000,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by PageRank from entities that share sentences with the question's, without relations (LinearRAG).

    A question that names no entity is searched by its vector.
    """
    active = LinkEntities(ix.names) >> Bridge(ix.triples, rounds, sentences, threshold)
    seeds = active >> BridgeSeeds(ix.passages, ratio, weight)
    walk = seeds >> OnGraph(MentionGraph(), PersonalizedPageRank(restart) % nodes) >> Only(Kind.CHUNK)
    search = walk % top_k >> If(HasEvidence(), Keep(), VectorSearch(ix.passages) % top_k)
    return Method(search >> ToPassages(), *answering(ix, llm))


def proprag(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    focus: Annotated[int, Help("passages that the first stage finds")] = 50,
    width: Annotated[int, Help("paths that stay in the beam")] = 4,
    length: Annotated[int, Help("the most propositions of a path")] = 3,
    nodes: Annotated[int, Help("nodes that the first PageRank ranks")] = 1000,
    weight: SeedWeight = 0.05,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by PageRank from entities of the best paths of propositions, after a beam search (PropRAG).

    PageRank from the 40 entities of the 20 nearest propositions (without vectors of triples, the search of `hybrid`)
    finds some passages; over these and their entities a beam search finds paths, whose best entities seed a second
    PageRank.
    """
    dense = If(HasEvidence(), Keep(), VectorSearch(ix.passages))
    near = PropositionPaths(ix.triples, width=20, length=1) >> PathSeeds(ix.passages, 20, 40, weight, scored=False)
    wide = near >> PersonalizedPageRank(0.25) % nodes >> Only(Kind.CHUNK)
    first = both(ix, focus) if ix.triples is None else wide >> dense
    paths = PropositionPaths(ix.triples, width, length) >> PathSeeds(ix.passages, weight=weight)
    walk = paths >> PersonalizedPageRank(0.55) >> Only(Kind.CHUNK) >> dense
    return Method(first % focus >> KHop(1) >> Induce() >> walk % top_k >> ToPassages(), *answering(ix, llm))
