"""FastInsight: vector search, then a smoothed reranking and an expansion by structure and meaning in turn."""

from __future__ import annotations

from graphwright.errors import OptionError
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.base import LLM, CrossEncoder
from graphwright.models.latents import CachedCrossEncoder, EncoderCrossEncoder
from graphwright.retrieve.granker import GRanker
from graphwright.retrieve.operator import Keep, Operator, Reached, Repeat
from graphwright.retrieve.references import OnPassages
from graphwright.retrieve.search import VectorSearch
from graphwright.retrieve.stex import STeX

__all__ = ["fastinsight"]


def fastinsight(
    ix: Snapshot,
    passages: int = 20,
    batch: int = 10,
    budget: int = 100,
    alpha: float = 0.2,
    beta: float = 1.0,
    *,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Passages by a reranker smoothed over the graph, expanded along references (FastInsight, Algorithm 1).

    `batch`, `budget`: BATCH and b_max, the passages added at a time and read in all; `alpha` as in GRanker, `beta`
    as in STeX. The corpus graph is that of passages that refer to each other (see OnPassages). `cross_encoder`: by
    default the index's encoder, each pair by the dot product of its vectors.
    """
    if not 1 <= batch <= budget:
        raise OptionError(f"fastinsight(batch={batch!r}, budget={budget!r}): 1 or more at a time, no more than in all.")
    model = CachedCrossEncoder(cross_encoder or EncoderCrossEncoder(ix.encoder))
    rank = GRanker(model, alpha)
    grown = Repeat((Keep() | STeX(ix.passages, beta) % batch) >> rank, until=Reached(nodes=budget))
    return OnPassages(VectorSearch(ix.passages) % batch >> rank >> grown) % passages >> answering(ix, passages, llm)
