"""LEGO-GraphRAG: subgraph extraction and path retrieval by name, and its fifteen instances (Tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from graphwright.errors import OptionError
from graphwright.generate.contexts import CONTEXT_PASSAGES
from graphwright.generate.path_answers import TargetAnswer
from graphwright.generate.path_contexts import PathContext
from graphwright.methods.answering import answering, written
from graphwright.methods.method import Help, Method, OptionalLLM, TopK
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.beam import BeamSearch
from graphwright.operators.paths.node_paths import EnumeratedPaths, ShortestPaths, Shuffled
from graphwright.operators.paths.relation_paths import EdgesBy, Relations
from graphwright.operators.rerank.rerank import Choose, Rerank
from graphwright.operators.rerank.scorer import Composed, Scorer, Steps
from graphwright.operators.search.search import EdgeSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import CommunityOf, Induce, InduceEdges, Nodes, Triples
from graphwright.operators.subgraph.pagerank import KHop, PageRank, PersonalizedPageRank, RandomWalk
from graphwright.search.snapshot import Snapshot

Model = Encoder | CrossEncoder | Scorer | Operator  # a model that scores texts, or an operator that ranks evidence
RetrievalLLM = Annotated[
    LLM | None, Help("the language model of the retrieval, by default the one that answers, if no other model is given")
]


def retrieval_llm_of(given: LLM | None, model: object, answering: LLM | None) -> LLM | None:
    """Return the language model of a retrieval: `given`, else `answering` if no other `model` is given."""
    return answering if given is None and model is None else given


def ranker(model: Model) -> Operator:
    """Return the operator that ranks evidence by a model."""
    return model if isinstance(model, Operator) else Rerank(model)


@dataclass(frozen=True)
class Beams:
    """The switches of a beam search (section 4.2): the unit that is scored, and how many paths stay.

    `by_step`: an encoder or a cross-encoder scores each new triple instead of the whole path (see Steps). `slack`:
    dynamic pruning (see BeamSearch). A language model ranks whole paths, without dynamic pruning.
    """

    by_step: bool = False
    slack: float | None = None


WHOLE_PATHS = Beams()  # as section 4.1 sets them


@dataclass(frozen=True)
class BestByScore:
    """The best items of a pool by a model that scores them, or by an operator that ranks evidence.

    `stored`: a search that ranks the triples of the graph by the same model with stored vectors. A scorer by stored
    vectors has none of relations: its encoder reads their texts.
    """

    model: Model
    stored: Operator | None = None

    def __call__(self, pool: Operator, k: int | None = None) -> Operator:
        if self.stored is not None and pool == Triples():
            return self.stored if k is None else self.stored % k
        by_text = self.model.encoder if isinstance(self.model, Composed) and pool == Relations() else self.model
        ranking = ranker(by_text)
        return pool >> (ranking if k is None else ranking % k)

    def beam_search(self, beams: Beams) -> Operator:
        """Return the beam search by the model."""
        model = self.model
        if beams.by_step and isinstance(model, Encoder | CrossEncoder):
            model = Steps(model)
        return BeamSearch(model, slack=beams.slack)


@dataclass(frozen=True)
class BestByChoice:
    """The items of a pool that a language model selects (section 3.2.2 b.1), from the `shown` best by `first`."""

    llm: LLM
    first: Best | None = None
    shown: int = 256

    def __call__(self, pool: Operator, k: int | None = None) -> Operator:
        candidates = pool if self.first is None else self.first(pool, self.shown)
        choice = Choose(self.llm, self.shown)
        return candidates >> (choice if k is None else choice % k)

    def beam_search(self, beams: Beams) -> Operator:
        """Return the beam search by the model."""
        return BeamSearch(Choose(self.llm))


Best = BestByScore | BestByChoice
_NAMES = 100  # nodes of a knowledge graph shown instead of passages: each is only a name

Value = TypeVar("Value")
PPRNodes = Annotated[int, Help("N_ppr, nodes of the PPR subgraph")]
BestPaths = Annotated[int, Help("N_p, paths that stay")]

EXTRACTIONS: Mapping[str, Callable[[int], Operator]] = {
    "none": lambda nodes: Keep(),
    "RW": lambda nodes: RandomWalk(each=True) % nodes >> Induce(),
    "KSE": lambda nodes: KHop(3) % nodes >> Induce(),
    "PPR": lambda nodes: PersonalizedPageRank(each=True) % nodes >> Induce(),
    "KSE-PPR": lambda nodes: KHop(3) >> Induce() >> PersonalizedPageRank(each=True) % nodes >> Induce(),
    "PageRank": lambda nodes: (PageRank() % nodes | KHop(0)) >> Induce(),
    "KSE-PageRank": lambda nodes: KHop(3) >> Induce() >> (PageRank() % nodes | KHop(0)) >> Induce(),
    "communities": lambda nodes: CommunityOf(max_nodes=nodes) >> Induce(),
}
"""Structure-based extraction by name (SBE, section 3.2.1, and 5.2), from anchors to a graph of limited size."""

PRUNINGS: Mapping[str, Callable[[Best, int], Operator]] = {
    "NP": lambda best, limit: (best(Nodes(), limit) | KHop(0)) >> Induce(),
    "EP": lambda best, limit: best(Relations()) >> EdgesBy() % limit >> InduceEdges(),
    "TP": lambda best, limit: best(Triples(), limit) >> InduceEdges(),
}
"""Semantic pruning of a narrowed graph by name (SAE, section 3.2.2): the best nodes or edges by a model stay."""

RETRIEVALS: Mapping[str, Callable[[Best | None, int, Beams], Operator]] = {
    "SPR": lambda best, paths, beams: ShortestPaths() % paths,
    "EPR": lambda best, paths, beams: EnumeratedPaths(3) % paths,
    "OSAR": lambda best, paths, beams: _needed(best, "OSAR")(ShortestPaths(), paths),
    "OSAR/EPR": lambda best, paths, beams: _needed(best, "OSAR/EPR")(EnumeratedPaths(2), paths),
    "ISAR": lambda best, paths, beams: _needed(best, "ISAR").beam_search(beams) % paths,
}
"""Path retrieval by name (SBR, OSAR and ISAR, section 3.3), from anchors on a graph to a limited number of paths."""


def cell(
    extraction: str | Operator,
    retrieval: str | Operator,
    models: Mapping[str, Model] | None = None,
    llms: Mapping[str, LLM] | None = None,
    *,
    nodes: int = 1000,
    edges: int = 64,
    paths: int = 32,
    triples: Operator | None = None,
    beams: Beams = WHOLE_PATHS,
) -> Operator:
    """Return one cell of the map, `extraction >> retrieval`, from anchors to paths; docs/lego.md has the map.

    `extraction`: a name of EXTRACTIONS, alone or followed by `+`, a name of PRUNINGS, `-` and a model, as "PPR+TP-E".
    `retrieval`: a name of RETRIEVALS; where it needs a model, followed by `-` and the model, as "OSAR-C". Either may be
    an operator, Keep() for none. `models`, `llms`: scoring models and language models by name; "R" draws at random. A
    language model selects from the best by "E", if there is one. `nodes`, `edges`, `paths`:
    N_ppr, N_e (N_v, N_τ) and N_p. `triples`: a search that ranks the triples of the graph by E with stored vectors.
    `beams`: the switches of ISAR.

    >>> from graphwright.models import HashEncoder, OverlapCrossEncoder
    >>> cell("PPR+TP-E", "OSAR-C", {"E": HashEncoder(), "C": OverlapCrossEncoder()}, edges=9)
    PersonalizedPageRank(each=True) % 1000 >> Induce() >>
    Triples() >> Rerank(HashEncoder(dimension=64)) % 9 >> InduceEdges() >>
    ShortestPaths() >> Rerank(OverlapCrossEncoder()) % 32
    """
    best = _by_name(models or {}, llms or {}, triples)
    if isinstance(extraction, str):
        structure, _, pruning = extraction.partition("+")
        extraction = _named(structure, EXTRACTIONS, "extraction")(nodes)
        if pruning:
            kind, _, by = pruning.partition("-")
            extraction >>= _named(kind, PRUNINGS, "pruning")(_named(by, best, "model"), edges)
    if isinstance(retrieval, str):
        kind, _, by = retrieval.partition("-")
        model = _named(by, best, "model") if by else None
        retrieval = _named(kind, RETRIEVALS, "path retrieval")(model, paths, beams)
    if Keep() in (extraction, retrieval):
        return retrieval if extraction == Keep() else extraction
    return extraction >> retrieval


def _by_name(models: Mapping[str, Model], llms: Mapping[str, LLM], triples: Operator | None) -> dict[str, Best]:
    best: dict[str, Best] = {"R": BestByScore(Shuffled())}
    best |= {name: BestByScore(model, triples if name == "E" else None) for name, model in models.items()}
    return best | {name: BestByChoice(llm, best.get("E")) for name, llm in llms.items()}


def _named(name: str, values: Mapping[str, Value], kind: str) -> Value:
    if name not in values:
        raise OptionError(f"There is no {kind} named {name!r}. There are: {', '.join(values) or 'none'}.")
    return values[name]


def _needed(best: Best | None, name: str) -> Best:
    if best is None:
        raise OptionError(f"{name} needs a model. Name one, as in '{name}-E', and give it in models.")
    return best


INSTANCES: Mapping[int, tuple[str, str]] = {
    1: ("PPR", "SPR"), 2: ("PPR+EP-E", "OSAR-E"), 3: ("PPR+EP-E", "OSAR-L"), 4: ("PPR+EP-L", "OSAR-E"),
    5: ("PPR+EP-L", "OSAR-L"), 6: ("PPR+EP-E", "ISAR-E"), 7: ("PPR+EP-E", "ISAR-L"), 8: ("PPR+EP-L", "ISAR-E"),
    9: ("PPR+EP-L", "ISAR-L"), 10: ("PPR+EP-E", "SPR"), 11: ("PPR+EP-L", "SPR"), 12: ("PPR", "OSAR-E"),
    13: ("PPR", "OSAR-L"), 14: ("PPR", "ISAR-E"), 15: ("PPR", "ISAR-L"),
}  # fmt: skip
"""Extraction and path retrieval of each instance, as in `cell`: E is the sentence encoder, L the language model.

EP is the pruning of section 4.1. It reads the text of each relation once, so that it is the cheapest one too. It needs
relations that recur, as those of a knowledge graph do.
"""


def lego(
    number: int,
    encoder: Encoder | Scorer,
    judge: CrossEncoder | None = None,
    llm: LLM | None = None,
    *,
    pruning: str = "EP",
    **options: Any,
) -> Operator:
    """Return instance `number`, from anchors to paths.

    `encoder` is E; L is `llm`, else `judge`, a cross-encoder that is another model than E (state this with reported
    figures). Beams are 8 wide and 4 long, all lengths included. Subgraphs are one per query entity, united; the restart
    of PPR, which the paper does not state, is 0.15. `pruning`: what instances 2 to 11 prune, a name of PRUNINGS; of a
    relation's edges those that the walk crosses most, as the paper does not say which. Other arguments as for `cell`.
    """
    if number not in INSTANCES:
        raise OptionError(f"LEGO-GraphRAG has no instance {number!r}; it has 1 to {len(INSTANCES)}.")
    if judge is None and llm is None and any(name.endswith("-L") for name in INSTANCES[number]):
        raise OptionError(f"lego-{number} needs L: give a language model as llm, or a cross-encoder as judge.")
    models: dict[str, Model] = {"E": encoder} if judge is None else {"E": encoder, "L": judge}
    llms = {} if llm is None else {"L": llm}
    extraction, retrieval = INSTANCES[number]
    extraction = extraction.replace("+EP-", f"+{pruning}-")
    return cell(extraction, retrieval, models, llms, **options)


def answered(
    ix: Snapshot,
    search: Operator,
    top_k: int = CONTEXT_PASSAGES,
    llm: LLM | None = None,
    *,
    tied: bool = False,
    context: Operator | None = None,
) -> Method:
    """Return a whole method: link the question, find paths, rank their passages, and answer.

    `search`: from anchors to paths. On a graph without passages the answer is the names that the paths lead to (`tied`:
    only the ends of the best-scored; `search` must not change the graph), or that of a language model that is shown
    them. `context`: over documents, by default the paths and passages.
    """
    # Keep() leaves the graph whole for the steps after the paths.
    linked = LinkEntities(ix.names) >> (Keep() | search)
    if ix.graph.passages is not None:
        return Method(linked >> ToPassages(top_k), *answering(ix, llm, context or PathContext()))
    if llm is None:
        # `| Keep()` would drop the scores of the paths.
        scored = LinkEntities(ix.names) >> search if tied else linked
        return Method(scored >> ToPassages(top_k), answer=TargetAnswer(tied=tied))
    ranked = linked >> ToPassages(_NAMES)
    return Method(ranked, *written(llm, PathContext(), TargetAnswer()), passages=_NAMES)


def scorer(ix: Snapshot) -> Encoder | Scorer:
    """Return the scorer by an index's encoder: its stored vectors if there are some, else the encoder itself."""
    if ix.triples is not None:
        return Composed(triples=ix.triples)
    return ix.encoder if ix.names is None else Composed(ix.names)


def instance(number: int) -> Callable[..., Method]:
    """Return the builder of instance `number` over an index."""

    def build(
        ix: Snapshot,
        top_k: TopK = CONTEXT_PASSAGES,
        nodes: PPRNodes = 1000,
        edges: Annotated[int, Help("N_e, the edges of the PPR subgraph that stay")] = 64,
        paths: BestPaths = 32,
        pruning: Annotated[
            str | None,
            Help(
                "what is pruned: EP for edges by their relation, TP for triples, NP for nodes; by default EP as "
                "published, over documents TP"
            ),
        ] = None,
        by_step: Annotated[bool, Help("whether paths are scored triple by triple (see Beams)")] = False,
        slack: Annotated[float | None, Help("slack of dynamic pruning in a beam search (see Beams)")] = None,
        *,
        encoder: Annotated[
            Encoder | None, Help("E, by default the index's encoder with the stored vectors of triples, else of names")
        ] = None,
        judge: Annotated[
            CrossEncoder | None, Help("L without a language model, by default the embedded cross-encoder")
        ] = None,
        retrieval_llm: RetrievalLLM = None,
        llm: OptionalLLM = None,
    ) -> Method:
        selecting = retrieval_llm_of(retrieval_llm, judge, llm)
        scoring = judge or MiniLMCrossEncoder()
        first = encoder or scorer(ix)
        stored = None if encoder is not None or ix.triples is None else EdgeSearch(ix.triples)
        what = pruning or ("EP" if ix.graph.passages is None else "TP")
        options: dict[str, Any] = {"nodes": nodes, "edges": edges, "paths": paths, "triples": stored}
        options["beams"] = Beams(by_step, slack)
        search = lego(number, first, scoring, selecting, pruning=what, **options)
        return answered(ix, search, top_k, llm)

    build.__name__ = f"lego_{number}"
    build.__doc__ = f"""{_about(*INSTANCES[number])} (LEGO-GraphRAG, instance {number}).

    Instances 2 to 11 prune edges by their relation, as published, over a knowledge graph. Over documents they prune
    triples: there a relation is any phrase between two names, and the edges of the best phrases seldom meet.

    On a knowledge graph without passages the answer is the names that the paths lead to. Without stored vectors of
    triples or names the index's encoder encodes every triple and path.
    """
    return build


def _about(extraction: str, retrieval: str) -> str:
    pruned, (kind, _, by) = extraction.partition("+EP-")[2], retrieval.partition("-")
    graph = f"the PPR subgraph pruned by {pruned}" if pruned else "the PPR subgraph"
    paths = {"SPR": "shortest paths", "OSAR": f"shortest paths reranked by {by}", "ISAR": f"beam search by {by}"}
    return f"Rank passages by {paths[kind]} in {graph}"


globals().update((build.__name__, build) for build in map(instance, INSTANCES))  # as the registry names them
