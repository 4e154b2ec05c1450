"""Dumps of knowledge graphs: TSV, CSV, N-Triples, Parquet and GraphML, as queries that give their triples in order.

Each form says in SQL, for DuckDB, what a row of its file is: `head`, `relation`, `tail`, and `role`, what it is for.
Nothing is read here but the first lines, so a dump may be larger than memory.
"""

from __future__ import annotations

import csv
import re
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import ClassVar
from urllib.parse import unquote

from graphwright.data.decoding import SAMPLE, encoding_of, lines, open_bytes, suffix_of
from graphwright.errors import DataError, OptionError

__all__ = ["BAD", "LABEL", "SKIPPED", "TRIPLE", "Dump", "GraphML", "NTriples", "dump_of", "iri_name", "unescaped"]

TRIPLE, LABEL, BAD, SKIPPED = range(4)
"""Roles of a row: a triple; the name (`tail`) of what has the id `head`; malformed; a comment or blank."""

_COLUMNS = ("head", "relation", "tail")
_HEADS = ("head", "subject", "source", "src", "from", "start", "h", "s", ":start_id")
_RELATIONS = ("relation", "predicate", "property", "rel", "edge", "type", "label", "r", "p", ":type")
_TAILS = ("tail", "object", "target", "dst", "to", "end", "t", "o", ":end_id")
_MARKS = ("\t", "|", ",", ";")
_LONGEST = 16 * 2**20  # bytes of a line
# Predicates that name what they are said of, as the vocabularies in use have them.
_NAMING = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://rdf.freebase.com/ns/type.object.name",
)
_IRI = r"<([^<>\"{}|^`\x00-\x20]*)>"
_BLANK = r"_:[^\s<>\"]+"
_LITERAL = r"\"((?:[^\"\\]|\\.)*)\"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^<[^\s<>\"]*>)?"
_STATEMENT = rf"^\s*(?:{_IRI}|({_BLANK}))\s*{_IRI}\s*(?:{_IRI}|({_BLANK})|{_LITERAL})\s*\.\s*(?:#.*)?$"
_PARTS = ("s", "sb", "p", "o", "ob", "l", "lang")
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def quoted(text: str) -> str:
    """Return a text as a string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _file(path: Path) -> str:
    """Return a path as SQL, with no letter that stands for others."""
    return quoted(re.sub(r"([\[*?])", r"[\1]", str(path)))


@dataclass(frozen=True)
class Dump:
    """A file of triples, in one of the forms.

    `rows` is a query that gives head, relation, tail and role of every row, in the order of the file; `functions` names
    what it needs from Python. What cannot be parted into a row at all DuckDB notes in its table `reject_errors`.
    """

    path: Path
    functions: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def rows(self, rejects: int = 0) -> str:
        """Return the query; of rows that are rejected so many are noted, 0 for all."""

    @property
    def skipped(self) -> int:
        """Lines before the first row."""
        return 0

    def shown(self, row: int) -> str:
        """Return where a row stands, counted from 0 with those that were rejected, and what it says."""
        return f"row {row + 1}"


@dataclass(frozen=True)
class _Lines(Dump):
    """A file in which a row is a line, whatever is in it."""

    def _lines(self, rejects: int) -> str:
        return (
            f"read_csv({_file(self.path)}, auto_detect=false, delim=e'\\x01', header=false, quote='', escape='', "
            f"columns={{'line': 'VARCHAR'}}, skip={self.skipped}, store_rejects=true, rejects_limit={rejects}, "
            f"max_line_size={_LONGEST})"
        )

    def shown(self, row: int) -> str:
        """Return the line and its number."""
        row += self.skipped
        with open_bytes(self.path) as file:
            found = next(islice(file, row, row + 1), b"")
        return f"line {row + 1}: {found.decode('utf-8', 'replace').rstrip()!r}"


@dataclass(frozen=True)
class Delimited(_Lines):
    """Lines whose parts stand between marks, a tab or another, without quoting.

    `at`: which parts are head, relation and tail, from 0; `relation` -1 where there are none and all are one.
    """

    mark: str = "\t"
    width: int = 3
    at: tuple[int, int, int] = (0, 1, 2)
    header: bool = False

    def rows(self, rejects: int = 0) -> str:
        """Return the query."""
        # Trimming costs more than all the rest; what stands between tabs is taken as it is.
        head, relation, tail = (f"part[{at + 1}]" if self.mark == "\t" else f"trim(part[{at + 1}])" for at in self.at)
        relation = quoted(LINKED) if self.at[1] < 0 else relation
        # Lists of edges have comments with any number of words.
        comment = "starts_with(line, '#')" if self.at[1] < 0 else f"(width <> {self.width} AND starts_with(line, '#'))"
        split = f"SELECT line, string_split(line, {quoted(self.mark)}) AS part FROM {self._lines(rejects)}"
        return (
            f"SELECT head, relation, tail, CASE WHEN {comment} THEN {SKIPPED} WHEN width = {self.width} AND "
            f"head <> '' AND relation <> '' AND tail <> '' THEN {TRIPLE} WHEN line IS NULL OR trim(line) = '' "
            f"THEN {SKIPPED} ELSE {BAD} END AS role FROM (SELECT line, len(part) AS width, "
            f"{head} AS head, {relation} AS relation, {tail} AS tail FROM ({split}))"
        )

    @property
    def skipped(self) -> int:
        """The header."""
        return int(self.header)


@dataclass(frozen=True)
class NTriples(_Lines):
    """RDF as N-Triples: what has a name by rdfs:label or the like goes by it, and any other IRI by its last part.

    A literal is a node of its text; its language and its type are left out.
    """

    functions = ("unescaped",)

    def rows(self, rejects: int = 0) -> str:
        """Return the query."""
        parts = ", ".join(quoted(part) for part in _PARTS)
        found = (
            f"SELECT line, regexp_extract(line, {quoted(_STATEMENT)}, [{parts}]) AS t, "
            f"contains(line, e'\\\\') AS escaped FROM {self._lines(rejects)}"
        )
        head, tail = "t.s || t.sb", "t.o || t.ob || t.l"
        naming = ", ".join(quoted(iri) for iri in _NAMING)

        def said(text: str) -> str:  # escapes are rare, and undone by Python
            return f"CASE WHEN escaped THEN unescaped({text}) ELSE {text} END"

        return (
            f"SELECT {said(head)} AS head, {said('t.p')} AS relation, {said(tail)} AS tail, "
            f"CASE WHEN line IS NULL OR trim(line) = '' OR starts_with(ltrim(line), '#') THEN {SKIPPED} "
            f"WHEN t.p = '' OR {head} = '' OR {tail} = '' THEN {BAD} "
            f"WHEN t.l <> '' AND t.p IN ({naming}) THEN {LABEL} ELSE {TRIPLE} END AS role, "
            f"t.lang IN ('', 'en') AS plain FROM ({found})"
        )


@dataclass(frozen=True)
class Quoted(Dump):
    """CSV, whose parts may stand in quotation marks; `at` as in Delimited."""

    mark: str = ","
    width: int = 3
    at: tuple[int, int, int] = (0, 1, 2)
    header: bool = False

    def rows(self, rejects: int = 0) -> str:
        """Return the query."""
        columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(self.width))
        read = (
            f"read_csv({_file(self.path)}, auto_detect=false, delim={quoted(self.mark)}, quote='\"', escape='\"', "
            f"header={str(self.header).lower()}, columns={{{columns}}}, store_rejects=true, rejects_limit={rejects}, "
            f"max_line_size={_LONGEST})"
        )
        return _checked(read, *(f"c{at}" if at >= 0 else quoted(LINKED) for at in self.at))

    @property
    def skipped(self) -> int:
        """The header."""
        return int(self.header)

    def shown(self, row: int) -> str:
        """Return the record and its number."""
        row += self.skipped
        found: list[str] = next(islice(csv.reader(lines(self.path), delimiter=self.mark), row, row + 1), [])
        return f"record {row + 1}: {self.mark.join(found)!r}"


@dataclass(frozen=True)
class Parquet(Dump):
    """A table in Parquet, of whose columns three are head, relation and tail."""

    columns: tuple[str, str, str] = ("head", "relation", "tail")

    def rows(self, rejects: int = 0) -> str:
        """Return the query."""
        named = ('CAST("{}" AS VARCHAR)'.format(name.replace('"', '""')) for name in self.columns)
        return _checked(f"read_parquet({_file(self.path)})", *named)


def _checked(read: str, *parts: str) -> str:
    named = zip((f"trim(coalesce({part}, ''), e' \\t\\r\\n')" for part in parts), _COLUMNS, strict=True)
    return (
        f"SELECT *, CASE WHEN head = '' OR relation = '' OR tail = '' THEN {BAD} ELSE {TRIPLE} END AS role "
        f"FROM (SELECT {', '.join(f'{part} AS {name}' for part, name in named)} FROM {read})"
    )


LINKED = "linked to"
"""The relation of edges that have none."""


@dataclass(frozen=True)
class GraphML(Dump):
    """GraphML, as networkx, igraph, yEd and Gephi write it; `written` turns it into CSV, by one pass over the file.

    A node goes by its data `name`, `label` or `title`, else by its id; an edge's relation is its data `relation`,
    `predicate`, `label`, `type` or `name`, else "linked to".
    """

    def rows(self, rejects: int = 0) -> str:
        """There is no query before the file is rewritten."""
        raise DataError(f"{self.path}: GraphML is rewritten before it is read.")

    def written(self, folder: Path) -> tuple[Quoted, Quoted]:
        """Write edges and names into a folder as CSV; return both, the latter as rows of id, "name" and name.

        Raises DataError with the line for a file that is no GraphML, or is cut short.
        """
        edges, names = folder / "edges.csv", folder / "names.csv"
        with (
            edges.open("w", newline="", encoding="utf-8", errors="replace") as one,
            names.open("w", newline="", encoding="utf-8", errors="replace") as other,
        ):
            to_edges, to_names = (csv.writer(file, quoting=csv.QUOTE_ALL) for file in (one, other))
            for kind, row in _elements(self.path):
                (to_edges if kind == "edge" else to_names).writerow(row)
        return Quoted(edges), Quoted(names)


_NAMED = ("name", "label", "title")
_RELATED = ("relation", "predicate", "label", "type", "name")


def _elements(path: Path) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield ("edge", (source, relation, target)) and ("node", (id, "name", name)) in the order of the file."""
    from xml.etree.ElementTree import ParseError, iterparse

    keys: dict[str, str] = {}
    seen = False
    try:
        with open_bytes(path) as file:
            stack = []
            for event, element in iterparse(file, ("start", "end")):
                tag = element.tag.rpartition("}")[2]
                if event == "start":
                    seen = seen or tag == "graphml"
                    stack.append(element)
                    continue
                stack.pop()
                if tag == "key":
                    keys[element.get("id", "")] = element.get("attr.name", element.get("id", "")).lower()
                elif tag in ("node", "edge"):
                    said = {keys.get(d.get("key", ""), ""): " ".join("".join(d.itertext()).split()) for d in element}
                    if tag == "edge":
                        relation = next((said[name] for name in _RELATED if said.get(name)), LINKED)
                        yield "edge", (element.get("source", ""), relation, element.get("target", ""))
                    elif name := next((said[name] for name in _NAMED if said.get(name)), ""):
                        yield "node", (element.get("id", ""), "name", name)
                    if stack:  # what was read need not be kept
                        stack[-1].remove(element)
    except (ParseError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path} is not GraphML that can be read to its end: {error}.") from error
    if not seen:
        raise DataError(f"{path} is XML, but not GraphML: it has no element graphml.")


_SUFFIXES = {
    ".tsv": "tsv", ".txt": "tsv", ".tab": "tsv", ".edgelist": "tsv", ".csv": "csv", ".nt": "nt", ".ntriples": "nt",
    ".parquet": "parquet", ".pq": "parquet", ".graphml": "graphml",
}  # fmt: skip


def dump_of(
    path: Path | str, *, columns: Sequence[str] | None = None, mark: str | None = None, header: bool | None = None
) -> Dump:
    """Return a dump of triples, its form told by the ending of its name (`.gz` after it is fine).

    `columns`: head, relation and tail, by their names in the header or their places from 1; of TSV and CSV the first
    three unless a header names them; two are head and tail. `mark`: what parts stand between, a tab in TSV and a comma
    in CSV unless the first line says otherwise. `header`: whether the first line names the columns; unless given it is
    one where it holds words that do (head, subject, source, …).

    Raises DataError for a file that is missing, of no known form, or without what `columns` names.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path} is {'a folder' if path.is_dir() else 'not there'}; import reads a file of triples.")
    form = _SUFFIXES.get(suffix_of(path))
    if form is None:
        raise DataError(
            f"{path}: no form of triples ends so. Read are {', '.join(sorted(_SUFFIXES))}, and .gz of text."
        )
    if columns is not None and len(columns) not in (2, 3):
        raise OptionError(f"columns={list(columns)}: give head, relation and tail, or head and tail.")
    if form in ("nt", "graphml"):
        if columns is not None or mark is not None or header is not None:
            raise OptionError(f"{path}: columns, mark and header are for tables, and this is {form}.")
        return NTriples(_utf8(path)) if form == "nt" else GraphML(path)
    if form == "parquet":
        if mark is not None or header is not None:
            raise OptionError(f"{path}: mark and header are for text, and this is Parquet.")
        return Parquet(path, _by_name(path, columns))
    with _whole(path):
        first = next((line for line in lines(_utf8(path)) if line.strip() and not line.startswith("#")), "")
    if not first:
        raise DataError(f"{path} is empty; expected a triple in each line.")
    if mark is None:
        mark = "\t" if form == "tsv" else ","
        mark = mark if mark in first else next((other for other in (*_MARKS, " ") if other in first), mark)
    parts = next(csv.reader([first], delimiter=mark)) if form == "csv" else first.split(mark)
    names = [part.strip().strip('"').lower() for part in parts]
    at, named = _places(path, names, columns)
    cls = Quoted if form == "csv" else Delimited
    return cls(path, mark, len(parts), at, named if header is None else header)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Raise DataError for what the system or a packed file's damage raises: an EOFError would end a command mutely."""
    try:
        yield
    except (EOFError, OSError, zlib.error) as error:
        remedy = "Mend its permissions"
        if not isinstance(error, PermissionError):
            packed = path.suffix.lower() == ".gz"
            remedy = "Fetch or pack it again, or take .gz off its name if it is not packed" if packed else "Replace it"
        raise DataError(f"{path} cannot be read to its end ({error}). {remedy}; nothing was imported.") from error


def _utf8(path: Path) -> Path:
    """Return the path of a text; DataError where DuckDB, which reads UTF-8 alone, would lose rows or read them wrongly.

    Told by the beginning of the file.
    """
    with _whole(path), open_bytes(path) as file:
        head = file.read(SAMPLE)
    found = encoding_of(head)
    if found.startswith("utf-8"):
        if b"\0" in head:
            raise DataError(f"{path} holds NUL bytes, so it is no text; import reads triples as text in UTF-8.")
        return path
    # As iconv calls it, which knows others than Python.
    name = found.upper().replace("_", "-").replace("-LE", "LE").replace("-BE", "BE")
    packed = path.suffix.lower() == ".gz"
    given, made = quote(str(path)), quote(str(path.with_name(f"utf8-{path.name}")))
    convert = f"iconv -f {name} -t UTF-8"
    command = f"gzip -dc {given} | {convert} | gzip > {made}" if packed else f"{convert} {given} > {made}"
    raise DataError(
        f"{path} is not in UTF-8 but, as it seems, in {name}; nothing was imported. Save it as UTF-8 where it was "
        f"made, or convert it: {command}"
    )


def _places(path: Path, names: Sequence[str], columns: Sequence[str] | None) -> tuple[tuple[int, int, int], bool]:
    """Return where head, relation and tail stand, and whether the first line names them."""
    wanted = [str(column).strip().lower() for column in columns or ()]
    if not wanted:
        found = [next((names.index(word) for word in words if word in names), -1) for words in _WORDS]
        if found[0] >= 0 and found[2] >= 0 and len({at for at in found if at >= 0}) == 3 - found.count(-1):
            return (found[0], found[1], found[2]), True
        if len(names) == 2:
            return (0, -1, 1), False
        if len(names) != 3:
            raise DataError(
                f"{path}: its first line has {len(names)} parts, and a triple has 3. Say which are head, relation and "
                f"tail: --columns 1,2,3, or their names."
            )
        return (0, 1, 2), False
    places = []
    for column in wanted:
        if column in names:
            places.append(names.index(column))
        elif column.isdigit() and 1 <= int(column) <= len(names):
            places.append(int(column) - 1)
        else:
            raise DataError(f"{path} has no column {column!r}; its first line has {', '.join(map(repr, names))}.")
    head, *relation, tail = places
    return (head, relation[0] if relation else -1, tail), any(column in names for column in wanted)


_WORDS = (_HEADS, _RELATIONS, _TAILS)


def _by_name(path: Path, columns: Sequence[str] | None) -> tuple[str, str, str]:
    """Return the names of the columns of a Parquet file that are head, relation and tail."""
    import duckdb

    try:
        with duckdb.connect() as db:
            rows = db.execute(f"DESCRIBE SELECT * FROM read_parquet({_file(path)})").fetchall()
    except duckdb.Error as error:
        raise DataError(f"{path} is not Parquet that can be read: {_first_line(error)}") from error
    names = [str(row[0]) for row in rows]
    at, _ = _places(path, [name.lower() for name in names], columns)
    if at[1] < 0:
        raise DataError(f"{path}: a table of triples has a column of relations; name it with --columns.")
    return names[at[0]], names[at[1]], names[at[2]]


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def unescaped(text: str) -> str:
    r"""Return a term of N-Triples with its escapes undone.

    >>> unescaped(r"caf\u00e9 \"Graz\"")
    'café "Graz"'
    """

    def undone(found: re.Match[str]) -> str:
        number = found[1] or found[2]
        if number is None:
            return _ESCAPES.get(found[3], found[3])
        point = int(number, 16)
        return chr(point) if point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF else "\ufffd"

    return _ESCAPED.sub(undone, text) if "\\" in text else text


def iri_name(iri: str) -> str:
    """Return the last part of an IRI as a name; what is no IRI stays as it is.

    >>> iri_name("http://dbpedia.org/resource/Graz_Hauptbahnhof"), iri_name("http://schema.org/birthPlace")
    ('Graz Hauptbahnhof', 'birthPlace')
    >>> iri_name("http://graz.at/"), iri_name("Graz: a town")
    ('http://graz.at/', 'Graz: a town')
    """
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?://|[^\s/]+$)", iri):
        return iri
    last = re.split(r"[/#:]", iri)[-1]
    return unquote(last).replace("_", " ").strip() or iri
