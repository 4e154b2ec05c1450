"""Order of records in their documents, by type."""

from __future__ import annotations

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.search.facts import Facts

_NONE = np.empty(0, np.int64)


def record_sequence(facts: Facts) -> tuple[Ints, Ints]:
    """Return the records that are no copies, those of a type in a document together, and the group of each."""
    records, passages = facts.records, facts.columns.passages
    if records is None:
        return _NONE, _NONE
    kept = np.flatnonzero(~records.is_copy)
    group = records.type[kept].astype(np.int64)
    if passages is not None:
        rows = np.searchsorted(passages.nodes, records.chunk[kept])
        group += len(records.types) * passages.document[rows].astype(np.int64)
    order = np.argsort(group, kind="stable")
    return facts.first_record + kept[order], group[order]


def neighbours(facts: Facts, sequence: tuple[Ints, Ints], records: Ints, offset: int) -> Ints:
    """Return the records that stand `offset` places after some records in their group, ascending."""
    order, group = sequence
    place = np.full(len(facts), -1)
    place[order] = np.arange(len(order))
    at = place[records]
    there = at + offset
    inside = (at >= 0) & (there >= 0) & (there < len(order))
    at, there = at[inside], there[inside]
    return np.sort(order[there[group[at] == group[there]]])
