"""Explore the crashes of each operation: every state in which a kill or a loss of power may leave the folder.

The writes of an operation are recorded (see `crash_states`). In each state that a crash may leave, the index is opened
and checked: nothing that was removed or replaced is shown, and nothing is damaged. Then the same operation is called
again: it must complete, and its result must equal the one of an uninterrupted call, with no other file left over. After
the operation has returned, nothing is lost with the power. The operations: creation, add, add in parts, replace,
remove, batch, sync, edits of each kind, undo, extraction by another extractor and with another schema, rebuild with
other settings, repair, import, deletion of an unused index, evaluation, and files of training.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from harness import Record, Rows, scratch_folder

from attacks.crash_states import Tree, digest, recording, write_tree
from graphwright import Index
from graphwright.build import apply_edits, document_storage
from graphwright.build.imports import node_passages
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.run import run as evaluate
from graphwright.extract.extraction import Excerpt, Extraction, ExtractionFailure, Mention
from graphwright.extract.rules import LexicalExtractor
from graphwright.extract.schema import EntityType, Schema
from graphwright.graph.graph import Graph
from graphwright.learn.candidates import Example
from graphwright.learn.labels import make_labels
from graphwright.learn.refine import NeighbourRefiner
from graphwright.learn.retriever import Checkpoint
from graphwright.models.fake import HashEncoder
from graphwright.search.vector_index import VectorIndex
from graphwright.store.edits import (
    AddEntity,
    AddStatement,
    Change,
    DeleteEntity,
    DeleteStatement,
    Edit,
    KeepApart,
    MergeEntities,
    RenameEntity,
    RetypeEntity,
    SplitEntity,
)
from graphwright.store.folder_creation import delete_folder
from graphwright.store.layout import IndexLayout
from graphwright.store.locks import writer_lock
from graphwright.store.settings import Settings
from graphwright.store.store import Store

ENCODER = HashEncoder(8)
ALL = Settings(embed=("passages", "names", "triples"))
CORPUS = (files("graphwright") / "cli" / "demo_corpus" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
ROWS = [json.loads(line) for line in CORPUS[:4]]
CHANGED = {**ROWS[1], "text": "Nobody knows who wrote this."}
OUTDATED = "the snapshot is older than the stored documents"
CHANGES: Sequence[Change] = (
    MergeEntities(("182319 March 1893",), "4 November"),
    RenameEntity("Samos", "Isle of Samos"),
    RetypeEntity("Canada", "country"),
    DeleteEntity("BC"),
    SplitEntity("New Brunswick", (ROWS[0]["id"],), "Province"),
    KeepApart("Karel Komzák I", "Karel Komzák II"),
    DeleteStatement("Karel Komzák II", "grandfather of", "Karel Komzák III"),
    AddEntity("Vienna", "city", "Where he worked."),
    AddStatement("Karel Komzák I", "lived in", "Vienna"),
)
EDITS = [Edit(change, f"2026-01-0{day}T00:00:00Z", "Ida") for day, change in enumerate(CHANGES, start=1)]
"""An edit of each kind, with its time, so that a second call is the same."""
GRAPH_CHANGES: Sequence[Change] = (
    RenameEntity("Drava", "Drau"),
    DeleteStatement("Mur", "flows into", "Drau"),
    RetypeEntity("Graz", "city"),
    AddStatement("Drau", "passes", "Graz"),
)
GRAPH_EDITS = [Edit(change, f"2026-02-0{day}T00:00:00Z") for day, change in enumerate(GRAPH_CHANGES, start=1)]
SCHEMA = Schema((EntityType("country", examples=("Canada",)), EntityType("person", "A human being.")))
TRIPLES = "Graz\tlies on\tMur\nMur\tflows into\tDrava\n"


@dataclass(frozen=True)
class Reader:
    """A deferred extractor, as a language model is."""

    id: str = "reader:1"
    provisional: LexicalExtractor = field(default_factory=LexicalExtractor)

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction | ExtractionFailure]:
        """Extract what the provisional extractor does, and one mention."""
        results = self.provisional.extract(excerpts)
        return [Extraction((*r.mentions, Mention("Reader", 0, 0, "reader")), r.relations) for r in results]


@dataclass(frozen=True)
class Operation:
    """An operation on a folder, and its check.

    `act` is called with the folder and one of inputs; so is `begin`, before the recording. `result` returns what must
    be equal after it, the names of files last; `check` the problems of a state before the operation is repeated.
    """

    act: Callable[[Path, Path], None]
    result: Callable[[Path], Any]
    begin: Callable[[Path, Path], None] = lambda root, inputs: None
    check: Callable[[Path], list[str]] = lambda root: []
    durable: bool = True  # what it wrote is on disk when it returns


def opened(root: Path, extractor: Any = None) -> Index:
    """Open the index of a folder; create a missing one, as the command line does."""
    settings = None if (root / "index/index.sqlite").exists() else ALL
    return Index(root / "index", encoder=ENCODER, extractor=extractor, settings=settings)


def base(root: Path, inputs: Path) -> None:
    """Make an index of some documents."""
    with opened(root) as index:
        index.add(ROWS[:3])


def base_of_one(root: Path, inputs: Path) -> None:
    """Make an index of one document."""
    with opened(root) as index:
        index.add(ROWS[1:2])


def add(root: Path, inputs: Path) -> None:
    """Add documents, in a new index if there is none."""
    with opened(root) as index:
        index.add(ROWS[:3])


def add_in_parts(root: Path, inputs: Path) -> None:
    """Add documents that take long to read, of which each is kept when it is read."""
    with patch.object(document_storage, "_DOCUMENTS", 1), opened(root) as index:
        index.add(ROWS)


def replace(root: Path, inputs: Path) -> None:
    """Replace a document, and add one."""
    with opened(root) as index:
        index.add([CHANGED, ROWS[3]])


def remove(root: Path, inputs: Path) -> None:
    """Remove two documents."""
    with opened(root) as index:
        index.remove([ROWS[0]["id"], ROWS[2]["id"]])


def batch(root: Path, inputs: Path) -> None:
    """Replace a document, remove another and add one, in a batch."""
    with opened(root) as index, index.batch():
        index.add([CHANGED])
        index.remove([ROWS[0]["id"]])
        index.add([ROWS[3]])


def begin_sync(root: Path, inputs: Path) -> None:
    """Sync an index with a folder, and change the folder."""
    inputs.mkdir(exist_ok=True)
    for row in ROWS[:3]:
        (inputs / f"{row['id']}.txt").write_text(row["text"], encoding="utf-8")
    sync(root, inputs)
    (inputs / f"{ROWS[0]['id']}.txt").unlink()
    (inputs / f"{ROWS[1]['id']}.txt").write_text(CHANGED["text"], encoding="utf-8")
    (inputs / "new.txt").write_text(ROWS[3]["text"], encoding="utf-8")


def sync(root: Path, inputs: Path) -> None:
    """Sync with a folder: one file is new, one changed, one deleted."""
    with opened(root) as index:
        index.sync(inputs)


def edit(root: Path, inputs: Path) -> None:
    """Make an edit of each kind."""
    with opened(root) as index:
        index.edit(*EDITS)


def edit_in_a_batch(root: Path, inputs: Path) -> None:
    """Make edits before and after a change of the documents that they name, in a batch."""
    with opened(root) as index, index.batch():
        index.edit(*EDITS[:4])
        index.add([CHANGED, ROWS[3]])
        index.edit(*EDITS[4:], strict=False)


def edited(root: Path, inputs: Path) -> None:
    """Make an index of some documents, with a schema, and edit it."""
    with Index.create(root / "index", encoder=ENCODER, settings=ALL, schema=SCHEMA) as index:
        index.add(ROWS[:3])
        index.edit(*EDITS)


def begin_alone(root: Path, inputs: Path) -> None:
    """Import triples."""
    begin_import(root, inputs)
    import_(root, inputs)


def begin_beside(root: Path, inputs: Path) -> None:
    """Import triples, and add a document beside them."""
    begin_alone(root, inputs)
    with opened(root) as index:
        index.add(ROWS[:1])


def edit_import(root: Path, inputs: Path) -> None:
    """Edit an imported graph."""
    with opened(root) as index:
        index.edit(*GRAPH_EDITS)


def undo(root: Path, inputs: Path) -> None:
    """Undo some edits, unless it is done."""
    with opened(root) as index:
        undone = {edit.id for edit in EDITS[::2]}
        if left := [edit.id for edit in index.edits() if edit.id in undone]:
            index.undo(*left)
        index.add([])


def replace_schema(root: Path, inputs: Path) -> None:
    """Extract again, with a schema."""
    with opened(root) as index:
        index.reextract(schema=SCHEMA)


def rebuild(root: Path, inputs: Path) -> None:
    """Build again, with chunks of another size and without vectors of triples."""
    Index.rebuild(root / "index", ENCODER, chunk_tokens=60, overlap=10, embed=("passages", "names"))


def reextract(root: Path, inputs: Path) -> None:
    """Extract again, by another extractor."""
    with opened(root, Reader()) as index:
        index.reextract()


def begin_repair(root: Path, inputs: Path) -> None:
    """Damage the snapshot of an index."""
    base(root, inputs)
    layout = IndexLayout(root / "index")
    (layout.path / layout.current() / "graph/heads.npy").write_bytes(b"nonsense")


def repair(root: Path, inputs: Path) -> None:
    """Repair a snapshot; the next change deletes what is left of the damaged one."""
    with opened(root) as index:
        index.verify(repair=True)
        index.add([])


def begin_import(root: Path, inputs: Path) -> None:
    """Write a file of triples."""
    inputs.mkdir(exist_ok=True)
    (inputs / "rivers.tsv").write_text(TRIPLES, encoding="utf-8")


def begin_prepared(root: Path, inputs: Path) -> None:
    """Write a file of triples, and settings into the folder of the index."""
    begin_import(root, inputs)
    (root / "index").mkdir()
    (root / "index/settings.toml").write_text("[llm]\n", encoding="utf-8")


def import_(root: Path, inputs: Path) -> None:
    """Import triples, unless it is done."""
    if not (root / "index/index.sqlite").exists():
        Index.from_graph(root / "index", inputs / "rivers.tsv", encoder=ENCODER).close()


def delete(root: Path, inputs: Path) -> None:
    """Delete an index to which nothing was added, and create it again."""
    if (root / "index/index.sqlite").exists():
        delete_folder(IndexLayout(root / "index"), keep_folder=(root / "index/settings.toml").exists())
    opened(root).close()


def begin_delete(root: Path, inputs: Path) -> None:
    """Create an index in a folder with settings."""
    begin_prepared(root, inputs)
    opened(root).close()


def begin_evaluate(root: Path, inputs: Path) -> None:
    """Write documents and questions."""
    inputs.mkdir(exist_ok=True)
    rivers = [{"id": r, "title": r, "text": f"The river {r} flows through town {at}."} for at, r in enumerate("ABC")]
    asked = [{"id": f"q{r}", "question": f"Where does the {r} flow?", "gold_ids": [r]} for r in "ABC"]
    for name, rows in (("corpus", rivers), ("questions", asked)):
        (inputs / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def evaluated(root: Path, inputs: Path) -> None:
    """Run an experiment."""
    evaluate(Experiment(inputs, ("bm25", "vector"), answered=False), root / "run", encoder=ENCODER)


def train(root: Path, inputs: Path) -> None:
    """Write labels and a trained retriever."""
    graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Mur", "flows into", "Drava")])
    questions = [Example("q0", "what lies on", (0,), (1,)), Example("q1", "where does the Mur flow", (1,), (2,))]
    make_labels(graph, questions, NeighbourRefiner(ENCODER), root / "labels.jsonl")
    Checkpoint("triple", {"weight": np.ones(4, np.float32)}, {"encoder": ENCODER.id}).save(root / "triple.npz")


FACTS = ("documents", "chunks", "nodes", "edges", "extractors", "pending", "settings", "schema", "current")
"""Names of the facts about an index that are compared."""


def contents(root: Path, encoder: HashEncoder = ENCODER) -> Any:
    """Return the contents of an index that passes verification, by checksums that are computed now, and its files."""
    layout = IndexLayout(root / "index")
    with Index.open(layout.path, encoder=encoder) as index:
        problems = [str(problem) for problem in index.verify()]
        snapshot, info = index.snapshot, index.info()
        spaces = [
            space and VectorIndex(space.vectors, space.row_of).checksum
            for space in vars(snapshot).values()
            if isinstance(space, VectorIndex | None)
        ]
        facts = [info[name] for name in FACTS]
        facts.append([(edit.id, edit.idle) for edit in index.edits()])
    known = {"writer.lock", layout.current()}
    inside = sorted({path.name for path in layout.path.iterdir()} - known)
    beside = sorted(path.name for path in root.iterdir())
    return [problems, snapshot.graph.checksum, snapshot.words.checksum, spaces, facts, (inside, beside)]


def index_problems(root: Path) -> list[str]:
    """Return the problems of an index after a crash, before anything is repeated."""
    folder = root / "index"
    if not (folder / "index.sqlite").exists():
        return []
    with writer_lock(folder), Index.open(folder, encoder=ENCODER) as index:  # nothing can be finished now
        problems = [problem.problem for problem in index.verify() if OUTDATED not in problem.problem]
        return problems + outdated_texts(index)


def outdated_texts(index: Index) -> list[str]:
    """Return the passages of an index that are not stored any more, and those of edits that were undone."""
    with closing(Store(IndexLayout(index.path).store)) as store:
        stored = {(chunk.document, chunk.text) for chunk in store.chunks()}
        made = {apply_edits.PREFIX + edit.id for edit in store.edits()}
    graph = index.graph
    if graph.passages is None:
        return []
    rows = ((graph.passages.of(int(node)), graph.text(int(node))) for node in graph.passages.nodes)
    shown = [(row.document, text) for row, text in rows if row is not None]
    return [
        f"shown, but removed or replaced: {text[:60]!r} of {name}"
        for name, text in shown
        if (name, text) not in stored and name not in made and not name.startswith(node_passages.PREFIX)
    ]


def rows_of(root: Path) -> Any:
    """Return the results of a run, without times."""
    lines = (root / "run/results.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    report = sorted(path.name for path in (root / "run").iterdir())
    return sorted((row["method"], row["question"], str(row["metrics"])) for row in rows), report


def files_of(root: Path) -> Any:
    """Return the labels and the weights that were written."""
    lines = (root / "labels.jsonl").read_bytes()
    with np.load(root / "triple.npz") as arrays:
        return lines, arrays["weight"].tolist(), sorted(path.name for path in root.iterdir())


OPERATIONS: dict[str, Operation] = {
    "create and add": Operation(add, contents, check=index_problems),
    "add in parts": Operation(add_in_parts, contents, base_of_one, index_problems),
    "replace": Operation(replace, contents, base, index_problems),
    "remove": Operation(remove, contents, base, index_problems),
    "batch": Operation(batch, contents, base, index_problems),
    "sync": Operation(sync, contents, begin_sync, index_problems),
    "edit": Operation(edit, contents, base, index_problems),
    "edit in a batch": Operation(edit_in_a_batch, contents, base, index_problems),
    "edit an imported graph": Operation(edit_import, contents, begin_alone, index_problems),
    "edit a graph beside documents": Operation(edit_import, contents, begin_beside, index_problems),
    "undo": Operation(undo, contents, edited, index_problems),
    "replace the schema": Operation(replace_schema, contents, base, index_problems),
    "rebuild": Operation(rebuild, contents, edited, index_problems),
    "reextract": Operation(reextract, contents, base, index_problems),
    "repair": Operation(repair, contents, begin_repair),
    "import": Operation(import_, contents, begin_import, index_problems),
    "import into a prepared folder": Operation(import_, contents, begin_prepared, index_problems),
    "delete and create": Operation(delete, contents, begin_delete, index_problems),
    "evaluate": Operation(evaluated, rows_of, begin_evaluate, durable=False),
    "train": Operation(train, files_of, durable=False),
}


@dataclass
class Exploration:
    """The crashes of one operation: numbers of moments and of different states, and failures."""

    moments: int = 0
    states: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


def explore(name: str, scratch: Path, rng: random.Random, draws: int = 3, share: float = 1.0) -> Exploration:
    """Crash an operation at every call that writes, or at a share of them, and repeat it from every state.

    `draws`: number of states of each moment in which unflushed writes are reordered or lost at random.
    """
    operation, begun, explored = OPERATIONS[name], time.perf_counter(), Exploration()
    root, inputs = scratch / "root", scratch / "inputs"
    root.mkdir()
    operation.begin(root, inputs)
    with recording(root) as recorder:
        operation.act(root, inputs)
    with patch.object(os, "fsync", lambda file: None):  # no power is lost from now on
        expected, seen = operation.result(root), set[bytes]()
        explored.moments = len(recorder.moments)
        for moment in recorder.moments:
            last = moment is recorder.moments[-1]
            if not last and rng.random() >= share:
                continue
            for kind, tree in moment.states(rng, draws):
                if (state := digest(tree)) in seen and not last:
                    continue
                seen.add(state)
                explored.states += 1
                shutil.rmtree(root)
                problems = _problems(operation, root, inputs, tree, expected, complete=last and operation.durable)
                explored.failures += [f"{name}, {moment.call}, {kind}: {problem}" for problem in problems]
    explored.seconds = round(time.perf_counter() - begun, 1)
    return explored


def _problems(
    operation: Operation, root: Path, inputs: Path, tree: Tree, expected: Any, *, complete: bool
) -> list[str]:
    """Return the problems of a state; `complete`: the operation had returned, so nothing may be missing."""
    write_tree(tree, root)
    try:
        problems = operation.check(root)
        if complete and operation.result(root)[:-1] != expected[:-1]:  # an empty file may come back
            problems.append(f"lost after it was done: {operation.result(root)}")
        operation.act(root, inputs)
        if (result := operation.result(root)) != expected:
            problems.append(f"repeated, it gives {result}, not {expected}")
    except Exception as error:  # whatever it is, it is a finding
        return [f"{type(error).__name__}: {error}"]
    return problems


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--draws", type=int, default=3, help="states with reordered writes, at each call of a crash")


def run(options: Namespace) -> Record:
    """Explore the crashes of every operation; an interrupted run continues with the operations that are missing."""
    rows = Rows(options.work / "crash.jsonl", "seed", "draws", "operation")
    asked = [(options.seed, options.draws, name) for name in OPERATIONS]
    for identity in asked:
        if identity not in rows:
            with scratch_folder() as scratch:
                result = explore(identity[-1], scratch, random.Random(f"{options.seed} {identity[-1]}"), options.draws)
            rows.add({"seed": options.seed, "draws": options.draws, "operation": identity[-1], **vars(result)})
        row = rows[identity]
        counts = f"{row['moments']:4} calls {row['states']:5} states {len(row['failures']):3} failures"
        print(f"{row['operation']:32} {counts} {row['seconds']:6.1f} s", flush=True)
    done = [rows[identity] for identity in asked]
    return {
        "draws": options.draws,
        "operations": {
            row["operation"]: {"calls": row["moments"], "states": row["states"], "seconds": row["seconds"]}
            for row in done
        },
        "failures": [failure for row in done for failure in row["failures"]],
    }
