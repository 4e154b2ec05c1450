"""An agent: a language model that calls this package's retrieval operators as tools."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.house import reread
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalCrossEncoder, OptionalLLM, TopK
from graphwright.operators.anchors.link_entities import AnchorSearch
from graphwright.operators.control import HasEvidence, If, OnGraph
from graphwright.operators.operator import Keep
from graphwright.operators.paths.flow_paths import FlowPaths
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import BM25, Composed
from graphwright.operators.search.agent import Agent, Tool
from graphwright.operators.search.reword import Reword
from graphwright.operators.search.search import OneHop, VectorSearch, WordSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.search.snapshot import Snapshot


def agent(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    steps: Annotated[int, Help("the most calls of tools")] = 8,
    shown: Annotated[int, Help("items that a call returns")] = 5,
    passages: Annotated[int, Help("the most distinct passages that are shown")] = 30,
    max_tokens: Annotated[int, Help("the most tokens of all prompts")] = 40_000,
    *,
    cross_encoder: OptionalCrossEncoder = None,
    llm: OptionalLLM = None,
) -> Method:
    """Let a language model search with the operators of this package as tools until it can answer; then it answers.

    Tools: keyword search, semantic search, reading a passage, the neighbours of an entity, paths between two entities.
    The budget is `steps`, `passages` and `max_tokens`. Without a language model, or if its first reply is unusable, the
    search is that of `multihop-rerank`.
    """
    twin = Reword(ix.words) >> reread(ix, top_k, cross_encoder=cross_encoder)
    if llm is None:
        return Method(twin >> ToPassages(), *answering(ix))
    search = Agent(llm, tools(ix), steps, shown, passages, max_tokens)
    return Method(search % top_k >> If(HasEvidence(), Keep(), twin) >> ToPassages(), *answering(ix, llm))


def tools(ix: Snapshot) -> tuple[Tool, ...]:
    """Return the tools of `agent`: operators over a snapshot, each with its description for a model."""
    rank = Rerank(BM25() if ix.triples is None else Composed(triples=ix.triples))
    near = AnchorSearch(ix.names) % 1 >> OnGraph(StatementGraph(), OneHop()) >> rank
    between = AnchorSearch(ix.names) % 2 >> OnGraph(StatementGraph(), FlowPaths())
    words, meaning = WordSearch(ix.words), VectorSearch(ix.passages)
    return (
        Tool("keyword_search", "Find passages with these words; best for names and rare words.", words),
        Tool("semantic_search", "Find passages that mean something similar to this text.", meaning),
        Tool("neighbours", "Find statements about this entity that are near the question.", near, names=1),
        Tool("paths", "Find how two entities are connected, by statements.", between, names=2),
    )
