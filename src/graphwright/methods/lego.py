"""LEGO-GraphRAG: subgraph extraction and path retrieval by name, and fifteen instances of the two (Tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from graphwright.errors import OptionError
from graphwright.generate.answer import Answer
from graphwright.generate.paths import PathPrompt
from graphwright.generate.targets import TargetAnswer
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.base import LLM, CrossEncoder, Encoder
from graphwright.models.reading import MiniLMCrossEncoder
from graphwright.operators.anchors.link_entities import Link
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.beam import BeamSearch
from graphwright.operators.paths.flow import PathSources
from graphwright.operators.paths.paths import EnumeratedPaths, ShortestPaths
from graphwright.operators.paths.relation_paths import EdgesBy, Relations
from graphwright.operators.rerank.choose import Choose
from graphwright.operators.rerank.composed import Composed
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import Scorer
from graphwright.operators.search.search import EdgeSearch
from graphwright.operators.subgraph.narrow import Induce, Nodes, Triples
from graphwright.operators.subgraph.precomputed import CommunityOf
from graphwright.operators.subgraph.prune import InduceEdges
from graphwright.operators.subgraph.walk import KHop, PersonalizedPageRank, RandomWalk

__all__ = [
    "EXTRACTIONS",
    "INSTANCES",
    "PRUNINGS",
    "RETRIEVALS",
    "Best",
    "Instance",
    "answered",
    "cell",
    "instance",
    "lego",
    "scorer",
]

_SHOWN = 5  # passages beside the paths, to be quoted
_NAMES = 100  # nodes of a knowledge graph that are shown in the place of passages: each is a name

Model = Encoder | CrossEncoder | Scorer | LLM | Operator
Value = TypeVar("Value")


@dataclass(frozen=True)
class Best:
    """The best pieces of a pool by one model, as an expression: `best(pool, k)`.

    A language model is given the `shown` best by `encoder`, where there is one, in one call (section 3.2.2 b.1). A
    model may be an operator too, which ranks evidence: models put together. `known`: a search that ranks the triples of
    the graph by `encoder`, where their vectors are known.

    >>> from graphwright import HashEncoder
    >>> Best(HashEncoder())(ShortestPaths(), 32)
    ShortestPaths() >> Rerank(HashEncoder(dimension=64)) % 32
    """

    model: Model
    encoder: Model | None = None
    shown: int = 256
    known: Operator | None = None

    def __call__(self, pool: Operator, k: int | None = None) -> Operator:
        """Return the pool ranked by the model, cut to k."""
        if isinstance(self.model, Operator):
            return pool >> _cut(self.model, k)
        if not isinstance(self.model, LLM):
            return self._read(pool, self.model, k)
        first = pool if self.encoder is None else Best(self.encoder, self.encoder, known=self.known)(pool, self.shown)
        return first >> _cut(Choose(self.model, self.shown), k)

    def _read(self, pool: Operator, model: Encoder | CrossEncoder | Scorer, k: int | None) -> Operator:
        if self.known is not None and model is self.encoder and pool == Triples():
            return _cut(self.known, k)
        return pool >> _cut(Rerank(model), k)


def _cut(operator: Operator, k: int | None) -> Operator:
    return operator if k is None else operator % k


EXTRACTIONS: Mapping[str, Callable[[int], Operator]] = {
    "none": lambda nodes: Keep(),
    "RW": lambda nodes: RandomWalk(each=True) % nodes >> Induce(),
    "KSE": lambda nodes: KHop(3) % nodes >> Induce(),
    "PPR": lambda nodes: PersonalizedPageRank(each=True) % nodes >> Induce(),
    "KSE-PPR": lambda nodes: KHop(3) >> Induce() >> PersonalizedPageRank(each=True) % nodes >> Induce(),
    "communities": lambda nodes: CommunityOf(largest=nodes) >> Induce(),
}
"""Structure-based extraction by name (SBE, section 3.2.1, and 5.2), from anchors to a graph of so many nodes."""

PRUNINGS: Mapping[str, Callable[[Best, int], Operator]] = {
    "NP": lambda best, kept: (best(Nodes(), kept) | KHop(0)) >> Induce(),
    "EP": lambda best, kept: best(Relations()) >> EdgesBy() % kept >> InduceEdges(),
    "TP": lambda best, kept: best(Triples(), kept) >> InduceEdges(),
}
"""Semantic pruning of a narrowed graph by name (SAE, section 3.2.2): what a model prefers, so many nodes or edges."""

RETRIEVALS: Mapping[str, Callable[[Best | None, int], Operator]] = {
    "SPR": lambda best, paths: ShortestPaths() % paths,
    "EPR": lambda best, paths: EnumeratedPaths(3) % paths,
    "OSAR": lambda best, paths: _needed(best, "OSAR")(ShortestPaths(), paths),
    "OSAR/EPR": lambda best, paths: _needed(best, "OSAR/EPR")(EnumeratedPaths(2), paths),
    "ISAR": lambda best, paths: BeamSearch(_needed(best, "ISAR").model) % paths,
}
"""Path retrieval by name (SBR, OSAR and ISAR, section 3.3), from anchors on a graph to so many paths."""


def cell(
    extraction: str | Operator,
    retrieval: str | Operator,
    models: Mapping[str, Model] | None = None,
    *,
    nodes: int = 1000,
    edges: int = 64,
    paths: int = 32,
    shown: int = 256,
    triples: Operator | None = None,
) -> Operator:
    """Return one cell of the map, `extraction >> retrieval`, from anchors to paths; docs/lego.md has the map.

    `extraction`: a name of EXTRACTIONS, alone or with `+`, a name of PRUNINGS, `-` and a model, as "PPR+TP-E".
    `retrieval`: a name of RETRIEVALS, for those that need a model with `-` and that, as "OSAR-C". Either may be an
    operator of your own, Keep() for none. `models`: by the names that are used; a language model is shown what "E"
    prefers, if that is there. `nodes`, `edges`, `paths`: N_ppr, N_e (N_v, N_τ) and N_p. `shown`, `triples`: those of
    Best.

    >>> from graphwright import HashEncoder, OverlapCrossEncoder
    >>> cell("PPR+TP-E", "OSAR-C", {"E": HashEncoder(), "C": OverlapCrossEncoder()}, edges=9)
    PersonalizedPageRank(each=True) % 1000 >> Induce() >>
    Triples() >> Rerank(HashEncoder(dimension=64)) % 9 >> InduceEdges() >>
    ShortestPaths() >> Rerank(OverlapCrossEncoder()) % 32
    """
    known = models or {}

    def best(by: str) -> Best:
        return Best(_named(by, known, "model"), known.get("E"), shown, triples)

    if isinstance(extraction, str):
        structure, _, pruning = extraction.partition("+")
        made = _named(structure, EXTRACTIONS, "extraction")(nodes)
        if pruning:
            kind, _, by = pruning.partition("-")
            made = made >> _named(kind, PRUNINGS, "pruning")(best(by), edges)
        extraction = made
    if isinstance(retrieval, str):
        kind, _, by = retrieval.partition("-")
        retrieval = _named(kind, RETRIEVALS, "path retrieval")(best(by) if by else None, paths)
    if Keep() in (extraction, retrieval):
        return retrieval if extraction == Keep() else extraction
    return extraction >> retrieval


def _named(name: str, known: Mapping[str, Value], what: str) -> Value:
    if name not in known:
        raise OptionError(f"there is no {what} {name!r} here; there are {', '.join(known) or 'none'}.")
    return known[name]


def _needed(best: Best | None, name: str) -> Best:
    if best is None:
        raise OptionError(f"{name} is judged by a model; say which, as in '{name}-E', and give it in models.")
    return best


class Instance(NamedTuple):
    """What an instance is made of; E is the sentence encoder, L the language model or what stands for it.

    `extraction`: "PPR", or "E" or "L" for edge pruning of that. `retrieval`: "SPR", or "OSAR" (shortest paths,
    reranked) or "ISAR" (beam search) by the `judge`, "E" or "L".
    """

    extraction: str
    retrieval: str
    judge: str = ""


INSTANCES = {
    1: Instance("PPR", "SPR"),
    2: Instance("E", "OSAR", "E"),
    3: Instance("E", "OSAR", "L"),
    4: Instance("L", "OSAR", "E"),
    5: Instance("L", "OSAR", "L"),
    6: Instance("E", "ISAR", "E"),
    7: Instance("E", "ISAR", "L"),
    8: Instance("L", "ISAR", "E"),
    9: Instance("L", "ISAR", "L"),
    10: Instance("E", "SPR"),
    11: Instance("L", "SPR"),
    12: Instance("PPR", "OSAR", "E"),
    13: Instance("PPR", "OSAR", "L"),
    14: Instance("PPR", "ISAR", "E"),
    15: Instance("PPR", "ISAR", "L"),
}


def lego(
    number: int,
    encoder: Encoder | Scorer,
    judge: CrossEncoder | LLM | None = None,
    *,
    nodes: int = 1000,
    edges: int = 64,
    paths: int = 32,
    shown: int = 256,
    triples: Operator | None = None,
) -> Operator:
    """Return instance `number`, from anchors to the paths it finds.

    `encoder` is E, or what scores in its place without reading; `judge` is L: a language model, or without one a
    cross-encoder that is another model than E, which tables have to say; only the instances with an L need it. `nodes`,
    `edges` and `paths` are N_ppr, N_e and N_p; beams are 8 wide and 4 long, all lengths kept. Subgraphs are one per
    query entity, united; the restart of PPR is not stated: 0.15. A language model is given the `shown` best by E, in
    one call (section 3.2.2 b.1). `triples`: a search that ranks the triples of the graph by E, where their vectors are
    known and E need not read them.

    >>> from graphwright.models.fake import HashEncoder
    >>> lego(12, HashEncoder())
    PersonalizedPageRank(each=True) % 1000 >> Induce() >> ShortestPaths() >> Rerank(HashEncoder(dimension=64)) % 32
    """
    made = INSTANCES.get(number)
    if made is None:
        raise OptionError(f"there is no instance {number!r} of LEGO-GraphRAG; there are 1 to {len(INSTANCES)}.")
    if judge is None and "L" in made:
        raise OptionError(f"lego-{number} needs L, the second model: give judge a language model or a cross-encoder.")
    models: dict[str, Model] = {"E": encoder} if judge is None else {"E": encoder, "L": judge}
    extraction = "PPR" if made.extraction == "PPR" else f"PPR+TP-{made.extraction}"
    retrieval = f"{made.retrieval}-{made.judge}" if made.judge else made.retrieval
    sizes = {"nodes": nodes, "edges": edges, "paths": paths, "shown": shown}
    return cell(extraction, retrieval, models, triples=triples, **sizes)


def answered(
    ix: Snapshot, found: Operator, passages: int = 20, llm: LLM | None = None, *, tied: bool = False
) -> Operator:
    """Return what links a question, finds paths, and answers from them.

    `found`: from anchors to paths. From passages where the index has some; else with the names that paths lead to, or
    by a language model that is shown the paths. `tied`: of names, only those that the best paths lead to, by their
    scores; `found` then has to leave the graph as it is.
    """
    # Beside Keep() the graph is narrowed for the paths alone: what comes after them searches all of it.
    begun = Link(ix.names) >> (Keep() | found)
    if ix.graph.passages is not None:
        prompt = PathPrompt(passages=_SHOWN)
        return begun >> answering(ix, passages, llm, sources=PathSources(passages), prompt=prompt)
    if llm is None:
        scored = Link(ix.names) >> found if tied else begun  # whatever is beside Keep() comes without its scores
        return scored >> PathSources(passages) >> TargetAnswer(tied=tied)
    return begun >> PathSources(_NAMES) >> PathPrompt(passages=_NAMES) >> Answer(llm)


def scorer(ix: Snapshot) -> Encoder | Scorer:
    """Return what scores by an index's encoder: the vectors that the index has, else the encoder itself."""
    if ix.triples is not None:
        return Composed(triples=ix.triples)
    return ix.encoder if ix.names is None else Composed(ix.names)


def instance(number: int) -> Callable[..., Operator]:
    """Return what builds instance `number` over an index."""
    made = INSTANCES[number]

    def build(
        ix: Snapshot,
        passages: int = 20,
        nodes: int = 1000,
        edges: int = 64,
        paths: int = 32,
        *,
        judge: CrossEncoder | LLM | None = None,
        llm: LLM | None = None,
    ) -> Operator:
        second = (judge or llm or MiniLMCrossEncoder()) if "L" in made else None
        triples = None if ix.triples is None else EdgeSearch(ix.triples)
        found = lego(number, scorer(ix), second, nodes=nodes, edges=edges, paths=paths, triples=triples)
        return answered(ix, found, passages, llm)

    build.__name__ = f"lego_{number}"
    build.__doc__ = f"""{_said(made)} (LEGO-GraphRAG, instance {number}).

    From what the question names to passages, on a knowledge graph without passages to the names that paths lead to. E
    is the index's encoder, by the vectors that the index has of triples, else of names, so that next to nothing is
    read; without either it reads every triple and path. L is `judge`, else the language model that answers, else, as
    no language model is there, the embedded cross-encoder. `nodes`, `edges`, `paths`: N_ppr, N_e and N_p.
    """
    return build


def _said(made: Instance) -> str:
    graph = (
        "the PPR graph" if made.extraction == "PPR" else f"the edges of the PPR graph that {made.extraction} prefers"
    )
    if made.retrieval == "SPR":
        return f"The shortest paths in {graph}"
    how = f"shortest paths that {made.judge} prefers" if made.retrieval == "OSAR" else f"beam search by {made.judge}"
    return f"{how[0].upper()}{how[1:]} in {graph}"
