"""Export a graph, or the evidence retrieved from it, as GraphML or node-link JSON.

Both formats hold the same. Ids of nodes and edges are those of the snapshot.

| of | attributes |
|---|---|
| node | `name`, `kind`; `text` where it is not the name; of a chunk also `document`, `title`, `start`, `end` |
| edge | `relation`; `text` where a text states it; `chunks`, the names of the chunks it came from |
| both | with evidence `rank`, that of the first item that holds it, from 1, and `score`, that of its best item |

Empty attributes are left out. GraphML has no lists, so that `chunks` is there a JSON list in a
string. Characters that a format cannot hold become U+FFFD: control characters in XML, lone surrogates in both.

networkx reads them back, parallel edges kept:
`read_graphml(path, node_type=int, edge_key_type=int, force_multigraph=True)`, and
`node_link_graph(json.load(file), edges="edges")`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from graphwright.errors import OptionError
from graphwright.files import whole
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph, Kind

__all__ = ["FORMATS", "Exported", "export", "format_of", "write_graphml", "write_json"]

Attributes = dict[str, Any]

_NODE = {"name": "string", "kind": "string", "text": "string"}
_CHUNK = {"document": "string", "title": "string", "start": "long", "end": "long"}
_EDGE = {"relation": "string", "text": "string", "chunks": "string"}
_RANKED = {"rank": "long", "score": "double"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# An XML reader turns a bare carriage return into a line feed.
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


class Exported(NamedTuple):
    """Number of nodes and edges written."""

    nodes: int
    edges: int


def export(graph: Graph, path: str | Path, form: str | None = None, evidence: Evidence | None = None) -> Exported:
    """Write a graph to a file. The file is replaced atomically: after an error it is unchanged.

    `form`: graphml or json (default: by the file's extension). `evidence`: write only the nodes and edges of its items,
    and the ends of those edges. Where no item holds an edge, the entities that its passages mention, and the edges of
    `graph` between all of these, are written too, without rank and score. Memory does not grow with the graph.
    Raises OptionError for an unknown format, DataError if the file cannot be written.

    >>> import tempfile; graph = Graph.from_triples([("Mur", "flows through", "Graz")])
    >>> export(graph, Path(tempfile.mkdtemp()) / "rivers.graphml")
    Exported(nodes=2, edges=1)
    """
    place = Path(path)
    write = FORMATS[format_of(place, form)]
    if place.exists() and not place.is_file():
        raise OptionError(f"{place} is not a regular file. Give the path of a file.")
    with whole(place) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        return write(graph, file, evidence)


def format_of(path: Path, form: str | None = None) -> str:
    """Return the format given, or the one that the file's extension names. Raises OptionError for an unknown one.

    >>> format_of(Path("family.graphml")), format_of(Path("family.txt"), "json")
    ('graphml', 'json')
    """
    name = path.suffix.lstrip(".").lower() if form is None else form
    if name not in FORMATS:
        problem = f"{path.name!r} has no known extension" if form is None else f"There is no format {form!r}"
        raise OptionError(f"{problem}; choose a format: {', '.join(FORMATS)}.")
    return name


def write_graphml(graph: Graph, file: TextIO, evidence: Evidence | None = None) -> Exported:
    """Write GraphML to an open UTF-8 text file; see `export`.

    >>> import sys; graph = Graph.from_triples([("Mur", "<<", "Graz")])
    >>> write_graphml(graph, sys.stdout)
    <?xml version="1.0" encoding="UTF-8"?>
    ...
    <edge id="0" source="0" target="1"><data key="edge_relation">&lt;&lt;</data></edge>
    </graph>
    </graphml>
    Exported(nodes=2, edges=1)
    """
    part = _Part(graph, evidence)
    ranked = {} if evidence is None else _RANKED
    file.write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for of, attributes in (("node", {**_NODE, **_CHUNK, **ranked}), ("edge", {**_EDGE, **ranked})):
        for name, kind in attributes.items():
            file.write(f'<key id="{of}_{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>\n')
    file.write('<graph edgedefault="directed">\n')
    for node, attributes in part.described_nodes():
        file.write(f'<node id="{node}">{_data("node", attributes)}</node>\n')
    for edge, head, tail, attributes in part.described_edges():
        file.write(f'<edge id="{edge}" source="{head}" target="{tail}">{_data("edge", attributes)}</edge>\n')
    file.write("</graph>\n</graphml>\n")
    return part.size


def write_json(graph: Graph, file: TextIO, evidence: Evidence | None = None) -> Exported:
    """Write node-link JSON to an open UTF-8 text file, one line for each node and edge; see `export`.

    >>> import sys; graph = Graph.from_triples([("Mur", "flows through", "Graz")])
    >>> write_json(graph, sys.stdout)
    {"directed": true, "multigraph": true, "graph": {}, "nodes": [
    {"id": 0, "name": "Mur", "kind": "entity"},
    {"id": 1, "name": "Graz", "kind": "entity"}
    ], "edges": [
    {"source": 0, "target": 1, "key": 0, "relation": "flows through"}
    ]}
    Exported(nodes=2, edges=1)
    """
    part = _Part(graph, evidence)
    file.write('{"directed": true, "multigraph": true, "graph": {}, "nodes": [')
    _write_lines(file, ({"id": node, **attributes} for node, attributes in part.described_nodes()))
    file.write('], "edges": [')
    edges = part.described_edges()
    _write_lines(file, ({"source": head, "target": tail, "key": edge, **more} for edge, head, tail, more in edges))
    file.write("]}\n")
    return part.size


FORMATS: dict[str, Callable[[Graph, TextIO, Evidence | None], Exported]] = {
    "graphml": write_graphml,
    "json": write_json,
}


class _Part:
    """The nodes and edges to write, with the rank and score of those in the evidence."""

    def __init__(self, graph: Graph, evidence: Evidence | None) -> None:
        self.graph = graph
        self.nodes, self.edges = graph.nodes, graph.edges
        self.node_ranks: dict[int, Attributes] = {}
        self.edge_ranks: dict[int, Attributes] = {}
        if evidence is not None:
            _check(graph, evidence)
            self._mark(evidence)
            self.nodes, self.edges = (np.array(sorted(ids), np.int64) for ids in (self.node_ranks, self.edge_ranks))
            if not len(self.edges):
                self._connect()

    @property
    def size(self) -> Exported:
        return Exported(len(self.nodes), len(self.edges))

    def _connect(self) -> None:
        """Add the edges between nodes, and the entities that passages mention, where evidence has no edges."""
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
        columns = self.graph.columns
        for node in map(int, self.nodes):
            name = columns.names[node]
            attributes: Attributes = {"name": name, "kind": Kind(columns.kinds[node]).name.lower()}
            if columns.texts is not None and (text := columns.texts[node]) != name:
                attributes["text"] = text
            passage = None if columns.passages is None else columns.passages.of(node)
            if passage is not None:
                attributes["document"] = passage.document
                if passage.title:
                    attributes["title"] = passage.title
                attributes["start"], attributes["end"] = passage.start, passage.end
            yield node, attributes | self.node_ranks.get(node, {})

    def described_edges(self) -> Iterator[tuple[int, int, int, Attributes]]:
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


def _data(of: str, attributes: Attributes) -> str:
    return "".join(f'<data key="{of}_{name}">{_xml(value)}</data>' for name, value in attributes.items())


def _xml(value: Any) -> str:
    if isinstance(value, list):
        value = json.dumps(value, ensure_ascii=False)
    return _NOT_XML.sub("\ufffd", str(value)).translate(_ESCAPED)


def _write_lines(file: TextIO, rows: Iterable[Attributes]) -> None:
    between = "\n"
    for row in rows:
        file.write(between + _SURROGATE.sub("\ufffd", json.dumps(row, ensure_ascii=False)))
        between = ",\n"
    file.write("\n")
