"""ReG: triples near the question, reorganised into evidence chains from what it names."""

from __future__ import annotations

from pathlib import Path

from graphwright.generate.answer import Answer
from graphwright.generate.chains import ChainAnswer, ChainPrompt
from graphwright.generate.targets import TargetAnswer
from graphwright.index.snapshot import Snapshot
from graphwright.learn.retrievers.checkpoint import Checkpoint
from graphwright.learn.retrievers.ends import Ends
from graphwright.learn.retrievers.explain import Explain
from graphwright.learn.retrievers.load import load_retriever
from graphwright.learn.retrievers.path import PathRetriever
from graphwright.learn.retrievers.retriever import Retriever
from graphwright.methods.passages import answering
from graphwright.models.base import LLM, CrossEncoder, Encoder
from graphwright.operators.anchors.link_entities import Link
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.chains import Chains, MergeChains
from graphwright.operators.paths.paths import ShortestPaths
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.search.search import EdgeSearch
from graphwright.operators.select.passages import Sources
from graphwright.operators.subgraph.narrow import Induce, Triples
from graphwright.operators.subgraph.statements import OnStatements
from graphwright.operators.subgraph.walk import PersonalizedPageRank

__all__ = ["evidence_chains", "explained", "gnn_rag", "reg", "retrieved", "subgraphrag"]

_NAMES = 10  # nodes of a knowledge graph that are shown in the place of a passage: each is a name


def evidence_chains(
    scorer: Encoder | CrossEncoder | Operator | Retriever,
    triples: int = 500,
    nodes: int = 1000,
    length: int | None = None,
) -> Operator:
    """Return what retrieves and reorganises: from anchors to merged chains (ReG@Triple, @Entity, @Path).

    `scorer`: the retriever, a trained one, a model that reads each triple, or a search that ranks the triples of the
    graph. `nodes`, `triples`, `length`: those of the PPR subgraph that the retriever sees, K and L. What a path
    retriever finds are chains already, walked in the whole graph.

    >>> from graphwright.models.fake import HashEncoder
    >>> evidence_chains(HashEncoder(), length=2)
    PersonalizedPageRank(each=True) % 1000 >> Induce() >> Triples() >> Rerank(HashEncoder(dimension=64)) % 500 >>
    Chains(length=2) >> MergeChains()
    """
    if isinstance(scorer, PathRetriever):
        return scorer.search(triples) >> MergeChains()
    return retrieved(scorer, triples, nodes) >> Chains(length) >> MergeChains()


def retrieved(scorer: Encoder | CrossEncoder | Operator | Retriever, triples: int, nodes: int) -> Operator:
    """Return what retrieves triples from the PPR subgraph of the anchors."""
    if isinstance(scorer, Retriever):
        best = scorer.search(triples)
    else:
        best = scorer % triples if isinstance(scorer, Operator) else Triples() >> Rerank(scorer) % triples
    return PersonalizedPageRank(each=True) % nodes >> Induce() >> best


def explained(
    retriever: Retriever, triples: int = 500, nodes: int = 1000, length: int = 3, paths: int = 10
) -> Operator:
    """Return the chains of a trained retriever in the order of how well each relation path explains the answer.

    The offline twin of a model that reads the chains; `paths`: relation paths that are kept.
    """
    if isinstance(retriever, PathRetriever):
        return retriever.search(triples)
    return retrieved(retriever, triples, nodes) >> Explain(retriever, length, paths=paths)


def subgraphrag(retriever: Retriever, triples: int = 100, nodes: int = 1000) -> Operator:
    """Return SubgraphRAG (Li et al., 2025): the best triples by a triple retriever, not reorganised.

    Theirs is trained on all shortest paths (`graphwright train triple --refine weak`).
    """
    return retrieved(retriever, triples, nodes)


def gnn_rag(retriever: Retriever, paths: int = 32, nodes: int = 1000) -> Operator:
    """Return GNN-RAG (Mavromatis and Karypis, 2024): the shortest paths to the nodes that a graph network prefers.

    `retriever`: an entity retriever; theirs is trained to tell answers alone.
    """
    return PersonalizedPageRank(each=True) % nodes >> Induce() >> ShortestPaths() >> Rerank(Ends(retriever)) % paths


def reg(
    ix: Snapshot,
    passages: int = 20,
    triples: int = 500,
    nodes: int = 1000,
    length: int | None = None,
    *,
    retriever: Retriever | Checkpoint | Path | str | None = None,
    scorer: Encoder | CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Passages behind evidence chains: the triples nearest to the question, walked from what it names (ReG).

    `retriever`: one that was trained on questions and answers (graphwright train), or its file. `nodes`: of the PPR
    subgraph that the retriever sees; `triples`, `length`: K and L. `scorer`: instead of a trained retriever, by default
    the index's encoder, by the vectors that the index has of its triples, else it reads every triple of the subgraph at
    each question: have them embedded (Settings(embed=("passages", "triples"))). On a knowledge graph without passages
    its nodes stand for them, and the answer is the ends of the chain that is nearest to the question, or that a trained
    retriever finds to explain it best.
    """
    trained = None if retriever is None else _loaded(ix, retriever)
    known = EdgeSearch(ix.triples) if scorer is None and ix.triples is not None else scorer or ix.encoder
    if trained is not None and llm is None:
        # Without a language model that reads all chains, the best come first, and the first are the answer.
        chains = explained(trained, triples, nodes, length or 3)
    else:
        chains = evidence_chains(trained or known, triples, nodes, length)
    # Beside Keep() the graph is narrowed for the chains alone: what comes after them searches all of it.
    found = Link(ix.names) >> (Keep() | chains)
    if ix.graph.passages is not None:
        return found >> answering(ix, passages, llm, sources=Sources(passages), prompt=ChainPrompt())
    if llm is not None:
        return found >> Sources(_NAMES * passages) >> ChainPrompt(_NAMES * passages) >> Answer(llm)
    if trained is not None:  # not beside Keep(), where chains come without their scores
        return Link(ix.names) >> OnStatements(chains) >> Sources(passages) >> TargetAnswer(tied=True)
    return found >> Sources(passages) >> ChainAnswer(ix.encoder)


def _loaded(ix: Snapshot, retriever: Retriever | Checkpoint | Path | str) -> Retriever:
    return retriever if isinstance(retriever, Retriever) else load_retriever(retriever, ix.encoder, ix.names)
