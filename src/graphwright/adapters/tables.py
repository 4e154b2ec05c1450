"""Tables of pandas, polars and Arrow: import and export of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from graphwright import Evidence, Graph
from graphwright.adapters.results import columns_of, missing_extra
from graphwright.build.imports.assembly import graph_of
from graphwright.data.graph_files.property_graphs import Node, edge_of, node_of
from graphwright.errors import DataError, OptionError
from graphwright.graph.export_part import Part

_ENDS = (("head", "source", "subject", "src", "from"), ("tail", "target", "object", "dst", "to"))
_LIBRARIES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


def from_tables(edges: Any, nodes: Any = None, *, columns: Sequence[str] | None = None) -> Graph:
    """Convert a table of edges and an optional table of nodes: of pandas, polars or Arrow, or a dict of lists.

    `columns`: names of the columns for head, relation and tail, or head and tail, in the table of edges; by default
    head (source, subject), relation (predicate, label, type) and tail (target, object). With a table of nodes, heads
    and tails are ids in its column `id`, else names. Further columns: see
    graphwright.data.graph_files.property_graphs. Raises DataError for a missing column, and a row without head or tail.

    >>> from_tables({"source": ["Mur"], "relation": ["flows into"], "target": ["Drava"]}).triple(0)
    ('Mur', 'flows into', 'Drava')
    """
    rows = _rows(edges, "edges")
    head, relation, tail = _places(list(rows[0]) if rows else [], columns)
    edge_list = []
    for number, row in enumerate(rows):
        if row[head] is None or row[tail] is None:
            raise DataError(f"row {number} of edges has no {head if row[head] is None else tail}: {str(row)[:80]}.")
        label = "" if relation is None or row[relation] is None else str(row[relation])
        attributes = {name: value for name, value in row.items() if name not in ("id", head, relation, tail)}
        edge_list.append(edge_of(row[head], row[tail], attributes, label))
    if nodes is None:
        names = dict.fromkeys(end for edge in edge_list for end in (edge.head, edge.tail))
        return graph_of([Node(name, name) for name in names], edge_list)
    node_rows = _rows(nodes, "nodes")
    if node_rows and "id" not in node_rows[0]:
        raise DataError(f"the table of nodes has no column 'id'; it has {', '.join(map(repr, node_rows[0]))}.")
    nodes_read = [node_of(row["id"], {n: value for n, value in row.items() if n != "id"}) for row in node_rows]
    return graph_of(nodes_read, edge_list)


def _places(names: list[str], columns: Sequence[str] | None) -> tuple[str, str | None, str]:
    if columns is None:
        ends = [next((name for name in known if name in names), known[0]) for known in _ENDS]
        columns = [ends[0], *(["relation"] if "relation" in names else []), ends[1]]
    if len(columns) not in (2, 3):
        raise OptionError(f"columns={list(columns)}: give head, relation and tail, or head and tail.")
    if names and (missing := [name for name in columns if name not in names]):
        raise DataError(f"the table of edges has no column {missing[0]!r}; it has {', '.join(map(repr, names))}.")
    return columns[0], columns[1] if len(columns) == 3 else None, columns[-1]


def _rows(table: Any, kind: str) -> list[dict[str, Any]]:
    """Return the rows of a table; a missing value is None."""
    if isinstance(table, Mapping):
        if any(isinstance(column, str) or not isinstance(column, Iterable) for column in table.values()):
            raise OptionError(f"a column of {kind} is no list: {str(table)[:80]}. Give a list of values for each.")
        values = {str(name): list(column) for name, column in table.items()}
    elif hasattr(table, "columns"):
        names = getattr(table, "column_names", None) or list(table.columns)
        values = {str(name): _listed(table[name]) for name in names}
    else:
        raise OptionError(f"{type(table).__name__} is no table of {kind}; give one of pandas, polars or pyarrow.")
    lengths = {name: len(column) for name, column in values.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the columns of {kind} differ in their length: {str(lengths)[:80]}. Give a value in each row.")
    columns = ([None if value != value else value for value in column] for column in values.values())  # NaN
    return [dict(zip(values, row, strict=True)) for row in zip(*columns, strict=True)]


def _listed(column: Any) -> list[Any]:
    listed: list[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return [None if type(value).__name__ in ("NAType", "NaTType") else value for value in listed]


def to_tables(graph: Graph, library: str = "pandas", evidence: Evidence | None = None) -> tuple[Any, Any]:
    """Return the tables of nodes and of edges, of pandas, polars or pyarrow.

    Nodes have `id`, `name`, `kind` and any further attributes of `graphwright.graph.export`. Edges have `id`, `head`
    and `tail` (ids of nodes), `relation`, and `text` if there is any. `evidence`: export only the nodes and edges of
    the evidence. Raises OptionError for another library.

    >>> nodes, edges = to_tables(Graph.from_triples([("Mur", "flows into", "Drava")]), "pyarrow")
    ... # doctest: +SKIP
    """
    if library not in _LIBRARIES:
        raise OptionError(f"library={library!r}: choose from {', '.join(_LIBRARIES)}.")
    try:
        table = getattr(import_module(library), _LIBRARIES[library])
    except ImportError as error:
        raise missing_extra("tables", error) from error
    part = Part(graph, evidence)
    nodes = [{"id": node, **attributes} for node, attributes in part.described_nodes()]
    edges = [
        {"id": edge, "head": head, "relation": attributes.pop("relation"), "tail": tail, **attributes}
        for edge, head, tail, attributes in part.described_edges()
    ]
    return (
        table(columns_of(nodes, ("id", "name", "kind"))),
        table(columns_of(edges, ("id", "head", "relation", "tail"))),
    )
