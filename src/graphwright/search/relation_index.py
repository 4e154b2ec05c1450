"""Index of a graph's relations: their words, their roles in RDF vocabularies, and their edges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph, Ids32
from graphwright.kernels.csr import Csr, group
from graphwright.search.snapshot import SnapshotCache
from graphwright.text.words import STOP_WORDS

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
SUBCLASSES = frozenset(["sub class of", "subclass of", "broader", "subtype of", "parent class", "sub category of"])
"""Relations, in words, from a class to a more general one."""

_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z\d])(?=[A-Z])")
_SEGMENTS = re.compile(r"[./#:](?=[^\s./#:]*$)")
_MAX_EDGES = 5_000_000  # sampled edges by which relations are classified
_ACCIDENTAL = 0.1  # share of nodes that are heads and tails of a relation by a shared name
_RECIPROCAL = frozenset(
    ("spouse", "sibling", "partner", "married", "border", "borders", "neighbour", "neighbor", "adjacent", "friend")
) | {"with"}
_BETWEEN_PERSONS = frozenset(
    ["spouse", "married", "mother", "father", "child", "children", "parent", "parents", "sibling"]
)
_OF_PERSONS = _BETWEEN_PERSONS | {"born", "birth", "died", "death"}
Voice = Literal["passive", "of", "agent", "plain"]


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


@dataclass(frozen=True, eq=False)
class RelationIndex:
    """The relations of a snapshot.

    `phrases`: each relation in words; `edges`: the edges of each relation, an even sample of them in a graph with more
    than five million; `heads`, `tails` of all edges.
    """

    phrases: tuple[str, ...]
    edges: Csr
    heads: Ids32
    tails: Ids32

    @cached_property
    def words(self) -> list[tuple[str, ...]]:
        """The content words of each relation; all its words, if they are all stop words."""
        split = [phrase.split() for phrase in self.phrases]
        return [tuple(dict.fromkeys(w for w in ws if w not in STOP_WORDS)) or tuple(ws) for ws in split]

    @cached_property
    def by_word(self) -> dict[str, list[int]]:
        """The relations of each content word."""
        relations: dict[str, list[int]] = {}
        for relation, words in enumerate(self.words):
            for word in words:
                relations.setdefault(word, []).append(relation)
        return relations

    def of_role(self, role: frozenset[str]) -> Ints:
        """Return the relations whose words are among a role's."""
        return np.array([r for r, phrase in enumerate(self.phrases) if phrase in role], np.int64)

    @cached_property
    def types(self) -> Ints:
        """The relations from a node to its class."""
        return self.of_role(TYPES)

    @cached_property
    def naming(self) -> Ints:
        """The relations from a node to one of its names."""
        return np.array([r for r, phrase in enumerate(self.phrases) if is_naming(phrase)], np.int64)

    @cached_property
    def classes(self) -> Ints:
        """The nodes that are classes of others, ascending."""
        return np.unique(self.tails[self.edges.rows(self.types)]).astype(np.int64)

    def voice(self, relation: int) -> Voice:
        """Return the form of a name: passive ("directed by"), of ("mother of"), agent ("author") or plain."""
        last = self.phrases[relation].rpartition(" ")[2]
        if last in ("by", "of"):
            return "passive" if last == "by" else "of"
        last = last.removesuffix("s")
        return "agent" if len(last) > 4 and last.endswith(("er", "or", "ist", "ant")) else "plain"

    @cached_property
    def of_persons(self) -> tuple[Ints, Ints]:
        """The relations whose heads, and those whose tails, are persons or agents.

        Relations of birth, death and kin are of persons; the tails of a passive and of an agent are agents.
        """
        words = [set(phrase.split()) for phrase in self.phrases]
        heads = [r for r, own in enumerate(words) if own & _OF_PERSONS]
        tails = [r for r, own in enumerate(words) if own & _BETWEEN_PERSONS or self.voice(r) in ("passive", "agent")]
        return np.array(heads, np.int64), np.array(tails, np.int64)

    def ends_of(self, relation: int) -> tuple[Ids32, Ids32]:
        """Return the heads and the tails of a relation's edges."""
        edges = self.edges.row(relation)
        return self.heads[edges], self.tails[edges]

    def is_homogeneous(self, relation: int) -> bool:
        """Return whether heads and tails are of one kind: more nodes are both than by chance."""
        heads, tails = map(np.unique, self.ends_of(relation))
        return len(np.intersect1d(heads, tails, assume_unique=True)) > _ACCIDENTAL * min(len(heads), len(tails))

    def is_symmetric(self, relation: int) -> bool:
        """Return whether a relation holds in both directions: by its edges, or by a word such as "with"."""
        heads, tails = (ends.astype(np.int64) for ends in self.ends_of(relation))
        size = int(max(heads.max(initial=0), tails.max(initial=0))) + 1
        reversed_share = np.isin(heads * size + tails, tails * size + heads).mean() if len(heads) else 0.0
        return reversed_share > 0.5 or not _RECIPROCAL.isdisjoint(self.phrases[relation].split())


_cache: SnapshotCache[RelationIndex] = SnapshotCache()


def relation_index_of(columns: Columns) -> RelationIndex:
    """Return the relation index of a snapshot, built once."""
    return _cache.get(columns, "relations", lambda: _built(columns))


def shown_name(graph: Graph, node: int) -> str:
    """Return the name that a node is shown by: its label where the graph has one, else its own."""
    labels = relation_index_of(graph.columns).of_role(LABELS)
    if len(labels):
        edges = graph.columns.out.row(node)
        label_edges = edges[np.isin(graph.columns.relation[edges], labels)]
        if len(label_edges):
            return graph.names[int(graph.columns.tails[label_edges[0]])]
    return graph.names[node]


def _built(columns: Columns) -> RelationIndex:
    step = len(columns.heads) // _MAX_EDGES + 1
    sample = np.arange(0, len(columns.heads), step, dtype=np.int32)
    edges = group(len(columns.relations), np.asarray(columns.relation)[sample], sample)
    return RelationIndex(tuple(map(relation_phrase, columns.relations)), edges, columns.heads, columns.tails)
