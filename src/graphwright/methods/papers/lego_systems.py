"""Published systems in the framework of LEGO-GraphRAG (Table 2): RoG, GSR, KELP, ToG, GRAG-M; and GCR."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.contexts import CONTEXT_PASSAGES, CommunityReports, ReportContext
from graphwright.learn.path import Decode, PathRetriever
from graphwright.methods.method import CommunityLevel, Help, Method, OptionalLLM, TopK
from graphwright.methods.papers.communities import summaries_of
from graphwright.methods.papers.lego import (
    BestByChoice,
    BestByScore,
    BestPaths,
    PPRNodes,
    RetrievalLLM,
    answered,
    lego,
    ranker,
    retrieval_llm_of,
    scorer,
)
from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.communities import LocalContext
from graphwright.operators.control import OnGraph
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.beam import Explore
from graphwright.operators.paths.node_paths import EnumeratedPaths, ShortestPaths
from graphwright.operators.paths.relation_paths import Instances, Plan, RelationPaths
from graphwright.operators.rerank.rerank import Choose, ConstrainedDecoding, Rerank
from graphwright.operators.rerank.scorer import LengthPenalty, MaskEntities, Patterns, Scorer
from graphwright.operators.subgraph.narrow import InduceEdges
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.search.snapshot import Snapshot

Model = Encoder | CrossEncoder | Scorer
Plans = Annotated[int, Help("relation paths that are carried out")]
PlanLength = Annotated[int, Help("the most relations of a plan")]
PlanPool = Annotated[
    int,
    Help(
        "the shortest relation paths, which are scored; if edges are words of text, most are distinct, "
        "and there are thousands"
    ),
]
PlanModel = Annotated[
    Encoder | CrossEncoder | PathRetriever | None,
    Help("the model that makes the plans without a language model, by default the index's encoder"),
]


def planned(model: Model | PathRetriever, plans: int = 3, length: int = 3, pool: int = 1000) -> Operator:
    """Return the planning step: from anchors to the relation paths that a model prefers.

    The model ranks the relation paths of the graph against the question with its entity names masked, the `pool`
    shortest of them. A path retriever, trained on the graph as RoG's planner is, decodes them.
    """
    if isinstance(model, PathRetriever):
        return Decode(model, length) % plans
    return RelationPaths(length) % pool >> LengthPenalty(MaskEntities(Rerank(model))) % plans


def _planning(
    ix: Snapshot, planner: Model | PathRetriever | None, llm: LLM | None, plans: int, length: int, pool: int
) -> Operator:
    """Return the planning step: plans that a language model writes, without one those of `planned`."""
    if llm is not None:
        return RelationPaths(length) >> Plan(llm) % plans
    return planned(planner or ix.encoder, plans, length, pool)


def selected(model: Model, llm: LLM | None = None, hops: int = 2, paths: int = 32, pool: int = 1000) -> Operator:
    """Return KELP's path selection: the best by a model or LLM of the `pool` shortest paths of 1 and 2 hops."""
    by_score = BestByScore(model)
    best = by_score if llm is None else BestByChoice(llm, by_score)
    return best(EnumeratedPaths(hops) % pool, paths)


def rog(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    plans: Plans = 3,
    paths: Annotated[
        int, Help("walks along the plans, one to each node that they lead to, those of the best plan first")
    ] = 100,
    length: PlanLength = 3,
    pool: PlanPool = 1000,
    *,
    planner: PlanModel = None,
    retrieval_llm: RetrievalLLM = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by paths that carry out relation plans, from the question's entities to an answer (RoG).

    RoG trains its planner on the graph; here only a path retriever is trained (see `load_retriever`).
    On a knowledge graph without passages, and without a language model, the answer is the ends of the best plan.
    """
    planning = _planning(ix, planner, retrieval_llm_of(retrieval_llm, planner, llm), plans, length, pool)
    walks = Instances(returning=isinstance(planner, PathRetriever)) % paths
    return answered(ix, OnGraph(StatementGraph(), planning >> walks), top_k, llm, tied=True)


def gsr(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    plans: Plans = 3,
    paths: Annotated[int, Help("shortest paths that stay")] = 32,
    length: PlanLength = 3,
    pool: PlanPool = 1000,
    *,
    planner: PlanModel = None,
    retrieval_llm: RetrievalLLM = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by shortest paths in the subgraph of the relation paths that fit the question (GSR).

    As `rog`, but the walks make a subgraph, and its shortest paths are retrieved. GSR trains a small language model to
    write the relation paths; here a path retriever takes its place.
    """
    planning = _planning(ix, planner, retrieval_llm_of(retrieval_llm, planner, llm), plans, length, pool)
    walks = Instances(returning=isinstance(planner, PathRetriever))
    search = planning >> walks >> InduceEdges() >> ShortestPaths() % paths
    return answered(ix, OnGraph(StatementGraph(), search), top_k, llm)


def kelp(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    hops: Annotated[int, Help("the most edges of a path")] = 2,
    paths: Annotated[int, Help("the best paths, which stay")] = 32,
    pool: Annotated[int, Help("the shortest paths, which are scored")] = 1000,
    *,
    judge: Annotated[CrossEncoder | None, Help("the model that scores paths, by default the index's encoder")] = None,
    retrieval_llm: Annotated[
        LLM | None, Help("the language model that selects from the best-scored paths, by default none")
    ] = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the paths of one and two hops from the question's entities that fit it best (KELP).

    KELP trains a scorer of its own.
    """
    search = selected(judge or scorer(ix), retrieval_llm, hops, paths, pool)
    return answered(ix, OnGraph(StatementGraph(), search), top_k, llm)


def tog(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    width: Annotated[int, Help("N, the relations, and then the entities, that stay at each step")] = 3,
    depth: Annotated[int, Help("D_max, the steps")] = 3,
    *,
    judge: Annotated[
        Encoder | CrossEncoder | None,
        Help("the model that selects without a language model, by default the index's encoder"),
    ] = None,
    retrieval_llm: RetrievalLLM = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the paths of a beam search in which a model selects relations, then entities (ToG)."""
    selecting = retrieval_llm_of(retrieval_llm, judge, llm)
    best = ranker(judge or ix.encoder) if selecting is None else Choose(selecting)
    search = Explore(best, width, depth)
    return answered(ix, OnGraph(StatementGraph(), search), top_k, llm)


def grag_m(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    communities: Annotated[int, Help("communities that hold most of the paths")] = 3,
    level: CommunityLevel = 2,
    nodes: PPRNodes = 1000,
    paths: BestPaths = 32,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the paths of lego-12 and by central statements of their communities (GRAG-M of LEGO-GraphRAG).

    A language model writes the summaries when they are first needed; without one the communities' most central
    statements follow the paths. Needs the extra `communities`.
    """
    summaries = summaries_of(ix, llm)
    search = lego(12, scorer(ix), nodes=nodes, paths=paths) >> (
        Keep() | LocalContext(summaries, level, relations=0, communities=communities)
    )
    return answered(
        ix, search, top_k, llm, context=ReportContext(CommunityReports(summaries, level, max(communities, 1)))
    )


def gcr(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    paths: Annotated[int, Help("K, the paths that are written")] = 10,
    length: Annotated[int, Help("the most edges of a path of the trie, from the question's entities")] = 2,
    pool: Annotated[int, Help("the shortest paths, which make the trie")] = 1000,
    *,
    decoder: Annotated[
        LLM | PathRetriever | None, Help("the model that writes the paths, by default the language model that answers")
    ] = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by paths that a language model writes, constrained to a trie of the graph's paths (GCR).

    The paper has two language models: a small one, fine-tuned to write paths (`decoder`), and a general one to answer.
    Offline, a path retriever as `decoder` writes relation paths (see `load_retriever`), or else the encoder ranks them.
    """
    model, trie = decoder or llm, EnumeratedPaths(length) % pool
    rank = Rerank(Patterns(ix.encoder) if ix.graph.passages is None else scorer(ix))
    if isinstance(model, PathRetriever):
        search = model.search(paths)
    elif model is None:
        search = trie >> rank % paths
    else:  # models that cannot decode under constraint choose by number from the ranked paths
        search = trie >> rank >> ConstrainedDecoding(model, paths)
    return answered(ix, OnGraph(StatementGraph(), search), top_k, llm)
