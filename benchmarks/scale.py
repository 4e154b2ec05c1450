"""Measure an index as it grows: building, changes, questions, memory and disk, in one table.

    python benchmarks/scale.py --data DIR [--sizes 1000 10000 100000 1000000] [--work runs]

Passages are those of three sets (`multihop`), repeated with every name changed, so that distinct entities grow with
them. A hash of words takes the encoder's place. Passages, names and sentences have vectors, above 100,000 passages only
passages: vectors of a million passages' names and sentences take about 8 GB, and three times that in temporary files.
Each size is measured in a process of its own, and its row is written
when it is complete; a second call measures the sizes that are missing. Writes `scale.json` and
`scale.md`.

- index: seconds of one `add` of all passages, processor time beside it, and the peak of resident memory meanwhile.
- add, remove: seconds until one document more or less is searchable, the opening of the new snapshot included: median
  of three; processor time beside it, and the bytes of the files that the change wrote.
- add 1,000: seconds of 1,000 documents in one `add`, beside those of building an index of these alone, and the
  processor time of both.
- open: seconds from opening the index to its first passage, in the same process.
- question: median milliseconds of `retrieve`, and the anonymous memory of the process after all questions.

`--only change` measures one document added and removed alone and prints it, with the bytes written for each part of the
snapshot; it writes no results and keeps the index for the next call.
"""

from __future__ import annotations

import multiprocessing
import re
import resource
import shutil
import time
import zlib
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from string import ascii_lowercase
from typing import Any

import numpy as np
from harness import Record, anonymous_memory, arguments, elapsed, parse, table, update_results
from stamps import made_by, read_stamped

from graphwright.data.document import Document
from graphwright.data.documents import read_documents
from graphwright.index_folder.index import Index
from graphwright.models.protocols import Floats
from graphwright.store.settings import SPACES, Settings

SIZES = (1_000, 10_000, 100_000, 1_000_000)
METHODS = ("bm25", "vector", "hybrid", "multihop", "ppr")
SETS = ("musique", "hotpotqa", "2wiki")
MAX_NAMES_EMBEDDED = 100_000  # passages up to which names and sentences have vectors
REPEATS, QUESTIONS, MANY = 3, 30, 1_000
WORDS, DIMENSION = 1 << 16, 384


class WordTable:
    """An encoder that adds up one random vector for each word, chosen by the word's hash."""

    id = "word table"
    dimension = DIMENSION

    def __init__(self) -> None:
        self._table = np.random.default_rng(0).standard_normal((WORDS, DIMENSION)).astype(np.float32)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, at length 1; zeros for one without words."""
        out = np.zeros((len(texts), DIMENSION), np.float32)
        for row, text in enumerate(texts):
            rows = [zlib.crc32(word.encode()) % WORDS for word in text.casefold().split()]
            total = self._table[rows].sum(axis=0)
            out[row] = total / max(float(np.linalg.norm(total)), 1e-9)
        return out


def varied_documents(data: Path) -> Iterator[Document]:
    """Yield passages without end, each copy of the sets with other names."""
    base = [d for name in SETS for d in read_documents([data / "multihop" / name / "corpus.jsonl"], print)]
    at = 0
    while True:
        copy, suffix = at // len(base), ""
        while copy:
            copy, letter = divmod(copy - 1, len(ascii_lowercase))
            suffix += ascii_lowercase[letter]
        yield changed_names(base[at % len(base)], f"{at:07d}", suffix)
        at += 1


def changed_names(document: Document, name: str, suffix: str) -> Document:
    """Return a document with another id, and with a suffix at each capitalised word."""
    parts = document.text, document.title
    text, title = (re.sub(r"\b([A-Z]\w{3,})", rf"\g<1>{suffix}", part) for part in parts)
    return Document(name, text, title, whole=True)


def opened(folder: Path, encoder: WordTable) -> Index:
    """Open an index, and read a passage."""
    index = Index.open(folder, encoder=encoder)
    index.graph.reading(0)
    return index


def change(folder: Path, encoder: WordTable, act: Callable[[Index], Any]) -> tuple[float, float, dict[str, int]]:
    """Return seconds and processor seconds until a change is searchable, and the bytes of each file that it wrote."""
    begun, worked, since = time.perf_counter(), time.process_time(), time.time()
    with Index.open(folder, encoder=encoder) as index:
        act(index)
        index.graph.reading(0)
        seconds, work = time.perf_counter() - begun, time.process_time() - worked
        current = folder / (folder / "CURRENT").read_text()
    files = {path.relative_to(current).as_posix(): path.stat() for path in current.rglob("*") if path.is_file()}
    written = {name: file.st_size for name, file in files.items() if file.st_mtime >= since}  # the others are linked
    return seconds, work, written


def changes(folder: Path, encoder: WordTable, more: list[Document], show_files: bool = False) -> Record:
    """Return the costs of one document added and removed; `show_files`: print the bytes of each file of the last."""
    row: Record = {}
    acts: dict[str, Callable[[Index, Document], Any]] = {
        "add": lambda index, document: index.add([document]),
        "remove": lambda index, document: index.remove([document.id]),
    }
    for name, act in acts.items():
        trials = [change(folder, encoder, lambda index, d=d, act=act: act(index, d)) for d in more[:REPEATS]]  # type: ignore[misc]
        row |= {f"{name} s": round(median(seconds for seconds, _, _ in trials), 2)}
        row |= {f"{name} cpu s": round(median(work for _, work, _ in trials), 2)}
        row |= {f"{name} MB": round(median(sum(files.values()) for _, _, files in trials) / 1e6, 2)}
        for file, size in sorted(trials[-1][2].items(), key=lambda entry: -entry[1]) if show_files else ():
            print(f"{name} {size:>12,} {file}")
    return row


def questions(folder: Path, encoder: WordTable, asked: list[str]) -> Record:
    """Return the time of opening and of questions, and the memory after them."""
    index, seconds = elapsed(lambda: opened(folder, encoder))
    row: Record = {"open s": round(seconds, 2)}
    with index:
        for method in METHODS:
            index.retrieve(asked[0], method)
            times = [elapsed(lambda text=text, method=method: index.retrieve(text, method))[1] for text in asked[1:]]  # type: ignore[misc]
            row[f"{method} ms"] = round(1e3 * median(times), 1)
        row["disk MB"] = round(index.info()["bytes"] / 1e6)
        row |= {name: index.info()[name] for name in ("nodes", "edges")}
    return row | {"anonymous MB": anonymous_memory() // 10**6 or None}


def create(folder: Path, size: int) -> Index:
    """Create an empty index for so many passages."""
    shutil.rmtree(folder, ignore_errors=True)
    return Index.create(folder, encoder=WordTable(), settings=Settings(embed=embedded(size)))


def embedded(size: int) -> tuple[str, ...]:
    """Return which texts have vectors in an index of so many passages."""
    return SPACES if size <= MAX_NAMES_EMBEDDED else SPACES[:1]


def build(data: Path, folder: Path, size: int, queue: Any) -> None:
    """Index passages, and put the costs into a queue."""
    with create(folder, size) as index:
        worked = time.process_time()
        _, seconds = elapsed(lambda: index.add(islice(varied_documents(data), size)))
        work = time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = {"passages": size, "vectors of": ", ".join(embedded(size))}
    queue.put(row | {"index s": round(seconds, 1), "index cpu s": round(work, 1), "peak MB": peak // 1000})


def measure(data: Path, folder: Path, size: int, queue: Any) -> None:
    """Change an index and ask it, and put the costs into a queue."""
    encoder = WordTable()
    more = list(islice(varied_documents(data), size, size + MANY + REPEATS))
    row = questions(folder, encoder, [f"Who or what is {d.title}?" for d in more[:QUESTIONS]])
    row |= changes(folder, encoder, more)
    if size > MANY:
        alone = folder.with_name(f"{folder.name}-alone")
        worked = time.process_time()
        with create(alone, size) as index:
            _, base = elapsed(lambda: index.add(more[REPEATS:]))
        alone_work = time.process_time() - worked
        seconds, work, _ = change(folder, encoder, lambda index: index.add(more[REPEATS:]))
        row |= {"add 1,000 s": round(seconds, 1), "add 1,000 cpu s": round(work, 1)}
        row |= {"alone s": round(base, 1), "alone cpu s": round(alone_work, 1)}
        shutil.rmtree(alone)
    queue.put(row)


def in_process(work: Callable[..., None], *given: Any) -> Any:
    """Return what a function puts into a queue, called in a new process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(*given, queue))
    process.start()
    while process.is_alive() and queue.empty():
        time.sleep(0.2)
    if queue.empty() and process.exitcode:
        raise SystemExit(f"{work.__name__} ended with {process.exitcode}; rows written so far are kept.")
    result = queue.get()
    process.join()
    return result


def written_table(rows: Sequence[Record]) -> str:
    """Return the table of all rows."""
    header = list(dict.fromkeys(name for row in rows for name in row))
    shown = [[f"{v:,}" if isinstance(v := row.get(name, ""), int) else v for row in rows] for name in header]
    return table(("", *shown[0]), [(name, *cells) for name, cells in zip(header[1:], shown[1:], strict=True)])


def size_is_there(path: Path, size: int) -> bool:
    """Return whether the present code has measured a size."""
    code, rows = read_stamped(path)
    return str(size) in (rows or {}) and code.get(str(size)) == made_by()


def measure_change(data: Path, work: Path, size: int) -> None:
    """Print the costs of one document added to and removed from an index, which is built if it is not there."""
    folder, encoder = work / f"scale-change-{size}", WordTable()
    if not folder.exists():
        with create(folder, size) as index:
            index.add(islice(varied_documents(data), size))
    print(changes(folder, encoder, list(islice(varied_documents(data), size, size + REPEATS)), show_files=True))


def main(options: Namespace) -> None:
    """Measure the sizes that the present code has no row of."""
    path = options.out / "scale.json"
    if options.only == ["change"]:
        for size in options.sizes:
            measure_change(options.data, options.work, size)
        return
    for size in options.sizes:
        if size_is_there(path, size):
            continue
        folder = options.work / "scale" / str(size)
        row = in_process(build, options.data, folder, size)
        print(row, flush=True)
        row |= in_process(measure, options.data, folder, size)
        print(row, flush=True)
        shutil.rmtree(folder)
        order = sorted(map(str, {*SIZES, *options.sizes}), key=int)
        update_results(path, [str(size)], row, lambda rows: written_table(list(rows.values())), order)


if __name__ == "__main__":
    parser = arguments(__doc__, parts=("table", "change"))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    main(parse(parser))
