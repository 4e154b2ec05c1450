"""ReG: triples near the question, reorganised into evidence chains from the entities that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.generate.path_answers import ChainAnswer, TargetAnswer
from graphwright.generate.path_contexts import ChainContext
from graphwright.learn.confidence import ConfidentPaths
from graphwright.learn.graph_retrievers import EntityRetriever
from graphwright.learn.path import PathRetriever
from graphwright.learn.registry import load_retriever
from graphwright.learn.retriever import Checkpoint, Explain, LastNode, Retriever
from graphwright.methods.answering import answering, written
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, TopK
from graphwright.models.protocols import CrossEncoder, Encoder
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.control import OnGraph
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.chains import Chains, MergeChains
from graphwright.operators.paths.shortest_paths import ShortestPaths
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.search.search import EdgeSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import Induce, Triples
from graphwright.operators.subgraph.pagerank import PersonalizedPageRank
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.search.snapshot import Snapshot

_NAMES = 10  # nodes of a knowledge graph shown for each passage: each is only a name


def evidence_chains(
    scorer: Encoder | CrossEncoder | Operator | Retriever,
    triples: int = 500,
    nodes: int = 1000,
    length: int | None = None,
) -> Operator:
    """Return the steps from anchors to merged chains: retrieve triples, then reorganise (ReG@Triple, @Entity, @Path).

    `scorer`: a trained retriever, a model that reads each triple, or a search that ranks the triples of the graph.
    `nodes`, `triples`, `length`: the size of the PPR subgraph that the retriever scores, K and L. A path retriever
    gives chains of the whole graph, which are only merged. The chains of an entity retriever name all parallel
    relations of a step (appendix E).

    >>> from graphwright.models.fake import HashEncoder
    >>> evidence_chains(HashEncoder(), length=2)
    PersonalizedPageRank(each=True) % 1000 >> Induce() >> Triples() >> Rerank(HashEncoder(dimension=64)) % 500 >>
    Chains(length=2) >> MergeChains()
    """
    if isinstance(scorer, PathRetriever):
        return scorer.search(triples) >> MergeChains()
    chains = Chains(length, parallel=isinstance(scorer, EntityRetriever))
    return retrieved(scorer, triples, nodes) >> chains >> MergeChains()


def retrieved(scorer: Encoder | CrossEncoder | Operator | Retriever, triples: int, nodes: int) -> Operator:
    """Return the retrieval of triples from the PPR subgraph of the anchors."""
    if isinstance(scorer, Retriever):
        best = scorer.search(triples)
    else:
        best = scorer % triples if isinstance(scorer, Operator) else Triples() >> Rerank(scorer) % triples
    return PersonalizedPageRank(each=True) % nodes >> Induce() >> best


def explained(
    retriever: Retriever, triples: int = 500, nodes: int = 1000, length: int = 3, paths: int = 10
) -> Operator:
    """Return the chains of a trained retriever, ranked by how well each relation path explains the answer.

    Offline twin of a language model that reads the chains; `paths`: the number of relation paths.
    """
    if isinstance(retriever, PathRetriever):
        return retriever.search(triples)
    return retrieved(retriever, triples, nodes) >> Explain(retriever, length, paths=paths)


def subgraphrag(retriever: Retriever, triples: int = 100, nodes: int = 1000) -> Operator:
    """Return SubgraphRAG (Li et al., 2025): the best triples by a triple retriever, not reorganised.

    Its retriever is trained on all shortest paths (`graphwright train triple --refine shortest`).
    """
    return retrieved(retriever, triples, nodes)


def gnn_rag(retriever: Retriever, paths: int = 32, nodes: int = 1000) -> Operator:
    """Return GNN-RAG (Mavromatis and Karypis, 2024): shortest paths to the nodes that a graph network scores highest.

    `retriever`: an entity retriever; that of the paper is trained on answers alone.
    """
    return PersonalizedPageRank(each=True) % nodes >> Induce() >> ShortestPaths() >> Rerank(LastNode(retriever)) % paths


def reg(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    triples: Annotated[int, Help("K, the triples nearest to the question")] = 500,
    nodes: Annotated[int, Help("nodes of the PPR subgraph, which the retriever sees")] = 1000,
    length: Annotated[int | None, Help("L, the most triples of a chain")] = None,
    *,
    retriever: Annotated[
        Retriever | Checkpoint | Path | str | None,
        Help("a retriever trained on questions and answers (`graphwright train`), or its file"),
    ] = None,
    scorer: Annotated[
        Encoder | CrossEncoder | None,
        Help(
            "the model that replaces a trained retriever, by default the index's encoder with the stored "
            "vectors of triples"
        ),
    ] = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by evidence chains: the triples nearest to the question, walked from its entities (ReG).

    Without stored vectors of triples every triple of the subgraph is encoded for each question. On a knowledge graph
    without passages the answer is the ends of the chain nearest to the question, or of the chain that a trained
    retriever ranks first; of a path retriever there is no answer where its calibrated confidence is low.
    """
    trained = None if retriever is None else _loaded(ix, retriever)
    ranker = EdgeSearch(ix.triples) if scorer is None and ix.triples is not None else scorer or ix.encoder
    if trained is not None and llm is None:
        # Without a language model the order of the chains decides the answer.
        chains = explained(trained, triples, nodes, length or 3)
    else:
        chains = evidence_chains(trained or ranker, triples, nodes, length)
    # Keep() leaves the graph whole for the steps after the chains.
    linked = LinkEntities(ix.names) >> (Keep() | chains)
    if ix.graph.passages is not None:
        return Method(linked >> ToPassages(top_k), *answering(ix, llm, ChainContext()))
    if trained is not None and llm is None:
        scored = LinkEntities(ix.names) >> OnGraph(StatementGraph(), chains)  # `| Keep()` would drop scores
        answer = TargetAnswer(tied=True)
        if isinstance(trained, PathRetriever):
            return Method(scored >> ToPassages(top_k), answer=ConfidentPaths(trained) >> answer)
        return Method(scored >> ToPassages(top_k), answer=answer)
    shown = top_k if llm is None else _NAMES * top_k
    return Method(linked >> ToPassages(shown), *written(llm, ChainContext(), ChainAnswer(ix.encoder)), passages=shown)


def _loaded(ix: Snapshot, retriever: Retriever | Checkpoint | Path | str) -> Retriever:
    return retriever if isinstance(retriever, Retriever) else load_retriever(retriever, ix.encoder, ix.names)
