"""Measure LEGO-GraphRAG on knowledge graphs: what each module keeps, what is answered first, and what it costs.

    python benchmarks/published/lego.py --data DIR [--set metaqa] [--systems 'lego-*' 'PPR / *'] [--sweeps 'TP by *']
                              [--questions 200] [--dear 200] [--minutes 40] [--workers 2] [--quiet] [--page] [--plans]

Asks the first questions of one seeded order, of MetaQA as many of one hop as of more, and keeps a row for each question
and system below --work: interrupted, the same call continues. Every call ends with a summary of all rows of the set in
`lego.json`, where the summary of systems without rows here stays; --page makes `lego.md` of it. With
--quiet rows go to a place of their own, for times measured while nothing else runs. Systems with the same extraction
share it.

--plans ranks relation paths by the encoder, with names masked, and with penalties for length: `lego_plans.json`.

All is offline: E is the sentence encoder, C the embedded cross-encoder, and what the paper lets a language model do is
done by C, another model than E: findings about language models are not testable here. R draws at random. Entities are
the gold ones.
Vectors of names and triples are made once and kept, as an index has them.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import sys
import time
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.data.question_sets.datasets import read_dataset
from graphwright.evaluate.measures import answer_quality, path_quality, subgraph_quality
from graphwright.evaluate.metrics import hits_at_1
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.generate.path_answers import TargetAnswer
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.kernels.hops import components
from graphwright.methods.papers.lego import EXTRACTIONS, INSTANCES, Model, cell, lego
from graphwright.methods.papers.lego_systems import planned, selected
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.sentence_transformers import SentenceTransformerCrossEncoder, SentenceTransformerEncoder
from graphwright.operators.operator import Keep, Operator, Then
from graphwright.operators.paths.beam import BeamSearch, Explore
from graphwright.operators.paths.node_paths import EnumeratedPaths, ShortestPaths, Shuffled
from graphwright.operators.paths.relation_paths import EdgesBy, Instances, RelationPaths, Relations
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import BM25, Composed, LengthPenalty, MaskEntities, Patterns, Steps
from graphwright.operators.run import ModelMemory, Run
from graphwright.operators.search.search import EdgeSearch, VectorSearch
from graphwright.operators.state import State, start
from graphwright.operators.subgraph.narrow import CommunityOf, Induce, InduceEdges, Nodes, Triples
from graphwright.operators.subgraph.pagerank import KHop, PageRank, PersonalizedPageRank, RandomWalk
from graphwright.search.clustering import communities
from graphwright.search.vector_index import VectorIndex

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Record, Rows, arguments, evidence_of, mean, parse, read_results, update_results, write_results
from stamps import made_by, states_of, together

from published.lego_page import COUNTS, PAIRS, TUNED, cells, write_lego
from published.statistical import LDA, LSA

# Systems and sweeps, as expressions over one graph and its vectors

EDGES_KEPT = 64  # N_e
FILTERED = 256  # triples that a filter leaves for the model that selects
DEAR = (
    *("PPR+TP-*C / *", "PPR / *-C", "PPR / *SAR-E", "PPR / ISAR-D", "PPR / ISAR-S", "PPR / *-LDA", "PPR / *-LSA"),
    *("PPR+NP-E / SPR", "kelp", "tog", "rog by C", "TP by C", "NP by C"),
)
"""Systems and sweeps in which a model reads hundreds of texts a question, seconds of a core; --dear may limit them."""
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
    def tuned_encoder(self) -> SentenceTransformerEncoder:
        """The encoder that --tune fine-tuned on this graph, F."""
        return SentenceTransformerEncoder(str(self.tuned("encoder")), batch=64)

    @cached_property
    def tuned_cross_encoder(self) -> SentenceTransformerCrossEncoder:
        """The cross-encoder that --tune fine-tuned on this graph, G."""
        return SentenceTransformerCrossEncoder(str(self.tuned("cross-encoder")), batch=64)

    def tuned(self, kind: str) -> Path:
        """Return the folder of a fine-tuned model."""
        return self.cache.parent / "tuned" / f"{self.folder.name}-{kind}"

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
    "LSA": lambda kit: LSA(),
    "LDA": lambda kit: LDA(),
    "F": lambda kit: kit.tuned_encoder,
    "G": lambda kit: kit.tuned_cross_encoder,
    "EC": lambda kit: EdgeSearch(kit.triples) % FILTERED >> Rerank(kit.cross_encoder),
    "RC": lambda kit: Shuffled() % FILTERED >> Rerank(kit.cross_encoder),
}
"""The models by name; EC and RC are C on what a filter leaves of the triples: the best by E, or some at random."""


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
        "kelp": lambda: selected(kit.encoder, paths=PATHS),
        "tog": lambda: Explore(Rerank(kit.encoder)),
        "gcr": lambda: EnumeratedPaths(2) % 1000 >> Rerank(Patterns(kit.encoder)) % PATHS,
    }
    for kind, retrievals in TUNED.items():
        if kit.tuned(kind).exists():
            builders |= {f"PPR / {pr}": partial(cell_of, kit, "PPR", pr) for pr in retrievals}
    return builders | {f"lego-{n}": lambda n=n: instance(kit, n) for n in INSTANCES}


def cell_name(name: str) -> str:
    """Return the name of the cell that an instance is, with C for L; other systems keep theirs."""
    number = name.removeprefix("lego-")
    return " / ".join(INSTANCES[int(number)]).replace("-L", "-C") if number != name else name


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
    return lego(number, kit.encoder, kit.cross_encoder, paths=PATHS)


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
    """Return the builders of all sweeps, by name: those of structure, then those by a model, or at random (R)."""
    whole = (len(kit.graph),)
    builders: dict[str, Callable[[], Sweep]] = {
        "PPR": lambda: Sweep(Keep(), PersonalizedPageRank(each=True), Induce(), NODES),
        "PageRank": lambda: Sweep(Keep(), PageRank(), Induce(), NODES, KHop(0)),
        "KSE-PageRank": lambda: Sweep(KHop(3) >> Induce(), PageRank(), Induce(), NODES, KHop(0)),
        "RW-cut": lambda: Sweep(Keep(), RandomWalk(walks=20_000, each=True), Induce(), NODES),
    }
    for walks in WALKS:
        builders[f"RW {walks}"] = lambda n=walks: Sweep(Keep(), RandomWalk(n, each=True), Induce(), whole)  # type: ignore[misc]
    for hops in (1, 2, 3):
        builders[f"KSE {hops}"] = lambda n=hops: Sweep(Keep(), KHop(n), Induce(), whole)  # type: ignore[misc]
    for name in ("BM25", "E", "C", "R"):
        for kind in ("NP", "EP", "TP"):
            builders[f"{kind} by {name}"] = lambda kind=kind, name=name: pruned(kit, kind, name)  # type: ignore[misc]
    return builders


def pruned(kit: Kit, kind: str, name: str) -> Sweep:
    """Return a pruning of PPR-1000 at several sizes; NP and TP by E have the vectors of names and triples."""
    ppr = EXTRACTIONS["PPR"](1000)
    read: Operator = Shuffled() if name == "R" else Rerank(MODELS[name](kit))  # type: ignore[arg-type]
    if kind == "NP":
        rank = VectorSearch(kit.names) if name == "E" else Nodes() >> read
        return Sweep(ppr, rank, Induce(), EDGES, KHop(0))
    if kind == "EP":
        return Sweep(ppr >> Relations() >> read, EdgesBy(), InduceEdges(), EDGES)
    if name == "E":
        return Sweep(ppr, EdgeSearch(kit.triples), InduceEdges(), EDGES)
    return Sweep(ppr >> Triples(), read, InduceEdges(), EDGES)


# Asking

PATHS_JUDGED = 32  # paths that are judged and answered from, N_p
BY_KIND = ("se recall", "se f1", "se tokens", "pr recall", "pr f1", "pr hits@1", "pr tokens")
COST = ("ms", "cpu ms", "texts", "tokens", "peak MB")


def split(operator: Operator) -> tuple[Operator, Operator]:
    """Return extraction and retrieval: the steps up to the last that narrows the graph, and those after it."""
    steps = operator.steps if isinstance(operator, Then) else (operator,)
    last = max((at for at, step in enumerate(steps, 1) if "graph" in step.gives), default=0)
    first, second = (Then(part) if part else Keep() for part in (steps[:last], steps[last:]))
    return first, second


def peak() -> float:
    """Return the largest memory of the process in MB since it was last reset."""
    with suppress(OSError):
        if match := re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text()):
            return int(match[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(step: Any, state: State) -> tuple[Any, Record]:
    """Return the result of a step, and its cost; `peak MB` is of the whole process meanwhile."""
    with suppress(OSError):  # resets the largest memory to the current one
        Path("/proc/self/clear_refs").write_text("5")
    run, begun, used = Run(), time.perf_counter(), time.process_time()
    result = step(state, run) if isinstance(step, Operator) else step(state)
    times = (time.perf_counter() - begun) * 1e3, (time.process_time() - used) * 1e3
    return result, dict(zip(COST, (*times, run.usage.texts, run.usage.tokens, peak()), strict=True))


def subgraph(state: State, answers: Sequence[str]) -> Record:
    """Return the quality and the size of the graph that is searched, nothing if it is the whole one."""
    graph = state.graph
    if graph.whole:
        return {}
    parts = int(components(*graph.adjacency).max(initial=-1)) + 1
    sizes = {"nodes": len(graph), "edges": len(graph.edges), "components": parts}
    return subgraph_quality(graph, answers)._asdict() | sizes


def paths(state: State, answers: Sequence[str]) -> Record:
    """Return the quality of the first 32 paths, and F1 of other numbers of them."""
    evidence = evidence_of(state)
    few = state.with_(evidence=evidence.top(PATHS_JUDGED))
    targets = targets_of(TargetAnswer()(few))
    return path_quality(few, answers)._asdict() | {
        "paths": min(len(evidence), PATHS_JUDGED),
        "targets": len(targets),
        "hits@1": hits_at_1(targets, answers),
        "f1 by paths": [path_quality(state.with_(evidence=evidence.top(n)), answers).f1 for n in COUNTS],
    }


def targets_of(state: State) -> list[str]:
    """Return the names that are answered."""
    return [] if state.answer is None else [citation.text for citation in state.answer.citations]


def about(at: int, question: Any) -> Record:
    """Return the fields of a row that describe its question."""
    sizes = {"answers": len(question.answers), "entities": len(question.entities)}
    return {"question": question.id, "at": at, "hops": question.hops, **sizes, "load": os.getloadavg()[0]}


def begin(question: Any, graph: Graph) -> State:
    """Return the start state of a question with its gold entities."""
    return start(question.text, graph, entities=question.entities)


def rows_of(options: Namespace, kind: str, name: str) -> Rows:
    """Return the rows of a system or sweep on a set."""
    return Rows(place(options) / kind / f"{name.replace(' ', '_').replace('/', '-')}.jsonl", "question")


def place(options: Namespace) -> Path:
    """Return the folder of the rows of a set."""
    folder: Path = options.work / "lego" / ("quiet" if options.quiet else "rows") / options.set
    return folder


def ask(kit: Kit, names: Sequence[str], sweep: str, options: Namespace) -> Iterator[None]:
    """Ask systems of one extraction and a sweep of it what has no row yet; yield after each question."""
    operators = {name: systems(kit)[name]() for name in names}
    parts = {name: split(operator) for name, operator in operators.items()}
    extraction = parts[names[0]][0] if names else Keep()
    sizes = sweeps(kit)[sweep]() if sweep else None
    rows = {name: rows_of(options, "systems", name) for name in names}
    swept = rows_of(options, "sweeps", sweep) if sweep else None
    dear = any(matches(name, DEAR) for name in (*names, sweep))
    every = questions(kit.folder, min(options.questions, options.dear) if dear else options.questions)
    warm(kit, [*operators.values(), *([sizes.ranked] if sizes else [])], every[0])
    for at, question in enumerate(every):
        state, cost = begin(question, kit.graph), None
        missing = [name for name in names if (question.id,) not in rows[name]]
        if sizes is not None and swept is not None and (question.id,) not in swept:
            ranked, cost = measured(sizes.ranked, state)
            points = {size: subgraph(sizes.cut(ranked, size), question.answers) for size in sizes.sizes}
            swept.add(about(at, question) | {"expression": repr(sizes), "points": points} | cost)
            if EDGES_KEPT in points and missing:
                state = sizes.cut(ranked, EDGES_KEPT)
        if missing:
            if cost is None or state.graph.whole:
                state, cost = measured(extraction, state)
            quality = subgraph(state, question.answers)
            for name in missing:
                after, own = measured(parts[name][1], state)
                row = {"se": cost | quality if quality else None, "pr": paths(after, question.answers) | own}
                rows[name].add(about(at, question) | {"expression": repr(operators[name])} | row)
        yield


def warm(kit: Kit, steps: Sequence[Any], question: Any) -> None:
    """Run everything once on a few nodes, so that compiling and loading is no question's cost."""
    near = evidence_of(KHop(1)(begin(question, kit.graph))).nodes[:30]
    for step in steps:
        step(begin(question, kit.graph.part(near)))


def job(names: Sequence[str], sweep: str, options: Namespace, until: float) -> str:
    """Do one job until its questions or the time are over; return a line about it."""
    kit, count = Kit.open(options.data / "kgqa" / options.set, options.work / "lego" / "vectors"), 0
    for _ in ask(kit, names, sweep, options):
        count += 1
        if time.time() > until:
            break
    return f"{options.set}: {', '.join([*names, *([sweep] if sweep else [])])}: {count} questions, {peak():.0f} MB"


def jobs(options: Namespace) -> list[tuple[list[str], str]]:
    """Return the jobs: systems that share their extraction, and a sweep with those whose extraction it includes.

    An instance is asked as the cell that it is; `names.json` has the name that each system is asked by.
    """
    kit = Kit.open(options.data / "kgqa" / options.set, options.work / "lego" / "vectors")
    groups: dict[str, list[str]] = defaultdict(list)
    same_as: dict[str, str] = {}
    for name, build in systems(kit).items():
        if matches(name, options.systems):
            asked = cell_name(name)
            same_as |= {asked: asked, name: asked}
            group = groups[repr(split(build())[0])]
            if asked not in group:
                group.append(asked)
    listed = {extraction: (names, "") for extraction, names in groups.items() if names}
    for name, build_sweep in sweeps(kit).items():
        if matches(name, options.sweeps):
            sweep: Sweep = build_sweep()  # workers find the vectors that it needs
            key = repr(sweep.at(EDGES_KEPT)) if EDGES_KEPT in sweep.sizes else name
            listed[key] = (listed.get(key, ([], ""))[0], name)
    names = place(options) / "names.json"
    write_results(names, read_results(names) | same_as)
    before = place(options) / "before.json"
    if not before.exists() and any(matches(name, options.systems) for name in PREPARED):
        seconds = {part: kit.seconds(part) for part in sorted({p for parts in PREPARED.values() for p in parts})}
        write_results(before, {name: sum(seconds[part] for part in parts) for name, parts in PREPARED.items()})
    return list(listed.values())


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a name fits a pattern."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def read_rows(folder: Path) -> dict[str, list[Record]]:
    """Return the rows of every file of a folder by the name of the file, in the order of the questions."""
    rows = {file.stem: list(Rows(file, "question").rows.values()) for file in sorted(folder.glob("*.jsonl"))}
    return {name: sorted(own, key=lambda row: row["at"]) for name, own in rows.items() if own}


def summarised(work: Path, name: str) -> Record:
    """Return the summary of all rows of a set, as the page takes it."""
    folder = next(work / kind / name for kind in ("rows", "quiet") if (work / kind / name / "names.json").exists())
    same_as: dict[str, str] = read_results(folder / "names.json")
    rows = named(read_rows(work / "rows" / name / "systems"), same_as)
    every = {system: rows[first] for system, first in same_as.items() if first in rows}
    common = min((len(own) for system, own in every.items() if system.startswith("lego-")), default=0)
    kit_sweeps = read_rows(work / "rows" / name / "sweeps")
    return {
        "called": {system: same_as[system] for system in every if same_as[system] != system},
        "systems": {system: of_system(own, common) for system, own in rows.items()},
        "sweeps": {system.replace("_", " "): of_sweep(own) for system, own in kit_sweeps.items()},
        "quiet": timed(named(read_rows(work / "quiet" / name / "systems"), same_as)),
        "before": read_results(work / "rows" / name / "before.json"),
        "pairs": {f"{a} | {b}": paired(every[a], every[b]) for a, b in PAIRS if a in every and b in every},
    }


def store(name: str, work: Path, path: Path) -> None:
    """Write the summary of a set; systems and sweeps without rows here stay, and with them the states of their code."""
    before = read_results(path).get(name, {})
    for part, values in summarised(work, name).items():
        older = before.get(part, {})
        states = together([states_of(path, name, part), made_by()]) if older.keys() - values.keys() else made_by()
        if values or not older:
            update_results(path, [name, part], {**older, **values}, states=states)


def named(rows: Mapping[str, list[Record]], names: Mapping[str, str]) -> dict[str, list[Record]]:
    """Return rows by the name of their system instead of that of their file."""
    of_file = {name.replace(" ", "_").replace("/", "-"): name for name in names}
    return {of_file[file]: own for file, own in rows.items() if file in of_file}


def timed(systems: Mapping[str, list[Record]]) -> Record:
    """Return the median times of each system, which a quiet machine made."""
    times: Record = {}
    for name, rows in systems.items():
        times[name] = {"questions": len(rows)}
        for module in ("se", "pr"):
            if rows[0][module]:
                times[name][module] = round(float(np.median([row[module]["ms"] for row in rows])), 2)
    return times


def paired(ours: Sequence[Record], theirs: Sequence[Record]) -> Record:
    """Return the differences between two systems on the questions that both were asked, with p values."""
    others = {row["question"]: row["pr"] for row in theirs}
    both = [(row["pr"], others[row["question"]]) for row in ours if row["question"] in others]
    result: Record = {"questions": len(both)}
    for metric in ("recall", "f1", "hits@1"):
        a, b = np.array([(first[metric], second[metric]) for first, second in both], float).T
        result[metric] = [round(float((a - b).mean()), 4), round(paired_test(a, b), 4)]
    return result


def of_system(rows: Sequence[Record], common: int) -> Record:
    """Return the means of a system over all questions and over each kind; `common` are the first of all systems."""
    kinds = {f"hops {hops}": [row for row in rows if row["hops"] == hops] for hops in (1, 2, 3)}
    kinds |= {
        "one answer": [row for row in rows if row["answers"] == 1],
        "several answers": [row for row in rows if row["answers"] > 1],
        "common": list(rows[:common]) if len(rows) >= common else [],
    }
    kinds |= {f"entities {n}": [row for row in rows if row["entities"] == n] for n in {r["entities"] for r in rows}}
    load = {"load": round(float(np.median([row["load"] for row in rows])), 2)}
    by = {name: means(some, BY_KIND) for name, some in kinds.items() if some}
    return {"expression": rows[0]["expression"]} | means(rows) | load | {"by": by}


def means(rows: Sequence[Record], names: Sequence[str] = ()) -> Record:
    """Return the means of all values with intervals, or of some values without."""
    values: Record = {"questions": len(rows)}
    for module in ("se", "pr"):
        for name in rows[0][module] or ():
            each, key = np.array([row[module][name] for row in rows], float), f"{module} {name}"
            if not names or key in names:
                values[key] = each.mean(axis=0).round(5).tolist()
            if name in ("ms", "cpu ms"):
                values[f"{key} p50"] = round(float(np.median(each)), 3)
            if not names and name in ("recall", "f1", "hits@1"):
                values[f"{key} interval"] = [round(end, 4) for end in bootstrap_interval(each)]
    return values


def of_sweep(rows: Sequence[Record]) -> Record:
    """Return the means of a sweep at each size."""
    points: Record = {}
    for size in rows[0]["points"]:
        at_size = [row["points"][size] for row in rows]
        points[size] = {name: round(float(np.mean([point[name] for point in at_size])), 5) for name in at_size[0]}
        ends = bootstrap_interval([point["recall"] for point in at_size])
        points[size]["recall interval"] = [round(end, 4) for end in ends]
    cost = {name: round(float(np.mean([row[name] for row in rows])), 3) for name in COST}
    p50 = {f"{name} p50": round(float(np.median([row[name] for row in rows])), 3) for name in ("ms", "cpu ms")}
    return {"expression": rows[0]["expression"], "questions": len(rows), "points": points} | cost | p50


# Plans


def measure_plans(options: Namespace) -> None:
    """Measure F1 of the nodes that the first relation path leads to, by the ranking of relation paths.

    Questions are drawn from MetaQA's training set, on which the default of LengthPenalty was chosen.
    """
    folder, encoder, memory = options.data / "kgqa" / "metaqa", MiniLM(), ModelMemory(200_000)
    drawn: list[tuple[int, Any]] = []
    for hops in (1, 2, 3):
        every = read_dataset(folder, f"{hops}hop_train").questions
        drawn += [(hops, question) for question in random.Random(1 + hops).sample(every, options.each)]
    graph, ranked = Graph.from_triples(read_dataset(folder, "1hop_dev").triples or ()), Rerank(encoder)
    rankings: dict[str, Operator] = {"as it is": ranked, "masked": MaskEntities(ranked)}
    for penalty in (0.1, 0.15, 0.2):
        rankings[f"masked, shorter {penalty}"] = LengthPenalty(MaskEntities(ranked), penalty)
    results: Record = {"questions": len(drawn)}
    for name, ranking in rankings.items():
        answer = RelationPaths(3) >> ranking % 1 >> Instances() >> TargetAnswer()
        f1 = defaultdict[int, list[float]](list)
        for hops, question in drawn:
            targets = targets_of(answer(begin(question, graph), Run(memory=memory)))
            f1[hops].append(answer_quality(targets, question.answers).f1)
        every_f1 = [value for values in f1.values() for value in values]
        results[name] = {"F1": mean(every_f1, 3), "F1 by hops": [mean(values, 3) for values in f1.values()]}
        print(name, results[name], flush=True)
    write_results(options.out / "lego_plans.json", results)


def main() -> None:
    """Ask, summarise, and write the page."""
    parser = arguments(__doc__)
    parser.add_argument("--set", choices=list(SETS), default="metaqa")
    parser.add_argument("--systems", nargs="*", default=[], help="names, or patterns of them")
    parser.add_argument("--sweeps", nargs="*", default=[], help="names, or patterns of them")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--dear", type=int, default=200, help="questions, at most, of systems that read much")
    parser.add_argument("--minutes", type=float, default=1e6, help="no question is begun after that")
    parser.add_argument("--workers", type=int, choices=(1, 2), default=1)
    parser.add_argument("--quiet", action="store_true", help="measure times while nothing else runs")
    parser.add_argument("--page", action="store_true", help="write the page too")
    parser.add_argument("--plans", action="store_true", help="measure rankings of relation paths")
    parser.add_argument("--each", type=int, default=50, help="for --plans, questions of each number of hops")
    options = parse(parser)
    if options.plans:
        measure_plans(options)
    if options.systems or options.sweeps:
        todo, until = jobs(options), time.time() + 60 * options.minutes
        with ProcessPoolExecutor(options.workers, get_context("spawn"), max_tasks_per_child=1) as pool:
            for done in as_completed([pool.submit(job, names, sweep, options, until) for names, sweep in todo]):
                print(done.result(), flush=True)
        store(options.set, options.work / "lego", options.out / "lego.json")
    if options.page:
        write_lego(options.out)


if __name__ == "__main__":
    main()
