"""A graph, or what a retrieval found in it, as GraphML and as node-link JSON, for other tools to read.

Both formats hold the same. Ids of nodes and edges are those of the snapshot.

| of | attributes |
|---|---|
| node | `name`, `kind`; `text` where it is not the name; of a chunk also `document`, `title`, `start`, `end` |
| edge | `relation`; `text` where a text states it; `chunks`, the names of the chunks it came from |
| both | with evidence `rank`, the first piece that holds it, from 1, and `score`, its best piece's |

An attribute that has nothing to say is left out. GraphML has no lists, so that `chunks` is there a JSON list in a
string. What a format cannot hold becomes U+FFFD: control characters in XML, lone surrogates in both.

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
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph, Kind

__all__ = ["FORMS", "Written", "export", "form_of", "write_graphml", "write_json"]

Attributes = dict[str, Any]

_NODE = {"name": "string", "kind": "string", "text": "string"}
_CHUNK = {"document": "string", "title": "string", "start": "long", "end": "long"}
_EDGE = {"relation": "string", "text": "string", "chunks": "string"}
_FOUND = {"rank": "long", "score": "double"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# A carriage return would be read back as a line feed if it stood there as it is.
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


class Written(NamedTuple):
    """How many nodes and edges were written."""

    nodes: int
    edges: int


def export(graph: Graph, path: str | Path, form: str | None = None, evidence: Evidence | None = None) -> Written:
    """Write a graph to a file, which is replaced at one stroke: on an error it is as it was before.

    `form`: graphml or json; by the end of the file's name unless given. `evidence`: only what its pieces hold is
    written: nodes, edges, and the ends of edges. Where no piece holds an edge, what the passages among the nodes
    mention, and the edges of `graph` between all of these, are written too, without rank and score. Memory does not
    grow with the graph.
    Raises OptionError for another form, DataError where the file cannot be written.

    >>> import tempfile; graph = Graph.from_triples([("Mur", "flows through", "Graz")])
    >>> export(graph, Path(tempfile.mkdtemp()) / "rivers.graphml")
    Written(nodes=2, edges=1)
    """
    place = Path(path)
    write = FORMS[form_of(place, form)]
    if place.exists() and not place.is_file():
        raise OptionError(f"{place} is not a file, and would be replaced by one. Name a file.")
    with whole(place) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        return write(graph, file, evidence)


def form_of(path: Path, form: str | None = None) -> str:
    """Return the form given, else the one that the end of the file's name says. Raises OptionError for another.

    >>> form_of(Path("kin.graphml")), form_of(Path("kin.txt"), "json")
    ('graphml', 'json')
    """
    found = path.suffix.lstrip(".").lower() if form is None else form
    if found not in FORMS:
        asked = f"the end of {path.name!r} says no format" if form is None else f"there is no format {form!r}"
        raise OptionError(f"{asked}; choose one: {', '.join(FORMS)}.")
    return found


def write_graphml(graph: Graph, file: TextIO, evidence: Evidence | None = None) -> Written:
    """Write GraphML to an open UTF-8 text file; see `export`.

    >>> import sys; graph = Graph.from_triples([("Mur", "<<", "Graz")])
    >>> write_graphml(graph, sys.stdout)
    <?xml version="1.0" encoding="UTF-8"?>
    ...
    <edge id="0" source="0" target="1"><data key="edge_relation">&lt;&lt;</data></edge>
    </graph>
    </graphml>
    Written(nodes=2, edges=1)
    """
    part = _Part(graph, evidence)
    found = {} if evidence is None else _FOUND
    file.write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for of, attributes in (("node", {**_NODE, **_CHUNK, **found}), ("edge", {**_EDGE, **found})):
        for name, kind in attributes.items():
            file.write(f'<key id="{of}_{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>\n')
    file.write('<graph edgedefault="directed">\n')
    for node, attributes in part.described_nodes():
        file.write(f'<node id="{node}">{_data("node", attributes)}</node>\n')
    for edge, head, tail, attributes in part.described_edges():
        file.write(f'<edge id="{edge}" source="{head}" target="{tail}">{_data("edge", attributes)}</edge>\n')
    file.write("</graph>\n</graphml>\n")
    return part.size


def write_json(graph: Graph, file: TextIO, evidence: Evidence | None = None) -> Written:
    """Write node-link JSON to an open UTF-8 text file, one line for each node and edge; see `export`.

    >>> import sys; graph = Graph.from_triples([("Mur", "flows through", "Graz")])
    >>> write_json(graph, sys.stdout)
    {"directed": true, "multigraph": true, "graph": {}, "nodes": [
    {"id": 0, "name": "Mur", "kind": "entity"},
    {"id": 1, "name": "Graz", "kind": "entity"}
    ], "edges": [
    {"source": 0, "target": 1, "key": 0, "relation": "flows through"}
    ]}
    Written(nodes=2, edges=1)
    """
    part = _Part(graph, evidence)
    file.write('{"directed": true, "multigraph": true, "graph": {}, "nodes": [')
    _write_lines(file, ({"id": node, **attributes} for node, attributes in part.described_nodes()))
    file.write('], "edges": [')
    edges = part.described_edges()
    _write_lines(file, ({"source": head, "target": tail, "key": edge, **more} for edge, head, tail, more in edges))
    file.write("]}\n")
    return part.size


FORMS: dict[str, Callable[[Graph, TextIO, Evidence | None], Written]] = {"graphml": write_graphml, "json": write_json}


class _Part:
    """What is written: ids of nodes and edges, and for those that evidence holds their rank and score."""

    def __init__(self, graph: Graph, evidence: Evidence | None) -> None:
        self.graph = graph
        self.nodes, self.edges = graph.nodes, graph.edges
        self.node_found: dict[int, Attributes] = {}
        self.edge_found: dict[int, Attributes] = {}
        if evidence is not None:
            _check(graph, evidence)
            self._mark(evidence)
            self.nodes, self.edges = _ascending(self.node_found), _ascending(self.edge_found)
            if not len(self.edges):
                self._connect()

    @property
    def size(self) -> Written:
        return Written(len(self.nodes), len(self.edges))

    def _connect(self) -> None:
        """Put edges between nodes that were found without any; passages meet in the entities that they mention."""
        columns = self.graph.columns
        chunks = self.nodes[columns.kinds[self.nodes] == Kind.CHUNK]
        named = columns.tails[columns.out.rows(chunks)]
        near = self.graph.part(np.concatenate((self.nodes, named)))
        self.nodes, self.edges = np.union1d(self.nodes, near.nodes), near.edges

    def _mark(self, evidence: Evidence) -> None:
        for at, (nodes, edges) in enumerate(evidence):
            score = -math.inf if evidence.scores is None else float(evidence.scores[at])
            for ids, found in (
                (np.concatenate((nodes, self.graph.ends(edges))), self.node_found),
                (edges, self.edge_found),
            ):
                for i in ids.tolist():
                    mark = found.setdefault(i, {"rank": at + 1})
                    # No format holds infinity in a way that all read.
                    if math.isfinite(score) and score > mark.get("score", -math.inf):
                        mark["score"] = score

    def described_nodes(self) -> Iterator[tuple[int, Attributes]]:
        columns = self.graph.columns
        for node in map(int, self.nodes):
            name = columns.names[node]
            made: Attributes = {"name": name, "kind": Kind(columns.kinds[node]).name.lower()}
            if columns.texts is not None and (text := columns.texts[node]) != name:
                made["text"] = text
            passage = None if columns.passages is None else columns.passages.of(node)
            if passage is not None:
                made["document"] = passage.document
                if passage.title:
                    made["title"] = passage.title
                made["start"], made["end"] = passage.start, passage.end
            yield node, made | self.node_found.get(node, {})

    def described_edges(self) -> Iterator[tuple[int, int, int, Attributes]]:
        columns = self.graph.columns
        for edge in map(int, self.edges):
            made: Attributes = {"relation": columns.relations[int(columns.relation[edge])]}
            if columns.edge_text is not None and columns.edge_text[edge] >= 0:
                made["text"] = self.graph.edge_text(edge)
            chunks = () if columns.edge_chunks is None else columns.edge_chunks.row(edge)
            if len(chunks):
                made["chunks"] = columns.names.take(chunks)
            made |= self.edge_found.get(edge, {})
            yield edge, int(columns.heads[edge]), int(columns.tails[edge]), made


def _check(graph: Graph, evidence: Evidence) -> None:
    columns = graph.columns
    for what, ids, count in (
        ("node", evidence.nodes, len(columns.names)),
        ("edge", evidence.edges, len(columns.heads)),
    ):
        if len(ids) and ids.max() >= count:
            raise OptionError(
                f"the evidence holds {what} {ids.max()}, and the graph has {count} {what}s. "
                f"Export it with the graph that it was found in."
            )


def _ascending(ids: Iterable[int]) -> Ints:
    return np.array(sorted(ids), np.int64)


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
