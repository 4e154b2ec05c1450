"""FastInsight: vector search, then a smoothed reranking and an expansion by structure and meaning in turn."""

from __future__ import annotations

from graphwright.errors import OptionError
from graphwright.index.snapshot import Snapshot
from graphwright.index.vector_index import VectorIndex
from graphwright.methods.passages import answering
from graphwright.models.latents import CachedCrossEncoder
from graphwright.models.protocols import LLM, CrossEncoder
from graphwright.models.reading import MiniLMCrossEncoder
from graphwright.operators.operator import Keep, Operator, Reached, Repeat
from graphwright.operators.rerank.granker import GRanker
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.select.passages import Sources
from graphwright.operators.subgraph.entities import OnEntities, entity_vectors
from graphwright.operators.subgraph.references import RELATIONS, OnPassages
from graphwright.operators.subgraph.stex import STeX

__all__ = ["fastinsight", "fastinsight_entities"]


def fastinsight(
    ix: Snapshot,
    passages: int = 20,
    batch: int = 10,
    budget: int = 100,
    alpha: float = 0.2,
    beta: float = 1.0,
    relations: tuple[str, ...] = RELATIONS,
    *,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Passages by a reranker smoothed over the graph, expanded along references (FastInsight, Algorithm 1).

    `batch`, `budget`: BATCH and b_max, the passages added at a time and read in all; `alpha` as in GRanker, `beta`
    as in STeX. The corpus graph is that of passages, joined by `relations` (see `passage_graph`): what documents refer
    to alone is ("refers to",). `cross_encoder`: by default the embedded one.
    """
    found = _expanded(ix.passages, batch, budget, alpha, beta, cross_encoder)
    return OnPassages(found, relations=relations) % passages >> answering(ix, passages, llm)


def fastinsight_entities(
    ix: Snapshot,
    passages: int = 20,
    batch: int = 10,
    budget: int = 100,
    alpha: float = 0.2,
    beta: float = 1.0,
    sentences: int = 5,
    *,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Passages behind entities that FastInsight finds in the graph of entities (FastInsight, section 4.2.2).

    As `fastinsight`, where the corpus graph is a knowledge graph with texts: an entity is read as its name, what a
    language model says of it, and the first `sentences` that state what joins it with others (see OnEntities); its
    vector is the mean of those of its passages (see entity_vectors). The evidence is entities, and passages come in the
    order of the best entity that they name.
    """
    found = _expanded(entity_vectors(ix.graph, ix.passages), batch, budget, alpha, beta, cross_encoder)
    return OnEntities(found, sentences) >> answering(ix, passages, llm, sources=Sources(passages))


def _expanded(
    vectors: VectorIndex, batch: int, budget: int, alpha: float, beta: float, cross_encoder: CrossEncoder | None
) -> Operator:
    """Return Algorithm 1 over the nodes that have vectors."""
    if not 1 <= batch <= budget:
        raise OptionError(f"fastinsight(batch={batch!r}, budget={budget!r}): 1 or more at a time, no more than in all.")
    model = CachedCrossEncoder.holding(budget, cross_encoder or MiniLMCrossEncoder())
    rank = GRanker(model, alpha)
    grown = Repeat((Keep() | STeX(vectors, beta) % batch) >> rank, until=Reached(nodes=budget))
    return VectorSearch(vectors) % batch >> rank >> grown
