"""GAR: adaptive reranking, which alternates between a search's results and the neighbours of the best passages."""

from __future__ import annotations

from typing import Annotated

from graphwright.errors import OptionError
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.house import DEPTH, blended, both
from graphwright.methods.method import Method
from graphwright.methods.options import (
    Blend,
    CorpusRelations,
    FirstSearch,
    Help,
    OptionalCrossEncoder,
    OptionalLLM,
    TopK,
)
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.operators.control import OnGraph, Reached, Repeat
from graphwright.operators.operator import Keep
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.frontier import Frontier, Unseen
from graphwright.operators.subgraph.views import RELATIONS, PassageGraph
from graphwright.search.snapshot import Snapshot


def gar(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    batch: Annotated[int, Help("b, the passages read at a time")] = 10,
    budget: Annotated[int, Help("c, the passages read in all")] = 100,
    relations: CorpusRelations = RELATIONS,
    blend: Blend = 1.0,
    *,
    first: FirstSearch = None,
    cross_encoder: OptionalCrossEncoder = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rerank by a cross-encoder that alternates between search results and neighbours of the best (GAR, Algorithm 1).

    Without neighbours, only search results are added. The `blend` with the search is not in the paper.
    """
    if not 1 <= batch <= budget:
        raise OptionError(f"gar(batch={batch!r}, budget={budget!r}): batch must be 1 to budget.")
    search = first or both(ix, max(budget, DEPTH))
    rank = Rerank(cross_encoder or MiniLMCrossEncoder())
    alternate = (Keep() | Frontier() % batch) >> rank >> (Keep() | Unseen(search) % batch) >> rank
    adaptive = search % batch >> rank >> Repeat(alternate, until=Reached(nodes=budget))
    ranked = blended(search % budget, adaptive, blend)
    return Method(OnGraph(PassageGraph(relations=relations), ranked) % top_k >> ToPassages(), *answering(ix, llm))
