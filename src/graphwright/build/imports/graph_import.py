"""Import of knowledge graphs from files, out of core: DuckDB reads them, labels name ids, numbers replace both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.build.imports.assembly import Qualifiers, with_statements
from graphwright.data.decoding import mixes_line_ends
from graphwright.data.duckdb_session import duckdb_session, spilling_to
from graphwright.data.graph_files.dump import LABEL, LINK, TRIPLE, Dump, MalformedRows
from graphwright.data.graph_files.rdf import FURTHER, RDF, NTriples, add_functions, iri_name
from graphwright.data.graph_files.rdf_parts import Claim, claims_of, edges_of
from graphwright.engines import repeated
from graphwright.errors import DataError, StoreError
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns, Ids32
from graphwright.graph.storage import load_array
from graphwright.kernels.ranking import Numbering
from graphwright.search.name_index import MAX_NORMALISED
from graphwright.store.changes import Progress


def collect_labels(db: Any, files: Sequence[Dump], names: Sequence[Dump]) -> bool:
    """Write the labels of ids into the tables `labels`, one for an id, and `all_labels`; return whether there are any.

    `names`: files with an id and a name in each row. The table `codes` has the roles of the rows of `files`.
    """
    labels = [f"SELECT head AS id, tail AS name, 0 AS rank FROM ({f.rows()}) WHERE role = {TRIPLE}" for f in names]
    triples = [file.rows() for file in files if isinstance(file, NTriples)]
    if _has_role(db, LABEL):
        labels += [f"SELECT head AS id, tail AS name, rank FROM ({rows}) WHERE role = {LABEL}" for rows in triples]
    db.execute("CREATE OR REPLACE TABLE all_labels (id VARCHAR, name VARCHAR, rank INTEGER)")
    for part in labels:
        db.execute(f"INSERT INTO all_labels {part}")
    for rows in triples if _has_role(db, LINK) else ():
        db.execute(
            f"INSERT INTO all_labels SELECT link.tail, name, rank FROM (SELECT head, tail FROM ({rows}) WHERE "
            f"role = {LINK}) AS link JOIN all_labels ON id = link.head"
        )
    db.execute(  # of extracts of Wikidata, which lack the rows about properties
        "INSERT INTO all_labels SELECT replace(id, '/entity/P', unnest(['/prop/direct/P', '/prop/qualifier/P', "
        "'/prop/reference/P'])), name, rank FROM all_labels WHERE contains(id, '/entity/P')"
    )
    db.execute(
        "CREATE OR REPLACE TABLE labels AS SELECT id, arg_min(name, (rank, name)) AS name FROM all_labels "
        f"WHERE rank < {FURTHER} GROUP BY id"
    )
    return bool(db.execute("SELECT count(*) FROM all_labels").fetchone()[0])


def _has_role(db: Any, role: int) -> bool:
    return bool(db.execute(f"SELECT count(*) FROM codes WHERE role = {role}").fetchone()[0])


def labels_of(db: Any, ids: Iterable[str]) -> dict[str, str]:
    """Return the names of those of some ids that have one."""
    listed = "(SELECT unnest(?::VARCHAR[]))"
    return dict(db.execute(f"SELECT id, name FROM labels WHERE id IN {listed}", [list(ids)]).fetchall())


def further_labels(db: Any, hashed: Callable[[str], str], numbers: Numbering) -> dict[int, list[str]]:
    """Return the labels of nodes beside their names; none if names are not folded. `hashed`: the hash of a column."""
    further: dict[int, list[str]] = {}
    if len(numbers) > MAX_NORMALISED:
        return further
    rows = db.execute(
        f"SELECT DISTINCT {hashed('a.id')} AS code, a.name AS name FROM all_labels AS a "
        "JOIN terms ON terms.name = a.id LEFT JOIN labels ON labels.id = a.id "
        "WHERE a.name IS DISTINCT FROM labels.name ORDER BY a.name"
    ).fetchnumpy()
    for node, name in zip(numbers.find(rows["code"]).tolist(), rows["name"], strict=True):
        further.setdefault(node, []).append(name)
    return further


_BLOCK = 2_000_000  # rows in memory at a time
_MAX_TRIPLES = 2**31 - 1
_SALTS = 8


@dataclass
class ImportedGraph:
    """Columns of a graph that was read from files.

    `ids`: the id of a node in the file, where it is not its name. `labels`: the further labels of a node. `malformed`:
    the number of rows that were left out, the first of them in `examples`. `left_out`: the number of other parts that
    were, by what they are. `seconds` by part of the work. `database`: facts about the database that was read.
    """

    columns: Columns
    files: Sequence[Path] = ()
    ids: Mapping[int, str] = field(default_factory=dict)
    labels: Mapping[int, Sequence[str]] = field(default_factory=dict)
    malformed: int = 0
    examples: list[str] = field(default_factory=list)
    left_out: Mapping[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    database: Mapping[str, object] = field(default_factory=dict)

    def facts(self, seconds: Mapping[str, float]) -> dict[str, object]:
        """Return what the store keeps about the import; `seconds`: of the search structures, by part of the work."""
        return {
            "files": [str(path.resolve()) for path in self.files],
            "relations": len(self.columns.relations),
            "malformed": self.malformed,
            "examples": self.examples,
            "left_out": dict(self.left_out),
            "seconds": {part: round(value, 3) for part, value in {**self.seconds, **seconds}.items()},
            **({"database": dict(self.database)} if self.database else {}),
        }


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
    try:
        with duckdb_session(folder / "dump.db", spilling_to(folder / "spilled")) as db:
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
    def __init__(
        self,
        db: Any,
        files: Sequence[Dump],
        names: Sequence[Dump],
        folder: Path,
        max_malformed: int | None,
        progress: Progress,
    ) -> None:
        self.db, self.folder, self.max_malformed, self.progress = db, folder, max_malformed, progress
        self.seconds: dict[str, float] = {}
        self.by_iri = any(isinstance(file, NTriples | RDF) for file in files)
        self.files, self.names, self.paths = list(files), list(names), [file.path for file in files]
        for number, file in enumerate(files):
            if isinstance(file, RDF):
                (part := folder / f"rdf-{number}").mkdir()
                self.files[number] = file.to_ntriples(part)
        # The tables are read twice and then deleted: compressing them is not worth the work.
        db.execute("SET force_compression = 'uncompressed'")
        if any(isinstance(file, NTriples) for file in (*self.files, *self.names)):
            add_functions(db)

    def read(self, salt: int) -> ImportedGraph | None:
        """Read all files; return None if two names have the same hash with this salt."""
        self.hash = self._hash(salt)
        malformed = self._read_rows()
        with self._timed("collect names"):
            labelled = collect_labels(self.db, self.files, self.names)
        claims, left_out = claims_of(
            self.db, self._rows("head, relation, tail, role"), self.hash.format, partial(labels_of, self.db)
        )
        count = self._triples(malformed)
        self._collect_terms()
        heads, relation, tails, nodes, relations = self._numbered(count)
        if len(nodes) != self._count("terms") or len(relations) != self._count("relations"):
            return None
        names, ids = self._named("terms", nodes, labelled)
        labels, _ = self._named("relations", relations, labelled)
        kinds = np.zeros(len(names), np.uint8)
        columns = Columns(names=names, heads=heads, tails=tails, relation=relation, relations=labels, kinds=kinds)
        columns = with_statements(columns, self._statements(claims, nodes))
        further = further_labels(self.db, self.hash.format, nodes) if labelled else {}
        bad = malformed.count, malformed.examples
        return ImportedGraph(columns, self.paths, ids, further, *bad, left_out, self.seconds)

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
        start = time.perf_counter()
        with repeated(lambda: self.progress(work, max(int(self.db.query_progress()), 0), 100), 0.5):
            yield
        self.progress(work, 100, 100)
        self._add_seconds(work, start)

    def _read_rows(self) -> MalformedRows:
        self.db.execute("CREATE OR REPLACE TABLE codes (head UBIGINT, relation UBIGINT, tail UBIGINT, role UTINYINT)")
        malformed = MalformedRows(self.db, self.max_malformed)
        for file in self.files:
            first = self._count("codes")
            for table in ("reject_errors", "reject_scans"):
                self.db.execute(f"DROP TABLE IF EXISTS {table}")
            with self._timed("read triples"):
                columns = ", ".join(map(self.hash.format, ("head", "relation", "tail")))
                self.db.execute(f"INSERT INTO codes SELECT {columns}, role FROM ({file.rows(malformed.rejects)})")
            malformed.check(file, first)
        return malformed

    def _triples(self, malformed: MalformedRows) -> int:
        """Return the number of triples. Raises DataError if there is none, or too many."""
        count = self._count(f"codes WHERE role = {TRIPLE}")
        if not count:
            shown = f" Malformed: {'; '.join(malformed.examples)}." if malformed.examples else ""
            raise DataError(f"{', '.join(map(str, self.paths))}: there is no triple.{shown}")
        if count > _MAX_TRIPLES:
            raise DataError(f"there are {count:,} triples; at most {_MAX_TRIPLES:,} can be imported.")
        return count

    def _rows(self, columns: str) -> str:
        return " UNION ALL ".join(f"(SELECT {columns} FROM ({file.rows()}))" for file in self.files)

    def _collect_terms(self) -> None:
        """Write the distinct nodes and relations into tables."""
        rows = f"SELECT head, relation, tail FROM ({self._rows('head, relation, tail, role')}) WHERE role = {TRIPLE}"
        if self._count("parts"):
            rows += "".join(f" AND {end} NOT IN (FROM parts)" for end in ("head", "relation", "tail"))
            rows += " UNION ALL FROM claims"
        for table, names in (("terms", "unnest([head, tail])"), ("relations", "relation")):
            with self._timed("collect names"):
                self.db.execute(
                    f"CREATE OR REPLACE TABLE {table} AS SELECT name FROM (SELECT {names} AS name FROM ({rows})) "
                    "GROUP BY name"
                )

    def _statements(self, claims: Sequence[Claim], nodes: Numbering) -> dict[int, list[Qualifiers]]:
        """Return the fields of the statements that edges make."""
        told = {number: claim.fields for number, claim in enumerate(claims) if claim.fields}
        terms = list(dict.fromkeys(term for fields in told.values() for field in fields for term in field))
        if not terms:
            return {}
        hashes = self.db.execute(
            f"SELECT {self.hash.format('term')} AS code FROM (SELECT unnest(?::VARCHAR[]) AS term)", [terms]
        ).fetchnumpy()["code"]
        node_of = dict(zip(terms, nodes.find(hashes).tolist(), strict=True))
        name_of = {term: iri_name(term) for term in terms} | labels_of(self.db, terms)
        statements: dict[int, list[Qualifiers]] = {}
        for number, edge in sorted(edges_of(self.db, self.hash.format).items()):
            if number in told:
                fields = tuple((name_of[name], name_of[value], node_of[value]) for name, value in told[number])
                statements.setdefault(edge, []).append(fields)
        return statements

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
        """Return the names of numbered ids: the label, else the end of an IRI, else the id; and the ids that differ."""
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
