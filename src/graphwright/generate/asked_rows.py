"""Rows of tables that a question asks about, among those of the passages that are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from graphwright.generate.citations import best_passages, passage_text
from graphwright.models.protocols import PassageText
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.text.words import words


class _Row(NamedTuple):
    passage: int
    span: tuple[int, int]
    asked: frozenset[str]  # words of the question in its values


def texts_read(state: State, run: Run, limit: int) -> tuple[list[int], list[PassageText]]:
    """Return the nodes of the best passages, and their texts, in which rows that others outdo hold no answer."""
    nodes, question = best_passages(state, limit), state.question.text
    return nodes, run.once(
        ("texts read", question, *nodes),
        lambda: of_asked_rows(question, [passage_text(state.graph, node) for node in nodes]),
    )


def of_asked_rows(question: str, passages: Sequence[PassageText]) -> list[PassageText]:
    """Return passages in which no answer lies in a row that another row of the same table outdoes.

    That row has all words of the question that this one has in its values, and more of them. Rows are of the same table
    if their fields have the same names.

    >>> rows = PassageText("", "boat: Mur; fee: 6\\nboat: Enns; fee: 8", (), ((0, 17), (18, 36)),
    ...                    labels=((0, 6), (11, 16), (18, 24), (30, 35)))
    >>> [text.labels[0] for text in of_asked_rows("What is the fee of the Enns?", [rows])]
    [(0, 17)]
    """
    asked = frozenset(words(question))
    tables: dict[tuple[str, ...], list[_Row]] = defaultdict(list)
    for number, passage in enumerate(passages):
        for span in passage.rows:
            labels = [label for label in passage.labels if span[0] <= label[0] < span[1]]
            names = tuple(passage.text[start:end].strip() for start, end in labels)
            values = passage.text[span[0] : span[1]]
            for start, end in reversed(labels):
                values = f"{values[: start - span[0]]} {values[end - span[0] :]}"
            tables[names].append(_Row(number, span, asked.intersection(words(values))))
    outdone: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for rows in tables.values():
        for row in rows:
            if any(row.asked < other.asked for other in rows):
                outdone[row.passage].append(row.span)
    return [_masked(passage, outdone[at]) if at in outdone else passage for at, passage in enumerate(passages)]


def _masked(passage: PassageText, rows: Sequence[tuple[int, int]]) -> PassageText:
    """Return a passage with whole rows among its labels."""
    left = (label for label in passage.labels if not any(start <= label[0] < end for start, end in rows))
    return replace(passage, labels=tuple(sorted((*left, *rows))))
