"""The method over graphs: the relations that a question asks for, without training and without a language model."""

from __future__ import annotations

from graphwright.generate.answer import Generate
from graphwright.generate.graph_answer import GraphAnswer
from graphwright.generate.path_prompts import PathPrompt
from graphwright.generate.prompts import CONTEXT_PASSAGES
from graphwright.index.snapshot import Snapshot
from graphwright.methods.house import answering
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.control import OnGraph
from graphwright.operators.operator import Operator
from graphwright.operators.paths.asked_extremes import Extremes
from graphwright.operators.paths.asked_paths import AskedPaths
from graphwright.operators.paths.asked_sets import AskedClass, Without
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.views import StatementGraph

_SHOWN = 100  # nodes of the graph that a language model is shown beside the paths: each is only a name


def graph(ix: Snapshot, top_k: int = CONTEXT_PASSAGES, hops: int = 3, *, llm: LLM | None = None) -> Operator:
    """Answer by the relations that the question names, by its words or by meaning (the default over graphs).

    `hops`: the most relations of a path. Without a language model the answer is the names that the walks lead
    to, their number, yes or no, or that the graph does not say it.
    """
    linked = LinkEntities(ix.names, ordinary=True)
    asked: Operator = (
        AskedPaths(ix.encoder, hops) >> AskedClass(ix.encoder) >> Without(ix.encoder) >> Extremes(ix.encoder)
    )
    if ix.graph.passages is not None:
        asked = OnGraph(StatementGraph(), asked)
        return linked >> asked >> answering(ix, llm, sources=ToPassages(top_k, mentions=0.1), prompt=PathPrompt())
    if llm is not None:
        shown = ToPassages(_SHOWN, mentions=0.1) >> PathPrompt(passages=_SHOWN)
        return linked >> asked >> shown >> Generate(llm, twin=GraphAnswer(ix.encoder))
    return linked >> asked >> ToPassages(top_k, mentions=0.1) >> GraphAnswer(ix.encoder)
