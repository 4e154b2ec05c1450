"""RDF as triples: N-Triples by DuckDB, other notations by pyoxigraph; names of IRIs and escape sequences.

Parsers of JSON and XML take quadratic time in the depth of nesting, and pyoxigraph 0.5.13 ends the process with a
segmentation fault at a few thousand levels, so the nesting is limited.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

from graphwright.data.decoding import open_bytes, suffix_of
from graphwright.data.graph_files.dump import BAD, LABEL, SKIPPED, TRIPLE, Dump, sql_text
from graphwright.errors import DataError

MAX_NESTING = 500
"""Maximum depth of objects and arrays, or of elements."""
_MAX_TAG = 2**20  # bytes of a tag or comment
_TAG = re.compile(  # or a part without tags
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
    rb"|<(?!!--|!\[CDATA\[|\?)(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+>",
    re.DOTALL,
)
_SIGNS = re.compile(rb'[\\"\[\]{}]')


def _checked(depth: int) -> int:
    """Return a depth of nesting. Raises DataError if it exceeds the limit."""
    if depth > MAX_NESTING:
        raise DataError(f"it is nested more than {MAX_NESTING} levels deep")
    return depth


@dataclass
class ShallowJSON:
    """A file of JSON that can be read; reading raises DataError where it is nested too deeply.

    >>> import io
    >>> ShallowJSON(io.BytesIO(b'{"a": "[[["}')).read(), ShallowJSON(io.BytesIO(b"[" * 501)).read()
    Traceback (most recent call last):
    ...
    graphwright.errors.DataError: it is nested more than 500 levels deep
    """

    source: BinaryIO
    _depth: int = 0
    _in_text: bool = False
    _escaped: int = 0  # bytes from the beginning of the next part that a backslash escapes

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, all by default."""
        data = self.source.read(size)
        after = self._escaped
        for match in _SIGNS.finditer(data):
            at = match.start()
            if at < after:
                continue
            sign = match[0]
            if sign == b"\\":
                after = at + 2
            elif sign == b'"':
                self._in_text = not self._in_text
            elif not self._in_text:
                self._depth = _checked(self._depth + (1 if sign in b"[{" else -1))
        self._escaped = max(after - len(data), 0)
        return data


@dataclass
class ShallowXML:
    """A file of XML that can be read; reading raises DataError where it is nested too deeply.

    >>> import io
    >>> ShallowXML(io.BytesIO(b"<a><b/></a><!--<a>-->")).read(), ShallowXML(io.BytesIO(b"<a>" * 501)).read()
    Traceback (most recent call last):
    ...
    graphwright.errors.DataError: it is nested more than 500 levels deep
    """

    source: BinaryIO
    _depth: int = 0
    _rest: bytes = b""  # a tag whose end has not been read

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, all by default."""
        data = self.source.read(size)
        text, at = self._rest + data, 0
        while (at := text.find(b"<", at)) >= 0 and (match := _TAG.match(text, at)):
            tag, at = match[0], match.end()
            if not tag.startswith((b"<!", b"<?")) and not tag.endswith(b"/>"):
                self._depth = _checked(self._depth + (-1 if tag.startswith(b"</") else 1))
        self._rest = text[at:] if at >= 0 else b""
        if len(self._rest) > _MAX_TAG:
            raise DataError(f"it has a tag or comment of more than {_MAX_TAG >> 20} MB")
        return data


RDF_FORMATS = {
    ".ttl": "TURTLE", ".turtle": "TURTLE", ".trig": "TRIG", ".nq": "N_QUADS", ".nquads": "N_QUADS", ".rdf": "RDF_XML",
    ".owl": "RDF_XML", ".jsonld": "JSON_LD",
}  # fmt: skip
"""The name in pyoxigraph of the format of each suffix."""

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


@dataclass(frozen=True)
class NTriples(Dump):
    """RDF as N-Triples. A node is named by rdfs:label or the like, else by the last part of its IRI.

    Of several labels the name is one in English or without a language; the others are further names of the node.

    A literal is a node named by its text; its language and type are left out. The query calls `unescaped`.
    """

    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows."""
        parts = ", ".join(sql_text(part) for part in _PARTS)
        statements = (
            f"SELECT line, regexp_extract(line, {sql_text(_STATEMENT)}, [{parts}]) AS t, "
            f"contains(line, e'\\\\') AS escaped FROM {self._lines(rejects)}"
        )
        head, tail = "t.s || t.sb", "t.o || t.ob || t.l"
        labels = ", ".join(sql_text(iri) for iri in _LABELS)

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
        form = getattr(pyoxigraph.RdfFormat, RDF_FORMATS[suffix_of(self.path)])
        selected = {None: None, "": pyoxigraph.DefaultGraph()}.get(self.named_graph, self.named_graph)
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
                    if selected is None or graph == selected or getattr(graph, "value", None) == selected:
                        file.write(f"{quad.triple} .\n")
                    else:
                        graphs[str(graph)] = graphs.get(str(graph), 0) + 1
        except (SyntaxError, ValueError, OSError, DataError) as error:  # ValueError: a byte that is not UTF-8
            raise DataError(f"{self.path} is not {form.name} that can be read to its end: {error}.") from error
        if selected is not None and not to.path.stat().st_size:
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
