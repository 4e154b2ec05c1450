"""Reasoning on a graph that a language model cannot leave: GCR, DoG and StructGPT."""

from __future__ import annotations

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.learn.path import PathRetriever
from graphwright.methods.method import Method
from graphwright.methods.papers.lego import answered, scorer
from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.control import OnGraph
from graphwright.operators.operator import Operator
from graphwright.operators.paths.read_relations import RankRelations, ReadRelations
from graphwright.operators.paths.relation_paths import Instances
from graphwright.operators.paths.shortest_paths import EnumeratedPaths
from graphwright.operators.paths.well_formed import WellFormedChains
from graphwright.operators.rerank.constrained import ConstrainedDecoding
from graphwright.operators.rerank.mask import Patterns
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import Scorer
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.search.snapshot import Snapshot


def gcr(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    paths: int = 10,
    length: int = 2,
    pool: int = 1000,
    *,
    decoder: LLM | PathRetriever | None = None,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by paths that a language model writes, held by a trie of the graph's paths (GCR).

    `length`: the most edges of a path of the trie, from the question's entities; `pool`: the shortest paths, which the
    trie has; `paths`: those that are written, K. `decoder`: writes them, by default the language model that answers;
    the paper has two, a small one fine-tuned to write paths and a general one to answer. Offline a path retriever
    decodes relation paths that exist (see `load_retriever`), else the index's encoder ranks the paths.
    """
    model, trie, rank = decoder or llm, EnumeratedPaths(length) % pool, Rerank(_twin(ix))
    if isinstance(model, PathRetriever):
        search = model.search(paths)
    elif model is None:
        search = trie >> rank % paths
    else:  # the ranking is for a model that can only choose by number
        search = trie >> rank >> ConstrainedDecoding(model, paths)
    return answered(ix, OnGraph(StatementGraph(), search), top_k, llm)


def dog(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    width: int = 3,
    length: int = 3,
    pool: int = 256,
    *,
    decoder: LLM | PathRetriever | None = None,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by chains that a language model writes triple by triple, each well-formed so far (DoG).

    `width`: chains of the beam; `length`: the most triples of a chain; `pool`: continuations of a step. `decoder`:
    writes the triples; see `gcr`, which has the same two twins offline.
    """
    model = decoder or llm
    if isinstance(model, PathRetriever):
        search: Operator = model.search(width)
    else:
        ranker: Operator = Rerank(_twin(ix)) if model is None else ConstrainedDecoding(model, width)
        search = WellFormedChains(ranker, width, length, pool)
    return answered(ix, OnGraph(StatementGraph(), search), top_k, llm)


def _twin(ix: Snapshot) -> Encoder | Scorer:
    """Return the model that ranks paths offline: by relations alone, but by sentences where these are relations."""
    return Patterns(ix.encoder) if ix.graph.passages is None else scorer(ix)


def structgpt(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    turns: int = 3,
    paths: int = 100,
    *,
    judge: Encoder | CrossEncoder | LLM | None = None,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by the triples that a model reads in turns, a relation of the entities at hand each (StructGPT).

    `turns`: relations read at most; `paths`: walks to the entities that they lead to. `judge`: selects relations and
    says when the triples are enough, by default the language model that answers, else the index's encoder.
    """
    model = judge or llm or ix.encoder
    read = ReadRelations(model, turns) if isinstance(model, LLM) else RankRelations(model, turns)
    search = read >> Instances() % paths
    return answered(ix, OnGraph(StatementGraph(), search), top_k, llm, tied=True)
