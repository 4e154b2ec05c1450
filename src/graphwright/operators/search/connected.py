"""How passages hang together: through the entities that they mention and the topics that they are about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ALIAS, Csr, Graph, Kind

__all__ = ["expand", "frequency", "rarity", "reach"]


def reach(graph: Graph, nodes: Ints) -> tuple[Ints, Csr]:
    """Return the entities that the passages mention or name by an alias, ascending, and which of them each does.

    The rows hold positions in the entities, ascending.
    """
    owner, mentioned = expand(graph.columns.adjacency, nodes)
    named = graph.columns.kinds[mentioned] == Kind.ENTITY  # and no passage that another refers to
    owner, mentioned = owner[named], mentioned[named]
    through, same = expand(graph.columns.by_relation(ALIAS), mentioned)
    owners = np.concatenate((owner, owner[through]))
    entities, at = np.unique(np.concatenate((mentioned, same)), return_inverse=True)
    # One number per (passage, entity): distinct, and ascending as the rows must be.
    held = np.unique(owners * len(entities) + at)
    indptr = np.searchsorted(held, np.arange(len(nodes) + 1) * len(entities))
    return entities, Csr(indptr, (held % max(len(entities), 1)).astype(np.int32))


def expand(rows: Csr, ids: Ints) -> tuple[Ints, Ints]:
    """Return all values of these rows, each with the position in `ids` of the row that holds it."""
    return np.repeat(np.arange(len(ids)), rows.indptr[ids + 1] - rows.indptr[ids]), rows.rows(ids)


def frequency(graph: Graph, entities: Ints) -> NDArray[np.float64]:
    """Return in how many passages each entity is, those of its aliases counted too."""
    chunks = graph.columns.node_chunks
    if chunks is None:
        return np.zeros(len(entities))
    owner, same = expand(graph.columns.by_relation(ALIAS), entities)
    held = np.diff(chunks.indptr)
    found: NDArray[np.float64] = held[entities] + np.bincount(owner, held[same], len(entities))
    return found


def rarity(graph: Graph, entities: Ints, common: float) -> NDArray[np.float64]:
    """Return log(N/df)/log(N) of each entity, 0 for one in a single passage or in too many.

    Too many are more than the share `common` of all N passages, and more than five; df may be more than N on a few
    passages (see `frequency`): then it is 0.
    """
    count = max(len(graph.passages) if graph.passages is not None else 0, 2)
    df = frequency(graph, entities)
    rare = np.log(np.maximum(count / np.maximum(df, 1), 1)) / np.log(count)
    return np.where((df > 1) & (df <= max(5, common * count)), rare, 0.0)
