"""GCR: paths that a language model writes, constrained to a graph."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.learn.path import PathRetriever
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, TopK
from graphwright.methods.papers.lego import answered, scorer
from graphwright.models.protocols import LLM, Encoder
from graphwright.operators.control import OnGraph
from graphwright.operators.paths.shortest_paths import EnumeratedPaths
from graphwright.operators.rerank.choose import ConstrainedDecoding
from graphwright.operators.rerank.mask import Patterns
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import Scorer
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.search.snapshot import Snapshot


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
    Offline, a path retriever as `decoder` writes existing relation paths (see `load_retriever`); without it, the
    index's encoder ranks the paths.
    """
    model, trie, rank = decoder or llm, EnumeratedPaths(length) % pool, Rerank(_twin(ix))
    if isinstance(model, PathRetriever):
        search = model.search(paths)
    elif model is None:
        search = trie >> rank % paths
    else:  # models that cannot decode under constraint choose by number from the ranked paths
        search = trie >> rank >> ConstrainedDecoding(model, paths)
    return answered(ix, OnGraph(StatementGraph(), search), top_k, llm)


def _twin(ix: Snapshot) -> Encoder | Scorer:
    """Return the model that ranks paths offline: over documents by sentences, over other graphs by relations alone."""
    return Patterns(ix.encoder) if ix.graph.passages is None else scorer(ix)
