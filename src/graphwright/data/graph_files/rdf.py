"""RDF: the query of the rows of N-Triples, names of IRIs, and other notations, read by pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

from graphwright.data.decoding import open_bytes, suffix_of
from graphwright.data.graph_files.dump import BAD, LABEL, LEFT_OUT, LINK, PART, SKIPPED, TRIPLE, Dump, sql_text
from graphwright.errors import DataError

RDF_NS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OWL_NS = "http://www.w3.org/2002/07/owl#"
WIKIBASE = "http://wikiba.se/ontology#"

# Predicates whose object is a name of their subject: one to show, or a further one.
LABELS = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://rdf.freebase.com/ns/type.object.name",
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
    "http://www.w3.org/2006/vcard/ns#fn",
)
ALIASES = (
    "http://www.w3.org/2004/02/skos/core#altLabel",
    "http://www.w3.org/2004/02/skos/core#hiddenLabel",
    "http://schema.org/alternateName",
    "https://schema.org/alternateName",
    "http://xmlns.com/foaf/0.1/nick",
    "http://rdf.freebase.com/ns/common.topic.alias",
    "http://www.geneontology.org/formats/oboInOwl#hasExactSynonym",
)
_REDIRECTS = "http://dbpedia.org/ontology/wikiPageRedirects"  # from a page that only names another one
FURTHER = 20  # rank of a name that is never shown, and those after it
NAMING = frozenset([*LABELS, *ALIASES])  # predicates of names
# Predicates from a property of Wikibase to the predicates that stand for it, which have its names.
_LINKS = tuple(WIKIBASE + name for name in ("directClaim", "claim", "statementProperty", "qualifier", "reference"))
_PARTS = tuple(
    [RDF_NS + name for name in ("subject", "predicate", "object", "reifies", "singletonPropertyOf", "first", "rest")]
    + [OWL_NS + name for name in ("annotatedSource", "annotatedProperty", "annotatedTarget", "onProperty", "oneOf")]
    + [OWL_NS + name for name in ("intersectionOf", "unionOf", "complementOf")]
    + [f"{WIKIBASE}rank"]
)
# The documents that a Wikibase has about its entities, and its dump.
_OWN_DATA = rf"(?::|%3A)EntityData/[A-Z][0-9]+$|^{re.escape(WIKIBASE)}Dump$"
_ATTRIBUTE = "urn:graphwright:attribute:"  # predicates of attributes that our own export writes
_IRI = r"<([^<>\"{}|^`\x00-\x20]*)>"
_BLANK = r"_:[^\s<>\"]+"
_LITERAL = r"\"((?:[^\"\\]|\\.)*)\"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)(?:--(?:ltr|rtl))?|\^\^<([^\s<>\"]*)>)?"
_STATEMENT = rf"^\s*(?:{_IRI}|({_BLANK}))\s*{_IRI}\s*(?:{_IRI}|({_BLANK})|{_LITERAL})\s*\.\s*(?:#.*)?$"
_VERSION = r"^\s*VERSION\s*(\"[^\"]*\"|'[^']*')\s*(#.*)?$"
_GROUPS = ("s", "sb", "p", "o", "ob", "l", "lang", "type")
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
# A date of Wikidata whose month or day is unknown, and so is 00; at midnight.
_IN_PART = r"^\+?(-?\d{4,}(-(0[1-9]|1[0-2]))?)(-00){1,2}(T00:00:00(\.0+)?(Z|[+-]00:00)?)?$"
_MIDNIGHT = r"T00:00:00(\.0+)?(Z|[+-]00:00)?$"


@dataclass(frozen=True)
class NTriples(Dump):
    """RDF as N-Triples. A node is named by rdfs:label or the like, else by the last part of its IRI.

    docs/graphs.md describes the names. A literal is a node named by its text; its language and type are left out, as
    are the time of a date at midnight and the sign of a positive number. The rows of statements about statements, lists
    and class expressions have the role PART (see graphwright.data.graph_files.rdf_parts); one with a quoted triple has
    its line as the head. The query calls functions (see `add_functions`).
    """

    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows, with the rank of each name: the smallest is shown."""
        groups = ", ".join(sql_text(group) for group in _GROUPS)
        statements = (
            f"SELECT line, regexp_extract(line, {sql_text(_STATEMENT)}, [{groups}]) AS t, "
            f"contains(line, e'\\\\') AS escaped FROM {self._lines(rejects)}"
        )
        head, tail = "t.s || t.sb", "t.o || t.ob || t.l"
        typed = (
            f"CASE WHEN contains(t.l, '-00T00:00:00') OR contains(t.type, '#date') AND ends_with(t.l, '-00') "
            f"THEN regexp_replace(t.l, '{_IN_PART}', '\\1') "
            f"WHEN ends_with(t.type, '#dateTime') THEN regexp_replace(t.l, '{_MIDNIGHT}', '') "
            f"WHEN t.type <> '' AND starts_with(t.l, '+') THEN substr(t.l, 2) ELSE {tail} END"
        )

        def text_of(part: str, plain: str = "") -> str:  # escapes are rare, and left to Python
            return f"CASE WHEN escaped THEN unescaped({part}) ELSE {plain or part} END"

        is_quoted = "t.p = '' AND contains(line, '<<')"
        is_version = f"t.p = '' AND regexp_matches(line, {sql_text(_VERSION)})"
        redirects = f"t.p = {sql_text(_REDIRECTS)} AND t.s <> '' AND t.o <> ''"
        return (
            f"SELECT CASE WHEN {is_quoted} THEN line WHEN {redirects} THEN {text_of('t.o')} ELSE {text_of(head)} END "
            f"AS head, {text_of('t.p')} AS relation, CASE WHEN {redirects} THEN iri_name({text_of('t.s')}) "
            f"ELSE {text_of(tail, typed)} END AS tail, CASE WHEN line IS NULL OR trim(line) = '' "
            f"OR starts_with(ltrim(line), '#') OR {is_version} THEN {SKIPPED} WHEN {is_quoted} THEN {PART} "
            f"WHEN t.p = '' OR {head} = '' OR {tail} = '' THEN {BAD} "
            f"WHEN t.l <> '' AND t.p IN ({_listed((*LABELS, *ALIASES))}) OR {redirects} THEN {LABEL} {_roles()} "
            f"ELSE {TRIPLE} END AS role, CASE lower(t.lang) WHEN '' THEN 1 WHEN 'en' THEN 1 WHEN 'mul' THEN 2 "
            f"ELSE if(starts_with(lower(t.lang), 'en-'), 3, 4) END + if(t.p IN ({_listed(ALIASES)}), 10, 0) "
            f"+ if({redirects}, {FURTHER}, 0) AS rank "
            f"FROM ({statements})"
        )


def _roles() -> str:
    """Return the conditions of the roles of predicates that state no fact of their own."""
    return (
        f"WHEN starts_with(t.p, '{_ATTRIBUTE}') THEN {SKIPPED} WHEN t.p IN ({_listed(_PARTS)}) THEN {PART} "
        f"WHEN t.p IN ({_listed(_LINKS)}) THEN {LINK} "
        f"WHEN starts_with(t.p, '{WIKIBASE}') OR starts_with(t.o, '{WIKIBASE}') "
        f"OR regexp_matches(t.s, '{_OWN_DATA}') THEN {LEFT_OUT} "
        f"WHEN contains(t.p, '/prop/') AND regexp_matches(t.p, '/prop/[a-z]+/value(-normalized)?/P|-normalized/P') "
        f"THEN {LEFT_OUT} WHEN contains(t.p, '/prop/statement/P') THEN {PART}"
    )


def _listed(iris: tuple[str, ...]) -> str:
    return ", ".join(map(sql_text, iris))


def add_functions(db: Any) -> None:
    """Add the functions that the query of rows calls to a database."""
    for function in (unescaped, iri_name):
        db.create_function(function.__name__, function, ["VARCHAR"], "VARCHAR", type="native")


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


MAX_NESTING = 500  # maximum depth of objects and arrays, or of elements
_MAX_TAG = 2**20  # bytes of a tag or comment
_TAG = re.compile(  # or a part without tags
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
    rb"|<(?!!--|!\[CDATA\[|\?)(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+>",
    re.DOTALL,
)
_SCHEMA_ORG = re.compile(rb'("@context"\s*:\s*\[?\s*)"(https?)://(?:www\.)?schema\.org/?[^"]*"')
_JSON_LD = re.compile(rb'[{,]\s*"@(?:context|graph|id)"\s*:')
_VERSION_LINE = re.compile(rb"([\r\n][ \t]*)V")  # no other line of N-Quads begins with a letter
_HEAD = 4096  # bytes
_SIGNS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)  # of JSON: a text, or a bracket


def _checked(depth: int) -> int:
    """Return a depth of nesting. Raises DataError if it exceeds the limit."""
    if depth > MAX_NESTING:
        raise DataError(f"it is nested more than {MAX_NESTING} levels deep")
    return depth


@dataclass
class ShallowXML:
    """A file of XML that can be read; reading raises DataError where it is nested too deeply."""

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


@dataclass
class CommentedVersions:
    """A file of N-Quads in which a line with its version (RDF 1.2) is a comment, which pyoxigraph lets pass."""

    source: BinaryIO
    _last: bytes = b"\n"

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, all by default."""
        data = self.source.read(size)
        marked = _VERSION_LINE.sub(rb"\1#", self._last + data)[len(self._last) :]
        self._last = data[-1:]
        return marked


RDF_FORMATS = {  # the name in pyoxigraph of the format of each suffix
    ".ttl": "TURTLE", ".turtle": "TURTLE", ".trig": "TRIG", ".nq": "N_QUADS", ".nquads": "N_QUADS", ".rdf": "RDF_XML",
    ".owl": "RDF_XML", ".jsonld": "JSON_LD",
    ".json": "JSON_LD",
}  # fmt: skip


def is_json_ld(path: Path) -> bool:
    """Return whether a file of JSON is JSON-LD: a context, a graph or an id stands near its beginning."""
    with open_bytes(path) as file:
        return _JSON_LD.search(file.read(_HEAD)) is not None


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

    def quads(self) -> Iterator[Any]:
        """Yield the statements of all graphs, as quads of pyoxigraph. Raises DataError as `to_ntriples` does."""
        pyoxigraph = _pyoxigraph(self.path)
        form = getattr(pyoxigraph.RdfFormat, RDF_FORMATS[suffix_of(self.path)])
        limits: dict[Any, Any] = {
            pyoxigraph.RdfFormat.JSON_LD: _with_context,
            pyoxigraph.RdfFormat.RDF_XML: ShallowXML,
            pyoxigraph.RdfFormat.N_QUADS: CommentedVersions,
        }
        try:
            with open_bytes(self.path) as source:
                limited = limits[form](source) if form in limits else source
                yield from pyoxigraph.parse(limited, form, base_iri=f"file:///{quote(self.path.name)}")
        except (SyntaxError, ValueError, OSError, DataError) as error:  # ValueError: a byte that is not UTF-8
            raise DataError(f"{self.path} is not {form.name} that can be read to its end: {error}.") from error

    def to_ntriples(self, folder: Path) -> NTriples:
        """Write the statements into a folder as N-Triples, and return the file.

        A reference to the context of schema.org needs no connection. Raises DataError with the line for a
        file that cannot be parsed, and for a graph that has no statement.
        """
        selected = {None: None, "": _pyoxigraph(self.path).DefaultGraph()}.get(self.named_graph, self.named_graph)
        to, graphs = NTriples(folder / "statements.nt"), dict[str, int]()
        with to.path.open("w", encoding="utf-8") as file:
            for quad in self.quads():
                graph = quad.graph_name
                if selected is None or graph == selected or getattr(graph, "value", None) == selected:
                    file.write(f"{quad.triple} .\n")
                else:
                    graphs[str(graph)] = graphs.get(str(graph), 0) + 1
        if selected is not None and not to.path.stat().st_size:
            known = ", ".join(sorted(graphs)[:10]) or "none"
            raise DataError(f"{self.path} has no statement in the graph {self.named_graph!r}; its graphs are {known}.")
        return to


def _with_context(source: BinaryIO) -> BytesIO:
    """Return JSON-LD with the context of schema.org, which is its vocabulary, in the place of a reference to it."""
    data, depth = source.read(), 0
    for match in _SIGNS.finditer(data):
        depth = _checked(depth + (match[0] in b"[{") - (match[0] in b"]}"))
    return BytesIO(_SCHEMA_ORG.sub(rb'\1{"@vocab": "\2://schema.org/"}', data))


def _pyoxigraph(path: Path) -> Any:
    try:
        import pyoxigraph
    except ImportError as error:
        raise DataError(
            f"{path} needs pyoxigraph: pip install 'graphwright[rdf]'. Without it, RDF is read as N-Triples (.nt)."
        ) from error
    return pyoxigraph
