"""What benchmarks/lego.py compares: systems and extractions as expressions, by name, over one graph and its vectors."""

import json
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import graphwright as gw
from graphwright.data.datasets import read_dataset
from graphwright.methods.papers.lego import EXTRACTIONS, INSTANCES, cell, lego
from graphwright.methods.papers.lego_systems import explored, planned, selected
from graphwright.operators.operator import Operator
from graphwright.operators.paths.relation_paths import EdgesBy, Instances, Relations
from graphwright.operators.rerank.rerank import BM25
from graphwright.operators.rerank.scorer import Composed, Patterns, Steps
from graphwright.operators.subgraph.narrow import CommunityOf, InduceEdges, Nodes

EDGES_KEPT = 64  # N_e
PATHS = 128  # ranked for the figure of F1 against their number; every table is of the first 32
SETS = {"metaqa": ("1hop_dev", "2hop_dev", "1hop_dev", "3hop_dev"), "pq-2h": ("",), "pql-2h": ("",)}
"""Of each set the files of questions, which are taken in turn: of MetaQA half are of one hop."""


@dataclass
class Kit:
    """What systems are made of: a graph, the models E and C, and vectors of names and triples, which are kept."""

    folder: Path
    cache: Path
    graph: gw.Graph

    @classmethod
    def open(cls, folder, cache):
        files = dict.fromkeys(SETS[folder.name])
        return cls(folder, cache, gw.Graph.from_triples(read_dataset(folder, next(iter(files))).triples))

    @cached_property
    def encoder(self):
        return gw.MiniLM()

    @cached_property
    def judge(self):
        return gw.MiniLMCrossEncoder()

    @cached_property
    def names(self):
        return self._vectors("names", self.graph.names)

    @cached_property
    def triples(self):
        return self._vectors("triples", [self.graph.edge_text(edge) for edge in range(len(self.graph.edges))])

    def _vectors(self, name, texts):
        """Return the vectors of texts, made once; beside them stands how long that took."""
        file = self.cache / f"{self.folder.name}-{self.graph.columns.checksum}-{name}.npy"
        if not file.exists():
            begun = time.perf_counter()
            distinct = dict.fromkeys(texts)
            found = self.encoder.encode(list(distinct))
            at = {text: row for row, text in enumerate(distinct)}
            self.cache.mkdir(parents=True, exist_ok=True)
            file.with_suffix(".json").write_text(json.dumps({"seconds": time.perf_counter() - begun}))
            np.save(file, found[[at[text] for text in texts]])
        vectors = np.load(file, mmap_mode="r")
        return gw.VectorIndex(vectors, None, self.encoder)

    def seconds(self, name):
        """Return how long it takes to make vectors, as written down then, or the communities, once more."""
        if name == "communities":
            begun = time.perf_counter()
            gw.communities(gw.Graph(self.graph.columns), CommunityOf().largest)
            return time.perf_counter() - begun
        _ = getattr(self, name)
        file = self.cache / f"{self.folder.name}-{self.graph.columns.checksum}-{name}.json"
        return json.loads(file.read_text())["seconds"]


def questions(folder, count, seed=0):
    """Return questions in a seeded order that is the same for any count, the files of a set in turn."""
    drawn = {}
    for name in dict.fromkeys(SETS[folder.name]):
        every = list(read_dataset(folder, name).questions)
        np.random.default_rng(seed).shuffle(every)
        drawn[name] = iter(every)
    files = SETS[folder.name]
    return [next(drawn[files[at % len(files)]]) for at in range(count)]


SEARCHED = ("PPR", "PPR+TP-E", "PPR+TP-C")
WAYS = ("SPR", "EPR", "OSAR-BM25", "OSAR-E", "OSAR-C", "ISAR-BM25", "ISAR-E", "ISAR-C")
OURS = ("OSAR-V", "OSAR-T", "OSAR-P", "ISAR-S", "ISAR-D", "ISAR-V", "ISAR-T", "ISAR-P")
EXTRACTED = ("RW", "KSE", "KSE-PPR", "communities", "PPR+NP-E", "PPR+EP-E", "PPR+TP-BM25")
ACCELERATED = {
    "PPR / SPR": (),
    "communities / SPR": ("communities",),
    "communities by vectors / SPR": ("communities", "names"),
    "names by vectors / SPR": ("names",),
    "triples by vectors / SPR": ("triples",),
}
"""Extractions of Table 7, and what has to be made beforehand for each."""


def cells():
    """Return the name of each cell of the map by its extraction and its retrieval: what `methods.lego.cell` takes."""
    crossed = [(se, pr) for se in SEARCHED for pr in WAYS]
    crossed += [(SEARCHED[0], pr) for pr in (*OURS, "OSAR/EPR-P")] + [(se, "SPR") for se in EXTRACTED]
    return {(se, pr): f"{se} / {pr}" for se, pr in crossed}


def systems(kit):
    """Return what builds each system, by name."""
    made = {name: lambda at=at: crossed(kit, *at) for at, name in cells().items()}
    also = {
        "communities by vectors / SPR": lambda: CommunityOf() | gw.VectorSearch(kit.names) % 3 >> CommunityOf(),
        "names by vectors / SPR": lambda: gw.VectorSearch(kit.names) % 1000 | gw.KHop(0),
        "triples by vectors / SPR": lambda: gw.EdgeSearch(kit.triples) % 1000 | gw.KHop(0),
    }
    for name, make in also.items():
        made[name] = lambda make=make: cell(make() >> gw.Induce(), "SPR", paths=PATHS)
    made |= published(kit)
    made |= {f"lego-{number}": lambda number=number: instance(kit, number) for number in INSTANCES}
    return made


def published(kit):
    """Return what builds each published system, with E (of RoG also C) in the place of its language model."""
    return {
        "rog": lambda: planned(kit.encoder) >> Instances() % PATHS,
        "rog by C": lambda: planned(kit.judge) >> Instances() % PATHS,
        "gsr": lambda: planned(kit.encoder) >> Instances() >> InduceEdges() >> gw.ShortestPaths() % PATHS,
        "kelp": lambda: selected(kit.encoder, kit.encoder, paths=PATHS),
        "tog": lambda: explored(kit.encoder),
    }


def crossed(kit, extraction, retrieval):
    """Return a cell; E has the vectors of triples, as an index has them."""
    by = retrieval.partition("-")[2]
    if by == "D":  # dynamic pruning is an option of the search, not of the model
        retrieval = gw.BeamSearch(kit.encoder, slack=0.5) % PATHS
    triples = gw.EdgeSearch(kit.triples) if "TP-E" in extraction else None
    models = {name: model(kit, name) for name in {by, extraction.rpartition("-")[2]} & set(MODELS)}
    return cell(extraction, retrieval, models, paths=PATHS, triples=triples)


def instance(kit, number):
    triples = gw.EdgeSearch(kit.triples) if "E" in INSTANCES[number].extraction else None
    return lego(number, kit.encoder, kit.judge, paths=PATHS, triples=triples)


MODELS = {
    "BM25": lambda kit: BM25(),
    "E": lambda kit: kit.encoder,
    "C": lambda kit: kit.judge,
    "S": lambda kit: Steps(kit.encoder),
    "V": lambda kit: Composed(kit.names),
    "T": lambda kit: Composed(triples=kit.triples),
    "P": lambda kit: Patterns(kit.encoder),
}


def model(kit, name):
    return MODELS[name](kit)


@dataclass(frozen=True)
class Sweep:
    """An extraction at several sizes: what was ranked once is cut to each, and the graph narrowed to it.

    `also`: what is in every subgraph, whatever its size.
    """

    begin: Operator
    rank: Operator
    narrow: Operator
    sizes: tuple[int, ...]
    also: Operator | None = None

    def at(self, size):
        """The same as one expression, for one size."""
        cut = self.rank % size
        cut = cut >> self.narrow if self.also is None else (cut | self.also) >> self.narrow
        return cut if self.begin == gw.Keep() else self.begin >> cut

    def ranked(self, state):
        """Return the state with everything ranked, and what is in every subgraph."""
        state = self.begin(state)
        return self.rank(state), None if self.also is None else self.also(state).evidence

    def cut(self, ranked, size):
        """Return the state on the subgraph of one size."""
        state, also = ranked
        found = state.evidence.top(size)
        return self.narrow(state.with_(evidence=found if also is None else found.union(also)))

    def __repr__(self):
        return f"{self.at(self.sizes[-1])!r}, and the same at {', '.join(map(str, self.sizes))}"


NODES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
EDGES = (8, 16, 32, 64, 128, 256, 512, 1024)
WALKS = (1, 3, 10, 30, 100, 300, 1000, 3000)


def sweeps(kit):
    """Return what builds each sweep, by name: those of structure (RW, KSE, PPR), then those by a model."""
    whole = len(kit.graph)
    made = {
        "PPR": lambda: Sweep(gw.Keep(), gw.PersonalizedPageRank(each=True), gw.Induce(), NODES),
        "RW-cut": lambda: Sweep(gw.Keep(), gw.RandomWalk(walks=20_000, each=True), gw.Induce(), NODES),
    }
    for walks in WALKS:
        made[f"RW {walks}"] = lambda n=walks: Sweep(gw.Keep(), gw.RandomWalk(n, each=True), gw.Induce(), (whole,))
    for hops in (1, 2, 3):
        made[f"KSE {hops}"] = lambda n=hops: Sweep(gw.Keep(), gw.KHop(n), gw.Induce(), (whole,))
    for name in ("BM25", "E", "C"):
        for kind in ("NP", "EP", "TP"):
            made[f"{kind} by {name}"] = lambda kind=kind, name=name: pruned(kit, kind, name)
    return made


def pruned(kit, kind, name):
    """Return a pruning of PPR-1000 at several sizes; NP and TP by E have the vectors of names and triples."""
    read = gw.Rerank(model(kit, name))
    if kind == "NP":
        rank = gw.VectorSearch(kit.names) if name == "E" else Nodes() >> read
        return Sweep(ppr(), rank, gw.Induce(), EDGES, gw.KHop(0))
    if kind == "EP":
        return Sweep(ppr() >> Relations() >> read, EdgesBy(), InduceEdges(), EDGES)
    if name == "E":
        return Sweep(ppr(), gw.EdgeSearch(kit.triples), InduceEdges(), EDGES)
    return Sweep(ppr() >> gw.Triples(), read, InduceEdges(), EDGES)


def ppr():
    return EXTRACTIONS["PPR"](1000)
