"""Statements about statements, lists and class expressions of RDF, which are read as what they say; and their rows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from graphwright.data.graph_files.dump import LEFT_OUT, PART, SKIPPED, TRIPLE
from graphwright.data.graph_files.rdf import NAMING, OWL_NS, RDF_NS, WIKIBASE, iri_name, unescaped

Triple: TypeAlias = tuple[str, str, str]
Names: TypeAlias = Callable[[Iterable[str]], Mapping[str, str]]  # returns the labels of ids that have one

_ENDS = {
    **{RDF_NS + name: at for at, name in enumerate(("subject", "predicate", "object"))},
    **{f"{OWL_NS}annotated{name}": at for at, name in enumerate(("Source", "Property", "Target"))},
}
_TYPE, _REIFIES, _SINGLETON = f"{RDF_NS}type", f"{RDF_NS}reifies", f"{RDF_NS}singletonPropertyOf"
_FIRST, _REST, _NIL = f"{RDF_NS}first", f"{RDF_NS}rest", f"{RDF_NS}nil"
_SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
_CLASSES = (_SUBCLASS, f"{OWL_NS}equivalentClass")
_SOURCE, _RANK = "http://www.w3.org/ns/prov#wasDerivedFrom", f"{WIKIBASE}rank"
_WIKIBASE_VALUE, _WIKIBASE_CLAIM = "/prop/statement/P", "/prop/P"
_JOINED = {"intersectionOf": " and ", "unionOf": " or ", "oneOf": " or "}
_FILLERS = {
    "someValuesFrom": "some", "allValuesFrom": "only", "hasValue": "value", "hasSelf": "self", "cardinality": "exactly",
    "minCardinality": "min", "maxCardinality": "max", "qualifiedCardinality": "exactly",
    "minQualifiedCardinality": "min", "maxQualifiedCardinality": "max",
}  # fmt: skip
_TOKEN = re.compile(r'\s*(<<\(?|\)?>>|<[^<>\s]*>|_:[^\s<>"]+|"((?:[^"\\]|\\.)*)"(?:@[\w-]+|\^\^<[^<>\s]*>)?|\.)\s*')
_CLOSING = (".", ">>", ")>>")
_MAX_DEPTH = 50  # of expressions and statements in one another


class Claim(NamedTuple):
    """A triple, which may be in a file too, and the fields of the statement that makes it: predicates and values."""

    triple: Triple
    fields: tuple[tuple[str, str], ...] = ()


@dataclass
class RDFParts:
    """The parts in the rows of files. `add` the rows with the role PART; then `claims` reads the rows with their ids.

    `ids`: the nodes that stand for statements, lists and expressions, which become no nodes of the graph. `left_out`:
    the number of parts that say nothing that can be kept, by what they are.
    """

    names: Names
    left_out: Counter[str] = field(default_factory=Counter)
    _ends: dict[str, list[str]] = field(default_factory=dict)  # of each statement: head, relation, tail
    _stated: set[str] = field(default_factory=set)  # statements that are made, not only quoted
    _fields: defaultdict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    _members: dict[str, str] = field(default_factory=dict)
    _rest: dict[str, str] = field(default_factory=dict)
    _expressions: defaultdict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    _references: dict[str, None] = field(default_factory=dict)
    _labels: Mapping[str, str] = field(default_factory=dict)

    def add(self, rows: Iterable[Triple]) -> list[Triple]:
        """Sort rows with the role PART; return those that are about a list or an expression."""
        others: list[Triple] = []
        for head, relation, tail in rows:
            if not relation:
                others += self._quoting(head)
            elif relation in _ENDS:
                self._end(head, _ENDS[relation], tail)
            elif relation == _SINGLETON:
                self._end(head, 1, tail)
            elif _WIKIBASE_VALUE in relation:
                self._end(head, 1, relation.replace("/prop/statement/", "/prop/direct/"))
                self._end(head, 2, tail)
            elif relation in (_FIRST, _REST):
                (self._members if relation == _FIRST else self._rest)[head] = tail
            elif relation.startswith(OWL_NS) and head.startswith("_:"):
                self._expressions[head][relation.removeprefix(OWL_NS)] = tail
            else:
                others.append((head, relation, tail))
        return others

    def _end(self, statement: str, at: int, value: str) -> None:
        self._ends.setdefault(statement, ["", "", ""])[at] = value
        self._stated.add(statement)

    def _quoting(self, line: str) -> Iterator[Triple]:
        """Yield the triple of a line with quoted triples, each of which is a statement from then on."""
        tokens = iter([(match[1], match[2]) for match in _TOKEN.finditer(line)])
        try:
            triple = (self._term(tokens), self._term(tokens), self._term(tokens))
        except (StopIteration, ValueError):
            self.left_out["malformed rows with quoted triples"] += 1
            return
        if triple[1] == _REIFIES:
            self._ends[triple[0]] = self._ends[triple[2]]
        else:
            yield triple

    def _term(self, tokens: Iterator[tuple[str, str | None]], depth: int = 0) -> str:
        token, literal = next(tokens)
        if token in _CLOSING or depth > _MAX_DEPTH:
            raise ValueError(token)
        if not token.startswith("<<"):
            return unescaped(token[1:-1] if token.startswith("<") else token if literal is None else literal)
        ends = [self._term(tokens, depth + 1) for _ in range(3)]
        if next(tokens)[0] not in _CLOSING[1:]:
            raise ValueError(token)
        key = f"<< {' '.join(ends)} >>"
        self._ends[key] = ends
        return key

    @property
    def ids(self) -> set[str]:
        """The nodes that stand for statements, references, lists and expressions."""
        return {*self._ends, *self._references, *self._members, *self._expressions}

    def references(self, rows: Iterable[Triple]) -> set[str]:
        """Return the nodes of the references in the rows of statements, whose rows are to be read too."""
        self._references = dict.fromkeys(tail for head, relation, tail in rows if relation == _SOURCE)
        return set(self._references)

    def claims(self, rows: Iterable[Triple]) -> list[Claim]:
        """Return the triples that the parts state, given the other rows whose head, relation or tail is one of them."""
        rows = sorted(rows, key=lambda row: row[1] == _SOURCE)  # sources are the last fields
        for head, relation, tail in rows:
            if head in self._expressions and relation.startswith(OWL_NS):
                self._expressions[head][relation.removeprefix(OWL_NS)] = tail
            elif head in self._references:
                self._fields[head].append((relation, tail))
        mentioned = {*(term for row in rows for term in row), *(term for ends in self._ends.values() for term in ends)}
        mentioned |= {term for parts in self._expressions.values() for term in parts.values()}
        self._labels = self.names({*mentioned, *self._members.values()})
        triples = [Claim(triple) for row in rows for triple in self._stated_by(*row)]
        return [*triples, *self._complete()]

    def _stated_by(self, head: str, relation: str, tail: str) -> Iterator[Triple]:
        """Yield the triples that a row states; a row about a statement is added to its fields."""
        if head in self._ends:
            if relation == _SOURCE and tail in self._references:
                self._fields[head] += self._fields[tail]
            elif relation != _TYPE:
                self._fields[head].append((relation, tail))
        elif relation in self._ends:  # a singleton property
            self._end(relation, 0, head)
            self._end(relation, 2, tail)
        elif tail in self._ends and _WIKIBASE_CLAIM in relation:
            self._end(tail, 0, head)
        elif head not in self._references and head not in self._members and head not in self._expressions:
            if relation in _CLASSES:
                yield from ((head, *stated) for stated in self._superclasses(tail, 0))
            else:
                yield from ((head, relation, self._text_of(member)) for member in self._listed(tail))

    def _complete(self) -> Iterator[Claim]:
        for statement, ends in self._ends.items():
            fields = dict.fromkeys((r, self._text_of(value)) for r, value in self._fields[statement])
            if not fields and statement not in self._stated:
                continue
            ranks = [iri_name(value) for relation, value in fields if relation == _RANK]
            if not all(ends):
                self.left_out["incomplete statements"] += 1
            elif "DeprecatedRank" in ranks:
                self.left_out["deprecated statements"] += 1
            elif ends[1] in NAMING:
                self.left_out["statements about names"] += 1
            else:
                head, relation, tail = (self._text_of(end) for end in ends)
                told = tuple(pair for pair in fields if not pair[1].endswith("#NormalRank"))
                yield Claim((head, relation, tail), told)

    def _superclasses(self, expression: str, depth: int) -> Iterator[tuple[str, str]]:
        """Yield relation and tail of what is stated of a class below a class or an expression."""
        parts = self._expressions.get(expression, {})
        filler = parts.get("someValuesFrom", parts.get("hasValue"))
        if "intersectionOf" in parts and depth < _MAX_DEPTH:
            for member in self._listed(parts["intersectionOf"]):
                yield from self._superclasses(member, depth + 1)
        elif filler is not None and parts.get("onProperty") not in self._expressions:
            yield parts["onProperty"], self._text_of(filler)
        else:
            yield _SUBCLASS, self._text_of(expression)

    def _listed(self, node: str) -> list[str]:
        """Return the members of a list; a node that is no list is one."""
        if node not in self._members:
            return [] if node == _NIL else [node]
        members: dict[str, str] = {}
        while node in self._members and node not in members:
            members[node] = self._members[node]
            node = self._rest.get(node, _NIL)
        return list(members.values())

    def _text_of(self, node: str, depth: int = 0) -> str:
        """Return a statement or an expression in words, and any other node unchanged."""
        if depth < _MAX_DEPTH and node in self._ends:
            return " ".join(self._name(end, depth + 1) for end in self._ends[node])
        if depth < _MAX_DEPTH and node in self._expressions:
            return self._expression(self._expressions[node], depth + 1) or node
        return node

    def _name(self, node: str, depth: int) -> str:
        text = self._text_of(node, depth)
        return self._labels.get(node, iri_name(node)) if text == node else f"({text})" if " " in text else text

    def _expression(self, parts: Mapping[str, str], depth: int) -> str:
        """Return a class expression in the Manchester syntax."""
        for key, between in _JOINED.items():
            if key in parts:
                return between.join(self._name(member, depth) for member in self._listed(parts[key]))
        if "complementOf" in parts:
            return f"not {self._name(parts['complementOf'], depth)}"
        key = next((key for key in parts if key in _FILLERS), "")
        if not key or "onProperty" not in parts:
            return ""
        of_class = parts.get("onClass", parts.get("onDataRange", ""))
        words = [parts["onProperty"], _FILLERS[key], parts[key], *([of_class] if of_class else [])]
        return " ".join(word if word == _FILLERS[key] else self._name(word, depth) for word in words)


def claims_of(
    db: Any, rows: str, hashed: Callable[[str], str], names: Callable[[Iterable[str]], Mapping[str, str]]
) -> tuple[list[Claim], dict[str, int]]:
    """Return the claims in the rows of all files, and the number of parts that are left out, by what they are.

    `rows`: the query of all rows; `hashed`: the expression of the hash of a column. The table `codes` of hashed rows
    then has the triples of the claims, those that it lacks at its end, and no row about the ids of the parts; these are
    in the table `parts`, and the triples in `claims`.
    """
    db.execute("CREATE OR REPLACE TABLE parts (id VARCHAR)")
    db.execute("CREATE OR REPLACE TABLE claims (head VARCHAR, relation VARCHAR, tail VARCHAR)")
    left_out = db.execute(f"SELECT count(*) FROM codes WHERE role = {LEFT_OUT}").fetchone()[0]
    others = {"rows of Wikibase about its own data": left_out} if left_out else {}
    if not db.execute(f"SELECT count(*) FROM codes WHERE role = {PART}").fetchone()[0]:
        return [], others
    parts = RDFParts(names)

    def read(condition: str) -> list[Triple]:
        found: list[Triple] = db.execute(
            f"SELECT head, relation, tail FROM ({rows}) WHERE {condition} ORDER BY ALL"
        ).fetchall()
        return found

    about = parts.add(read(f"role = {PART}"))
    _insert(db, parts.ids)
    ends = ("head", "relation", "tail")
    about += read(f"role = {TRIPLE} AND ({' OR '.join(f'{end} IN (FROM parts)' for end in ends)})")
    if references := parts.references(about):
        db.execute("CREATE OR REPLACE TABLE referenced AS SELECT unnest(?::VARCHAR[]) AS id", [list(references)])
        about += read(f"role = {TRIPLE} AND head IN (FROM referenced)")
        _insert(db, references)
    claims = parts.claims(about)
    in_parts = " OR ".join(f"{end} IN (SELECT {hashed('id')} FROM parts)" for end in ends)
    db.execute(f"UPDATE codes SET role = {SKIPPED} WHERE role = {TRIPLE} AND ({in_parts})")
    columns = [list(column) for column in zip(*(claim.triple for claim in claims), strict=True)]
    if claims:
        db.execute(
            "INSERT INTO claims SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])", columns
        )
    new = ", ".join(f"{hashed(end)} AS {end}" for end in ends)
    known = " AND ".join(f"k.{end} = c.{end}" for end in ends)
    db.execute(
        f"INSERT INTO codes SELECT head, relation, tail, {TRIPLE} FROM (SELECT head, relation, tail, min(row) AS row "
        f"FROM (SELECT {new}, rowid AS row FROM claims) GROUP BY head, relation, tail) AS c WHERE NOT EXISTS "
        f"(SELECT 1 FROM codes AS k WHERE role = {TRIPLE} AND {known}) ORDER BY row"
    )
    return claims, {**others, **parts.left_out}


def edges_of(db: Any, hashed: Callable[[str], str]) -> dict[int, int]:
    """Return the edge that states each claim, by the number of the claim: the first of equal edges."""
    ends = ("head", "relation", "tail")
    same = " AND ".join(f"{hashed(f'c.{end}')} = e.{end}" for end in ends)
    return dict(
        db.execute(
            f"SELECT c.rowid, min(e.edge) FROM claims AS c JOIN (SELECT head, relation, tail, row_number() OVER "
            f"(ORDER BY rowid) - 1 AS edge FROM codes WHERE role = {TRIPLE}) AS e ON {same} GROUP BY c.rowid"
        ).fetchall()
    )


def _insert(db: Any, ids: Iterable[str]) -> None:
    db.execute("INSERT INTO parts SELECT unnest(?::VARCHAR[])", [sorted(ids)])
