"""RDF in other notations than N-Triples, read by pyoxigraph.

Parsers of JSON and XML take quadratic time in the depth of nesting, and pyoxigraph 0.5.13 ends the process with a
segmentation fault at a few thousand levels, so the nesting is limited.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from graphwright.data.decoding import open_bytes, suffix_of
from graphwright.data.graph_files.dump import Dump
from graphwright.data.graph_files.ntriples import NTriples
from graphwright.errors import DataError

MAX_NESTING = 500
"""Maximum depth of objects and arrays, or of elements."""
_MAX_TAG = 2**20  # bytes of a tag or comment
_TAG = re.compile(  # or a part without tags
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
    rb"|<(?!!--|!\[CDATA\[|\?)(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+>",
    re.DOTALL,
)
_SCHEMA_ORG = re.compile(rb'("@context"\s*:\s*\[?\s*)"(https?)://(?:www\.)?schema\.org/?[^"]*"')
_JSON_LD = re.compile(rb'[{,]\s*"@(?:context|graph|id)"\s*:')
_HEAD = 4096  # bytes
_SIGNS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)  # of JSON: a text, or a bracket


def _checked(depth: int) -> int:
    """Return a depth of nesting. Raises DataError if it exceeds the limit."""
    if depth > MAX_NESTING:
        raise DataError(f"it is nested more than {MAX_NESTING} levels deep")
    return depth


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
    ".json": "JSON_LD",
}  # fmt: skip
"""The name in pyoxigraph of the format of each suffix."""


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

    def to_ntriples(self, folder: Path) -> NTriples:
        """Write the statements into a folder as N-Triples, and return the file.

        A reference to the context of schema.org needs no connection. Raises DataError with the line for a
        file that cannot be parsed, and for a graph that has no statement.
        """
        pyoxigraph = _pyoxigraph(self.path)
        form = getattr(pyoxigraph.RdfFormat, RDF_FORMATS[suffix_of(self.path)])
        selected = {None: None, "": pyoxigraph.DefaultGraph()}.get(self.named_graph, self.named_graph)
        to, graphs = NTriples(folder / "statements.nt"), dict[str, int]()
        try:
            with open_bytes(self.path) as source, to.path.open("w", encoding="utf-8") as file:
                limits: dict[Any, Any] = {
                    pyoxigraph.RdfFormat.JSON_LD: _with_context,
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
