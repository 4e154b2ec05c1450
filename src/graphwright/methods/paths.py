"""PathRAG: the most reliable paths between what the question's keywords name, in the prompt with the best last."""

from __future__ import annotations

from graphwright.generate.paths import GlobalEdges, PathPrompt
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.anchor_search import AnchorSearch
from graphwright.operators.anchors.keywords import Keywords
from graphwright.operators.operator import Operator
from graphwright.operators.paths.flow import THRESHOLD, FlowPaths, NearSources
from graphwright.operators.subgraph.statements import OnStatements

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
    order: Operator | None = None,
    prompt: type[PathPrompt] = PathPrompt,
    llm: LLM | None = None,
) -> Operator:
    """Passages behind the most reliable paths between what the keywords of the question name (PathRAG).

    `n`: the nodes that keywords lead to in all, N; `k`: the paths kept in all, K; `decay` and `threshold` as in
    FlowPaths. A language model lists the keywords and answers from the paths, the edges of the question's themes, and
    five passages behind either, which it quotes; without one keywords are words of the question, the question is its
    own theme, and the answer is quoted. The paper shows no passages: they come in the order of their nearness to the
    question, which paths say nothing of. `order` (HopFirst(), Shuffled(seed)) and `prompt` (FlatPrompt) are the paper's
    ablations (RQ2); for its sparser graphs (RQ3) see `graphwright.evaluate.sparsity.thinned`.

    Names and triples without vectors are compared by words, which finds less: have them embedded, with
    Settings(embed=("passages", "names", "triples")).
    """
    paths = Keywords(llm) >> AnchorSearch(ix.names) % n >> OnStatements(FlowPaths(decay, threshold) % k)
    edges = GlobalEdges(ix.triples, asked=llm is None)
    sources = NearSources(ix.passages, passages, edges)
    shown = prompt(edges=edges, passages=_SHOWN)
    return (paths if order is None else paths >> order) >> answering(ix, passages, llm, sources=sources, prompt=shown)


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
