"""Choice of the format and columns of a file of triples, by its first lines: TSV, CSV, RDF and Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from graphwright.data.decoding import SAMPLE, encoding_of, lines, open_bytes, suffix_of
from graphwright.data.duckdb_session import duckdb_session
from graphwright.data.graph_files.dump import Dump, sql_path
from graphwright.data.graph_files.rdf import RDF, RDF_FORMATS, NTriples
from graphwright.data.graph_files.tables import Delimited, Parquet, Quoted
from graphwright.data.records.delimited import split_row
from graphwright.errors import DataError, OptionError

COLUMN_NAMES = (  # usual names of the columns of head, relation and tail
    ("head", "subject", "source", "src", "from", "start", "h", "s", ":start_id"),
    ("relation", "predicate", "property", "rel", "edge", "type", "label", "r", "p", ":type"),
    ("tail", "object", "target", "dst", "to", "end", "t", "o", ":end_id"),
)
_RELATION_COLUMNS = frozenset(["relation", "relationship", "predicate", "property", "attribute", "edge"])
_COMPARED, _MIN_ROWS = 1_000, 3  # rows after the first that it is compared with, and the fewest
_DELIMITERS = ("\t", "|", ",", ";", " ")
_CONVERSIONS = {
    **dict.fromkeys((".dot", ".gv"), "Graphviz: convert it with gv2gml, or in Gephi, to GML"),
    **dict.fromkeys((".cypher", ".cql"), "Cypher: run it in Neo4j, and export JSON with APOC (apoc.export.json.all)"),
    **dict.fromkeys((".dump", ".backup"), "a dump that Neo4j alone reads: load it there, and export JSON with APOC"),
    **dict.fromkeys((".net", ".paj"), "Pajek: convert it in Gephi or with networkx (read_pajek, write_graphml)"),
    **dict.fromkeys((".gdf", ".tlp", ".vna", ".dl"), "a graph of an editor: open it in Gephi, and export GEXF"),
    **dict.fromkeys((".cys", ".xgmml", ".cx", ".cx2", ".sif"), "of Cytoscape: open it there, and export GraphML"),
    **dict.fromkeys((".drawio", ".vsdx"), "a drawing: open it in yEd, and save GraphML"),
    **dict.fromkeys((".hdt", ".n3", ".trix"), "RDF: convert it to N-Triples, for example with riot or hdt2rdf"),
}  # the formats of a suffix that are not read, and the way to one that is
_FORMATS: dict[str, type[Dump]] = {
    ".tsv": Delimited, ".txt": Delimited, ".tab": Delimited, ".edgelist": Delimited, ".csv": Quoted, ".nt": NTriples,
    ".ntriples": NTriples, ".parquet": Parquet, ".pq": Parquet, **dict.fromkeys(RDF_FORMATS, RDF),
}  # fmt: skip


def dump_of(
    path: Path | str,
    *,
    columns: Sequence[str] | None = None,
    mark: str | None = None,
    header: bool | None = None,
    named_graph: str | None = None,
) -> Dump:
    """Return the file of triples at a path; its suffix determines the format (`.gz` may follow).

    `columns` are head, relation and tail, or head and tail, by their names in the header or their numbers from 1; by
    default the first three, unless a header names them. `mark` is the delimiter: by default a tab in TSV and a comma in
    CSV, or another that the first line has. `header`: whether the first line names the columns; detected by default
    (docs/graphs.md says how). `named_graph`: see RDF. Raises DataError for a missing file, format or column.
    """
    if not isinstance(path, str | Path):
        raise OptionError(f"{path!r} is not the path of a file of triples.")
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path} is {'a folder' if path.is_dir() else 'not there'}; import reads a file of triples.")
    kind = _FORMATS.get(suffix_of(path))
    if kind is None:
        if conversion := _CONVERSIONS.get(suffix_of(path)):
            raise DataError(
                f"{path} cannot be read. It is {conversion}; then import that (GraphML, GEXF, GML, JSON, N-Triples)."
            )
        raise DataError(
            f"{path}: no format of triples has this suffix. Read are {', '.join(sorted(_FORMATS))}, .graphml, .gexf, "
            f".gml, .jsonl, .cyjs, and .gz of text. Convert it to one of them, for example to GraphML."
        )
    if columns is not None and len(columns) not in (2, 3):
        raise OptionError(f"columns={list(columns)}: give head, relation and tail, or head and tail.")
    unusable: dict[str, object] = {} if issubclass(kind, Delimited) else {"mark": mark, "header": header}
    unusable |= {"columns": columns} if kind in (NTriples, RDF) else {}
    if wrong := [name for name, value in unusable.items() if value is not None]:
        raise OptionError(f"{path} is {kind.__name__}: leave out {' and '.join(wrong)}, which are for tables as text.")
    if kind is RDF:
        return RDF(path, named_graph)
    if named_graph is not None:
        raise OptionError(f"{path} is {kind.__name__}, which has no named graphs; leave out named_graph.")
    if kind is Parquet:
        return Parquet(path, _parquet_columns(path, columns))
    first = _first_line(path)
    return _table(kind, path, first, columns, mark, header) if issubclass(kind, Delimited) else kind(path)


def _table(
    kind: type[Delimited], path: Path, first: str, columns: Sequence[str] | None, mark: str | None, header: bool | None
) -> Dump:
    """Return a TSV or CSV file, by its first line."""
    if not first:
        raise DataError(f"{path} is empty; expected a triple in each line.")
    if mark is None:
        mark = next((other for other in (kind.delimiter, *_DELIMITERS) if other in first), kind.delimiter)
    if not mark or (kind is Quoted and len(mark) > 1):
        raise OptionError(f"the delimiter of {path} is {mark!r}; give a text that is not empty, one character in CSV.")
    try:
        parts = first.split(mark) if kind is Delimited else split_row(first, mark)
    except (DataError, ValueError) as error:  # ValueError: an invalid delimiter
        raise DataError(f"{path}: its first line cannot be split into columns: {error}.") from error
    names = [part.strip().strip('"?').lower() for part in parts]
    places, is_header = _places(path, names, columns)
    unread = tuple(part.strip() for place, part in enumerate(parts) if is_header and place not in places)
    table = kind(path, mark, len(parts), places, is_header if header is None else header, unread=unread)
    if header is not None or is_header or not _stands_apart(table):
        return table
    named = names[places[1]] in _RELATION_COLUMNS
    return replace(table, header=named, may_have_header=not named)


def _stands_apart(table: Delimited) -> bool:
    """Return whether no part of the first row recurs in its column, while most relations of the next rows do."""
    if table.places[1] < 0:
        return False
    try:
        rows = list(islice(table.parts(), _COMPARED + 1))
    except DataError:  # a malformed row, which is counted when all are read
        return False
    if len(rows) <= _MIN_ROWS or any(part in column[1:] for column in zip(*rows, strict=True) for part in column[:1]):
        return False
    relations = [relation for _, relation, _ in rows[1:]]
    return 2 * len(set(relations)) <= len(relations)


def _first_line(path: Path) -> str:
    """Return the first line that is not blank or a comment, "" if there is none.

    Raises DataError for a file that cannot be read, and for text in another encoding than UTF-8 as judged by its first
    bytes: DuckDB would lose its rows or misread them.
    """
    try:
        with open_bytes(path) as file:
            head = file.read(SAMPLE)
    except OSError as error:
        raise DataError(f"{path} cannot be opened ({error}). Change its permissions; nothing was imported.") from error
    encoding = encoding_of(head)
    if encoding.startswith("utf-8") and b"\0" not in head:
        return next((line for line in lines(path) if line.strip() and not line.startswith("#")), "")
    if encoding.startswith("utf-8"):
        raise DataError(f"{path} holds NUL bytes, so it is not text; import reads triples as text in UTF-8.")
    name = encoding.upper().replace("_", "-").replace("-LE", "LE").replace("-BE", "BE")  # as iconv spells it
    raise DataError(
        f"{path} is not in UTF-8 but, as it seems, in {name}; nothing was imported. Save it as UTF-8 where it was "
        f"made, or convert it (unpacked), for example with iconv -f {name} -t UTF-8."
    )


def _places(path: Path, names: Sequence[str], columns: Sequence[str] | None) -> tuple[tuple[int, int, int], bool]:
    """Return the places of head, relation and tail, and whether the first line is a header."""
    if not columns:
        head, relation, tail = (next((names.index(n) for n in known if n in names), -1) for known in COLUMN_NAMES)
        if head >= 0 and tail >= 0 and len({head, relation, tail}) == 3:
            return (head, relation, tail), True
        if len(names) in (2, 3):
            return (0, 1 if len(names) == 3 else -1, len(names) - 1), False
        raise DataError(
            f"{path}: its first line has {len(names)} parts, and a triple has 3. Name head, relation and tail: "
            f"--columns 1,2,3, or their names."
        )
    requested = [str(column).strip().lower() for column in columns]
    numbers = [names.index(c) if c in names else int(c) - 1 if c.isdecimal() else -1 for c in requested]
    for column, number in zip(requested, numbers, strict=True):
        if not 0 <= number < len(names):
            raise DataError(f"{path} has no column {column!r}; its first line has {', '.join(map(repr, names))}.")
    return (numbers[0], numbers[1] if len(numbers) == 3 else -1, numbers[-1]), not set(requested).isdisjoint(names)


def _parquet_columns(path: Path, columns: Sequence[str] | None) -> tuple[str, str, str]:
    """Return the names of the columns that are head, relation and tail."""
    import duckdb

    try:
        with duckdb_session() as db:
            rows = db.execute(f"DESCRIBE SELECT * FROM read_parquet({sql_path(path)})").fetchall()
    except duckdb.Error as error:
        reason = str(error).strip().partition("\n")[0]
        raise DataError(f"{path} is not a readable Parquet file: {reason}") from error
    names = [str(row[0]) for row in rows]
    (head, relation, tail), _ = _places(path, [name.lower() for name in names], columns)
    if relation < 0:
        raise DataError(f"{path}: a table of triples has a column of relations; name it with --columns.")
    return names[head], names[relation], names[tail]
