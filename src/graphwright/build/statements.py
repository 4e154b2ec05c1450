"""Statements about statements: the fields of an edge, as a record and as a text of the edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns
from graphwright.graph.records import RecordColumns, sorted_forms
from graphwright.text.names import normal_form

STATEMENT = "statement"
"""Type of the record of a statement."""

Qualifiers: TypeAlias = tuple[tuple[str, str, int], ...]
"""Fields of a statement: name, text, and the node that the text names, -1 for none."""


class _Cell(NamedTuple):
    record: int
    name: int
    text: int
    node: int


def with_statements(columns: Columns, statements: Mapping[int, Sequence[Qualifiers]]) -> Columns:
    """Return the columns with records for the statements that each edge makes, in the order of the edges.

    A record has the fields subject, relation and object, and then those of the statement. An edge without a text gets
    "subject relation object (name value, …; …)". The passage of a record is the subject, whose node stands for one.

    >>> from graphwright.graph.graph import Graph
    >>> columns = Graph.from_triples([("Ida", "works_for", "Mur AG")]).columns
    >>> stated = with_statements(columns, {0: [(("since", "2019", -1),)]})
    >>> Graph(stated).edge_text(0), list(stated.records.names), list(stated.records.texts)
    ('Ida works for Mur AG (since 2019)', [...'object', 'since'], ['Ida', 'works_for', 'Mur AG', '2019'])
    """
    if not statements:
        return columns
    names, texts = dict[str, int](), dict[str, int]()
    cells, edge_of_record = list[_Cell](), list[int]()
    for edge in sorted(statements):
        head, tail = int(columns.heads[edge]), int(columns.tails[edge])
        relation = columns.relations[int(columns.relation[edge])]
        triple = (
            ("subject", columns.names[head], head), ("relation", relation, -1), ("object", columns.names[tail], tail)
        )  # fmt: skip
        for fields in statements[edge]:
            for name, text, node in (*triple, *fields):
                name_number, text_number = names.setdefault(name, len(names)), texts.setdefault(text, len(texts))
                cells.append(_Cell(len(edge_of_record), name_number, text_number, node))
            edge_of_record.append(edge)
    count = len(edge_of_record)
    record, name, text, node = map(np.ascontiguousarray, np.array(cells, np.int32).T)
    forms, form_text = sorted_forms(TextColumn.of(map(normal_form, texts)))
    records = RecordColumns(
        types=TextColumn.of([STATEMENT]),
        type=np.zeros(count, np.int32),
        chunk=columns.heads[np.array(edge_of_record)],
        span=np.zeros((count, 2), np.int64),
        is_copy=np.zeros(count, bool),
        names=TextColumn.of(names),
        texts=TextColumn.of(texts),
        record=record,
        name=name,
        text=text,
        field_span=np.zeros((len(cells), 2), np.int64),
        node=node,
        forms=forms,
        form_text=form_text,
    )
    return replace(_with_texts(columns, statements), records=records)


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
