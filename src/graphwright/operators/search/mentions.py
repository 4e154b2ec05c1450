"""Entities that passages mention, their frequency and their rarity."""

from __future__ import annotations

import numpy as np

from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.graph import ALIAS, Graph, Kind
from graphwright.kernels.csr import Csr
from graphwright.kernels.ranking import sorted_distinct


def reach(graph: Graph, nodes: Ints) -> tuple[Ints, Csr]:
    """Return the entities that passages mention by name or alias, ascending, and those of each passage.

    The rows hold positions in the entities, ascending.
    """
    owner, mentioned = graph.columns.adjacency.expand(nodes)
    entity = graph.columns.kinds[mentioned] == Kind.ENTITY  # not a passage that another refers to
    owner, mentioned = owner[entity], mentioned[entity]
    row, aliases = graph.columns.by_relation(ALIAS).expand(mentioned)
    owner = np.concatenate((owner, owner[row]))
    entities, position = np.unique(np.concatenate((mentioned, aliases)), return_inverse=True)
    # One number per (passage, entity): distinct, and ascending as the rows must be.
    keys = sorted_distinct(owner * len(entities) + position)
    indptr = np.searchsorted(keys, np.arange(len(nodes) + 1) * len(entities))
    return entities, Csr(indptr, (keys % max(len(entities), 1)).astype(np.int32))


def frequency(graph: Graph, entities: Ints) -> Scores:
    """Return the number of passages that mention each entity or one of its aliases."""
    chunks = graph.columns.node_chunks
    if chunks is None:
        return np.zeros(len(entities))
    owner, aliases = graph.columns.by_relation(ALIAS).expand(entities)
    total = chunks.sizes(entities) + np.bincount(owner, chunks.sizes(aliases), len(entities))
    return total.astype(np.float64)


def rarity(graph: Graph, df: Scores) -> Scores:
    """Return log(N/df)/log(N) of entities that df of all N passages mention: 1 for one passage, 0 for all of them.

    With few passages df may exceed N (see `frequency`); the rarity is then 0.
    """
    count = max(len(graph.passages) if graph.passages is not None else 0, 2)
    rare: Scores = np.log(np.maximum(count / np.maximum(df, 1), 1)) / np.log(count)
    return rare
