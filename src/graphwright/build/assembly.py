"""Assemble a graph in memory from nodes and edges with texts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphwright.data.graph_files.property_graphs import Edge, Node
from graphwright.errors import DataError
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns, Graph


def graph_of(nodes: Iterable[Node], edges: Iterable[Edge]) -> Graph:
    """Return the graph of nodes and edges, in the order given; each node is an entity.

    A repeated equal node counts once. Raises DataError for two nodes of one id that differ, and for an edge whose end
    is no node.

    >>> graph = graph_of([Node("1", "Mur"), Node("2", "Graz", "Graz (city)")], [Edge("1", "flows through", "2")])
    >>> graph.triple(0), graph.text(1)
    (('Mur', 'flows through', 'Graz'), 'Graz (city)')
    """
    by_id: dict[str, tuple[int, Node]] = {}
    for node in nodes:
        known = by_id.setdefault(node.id, (len(by_id), node))[1]
        if known != node:
            raise DataError(f"two nodes have the id {node.id!r}: {known.name!r} and {node.name!r}. Give each its own.")
    listed, missing = list(edges), dict[str, int]()
    for at, edge in enumerate(listed):
        for end in (edge.head, edge.tail):
            if end not in by_id:
                missing.setdefault(end, at)
    if missing:
        end, at = next(iter(missing.items()))
        raise DataError(
            f"edge {at} ({listed[at].relation!r}) ends at {end!r}, which is no node; {len(missing):,} such ids. Give "
            f"all nodes, or leave out the edges."
        )
    relations, texts = dict[str, int](), dict[str, int]()
    table = np.array(
        [
            (
                by_id[edge.head][0],
                by_id[edge.tail][0],
                relations.setdefault(edge.relation, len(relations)),
                texts.setdefault(edge.text, len(texts)) if edge.text else -1,
            )
            for edge in listed
        ],
        np.int32,
    ).reshape(-1, 4)
    heads, tails, relation, text = map(np.ascontiguousarray, table.T)
    unique = [node for _, node in by_id.values()]
    return Graph(
        Columns(
            names=TextColumn.of(node.name for node in unique),
            heads=heads,
            tails=tails,
            relation=relation,
            relations=TextColumn.of(relations),
            kinds=np.zeros(len(unique), np.uint8),
            texts=TextColumn.of(node.text or node.name for node in unique)
            if any(node.text for node in unique)
            else None,
            edge_text=text if texts else None,
            sentences=TextColumn.of(texts) if texts else None,
        )
    )
