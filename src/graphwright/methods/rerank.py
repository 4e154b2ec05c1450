"""Methods that have a cross-encoder read what a search found: once, reading on, or adapting to what it liked."""

from __future__ import annotations

from graphwright.errors import OptionError
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering, both, connected
from graphwright.models.base import LLM, CrossEncoder
from graphwright.models.latents import CachedCrossEncoder
from graphwright.models.reading import MiniLMCrossEncoder
from graphwright.operators.fusion import ReciprocalRank
from graphwright.operators.operator import Keep, Operator, Reached, Repeat
from graphwright.operators.rerank.multi_hop import ReadOn
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.subgraph.adaptive import Frontier, Unseen
from graphwright.operators.subgraph.references import RELATIONS, OnPassages

__all__ = ["gar", "read_on", "rerank"]

_DEPTH = 200  # of each part of the first search, as in `hybrid`


def rerank(
    ix: Snapshot,
    passages: int = 20,
    budget: int = 100,
    *,
    first: Operator | None = None,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Passages by a cross-encoder that reads the first of a hybrid search (retrieve, then rerank: Re2).

    `budget`: the passages read; `first`: the search, by default vectors and words, their scores summed.
    `cross_encoder`: by default the embedded one.
    """
    model = cross_encoder or MiniLMCrossEncoder()
    return (first or both(ix, max(budget, _DEPTH))) % budget >> Rerank(model) % passages >> answering(ix, passages, llm)


def read_on(
    ix: Snapshot,
    passages: int = 20,
    pool: int = 30,
    contexts: int = 3,
    *,
    first: Operator | None = None,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Passages of `ppr` that a cross-encoder reads, and again with what the best of them name; the two orders fused.

    `pool`: the passages read, the others keep their order after them; `contexts`: how many are read on from, for each
    of which the pool is read once more (see ReadOn); `first`: the search, by default that of `ppr`. `cross_encoder`: by
    default the embedded one.
    """
    model = cross_encoder or MiniLMCrossEncoder()
    # A model this small is right about much that a search is not, and the other way round: ranks, the first ones most.
    order = ReciprocalRank(Keep(), Keep() % pool >> ReadOn(model, contexts), constant=5)
    wanted = max(pool, passages)
    search = connected(ix, wanted) if first is None else first % wanted
    return search >> order % passages >> answering(ix, passages, llm)


def gar(
    ix: Snapshot,
    passages: int = 20,
    batch: int = 10,
    budget: int = 100,
    relations: tuple[str, ...] = RELATIONS,
    *,
    first: Operator | None = None,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Passages by a cross-encoder that reads a search's first and neighbours of the best in turn (GAR, Algorithm 1).

    `batch`, `budget`: b and c, the passages read at a time and in all; `first`, `cross_encoder` as in `rerank`. The
    corpus graph is that of passages, joined by `relations` (see `passage_graph`); without neighbours it searches on.
    """
    if not 1 <= batch <= budget:
        raise OptionError(f"gar(batch={batch!r}, budget={budget!r}): 1 or more at a time, no more than in all.")
    search = first or both(ix, max(budget, _DEPTH))
    rank = Rerank(CachedCrossEncoder.holding(budget, cross_encoder or MiniLMCrossEncoder()))
    turns = (Keep() | Frontier() % batch) >> rank >> (Keep() | Unseen(search) % batch) >> rank
    adaptive = search % batch >> rank >> Repeat(turns, until=Reached(nodes=budget))
    return OnPassages(adaptive, relations=relations) % passages >> answering(ix, passages, llm)
