"""Views of an index's documents: the list, and a document with its passages and their entities."""

from __future__ import annotations

from typing import Any

from graphwright import Graph, Index
from graphwright.graph import Kind
from graphwright.graph.columns import Listed
from graphwright.search.snapshot import SnapshotCache
from graphwright.serve.problems import NotFoundError

_listed: SnapshotCache[list[Listed]] = SnapshotCache()


def documents(index: Index, query: str, offset: int, limit: int) -> dict[str, Any]:
    """Return the documents whose id or title contains a text, by id, and the number of all matches.

    Each is {id, title, characters, chunks}. Passages of an imported graph's nodes belong to no document.
    """
    found = listed(index)
    if part := query.strip().casefold():
        found = [item for item in found if part in f"{item.id}\n{item.title}".casefold()]
    return {"documents": [item._asdict() for item in found[offset : offset + limit]], "total": len(found)}


def document(index: Index, id: str) -> dict[str, Any]:
    """Return a document with its metadata and passages, and their entities. Raises NotFoundError for an unknown id."""
    graph = index.graph
    rows = check_document(graph, id)
    passages = graph.passages
    assert passages is not None  # there are rows
    chunks: list[dict[str, Any]] = [
        {
            "id": passages.names[row],
            "start": int(passages.start[row]),
            "end": int(passages.end[row]),
            "entities": _entities(graph, int(passages.nodes[row])),
        }
        for row in sorted(rows, key=lambda row: int(passages.start[row]))
    ]
    return {
        "id": id,
        "title": passages.titles[int(passages.document[rows[0]])],
        "characters": max(chunk["end"] for chunk in chunks),
        "metadata": index.metadata(id),
        "chunks": chunks,
    }


def text(index: Index, id: str) -> str:
    """Return the text of a document. Raises NotFoundError for an unknown id."""
    check_document(index.graph, id)
    return index.text(id)


def document_text(text: str, start: int, end: int | None) -> dict[str, Any]:
    """Return characters of a text as {start, end, text}; start and end are limited to the text."""
    last = len(text) if end is None else min(end, len(text))
    first = min(start, last)
    return {"start": first, "end": last, "text": text[first:last]}


def check_removable(index: Index, id: str) -> None:
    """Raise NotFoundError for an id of no added document, such as the id of a node's passage."""
    check_document(index.graph, id)
    if index.imported is not None and all(item.id != id for item in listed(index)):
        raise NotFoundError(f"{id!r} is the passage of a node of the imported graph, which cannot be removed.")


def listed(index: Index) -> list[Listed]:
    """Return the documents of an index by id."""
    return _listed.get(index.graph.columns, "documents", index.list_documents)


def check_document(graph: Graph, id: str) -> list[int]:
    """Return the rows of a document's passages. Raises NotFoundError for an unknown id."""
    passages = graph.passages
    rows = [] if passages is None else passages.rows_of_document.get(id, [])
    if not rows:
        raise NotFoundError(f"There is no document {id!r} in this index. Search the list of documents for its id.")
    return rows


def _entities(graph: Graph, chunk: int) -> list[dict[str, Any]]:
    """Return the entities of a passage, in the order of their first occurrence."""
    columns = graph.columns
    nodes = [node for node in columns.adjacency.row(chunk).tolist() if columns.kinds[node] == Kind.ENTITY]
    text = graph.text(chunk).casefold()
    places = {node: text.find(graph.names[node].casefold()) for node in nodes}
    nodes.sort(key=lambda node: (places[node] < 0, places[node], node))
    return [{"node": node, "name": graph.names[node]} for node in nodes]
