"""Import of graph databases: their rows are kept beside the index, so that a later read tells what has changed.

An imported graph cannot be changed in part. If a row has changed, the graph is assembled from all rows again, in the
order of their ids, and its snapshot is published in place of the old one. Texts that are the same keep their vectors.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphwright.build.build import build_from_graph
from graphwright.build.imports.assembly import graph_of
from graphwright.build.imports.graph_import import ImportedGraph
from graphwright.build.operation import Operation
from graphwright.build.publication import Publication
from graphwright.data.graph_database import Changed, GraphDatabase, checksum_of, fingerprints
from graphwright.data.graph_files.node_link import read_node_link
from graphwright.data.graph_files.property_graphs import PropertyGraph
from graphwright.errors import DataError, OptionError
from graphwright.graph.graph import Graph
from graphwright.search.snapshot_format import open_snapshot
from graphwright.store.changes import Progress


@dataclass(frozen=True)
class RowChanges:
    """Nodes and relationships of a database that were added, changed and removed since it was read before.

    `unchanged`: the number of the others. All count as changed if what was read before is lost, for example after a
    pull. `fetched`: the number of rows that the database sent.
    """

    added: int
    changed: int
    removed: int
    unchanged: int
    fetched: int

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def import_database(database: GraphDatabase, rows: Path, progress: Progress | None) -> ImportedGraph:
    """Read a database into a file of rows, and return its graph. Raises DataError if it has no statement."""
    database.read(rows, report=progress or (lambda work, done, total: None))
    return _graph(database, rows, {"checksum": checksum_of(fingerprints(rows))})


def sync_database(operation: Operation, database: GraphDatabase, changed_by: str | None) -> RowChanges:
    """Make an imported index match its database; see `Index.sync_graph`."""
    layout, draft = operation.layout, operation.layout.new_rows
    about = _checked(operation, database)
    facts = about["database"]
    database = replace(database, database=facts["name"], user=database.user or facts["user"])
    before = fingerprints(layout.rows) if layout.rows.exists() else {}
    is_known = checksum_of(before) == facts["checksum"]  # else the file is of another time, for example after a pull
    try:
        last = None if changed_by is None else database.last_change(changed_by)
        known = None
        if changed_by is not None and is_known and facts.get("changed_by") == changed_by:
            known = Changed(layout.rows, changed_by, facts["last"])
        fetched = database.read(draft, known, operation.report)
        after = fingerprints(draft)
        facts = {"checksum": checksum_of(after), "changed_by": changed_by, "last": last}
        is_same = facts["checksum"] == about["database"]["checksum"]
        if not is_same:
            _publish(operation, _graph(database, draft, facts))
        elif facts != {name: about["database"].get(name) for name in facts}:
            with operation.store.writing():
                operation.store.set("graph", json.dumps({**about, "database": {**about["database"], **facts}}))
        if before != after:  # last: rows that are not those of the store are fetched again
            os.replace(draft, layout.rows)
    finally:
        draft.unlink(missing_ok=True)
    if is_same or not is_known:
        return RowChanges(0, 0 if is_same else len(after), 0, len(after) if is_same else 0, fetched)
    return _compared(before, after, fetched)


def _checked(operation: Operation, database: GraphDatabase) -> dict[str, Any]:
    """Return the facts about an imported graph. Raises OptionError unless it is of this database."""
    folder = operation.layout.path
    about: dict[str, Any] = json.loads(operation.store.setting("graph") or "{}")
    if "database" not in about:
        raise OptionError(
            f"{folder} was not imported from a graph database. Import {database} into a new folder: graphwright import "
            f"{database.address} --into NEW-FOLDER"
        )
    stored = about["database"]
    if stored["address"] != database.address or database.database not in (None, stored["name"]):
        known = GraphDatabase(stored["address"], stored["name"])
        raise OptionError(f"{folder} was imported from {known}, not from {database}. Import that into a new folder.")
    return about


def _graph(database: GraphDatabase, rows: Path, facts: Mapping[str, object]) -> ImportedGraph:
    """Return the graph of rows, in the order of their ids, so that it is a function of what the database holds."""
    graph = PropertyGraph()
    read_node_link(rows, graph)
    graph.add_names()
    graph.nodes.sort(key=lambda node: node.id)
    graph.edges.sort(key=lambda edge: (edge.head, edge.relation, edge.tail, edge.text, edge.fields))
    if not graph.edges and not any(node.facts for node in graph.nodes):
        raise DataError(f"{database} has no relationship and no label; nothing was imported.")
    facts = {"address": database.address, "name": database.database, "user": database.user, **facts}
    return ImportedGraph(graph_of(graph.nodes, graph.edges).columns, left_out=graph.left_out, database=facts)


def _publish(operation: Operation, imported: ImportedGraph) -> None:
    """Build the snapshot of a graph that was read again, and make it current; both are stored, or neither."""
    layout, store, encoder = operation.layout, operation.store, operation.encoder
    known = open_snapshot(layout.imported if layout.imported.is_dir() else layout.path / layout.current(), encoder)
    graph, embed = Graph(imported.columns), tuple(known.about["texts"])
    snapshot = build_from_graph(graph, encoder, embed=embed, known=known, progress=operation.progress)
    del known  # or its files would be in use
    facts = json.dumps(imported.facts(snapshot.seconds))
    publication = Publication(operation)
    publication.complete()
    publication.replace(lambda: store.set("graph", facts), snapshot)
    layout.delete_cache(layout.replies)  # they may quote what was removed


def _compared(before: Mapping[str, bytes], after: Mapping[str, bytes], fetched: int) -> RowChanges:
    same = sum(before.get(key) == fingerprint for key, fingerprint in after.items())
    added, removed = len(after.keys() - before.keys()), len(before.keys() - after.keys())
    return RowChanges(added, len(after) - added - same, removed, same, fetched)
