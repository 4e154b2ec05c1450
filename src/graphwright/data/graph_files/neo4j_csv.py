"""CSV of graphs: the tables of neo4j-admin, with ids in spaces and headers of their own, and of APOC and Gephi.

A table of triples with further columns is read here too: these are properties of the relationships.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from graphwright.data.decoding import lines
from graphwright.data.graph_files.detect import COLUMN_NAMES
from graphwright.data.graph_files.property_graphs import PropertyGraph, edge_of, named_nodes, node_of
from graphwright.data.records.delimited import Dialect, split_row, table_rows
from graphwright.errors import DataError

_COLUMN = re.compile(r"(?P<name>[^:]*)(?::(?P<type>\w+)(?P<list>\[\])?(?:\((?P<space>.*?)\))?(?:\{.*\})?)?")
_DELIMITERS = ",;|\t"
_APOC = {"_id": "ID", "_labels": "LABEL", "_start": "START_ID", "_end": "END_ID", "_type": "TYPE"}
_GEPHI = {"source": "START_ID", "target": "END_ID", "type": "IGNORE", "id": "IGNORE"}  # of a table of edges
_DIRECTIONS = ("directed", "undirected", "mixed")
_ROLES = frozenset([*_APOC.values(), "IGNORE"])
_ENDS = ("START_ID", "TYPE", "END_ID")
_IN_MEMORY = 1 << 26  # bytes up to which a table of triples is read with its further columns


class Column(NamedTuple):
    """A column: the name of its property, its role in a row (ID, START_ID, …) or "", its id space, and what it holds.

    >>> Column.of("personId:ID(Person){label:Person}").space, Column.of("aliases:string[]").is_list
    ('Person', True)
    """

    name: str
    role: str = ""
    space: str = ""
    is_list: bool = False
    is_text: bool = True

    @classmethod
    def of(cls, cell: str) -> Column:
        """Return the column that a cell of a header describes."""
        if cell in _APOC:
            return cls("", _APOC[cell])
        match = _COLUMN.fullmatch(cell.strip())
        if match is None:
            return cls(cell)
        kind = (match["type"] or "").upper()
        role, is_list = kind if kind in _ROLES else "", bool(match["list"])
        return cls(match["name"], role, match["space"] or "", is_list, kind in ("", "STRING") and not is_list)


@dataclass(frozen=True)
class Header:
    """The columns of one or more files, and their delimiter. `is_table`: they are those of a table of triples."""

    columns: tuple[Column, ...]
    delimiter: str
    is_table: bool = False

    @classmethod
    def of(cls, path: Path) -> Header | None:
        """Return the header that a file begins with; None if its first line is none."""
        first, second = [*islice(lines(path), 2), "", ""][:2]
        for delimiter in _DELIMITERS:
            names, values = split_row(first.lower(), delimiter), split_row(second.lower(), delimiter)
            if {"source", "target", "type"} <= {*names} and {*values} & {*_DIRECTIONS}:
                columns = tuple(Column(name, _GEPHI.get(name.lower(), "")) for name in split_row(first, delimiter))
                return cls(columns, delimiter)
            columns = tuple(map(Column.of, split_row(first, delimiter)))
            roles = {column.role for column in columns}
            if "ID" in roles or roles >= {"START_ID", "END_ID"}:
                return cls(columns, delimiter)
            if columns := _triple_columns(split_row(first, delimiter)):
                return cls(columns, delimiter, is_table=True) if path.stat().st_size <= _IN_MEMORY else None
        return None

    @classmethod
    def of_gephi_nodes(cls, path: Path) -> Header | None:
        """Return the header of a table of Gephi's nodes, whose first column is "Id"; None for another."""
        first = next(iter(lines(path)), "")
        for delimiter in _DELIMITERS if first[:3].strip(_DELIMITERS).lower() == "id" else ():
            names = split_row(first, delimiter)
            if len(names) > 1:
                return cls((Column("", "ID"), *map(Column, names[1:])), delimiter)
        return None

    @property
    def has_more(self) -> bool:
        """Whether the columns are more than the ends and types of relationships."""
        return any(column.role not in ("START_ID", "END_ID", "TYPE") or column.space for column in self.columns)

    @property
    def is_mixed(self) -> bool:
        """Whether the rows are nodes of all kinds and relationships, as APOC writes them."""
        return {"ID", "START_ID"} <= {column.role for column in self.columns}


def _triple_columns(names: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns of a table of triples that has usual names and further columns, else none."""
    lowered = [name.strip().lower() for name in names]
    known = [next((n for n in usual if n in lowered), "") for usual in COLUMN_NAMES]
    if not known[0] or not known[2] or not set(lowered) - set(known):
        return ()
    roles = dict(zip(known, _ENDS, strict=True))
    return tuple(
        Column("", roles[low]) if low in roles else Column(name) for low, name in zip(lowered, names, strict=True)
    )


def read_neo4j_csv(paths: Sequence[Path], graph: PropertyGraph) -> None:
    """Add the nodes and relationships of CSV files to a graph.

    A file that is only a header is that of the files after it that have none. Nodes without a usual name are named by
    a column (see `named_nodes`). Raises DataError with the record for a row with other cells than its header, and for a
    file without a header; such rows of a table of triples are counted.
    """
    shared, kinds = None, dict[tuple[Header, str], list[int]]()
    for path in paths:
        own = Header.of(path) or Header.of_gephi_nodes(path)
        if (header := own or shared) is None:
            raise DataError(
                f"{path}: its first line has neither :ID nor :START_ID and :END_ID, and no file that is a header alone "
                f"comes before it. Give the file with the header first."
            )
        rows = table_rows(lines(path), Dialect(header.delimiter), f"{path}, ")
        count, first = 0, len(graph.nodes)
        for number, (_, row) in enumerate(rows, 1):
            if row and (own is None or number > 1):
                _add_row(graph, header, row, f"{path}, record {number}")
                count += 1
        if own is not None:
            shared = None if count else own
        for at, node in enumerate(graph.nodes[first:], first):
            kinds.setdefault((header, node.type if header.is_mixed else ""), []).append(at)
    for (header, _), places in kinds.items():
        texts = [column.name for column in header.columns if column.is_text and not column.role]
        key = next(column for column in header.columns if column.role == "ID")
        prefix = f"{key.space}:" if key.space else ""
        named = named_nodes([graph.nodes[at] for at in places], texts, key.name, prefix)
        for at, node in zip(places, named, strict=True):
            graph.nodes[at] = node
    if not graph.nodes:
        graph.add_missing()


def _add_row(graph: PropertyGraph, header: Header, row: Sequence[str], place: str) -> None:
    columns = header.columns
    ends = [cell for column, cell in zip(columns, row, strict=False) if column.role in ("START_ID", "END_ID")]
    if header.is_table and not (len(row) == len(columns) and all(map(str.strip, ends))):
        graph.left_out["rows without a head and a tail, or of other columns than the first"] += 1
        return
    if len(row) != len(columns):
        raise DataError(f"{place} has {len(row)} cells, and the header {len(columns)}.")
    cells = {column.role: _key(column, cell) for column, cell in zip(columns, row, strict=True) if column.role}
    attributes = {
        column.name: _listed(cell, header.delimiter) if column.is_list else cell
        for column, cell in zip(columns, row, strict=True)
        if column.name and cell and column.role in ("", "ID")
    }
    if cells.get("START_ID"):
        graph.edges.append(edge_of(cells["START_ID"], cells.get("END_ID", ""), attributes, cells.get("TYPE", "")))
    elif cells.get("ID"):
        graph.nodes.append(node_of(cells["ID"], attributes, filter(None, re.split("[;:|]", cells.get("LABEL", "")))))
    else:
        raise DataError(f"{place} has neither the id of a node nor the ends of a relationship.")


def _listed(cell: str, delimiter: str) -> list[str]:
    """Return the parts of a list: between semicolons, else, or where these divide cells, between vertical bars."""
    mark = ";" if delimiter != ";" and ";" in cell else "|"
    return [part for part in cell.split(mark) if part]


def _key(column: Column, cell: str) -> str:
    """Return a cell; an id with its space, in which alone it is unique."""
    return f"{column.space}:{cell}" if column.space and cell else cell
