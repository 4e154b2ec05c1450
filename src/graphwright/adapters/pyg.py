"""PyTorch Geometric: import and export of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphwright import Graph, VectorIndex
from graphwright.adapters.results import missing_extra
from graphwright.build.imports.assembly import graph_of
from graphwright.data.graph_files.dump import NO_RELATION
from graphwright.data.graph_files.property_graphs import Edge, Node
from graphwright.errors import DataError

try:
    import torch
    from torch_geometric.data import Data
except ImportError as error:
    raise missing_extra("pyg", error) from error


def from_pyg(data: Any, names: Sequence[str] | None = None, relations: Sequence[str] | None = None) -> Graph:
    """Convert a `Data` with `edge_index` and optional `edge_type`.

    `names`: names of the nodes, by default `data.names`, else their numbers. `relations`: names of the edge types, by
    default `data.relations`, else "relation 0" and so on; without edge types "linked to". Raises DataError if
    `edge_index` is missing, or does not match the number of nodes or relations.
    """
    if getattr(data, "edge_index", None) is None:
        raise DataError(f"{data!r} has no edge_index; give a torch_geometric Data with one.")
    count = int(data.num_nodes)
    names = [str(name) for name in (names or getattr(data, "names", None) or range(count))]
    heads, tails = _whole_numbers(data, "edge_index", 2)
    if len(names) != count or min((*heads, *tails), default=0) < 0 or max((*heads, *tails), default=-1) >= count:
        raise DataError(f"{data!r} has {count} nodes, {len(names)} names, and edges up to {max((*heads, *tails))}.")
    untyped = getattr(data, "edge_type", None) is None
    types = [-1] * len(heads) if untyped else _whole_numbers(data, "edge_type", 1)
    known = (
        relations or getattr(data, "relations", None) or [f"relation {n}" for n in range(max(types, default=-1) + 1)]
    )
    if len(types) != len(heads) or max(types, default=-1) >= len(known):
        raise DataError(f"{data!r}: {len(types)} edge types up to {max(types)}, and {len(known)} relations.")
    return graph_of(
        [Node(str(at), name) for at, name in enumerate(names)],
        [
            Edge(str(head), str(known[kind]) if kind >= 0 else NO_RELATION, str(tail))
            for head, tail, kind in zip(heads, tails, types, strict=True)
        ],
    )


def _whole_numbers(data: Any, name: str, dimensions: int) -> list[Any]:
    """Return a tensor of whole numbers as lists: int[m], or int[2, m]. Raises DataError for other types and shapes."""
    tensor = torch.as_tensor(getattr(data, name))
    whole = not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)
    if not whole or tensor.dim() != dimensions or (dimensions == 2 and len(tensor) != 2):
        raise DataError(
            f"{data!r}: {name} is {tensor.dtype} of shape {tuple(tensor.shape)}; give whole numbers of shape "
            f"{'(2, edges)' if dimensions == 2 else '(edges,)'}."
        )
    numbers: list[Any] = tensor.cpu().tolist()
    return numbers


def to_pyg(graph: Graph, vectors: VectorIndex | None = None) -> Any:
    """Convert a graph or a part of it to `Data`: `edge_index`, `edge_type`, `names`, `relations`, `kind`, `node_id`.

    Nodes are numbered from 0; `node_id` has their ids. `vectors`: node vectors for `x`, zero if a node has none.
    """
    columns, edges, nodes = graph.columns, graph.edges, graph.nodes
    ends = np.stack([np.searchsorted(nodes, column[edges]) for column in (columns.heads, columns.tails)])
    data = Data(
        edge_index=torch.from_numpy(ends.astype(np.int64)),
        edge_type=torch.from_numpy(np.asarray(columns.relation[edges], np.int64)),
        num_nodes=len(nodes),
        node_id=torch.from_numpy(np.array(nodes, np.int64)),
        kind=torch.from_numpy(np.array(columns.kinds[nodes], np.int64)),
    )
    data.names, data.relations = columns.names.take(nodes), list(columns.relations)
    if vectors is not None:
        known, rows = vectors.rows_of(nodes)
        x = np.zeros((len(nodes), vectors.dimension), np.float32)
        x[np.searchsorted(nodes, known)] = vectors.vectors[rows]
        data.x = torch.from_numpy(x)
    return data
