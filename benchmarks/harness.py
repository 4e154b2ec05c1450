"""Shared parts of the benchmarks: arguments, data sets, indexes, resumable rows, timing and tables.

Every benchmark is called as `python benchmarks/NAME.py --data DIR [--work FOLDER] [--only PART ...]`. DIR has the
folders of data sets (`multihop`, `ir`, `kgqa`, `long`, `graphs`, `reading`), FOLDER keeps what is fetched, and indexes
and unfinished runs for each state of the code, and results are written to `benchmarks/results` with that state.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sources.linked_questions import write_linked_questions
from stamps import RESULTS, alone, begin, line, made_by, read_stamped, write_stamped, write_text

from graphwright.cli.terminal import progress as shown_progress
from graphwright.data.question_sets.questions import QuestionRecord, read_questions
from graphwright.evaluate.entries import ComparedMethod
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.indexing import build_index
from graphwright.evaluate.run import run
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Columns, Graph
from graphwright.methods.registry import METHODS
from graphwright.models.cache import CachedEncoder
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.rerank.fitted_scorer import PassageScorer
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex

SPACES = ("passages", "names", "triples")
FIRST_QUESTION = "The first question pays for everything that is loaded once."
MULTIHOP = {
    "musique-openie": ("musique", "openie"),
    "musique": ("musique", "mentions"),
    "hotpotqa": ("hotpotqa", "mentions"),
    "hotpotqa100": ("hotpotqa100", "mentions"),
    "2wiki": ("2wiki", "mentions"),
}
"""Indexes of the multihop sets: the folder of the set, and where its triples come from."""
SCORERS = {"hotpotqa100": "hotpotqa"} | {
    name: name for name in ("hotpotqa", "musique", "2wiki", "scifact", "cranfield", "cisi")
}
"""The scorer of passages for each set that the package's own was fitted on: one fitted without that source."""

Record = dict[str, Any]
Input = TypeVar("Input")
Output = TypeVar("Output")


def arguments(
    doc: str | None, *, parts: Sequence[str] = (), sets: Sequence[str] = (), data: bool = True
) -> ArgumentParser:
    """Return a parser with the arguments that benchmarks share.

    `parts`: names for `--only`; `sets`: names for `--sets`; `data`: whether `--data` is required.
    """
    parser = ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=data, help="folder of the data sets")
    parser.add_argument("--work", type=Path, default=Path("runs"), help="folder of indexes and unfinished runs")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--state", help="go on with the indexes and rows of an older state of the code")
    if parts:
        parser.add_argument("--only", nargs="+", choices=list(parts), default=list(parts), metavar="PART")
    if sets:
        parser.add_argument("--sets", nargs="+", choices=list(sets), default=list(sets), metavar="SET")
    return parser


def parse(parser: ArgumentParser) -> Namespace:
    """Parse the command line, and make the folders that it names.

    `work` becomes the folder of this state of the code; `fetched` is the one above, for what does not depend on it.
    """
    options = parser.parse_args()
    for folder in (options.work, options.out):
        folder.mkdir(parents=True, exist_ok=True)
    options.fetched, options.work = options.work, begin(options.work, options.state)
    return options


def read_results(path: Path, default: Any = None) -> Any:
    """Return the results in a JSON file; where there is none, `default` or an empty record."""
    _, results = read_stamped(path)
    return ({} if default is None else default) if results is None else results


def write_results(path: Path, results: Any, page: str = "") -> None:
    """Write results as JSON with the state of the code, and the page of tables beside them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path.parent):
        states = write_stamped(path, results, (), made_by())
        if page:
            write_page(path.with_suffix(".md"), page, states)


def update_results(
    path: Path,
    part: Sequence[str],
    value: Any,
    page: Callable[[Record], str] | None = None,
    order: Sequence[str] = (),
    states: Sequence[str] | None = None,
) -> Record:
    """Set one part of the results in a JSON file, write its page, and return all results.

    `part`: the keys that lead to it; `order`: of the last of them and those beside it; `states`: of the code that made
    it, by default those of the rows at hand. Other processes may set other parts meanwhile; these keep their states.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path.parent):
        results: Record = read_results(path)
        inner = results
        for name in part[:-1]:
            inner = inner.setdefault(name, {})
        values = inner | {part[-1]: value}
        inner.clear()
        inner.update({name: values[name] for name in dict.fromkeys([*order, *values]) if name in values})
        every = write_stamped(path, results, part, states or made_by())
        if page is not None:
            write_page(path.with_suffix(".md"), page(results), every)
    return results


def write_page(path: Path, page: str, states: Sequence[str] | None = None) -> None:
    """Write a page, with the states of the code behind it in the last line; by default those of the rows at hand."""
    write_text(path, f"{page.rstrip()}\n\n{line(states or made_by())}\n")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder in memory if there is one: SQLite waits for the disk otherwise."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        yield Path(scratch)


class Rows:
    """Rows of results in a file of JSON lines, so that an interrupted benchmark continues where it stopped.

    `key`: the fields that identify a row. A line that was cut short is dropped.
    """

    def __init__(self, path: Path, *key: str) -> None:
        self.path, self._key = path, key
        path.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_bytes() if path.exists() else b""
        complete = content[: content.rfind(b"\n") + 1]
        if len(complete) < len(content):
            path.write_bytes(complete)
        self.rows = {self._identity(row): row for row in map(json.loads, complete.splitlines())}

    def _identity(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self._key)

    def __contains__(self, identity: tuple[Any, ...]) -> bool:
        return identity in self.rows

    def __getitem__(self, identity: tuple[Any, ...]) -> Record:
        row: Record = self.rows[identity]
        return row

    def add(self, row: Record) -> None:
        """Add a row to the file."""
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(row, separators=(",", ":"), default=float) + "\n")
        self.rows[self._identity(row)] = row


def run_experiment(experiment: Experiment, out: Path, index: Path | None = None) -> Record:
    """Run an experiment of the testbed with progress bars, and return its summary."""
    with shown_progress() as progress:
        return run(experiment, out, index=index, progress=progress)


def held_out(methods: Sequence[str], name: str) -> list[str | ComparedMethod]:
    """Return the methods for a set, with a scorer that was not fitted on it in those that use one."""
    if name not in SCORERS:
        return list(methods)
    options = {"scorer": PassageScorer.read(RESULTS / "scorer" / f"{SCORERS[name]}.json")}
    return [ComparedMethod(m, m, options) if _scores_passages(m) else m for m in methods]


def _scores_passages(method: str) -> bool:
    """Return whether a method takes a scorer of passages; other methods call other things `scorer`."""
    return "PassageScorer" in str(METHODS[method].build.__annotations__.get("scorer", ""))


def multihop_index(options: Namespace, label: str, titles: bool = True) -> Path:
    """Return the index of a multihop set with passages, names and triples embedded; it is built where missing."""
    name, extraction = MULTIHOP[label]
    folder: Path = options.work / "indexes" / (label if titles else f"{label}-untitled")
    experiment = Experiment(options.data / "multihop" / name, ("vector",), extraction, titles, embed=SPACES)
    shared_index(folder, experiment, options.work)
    return folder


def cached_encoder(work: Path) -> CachedEncoder:
    """Return the embedded encoder, which encodes a text once for all indexes of a state of the code."""
    return CachedEncoder(MiniLM(), work / "vectors.sqlite")


def shared_index(folder: Path, experiment: Experiment, work: Path) -> None:
    """Build the index of an experiment where it is missing; of several processes one builds, and the others wait."""
    lock = folder.with_name(f"{folder.name}-lock")
    lock.mkdir(parents=True, exist_ok=True)
    with alone(lock), shown_progress() as progress:
        build_index(folder, experiment, experiment.read(), cached_encoder(work), progress)


def multihop_questions(options: Namespace, label: str, limit: int | None = None) -> list[QuestionRecord]:
    """Return the first questions of a multihop set that have gold passages."""
    questions = read_questions(options.data / "multihop" / MULTIHOP[label][0] / "questions.jsonl")
    return [question for question in questions if question.gold][:limit]


def linked_questions(data: Path, work: Path, count: int = 200) -> Path:
    """Return a folder of a linked corpus with questions; where it has none, a copy with synthetic ones.

    Each synthetic question needs two linked documents.
    """
    if any((data / name).exists() for name in ("questions.jsonl", "queries.jsonl")):
        return data
    folder = work / f"{data.name}-questions" / data.name
    if not (folder / "questions.jsonl").exists():
        write_linked_questions(data, folder, count)
    return folder


def documents_of(graph: Graph, nodes: Iterable[int]) -> list[str]:
    """Return the distinct documents of passages, in order."""
    places = [None if graph.passages is None else graph.passages.of(int(node)) for node in nodes]
    return list(dict.fromkeys(place.document for place in places if place is not None))


def evidence_of(state: State) -> Evidence:
    """Return the evidence of a state; empty where there is none."""
    return Evidence.of_nodes([]) if state.evidence is None else state.evidence


def passages_of(state: State) -> list[int]:
    """Return the passages of a state, best first."""
    ids: list[int] = [] if state.passages is None else state.passages.ids.tolist()
    return ids


def united(first: VectorIndex, second: VectorIndex) -> VectorIndex:
    """Return one index of the vectors of both by id; the first has precedence."""
    ids = np.union1d(first.ids, second.ids)
    vectors = np.where(first.has(ids)[:, None], first.of(ids), second.of(ids))
    row_of = np.full(int(ids[-1]) + 1, -1, np.int32)
    row_of[ids] = np.arange(len(ids))
    return VectorIndex(vectors, row_of, first.encoder)


def in_child(work: Callable[[], Record]) -> tuple[Record, int]:
    """Return what a call returns in a child of this process, empty if it is lost, and the signal that ended it or 0."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        os.close(source)
        with os.fdopen(sink, "w") as out:
            json.dump(work(), out)
        os._exit(0)
    os.close(sink)
    with os.fdopen(source) as reports:
        reported = reports.read()
    return json.loads(reported or "{}"), os.WTERMSIG(os.waitpid(child, 0)[1])


def anonymous_memory() -> int:
    """Return the bytes of this process that no file has; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)


def elapsed(work: Callable[[], Output]) -> tuple[Output, float]:
    """Return the result of a call, and its seconds."""
    begun = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begun


def timed(call: Callable[[Input], Output], inputs: Iterable[Input]) -> tuple[NDArray[np.float64], list[Output]]:
    """Return the milliseconds of each call, and the results."""
    pairs = [elapsed(lambda item=item: call(item)) for item in inputs]  # type: ignore[misc]
    return np.array([1e3 * seconds for _, seconds in pairs]), [result for result, _ in pairs]


def percentiles(seconds: ArrayLike, *levels: int) -> Record:
    """Return percentiles of times in milliseconds, by default the 50th and the 95th."""
    levels = levels or (50, 95)
    values = 1e3 * np.percentile(np.asarray(seconds, float), levels)
    return {f"p{level} ms": round(float(value), 2) for level, value in zip(levels, values, strict=True)}


def mean(values: ArrayLike, digits: int = 4) -> float:
    """Return the rounded mean."""
    return round(float(np.mean(np.asarray(values, float))), digits)


def percent(values: ArrayLike, digits: int = 1) -> float | None:
    """Return the mean in percent; None without values."""
    array = np.asarray(values, float)
    return round(100 * float(array.mean()), digits) if array.size else None


def table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    marks = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (header, marks, *rows)) + "\n"


def interval(cell: Mapping[str, float]) -> str:
    """Return a mean in percent with its 95 % interval, where there is one."""
    shown = f"{100 * cell['mean']:.1f}"
    return f"{shown} ({100 * cell['low']:.1f}–{100 * cell['high']:.1f})" if "low" in cell else shown


def p_value(p: float) -> str:
    """Return a p value as text."""
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def heavy_tailed(nodes: int, edges: int, exponent: float = 2.5, seed: int = 0) -> Graph:
    """Return a random graph with heavy-tailed degrees in which every node begins an edge.

    Other ends are drawn in proportion to rank^(-1/(exponent - 1)).
    """
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum((np.arange(nodes) + 11.0) ** (-1 / (exponent - 1)))
    order = rng.permutation(nodes).astype(np.int32)

    def draw(count: int) -> NDArray[np.int32]:
        ranks = np.searchsorted(cumulative, rng.random(count) * cumulative[-1])
        ends: NDArray[np.int32] = order[np.minimum(ranks, nodes - 1)]
        return ends

    heads = np.concatenate((np.arange(nodes, dtype=np.int32), draw(edges - nodes)))
    columns = Columns(
        names=TextColumn.of(map(str, range(nodes))),
        heads=heads,
        tails=draw(edges),
        relation=np.zeros(edges, np.int32),
        relations=TextColumn.of(["r"]),
        kinds=np.zeros(nodes, np.uint8),
    )
    return Graph(columns)
