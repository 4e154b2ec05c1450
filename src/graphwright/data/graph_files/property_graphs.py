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
from graphwright.text.values import is_value
from graphwright.text.words import identifiers

Attributes: TypeAlias = Mapping[str, Any]
Pairs: TypeAlias = tuple[tuple[str, str], ...]  # names with values as text; a name may recur

TYPE = "type"  # relation of a node to its label or type

GROUP = "part of"  # relation of a node to the group that it is drawn in
_NAMES = ("name", "title", "label", "entity_id")
_RELATIONS = ("relation", "predicate", "interaction", "label", "edge label", "labele", "type", "name")
_TEXTS = ("text", "description", "summary")
_TYPES = ("entity_type", "type", "kind", "labelv")  # labelV and labelE: of TinkerPop
_GENERIC = ("entity", "node", "__entity__", "")  # types without information
_EXPORTED = frozenset({"entity", "chunk", "document", "record"})  # the attribute `kind` of an export of ours
_NAMED, _LONGEST = 0.9, 100  # share of nodes that an attribute names apart, at least; characters of a name
_DEFAULT_WEIGHTS = frozenset({"1", "1.0"})  # which editors write at each edge
_LONGEST_LIST = 32  # numbers in a list; more are a vector


@dataclass(frozen=True, slots=True)
class Node:
    """A node: the id that edges name it by, its name, its text ("" where it equals the name), and its attributes."""

    id: str
    name: str
    text: str = ""
    facts: Pairs = ()

    @property
    def type(self) -> str:
        """Its first label or type, "" for none."""
        return next((value for name, value in self.facts if name == TYPE), "")

    def renamed(self, name: str) -> Node:
        """Return the node with a name in place of its own, which is then no fact about it."""
        facts = tuple(fact for fact in self.facts if fact[0] == TYPE or fact[1] != name)
        return Node(self.id, name, self.text and name + self.text[len(self.name) :], facts)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two ids, with its relation, the text that states it, or "", and its attributes."""

    head: str
    relation: str
    tail: str
    text: str = ""
    fields: Pairs = ()

    def labelled(self, key: str) -> Edge:
        """Return the edge with the value of one of its attributes as its relation, if it has that attribute."""
        relation = dict(self.fields).get(key, self.relation)
        fields = tuple(field for field in self.fields if field != (key, relation))
        return Edge(self.head, relation, self.tail, self.text, fields)


@dataclass
class PropertyGraph:
    """Nodes and edges in file order; ids of edges may lack a node. `left_out`: the number of unread parts, by kind."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add_missing(self) -> None:
        """Add the ends of edges that are not among the nodes, each named by its id."""
        known = dict.fromkeys(node.id for node in self.nodes)
        ends = dict.fromkeys(end for edge in self.edges for end in (edge.head, edge.tail) if end not in known)
        self.nodes += [Node(end, end) for end in ends]

    def add_names(self) -> None:
        """Name nodes and relations that have no usual name by another attribute."""
        self.nodes, self.edges = named_by_type(self.nodes), named_relations(self.edges)


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


def named_nodes(nodes: Sequence[Node], keys: Sequence[str], id_key: str = "", prefix: str = "") -> list[Node]:
    """Return nodes of one kind, those that their ids name by the first attribute that names almost each of them apart.

    Such is one whose values are written as names, the ids among them, else one whose values may be names, ids last.
    `keys`: the attributes; `id_key`: that of the ids, "" for none; `prefix`: what the ids begin with.

    >>> towns = [node_of(at, {"zip": f"80{at}0", "nom": name}) for at, name in enumerate(["Graz", "Linz"])]
    >>> [(node.name, node.facts) for node in named_nodes(towns, ["zip", "nom"])]
    [('Graz', (('zip', '8000'),)), ('Linz', (('zip', '8010'),))]
    """
    if id_key.lower() in _NAMES or any(node.name != node.id for node in nodes):
        return list(nodes)
    facts = [dict(node.facts) for node in nodes]
    ids = [node.id.removeprefix(prefix) for node in nodes]
    columns = [[own.get(key, "") for own in facts] for key in keys if key != id_key]
    for names, is_name in (([ids, *columns], _is_written_as_name), ([*columns, ids], _may_be_name)):
        for values in names:
            if min(len(set(values)), sum(map(is_name, values))) >= _NAMED * len(nodes):
                return [node.renamed(value) if value else node for node, value in zip(nodes, values, strict=True)]
    return list(nodes)


def named_by_type(nodes: Sequence[Node]) -> list[Node]:
    """Return nodes, those of each type named as `named_nodes` does, by attributes that have a single value.

    A type whose ids may all be names keeps them.

    >>> [node.name for node in named_by_type([node_of(at, {"nom": name}) for at, name in enumerate(["Graz", "Linz"])])]
    ['Graz', 'Linz']
    """
    places = dict[str, list[int]]()
    for at, node in enumerate(nodes):
        places.setdefault(node.type, []).append(at)
    named = list(nodes)
    for of_type in places.values():
        if all(_may_be_name(nodes[at].id) for at in of_type):
            continue
        counts = Counter(name for at in of_type for name in {*dict(nodes[at].facts)})
        pairs = Counter(name for at in of_type for name, _ in nodes[at].facts)
        keys = [name for name in counts if name != TYPE and pairs[name] == counts[name]]
        for at, node in zip(of_type, named_nodes([nodes[at] for at in of_type], sorted(keys)), strict=True):
            named[at] = node
    return named


def named_relations(edges: Sequence[Edge]) -> list[Edge]:
    """Return edges, those without a relation named by the attribute that labels almost each of them.

    Of several, that which is not written as names are, and has the fewest values, but more than one.

    >>> edges = [edge_of(1, 2, {"art": "mündet in", "by": "Ada"}), edge_of(2, 3, {"art": "speist", "by": "Ben"})]
    >>> [(edge.relation, edge.fields) for edge in named_relations(edges)]
    [('mündet in', (('by', 'Ada'),)), ('speist', (('by', 'Ben'),))]
    """
    unnamed = [dict(edge.fields) for edge in edges if edge.relation == NO_RELATION]
    labels = dict[tuple[bool, float, int], str]()
    for key in dict.fromkeys(key for fields in unnamed for key in fields):
        values = [fields[key] for fields in unnamed if key in fields and _may_be_name(fields[key])]
        if len(values) >= _NAMED * len(unnamed):
            distinct, written = len(set(values)), sum(map(_is_written_as_name, values)) / len(values)
            labels.setdefault((distinct == 1 < len(unnamed), round(written), distinct), key)
    if not labels:
        return list(edges)
    label = labels[min(labels)]
    return [edge.labelled(label) if edge.relation == NO_RELATION else edge for edge in edges]


def is_vector(value: object) -> bool:
    """Return whether a value is an embedding rather than data: a list of more than 32 numbers."""
    return isinstance(value, list) and len(value) > _LONGEST_LIST and all(isinstance(v, int | float) for v in value)


def _may_be_name(text: str) -> bool:
    """Return whether a text may be a name: with letters, and no value, identifier, truth value or long text."""
    if len(text) > _LONGEST or "\n" in text or text.lower() in ("true", "false") or is_value(text):
        return False
    return any(map(str.isalpha, text)) and (" " in text or not identifiers(text))


def _is_written_as_name(text: str) -> bool:
    return _may_be_name(text) and not text.islower() and not text.isupper()


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
