"""Methods of this package: baselines, multi-hop search by a fitted scorer, cross-encoders, queries of graphs."""

from __future__ import annotations

from typing import Annotated

from graphwright.errors import OptionError
from graphwright.generate.answer import Unaided
from graphwright.generate.contexts import CONTEXT_PASSAGES
from graphwright.generate.path_contexts import PathContext
from graphwright.generate.query_answer import NotRecorded
from graphwright.graph.graph import Kind
from graphwright.methods.answering import (
    OptionalParser,
    answering,
    computed_first,
    evidence_or,
    executed,
    graph_parser,
    has_records,
    table_parser,
    written,
)
from graphwright.methods.method import (
    Blend,
    FirstSearch,
    Help,
    Method,
    OptionalCrossEncoder,
    OptionalLLM,
    RequiredLLM,
    Restart,
    TopK,
)
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import CrossEncoder
from graphwright.operators.anchors.link_entities import AnchorNodes, LinkEntities
from graphwright.operators.control import HasEvidence, If, ReciprocalRank, Scaled, ScoreSum
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.relation_paths import Instances, RelationPaths
from graphwright.operators.query.parse_query import IsComputed, LikelyQueries, MostProbable, QueryEvidence
from graphwright.operators.query.result import RECORDED
from graphwright.operators.rerank.fitted_scorer import PassageScorer, ScorePassages
from graphwright.operators.rerank.rerank import MultiHopRerank, Rerank
from graphwright.operators.rerank.scorer import MaskEntities
from graphwright.operators.search.reword import Reword
from graphwright.operators.search.search import VectorSearch, WordSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import Only
from graphwright.operators.subgraph.pagerank import PersonalizedPageRank
from graphwright.operators.subgraph.views import entity_vectors
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex

DEPTH = 200  # passages of each part of a first search
POOL = 100  # passages of PageRank that are scored
BLEND = 0.3  # share of the cross-encoder in `rerank`, chosen on sets without reported results (embedded/blend.py)

Seeds = Annotated[
    int, Help("best passages of a hybrid search, at which PageRank starts, beside the entities that the question names")
]
FittedScorer = Annotated[PassageScorer | None, Help("the fitted scorer of passages, by default that of the package")]


def vanilla(ix: Snapshot, *, llm: RequiredLLM) -> Method:
    """Answer with a language model alone: no passages and no citations."""
    return Method(Keep(), answer=Unaided(llm))


def cot(ix: Snapshot, *, llm: RequiredLLM) -> Method:
    """Answer with a language model alone after a chain of thought: no passages and no citations."""
    return Method(Keep(), answer=Unaided(llm, reasoning=True))


def vector(ix: Snapshot, top_k: TopK = CONTEXT_PASSAGES, *, llm: OptionalLLM = None) -> Method:
    """Rank passages by the cosine of their vector with the question's (dense retrieval, naive RAG)."""
    return Method(VectorSearch(ix.passages) % top_k >> ToPassages(), *answering(ix, llm))


def bm25(ix: Snapshot, top_k: TopK = CONTEXT_PASSAGES, *, llm: OptionalLLM = None) -> Method:
    """Rank passages by BM25."""
    return Method(WordSearch(ix.words) % top_k >> ToPassages(), *answering(ix, llm))


def both(ix: Snapshot, depth: int) -> Operator:
    """Return the sum of a vector search and a BM25 search of `depth` passages each, scores divided by the largest."""
    return ScoreSum(VectorSearch(ix.passages) % depth, WordSearch(ix.words) % depth)


def hybrid(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    depth: Annotated[int, Help("passages of each of the two searches")] = DEPTH,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the sum of vector and BM25 scores, each divided by its largest."""
    return Method(both(ix, depth) % top_k >> ToPassages(), *answering(ix, llm))


def entity_means(ix: Snapshot) -> VectorIndex:
    """Return the vectors of entities, each the mean of its passages' vectors. The repr is an expression for it."""
    return entity_vectors(ix.graph, ix.passages).named("entity_vectors(ix.graph, ix.passages)")


def walk(ix: Snapshot, k: int, seeds: int = 20, restart: float = 0.5) -> Operator:
    """Return PageRank from the best `seeds` of a hybrid search and the entities of the question, to k passages."""
    first = ScoreSum(both(ix, DEPTH) % seeds, AnchorNodes())
    # About one node in three that PageRank reaches is a passage.
    return LinkEntities(ix.names) >> first >> PersonalizedPageRank(restart) % (5 * k) >> Only(Kind.CHUNK) % k


def ppr(
    ix: Snapshot, top_k: TopK = CONTEXT_PASSAGES, seeds: Seeds = 20, restart: Restart = 0.5, *, llm: OptionalLLM = None
) -> Method:
    """Rank passages by personalised PageRank over passages and entities."""
    search = walk(ix, top_k, seeds, restart) >> If(HasEvidence(), Keep(), both(ix, DEPTH) % top_k)
    return Method(search >> ToPassages(), *answering(ix, llm))


def multihop_search(
    ix: Snapshot, k: int, seeds: int = 20, restart: float = 0.5, scorer: PassageScorer | None = None
) -> Operator:
    """Return the search of `multihop` for k passages."""
    return walk(ix, POOL, seeds, restart) >> scored(ix, scorer) % k


def scored(ix: Snapshot, scorer: PassageScorer | None = None) -> ScorePassages:
    """Return the ranking of passages by a fitted scorer, by default that of the package with the gate of the index."""
    gate = ix.gate if scorer is None else 0.0
    return ScorePassages(ix.passages, ix.words, MiniLM(), ix.triples, scorer=scorer, gate=gate)


def multihop(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    seeds: Seeds = 20,
    restart: Restart = 0.5,
    *,
    scorer: FittedScorer = None,
    parser: OptionalParser = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages, alone and in connected pairs, by a fitted scorer, and select them by coverage (the default).

    The passages are those of a personalised PageRank and of a hybrid search. Over documents with records, such as rows
    of tables or mails, a question that surely asks what can be computed from them is answered by its query; the
    passages that hold its rows come first.
    """
    search, ending = multihop_search(ix, top_k, seeds, restart, scorer), answering(ix, llm)
    if parser is None and not has_records(ix):
        return Method(Reword(ix.words) >> search >> ToPassages(), *ending)
    parser = parser or MostProbable((table_parser(),) if has_records(ix) else ())
    found = executed(llm, parser) >> evidence_or(search, top_k) >> ToPassages()
    return Method(Reword(ix.words) >> found, *computed_first(ending, parser=parser if llm is None else None))


def blended(before: Operator, rank: Operator, share: float) -> Operator:
    """Return `rank` blended with `before`: `share` of its score, scaled to 0 to 1, and the rest of that of `before`."""
    if not 0 <= share <= 1:
        raise OptionError(f"blend is {share!r}; it must be 0 to 1, 1 for the reranker's score alone.")
    weights = (1 - share, share)
    return rank if share == 1 else ScoreSum(before, Scaled(rank), weights=weights)


def rerank(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    budget: Annotated[int, Help("passages that are read")] = 100,
    blend: Blend = BLEND,
    *,
    first: FirstSearch = None,
    cross_encoder: OptionalCrossEncoder = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rerank the passages of a hybrid search by a cross-encoder, blended with the search (retrieve, then rerank)."""
    rank = blended(Keep(), Rerank(cross_encoder or MiniLMCrossEncoder()), blend)
    search = Reword(ix.words) >> (first or both(ix, max(budget, DEPTH))) % budget
    return Method(search >> rank % top_k >> ToPassages(), *answering(ix, llm))


def multihop_rerank(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    pool: Annotated[int, Help("passages that are read; the others keep their order after them")] = 30,
    contexts: Annotated[
        int, Help("best passages whose entities are added to the question, each for one more reading of the pool")
    ] = 3,
    *,
    first: Annotated[Operator | None, Help("the search, by default that of `multihop`")] = None,
    scorer: FittedScorer = None,
    cross_encoder: OptionalCrossEncoder = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rerank the passages of `multihop` by a cross-encoder, alone and with entities of the best; fuse both ranks."""
    search = Reword(ix.words) >> reread(ix, top_k, pool, contexts, first, cross_encoder, scorer)
    return Method(search >> ToPassages(), *answering(ix, llm))


def reread(
    ix: Snapshot,
    top_k: int,
    pool: int = 30,
    contexts: int = 3,
    first: Operator | None = None,
    cross_encoder: CrossEncoder | None = None,
    scorer: PassageScorer | None = None,
) -> Operator:
    """Return the search of `multihop_rerank`."""
    model = cross_encoder or MiniLMCrossEncoder()
    # The model and the search err on different passages, so their ranks are fused; a small constant favours the first.
    fused = ReciprocalRank(Keep(), Keep() % pool >> MultiHopRerank(model, contexts), constant=5)
    depth = max(pool, top_k)
    search = multihop_search(ix, depth, scorer=scorer) if first is None else first % depth
    return search >> fused % top_k


_SHOWN = 100  # nodes of the graph that a language model is shown beside the paths: each is only a name
_RELATIONS = 10  # relations of the named things along which the nearest facts are


def graph(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    hops: Annotated[int, Help("the most relations of a path")] = 3,
    *,
    parser: OptionalParser = None,
    llm: OptionalLLM = None,
) -> Method:
    """Answer by the query that the question asks of the graph (the default over graphs).

    A parser, or a language model, turns the question into a query, which is executed over all statements: the answer is
    the names that it gives, their number, a value, yes or no. Without a probable query the graph does not say; a
    language model then reads the statements of the likeliest queries and those about the things that are named. Where
    documents were added, or with a filter of documents, questions are searched as by `multihop` and answered from
    passages.
    """
    if ix.is_without_graph:
        return multihop(ix, top_k, parser=parser, llm=llm)
    parser = parser or graph_parser(ix, hops)
    if ix.graph.passages is not None:
        return multihop(ix, top_k, parser=parser, llm=llm)
    asked = executed(llm, parser, RECORDED)
    search = If(IsComputed(), QueryEvidence(_SHOWN), LikelyQueries(parser) | _near(ix))
    ranked = ToPassages(top_k if llm is None else _SHOWN)
    ending = computed_first(written(llm, PathContext(), NotRecorded(MiniLM(), parser)), RECORDED)
    return Method(asked >> search >> ranked, *ending, passages=_SHOWN)


def _near(ix: Snapshot) -> Operator:
    """Return the search for statements about the named things, by the likeness of their relations to the question."""
    relations = RelationPaths(1) >> MaskEntities(Rerank(ix.encoder)) % _RELATIONS
    return LinkEntities(ix.names) >> relations >> Instances() % _SHOWN
