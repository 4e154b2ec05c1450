"""Query an index from eight processes while another writes, then mix many operations in one process.

**Beside a writer**: a process adds and removes whole batches of documents while eight others ask `--queries` questions.
Each answer must have all documents of a batch or none, and the document that is never changed.

**Mixed**: `--mixed` operations, drawn at random, on one index: add, replace, remove, ask, read, list, reopen.
After each, what is returned must equal a model of the documents in memory; now and then the index is verified. Memory
and open files of the index at the end must be those after the first tenth. The folder is in memory where the system has
such one: a change waits for the disk otherwise, which takes most of the time.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import random
import time
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from harness import Record, anonymous_memory, scratch_folder

from graphwright.graph.columns import natural
from graphwright.index_folder.index import Index
from graphwright.models.fake import HashEncoder

ENCODER = HashEncoder(16)
READERS, BATCH, BATCHES = 8, 5, 4
METHODS = ("bm25", "vector", "ppr")
SIZE = 40  # documents of the mixed index, at most
VERIFIED = 500  # operations between verifications
GROWTH = 64 * 2**20  # bytes


def _batch(number: int) -> list[dict[str, str]]:
    name = f"Batch{number}"
    return [{"id": f"{number}-{i}", "title": name, "text": f"{name} has the part {i}."} for i in range(BATCH)]


def _write(folder: Path, seed: int, stop: Event) -> None:
    """Add and remove batches until told to stop."""
    rng, present = random.Random(seed), set[int]()
    with Index.open(folder, encoder=ENCODER) as index:
        while not stop.is_set():
            number = rng.randrange(BATCHES)
            if number in present:
                index.remove([document["id"] for document in _batch(number)])
            else:
                index.add(_batch(number))
            present ^= {number}


def _read(folder: Path, seed: int, queries: int, failures: Any) -> None:
    """Ask, and note each answer that is not of one state of the index."""
    rng = random.Random(seed)
    try:
        with Index.open(folder, encoder=ENCODER) as index:
            for at in range(queries):
                number = rng.randrange(BATCHES)
                state = index.retrieve(f"Batch{number}", method="bm25", top_k=50)
                found = [
                    passage.document for passage in state.passages or () if passage.document.startswith(f"{number}-")
                ]
                if len(found) not in (0, BATCH):
                    failures.put(f"query {at}: {len(found)} of {BATCH} documents of a batch")
                method = rng.choice(METHODS)
                constant = index.retrieve("Evergreen stays.", method=method, top_k=50).passages or ()
                if "constant" not in [passage.document for passage in constant]:
                    failures.put(f"query {at} by {method}: the document that is never changed is missing")
    except BaseException as error:
        failures.put(f"a reader ended: {type(error).__name__}: {error}")


def beside_a_writer(folder: Path, queries: int, seed: int) -> Record:
    """Query from several processes beside a writer."""
    with Index.create(folder, encoder=ENCODER) as index:
        index.add([{"id": "constant", "title": "Evergreen", "text": "Evergreen stays."}])
    context = multiprocessing.get_context("spawn")
    stop, failures = context.Event(), context.Queue()
    writer = context.Process(target=_write, args=(folder, seed, stop))
    share = -(-queries // READERS)
    readers = [context.Process(target=_read, args=(folder, seed + 1 + i, share, failures)) for i in range(READERS)]
    begun = time.perf_counter()
    for process in (writer, *readers):
        process.start()
    broken: list[str] = []
    while any(reader.is_alive() for reader in readers) or not failures.empty():
        time.sleep(0.2)
        while not failures.empty():
            broken.append(failures.get())
    stop.set()
    writer.join()
    broken += [f"a process ended with {p.exitcode}" for p in (writer, *readers) if p.exitcode]
    with Index.open(folder, encoder=ENCODER) as index:
        revisions = index.snapshot.about["revision"]
        broken += [str(problem) for problem in index.verify()]
    seconds = round(time.perf_counter() - begun, 1)
    return {"queries": share * READERS, "changes meanwhile": revisions, "seconds": seconds, "failures": broken}


class Mixed:
    """An index, and a model of its documents in memory."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng, self.model = folder, random.Random(seed), dict[str, str]()
        self.index = Index.create(folder, encoder=ENCODER)
        self.failures: list[str] = []

    def step(self, at: int) -> None:
        """Do an operation, and compare its result with the model."""
        choice = self.rng.choices(
            [self.add, self.remove, self.ask, self.read, self.list, self.reopen], [4, 2, 60, 20, 12, 2]
        )
        if problem := choice[0](at):
            self.failures.append(f"operation {at}, {choice[0].__name__}: {problem}")
        if at % VERIFIED == VERIFIED - 1:
            self.failures += [f"operation {at}: {found}" for found in self.index.verify()]

    def add(self, at: int) -> str:
        """Add or replace a document."""
        name, text = f"d{self.rng.randrange(SIZE)}", f"Wort{at} is what this document says."
        self.index.add([{"id": name, "text": text}])
        self.model[name] = text
        return self.list(at)

    def remove(self, at: int) -> str:
        """Remove a document."""
        if not self.model:
            return ""
        name = self.rng.choice(sorted(self.model))
        gone = self.model.pop(name)
        self.index.remove([name])
        found = self.index.retrieve(gone.split()[0], method="bm25").passages or ()
        return "it is still found" if any(passage.text == gone for passage in found) else self.list(at)

    def ask(self, at: int) -> str:
        """Ask for the word that one document has."""
        if not self.model:
            return ""
        name = self.rng.choice(sorted(self.model))
        found = self.index.retrieve(self.model[name].split()[0], method="bm25", top_k=3).passages or ()
        return "" if name in [passage.document for passage in found] else f"{name} is not found"

    def read(self, at: int) -> str:
        """Read a document."""
        if not self.model:
            return ""
        name = self.rng.choice(sorted(self.model))
        return "" if self.index.text(name) == self.model[name] else f"{name} has another text"

    def list(self, at: int) -> str:
        """List the documents."""
        listed = [document.id for document in self.index.list_documents()]
        return (
            ""
            if listed == sorted(self.model, key=natural)
            else f"lists {len(listed)} documents instead of {len(self.model)}"
        )

    def reopen(self, at: int) -> str:
        """Close the index, and open it again."""
        self.index.close()
        self.index = Index.open(self.folder, encoder=ENCODER)
        return self.list(at)


def _resources(folder: Path) -> tuple[int, int]:
    """Return the bytes of memory in use that no file has, and the number of open files of a folder.

    Memory that was freed, and that the allocator of the system keeps, does not count. What is unknown is 0.
    """
    gc.collect()
    with suppress(OSError, AttributeError):  # only glibc has this function
        ctypes.CDLL(None).malloc_trim(0)
    files = Path("/proc/self/fd")
    count = 0
    for file in files.iterdir() if files.is_dir() else ():
        with suppress(OSError):  # the listing itself, which is closed by now
            count += str(file.readlink()).startswith(f"{folder.resolve()}/")
    return anonymous_memory(), count


def mixed(folder: Path, operations: int, seed: int) -> Record:
    """Do many operations on one index."""
    work, begun = Mixed(folder, seed), time.perf_counter()
    samples = []
    for at in range(operations):
        work.step(at)
        if at % max(operations // 10, 1) == 0:
            work.reopen(at)
            samples.append(_resources(folder))
    work.reopen(operations)
    samples.append(_resources(folder))
    work.index.close()
    failures, (memory, files) = work.failures, samples[1]
    if samples[-1][0] > memory + GROWTH:
        failures.append(f"memory grew from {memory:,} to {samples[-1][0]:,} bytes")
    if samples[-1][1] > files:
        failures.append(f"open files grew from {files} to {samples[-1][1]}")
    return {
        "operations": operations,
        "seconds": round(time.perf_counter() - begun, 1),
        "memory, MB": [round(memory / 2**20, 1) for memory, _ in samples],
        "open files": [files for _, files in samples],
        "failures": failures,
    }


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this part."""
    parser.add_argument("--queries", type=int, default=10_000, help="queries beside a writer (load)")
    parser.add_argument("--mixed", type=int, default=100_000, help="mixed operations (load)")


def run(options: Namespace) -> Record:
    """Query beside a writer, then mix operations."""
    with scratch_folder() as scratch:
        parts = {
            "beside a writer": beside_a_writer(scratch / "shared", options.queries, options.seed),
            "mixed": mixed(scratch / "mixed", options.mixed, options.seed),
        }
    failures = [f"{name}: {failure}" for name, part in parts.items() for failure in part.pop("failures")]
    return {**parts, "failures": failures}
