"""Published systems in the frame of LEGO-GraphRAG (its Table 2): RoG, GSR, KELP, ToG, and its own GRAG-M."""

from __future__ import annotations

from graphwright.generate.reports import CommunityReports, ReportPrompt
from graphwright.index.snapshot import Snapshot
from graphwright.learn.retrievers.path import Decode, PathRetriever
from graphwright.methods.lego import Best, answered, lego, scorer
from graphwright.methods.passages import answering
from graphwright.models.base import LLM, CrossEncoder, Encoder
from graphwright.operators.anchors.link_entities import Link
from graphwright.operators.communities.communities import Surroundings
from graphwright.operators.communities.summaries import Summaries
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.flow import PathSources
from graphwright.operators.paths.paths import EnumeratedPaths, ShortestPaths
from graphwright.operators.paths.plan import Plan
from graphwright.operators.paths.relation_paths import Instances, RelationPaths
from graphwright.operators.paths.think_on_graph import Explore
from graphwright.operators.rerank.masked import Masked, Shorter
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import Scorer
from graphwright.operators.subgraph.prune import InduceEdges
from graphwright.operators.subgraph.statements import OnStatements

__all__ = ["explored", "grag_m", "gsr", "kelp", "planned", "rog", "selected", "tog"]

Model = Encoder | CrossEncoder | Scorer | LLM


def planned(model: Model | PathRetriever, plans: int = 3, length: int = 3, pool: int = 1000) -> Operator:
    """Return what plans: from anchors to the relation paths that a model prefers.

    A language model writes plans, and those that the graph can carry out are kept; any other model ranks the relation
    paths that there are against the question without its names, `pool` of them, the shortest first. A path retriever,
    trained on the graph as RoG's planner is, decodes them.

    >>> from graphwright import HashEncoder
    >>> planned(HashEncoder())
    RelationPaths() % 1000 >> Shorter(Masked(Rerank(HashEncoder(dimension=64)))) % 3
    """
    if isinstance(model, PathRetriever):
        return Decode(model, length) % plans
    if isinstance(model, LLM):
        return RelationPaths(length) >> Plan(model) % plans
    return RelationPaths(length) % pool >> Shorter(Masked(Rerank(model))) % plans


def selected(model: Model, encoder: Encoder | Scorer, hops: int = 2, paths: int = 32, pool: int = 1000) -> Operator:
    """Return KELP's path selection: all paths of one and two hops, the best by a model; no subgraph is extracted.

    `pool`: paths that are read, the shortest first; around a hub there are far more.
    """
    return Best(model, encoder)(EnumeratedPaths(hops) % pool, paths)


def explored(model: Encoder | CrossEncoder | LLM, width: int = 3, depth: int = 3) -> Operator:
    """Return ToG's search: relations, then entities, at every step; no subgraph is extracted."""
    return Explore(model, width, depth)


def rog(
    ix: Snapshot,
    passages: int = 20,
    plans: int = 3,
    paths: int = 100,
    length: int = 3,
    pool: int = 1000,
    *,
    planner: LLM | Encoder | CrossEncoder | PathRetriever | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Paths that carry out a plan of relations, from what the question names to an answer (RoG).

    `plans`: relation paths that are carried out, of at most `length` relations; `paths`: walks by them, one to each
    node that they lead to, those of the best plan first. `pool`: relation paths that are read, the shortest first;
    where words stand for relations nearly each is another, and there are thousands. `planner`: what plans, by default
    the language model that answers, else the index's encoder, which ranks the relation paths around what the question
    names; the answer is then what the best plan leads to. RoG trains its planner on the graph, as a path retriever is
    (see `load_retriever`); the others are not.
    """
    planning = planned(planner or llm or ix.encoder, plans, length, pool)
    return answered(ix, OnStatements(planning >> Instances() % paths), passages, llm, tied=True)


def gsr(
    ix: Snapshot,
    passages: int = 20,
    plans: int = 3,
    paths: int = 32,
    length: int = 3,
    pool: int = 1000,
    *,
    planner: LLM | Encoder | CrossEncoder | PathRetriever | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Shortest paths in the subgraph of the relation paths that fit the question (GSR).

    As `rog`, but the walks make a subgraph, and what is retrieved are the shortest paths in that. GSR trains a small
    language model to write the relation paths, which a path retriever stands for here.
    """
    planning = planned(planner or llm or ix.encoder, plans, length, pool)
    found = planning >> Instances() >> InduceEdges() >> ShortestPaths() % paths
    return answered(ix, OnStatements(found), passages, llm)


def kelp(
    ix: Snapshot,
    passages: int = 20,
    hops: int = 2,
    paths: int = 32,
    pool: int = 1000,
    *,
    judge: CrossEncoder | LLM | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Paths of one and two hops from what the question names, those that fit it best (KELP).

    `pool`: paths that are read, the shortest first. `judge`: what chooses them, by default the index's encoder; KELP
    trains its own for it.
    """
    encoder = scorer(ix)
    found = selected(judge or encoder, encoder, hops, paths, pool)
    return answered(ix, OnStatements(found), passages, llm)


def tog(
    ix: Snapshot,
    passages: int = 20,
    width: int = 3,
    depth: int = 3,
    *,
    judge: Encoder | CrossEncoder | LLM | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Paths of a beam search in which a model chooses relations, then entities, at every step (ToG).

    `width`, `depth`: ToG's N and D_max. `judge`: what chooses, by default the language model that answers, else the
    index's encoder.
    """
    found = explored(judge or llm or ix.encoder, width, depth)
    return answered(ix, OnStatements(found), passages, llm)


def grag_m(
    ix: Snapshot,
    passages: int = 20,
    communities: int = 3,
    level: int = 2,
    nodes: int = 1000,
    paths: int = 32,
    *,
    llm: LLM | None = None,
) -> Operator:
    """The paths of lego-12 and what is central to the communities that they lie in (GRAG-M of LEGO-GraphRAG).

    `communities`: those of `level` that hold most of the paths. A language model writes their summaries when they are
    first needed; without one their most central statements follow the paths. Needs the extra `communities`.
    """
    summaries = Summaries(ix.passages, ix.triples, llm)
    found = lego(12, scorer(ix), nodes=nodes, paths=paths) >> (
        Keep() | Surroundings(summaries, level, relations=0, communities=communities)
    )
    if ix.graph.passages is None or llm is None:
        return answered(ix, found, passages, llm)
    prompt = ReportPrompt(CommunityReports(summaries, level, max(communities, 1)))
    begun = Link(ix.names) >> (Keep() | found)
    return begun >> answering(ix, passages, llm, sources=PathSources(passages), prompt=prompt)
