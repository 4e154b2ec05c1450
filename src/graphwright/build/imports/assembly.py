"""Assemble a graph in memory from nodes and edges with attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from graphwright.data.graph_files.property_graphs import Edge, Node
from graphwright.errors import DataError
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns, Graph
from graphwright.graph.records import STATEMENT, RecordColumns

Qualifiers: TypeAlias = tuple[tuple[str, str, int], ...]  # fields of a statement: name, text, its node or -1


def graph_of(nodes: Iterable[Node], edges: Iterable[Edge]) -> Graph:
    """Return the graph of nodes and edges, in the order given, and of the nodes' facts after them; nodes are entities.

    A fact is an edge to a node that its value names, one for each value. An edge with fields makes a statement (see
    `with_statements`). A repeated equal node counts once. Raises DataError for two nodes of one id that differ, and for
    an edge whose end is no node.

    >>> mur, graz = Node("1", "Mur", facts=(("km", "453"),)), Node("2", "Graz", "Graz (city)")
    >>> graph = graph_of([mur, graz], [Edge("1", "flows through", "2")])
    >>> graph.triple(0), graph.triple(1), graph.text(1)
    (('Mur', 'flows through', 'Graz'), ('Mur', 'km', '453'), 'Graz (city)')
    """
    unique, listed = _by_id(nodes), list(edges)
    numbers = {key: number for number, key in enumerate(unique)}
    _check_ends(listed, numbers)
    ends = [(numbers[edge.head], edge.relation, numbers[edge.tail], edge.text) for edge in listed]
    values: dict[str, int] = {}
    for number, node in enumerate(unique.values()):
        for name, value in node.facts:
            ends.append((number, name, len(unique) + values.setdefault(value, len(values)), ""))
    columns = _columns(list(unique.values()), list(values), ends)
    fields = {at: [tuple((*pair, -1) for pair in edge.fields)] for at, edge in enumerate(listed) if edge.fields}
    return Graph(with_statements(columns, fields))


def _by_id(nodes: Iterable[Node]) -> dict[str, Node]:
    by_id: dict[str, Node] = {}
    for node in nodes:
        known = by_id.setdefault(node.id, node)
        if known != node:
            raise DataError(f"two nodes have the id {node.id!r}: {known.name!r} and {node.name!r}. Give each its own.")
    return by_id


def _check_ends(edges: Sequence[Edge], known: dict[str, int]) -> None:
    missing = dict[str, int]()
    for at, edge in enumerate(edges):
        for end in (edge.head, edge.tail):
            if end not in known:
                missing.setdefault(end, at)
    if missing:
        end, at = next(iter(missing.items()))
        raise DataError(
            f"edge {at} ({edges[at].relation!r}) ends at {end!r}, which is no node; {len(missing):,} such ids. Give "
            f"all nodes, or leave out the edges."
        )


def _columns(nodes: Sequence[Node], values: Sequence[str], ends: Sequence[tuple[int, str, int, str]]) -> Columns:
    relations, texts = dict[str, int](), dict[str, int]()
    table = np.array(
        [
            (
                head,
                tail,
                relations.setdefault(relation, len(relations)),
                texts.setdefault(text, len(texts)) if text else -1,
            )
            for head, relation, tail, text in ends
        ],
        np.int32,
    ).reshape(-1, 4)
    heads, tails, relation, text = map(np.ascontiguousarray, table.T)
    described = any(node.text for node in nodes)
    return Columns(
        names=TextColumn.of([*(node.name for node in nodes), *values]),
        heads=heads,
        tails=tails,
        relation=relation,
        relations=TextColumn.of(relations),
        kinds=np.zeros(len(nodes) + len(values), np.uint8),
        texts=TextColumn.of([*(node.text or node.name for node in nodes), *values] if described else []),
        edge_text=text if texts else None,
        sentences=TextColumn.of(texts) if texts else None,
    )


def with_statements(columns: Columns, statements: Mapping[int, Sequence[Qualifiers]]) -> Columns:
    """Return the columns with records for the statements that each edge makes, in the order of the edges.

    A record has the fields subject, relation and object, and then those of the statement. An edge without a text gets
    "subject relation object (name value, …; …)". The passage of a record is the subject, whose node stands for one.

    >>> columns = Graph.from_triples([("Ida", "works_for", "Mur AG")]).columns
    >>> stated = with_statements(columns, {0: [(("since", "2019", -1),)]})
    >>> Graph(stated).edge_text(0), list(stated.records.names), list(stated.records.texts)
    ('Ida works for Mur AG (since 2019)', [...'object', 'since'], ['Ida', 'works_for', 'Mur AG', '2019'])
    """
    if not statements:
        return columns
    return replace(_with_texts(columns, statements), records=_records(columns, statements))


def _records(columns: Columns, statements: Mapping[int, Sequence[Qualifiers]]) -> RecordColumns:
    cells, subjects = list[tuple[int, str, str, int]](), list[int]()
    for edge in sorted(statements):
        head, tail = int(columns.heads[edge]), int(columns.tails[edge])
        relation = columns.relations[int(columns.relation[edge])]
        ends = ("subject", columns.names[head], head), ("relation", relation, -1), ("object", columns.names[tail], tail)
        for fields in statements[edge]:
            cells += [(len(subjects), *field) for field in (*ends, *fields)]
            subjects.append(head)
    return RecordColumns.of_cells(STATEMENT, subjects, cells)


def _with_texts(columns: Columns, statements: Mapping[int, Sequence[Qualifiers]]) -> Columns:
    """Return the columns in which each edge that has no text, and makes statements with fields, has one."""
    edge_text = np.full(len(columns.heads), -1, np.int32) if columns.edge_text is None else columns.edge_text.copy()
    sentences = [] if columns.sentences is None else list(columns.sentences)
    for edge, made in statements.items():
        if edge_text[edge] < 0:
            head, tail = columns.names[int(columns.heads[edge])], columns.names[int(columns.tails[edge])]
            relation = columns.relations[int(columns.relation[edge])].replace("_", " ")
            said = (", ".join(f"{name.replace('_', ' ')} {text}" for name, text, _ in fields) for fields in made)
            edge_text[edge] = len(sentences)
            sentences.append(f"{head} {relation} {tail} ({'; '.join(said)})")
    return replace(columns, edge_text=edge_text, sentences=TextColumn.of(sentences))
