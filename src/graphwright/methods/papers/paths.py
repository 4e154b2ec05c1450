"""Paths and chains: PathRAG, Clue-RAG and ReG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from graphwright.generate.contexts import CONTEXT_PASSAGES
from graphwright.generate.path_answers import ChainAnswer, TargetAnswer
from graphwright.generate.path_contexts import ChainContext, GlobalEdges, PathContext
from graphwright.learn.graph_retrievers import EntityRetriever
from graphwright.learn.path import PathRetriever
from graphwright.learn.registry import ConfidentPaths, load_retriever
from graphwright.learn.retriever import Checkpoint, Explain, LastNode, Retriever
from graphwright.methods.answering import answering, either, written
from graphwright.methods.method import Help, Method, OptionalLLM, TopK
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.protocols import CrossEncoder, Encoder
from graphwright.operators.anchors.keywords import ImpliedNames, Keywords, NamesAndPhrases
from graphwright.operators.anchors.link_entities import AnchorSearch, LinkEntities
from graphwright.operators.control import Fallback, HasEvidence, If, OnGraph
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.chains import Chains, MergeChains
from graphwright.operators.paths.node_paths import THRESHOLD, FlowPaths, ShortestPaths, WithEdges
from graphwright.operators.paths.propositions import PropositionPaths, UnitPaths
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.search.search import EdgeSearch, SharedBudget, VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import Induce, StatingPassages, Triples
from graphwright.operators.subgraph.pagerank import PersonalizedPageRank
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.search.snapshot import Snapshot

KeywordNodes = Annotated[int, Help("nodes of all keywords, N")]
ShownPaths = Annotated[int, Help("paths, K")]
Decay = Annotated[float, Help("α, the share of its resource that a node passes on")]
Threshold = Annotated[float, Help("θ, the least resource by degree that a node passes on (see FlowPaths)")]


def pathrag(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    n: KeywordNodes = 40,
    k: ShownPaths = 15,
    decay: Decay = 0.7,
    threshold: Threshold = THRESHOLD,
    shown: Annotated[int, Help("passages that a language model is shown before the paths; the paper shows none")] = (
        CONTEXT_PASSAGES
    ),
    *,
    order: Annotated[
        Operator | None,
        Help("order of the paths shown, by default the best last; HopFirst() and Shuffled(seed) are ablations (RQ2)"),
    ] = None,
    context: Annotated[
        type[PathContext], Help("how the paths are shown; FlatContext is another ablation")
    ] = PathContext,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the most reliable paths between the entities that keywords name (PathRAG).

    A language model lists the keywords and answers from the paths, the edges nearest to the question's themes, and the
    best passages, which it quotes. Without it the keywords are words of the question and the names that the nearest
    passages are about, the question is the only theme, and the answer is quoted. The paper ranks no passages: here
    those that state a path or a nearest edge come first, then those that name their nodes, and vector search fills the
    rest. Names and triples without vectors are compared by words, which is less accurate; the trace notes it. For the
    paper's sparser graphs (RQ3) see `benchmarks/published/ablations.py`.
    """
    keywords = either(llm, Keywords, NamesAndPhrases() >> ImpliedNames())
    paths = keywords >> AnchorSearch(ix.names) % n >> OnGraph(StatementGraph(), FlowPaths(decay, threshold) % k)
    edges = GlobalEdges(ix.triples, by_question=llm is None)
    sources = SharedBudget(ToPassages(index=ix.passages, items=WithEdges(edges)), top_k, read=0)
    first = VectorSearch(ix.passages) % top_k >> ToPassages()
    ordered = paths if order is None else paths >> order
    return Method(first >> ordered >> sources, *answering(ix, llm, context(edges=edges)), passages=shown)


def pathrag_lt(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    n: KeywordNodes = 20,
    k: ShownPaths = 5,
    decay: Decay = 0.7,
    threshold: Threshold = THRESHOLD,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages as PathRAG does with N = 20 and K = 5, for fewer tokens (PathRAG-lt, RQ5)."""
    return pathrag(ix, top_k, n, k, decay, threshold, llm=llm)


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

    The search begins at the entities of the units nearest to the question (knowledge anchoring), and at those nearest
    to each of its names (entity linking). A question that leads to no unit is searched by its vector.
    """
    model = cross_encoder or MiniLMCrossEncoder()
    names = LinkEntities(ix.names) if llm is None else Fallback(Keywords(llm), NamesAndPhrases())
    begin = PropositionPaths(ix.triples, units, length=1) | AnchorSearch(ix.names, units)
    search = UnitPaths(ix.triples, model, units, width, depth) >> StatingPassages() >> Rerank(model) % top_k
    dense = If(HasEvidence(), Keep(), VectorSearch(ix.passages) % top_k)
    return Method(names >> begin >> search >> dense >> ToPassages(), *answering(ix, llm))


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
    """Return the chains of a trained retriever, by how well each of `paths` relation paths explains the answer."""
    if isinstance(retriever, PathRetriever):
        return retriever.search(triples)
    return retrieved(retriever, triples, nodes) >> Explain(retriever, length, paths=paths)


def subgraphrag(retriever: Retriever, triples: int = 100, nodes: int = 1000) -> Operator:
    """Return SubgraphRAG (Li et al., 2025): the best triples by a triple retriever, not reorganised.

    Its retriever is trained on all shortest paths (`graphwright train triple --refine shortest`).
    """
    return retrieved(retriever, triples, nodes)


def gnn_rag(retriever: Retriever, paths: int = 32, nodes: int = 1000) -> Operator:
    """Return GNN-RAG (Mavromatis and Karypis, 2024): shortest paths to the best nodes of an entity retriever."""
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
    without passages the answer is the ends of the nearest chain, or of the first of a trained retriever; of a path
    retriever there is none where its calibrated confidence is low.
    """
    if retriever is not None and not isinstance(retriever, Retriever):
        retriever = load_retriever(retriever, ix.encoder, ix.names)
    ranker = EdgeSearch(ix.triples) if scorer is None and ix.triples is not None else scorer or ix.encoder
    if retriever is not None and llm is None:
        # Without a language model the order of the chains decides the answer.
        chains = explained(retriever, triples, nodes, length or 3)
    else:
        chains = evidence_chains(retriever or ranker, triples, nodes, length)
    # Keep() leaves the graph whole for the steps after the chains.
    linked = LinkEntities(ix.names) >> (Keep() | chains)
    if ix.graph.passages is not None:
        return Method(linked >> ToPassages(top_k), *answering(ix, llm, ChainContext()))
    if retriever is not None and llm is None:
        scored = LinkEntities(ix.names) >> OnGraph(StatementGraph(), chains)  # `| Keep()` would drop scores
        answer = TargetAnswer(tied=True)
        if isinstance(retriever, PathRetriever):
            return Method(scored >> ToPassages(top_k), answer=ConfidentPaths(retriever) >> answer)
        return Method(scored >> ToPassages(top_k), answer=answer)
    shown = top_k if llm is None else _NAMES * top_k
    return Method(linked >> ToPassages(shown), *written(llm, ChainContext(), ChainAnswer(ix.encoder)), passages=shown)
