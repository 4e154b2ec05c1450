"""BubbleRAG: small connected pieces that join what a question speaks of, grown and completed."""

from __future__ import annotations

from graphwright.generate.enough import AnswerIfEnough
from graphwright.generate.facts import FactReader
from graphwright.generate.hybrid import HybridPrompt
from graphwright.index.snapshot import Snapshot
from graphwright.index.vector_index import joined
from graphwright.methods.passages import answering
from graphwright.models.protocols import LLM
from graphwright.models.reader import MiniLMReader
from graphwright.operators.anchors.group_anchors import GroupAnchors
from graphwright.operators.anchors.latent_keywords import LatentKeywords
from graphwright.operators.anchors.relax import Relax
from graphwright.operators.anchors.specialise import Specialise
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.search.support import SupportSearch
from graphwright.operators.select.complement import Complement
from graphwright.operators.select.passages import Sources
from graphwright.operators.trees.bubble import Bubble
from graphwright.operators.trees.coverage import Coverage
from graphwright.operators.trees.grow import Grow

__all__ = ["anchor_groups", "bubblerag", "evidence_graphs"]

_BEGIN = 40  # passages that others are joined to; the preview is the first of them


def anchor_groups(ix: Snapshot, llm: LLM | None = None) -> Operator:
    """Return what turns a question, and a preview of its passages, into weighted groups of nodes and edges."""
    keywords = LatentKeywords(llm) >> Specialise(llm) >> Relax(llm, ix.names, ix.triples)
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
    """Return what finds the pieces that join groups of anchors, ranks and grows them; symbols as in `bubblerag`."""
    vectors = ix.passages if ix.names is None else joined(ix.names, ix.passages)
    return Bubble(vectors, hops, budget) >> Coverage(vectors, alpha) % n >> Grow(llm, ix.triples, depth)


def bubblerag(
    ix: Snapshot,
    passages: int = 15,
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
    """Passages behind connected pieces that join what the question speaks of, each adding to the others (BubbleRAG).

    `passages`: read in all, the preview's and the final ones'; `hops`, `budget`: h and B of the expansion; `alpha`:
    how strictly all groups are wanted; `n`: the pieces kept; `depth`: d, the steps that they grow by. `groups` and
    `pieces`: the steps to anchors and to pieces, by default `anchor_groups` and `evidence_graphs`; an ablation gives
    others. A language model does each step of the paper, and may answer from the preview; without one each has its
    twin. Which passages stand behind, and in which order, `Complement` finds: the preview and the pieces are where it
    begins. On a knowledge graph without passages they are the nodes of the pieces. Names and triples without vectors
    are compared by words.
    """
    begin = LinkEntities(ix.names) >> SupportSearch(ix.passages, ix.words) % _BEGIN >> Sources(passages)
    enough = AnswerIfEnough(llm or FactReader(MiniLMReader()), passages)
    found = groups or anchor_groups(ix, llm)
    found >>= pieces or evidence_graphs(ix, n, hops, budget, alpha, depth, llm)
    if ix.graph.passages is None:  # then the nodes of the pieces stand for passages
        return (
            begin >> enough >> found >> answering(ix, passages, llm, sources=Sources(passages), prompt=HybridPrompt())
        )
    # Beside Keep() the anchors stay the names, which tell what passages are about; the pieces join the preview.
    both = begin >> enough >> (Keep() | found)
    sources = Complement(ix.passages, ix.words) % passages
    return both >> answering(ix, passages, llm, sources=sources, prompt=HybridPrompt(passages=passages))
