"""From dumps of a knowledge graph to its columns, out of core: DuckDB reads, a table of hashes numbers the names."""

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

from graphwright.data import knowledge_graphs
from graphwright.data.knowledge_graphs import BAD, LABEL, TRIPLE, Dump, GraphML, NTriples, iri_name
from graphwright.errors import DataError, StoreError
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns, Ids32
from graphwright.graph.snapshot import load_array
from graphwright.index.build import Progress
from graphwright.kernels.numbering import Numbering

__all__ = ["Imported", "read_dumps"]

_BLOCK = 2_000_000  # rows that are in memory at a time
_SAMPLE = 10_000  # rows that are looked at before all are read
_SHOWN = 5  # malformed rows that are shown
_MALFORMED, _SHARE = 100, 0.1  # rows that may be malformed, and what part of a file, unless a number is given
_MOST = 2**31 - 1


@dataclass
class Imported:
    """What a dump held: the columns of its graph, each name of which is that of an id in `ids` where they differ.

    `ids`: node numbers and the ids that they had in the file, for those that go by a name. `malformed` rows were left
    out, of which `shown` are the first; `seconds` by part of the work.
    """

    columns: Columns
    ids: Mapping[int, str] = field(default_factory=dict)
    malformed: int = 0
    shown: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def read_dumps(
    files: Sequence[Dump],
    folder: Path,
    *,
    names: Sequence[Dump] = (),
    malformed: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Read triples into the columns of a graph; the columns of edges are memory-mapped files in `folder`.

    Nodes are numbered by first appearance and edges in the order given, repeats kept, as `Graph.from_triples` does.
    `names`: rows of an id and the name that nodes and relations of this id go by. `malformed`: how many rows may be
    left out as malformed, unless given 100, and one in ten of a file; with more, a DataError shows the first. `memory`:
    bytes that DuckDB may use, half of the machine's unless given; what does not fit goes to `folder` meanwhile.

    A name is known by the 64-bit hash that DuckDB gives it, so names are held once, not once an edge. Should two names
    of a dump have the same hash, that shows in their count, and hashes of another salt are taken.
    """
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    try:
        with duckdb.connect(str(folder / "dump.db"), config=_limits(folder, memory)) as db:
            reader = _Reader(db, files, names, folder, malformed, progress or (lambda what, done, total: None))
            return reader.read()
    except duckdb.OutOfMemoryException as error:
        raise StoreError(
            f"{folder}: memory or disk did not suffice ({_said(error)}). Free some, then again."
        ) from error
    except duckdb.Error as error:
        raise DataError(f"{', '.join(str(f.path) for f in files)}: cannot be read ({_said(error)}).") from error


def _said(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _limits(folder: Path, memory: int | None) -> dict[str, str | bool | int | float | list[str]]:
    """Return what DuckDB is told about the machine."""
    if memory is None:
        try:
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        except (AttributeError, OSError, ValueError):
            memory = 4 * 2**30
    return {"memory_limit": f"{max(memory // 2**20, 256)}MB", "temp_directory": str(folder / "spilled")}


class _Collision(Exception):
    """Two names have the same hash."""


class _Reader:
    """One import: a database, and what is read into it."""

    def __init__(
        self,
        db: Any,
        files: Sequence[Dump],
        names: Sequence[Dump],
        folder: Path,
        malformed: int | None,
        progress: Progress,
    ) -> None:
        self.db = db
        self.folder = folder
        self.malformed = _MALFORMED if malformed is None else malformed
        self.share = _SHARE if malformed is None else 1.0
        self.progress = progress
        self.found = 0
        self.shown: list[str] = []
        self.seconds: dict[str, float] = {}
        self.by_iri = any(isinstance(file, NTriples) for file in files)
        self.files, written = self._rewritten(files)
        self.names = [*names, *written]
        # What is kept is read twice and then thrown away: not worth the work of making it small.
        db.execute("SET force_compression = 'uncompressed'")
        for name in {name for file in (*files, *names) for name in file.functions}:
            db.create_function(name, getattr(knowledge_graphs, name), ["VARCHAR"], "VARCHAR", type="native")

    def read(self) -> Imported:
        """Read everything."""
        for file in self.files:
            self._look(file)
        for salt in range(8):
            try:
                return self._imported(self._hash(salt))
            except _Collision:
                continue
        raise DataError("names of the dump have the same hash in eight ways of hashing; please report this.")

    def _rewritten(self, files: Sequence[Dump]) -> tuple[list[Dump], list[Dump]]:
        """Return the files, GraphML turned into tables, and the tables of names that came of it."""
        plain: list[Dump] = []
        names: list[Dump] = []
        for at, file in enumerate(files):
            if isinstance(file, GraphML):
                (part := self.folder / f"graphml-{at}").mkdir()
                edges, named = file.to_csv(part)
                plain.append(edges)
                names.append(named)
            else:
                plain.append(file)
        return plain, names

    @contextmanager
    def _watched(self, what: str) -> Iterator[None]:
        """Tell how far DuckDB is, from another thread, and note how long it took."""
        done, begun = threading.Event(), time.perf_counter()

        def tell() -> None:
            while not done.wait(0.5):
                self.progress(what, max(int(self.db.query_progress()), 0), 100)

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            done.set()
            teller.join()
        self.progress(what, 100, 100)
        self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - begun

    def _look(self, file: Dump) -> None:
        """Refuse a file that is no dump after its first rows, not after the last."""
        self._forget_rejects()
        counts = dict(
            self.db.execute(
                f"SELECT role, count(*) FROM (SELECT role FROM ({file.rows()}) LIMIT {_SAMPLE}) GROUP BY role"
            ).fetchall()
        )
        bad = counts.get(BAD, 0) + self._rejected()
        if bad > self.malformed and bad > counts.get(TRIPLE, 0):
            shown = self._examples(file, f"SELECT role FROM ({file.rows()}) LIMIT {_SAMPLE}")
            raise DataError(
                f"{file.path} is not made of triples: of its first {_SAMPLE:,} rows at most, {bad:,} are malformed. "
                f"{'; '.join(shown)}. Expected head, relation and tail in each."
            )

    def _hash(self, salt: int) -> Callable[[str], str]:
        # A prefix changes what every step of a hash sees; a suffix might not.
        return lambda text: f"hash({text})" if not salt else f"hash(chr({salt}) || {text})"

    def _forget_rejects(self) -> None:
        for table in ("reject_errors", "reject_scans"):
            self.db.execute(f"DROP TABLE IF EXISTS {table}")

    def _rejected(self) -> int:
        """Return how many rows the last scan could not part."""
        there = self.db.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors'").fetchone()
        if not there[0]:
            return 0
        return int(self.db.execute("SELECT count(DISTINCT (line, byte_position)) FROM reject_errors").fetchone()[0])

    def _examples(self, file: Dump, roles: str) -> list[str]:
        """Return the first malformed rows of the last scan, with where they stand."""
        rejects: list[tuple[int, str, str]] = []
        if self._rejected():
            rejects = self.db.execute(
                "SELECT line, any_value(error_type), any_value(csv_line) FROM reject_errors GROUP BY line ORDER BY line"
            ).fetchall()
        found = [(line, f"line {line}: {text!r} ({error.lower()})") for line, error, text in rejects[:_SHOWN]]
        rows = self.db.execute(
            f"SELECT place FROM (SELECT row_number() OVER () - 1 AS place, role FROM ({roles})) WHERE role = {BAD} "
            f"ORDER BY place LIMIT {_SHOWN}"
        ).fetchall()
        for (row,) in rows:
            for line, *_ in rejects:  # those before it are no rows, and lines all the same
                row += line - 1 - file.skipped <= row
            found.append((row + 1 + file.skipped, file.row_text(row)))
        return [f"{file.path.name}, {text}" for _, text in sorted(found)[:_SHOWN]]

    def _codes(self, code: Callable[[str], str]) -> int:
        """Put the hashes of all triples into a table; return how many there are."""
        self.db.execute("CREATE OR REPLACE TABLE codes (head UBIGINT, relation UBIGINT, tail UBIGINT, role UTINYINT)")
        self.found, self.shown = 0, []
        for file in self.files:
            begun = self.db.execute("SELECT count(*) FROM codes").fetchone()[0]
            self._forget_rejects()
            with self._watched("read triples"):
                self.db.execute(
                    f"INSERT INTO codes SELECT {code('head')}, {code('relation')}, {code('tail')}, role "
                    f"FROM ({file.rows(self.malformed + 1)})"
                )
            roles = f"SELECT role FROM codes WHERE rowid >= {begun}"
            counts = dict(self.db.execute(f"SELECT role, count(*) FROM ({roles}) GROUP BY role").fetchall())
            bad = counts.get(BAD, 0) + self._rejected()
            self.found += bad
            if len(self.shown) < _SHOWN and bad:
                self.shown += self._examples(file, roles)
            if self.found > self.malformed:
                raise DataError(
                    f"{file.path}: {self.found:,} rows or more are malformed, and {self.malformed:,} were allowed for; "
                    f"nothing was imported. {'; '.join(self.shown[:_SHOWN])}. Mend them, or allow for more."
                )
            rows = bad + counts.get(TRIPLE, 0) + counts.get(LABEL, 0)
            if bad > max(self.share * rows, 1):  # one odd line, a footer perhaps, is no sign of a wrong form
                raise DataError(
                    f"{file.path}: {bad:,} of {rows:,} rows are malformed, more than one in ten; nothing was "
                    f"imported. {'; '.join(self._examples(file, roles))}. Mend them, or allow for more: --max-malformed."
                )
        count = int(self.db.execute(f"SELECT count(*) FROM codes WHERE role = {TRIPLE}").fetchone()[0])
        if not count:
            found = f" Malformed: {'; '.join(self.shown[:_SHOWN])}." if self.shown else ""
            raise DataError(f"{', '.join(str(file.path) for file in self.files)}: there is no triple.{found}")
        if count > _MOST:
            raise DataError(f"there are {count:,} triples, and {_MOST:,} at most can be numbered.")
        return count

    def _imported(self, code: Callable[[str], str]) -> Imported:
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
        return Imported(columns, ids, self.found, self.shown[:_SHOWN], self.seconds)

    def _terms(self) -> None:
        """Put each distinct node and relation into a table of its own, and the names of ids into one."""
        rows = " UNION ALL ".join(f"(SELECT head, relation, tail, role FROM ({file.rows()}))" for file in self.files)
        for table, names in (("terms", "unnest([head, tail])"), ("relations", "relation")):
            with self._watched("collect names"):
                self.db.execute(
                    f"CREATE OR REPLACE TABLE {table} AS SELECT name FROM (SELECT {names} AS name FROM ({rows}) "
                    f"WHERE role = {TRIPLE}) GROUP BY name"
                )
        given = [
            f"SELECT head AS id, tail AS name, 0 AS rank FROM ({f.rows()}) WHERE role = {TRIPLE}" for f in self.names
        ]
        if self.db.execute(f"SELECT count(*) FROM codes WHERE role = {LABEL}").fetchone()[0]:
            given += [
                f"SELECT head AS id, tail AS name, if(plain, 1, 2) AS rank FROM ({f.rows()}) WHERE role = {LABEL}"
                for f in self.files
                if isinstance(f, NTriples)
            ]
        if given:
            with self._watched("collect names"):
                self.db.execute(
                    "CREATE OR REPLACE TABLE labels AS SELECT id, arg_min(name, (rank, name)) AS name "
                    f"FROM ({' UNION ALL '.join(given)}) GROUP BY id"
                )
        self.labelled = bool(given)

    def _numbered(self, count: int) -> tuple[Ids32, Ids32, Ids32, Numbering, Numbering]:
        """Number nodes and relations by first appearance; return the columns of edges, and both numberings."""
        begun = time.perf_counter()
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
            ends = np.stack((block["head"], block["tail"]), axis=1)  # a head is met before its tail
            try:
                columns[0][at:end], columns[2][at:end] = nodes.take(ends).reshape(-1, 2).T
                columns[1][at:end] = relations.take(block["relation"])
            except ValueError as error:
                raise DataError(f"the dump is too large: {error}") from error
            at = end
            self.progress("number nodes", at, count)
        for column in columns:
            column.flush()
        del columns
        self.seconds["number nodes"] = time.perf_counter() - begun
        heads, relation, tails = (load_array(path) for path in paths)
        return heads, relation, tails, nodes, relations

    def _named(self, table: str, code: Callable[[str], str], numbers: Numbering) -> tuple[TextColumn, dict[int, str]]:
        """Return the names of a numbering in its order, and the ids of those that go by another name."""
        begun, labels = time.perf_counter(), ""
        count = int(self.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        if count != len(numbers):
            raise _Collision
        if self.labelled:
            labels = "LEFT JOIN labels ON labels.id = t.name"
        parts: list[TextColumn] = []
        placed: list[NDArray[np.int32]] = []
        ids: dict[int, str] = {}
        for low in range(0, count, _BLOCK):
            name = "labels.name" if labels else "NULL"
            block = self.db.execute(
                f"SELECT {code('t.name')} AS code, t.name AS id, {name} AS label FROM "
                f"(SELECT name FROM {table} WHERE rowid >= {low} AND rowid < {low + _BLOCK}) AS t {labels}"
            ).fetchnumpy()
            number = numbers.find(block["code"])
            called = self._called(block["id"], block["label"] if labels else None)
            ids.update((int(n), i) for n, i, c in zip(number, block["id"], called, strict=True) if i != c) if (
                labels or self.by_iri
            ) else None
            parts.append(TextColumn.of(called))
            placed.append(number)
            self.progress("write names", low + len(number), count)
        place = np.concatenate([np.empty(0, np.int32), *placed])
        row = np.empty(count, np.int64)
        row[place] = np.arange(count)
        joined = TextColumn.joined(parts)
        del parts
        self.seconds["write names"] = self.seconds.get("write names", 0.0) + time.perf_counter() - begun
        return joined.gather(row), ids

    def _called(self, ids: NDArray[Any], labels: NDArray[Any] | None) -> list[str]:
        """Return the name of each id: its label, else the last part of an IRI, else itself."""
        own = [iri_name(i) for i in ids] if self.by_iri else list(ids)
        if labels is None:
            return own
        missing = np.ma.getmaskarray(labels)
        return [one if gone else label for one, label, gone in zip(own, labels, missing, strict=True)]
