"""PathRAG: the most reliable paths between what the question's keywords name, in the prompt with the best last."""

from __future__ import annotations

from graphwright.generate.paths import GlobalEdges, PathPrompt
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.base import LLM
from graphwright.retrieve.anchors import AnchorSearch
from graphwright.retrieve.flow import THRESHOLD, FlowPaths, PathSources
from graphwright.retrieve.keywords import Keywords
from graphwright.retrieve.operator import Operator

__all__ = ["pathrag", "pathrag_lt"]

_SHOWN = 5  # passages beside the paths, to be quoted


def pathrag(
    ix: Snapshot,
    passages: int = 20,
    n: int = 40,
    k: int = 15,
    decay: float = 0.7,
    threshold: float = THRESHOLD,
    *,
    llm: LLM | None = None,
) -> Operator:
    """Passages behind the most reliable paths between what the keywords of the question name (PathRAG).

    `n`: the nodes that keywords lead to in all, N; `k`: the paths kept in all, K; `decay` and `threshold` as in
    FlowPaths. A language model lists the keywords and answers from the paths, the edges of the question's themes, and
    the five best passages, which it quotes; without one keywords are words of the question, and the answer is quoted.
    Names that have no vectors are compared by words: have them embedded (Settings(embed=("passages", "names"))).
    """
    paths = Keywords(llm) >> AnchorSearch(ix.names) % n >> FlowPaths(decay, threshold) % k
    prompt = PathPrompt(edges=GlobalEdges(ix.triples), passages=_SHOWN)
    return paths >> answering(ix, passages, llm, sources=PathSources(passages), prompt=prompt)


def pathrag_lt(
    ix: Snapshot,
    passages: int = 20,
    n: int = 20,
    k: int = 5,
    decay: float = 0.7,
    threshold: float = THRESHOLD,
    *,
    llm: LLM | None = None,
) -> Operator:
    """Passages behind a few reliable paths: PathRAG with N = 20 and K = 5, for fewer tokens (PathRAG-lt, RQ5)."""
    return pathrag(ix, passages, n, k, decay, threshold, llm=llm)
