"""Property graphs: nodes and edges with attributes, each format in a module of its own. They are read in memory.

A node's text is "name (types): description", as far as it has any; its other attributes are facts. An edge without a
relation is "linked to"; its other attributes are fields of the statement that it makes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from graphwright.data.graph_files.dump import NO_RELATION

Attributes: TypeAlias = Mapping[str, Any]
Pairs: TypeAlias = tuple[tuple[str, str], ...]
"""Names with values as text; a name may recur."""

TYPE = "type"
"""Relation of a node to its label or type."""

GROUP = "part of"
"""Relation of a node to the group that it is drawn in."""
_NAMES = ("name", "title", "label", "entity_id")
_RELATIONS = ("relation", "predicate", "interaction", "label", "edge label", "type", "name")
_TEXTS = ("text", "description", "summary")
_TYPES = ("entity_type", "type", "kind")
_GENERIC = ("entity", "node", "__entity__", "")  # types without information
_EXPORTED = frozenset({"entity", "chunk", "document", "record"})  # the attribute `kind` of an export of ours
_DEFAULT_WEIGHTS = frozenset({"1", "1.0"})  # which editors write at each edge


@dataclass(frozen=True, slots=True)
class Node:
    """A node: the id that edges name it by, its name, its text ("" where it equals the name), and its attributes."""

    id: str
    name: str
    text: str = ""
    facts: Pairs = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two ids, with its relation, the text that states it, or "", and its attributes."""

    head: str
    relation: str
    tail: str
    text: str = ""
    fields: Pairs = ()


@dataclass
class PropertyGraph:
    """Nodes and edges in the order of the files. `left_out`: the number of parts that are not read, by what they are.

    The ids of an edge need not be among the nodes.
    """

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add_missing(self) -> None:
        """Add the ends of edges that are not among the nodes, each named by its id."""
        known = dict.fromkeys(node.id for node in self.nodes)
        ends = dict.fromkeys(end for edge in self.edges for end in (edge.head, edge.tail) if end not in known)
        self.nodes += [Node(end, end) for end in ends]


def node_of(key: object, attributes: Attributes, types: Iterable[str] = ()) -> Node:
    """Return a node, given its id and its attributes. `types`: its labels; by default its attribute `entity_type`.

    >>> node_of(7, {"name": "Graz", "entity_type": "city", "description": "On the Mur.", "area": {"km2": 127.5}})
    Node(id='7', name='Graz', text='Graz (city): On the Mur.', facts=(('type', 'city'), ('area.km2', '127.5')))
    >>> node_of("Graz", {"kind": "entity", "text": "Graz (city): On the Mur."}).text
    'Graz (city): On the Mur.'
    """
    named, described, typed = (_first(attributes, names) for names in (_NAMES, _TEXTS, _TYPES))
    types = list(types)
    name, text, kinds = named[1] or str(key), described[1], types or [typed[1]]
    kinds = [kind for kind in kinds if kind.lower() not in _GENERIC]
    used = {named[0], described[0], *([] if types else [typed[0]])}
    facts = () if str(attributes.get("kind")) in _EXPORTED else _pairs(attributes, used, name)
    facts = (*((TYPE, kind) for kind in kinds), *facts)
    if text.startswith((f"{name} (", f"{name}: ")):
        return Node(str(key), name, text, facts)
    full = f"{name} ({', '.join(kinds)})" if kinds else name
    full = f"{full}: {text}" if text and text != name else full
    return Node(str(key), name, "" if full == name else full, facts)


def edge_of(head: object, tail: object, attributes: Attributes, relation: str = "") -> Edge:
    """Return an edge, given the ids of its ends and its attributes. `relation`: its type.

    >>> edge_of(1, 2, {"relation": "flows through", "text": "The Mur flows through Graz.", "km": 6})
    Edge(head='1', relation='flows through', tail='2', text='The Mur flows through Graz.', fields=(('km', '6'),))
    """
    key, stated = ("", relation) if relation else _first(attributes, _RELATIONS)
    text_key, text = _first(attributes, _TEXTS)
    fields = _pairs(attributes, {key, text_key}, stated)
    fields = tuple(pair for pair in fields if pair[0].lower() != "weight" or pair[1] not in _DEFAULT_WEIGHTS)
    return Edge(str(head), stated or NO_RELATION, str(tail), text, fields)


def _first(attributes: Attributes, names: Sequence[str]) -> tuple[str, str]:
    """Return the key and the text of the first of these attributes that has a text or a number, in any case."""
    lowered = {key.lower(): key for key in reversed(list(attributes))}
    for name in names:
        key = name if name in attributes else lowered.get(name, "")
        value = attributes.get(key)
        if isinstance(value, str | int | float) and (text := as_text(value)):
            return key, text
    return "", ""


def _pairs(attributes: Attributes, used: Iterable[str], shown: str) -> Pairs:
    """Return the attributes but those `used`, and those that only repeat the text `shown`."""
    pairs = (pair for key, value in attributes.items() if key not in used for pair in _flat(key, value))
    return tuple(pair for pair in dict.fromkeys(pairs) if pair[1] != shown)


def _flat(path: str, value: Any, depth: int = 8) -> Iterator[tuple[str, str]]:
    """Yield the values in an attribute with their paths: members of a list one by one, those of an object by key."""
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        members = value.items() if isinstance(value, Mapping) else ((None, member) for member in value)
        for key, member in members if depth else ():
            yield from _flat(path if key is None else f"{path}.{key}", member, depth - 1)
    elif path and (text := as_text(value)):
        yield path, text


def as_text(value: Any) -> str:
    """Return a value as text: true and false as JSON has them, a missing value as "".

    >>> as_text(True), as_text(None), as_text(float("nan")), as_text(" a "), as_text(2.0)
    ('true', '', '', 'a', '2.0')
    """
    if value is None or value != value:  # NaN
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()
