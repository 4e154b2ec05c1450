"""PathRAG: the most reliable paths between the keywords of a question, shown with the best last."""

from __future__ import annotations

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.generate.path_contexts import GlobalEdges, PathContext
from graphwright.methods.answering import answering, either
from graphwright.methods.method import Method
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.keywords import Keywords, NamesAndPhrases
from graphwright.operators.anchors.link_entities import AnchorSearch
from graphwright.operators.control import OnGraph
from graphwright.operators.operator import Operator
from graphwright.operators.paths.flow_paths import THRESHOLD, FlowPaths, WithEdges
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.search.snapshot import Snapshot


def pathrag(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    n: int = 40,
    k: int = 15,
    decay: float = 0.7,
    threshold: float = THRESHOLD,
    *,
    order: Operator | None = None,
    context: type[PathContext] = PathContext,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by the most reliable paths between the entities that keywords name (PathRAG).

    `n`: nodes of all keywords, N; `k`: paths, K; `decay`: α, the share of its resource that a node passes on;
    `threshold`: θ, the least resource by degree that a node passes on (see FlowPaths). `order`: that of the paths in
    the context, by default the best last; HopFirst() and Shuffled(seed) are the paper's ablations (RQ2); `context`:
    how they are shown, of which FlatContext is another ablation. For the paper's sparser graphs (RQ3) see
    `benchmarks/published/ablations.py`.

    A language model lists the keywords and answers from the paths, the edges nearest to the question's themes, and the
    best passages, which it quotes. Without one keywords are words of the question, which is its only theme, and the
    answer is quoted. The paper shows no passages: here they are ranked by similarity to the question. Names and triples
    without vectors are compared by words, which is less accurate; the trace notes it.
    """
    keywords = either(llm, Keywords, NamesAndPhrases())
    paths = keywords >> AnchorSearch(ix.names) % n >> OnGraph(StatementGraph(), FlowPaths(decay, threshold) % k)
    edges = GlobalEdges(ix.triples, by_question=llm is None)
    sources = ToPassages(top_k, index=ix.passages, weight=0.0, items=WithEdges(edges))
    ordered = paths if order is None else paths >> order
    return Method(ordered >> sources, *answering(ix, llm, context(edges=edges)))


def pathrag_lt(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    n: int = 20,
    k: int = 5,
    decay: float = 0.7,
    threshold: float = THRESHOLD,
    *,
    llm: LLM | None = None,
) -> Method:
    """Rank passages as PathRAG does with N = 20 and K = 5, for fewer tokens (PathRAG-lt, RQ5).

    Options as of `pathrag`.
    """
    return pathrag(ix, top_k, n, k, decay, threshold, llm=llm)
