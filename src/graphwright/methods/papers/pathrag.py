"""PathRAG: the most reliable paths between the keywords of a question, shown with the best last."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.generate.path_contexts import GlobalEdges, PathContext
from graphwright.methods.answering import answering, either
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, TopK
from graphwright.operators.anchors.keywords import Keywords, NamesAndPhrases
from graphwright.operators.anchors.link_entities import AnchorSearch
from graphwright.operators.control import OnGraph
from graphwright.operators.operator import Operator
from graphwright.operators.paths.flow_paths import THRESHOLD, FlowPaths, WithEdges
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.search.shared_budget import SharedBudget
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.search.snapshot import Snapshot

KeywordNodes = Annotated[int, Help("nodes of all keywords, N")]
ShownPaths = Annotated[int, Help("paths, K")]
Decay = Annotated[float, Help("α, the share of its resource that a node passes on")]
Threshold = Annotated[float, Help("θ, the least resource by degree that a node passes on (see FlowPaths)")]


def pathrag(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    n: KeywordNodes = 40,
    k: ShownPaths = 15,
    decay: Decay = 0.7,
    threshold: Threshold = THRESHOLD,
    *,
    order: Annotated[
        Operator | None,
        Help("order of the paths shown, by default the best last; HopFirst() and Shuffled(seed) are ablations (RQ2)"),
    ] = None,
    context: Annotated[
        type[PathContext], Help("how the paths are shown; FlatContext is another ablation")
    ] = PathContext,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the most reliable paths between the entities that keywords name (PathRAG).

    A language model lists the keywords and answers from the paths, the edges nearest to the question's themes, and the
    best passages, which it quotes. Without one keywords are words of the question, which is its only theme, and the
    answer is quoted. The paper shows no passages: here those that state a path or a nearest edge come first, the
    nearest to the question first, then those that name a node of a path; vector search fills the rest. Names and
    triples without vectors are compared by words, which is less accurate; the trace notes it. For the paper's sparser
    graphs (RQ3) see `benchmarks/published/ablations.py`.
    """
    keywords = either(llm, Keywords, NamesAndPhrases())
    paths = keywords >> AnchorSearch(ix.names) % n >> OnGraph(StatementGraph(), FlowPaths(decay, threshold) % k)
    edges = GlobalEdges(ix.triples, by_question=llm is None)
    sources = SharedBudget(ToPassages(index=ix.passages, items=WithEdges(edges)), top_k, read=0)
    first = VectorSearch(ix.passages) % top_k >> ToPassages()
    ordered = paths if order is None else paths >> order
    return Method(first >> ordered >> sources, *answering(ix, llm, context(edges=edges)))


def pathrag_lt(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    n: KeywordNodes = 20,
    k: ShownPaths = 5,
    decay: Decay = 0.7,
    threshold: Threshold = THRESHOLD,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages as PathRAG does with N = 20 and K = 5, for fewer tokens (PathRAG-lt, RQ5)."""
    return pathrag(ix, top_k, n, k, decay, threshold, llm=llm)
