"""BubbleRAG: small connected subgraphs that join the concepts of a question, expanded and completed."""

from __future__ import annotations

from graphwright.generate.answer import AnswerIfEnough
from graphwright.generate.prompts import HybridPrompt
from graphwright.index.snapshot import Snapshot
from graphwright.index.vector_index import joined
from graphwright.methods.house import answering
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.group_anchors import GroupAnchors
from graphwright.operators.anchors.keywords import Keywords, LatentKeywords, Relax, Specialise
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.search.support import SupportSearch
from graphwright.operators.select import Complement, ToPassages
from graphwright.operators.trees.bubble import Bubble, Coverage
from graphwright.operators.trees.grow import Grow

__all__ = ["anchor_groups", "bubblerag", "evidence_graphs"]

_POOL = 40  # passages that completion starts from; the preview is the first of them


def anchor_groups(ix: Snapshot, llm: LLM | None = None) -> Operator:
    """Return the steps from a question, and a preview of its passages, to weighted groups of anchors."""
    refined = Specialise() if llm is None else Specialise(llm) >> Relax(llm)
    keywords = (Keywords() if llm is None else LatentKeywords(llm)) >> refined
    return keywords >> GroupAnchors(ix.names, ix.triples, ix.words, llm)


def evidence_graphs(
    ix: Snapshot,
    n: int = 3,
    hops: int = 6,
    budget: int = 10,
    alpha: float = 1.0,
    depth: int = 6,
    llm: LLM | None = None,
) -> Operator:
    """Return the steps that find, rank and expand subgraphs that join groups of anchors; symbols as in `bubblerag`."""
    vectors = ix.passages if ix.names is None else joined(ix.names, ix.passages)
    best = Bubble(vectors, hops, budget) >> Coverage(vectors, alpha) % n
    return best if llm is None else best >> Grow(llm, ix.triples, depth)


def bubblerag(
    ix: Snapshot,
    top_k: int = 15,
    n: int = 3,
    hops: int = 6,
    budget: int = 10,
    alpha: float = 1.0,
    depth: int = 6,
    *,
    groups: Operator | None = None,
    pieces: Operator | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Rank passages by connected subgraphs that join the concepts of the question, completed greedily (BubbleRAG).

    `top_k`: passages read in all, in the preview and at the end; `hops`, `budget`: h and B of the expansion; `alpha`:
    the weight of covering all groups; `n`: the subgraphs that remain; `depth`: d, the steps of their guided expansion.
    `groups` and `pieces` replace the steps to anchors and to subgraphs, by default `anchor_groups` and
    `evidence_graphs`, for ablations. With a language model each step is the paper's. Without one the steps that need it
    are left out: AnswerIfEnough, LatentKeywords (Keywords replaces it), Relax and Grow. `Complement` ranks the
    passages, from the preview and the subgraphs. On a knowledge graph without passages they are the nodes of the
    subgraphs. Names and triples without vectors are compared by words.
    """
    preview = LinkEntities(ix.names) >> SupportSearch(ix.passages, ix.words) % _POOL >> ToPassages(top_k)
    if llm is not None:
        preview >>= AnswerIfEnough(llm, top_k)
    subgraphs = groups or anchor_groups(ix, llm)
    subgraphs >>= pieces or evidence_graphs(ix, n, hops, budget, alpha, depth, llm)
    if ix.graph.passages is None:  # the nodes of the subgraphs serve as passages
        return preview >> subgraphs >> answering(ix, llm, sources=ToPassages(top_k), prompt=HybridPrompt())
    # Keep() leaves the names as anchors, the topics of passages; the subgraphs join the preview.
    sources = Complement(ix.passages, ix.words) % top_k
    return preview >> (Keep() | subgraphs) >> answering(ix, llm, sources=sources, prompt=HybridPrompt())
