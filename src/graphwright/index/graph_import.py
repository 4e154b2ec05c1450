"""Import of knowledge graphs from files, out of core: DuckDB reads them, and names are numbered by their hashes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.data.knowledge_graphs import BAD, LABEL, TRIPLE, Dump, GraphML, NTriples, iri_name, unescaped
from graphwright.errors import DataError, StoreError
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns, Ids32
from graphwright.graph.storage import load_array
from graphwright.index.build import Progress
from graphwright.kernels.numbering import Numbering

__all__ = ["ImportedGraph", "import_graph"]

_BLOCK = 2_000_000  # rows in memory at a time
_SAMPLE = 10_000  # rows that are checked before all are read
_MAX_EXAMPLES = 5  # malformed rows that are shown
_MAX_MALFORMED, _MAX_SHARE = 100, 0.1  # default limits: malformed rows, and their share of a file
_MAX_TRIPLES = 2**31 - 1


@dataclass
class ImportedGraph:
    """Columns of a graph that was read from files.

    `ids`: the id that a node had in the file, by node number, where it differs from its name. `malformed`: the number
    of rows that were left out, with the first of them in `examples`. `seconds` by part of the work.
    """

    columns: Columns
    ids: Mapping[int, str] = field(default_factory=dict)
    malformed: int = 0
    examples: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def import_graph(
    files: Sequence[Dump],
    folder: Path,
    *,
    names: Sequence[Dump] = (),
    max_malformed: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> ImportedGraph:
    """Read triples into the columns of a graph; the columns of edges are memory-mapped files in `folder`.

    Nodes are numbered by first appearance and edges in the order of the files, repetitions included, as in
    `Graph.from_triples`. `names`: files with an id and a name in each row, for nodes and relations. `max_malformed`:
    number of malformed rows that may be left out, by default 100, and one in ten of a file; with more, a DataError
    shows the first. `memory`: bytes that DuckDB may use, by default half of the machine's; the rest goes to `folder`.

    A name is represented by its 64-bit hash in DuckDB, so that it is stored once, not once per edge. If two names have
    the same hash, their number shows it, and they are hashed again with another salt.
    """
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    try:
        with duckdb.connect(str(folder / "dump.db"), config=_limits(folder, memory)) as db:
            reader = _Reader(db, files, names, folder, max_malformed, progress or (lambda work, done, total: None))
            return reader.read()
    except duckdb.OutOfMemoryException as error:
        raise StoreError(
            f"{folder}: memory or disk space is exhausted ({_first_line(error)}). Free some and try again."
        ) from error
    except duckdb.Error as error:
        raise DataError(f"{', '.join(str(f.path) for f in files)}: cannot be read ({_first_line(error)}).") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _limits(folder: Path, memory: int | None) -> dict[str, str | bool | int | float | list[str]]:
    """Return the limits of DuckDB on this machine."""
    if memory is None:
        try:
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        except (AttributeError, OSError, ValueError):
            memory = 4 * 2**30
    return {"memory_limit": f"{max(memory // 2**20, 256)}MB", "temp_directory": str(folder / "spilled")}


class _Collision(Exception):
    """Two names have the same hash."""


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
        self.by_iri = any(isinstance(file, NTriples) for file in files)
        self.files, graphml_names = self._tables(files)
        self.names = [*names, *graphml_names]
        # The tables are read twice and then deleted: compressing them is not worth the work.
        db.execute("SET force_compression = 'uncompressed'")
        if any(isinstance(file, NTriples) for file in (*files, *names)):
            db.create_function("unescaped", unescaped, ["VARCHAR"], "VARCHAR", type="native")

    def read(self) -> ImportedGraph:
        """Read all files."""
        for file in self.files:
            self._check_sample(file)
        for salt in range(8):
            try:
                return self._imported(self._hash(salt))
            except _Collision:
                continue
        raise DataError("names have the same hash with eight different salts; please report this.")

    def _tables(self, files: Sequence[Dump]) -> tuple[list[Dump], list[Dump]]:
        """Return the files, with GraphML converted to tables, and the tables of names in GraphML."""
        tables: list[Dump] = []
        names: list[Dump] = []
        for number, file in enumerate(files):
            if isinstance(file, GraphML):
                (part := self.folder / f"graphml-{number}").mkdir()
                edge_table, name_table = file.to_csv(part)
                tables.append(edge_table)
                names.append(name_table)
            else:
                tables.append(file)
        return tables, names

    @contextmanager
    def _reported(self, work: str) -> Iterator[None]:
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
        self.seconds[work] = self.seconds.get(work, 0.0) + time.perf_counter() - start

    def _check_sample(self, file: Dump) -> None:
        """Raise DataError for a file without triples after its first rows, not after the last."""
        self._drop_rejects()
        counts = dict(
            self.db.execute(
                f"SELECT role, count(*) FROM (SELECT role FROM ({file.rows()}) LIMIT {_SAMPLE}) GROUP BY role"
            ).fetchall()
        )
        bad = counts.get(BAD, 0) + self._rejected()
        if bad > self.max_malformed and bad > counts.get(TRIPLE, 0):
            examples = self._examples(file, f"SELECT role FROM ({file.rows()}) LIMIT {_SAMPLE}")
            raise DataError(
                f"{file.path} does not contain triples: {bad:,} of its first rows (at most {_SAMPLE:,}) are malformed. "
                f"{'; '.join(examples)}. Each row must have a head, a relation and a tail."
            )

    def _hash(self, salt: int) -> Callable[[str], str]:
        # A prefix changes every step of a hash; a suffix might not.
        return lambda text: f"hash({text})" if not salt else f"hash(chr({salt}) || {text})"

    def _drop_rejects(self) -> None:
        for table in ("reject_errors", "reject_scans"):
            self.db.execute(f"DROP TABLE IF EXISTS {table}")

    def _rejected(self) -> int:
        """Return the number of rows that the last scan could not split into columns."""
        there = self.db.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors'").fetchone()
        if not there[0]:
            return 0
        return int(self.db.execute("SELECT count(DISTINCT (line, byte_position)) FROM reject_errors").fetchone()[0])

    def _examples(self, file: Dump, roles: str) -> list[str]:
        """Return the first malformed rows of the last scan, with their line numbers."""
        rejects: list[tuple[int, str, str]] = []
        if self._rejected():
            rejects = self.db.execute(
                "SELECT line, any_value(error_type), any_value(csv_line) FROM reject_errors GROUP BY line ORDER BY line"
            ).fetchall()
        examples = [(line, f"line {line}: {text!r} ({error.lower()})") for line, error, text in rejects[:_MAX_EXAMPLES]]
        rows = self.db.execute(
            f"SELECT place FROM (SELECT row_number() OVER () - 1 AS place, role FROM ({roles})) WHERE role = {BAD} "
            f"ORDER BY place LIMIT {_MAX_EXAMPLES}"
        ).fetchall()
        for (row,) in rows:
            for line, *_ in rejects:  # rejected lines before it have no row number
                row += line - 1 - file.skipped <= row
            examples.append((row + 1 + file.skipped, file.row_text(row)))
        return [f"{file.path.name}, {text}" for _, text in sorted(examples)[:_MAX_EXAMPLES]]

    def _codes(self, code: Callable[[str], str]) -> int:
        """Write the hashes of all triples into a table; return their number."""
        self.db.execute("CREATE OR REPLACE TABLE codes (head UBIGINT, relation UBIGINT, tail UBIGINT, role UTINYINT)")
        self.malformed, self.examples = 0, []
        for file in self.files:
            first = self.db.execute("SELECT count(*) FROM codes").fetchone()[0]
            self._drop_rejects()
            with self._reported("read triples"):
                self.db.execute(
                    f"INSERT INTO codes SELECT {code('head')}, {code('relation')}, {code('tail')}, role "
                    f"FROM ({file.rows(self.max_malformed + 1)})"
                )
            roles = f"SELECT role FROM codes WHERE rowid >= {first}"
            counts = dict(self.db.execute(f"SELECT role, count(*) FROM ({roles}) GROUP BY role").fetchall())
            bad = counts.get(BAD, 0) + self._rejected()
            self.malformed += bad
            if len(self.examples) < _MAX_EXAMPLES and bad:
                self.examples += self._examples(file, roles)
            if self.malformed > self.max_malformed:
                raise DataError(
                    f"{file.path}: {self.malformed:,} rows or more are malformed, and {self.max_malformed:,} are "
                    f"allowed; nothing was imported. {'; '.join(self.examples[:_MAX_EXAMPLES])}. Correct them, or "
                    f"allow more."
                )
            rows = bad + counts.get(TRIPLE, 0) + counts.get(LABEL, 0)
            if bad > max(self.max_share * rows, 1):  # a single line may be a footer
                raise DataError(
                    f"{file.path}: {bad:,} of {rows:,} rows are malformed, more than one in ten; nothing was "
                    f"imported. {'; '.join(self._examples(file, roles))}. Correct them, or allow more: "
                    f"--max-malformed."
                )
        count = int(self.db.execute(f"SELECT count(*) FROM codes WHERE role = {TRIPLE}").fetchone()[0])
        if not count:
            malformed = f" Malformed: {'; '.join(self.examples[:_MAX_EXAMPLES])}." if self.examples else ""
            raise DataError(f"{', '.join(str(file.path) for file in self.files)}: there is no triple.{malformed}")
        if count > _MAX_TRIPLES:
            raise DataError(f"there are {count:,} triples; at most {_MAX_TRIPLES:,} can be imported.")
        return count

    def _imported(self, code: Callable[[str], str]) -> ImportedGraph:
        count = self._codes(code)
        self._terms()
        heads, relation, tails, nodes, relations = self._numbered(count)
        names, ids = self._named("terms", code, nodes)
        labels, _ = self._named("relations", code, relations)
        columns = Columns(
            names=names,
            heads=heads,
            tails=tails,
            relation=relation,
            relations=labels,
            kinds=np.zeros(len(names), np.uint8),
        )
        return ImportedGraph(columns, ids, self.malformed, self.examples[:_MAX_EXAMPLES], self.seconds)

    def _terms(self) -> None:
        """Write the distinct nodes, the distinct relations, and the names of ids into tables."""
        rows = " UNION ALL ".join(f"(SELECT head, relation, tail, role FROM ({file.rows()}))" for file in self.files)
        for table, names in (("terms", "unnest([head, tail])"), ("relations", "relation")):
            with self._reported("collect names"):
                self.db.execute(
                    f"CREATE OR REPLACE TABLE {table} AS SELECT name FROM (SELECT {names} AS name FROM ({rows}) "
                    f"WHERE role = {TRIPLE}) GROUP BY name"
                )
        labels = [
            f"SELECT head AS id, tail AS name, 0 AS rank FROM ({f.rows()}) WHERE role = {TRIPLE}" for f in self.names
        ]
        if self.db.execute(f"SELECT count(*) FROM codes WHERE role = {LABEL}").fetchone()[0]:
            labels += [
                f"SELECT head AS id, tail AS name, if(plain, 1, 2) AS rank FROM ({f.rows()}) WHERE role = {LABEL}"
                for f in self.files
                if isinstance(f, NTriples)
            ]
        if labels:
            with self._reported("collect names"):
                self.db.execute(
                    "CREATE OR REPLACE TABLE labels AS SELECT id, arg_min(name, (rank, name)) AS name "
                    f"FROM ({' UNION ALL '.join(labels)}) GROUP BY id"
                )
        self.labelled = bool(labels)

    def _numbered(self, count: int) -> tuple[Ids32, Ids32, Ids32, Numbering, Numbering]:
        """Number nodes and relations by first appearance; return the columns of edges, and both numberings."""
        start = time.perf_counter()
        nodes, relations = Numbering(), Numbering()
        paths = [self.folder / f"{name}.npy" for name in ("heads", "relation", "tails")]
        columns = [np.lib.format.open_memmap(path, "w+", np.int32, (count,)) for path in paths]
        last = self.db.execute("SELECT count(*) FROM codes").fetchone()[0]
        at = 0
        for low in range(0, last, _BLOCK):
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
        self.seconds["number nodes"] = time.perf_counter() - start
        heads, relation, tails = (load_array(path) for path in paths)
        return heads, relation, tails, nodes, relations

    def _named(self, table: str, code: Callable[[str], str], numbers: Numbering) -> tuple[TextColumn, dict[int, str]]:
        """Return the names of numbered ids in order, and the ids that differ from their names."""
        start, labels = time.perf_counter(), ""
        count = int(self.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        if count != len(numbers):
            raise _Collision
        if self.labelled:
            labels = "LEFT JOIN labels ON labels.id = t.name"
        parts: list[TextColumn] = []
        order: list[NDArray[np.int32]] = []
        ids: dict[int, str] = {}
        for low in range(0, count, _BLOCK):
            name = "labels.name" if labels else "NULL"
            block = self.db.execute(
                f"SELECT {code('t.name')} AS code, t.name AS id, {name} AS label FROM "
                f"(SELECT name FROM {table} WHERE rowid >= {low} AND rowid < {low + _BLOCK}) AS t {labels}"
            ).fetchnumpy()
            number = numbers.find(block["code"])
            names = self._names_of(block["id"], block["label"] if labels else None)
            if labels or self.by_iri:
                ids.update((int(n), i) for n, i, own in zip(number, block["id"], names, strict=True) if i != own)
            parts.append(TextColumn.of(names))
            order.append(number)
            self.progress("write names", low + len(number), count)
        row = np.empty(count, np.int64)
        row[np.concatenate([np.empty(0, np.int32), *order])] = np.arange(count)
        joined = TextColumn.joined(parts)
        del parts
        self.seconds["write names"] = self.seconds.get("write names", 0.0) + time.perf_counter() - start
        return joined.gather(row), ids

    def _names_of(self, ids: NDArray[Any], labels: NDArray[Any] | None) -> list[str]:
        """Return the name of each id: its label, else the last part of an IRI, else the id."""
        own = [iri_name(i) for i in ids] if self.by_iri else list(ids)
        if labels is None:
            return own
        missing = np.ma.getmaskarray(labels)
        return [name if no_label else label for name, label, no_label in zip(own, labels, missing, strict=True)]
