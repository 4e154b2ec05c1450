"""Files of knowledge graphs: TSV, CSV, RDF, Parquet and GraphML.

Each format gives a query for DuckDB whose rows are `head`, `relation`, `tail` and `role`, in the order of the file.
Only the first lines are read here, so a file may be larger than memory.
"""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from graphwright.data.decoding import SAMPLE, encoding_of, lines, open_bytes, suffix_of
from graphwright.data.duckdb_session import duckdb_session
from graphwright.data.nesting import ShallowJSON, ShallowXML
from graphwright.data.records import split_row, table_rows, without_wildcards
from graphwright.errors import DataError, OptionError

__all__ = [
    "BAD",
    "LABEL",
    "NO_RELATION",
    "SKIPPED",
    "TRIPLE",
    "Dump",
    "GraphML",
    "NTriples",
    "RDF",
    "dump_of",
    "graphml_elements",
    "iri_name",
    "unescaped",
]

TRIPLE, LABEL, BAD, SKIPPED = range(4)
"""Roles of a row: a triple; a name (`tail`) of the node `head`; malformed; a comment or blank."""

NO_RELATION = "linked to"
"""Relation of an edge in a file without relations."""

_COLUMNS = ("head", "relation", "tail")
_COLUMN_NAMES = (
    ("head", "subject", "source", "src", "from", "start", "h", "s", ":start_id"),
    ("relation", "predicate", "property", "rel", "edge", "type", "label", "r", "p", ":type"),
    ("tail", "object", "target", "dst", "to", "end", "t", "o", ":end_id"),
)
_DELIMITERS = ("\t", "|", ",", ";", " ")
_MAX_LINE = 16 * 2**20  # bytes
# Predicates whose object is a name of their subject.
_LABELS = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://rdf.freebase.com/ns/type.object.name",
)
_ATTRIBUTE = "urn:graphwright:attribute:"  # predicates of attributes that our own export writes
_IRI = r"<([^<>\"{}|^`\x00-\x20]*)>"
_BLANK = r"_:[^\s<>\"]+"
_LITERAL = r"\"((?:[^\"\\]|\\.)*)\"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^<[^\s<>\"]*>)?"
_STATEMENT = rf"^\s*(?:{_IRI}|({_BLANK}))\s*{_IRI}\s*(?:{_IRI}|({_BLANK})|{_LITERAL})\s*\.\s*(?:#.*)?$"
_PARTS = ("s", "sb", "p", "o", "ob", "l", "lang")
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def _sql_text(text: str) -> str:
    """Return a text as a string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _sql_path(path: Path) -> str:
    return _sql_text(without_wildcards(path))


@dataclass(frozen=True)
class Dump(ABC):
    """A file of triples; each format is a subclass.

    DuckDB lists rows that cannot be split into columns in its table `reject_errors`.
    """

    path: Path

    @abstractmethod
    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows; DuckDB lists at most `rejects` rejected rows, 0 for all."""

    @property
    def skipped(self) -> int:
        """Number of lines before the first row."""
        return 0

    def row_text(self, row: int) -> str:
        """Return the place and the text of a row; rows are counted from 0, rejected ones included."""
        row += self.skipped
        with open_bytes(self.path) as file:
            line = next(islice(file, row, row + 1), b"")
        return f"line {row + 1}: {line.decode('utf-8', 'replace').rstrip()!r}"

    def _lines(self, rejects: int) -> str:
        """Return the table of the file's lines."""
        return (
            f"read_csv({_sql_path(self.path)}, auto_detect=false, delim=e'\\x01', header=false, quote='', escape='', "
            f"columns={{'line': 'VARCHAR'}}, skip={self.skipped}, store_rejects=true, rejects_limit={rejects}, "
            f"max_line_size={_MAX_LINE})"
        )


@dataclass(frozen=True)
class Delimited(Dump):
    """Lines of parts between delimiters, such as tabs, without quoting.

    `places` are those of head, relation and tail among the `width` parts, from 0; a missing relation is at -1.
    """

    delimiter: str = "\t"
    width: int = 3
    places: tuple[int, int, int] = (0, 1, 2)
    header: bool = False

    @property
    def skipped(self) -> int:
        """Number of lines before the first row."""
        return int(self.header)

    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows."""
        # Trimming takes more time than all other work; parts between tabs are not trimmed.
        trim = "" if self.delimiter == "\t" else "trim"
        head, relation, tail = (f"{trim}(part[{place + 1}])" for place in self.places)
        relation = _sql_text(NO_RELATION) if self.places[1] < 0 else relation
        # Lists of edges without relations have comments of any number of words.
        comment = "starts_with(line, '#')"
        if self.places[1] >= 0:
            comment = f"({comment} AND width <> {self.width})"
        split = f"SELECT line, string_split(line, {_sql_text(self.delimiter)}) AS part FROM {self._lines(rejects)}"
        return (
            f"SELECT head, relation, tail, CASE WHEN {comment} THEN {SKIPPED} WHEN width = {self.width} AND "
            f"head <> '' AND relation <> '' AND tail <> '' THEN {TRIPLE} WHEN line IS NULL OR trim(line) = '' "
            f"THEN {SKIPPED} ELSE {BAD} END AS role FROM (SELECT line, len(part) AS width, "
            f"{head} AS head, {relation} AS relation, {tail} AS tail FROM ({split}))"
        )


@dataclass(frozen=True)
class NTriples(Dump):
    """RDF as N-Triples. A node is named by rdfs:label or the like, else by the last part of its IRI.

    Of several labels the name is one in English or without a language; the others are further names of the node.

    A literal is a node named by its text; its language and type are left out. The query calls `unescaped`.
    """

    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows."""
        parts = ", ".join(_sql_text(part) for part in _PARTS)
        statements = (
            f"SELECT line, regexp_extract(line, {_sql_text(_STATEMENT)}, [{parts}]) AS t, "
            f"contains(line, e'\\\\') AS escaped FROM {self._lines(rejects)}"
        )
        head, tail = "t.s || t.sb", "t.o || t.ob || t.l"
        labels = ", ".join(_sql_text(iri) for iri in _LABELS)

        def text_of(part: str) -> str:  # escapes are rare, and left to Python
            return f"CASE WHEN escaped THEN unescaped({part}) ELSE {part} END"

        return (
            f"SELECT {text_of(head)} AS head, {text_of('t.p')} AS relation, {text_of(tail)} AS tail, "
            f"CASE WHEN line IS NULL OR trim(line) = '' OR starts_with(ltrim(line), '#') THEN {SKIPPED} "
            f"WHEN starts_with(t.p, '{_ATTRIBUTE}') THEN {SKIPPED} "
            f"WHEN t.p = '' OR {head} = '' OR {tail} = '' THEN {BAD} "
            f"WHEN t.l <> '' AND t.p IN ({labels}) THEN {LABEL} ELSE {TRIPLE} END AS role, "
            f"t.lang IN ('', 'en') AS plain FROM ({statements})"
        )


@dataclass(frozen=True)
class Quoted(Delimited):
    """CSV, whose parts may be in quotation marks; a row may have several lines."""

    delimiter: str = ","

    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows."""
        columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(self.width))
        table = (
            f"read_csv({_sql_path(self.path)}, auto_detect=false, delim={_sql_text(self.delimiter)}, quote='\"', "
            f"escape='\"', header={str(self.header).lower()}, columns={{{columns}}}, store_rejects=true, "
            f"rejects_limit={rejects}, max_line_size={_MAX_LINE})"
        )
        return _with_roles(table, *(f"c{place}" if place >= 0 else _sql_text(NO_RELATION) for place in self.places))

    def row_text(self, row: int) -> str:
        """Return the number of the record, and the record."""
        row += self.skipped
        cells = next(islice(table_rows(lines(self.path), self.delimiter, f"{self.path}, "), row, row + 1), (0, []))[1]
        return f"record {row + 1}: {self.delimiter.join(cells)!r}"


@dataclass(frozen=True)
class Parquet(Dump):
    """A Parquet table with a column each for head, relation and tail."""

    columns: tuple[str, str, str] = ("head", "relation", "tail")

    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows."""
        parts = ('CAST("{}" AS VARCHAR)'.format(name.replace('"', '""')) for name in self.columns)
        return _with_roles(f"read_parquet({_sql_path(self.path)})", *parts)

    def row_text(self, row: int) -> str:
        """Return the number of the row."""
        return f"row {row + 1}"


def _with_roles(table: str, *parts: str) -> str:
    columns = zip((f"trim(coalesce({part}, ''), e' \\t\\r\\n')" for part in parts), _COLUMNS, strict=True)
    return (
        f"SELECT *, CASE WHEN head = '' OR relation = '' OR tail = '' THEN {BAD} ELSE {TRIPLE} END AS role "
        f"FROM (SELECT {', '.join(f'{part} AS {name}' for part, name in columns)} FROM {table})"
    )


@dataclass(frozen=True)
class GraphML(Dump):
    """GraphML, as networkx, igraph, yEd and Gephi write it; `to_csv` converts it in one pass.

    A node is named by its data `name`, `label` or `title`, else by its id; an edge's relation is its data `relation`,
    `predicate`, `label`, `type` or `name`, else "linked to".
    """

    def rows(self, rejects: int = 0) -> str:
        """Raise DataError: only the CSV files of `to_csv` have a query."""
        raise DataError(f"{self.path}: GraphML is converted before it is read.")

    def to_csv(self, folder: Path) -> tuple[Quoted, Quoted]:
        """Write edges and names into a folder as CSV, and return both; a row of names is id, "name", name.

        Raises DataError with the line for a file that is not GraphML, or is cut short.
        """
        edges, names = folder / "edges.csv", folder / "names.csv"
        with (
            edges.open("w", newline="", encoding="utf-8", errors="replace") as edge_file,
            names.open("w", newline="", encoding="utf-8", errors="replace") as name_file,
        ):
            to_edges, to_names = (csv.writer(file, quoting=csv.QUOTE_ALL) for file in (edge_file, name_file))
            for kind, row in _elements(self.path):
                (to_edges if kind == "edge" else to_names).writerow(row)
        return Quoted(edges), Quoted(names)


_GRAPHML_KEYS = {"node": ("name", "label", "title"), "edge": ("relation", "predicate", "label", "type", "name")}


def _elements(path: Path) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield ("edge", (source, relation, target)) and ("node", (id, "name", name)) in the order of the file."""
    for tag, attributes, data in graphml_elements(path):
        by_key = {key.lower(): " ".join(value.split()) for key, value in data.items()}
        text = next((by_key[key] for key in _GRAPHML_KEYS[tag] if by_key.get(key)), "")
        if tag == "edge":
            yield tag, (attributes.get("source", ""), text or NO_RELATION, attributes.get("target", ""))
        elif text:
            yield tag, (attributes.get("id", ""), "name", text)


def graphml_elements(path: Path) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    """Yield each node and edge of a GraphML file: "node" or "edge", its attributes, and its data by the keys' names.

    Raises DataError with the line for a file that is not GraphML, or is cut short.
    """
    from xml.etree.ElementTree import ParseError, iterparse

    keys: dict[str, str] = {}
    stack, is_graphml = [], False
    try:
        with open_bytes(path) as file:
            for event, element in iterparse(file, ("start", "end")):
                tag = element.tag.rpartition("}")[2]
                if event == "start":
                    is_graphml = is_graphml or tag == "graphml"
                    stack.append(element)
                    continue
                stack.pop()
                if tag == "key":
                    keys[element.get("id", "")] = element.get("attr.name", element.get("id", ""))
                elif tag in ("node", "edge"):
                    data = {keys.get(d.get("key", ""), ""): "".join(d.itertext()).strip() for d in element}
                    yield tag, dict(element.attrib), data
                    if stack and stack[-1].tag.rpartition("}")[2] not in ("node", "edge"):  # frees their memory
                        del stack[-1][:]
    except (ParseError, OSError, LookupError, ValueError) as error:  # LookupError: unknown encoding
        raise DataError(f"{path} is not GraphML that can be read to its end: {error}.") from error
    if not is_graphml:
        raise DataError(f"{path} is XML, but not GraphML: it has no element graphml.")


@dataclass(frozen=True)
class RDF(Dump):
    """RDF as Turtle, TriG, N-Quads, RDF/XML or JSON-LD, which pyoxigraph reads (extra `rdf`); see NTriples.

    `named_graph`: the IRI of the graph to read, "" for the default graph; by default the statements of all graphs. One
    that is in two graphs is two edges.
    """

    named_graph: str | None = None

    def rows(self, rejects: int = 0) -> str:
        """Raise DataError: only the N-Triples of `to_ntriples` have a query."""
        raise DataError(f"{self.path}: RDF of this format is converted before it is read.")

    def to_ntriples(self, folder: Path) -> NTriples:
        """Write the statements into a folder as N-Triples, and return the file.

        Statements about statements stay in it as rows that count as malformed. Raises DataError with the line for a
        file that cannot be parsed, and for a graph that has no statement.
        """
        pyoxigraph = _pyoxigraph(self.path)
        form = getattr(pyoxigraph.RdfFormat, _RDF_FORMATS[suffix_of(self.path)])
        wanted = {None: None, "": pyoxigraph.DefaultGraph()}.get(self.named_graph, self.named_graph)
        to, graphs = NTriples(folder / "statements.nt"), dict[str, int]()
        try:
            with open_bytes(self.path) as source, to.path.open("w", encoding="utf-8") as file:
                limits: dict[Any, Any] = {
                    pyoxigraph.RdfFormat.JSON_LD: ShallowJSON,
                    pyoxigraph.RdfFormat.RDF_XML: ShallowXML,
                }
                limited = limits[form](source) if form in limits else source
                for quad in pyoxigraph.parse(limited, form, base_iri=f"file:///{quote(self.path.name)}"):
                    graph = quad.graph_name
                    if wanted is None or graph == wanted or getattr(graph, "value", None) == wanted:
                        file.write(f"{quad.triple} .\n")
                    else:
                        graphs[str(graph)] = graphs.get(str(graph), 0) + 1
        except (SyntaxError, ValueError, OSError, DataError) as error:  # ValueError: a byte that is not UTF-8
            raise DataError(f"{self.path} is not {form.name} that can be read to its end: {error}.") from error
        if wanted is not None and not to.path.stat().st_size:
            known = ", ".join(sorted(graphs)[:10]) or "none"
            raise DataError(f"{self.path} has no statement in the graph {self.named_graph!r}; its graphs are {known}.")
        return to


def _pyoxigraph(path: Path) -> Any:
    try:
        import pyoxigraph
    except ImportError as error:
        raise DataError(
            f"{path} needs pyoxigraph: pip install 'graphwright[rdf]'. Without it, RDF is read as N-Triples (.nt)."
        ) from error
    return pyoxigraph


_DUMP = " A dump of Neo4j can only be read by Neo4j: load it there, and export it as JSON with APOC."
_RDF_FORMATS = {
    ".ttl": "TURTLE", ".turtle": "TURTLE", ".trig": "TRIG", ".nq": "N_QUADS", ".nquads": "N_QUADS", ".rdf": "RDF_XML",
    ".owl": "RDF_XML", ".jsonld": "JSON_LD",
}  # fmt: skip
_FORMATS: dict[str, type[Dump]] = {
    ".tsv": Delimited, ".txt": Delimited, ".tab": Delimited, ".edgelist": Delimited, ".csv": Quoted, ".nt": NTriples,
    ".ntriples": NTriples, ".parquet": Parquet, ".pq": Parquet, ".graphml": GraphML, **dict.fromkeys(_RDF_FORMATS, RDF),
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
    default the first three of TSV and CSV, unless a header names them. `mark` is the delimiter: by default a tab in
    TSV and a comma in CSV, or another one that the first line has. `header`: whether the first line names the
    columns; detected by default from such names (head, subject, source, …). `named_graph`: of RDF, see RDF.

    Raises DataError for a file that is missing, has an unknown format, or lacks one of `columns`.
    """
    if not isinstance(path, str | Path):
        raise OptionError(f"{path!r} is not the path of a file of triples.")
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path} is {'a folder' if path.is_dir() else 'not there'}; import reads a file of triples.")
    kind = _FORMATS.get(suffix_of(path))
    if kind is None:
        raise DataError(
            f"{path}: no format of triples has this suffix. Read are {', '.join(sorted(_FORMATS))}, and .gz of text."
            f"{_DUMP if suffix_of(path) == '.dump' else ''}"
        )
    if columns is not None and len(columns) not in (2, 3):
        raise OptionError(f"columns={list(columns)}: give head, relation and tail, or head and tail.")
    unusable: dict[str, object] = {} if issubclass(kind, Delimited) else {"mark": mark, "header": header}
    unusable |= {"columns": columns} if kind in (NTriples, GraphML, RDF) else {}
    if given := [name for name, value in unusable.items() if value is not None]:
        raise OptionError(f"{path} is {kind.__name__}: leave out {' and '.join(given)}, which are for tables as text.")
    if kind is RDF:
        return RDF(path, named_graph)
    if named_graph is not None:
        raise OptionError(f"{path} is {kind.__name__}, which has no named graphs; leave out named_graph.")
    if kind is Parquet:
        return Parquet(path, _parquet_columns(path, columns))
    first = "" if kind is GraphML else _first_line(path)
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
    except (DataError, ValueError) as error:  # ValueError: a delimiter that cannot be one
        raise DataError(f"{path}: its first line cannot be split into columns: {error}.") from error
    names = [part.strip().strip('"').lower() for part in parts]
    places, is_header = _places(path, names, columns)
    return kind(path, mark, len(parts), places, is_header if header is None else header)


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
        head, relation, tail = (next((names.index(n) for n in known if n in names), -1) for known in _COLUMN_NAMES)
        if head >= 0 and tail >= 0 and len({head, relation, tail}) == 3:
            return (head, relation, tail), True
        if len(names) in (2, 3):
            return (0, 1 if len(names) == 3 else -1, len(names) - 1), False
        raise DataError(
            f"{path}: its first line has {len(names)} parts, and a triple has 3. Name head, relation and tail: "
            f"--columns 1,2,3, or their names."
        )
    wanted = [str(column).strip().lower() for column in columns]
    numbers = [names.index(c) if c in names else int(c) - 1 if c.isdecimal() else -1 for c in wanted]
    for column, number in zip(wanted, numbers, strict=True):
        if not 0 <= number < len(names):
            raise DataError(f"{path} has no column {column!r}; its first line has {', '.join(map(repr, names))}.")
    return (numbers[0], numbers[1] if len(numbers) == 3 else -1, numbers[-1]), not set(wanted).isdisjoint(names)


def _parquet_columns(path: Path, columns: Sequence[str] | None) -> tuple[str, str, str]:
    """Return the names of the columns that are head, relation and tail."""
    import duckdb

    try:
        with duckdb_session() as db:
            rows = db.execute(f"DESCRIBE SELECT * FROM read_parquet({_sql_path(path)})").fetchall()
    except duckdb.Error as error:
        reason = str(error).strip().partition("\n")[0]
        raise DataError(f"{path} is not a readable Parquet file: {reason}") from error
    names = [str(row[0]) for row in rows]
    (head, relation, tail), _ = _places(path, [name.lower() for name in names], columns)
    if relation < 0:
        raise DataError(f"{path}: a table of triples has a column of relations; name it with --columns.")
    return names[head], names[relation], names[tail]


def unescaped(text: str) -> str:
    r"""Return a term of N-Triples with its escape sequences replaced.

    >>> unescaped(r"caf\u00e9 \"Graz\"")
    'café "Graz"'
    """

    def replacement(match: re.Match[str]) -> str:
        number = match[1] or match[2]
        if number is None:
            return _ESCAPES.get(match[3], match[3])
        point = int(number, 16)
        return chr(point) if point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF else "\ufffd"

    return _ESCAPED.sub(replacement, text) if "\\" in text else text


def iri_name(iri: str) -> str:
    """Return the last part of an IRI as a name; other text is returned unchanged.

    >>> iri_name("http://dbpedia.org/resource/Graz_Hauptbahnhof"), iri_name("http://schema.org/birthPlace")
    ('Graz Hauptbahnhof', 'birthPlace')
    >>> iri_name("http://graz.at/"), iri_name("Graz: a town")
    ('http://graz.at/', 'Graz: a town')
    """
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?://|[^\s/]+$)", iri):
        return iri
    last = re.split(r"[/#:]", iri)[-1]
    return unquote(last).replace("_", " ").strip() or iri
