"""Copies of passages in a snapshot: found by the keys of their sentences, compared when they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from graphwright.graph.columns import Passages
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph
from graphwright.search.snapshot import SnapshotCache
from graphwright.text.copies import is_copy

_MAX_COMPARED = 200  # passages that one passage is compared with
_repeated: SnapshotCache[int] = SnapshotCache()


def repeated_passages(columns: Columns) -> int:
    """Return the number of passages that may be copies of others: they share a long sentence with an earlier one."""
    return _repeated.get(columns, "repeated", lambda: _count(columns.passages))


def _count(passages: Passages | None) -> int:
    if passages is None:
        return 0
    keys = np.asarray(passages.copy_keys)[:, 0]
    return int(np.count_nonzero(keys) - np.count_nonzero(np.unique(keys)))


def same_passages(graph: Graph, nodes: Ints, question: Collection[str] = ()) -> list[int]:
    """Return for each passage the position of the first one, in this order, that it is a copy of, else its own.

    Copies are in different files. `question`: see `is_copy`.
    """
    passages, firsts, seen = graph.passages, list[int](), dict[int, list[int]]()
    if passages is None:
        return list(range(len(nodes)))
    for at, row in enumerate(map(passages.row, nodes.tolist())):
        keys = [] if row < 0 else [key for key in passages.copy_keys[row].tolist() if key]
        earlier = dict.fromkeys(other for key in keys for other in seen.get(key, ()))
        first = next((n for n in earlier if _are_copies(graph, int(nodes[n]), int(nodes[at]), question)), at)
        if first == at:
            for key in keys:
                seen.setdefault(key, []).append(at)
        firsts.append(first)
    return firsts


def copies_of(graph: Graph, node: int) -> list[int]:
    """Return the passages that are copies of one: their nodes, ascending."""
    passages = graph.passages
    row = -1 if passages is None else passages.row(node)
    if passages is None or row < 0 or not repeated_passages(graph.columns):
        return []
    keys = [key for key in passages.copy_keys[row].tolist() if key]
    rows = np.flatnonzero(np.isin(np.asarray(passages.copy_keys), keys).any(axis=1))[:_MAX_COMPARED]
    others = (int(passages.nodes[other]) for other in rows.tolist() if other != row)
    return [other for other in others if _are_copies(graph, node, other)]


def copied_documents(graph: Graph, documents: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the documents of which every passage is a copy, each with the document of the first copy.

    Of documents that are copies of one another, the first by id is the original.
    """
    passages = graph.passages
    if passages is None or not repeated_passages(graph.columns):
        return
    for document in documents:
        rows = passages.rows_of_document.get(document, [])
        owners = [
            {passages.documents[int(passages.document[passages.row(copy)])] for copy in copies_of(graph, node)}
            for node in map(int, passages.nodes[rows])
        ]
        originals = {owner for owner in set[str]().union(*owners) if owner < document}
        if owners and all(originals & own for own in owners):
            yield document, min(originals)


def _are_copies(graph: Graph, first: int, second: int, question: Collection[str] = ()) -> bool:
    passages = graph.passages
    locations = None if passages is None else (passages.of(first), passages.of(second))
    files = {location.document.rpartition("#")[0] or location.document for location in locations or () if location}
    return len(files) == 2 and is_copy(graph.text(first), graph.text(second), question)
