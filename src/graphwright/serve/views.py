"""Views of an index: its documents with their passages, its entities with their statements, and paths."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright import Graph, Index
from graphwright.graph import Kind
from graphwright.graph.columns import Listed
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns
from graphwright.kernels.csr import Csr, undirected
from graphwright.kernels.paths import paths_between
from graphwright.operators import Run
from graphwright.operators.search.nearest import nodes_near
from graphwright.search import Facts, Snapshot
from graphwright.search.name_index import name_index_of
from graphwright.search.snapshot import SnapshotCache, per_snapshot
from graphwright.search.versions import versions_of, years_of
from graphwright.serve.problems import NotFoundError

_MAX_VALUES = 100  # of a metadata field that a reader may choose
_listed: SnapshotCache[list[Listed]] = SnapshotCache()
_filters: SnapshotCache[dict[str, Any]] = SnapshotCache()


def documents(index: Index, query: str, offset: int, limit: int, sort: str = "name") -> dict[str, Any]:
    """Return the documents whose id or title contains a text, by "name" (id), "date" or "size", and their number.

    Each is {id, title, characters, chunks}. Passages of an imported graph's nodes belong to no document.
    """
    found = listed(index)
    if part := query.strip().casefold():
        found = [item for item in found if part in f"{item.id}\n{item.title}".casefold()]
    if sort == "size":
        found = sorted(found, key=lambda item: -item.characters)
    if sort == "date":  # of the metadata, else that which the text states
        when = {id: version.first for id, version in versions_of(index.graph.columns).dated.items()}
        given = {id: years_of(fields.get("date", ""))[0] for id, fields in index.metadata_by_document().items()}
        when |= {id: first for id, first in given.items() if not np.isnan(first)}
        found = sorted(found, key=lambda item: -when.get(item.id, 0))
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


def filters(index: Index) -> dict[str, Any]:
    """Return the folders of the documents, and the metadata fields with their most frequent values."""
    return _filters.get(index.graph.columns, "filters", lambda: _counted_filters(index))


def _counted_filters(index: Index) -> dict[str, Any]:
    folders = {parent for item in listed(index) for parent in PurePosixPath(item.id.split("#")[0]).parents}
    values: dict[str, Counter[str]] = {}
    for fields in index.metadata_by_document().values():
        for name, value in fields.items():
            values.setdefault(name, Counter())[value] += 1
    metadata = {name: [value for value, _ in found.most_common(_MAX_VALUES)] for name, found in sorted(values.items())}
    return {"folders": sorted(map(str, folders - {PurePosixPath("."), PurePosixPath("/")})), "metadata": metadata}


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


_WIDER = 4  # times as many of the best connected are sorted by type
_VALUES = ("number", "date")
MAX_EDGES = 6  # maximum length of a path
_MAX_TYPES = 200


def entities(snapshot: Snapshot, query: str, limit: int, type: str = "") -> list[dict[str, Any]]:
    """Return the entities whose names equal a text, begin with it or are similar; without a text the best connected.

    `type`: only those of this type, as queries name it.

    Then things come before names without a type, such as titles; numbers and dates are left out where there are others.
    Each is {node, name, type, passages, degree}: numbers of the passages that name it, and of its neighbours.
    """
    graph = snapshot.graph
    is_entity = graph.columns.kinds != Kind.CHUNK
    if type:
        things = Facts.of(graph).of_type(type)
        of_type = np.zeros(len(is_entity), bool)
        of_type[things[things < len(is_entity)]] = True
        is_entity &= of_type
    if not query.strip():
        nodes = _best_connected(graph, np.flatnonzero(is_entity), limit)
    else:
        nodes = _matching(snapshot, query.strip(), limit, is_entity)
    return [_summary(graph, node) for node in nodes]


@per_snapshot
def types(columns: Columns) -> list[dict[str, Any]]:
    """Return the types that `entities` takes with the numbers of their entities, the most frequent first."""
    facts = Facts(columns)
    known, counts = set(facts.types), facts.types_of(np.flatnonzero(columns.kinds != Kind.CHUNK))
    return [{"name": name, "count": count} for name, count in counts.items() if name in known][:_MAX_TYPES]


def _best_connected(graph: Graph, candidates: Ints, limit: int) -> list[int]:
    degrees = np.diff(_adjacency(graph.columns).indptr)
    order = np.lexsort((candidates, -degrees[candidates]))[: _WIDER * limit]
    best = {node: _type(graph, node) for node in candidates[order].tolist()}
    things = [node for node, type in best.items() if type not in _VALUES]
    return sorted(things, key=lambda node: not best[node])[:limit] or list(best)[:limit]


def links(graph: Graph, nodes: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of these nodes that are neighbours."""
    adjacency, wanted = _adjacency(graph.columns), set(nodes)
    return [(a, b) for a in nodes for b in adjacency.row(a).tolist() if a < b and b in wanted]


def _matching(snapshot: Snapshot, query: str, limit: int, is_wanted: NDArray[np.bool_]) -> list[int]:
    graph, index = snapshot.graph, name_index_of(snapshot.graph.columns)
    form = index.form(query)
    matches = dict.fromkeys(index.find(form).tolist())
    if form:
        first, last = index.forms.ends(form, index.order, prefix=True)
        found = index.nodes[first:last]
        matches |= dict.fromkeys(found[is_wanted[found]][:limit].tolist())
    if len(matches) < limit:  # names with a word of the text or, where there are none, the one spelled most like it
        matches |= dict.fromkeys(nodes_near(Run(), None, graph, [query], limit)[0])
    return [node for node in matches if is_wanted[node]][:limit]


def _summary(graph: Graph, node: int) -> dict[str, Any]:
    return {
        "node": node,
        "name": graph.names[node],
        "type": _type(graph, node),
        "passages": len(graph.chunks_of([node])),
        "degree": len(_adjacency(graph.columns).row(node)),
    }


def _type(graph: Graph, node: int) -> str:
    """Return the type after an entity's name in its text, as in "Graz (place): a city", or ""."""
    rest = graph.text(node).removeprefix(graph.names[node])
    return rest[2 : rest.index(")")] if rest.startswith(" (") and ")" in rest else ""


def node_of(graph: Graph, name: str) -> int:
    """Return the node with a number, or the best connected node with a name. Raises NotFoundError if there is none."""
    if name.isascii() and name.isdigit() and len(name) < 12:
        nodes = np.array([int(name)])
    else:
        index = name_index_of(graph.columns)
        nodes = np.union1d(index.find(index.form(name)), graph.ids(name))
    nodes = nodes[graph.holds(nodes)]
    if not len(nodes):
        raise NotFoundError(f"No node has the number or the name {name!r}. Search the entities by a part of it.")
    return int(max(nodes.tolist(), key=lambda node: len(graph.columns.adjacency.row(node))))


def entity(graph: Graph, node: int, offset: int, limit: int) -> dict[str, Any]:
    """Return a node with its statements, passages and neighbours, at most `limit` of each from `offset` on."""
    columns, page = graph.columns, slice(offset, offset + limit)
    edges = np.union1d(columns.out.row(node), columns.into.row(node)).astype(np.int64)
    known = set[int]()  # neighbours
    same: dict[tuple[str, ...], list[int]] = {}  # edges that state the same, by what they state
    for edge in sorted(edges[columns.between_entities(edges)].tolist(), key=graph.co_occurs):
        other = sum(graph.ends([edge]).tolist()) - node
        if not (graph.co_occurs(edge) and other in known):  # less informative than what is stated, or than the first
            same.setdefault(graph.triple(edge), []).append(edge)
        known.add(other)
    said = list(same.values())
    chunks = graph.chunks_of([node]).tolist()
    return {
        **_summary(graph, node),
        "text": graph.text(node),
        "statements": [_statement(graph, edges) for edges in said[page]],
        "total_statements": len(said),
        "passages": [_passage(graph, chunk) for chunk in chunks[page]],
        "total_passages": len(chunks),
        "neighbours": [_neighbour(graph, node, edge) for edge, *_ in said[page]],
    }


def _statement(graph: Graph, edges: list[int]) -> dict[str, Any]:
    head, relation, tail = graph.triple(edges[0])
    passages = graph.names.take(graph.chunks_of(edges=edges))
    return {"head": head, "relation": relation, "tail": tail, "text": graph.edge_text(edges[0]), "passages": passages}


def _neighbour(graph: Graph, node: int, edge: int) -> dict[str, Any]:
    head, tail = graph.ends([edge]).tolist()
    other = tail if head == node else head
    direction = "out" if head == node else "in"
    return {"node": other, "name": graph.names[other], "relation": graph.triple(edge)[1], "direction": direction}


def _passage(graph: Graph, chunk: int) -> dict[str, Any]:
    place = None if graph.passages is None else graph.passages.of(chunk)
    names = ("id", "document", "title", "start", "end")
    return {"node": chunk, **({} if place is None else {name: getattr(place, name) for name in names})}


def paths(graph: Graph, source: str, target: str, limit: int) -> list[list[dict[str, Any]]]:
    """Return the first `limit` shortest paths of two nodes, up to MAX_EDGES edges: nodes and relations in turn."""
    adjacency = _adjacency(graph.columns)
    ends = node_of(graph, source), node_of(graph, target)
    walks = paths_between(adjacency.indptr, adjacency.values, *ends, MAX_EDGES)
    return [_described(graph, walk) for walk in islice(walks, limit)]


def _described(graph: Graph, walk: list[int]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"node": walk[0], "name": graph.names[walk[0]]}]
    for node, after in pairwise(walk):
        edges = graph.edges_between(node, after)
        edge = int(min(edges.tolist(), key=graph.co_occurs))
        forward = int(graph.columns.heads[edge]) == node
        parts.append({"relation": graph.triple(edge)[1], "forward": forward, "text": graph.edge_text(edge)})
        parts.append({"node": after, "name": graph.names[after]})
    return parts


@per_snapshot
def _adjacency(columns: Columns) -> Csr:
    """Return the distinct neighbours of each node over edges between two entities."""
    edges: Ints = np.arange(len(columns.heads))
    edges = edges[columns.between_entities(edges)]
    return undirected(len(columns.names), columns.heads[edges], columns.tails[edges])
