"""Name the systems and sweeps that lego.py compares, as expressions over one graph and its vectors."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from harness import evidence_of

from graphwright.data.datasets import read_dataset
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.index.clustering import communities
from graphwright.index.vector_index import VectorIndex
from graphwright.methods.papers.lego import EXTRACTIONS, INSTANCES, Model, cell, lego
from graphwright.methods.papers.lego_systems import explored, planned, selected
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.beam import BeamSearch
from graphwright.operators.paths.paths import ShortestPaths
from graphwright.operators.paths.relation_paths import EdgesBy, Instances, Relations
from graphwright.operators.rerank.mask import Patterns
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import BM25, Composed, Steps
from graphwright.operators.search.search import EdgeSearch, VectorSearch
from graphwright.operators.state import State
from graphwright.operators.subgraph.narrow import CommunityOf, Induce, InduceEdges, Nodes, Triples
from graphwright.operators.subgraph.walk import KHop, PersonalizedPageRank, RandomWalk

EDGES_KEPT = 64  # N_e
PATHS = 128  # ranked for the figure of F1 by the number of paths; tables use the first 32
SETS: dict[str, Sequence[str]] = {
    "metaqa": ("1hop_dev", "2hop_dev", "1hop_dev", "3hop_dev"),
    "pq-2h": ("",),
    "pql-2h": ("",),
}
"""The question files of each set, which are taken in turns: half of MetaQA's questions are of one hop."""
Build = Callable[[], Operator]


@dataclass
class Kit:
    """The parts of systems: a graph, the models E and C, and vectors of names and triples, which are kept."""

    folder: Path
    cache: Path
    graph: Graph

    @classmethod
    def open(cls, folder: Path, cache: Path) -> Kit:
        """Read the graph of a set."""
        return cls(folder, cache, Graph.from_triples(read_dataset(folder, SETS[folder.name][0]).triples or ()))

    @cached_property
    def encoder(self) -> MiniLM:
        """The encoder, E."""
        return MiniLM()

    @cached_property
    def cross_encoder(self) -> MiniLMCrossEncoder:
        """The cross-encoder, C, in the place of the paper's language model."""
        return MiniLMCrossEncoder()

    @cached_property
    def names(self) -> VectorIndex:
        """The vectors of names."""
        return self._vectors("names", list(self.graph.names))

    @cached_property
    def triples(self) -> VectorIndex:
        """The vectors of triples."""
        return self._vectors("triples", [self.graph.edge_text(edge) for edge in range(len(self.graph.edges))])

    def _file(self, name: str) -> Path:
        return self.cache / f"{self.folder.name}-{self.graph.columns.checksum}-{name}.npy"

    def _vectors(self, name: str, texts: Sequence[str]) -> VectorIndex:
        """Return the vectors of texts, made once; the seconds that took are kept beside them."""
        file = self._file(name)
        if not file.exists():
            begun = time.perf_counter()
            distinct = dict.fromkeys(texts)
            rows = self.encoder.encode(list(distinct))
            row_of = {text: row for row, text in enumerate(distinct)}
            self.cache.mkdir(parents=True, exist_ok=True)
            file.with_suffix(".json").write_text(json.dumps({"seconds": time.perf_counter() - begun}))
            np.save(file, rows[[row_of[text] for text in texts]])
        return VectorIndex(np.load(file, mmap_mode="r"), None, self.encoder)

    def seconds(self, name: str) -> float:
        """Return the time to make vectors, as it was noted, or communities, measured now."""
        if name == "communities":
            begun = time.perf_counter()
            communities(Graph(self.graph.columns), CommunityOf().max_nodes)
            return time.perf_counter() - begun
        _ = getattr(self, name)
        return float(json.loads(self._file(name).with_suffix(".json").read_text())["seconds"])


def questions(folder: Path, count: int) -> list[Any]:
    """Return questions in a seeded order that is the same for any count, the files of a set in turns."""
    drawn = {}
    for name in dict.fromkeys(SETS[folder.name]):
        every = list(read_dataset(folder, name).questions)
        np.random.default_rng(0).shuffle(every)
        drawn[name] = iter(every)
    files = SETS[folder.name]
    return [next(drawn[files[at % len(files)]]) for at in range(count)]


SEARCHED = ("PPR", "PPR+TP-E", "PPR+TP-C")
RETRIEVALS = ("SPR", "EPR", "OSAR-BM25", "OSAR-E", "OSAR-C", "ISAR-BM25", "ISAR-E", "ISAR-C")
OURS = ("OSAR-V", "OSAR-T", "OSAR-P", "ISAR-S", "ISAR-D", "ISAR-V", "ISAR-T", "ISAR-P")
OTHER_EXTRACTIONS = ("RW", "KSE", "KSE-PPR", "communities", "PPR+NP-E", "PPR+EP-E", "PPR+TP-BM25")
PREPARED: dict[str, Sequence[str]] = {
    "PPR / SPR": (),
    "communities / SPR": ("communities",),
    "communities by vectors / SPR": ("communities", "names"),
    "names by vectors / SPR": ("names",),
    "triples by vectors / SPR": ("triples",),
}
"""The extractions of Table 7, and what has to be prepared for each."""
MODELS: dict[str, Callable[[Kit], Model]] = {
    "BM25": lambda kit: BM25(),
    "E": lambda kit: kit.encoder,
    "C": lambda kit: kit.cross_encoder,
    "S": lambda kit: Steps(kit.encoder),
    "V": lambda kit: Composed(kit.names),
    "T": lambda kit: Composed(triples=kit.triples),
    "P": lambda kit: Patterns(kit.encoder),
}


def cells() -> dict[tuple[str, str], str]:
    """Return the name of each cell of the map by its extraction and its retrieval, as `lego.cell` takes them."""
    pairs = [(extraction, retrieval) for extraction in SEARCHED for retrieval in RETRIEVALS]
    pairs += [("PPR", retrieval) for retrieval in (*OURS, "OSAR/EPR-P")]
    pairs += [(extraction, "SPR") for extraction in OTHER_EXTRACTIONS]
    return {pair: " / ".join(pair) for pair in pairs}


def systems(kit: Kit) -> dict[str, Build]:
    """Return the builders of all systems, by name."""
    builders: dict[str, Build] = {name: lambda pair=pair: cell_of(kit, *pair) for pair, name in cells().items()}  # type: ignore[misc]
    by_vectors: dict[str, Build] = {
        "communities by vectors / SPR": lambda: CommunityOf() | VectorSearch(kit.names) % 3 >> CommunityOf(),
        "names by vectors / SPR": lambda: VectorSearch(kit.names) % 1000 | KHop(0),
        "triples by vectors / SPR": lambda: EdgeSearch(kit.triples) % 1000 | KHop(0),
    }
    for name, build in by_vectors.items():
        builders[name] = lambda build=build: cell(build() >> Induce(), "SPR", paths=PATHS)  # type: ignore[misc]
    # Published systems, with E (in RoG also C) in the place of their language model.
    builders |= {
        "rog": lambda: planned(kit.encoder) >> Instances() % PATHS,
        "rog by C": lambda: planned(kit.cross_encoder) >> Instances() % PATHS,
        "gsr": lambda: planned(kit.encoder) >> Instances() >> InduceEdges() >> ShortestPaths() % PATHS,
        "kelp": lambda: selected(kit.encoder, kit.encoder, paths=PATHS),
        "tog": lambda: explored(kit.encoder),
    }
    return builders | {f"lego-{n}": lambda n=n: instance(kit, n) for n in INSTANCES}


def cell_of(kit: Kit, extraction: str, retrieval: str) -> Operator:
    """Return a cell of the map; E has the vectors of triples, as an index has them."""
    by = retrieval.partition("-")[2]
    # Dynamic pruning is an option of the search, not of the model.
    search: str | Operator = BeamSearch(kit.encoder, slack=0.5) % PATHS if by == "D" else retrieval
    triples = EdgeSearch(kit.triples) if "TP-E" in extraction else None
    models = {name: MODELS[name](kit) for name in {by, extraction.rpartition("-")[2]} & set(MODELS)}
    return cell(extraction, search, models, paths=PATHS, triples=triples)


def instance(kit: Kit, number: int) -> Operator:
    """Return an instance of the paper."""
    triples = EdgeSearch(kit.triples) if "E" in INSTANCES[number].extraction else None
    return lego(number, kit.encoder, kit.cross_encoder, paths=PATHS, triples=triples)


@dataclass(frozen=True)
class Sweep:
    """An extraction at several sizes: one ranking is cut to each size, and the graph narrowed to it.

    `also`: evidence that is in every subgraph, whatever its size.
    """

    begin: Operator
    rank: Operator
    narrow: Operator
    sizes: tuple[int, ...]
    also: Operator | None = None

    def at(self, size: int) -> Operator:
        """Return the same as one expression, for one size."""
        cut: Operator = self.rank % size
        cut = cut >> self.narrow if self.also is None else (cut | self.also) >> self.narrow
        return cut if self.begin == Keep() else self.begin >> cut

    def ranked(self, state: State) -> tuple[State, Evidence]:
        """Return the state with the ranking, and the evidence that is in every subgraph."""
        state = self.begin(state)
        always = Evidence.of_nodes([]) if self.also is None else evidence_of(self.also(state))
        return self.rank(state), always

    def cut(self, ranked: tuple[State, Evidence], size: int) -> State:
        """Return the state on the subgraph of one size."""
        state, always = ranked
        best = evidence_of(state).top(size)
        return self.narrow(state.with_(evidence=best.union(always) if len(always) else best))

    def __repr__(self) -> str:
        return f"{self.at(self.sizes[-1])!r}, and the same at {', '.join(map(str, self.sizes))}"


NODES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
EDGES = (8, 16, 32, 64, 128, 256, 512, 1024)
WALKS = (1, 3, 10, 30, 100, 300, 1000, 3000)


def sweeps(kit: Kit) -> dict[str, Callable[[], Sweep]]:
    """Return the builders of all sweeps, by name: those of structure (RW, KSE, PPR), then those by a model."""
    whole = (len(kit.graph),)
    builders: dict[str, Callable[[], Sweep]] = {
        "PPR": lambda: Sweep(Keep(), PersonalizedPageRank(each=True), Induce(), NODES),
        "RW-cut": lambda: Sweep(Keep(), RandomWalk(walks=20_000, each=True), Induce(), NODES),
    }
    for walks in WALKS:
        builders[f"RW {walks}"] = lambda n=walks: Sweep(Keep(), RandomWalk(n, each=True), Induce(), whole)  # type: ignore[misc]
    for hops in (1, 2, 3):
        builders[f"KSE {hops}"] = lambda n=hops: Sweep(Keep(), KHop(n), Induce(), whole)  # type: ignore[misc]
    for name in ("BM25", "E", "C"):
        for kind in ("NP", "EP", "TP"):
            builders[f"{kind} by {name}"] = lambda kind=kind, name=name: pruned(kit, kind, name)  # type: ignore[misc]
    return builders


def pruned(kit: Kit, kind: str, name: str) -> Sweep:
    """Return a pruning of PPR-1000 at several sizes; NP and TP by E have the vectors of names and triples."""
    ppr, read = EXTRACTIONS["PPR"](1000), Rerank(MODELS[name](kit))  # type: ignore[arg-type]
    if kind == "NP":
        rank = VectorSearch(kit.names) if name == "E" else Nodes() >> read
        return Sweep(ppr, rank, Induce(), EDGES, KHop(0))
    if kind == "EP":
        return Sweep(ppr >> Relations() >> read, EdgesBy(), InduceEdges(), EDGES)
    if name == "E":
        return Sweep(ppr, EdgeSearch(kit.triples), InduceEdges(), EDGES)
    return Sweep(ppr >> Triples(), read, InduceEdges(), EDGES)
