"""Types of answers: what the interrogative and its noun ask for, checked against values, classes and relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import RelationPath
from graphwright.operators.paths.relation_match import Reading
from graphwright.search.relation_index import SUBCLASSES, relation_index_of
from graphwright.text.values import value_of
from graphwright.text.words import words

_SAMPLE = 20  # ends of a path whose values are looked at
_DEPTH = 8  # levels of subclasses


@dataclass(frozen=True, eq=False)
class AnswerType:
    """A test of ends: `asks` as in QuestionForm; `instances`: the nodes that the noun names, None if open."""

    asks: str
    instances: Ints | None = None
    classes: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def fits(self, nodes: Ints) -> NDArray[np.bool_]:
        """Return which nodes have the noun's type; all nodes if none has it."""
        if self.instances is None:
            return np.ones(len(nodes), bool)
        inside = np.isin(nodes, self.instances)
        return inside if inside.any() else np.ones(len(nodes), bool)

    def accepts(self, graph: Graph, path: RelationPath) -> bool:
        """Return whether the ends of a path have the kind of value that is asked for."""
        ends = graph.at(path.ends[:_SAMPLE])
        if not len(ends):
            return False
        kinds = [value_of(graph.names[node]) for node in ends.tolist()]
        dates = np.mean([value is not None and value.kind == "date" for value in kinds])
        literals = np.mean([value is not None for value in kinds])
        if self.asks == "time":
            return bool(dates >= 0.5)
        if self.asks == "amount":
            return bool(literals >= 0.5)
        if self.asks == "person":
            return bool(literals < 0.5 and np.mean([is_person(graph, node) for node in ends.tolist()]) >= 0.5)
        if self.asks == "place":
            return bool(literals < 0.5 and np.mean([is_person(graph, node) for node in ends.tolist()]) < 0.5)
        return True


def is_person(graph: Graph, node: int) -> bool:
    """Return whether a node is a person or acts as one: by the relations that it has (see RelationIndex.of_persons)."""
    heads, tails = relation_index_of(graph.columns).of_persons
    c = graph.columns
    return bool(np.isin(c.relation[c.out.row(node)], heads).any() or np.isin(c.relation[c.into.row(node)], tails).any())


def answer_type(graph: Graph, reading: Reading) -> AnswerType:
    """Return the type of answer that a question asks for."""
    classes = classes_named(graph, reading, reading.form.noun)
    instances = instances_of(graph, reading, classes) if len(classes) else ends_named(reading)
    return AnswerType(reading.form.asks, instances, classes)


def ends_named(reading: Reading) -> Ints | None:
    """Return the ends of the relation that the noun names ("directors": "directed by"), None if it names none."""
    for at in reversed(reading.form.noun):
        for relation in reading.lexical.get(at, ()):
            heads, tails = reading.relations.ends_of(relation)
            if reading.relations.is_homogeneous(relation):
                return np.union1d(heads, tails).astype(np.int64)
            voice = reading.relations.voice(relation)
            acts = voice == "plain" and _is_agent_of(reading.words[at], reading.relations.words[relation])
            return np.unique(heads if voice == "of" or acts else tails).astype(np.int64)
    return None


def _is_agent_of(noun: str, verb: Sequence[str]) -> bool:
    """Return whether a noun is who does what a relation says: "players" of "plays for"."""
    singular = noun.removesuffix("s")
    return singular.endswith(("er", "or")) and not {noun, singular} & set(verb)


def classes_named(graph: Graph, reading: Reading, positions: tuple[int, ...]) -> Ints:
    """Return the classes of the graph that words of the question name, in any inflection."""
    classes, phrase = reading.relations.classes, [reading.words[at] for at in positions]
    if not positions or not len(classes):
        return np.empty(0, np.int64)
    names = [graph.names[node].casefold().replace("_", " ").split() for node in classes.tolist()]
    exact = classes[[_end_alike(phrase, name) and len(name) <= len(phrase) for name in names]]
    return exact if len(exact) else classes[[_end_alike(phrase, name) for name in names]]


def _end_alike(phrase: list[str], name: list[str]) -> bool:
    """Return whether one of a phrase and a name ends with all of the other: "dwarf planets" and "planet"."""
    size = min(len(phrase), len(name))
    return size > 0 and words(" ".join(phrase[-size:])) == words(" ".join(name[-size:]))


def instances_of(graph: Graph, reading: Reading, classes: Ints) -> Ints:
    """Return the instances of classes and of their subclasses, ascending."""
    c, relations = graph.columns, reading.relations
    below = relations.of_role(SUBCLASSES)
    for _ in range(_DEPTH if len(below) else 0):
        edges = c.into.rows(classes)
        lower = c.heads[edges[np.isin(c.relation[edges], below)]]
        wider = np.union1d(classes, lower).astype(np.int64)
        if len(wider) == len(classes):
            break
        classes = wider
    edges = c.into.rows(classes)
    return np.unique(c.heads[edges[np.isin(c.relation[edges], relations.types)]]).astype(np.int64)
