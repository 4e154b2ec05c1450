"""Export a graph, or the evidence retrieved from it, to a file. GraphML and node-link JSON have the same content.

Ids are those of the snapshot.

| of | attributes |
|---|---|
| node | `name`, `kind`; `text` where it is not the name; of a chunk also `document`, `title`, `start`, `end` |
| edge | `relation`; `text` where a text states it; `chunks`, the names of the chunks it came from |
| both | with evidence: `rank` of the first item that contains it, from 1, and `score` of its best item |

Empty attributes are left out. GraphML has no lists, so it has `chunks` as a JSON list in a string. Characters that a
format cannot hold become U+FFFD: control characters in XML, lone surrogates in both.

networkx reads them back, parallel edges kept:
`read_graphml(path, node_type=int, edge_key_type=int, force_multigraph=True)`, and
`node_link_graph(json.load(file), edges="edges")`.

| format | holds |
|---|---|
| `csv` | head, relation, tail and text of each edge; names only, so nodes of one name become one |
| `jsonl` | nodes and relationships as JSON lines, as APOC of Neo4j writes and reads them |
| `nt`, `ttl` | RDF: each node an IRI with its name as label, each edge a statement, repeated ones once |
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from urllib.parse import quote

import numpy as np

from graphwright.errors import OptionError
from graphwright.files import whole
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph, Kind

Attributes = dict[str, Any]


class Part:
    """The nodes and edges to write, with the rank and score of those in the evidence."""

    def __init__(self, graph: Graph, evidence: Evidence | None) -> None:
        self.graph = graph
        self.nodes, self.edges = graph.nodes, graph.edges
        self.ranked = evidence is not None
        self.node_ranks: dict[int, Attributes] = {}
        self.edge_ranks: dict[int, Attributes] = {}
        if evidence is not None:
            _check(graph, evidence)
            self._mark(evidence)
            self.nodes, self.edges = (np.array(sorted(ids), np.int64) for ids in (self.node_ranks, self.edge_ranks))
            if not len(self.edges):
                self._connect()

    def _connect(self) -> None:
        """Add the entities that the passages mention, and the edges between all nodes."""
        columns = self.graph.columns
        chunks = self.nodes[columns.kinds[self.nodes] == Kind.CHUNK]
        mentioned = columns.tails[columns.out.rows(chunks)]
        near = self.graph.part(np.concatenate((self.nodes, mentioned)))
        self.nodes, self.edges = np.union1d(self.nodes, near.nodes), near.edges

    def _mark(self, evidence: Evidence) -> None:
        for at, (nodes, edges) in enumerate(evidence):
            score = -math.inf if evidence.scores is None else float(evidence.scores[at])
            joined = np.concatenate((nodes, self.graph.ends(edges)))
            for ids, ranks in ((joined, self.node_ranks), (edges, self.edge_ranks)):
                for i in ids.tolist():
                    mark = ranks.setdefault(i, {"rank": at + 1})
                    # Readers disagree on how infinity is written.
                    if math.isfinite(score) and score > mark.get("score", -math.inf):
                        mark["score"] = score

    def described_nodes(self) -> Iterator[tuple[int, Attributes]]:
        """Yield each node by id, with its attributes."""
        columns = self.graph.columns
        for node in map(int, self.nodes):
            name = columns.names[node]
            attributes: Attributes = {"name": name, "kind": Kind(columns.kinds[node]).name.lower()}
            if (text := self.graph.text(node)) != name:
                attributes["text"] = text
            passage = None if columns.passages is None else columns.passages.of(node)
            if passage is not None:
                attributes["document"] = passage.document
                if passage.title:
                    attributes["title"] = passage.title
                attributes["start"], attributes["end"] = passage.start, passage.end
            yield node, attributes | self.node_ranks.get(node, {})

    def described_edges(self) -> Iterator[tuple[int, int, int, Attributes]]:
        """Yield each edge by id, its head, its tail, and its attributes."""
        columns = self.graph.columns
        for edge in map(int, self.edges):
            attributes: Attributes = {"relation": columns.relations[int(columns.relation[edge])]}
            if columns.edge_text is not None and columns.edge_text[edge] >= 0:
                attributes["text"] = self.graph.edge_text(edge)
            chunks = () if columns.edge_chunks is None else columns.edge_chunks.row(edge)
            if len(chunks):
                attributes["chunks"] = columns.names.take(chunks)
            attributes |= self.edge_ranks.get(edge, {})
            yield edge, int(columns.heads[edge]), int(columns.tails[edge]), attributes


def _check(graph: Graph, evidence: Evidence) -> None:
    sizes = {"node": (evidence.nodes, len(graph.columns.names)), "edge": (evidence.edges, len(graph.columns.heads))}
    for kind, (ids, count) in sizes.items():
        if len(ids) and ids.max() >= count:
            raise OptionError(
                f"The evidence holds {kind} {ids.max()}, but the graph has {count} {kind}s. "
                f"Export it with the graph that it was retrieved from."
            )


_NODE = {"name": "string", "kind": "string", "text": "string"}
_CHUNK = {"document": "string", "title": "string", "start": "long", "end": "long"}
_EDGE = {"relation": "string", "text": "string", "chunks": "string"}
_RANKED = {"rank": "long", "score": "double"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NODE_IRI, _RELATION_IRI, _ATTRIBUTE_IRI = (f"urn:graphwright:{kind}:" for kind in ("node", "relation", "attribute"))
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_QUOTED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r"})
# An XML reader turns a bare carriage return into a line feed.
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


class Exported(NamedTuple):
    """Number of nodes and edges written."""

    nodes: int
    edges: int


def export(graph: Graph, path: str | Path, form: str | None = None, evidence: Evidence | None = None) -> Exported:
    """Write a graph to a file, which is unchanged after an error.

    `form`: graphml, json, jsonl, csv, nt or ttl (default: by the file's extension). `evidence`: write only the
    nodes and edges of its items, and the ends of those edges. If no item has an edge, the entities that its passages
    mention and the edges of `graph` between all these nodes are written too, without rank and score. Memory does not
    grow with the graph in GraphML, JSON and CSV.
    Raises OptionError for an unknown format, DataError if the file cannot be written.

    >>> import tempfile; graph = Graph.from_triples([("Mur", "flows through", "Graz")])
    >>> export(graph, Path(tempfile.mkdtemp()) / "rivers.graphml")
    Exported(nodes=2, edges=1)
    """
    place = Path(path)
    form = format_of(place, form)
    if place.exists() and not place.is_file():
        raise OptionError(f"{place} is not a regular file. Give the path of a file.")
    with whole(place) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        return write(graph, file, form, evidence)


def write(graph: Graph, file: TextIO, form: str, evidence: Evidence | None = None) -> Exported:
    """Write to an open UTF-8 text file; see `export`."""
    part = Part(graph, evidence)
    FORMATS[form](part, file)
    return Exported(len(part.nodes), len(part.edges))


def format_of(path: Path, form: str | None = None) -> str:
    """Return the given format, or that of the file's extension. Raises OptionError for an unknown format."""
    name = path.suffix.lstrip(".").lower() if form is None else form
    if name not in FORMATS:
        problem = f"{path.name!r} has no known extension" if form is None else f"There is no format {form!r}"
        raise OptionError(f"{problem}; choose a format: {', '.join(FORMATS)}.")
    return name


def _write_graphml(part: Part, file: TextIO) -> None:
    ranked = _RANKED if part.ranked else {}
    file.write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for element, attributes in (("node", {**_NODE, **_CHUNK, **ranked}), ("edge", {**_EDGE, **ranked})):
        for name, kind in attributes.items():
            file.write(f'<key id="{element}_{name}" for="{element}" attr.name="{name}" attr.type="{kind}"/>\n')
    file.write('<graph edgedefault="directed">\n')
    for node, attributes in part.described_nodes():
        file.write(f'<node id="{node}">{_data("node", attributes)}</node>\n')
    for edge, head, tail, attributes in part.described_edges():
        file.write(f'<edge id="{edge}" source="{head}" target="{tail}">{_data("edge", attributes)}</edge>\n')
    file.write("</graph>\n</graphml>\n")


def _write_json(part: Part, file: TextIO) -> None:
    file.write('{"directed": true, "multigraph": true, "graph": {}, "nodes": [')
    _write_lines(file, ({"id": node, **attributes} for node, attributes in part.described_nodes()))
    file.write('], "edges": [')
    edges = part.described_edges()
    _write_lines(file, ({"source": head, "target": tail, "key": edge, **more} for edge, head, tail, more in edges))
    file.write("]}\n")


def _write_csv(part: Part, file: TextIO) -> None:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(("head", "relation", "tail", "text"))
    for _, head, tail, attributes in part.described_edges():
        names = part.graph.names
        row = names[head], attributes["relation"], names[tail], attributes.get("text", "")
        rows.writerow([_storable(value) for value in row])


def _write_neo4j(part: Part, file: TextIO) -> None:
    """Write JSON lines that `CALL apoc.import.json` of Neo4j reads; labels are kinds, types are relations."""
    labels: dict[int, list[str]] = {}
    for node, attributes in part.described_nodes():
        labels[node] = [attributes.pop("kind").capitalize()]
        row = {"type": "node", "id": str(node), "labels": labels[node], "properties": attributes}
        file.write(_json_line(row) + "\n")
    for edge, head, tail, attributes in part.described_edges():
        row = {"type": "relationship", "id": str(edge), "label": attributes.pop("relation")}
        ends = zip(("start", "end"), (head, tail), strict=True)
        row |= {end: {"id": str(node), "labels": labels[node]} for end, node in ends}
        file.write(_json_line(row | ({"properties": attributes} if attributes else {})) + "\n")


def _write_ntriples(part: Part, file: TextIO) -> None:
    """Write RDF as N-Triples, which is Turtle too: names as labels, edges as statements, other attributes of nodes.

    RDF states a triple once: parallel edges of one relation become one, and texts of edges are left out.
    """
    relations = dict[str, str]()
    for node, attributes in part.described_nodes():
        subject = f"<{_NODE_IRI}{node}>"
        file.write(f"{subject} <{_LABEL}> {_literal(attributes.pop('name'))} .\n")
        for name, value in attributes.items():
            file.write(f"{subject} <{_ATTRIBUTE_IRI}{name}> {_literal(value)} .\n")
    statements: dict[tuple[int, str, int], int] = {}
    for edge, head, tail, attributes in part.described_edges():
        relation = attributes["relation"]
        if relation not in relations:
            relations[relation] = f"<{_RELATION_IRI}{quote(_storable(relation), safe='')}>"
            file.write(f"{relations[relation]} <{_LABEL}> {_literal(relation)} .\n")
        if (head, relation, tail) not in statements:
            statements[head, relation, tail] = edge
            file.write(f"<{_NODE_IRI}{head}> {relations[relation]} <{_NODE_IRI}{tail}> .\n")
    part.edges = np.array(list(statements.values()), np.int64)


FORMATS: dict[str, Callable[[Part, TextIO], None]] = {
    "graphml": _write_graphml,
    "json": _write_json,
    "jsonl": _write_neo4j,
    "csv": _write_csv,
    "nt": _write_ntriples,
    "ttl": _write_ntriples,
}


def _data(element: str, attributes: Attributes) -> str:
    return "".join(f'<data key="{element}_{name}">{_xml(value)}</data>' for name, value in attributes.items())


def _xml(value: Any) -> str:
    if isinstance(value, list):
        value = json.dumps(value, ensure_ascii=False)
    return _NOT_XML.sub("\ufffd", str(value)).translate(_ESCAPED)


def _storable(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text).replace("\0", "\ufffd")


def _literal(value: Any) -> str:
    """Return a value as a literal of N-Triples."""
    return f'"{_storable(str(value)).translate(_QUOTED)}"'


def _json_line(row: Attributes) -> str:
    return _SURROGATE.sub("\ufffd", json.dumps(row, ensure_ascii=False))


def _write_lines(file: TextIO, rows: Iterable[Attributes]) -> None:
    between = "\n"
    for row in rows:
        file.write(between + _json_line(row))
        between = ",\n"
    file.write("\n")
