"""Names of relations: in words, and those that lead to a name or to a class."""

from __future__ import annotations

import re

import numpy as np

from graphwright.graph.graph import Columns, Graph

LABELS = frozenset({"label", "pref label", "name"})
"""Relations, in words, from a node to its display name."""
_ALIAS = re.compile(
    r"(?:.*\b)?(?:alias(?:es)?|aka|synonyms?|nicknames?|abbreviation|(?:alt|hidden) label|known as"
    r"|also (?:called|known|named)|formerly (?:called|named)"
    r"|(?:alternate|alternative|common|former|full|old|other|scientific|short) names?)"
)
TYPES = frozenset(
    ["type", "instance of", "is a", "is an", "a", "class", "kind", "category", "rdf type", "kind of", "type of"]
)
"""Relations, in words, from a node to its class."""
_IDENTIFIER = re.compile(r"\S*[\d/:#]\S*")
_SAMPLE = 100  # edges of a relation that are looked at
_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z\d])(?=[A-Z])")
_SEGMENTS = re.compile(r"[./#:](?=[^\s./#:]*$)")


def relation_phrase(name: str) -> str:
    """Return a relation's name as words in lower case; of a path of names, the last.

    >>> relation_phrase("directed_by"), relation_phrase("birthPlace"), relation_phrase("/people/person/place_of_birth")
    ('directed by', 'birth place', 'place of birth')
    """
    last = _SEGMENTS.split(name.strip("/.#:"))[-1] if " " not in name else name
    return " ".join(_WORD_BREAK.sub(" ", last).split()).lower() or name.lower()


def is_naming(phrase: str) -> bool:
    """Return whether a relation, in words, leads from a node to one of its names.

    >>> is_naming("alt label"), is_naming("also known as"), is_naming("named after"), is_naming("label")
    (True, True, False, True)
    """
    return phrase in LABELS or _ALIAS.fullmatch(phrase) is not None


def names_identifiers(columns: Columns, relation: int) -> bool:
    """Return whether the nodes that a relation begins at are mostly named by identifiers, such as Q42 or m.0abc.

    Only then does a "label" name its node: that of a record is its company.
    """
    heads = columns.heads[columns.related.row(relation)[:_SAMPLE]]
    identifiers = [_IDENTIFIER.fullmatch(name) is not None for name in columns.names.take(heads)]
    return 2 * sum(identifiers) > len(identifiers)


def shown_name(graph: Graph, node: int) -> str:
    """Return the name that a node is shown by: its label where identifiers have one, else its own."""
    columns = graph.columns
    edges = columns.out.row(node)
    for relation in np.unique(columns.relation[edges]).tolist():
        if relation_phrase(columns.relations[relation]) in LABELS and names_identifiers(columns, relation):
            return graph.names[int(columns.tails[edges[columns.relation[edges] == relation][0]])]
    return graph.names[node]
