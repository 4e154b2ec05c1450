"""Citations of spans of passages, and of facts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphwright.graph.graph import Graph
from graphwright.graph.records import STATEMENT, RecordColumns
from graphwright.operators.state import Citation
from graphwright.search.copies import copies_of
from graphwright.text.words import WORD

_ALSO = 3  # documents with copies that are named


def cite(graph: Graph, node: int, start: int, end: int, path: tuple[str, ...] = ()) -> Citation:
    """Return the citation of characters of a passage.

    On a graph without passages it has the name of the node as its chunk and no document, and its offsets count in the
    node's own text.
    """
    text = graph.passage(node)[start:end]
    passage = graph.passages.of(node) if graph.passages is not None else None
    if graph.passages is None or passage is None:
        return Citation("", graph.names[node], start, end, text, path)
    first, last = passage.start + start, passage.start + end
    location = location_of(graph, node, first, last)
    return Citation(passage.document, passage.id, first, last, text, path, location, documents_with(graph, node, text))


def documents_with(graph: Graph, node: int, text: str) -> tuple[str, ...]:
    """Return the documents with copies of a passage that have a text of it, too, apart from case and punctuation."""
    copies = [copy for copy in copies_of(graph, node) if _words(text) in _words(graph.text(copy))]
    locations = [] if graph.passages is None else map(graph.passages.of, copies)
    return tuple(dict.fromkeys(location.document for location in locations if location))


def also_in(documents: Sequence[str]) -> str:
    """Return where else a passage stands, by the first three documents; "" for none.

    >>> also_in(["a.txt", "b.txt", "c.txt", "d.txt"])
    'also in a.txt, b.txt, c.txt and 1 more'
    """
    more = f" and {len(documents) - _ALSO} more" if len(documents) > _ALSO else ""
    return f"also in {', '.join(documents[:_ALSO])}{more}" if documents else ""


def _words(text: str) -> str:
    return f" {' '.join(WORD.findall(text.casefold()))} "


def location_of(graph: Graph, node: int, start: int, end: int) -> str:
    """Return the place in its file of characters of the document of a passage, "" for none."""
    places = None if graph.passages is None else graph.passages.places_of(graph.passages.row(node))
    return "" if places is None else places.of(start, end)


def cite_fact(graph: Graph, fact: int) -> Citation:
    """Return the citation of a fact: of an edge, or of the record that field `fact` - m belongs to; m edges.

    An edge is cited where a passage states it, else by the name of an end, with the triple as path; a record by its
    characters, a record of several passages by those of the field, a statement by the edge that it belongs to.
    """
    edges, records = len(graph.columns.heads), graph.columns.records
    if fact < edges or records is None:
        return _cite_edge(graph, fact)
    return _cite_field(graph, records, fact - edges)


def _edge_of(graph: Graph, records: RecordColumns, record: int) -> int | None:
    """Return the edge that makes the statement of a record and whose text says its fields, None without one."""
    if records.types[int(records.type[record])] != STATEMENT or records.span[record].any():
        return None
    first, last = np.searchsorted(records.record, (record, record + 1)).tolist()
    head, tail = int(records.node[first]), int(records.node[first + 2])  # after the subject comes the relation
    values = records.texts.take(records.text[first + 3 : last])
    edges = graph.columns.out.row(head)
    for edge in edges[graph.columns.tails[edges] == tail].tolist():
        text = graph.edge_text(edge)
        if all(value in text for value in values):
            return int(edge)
    return None


def _cite_edge(graph: Graph, edge: int, path: tuple[str, ...] = ()) -> Citation:
    """Return the citation of an edge; `path`: by default its triple."""
    triple = graph.triple(edge)
    path = path or triple
    nodes = [int(graph.columns.heads[edge]), int(graph.columns.tails[edge])]
    chunks = graph.chunks_of((), [edge]).tolist() if graph.passages is not None else nodes
    quotes = (graph.edge_text(edge), " ".join(triple).replace("_", " "), triple[2], triple[0])
    for quote in quotes:
        for chunk in chunks:
            start = graph.passage(chunk).find(quote)
            if start >= 0 and quote:
                return cite(graph, chunk, start, start + len(quote), path)
    return Citation("", triple[0], 0, len(triple[0]), triple[0], path)


def _cite_field(graph: Graph, records: RecordColumns, field: int) -> Citation:
    record, text = int(records.record[field]), records.texts[int(records.text[field])]
    first = int(records.record.searchsorted(record))
    path = (records.texts[int(records.text[first])], records.names[int(records.name[field])], text)
    if (edge := _edge_of(graph, records, record)) is not None:
        return _cite_edge(graph, edge, path)
    passages = graph.passages
    if passages is None:
        return Citation("", path[0], 0, len(text), text, path)
    chunk = int(records.chunk[record])
    document = passages.documents[int(passages.document[passages.row(chunk)])]
    for start, end in (records.span[record].tolist(), records.field_span[field].tolist()):
        for row in passages.rows_of_document[document]:
            offset = int(passages.start[row])
            if offset <= start < end <= int(passages.end[row]):
                return cite(graph, int(passages.nodes[row]), start - offset, end - offset, path)
    return cite(graph, chunk, 0, len(graph.passage(chunk)), path)
