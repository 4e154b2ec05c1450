"""ReG: triples near the question, reorganised into evidence chains from what it names."""

from __future__ import annotations

from graphwright.generate.answer import Answer
from graphwright.generate.chains import ChainAnswer, ChainPrompt
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.base import LLM, CrossEncoder, Encoder
from graphwright.retrieve.chains import Chains, MergeChains
from graphwright.retrieve.link import Link
from graphwright.retrieve.narrow import Induce, Triples
from graphwright.retrieve.operator import Keep, Operator
from graphwright.retrieve.rerank import Rerank
from graphwright.retrieve.search import EdgeSearch
from graphwright.retrieve.sources import Sources
from graphwright.retrieve.walk import PersonalizedPageRank

__all__ = ["evidence_chains", "reg"]

_NAMES = 10  # nodes of a knowledge graph that are shown in the place of a passage: each is a name


def evidence_chains(
    scorer: Encoder | CrossEncoder | Operator, triples: int = 500, nodes: int = 1000, length: int | None = None
) -> Operator:
    """Return what retrieves and reorganises: from anchors to merged chains (ReG@Triple).

    `scorer`: the retriever, a model that reads each triple, or a search that ranks the triples of the graph. `nodes`,
    `triples`, `length`: those of the PPR subgraph that the retriever sees, K and L.

    >>> from graphwright.models.fake import HashEncoder
    >>> evidence_chains(HashEncoder(), length=2)
    PersonalizedPageRank(each=True) % 1000 >> Induce() >> Triples() >> Rerank(HashEncoder(dimension=64)) % 500 >>
    Chains(length=2) >> MergeChains()
    """
    best = scorer % triples if isinstance(scorer, Operator) else Triples() >> Rerank(scorer) % triples
    return PersonalizedPageRank(each=True) % nodes >> Induce() >> best >> Chains(length) >> MergeChains()


def reg(
    ix: Snapshot,
    passages: int = 20,
    triples: int = 500,
    nodes: int = 1000,
    length: int | None = None,
    *,
    scorer: Encoder | CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Passages behind evidence chains: the triples nearest to the question, walked from what it names (ReG).

    `nodes`: of the PPR subgraph that the retriever sees; `triples`, `length`: K and L. `scorer`: by default the index's
    encoder, by the vectors that the index has of its triples, else it reads every triple of the subgraph at each
    question: have them embedded (Settings(embed=("passages", "triples"))). On a knowledge graph without passages its
    nodes stand for them, and the answer is the ends of the chain that is nearest to the question.
    """
    known = EdgeSearch(ix.triples) if scorer is None and ix.triples is not None else scorer or ix.encoder
    # Beside Keep() the graph is narrowed for the chains alone: what comes after them searches all of it.
    found = Link(ix.names) >> (Keep() | evidence_chains(known, triples, nodes, length))
    if ix.graph.passages is not None:
        return found >> answering(ix, passages, llm, sources=Sources(passages), prompt=ChainPrompt())
    if llm is None:
        return found >> Sources(passages) >> ChainAnswer(ix.encoder)
    return found >> Sources(_NAMES * passages) >> ChainPrompt(_NAMES * passages) >> Answer(llm)
