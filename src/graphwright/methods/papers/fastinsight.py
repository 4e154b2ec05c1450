"""FastInsight: vector search, then graph-smoothed reranking alternating with semantic-topological expansion."""

from __future__ import annotations

from graphwright.errors import OptionError
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.house import blended, entity_means
from graphwright.methods.method import Method
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.protocols import LLM, CrossEncoder
from graphwright.operators.control import OnGraph, Reached, Repeat
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.rerank.granker import GRanker
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.stex import STeX
from graphwright.operators.subgraph.views import RELATIONS, EntityGraph, PassageGraph
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex


def fastinsight(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    batch: int = 10,
    budget: int = 100,
    alpha: float = 0.2,
    beta: float = 1.0,
    relations: tuple[str, ...] = RELATIONS,
    blend: float = 1.0,
    *,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by a reranker smoothed over the graph, expanded along references (FastInsight, Algorithm 1).

    `batch`: BATCH, the passages added at a time; `budget`: b_max, those read in all; `alpha`: the share of its
    neighbours in what the cross-encoder makes of a passage (see GRanker); `beta`: the weight of the graph beside
    similarity, where passages are added (see STeX). `relations`: those that join passages in the corpus graph (see
    PassageGraph), where ("refers to",) is references alone. `blend`: below 1 the final score has that share of
    GRanker's, the rest being that of vector search, which the paper does not do.
    """
    search = _expanded(ix.passages, batch, budget, alpha, beta, cross_encoder)
    ranked = blended(VectorSearch(ix.passages) % budget, search, blend)
    return Method(OnGraph(PassageGraph(relations=relations), ranked) % top_k >> ToPassages(), *answering(ix, llm))


def fastinsight_entities(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    batch: int = 10,
    budget: int = 100,
    alpha: float = 0.2,
    beta: float = 1.0,
    sentences: int = 5,
    *,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by the entities that FastInsight finds in the entity graph (FastInsight, section 4.2.2).

    As `fastinsight`, on a knowledge graph with texts: an entity is read as its name, its description, and sentences;
    its vector is the mean of those of its passages (see entity_vectors). Passages are ranked by the best entity that
    they mention. `sentences`: the first ones that state its edges, which are read (see EntityGraph). Other options as
    of `fastinsight`.
    """
    search = _expanded(entity_means(ix), batch, budget, alpha, beta, cross_encoder)
    return Method(OnGraph(EntityGraph(sentences), search) >> ToPassages(top_k), *answering(ix, llm))


def _expanded(
    vectors: VectorIndex, batch: int, budget: int, alpha: float, beta: float, cross_encoder: CrossEncoder | None
) -> Operator:
    """Return Algorithm 1 over the nodes that have vectors."""
    if not 1 <= batch <= budget:
        raise OptionError(f"fastinsight(batch={batch!r}, budget={budget!r}): batch must be 1 to budget.")
    rank = GRanker(cross_encoder or MiniLMCrossEncoder(), alpha)
    expand = Repeat((Keep() | STeX(vectors, beta) % batch) >> rank, until=Reached(nodes=budget))
    return VectorSearch(vectors) % batch >> rank >> expand
