"""Questions to learn from: the entities and the answers of each, as nodes of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphwright.data.graph_questions import GraphQuestion, read_graph_questions
from graphwright.errors import DataError, OptionError
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.state import start
from graphwright.text.names import normal_form

__all__ = ["Example", "Examples", "examples_of", "read_examples"]

_SHOWN = 3  # unusable questions, in an error


@dataclass(frozen=True, slots=True)
class Example:
    """A question with its entities (E_q of ReG) and its answers (A_q), by snapshot id."""

    id: str
    text: str
    entities: tuple[int, ...]
    answers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Examples:
    """The usable questions; and for each question left out, its place in the file and the reason."""

    usable: tuple[Example, ...]
    left_out: tuple[str, ...] = ()


def read_examples(
    path: Path | str, graph: Graph, *, names: VectorIndex | None = None, max_unusable: float = 0.1
) -> Examples:
    """Read questions with answers, in any form that `read_graph_questions` reads, and find both in the graph.

    Answers and entities are names or aliases of nodes; for a question without entities they are linked from its words,
    with `names`. A question without an entity or an answer in the graph is left out. Raises DataError, with file, line
    and reason, if more than the share `max_unusable` is left out or nothing can be read.
    """
    if not 0 <= max_unusable <= 1:
        raise OptionError(f"max_unusable is {max_unusable!r}; it must be a number, at least 0 and at most 1.")
    questions = read_graph_questions(path)
    examples = examples_of(questions, graph, names=names, source=str(path))
    if len(examples.left_out) > max_unusable * len(questions):
        first = "\n  ".join(examples.left_out[:_SHOWN])
        raise DataError(
            f"{len(examples.left_out):,} of {len(questions):,} questions are unusable; at most {max_unusable:.0%} may "
            f"be. The first:\n  {first}\nCorrect them, or allow more with max_unusable (--max-unusable 1)."
        )
    if not questions:
        raise DataError(f"{path}: the file has no questions.")
    if not examples.usable:
        raise DataError(f"{path}: no question is usable. The first: {examples.left_out[0]}")
    return examples


def examples_of(
    questions: Iterable[GraphQuestion], graph: Graph, *, names: VectorIndex | None = None, source: str = "questions"
) -> Examples:
    """Return the examples of questions; `source`: the file that reasons name."""
    link = LinkEntities(names)
    usable: list[Example] = []
    left_out: list[str] = []
    for question in questions:
        entities, unknown_entities = _nodes(graph, question.entities)
        if not question.entities:
            anchors = link(start(question.text, graph)).anchors or ()
            entities = tuple(dict.fromkeys(node for anchor in anchors for node in anchor.seeds(graph).tolist()))
        answers, unknown_answers = _nodes(graph, question.answers)
        if not entities:
            reason = _no_entity(graph, unknown_entities)
        elif not set(answers) - set(entities):
            reason = _no_answer(graph, question.answers, unknown_answers)
        else:
            usable.append(Example(question.id, question.text, entities, answers))
            continue
        left_out.append(f"{source}:{question.line}: question {question.id!r} {reason}")
    return Examples(tuple(usable), tuple(left_out))


def _nodes(graph: Graph, names: Sequence[str]) -> tuple[tuple[int, ...], list[str]]:
    """Return the nodes with these names, and the names that no node has."""
    ids = {name: _nodes_named(graph, name) for name in names}
    nodes = dict.fromkeys(node for some in ids.values() for node in some.tolist())
    return tuple(nodes), [name for name in names if not len(ids[name])]


def _nodes_named(graph: Graph, name: str) -> Ints:
    """Return the nodes with this name, else those with this alias."""
    ids = graph.ids(name)
    aliases = graph.columns.aliases
    if len(ids) or not len(aliases):
        return ids
    first, last = aliases.ends(normal_form(name), np.arange(len(aliases)))
    return np.unique(graph.columns.alias_node[first:last])


def _no_entity(graph: Graph, unknown: Sequence[str]) -> str:
    if not unknown:
        return "names no node of the graph; list its entities as topic_entities"
    return f"has the entity {_unknown(graph, unknown)}"


def _no_answer(graph: Graph, answers: Sequence[str], unknown: Sequence[str]) -> str:
    if not answers:
        return "has no answers; list them as answers"
    if not unknown:
        return "has no answer other than its own entities"
    return f"has the answer {_unknown(graph, unknown)}"


def _unknown(graph: Graph, names: Sequence[str]) -> str:
    """Return an explanation that the graph lacks these names, with the alphabetical neighbours of the first."""
    order = graph.columns.name_order
    first, _ = graph.names.ends(names[0], order)
    neighbours = graph.names.take(order[max(first - 1, 0) : first + 1])
    nearest = f" (nearest names: {', '.join(map(repr, neighbours))})" if neighbours else ""
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"{names[0]!r}{nearest}{more}, which the graph lacks; use names of its nodes"
