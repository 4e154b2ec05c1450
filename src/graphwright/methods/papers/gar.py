"""GAR: adaptive reranking, which alternates between a search's results and the neighbours of the best passages."""

from __future__ import annotations

from graphwright.errors import OptionError
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.house import DEPTH, blended, both
from graphwright.methods.method import Method
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.protocols import LLM, CrossEncoder
from graphwright.operators.control import OnGraph, Reached, Repeat
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.frontier import Frontier, Unseen
from graphwright.operators.subgraph.views import RELATIONS, PassageGraph
from graphwright.search.snapshot import Snapshot


def gar(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    batch: int = 10,
    budget: int = 100,
    relations: tuple[str, ...] = RELATIONS,
    blend: float = 1.0,
    *,
    first: Operator | None = None,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Method:
    """Rerank by a cross-encoder that alternates between search results and neighbours of the best (GAR, Algorithm 1).

    `batch`: b, the passages read at a time; `budget`: c, those read in all; `first`: the search, by default that of
    `hybrid`. `relations`: those that join passages in the corpus graph (see PassageGraph); where there are no
    neighbours, search results follow. `blend`: below 1 the final score has that share of the cross-encoder's, the rest
    being that of the search, which the paper does not do.
    """
    if not 1 <= batch <= budget:
        raise OptionError(f"gar(batch={batch!r}, budget={budget!r}): batch must be 1 to budget.")
    search = first or both(ix, max(budget, DEPTH))
    rank = Rerank(cross_encoder or MiniLMCrossEncoder())
    alternate = (Keep() | Frontier() % batch) >> rank >> (Keep() | Unseen(search) % batch) >> rank
    adaptive = search % batch >> rank >> Repeat(alternate, until=Reached(nodes=budget))
    ranked = blended(search % budget, adaptive, blend)
    return Method(OnGraph(PassageGraph(relations=relations), ranked) % top_k >> ToPassages(), *answering(ix, llm))
