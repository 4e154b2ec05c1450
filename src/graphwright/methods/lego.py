"""LEGO-GraphRAG: fifteen ways to put subgraph extraction and path retrieval together (Table 2, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from graphwright.errors import OptionError
from graphwright.generate.answer import Answer
from graphwright.generate.paths import PathPrompt
from graphwright.generate.targets import TargetAnswer
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.base import LLM, CrossEncoder, Encoder
from graphwright.models.reading import MiniLMCrossEncoder
from graphwright.retrieve.beam import BeamSearch
from graphwright.retrieve.choose import Choose
from graphwright.retrieve.flow import PathSources
from graphwright.retrieve.link import Link
from graphwright.retrieve.narrow import Induce, Triples
from graphwright.retrieve.operator import Keep, Operator
from graphwright.retrieve.paths import ShortestPaths
from graphwright.retrieve.prune import InduceEdges
from graphwright.retrieve.rerank import Rerank
from graphwright.retrieve.search import EdgeSearch
from graphwright.retrieve.walk import PersonalizedPageRank

__all__ = ["INSTANCES", "Instance", "instance", "lego"]

_SHOWN = 5  # passages beside the paths, to be quoted
_NAMES = 100  # nodes of a knowledge graph that are shown in the place of passages: each is a name

Model = Encoder | CrossEncoder | LLM


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
    encoder: Encoder,
    judge: CrossEncoder | LLM | None = None,
    *,
    nodes: int = 1000,
    edges: int = 64,
    paths: int = 32,
    shown: int = 256,
    triples: Operator | None = None,
) -> Operator:
    """Return instance `number`, from anchors to the paths it finds.

    `encoder` is E, `judge` is L: a language model, or without one a cross-encoder that is another model than E, which
    tables have to say; only the instances with an L need it. `nodes`, `edges` and `paths` are N_ppr, N_e and N_p;
    beams are 8 wide and 4 long, all lengths kept. Subgraphs are one per query entity, united; the restart of PPR is
    not stated: 0.15. A language model is given the `shown` best by E, in one call (section 3.2.2 b.1). `triples`: a
    search that ranks the triples of the graph by E, where their vectors are known and E need not read them.

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

    def best(pool: Operator, model: Model, k: int, known: Operator | None = None) -> Operator:
        def by_encoder(n: int) -> Operator:
            return pool >> Rerank(encoder) % n if known is None else known % n

        if isinstance(model, LLM):
            return by_encoder(shown) >> Choose(model, shown) % k
        return by_encoder(k) if model is encoder else pool >> Rerank(model) % k

    whole = PersonalizedPageRank(each=True) % nodes >> Induce()
    if made.extraction != "PPR":
        whole = whole >> best(Triples(), models[made.extraction], edges, triples) >> InduceEdges()
    if made.retrieval == "SPR":
        return whole >> ShortestPaths() % paths
    model = models[made.judge]
    if made.retrieval == "ISAR":
        return whole >> BeamSearch(model) % paths
    return whole >> best(ShortestPaths(), model, paths)


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
        found = lego(number, ix.encoder, second, nodes=nodes, edges=edges, paths=paths, triples=triples)
        # Beside Keep() the graph is narrowed for the paths alone: what comes after them searches all of it.
        begun = Link(ix.names) >> (Keep() | found)
        if ix.graph.passages is not None:
            prompt = PathPrompt(passages=_SHOWN)
            return begun >> answering(ix, passages, llm, sources=PathSources(passages), prompt=prompt)
        if llm is None:
            return begun >> PathSources(passages) >> TargetAnswer()
        return begun >> PathSources(_NAMES) >> PathPrompt(passages=_NAMES) >> Answer(llm)

    build.__name__ = f"lego_{number}"
    build.__doc__ = f"""{_said(made)} (LEGO-GraphRAG, instance {number}).

    From what the question names to passages, on a knowledge graph without passages to the names that paths lead to. E
    is the index's encoder. L is `judge`, else the language model that answers, else, as no language model is there, the
    embedded cross-encoder. `nodes`, `edges`, `paths`: N_ppr, N_e and N_p.
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
