"""Questions to learn from: what each names and what answers it, as nodes of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphwright.data.kgqa import GraphQuestion, read_graph_questions
from graphwright.errors import DataError, OptionError
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.operators.anchors.link_entities import Link
from graphwright.operators.state import start
from graphwright.text.names import normal_form

__all__ = ["Example", "Examples", "examples_of", "read_examples"]

_SHOWN = 3  # of the questions that cannot be learned from, in an error


@dataclass(frozen=True, slots=True)
class Example:
    """A question with the nodes that it names (E_q of ReG) and those that answer it (A_q), by snapshot id."""

    id: str
    text: str
    entities: tuple[int, ...]
    answers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Examples:
    """What can be learned from, and of each question that was left out where it stands and why."""

    found: tuple[Example, ...]
    left_out: tuple[str, ...] = ()


def read_examples(
    path: Path | str, graph: Graph, *, names: VectorIndex | None = None, unusable: float = 0.1
) -> Examples:
    """Read questions with answers, in any form that `read_graph_questions` reads, and find both in the graph.

    Answers and entities are names or aliases of nodes; a question that lists no entities has those that `Link` finds in
    its words, with `names`. What names nothing that is there, or has no answer that is, is left out. Raises DataError
    with file, line and what to do where more than a share of `unusable` is, or nothing can be read.
    """
    if not 0 <= unusable <= 1:
        raise OptionError(f"unusable={unusable!r}: the share of questions that may be left out, from 0 to 1.")
    asked = read_graph_questions(path, named=False)
    made = examples_of(asked, graph, names=names, source=str(path))
    if len(made.left_out) > unusable * len(asked):
        first = "\n  ".join(made.left_out[:_SHOWN])
        raise DataError(
            f"{len(made.left_out):,} of {len(asked):,} questions cannot be learned from; at most {unusable:.0%} may be "
            f"left out. The first:\n  {first}\nMend them, or allow for more with unusable (--unusable 1)."
        )
    if not asked:
        raise DataError(f"{path}: no questions in it.")
    if not made.found:
        raise DataError(f"{path}: no question can be learned from. The first: {made.left_out[0]}")
    return made


def examples_of(
    questions: Iterable[GraphQuestion], graph: Graph, *, names: VectorIndex | None = None, source: str = "questions"
) -> Examples:
    """Find what questions name and what answers them in a graph."""
    link = LinkEntities(names)
    found: list[Example] = []
    left_out: list[str] = []
    for question in questions:
        where = f"{source}:{question.line}: question {question.id!r}"
        entities, lost = _nodes(graph, question.entities)
        if not question.entities:
            anchors = link(start(question.text, graph)).anchors or ()
            entities = tuple(dict.fromkeys(node for a in anchors for node in a.seeds(graph).tolist()))
        answers, unknown = _nodes(graph, question.answers)
        if not entities:
            left_out.append(f"{where} {_no_entity(graph, question.entities, lost)}")
        elif not set(answers) - set(entities):
            left_out.append(f"{where} {_no_answer(graph, question.answers, unknown)}")
        else:
            found.append(Example(question.id, question.text, entities, answers))
    return Examples(tuple(found), tuple(left_out))


def _nodes(graph: Graph, names: Sequence[str]) -> tuple[tuple[int, ...], list[str]]:
    """Return the nodes of these names, and the names that none has."""
    nodes: dict[int, None] = {}
    lost = []
    for name in names:
        ids = _called(graph, name)
        nodes |= dict.fromkeys(ids.tolist())
        if not len(ids):
            lost.append(name)
    return tuple(nodes), lost


def _called(graph: Graph, name: str) -> Ints:
    """Return the nodes of this name, else those that it is an alias of."""
    ids = graph.ids(name)
    aliases = graph.columns.aliases
    if len(ids) or not len(aliases):
        return ids
    first, last = aliases.ends(normal_form(name), np.arange(len(aliases)))
    return np.unique(graph.columns.alias_node[first:last])


def _no_entity(graph: Graph, given: Sequence[str], lost: Sequence[str]) -> str:
    if not given:
        return "names no node of the graph in its words; list what it is about as topic_entities"
    return f"is about {_unknown(graph, lost)}; name nodes as the graph does"


def _no_answer(graph: Graph, given: Sequence[str], lost: Sequence[str]) -> str:
    if not given:
        return "has no answers; list them as answers"
    if not lost:
        return "has no answer but what it names itself"
    return f"is answered by {_unknown(graph, lost)}; name nodes as the graph does"


def _unknown(graph: Graph, lost: Sequence[str]) -> str:
    """Say that there is no such node, and which name stands nearest."""
    order = graph.columns.name_order
    first, _ = graph.names.ends(lost[0], order)
    near = graph.names.take(order[max(first - 1, 0) : first + 1])
    beside = f" (near it in the alphabet: {', '.join(map(repr, near))})" if near else ""
    more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
    return f"{lost[0]!r}{beside}{more}, which no node of the graph is called"
