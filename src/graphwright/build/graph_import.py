"""Import of knowledge graphs from files, out of core: DuckDB reads them, and names are numbered by their hashes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.data.decoding import mixes_line_ends
from graphwright.data.duckdb_session import duckdb_session
from graphwright.data.graph_files.dump import BAD, LABEL, TRIPLE, Dump
from graphwright.data.graph_files.rdf import RDF, NTriples, iri_name, unescaped
from graphwright.errors import DataError, StoreError
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns, Ids32
from graphwright.graph.storage import load_array
from graphwright.kernels.numbering import Numbering
from graphwright.search.name_index import MAX_NORMALISED
from graphwright.store.changes import Progress

_BLOCK = 2_000_000  # rows in memory at a time
_MAX_EXAMPLES = 5  # malformed rows that are shown
_MAX_MALFORMED, _MAX_SHARE = 100, 0.1  # default limits: malformed rows, and their share of a file
_MAX_TRIPLES = 2**31 - 1
_SALTS = 8


@dataclass
class ImportedGraph:
    """Columns of a graph that was read from files.

    `ids`: the id that a node had in the file, where it differs from its name. `labels`: the further labels of a node.
    `malformed`: the number of rows that were left out, the first of them in `examples`. `left_out`: the number of other
    parts that were, by what they are. `seconds` by part of the work.
    """

    columns: Columns
    ids: Mapping[int, str] = field(default_factory=dict)
    labels: Mapping[int, Sequence[str]] = field(default_factory=dict)
    malformed: int = 0
    examples: list[str] = field(default_factory=list)
    left_out: Mapping[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def import_graph(
    files: Sequence[Dump],
    folder: Path,
    *,
    names: Sequence[Dump] = (),
    max_malformed: int | None = None,
    progress: Progress | None = None,
) -> ImportedGraph:
    """Read triples into the columns of a graph; the columns of edges are memory-mapped files in `folder`.

    Nodes are numbered by first appearance and edges in the order of the files, repetitions included. `names`: files
    with an id and a name in each row, for nodes and relations. `max_malformed`: malformed rows that may be left out, by
    default 100, and one in ten of a file; with more, a DataError shows the first. DuckDB uses up to half of the
    memory; the rest goes to `folder`. It has names as 64-bit hashes, so that each is stored once, not once per edge. If
    two names have the same hash, their number shows it, and they are hashed again with another salt.
    """
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    memory = 4 * 2**30
    with suppress(AttributeError, OSError, ValueError):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    limits = {"memory_limit": f"{max(memory // 2**20, 256)}MB", "temp_directory": str(folder / "spilled")}
    try:
        with duckdb_session(folder / "dump.db", limits) as db:
            reader = _Reader(db, files, names, folder, max_malformed, progress or (lambda work, done, total: None))
            for salt in range(_SALTS):
                imported = reader.read(salt)
                if imported is not None:
                    return imported
    except duckdb.OutOfMemoryException as error:
        raise StoreError(
            f"{folder}: memory or disk space is exhausted ({_first_line(error)}). Free some and try again."
        ) from error
    except duckdb.Error as error:
        mixed = next((file.path for file in (*files, *names) if mixes_line_ends(file.path)), None)
        if mixed is not None:
            raise DataError(
                f"{mixed}: its lines have different ends (\\n, \\r\\n or \\r); nothing was imported. Give all "
                f"lines the same end, for example with dos2unix."
            ) from error
        raise DataError(f"{', '.join(str(f.path) for f in files)}: cannot be read ({_first_line(error)}).") from error
    raise DataError(f"names have the same hash with {_SALTS} different salts; please report this.")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


class _Reader:
    """One import: a database and the files that are read into it."""

    def __init__(
        self,
        db: Any,
        files: Sequence[Dump],
        names: Sequence[Dump],
        folder: Path,
        max_malformed: int | None,
        progress: Progress,
    ) -> None:
        self.db = db
        self.folder = folder
        self.max_malformed = _MAX_MALFORMED if max_malformed is None else max_malformed
        self.max_share = _MAX_SHARE if max_malformed is None else 1.0
        self.progress = progress
        self.malformed = 0
        self.examples: list[str] = []
        self.seconds: dict[str, float] = {}
        self.by_iri = any(isinstance(file, NTriples | RDF) for file in files)
        self.files, self.names = list(files), list(names)
        for number, file in enumerate(files):
            if isinstance(file, RDF):
                (part := folder / f"rdf-{number}").mkdir()
                self.files[number] = file.to_ntriples(part)
        # The tables are read twice and then deleted: compressing them is not worth the work.
        db.execute("SET force_compression = 'uncompressed'")
        if any(isinstance(file, NTriples) for file in (*self.files, *self.names)):
            db.create_function("unescaped", unescaped, ["VARCHAR"], "VARCHAR", type="native")

    def read(self, salt: int) -> ImportedGraph | None:
        """Read all files; return None if two names have the same hash with this salt."""
        self.hash = self._hash(salt)
        count = self._read_triples()
        labelled = self._collect_names()
        heads, relation, tails, nodes, relations = self._numbered(count)
        if len(nodes) != self._count("terms") or len(relations) != self._count("relations"):
            return None
        names, ids = self._named("terms", nodes, labelled)
        labels, _ = self._named("relations", relations, labelled)
        kinds = np.zeros(len(names), np.uint8)
        columns = Columns(names=names, heads=heads, tails=tails, relation=relation, relations=labels, kinds=kinds)
        further = self._further_labels(nodes) if labelled else {}
        return ImportedGraph(columns, ids, further, self.malformed, self.examples[:_MAX_EXAMPLES], self.seconds)

    def _hash(self, salt: int) -> str:
        """Return the expression of a hash, with braces for the text."""
        # A prefix changes every step of a hash; a suffix might not.
        return "hash({})" if not salt else f"hash(chr({salt}) || {{}})"

    def _count(self, rows: str) -> int:
        """Return the number of rows of a table; a condition may follow its name."""
        return int(self.db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])

    @contextmanager
    def _timed(self, work: str) -> Iterator[None]:
        """Report DuckDB's progress from another thread, and record the seconds."""
        done, start = threading.Event(), time.perf_counter()

        def report() -> None:
            while not done.wait(0.5):
                self.progress(work, max(int(self.db.query_progress()), 0), 100)

        reporter = threading.Thread(target=report, daemon=True)
        reporter.start()
        try:
            yield
        finally:
            done.set()
            reporter.join()
        self.progress(work, 100, 100)
        self._add_seconds(work, start)

    def _read_triples(self) -> int:
        """Write the hashes of all triples into the table `codes`; return their number."""
        self.db.execute("CREATE OR REPLACE TABLE codes (head UBIGINT, relation UBIGINT, tail UBIGINT, role UTINYINT)")
        self.malformed, self.examples = 0, []
        for file in self.files:
            first = self._count("codes")
            for table in ("reject_errors", "reject_scans"):
                self.db.execute(f"DROP TABLE IF EXISTS {table}")
            with self._timed("read triples"):
                columns = ", ".join(map(self.hash.format, ("head", "relation", "tail")))
                self.db.execute(f"INSERT INTO codes SELECT {columns}, role FROM ({file.rows(self.max_malformed + 1)})")
            self._check_malformed(file, first)
        count = self._count(f"codes WHERE role = {TRIPLE}")
        if not count:
            malformed = f" Malformed: {'; '.join(self.examples[:_MAX_EXAMPLES])}." if self.examples else ""
            raise DataError(f"{', '.join(str(file.path) for file in self.files)}: there is no triple.{malformed}")
        if count > _MAX_TRIPLES:
            raise DataError(f"there are {count:,} triples; at most {_MAX_TRIPLES:,} can be imported.")
        return count

    def _check_malformed(self, file: Dump, first: int) -> None:
        """Count the malformed rows of a file, which begin at row `first` of `codes`.

        Raises DataError if there are too many in all files, or in this one for its size.
        """
        rejects, bad = list[tuple[int, str]](), 0  # lines that could not be split into columns
        if self._count("duckdb_tables() WHERE table_name = 'reject_errors'"):
            rows = self.db.execute(
                "SELECT line, any_value(error_type), any_value(csv_line), count(DISTINCT byte_position) "
                "FROM reject_errors GROUP BY line ORDER BY line"
            ).fetchall()
            rejects = [(line, f"line {line}: {text!r} ({error.lower()})") for line, error, text, _ in rows]
            bad = sum(row[-1] for row in rows)
        counts = dict(
            self.db.execute(f"SELECT role, count(*) FROM codes WHERE rowid >= {first} GROUP BY role").fetchall()
        )
        bad += counts.get(BAD, 0)
        self.malformed += bad
        examples = self._examples(file, first, rejects) if bad else []
        self.examples += examples
        rows_read = bad + counts.get(TRIPLE, 0) + counts.get(LABEL, 0)
        limit = ""
        if self.malformed > self.max_malformed:
            limit = f"{self.malformed:,} rows or more are malformed, and {self.max_malformed:,} are allowed"
        elif bad > max(self.max_share * rows_read, 1):  # a single line may be a footer
            limit = f"{bad:,} of {rows_read:,} rows are malformed, more than one in ten"
        if limit:
            raise DataError(
                f"{file.path}: {limit}; nothing was imported. {'; '.join(examples)}. Each row must have a head, a "
                f"relation and a tail. Correct them, or allow more: --max-malformed."
            )

    def _examples(self, file: Dump, first: int, rejects: list[tuple[int, str]]) -> list[str]:
        """Return the first malformed rows of a file, with their line numbers."""
        examples = rejects[:_MAX_EXAMPLES]
        rows = self.db.execute(
            f"SELECT rowid - {first} FROM codes WHERE rowid >= {first} AND role = {BAD} ORDER BY rowid "
            f"LIMIT {_MAX_EXAMPLES}"
        ).fetchall()
        for (row,) in rows:
            for line, _ in rejects:  # rejected lines before it have no row number
                row += line - 1 - file.skipped <= row
            examples.append((row + 1 + file.skipped, file.row_text(row)))
        return [f"{file.path.name}, {text}" for _, text in sorted(examples)[:_MAX_EXAMPLES]]

    def _collect_names(self) -> bool:
        """Write the distinct nodes, relations, and names of ids into tables; return whether any id has a name."""
        rows = " UNION ALL ".join(f"(SELECT head, relation, tail, role FROM ({file.rows()}))" for file in self.files)
        for table, names in (("terms", "unnest([head, tail])"), ("relations", "relation")):
            with self._timed("collect names"):
                self.db.execute(
                    f"CREATE OR REPLACE TABLE {table} AS SELECT name FROM (SELECT {names} AS name FROM ({rows}) "
                    f"WHERE role = {TRIPLE}) GROUP BY name"
                )
        labels = [
            f"SELECT head AS id, tail AS name, 0 AS rank FROM ({f.rows()}) WHERE role = {TRIPLE}" for f in self.names
        ]
        if self._count(f"codes WHERE role = {LABEL}"):
            labels += [
                f"SELECT head AS id, tail AS name, if(plain, 1, 2) AS rank FROM ({f.rows()}) WHERE role = {LABEL}"
                for f in self.files
                if isinstance(f, NTriples)
            ]
        if labels:
            with self._timed("collect names"):
                self.db.execute(f"CREATE OR REPLACE TABLE all_labels AS {' UNION ALL '.join(labels)}")
                self.db.execute(
                    "CREATE OR REPLACE TABLE labels AS SELECT id, arg_min(name, (rank, name)) AS name "
                    "FROM all_labels GROUP BY id"
                )
        return bool(labels)

    def _further_labels(self, numbers: Numbering) -> dict[int, list[str]]:
        """Return the labels of nodes that are not their names, sorted; none for a graph whose names are not folded."""
        further: dict[int, list[str]] = {}
        if len(numbers) > MAX_NORMALISED:
            return further
        rows = self.db.execute(
            f"SELECT DISTINCT {self.hash.format('a.id')} AS code, a.name AS name FROM all_labels AS a "
            "JOIN terms ON terms.name = a.id JOIN labels ON labels.id = a.id WHERE a.name <> labels.name "
            "ORDER BY a.name"
        ).fetchnumpy()
        for node, name in zip(numbers.find(rows["code"]).tolist(), rows["name"], strict=True):
            further.setdefault(node, []).append(name)
        return further

    def _numbered(self, count: int) -> tuple[Ids32, Ids32, Ids32, Numbering, Numbering]:
        """Number nodes and relations by first appearance; return the columns of edges, and both numberings."""
        start = time.perf_counter()
        nodes, relations = Numbering(), Numbering()
        paths = [self.folder / f"{name}.npy" for name in ("heads", "relation", "tails")]
        columns = [np.lib.format.open_memmap(path, "w+", np.int32, (count,)) for path in paths]
        at = 0
        for low in range(0, self._count("codes"), _BLOCK):
            block = self.db.execute(
                f"SELECT head, relation, tail FROM codes WHERE rowid >= {low} AND rowid < {low + _BLOCK} "
                f"AND role = {TRIPLE}"
            ).fetchnumpy()
            end = at + len(block["head"])
            ends = np.stack((block["head"], block["tail"]), axis=1)  # a head is numbered before its tail
            try:
                columns[0][at:end], columns[2][at:end] = nodes.take(ends).reshape(-1, 2).T
                columns[1][at:end] = relations.take(block["relation"])
            except ValueError as error:
                raise DataError(f"the graph is too large: {error}") from error
            at = end
            self.progress("number nodes", at, count)
        for column in columns:
            column.flush()
        del columns
        self._add_seconds("number nodes", start)
        heads, relation, tails = (load_array(path) for path in paths)
        return heads, relation, tails, nodes, relations

    def _named(self, table: str, numbers: Numbering, labelled: bool) -> tuple[TextColumn, dict[int, str]]:
        """Return the names of numbered ids in order, and the ids that differ from their names.

        A name is the id's label, else the last part of an IRI, else the id.
        """
        start, count = time.perf_counter(), len(numbers)
        label, labels = ("labels.name", "LEFT JOIN labels ON labels.id = t.name") if labelled else ("NULL", "")
        parts: list[TextColumn] = []
        row, done = np.empty(count, np.int64), 0
        ids: dict[int, str] = {}
        for low in range(0, count, _BLOCK):
            block = self.db.execute(
                f"SELECT {self.hash.format('t.name')} AS code, t.name AS id, {label} AS label FROM "
                f"(SELECT name FROM {table} WHERE rowid >= {low} AND rowid < {low + _BLOCK}) AS t {labels}"
            ).fetchnumpy()
            number = numbers.find(block["code"])
            names = [iri_name(i) for i in block["id"]] if self.by_iri else list(block["id"])
            if labelled:
                missing = np.ma.getmaskarray(block["label"])
                names = [i if none else value for i, value, none in zip(names, block["label"], missing, strict=True)]
            if labelled or self.by_iri:
                ids.update((int(n), i) for n, i, name in zip(number, block["id"], names, strict=True) if i != name)
            parts.append(TextColumn.of(names))
            row[number] = np.arange(done, done + len(number))
            done += len(number)
            self.progress("write names", done, count)
        joined = TextColumn.joined(parts)
        del parts
        self._add_seconds("write names", start)
        return joined.gather(row), ids

    def _add_seconds(self, work: str, start: float) -> None:
        self.seconds[work] = self.seconds.get(work, 0.0) + time.perf_counter() - start
