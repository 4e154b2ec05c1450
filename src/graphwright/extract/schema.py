"""Schema of a graph: the types of entities and relations that extraction looks for, read from `schema.toml`.

    [entities.company]
    description = "A business that sells goods or services."
    synonyms = ["firm"]
    examples = ["Acme Ltd"]

    [relations."works for"]
    pairs = [["person", "company"]]

A language model reads it in its prompt; what rules and the detector find is typed by it (`graphwright.extract.typed`).
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from graphwright.constraints import Checked
from graphwright.data.decoding import existing, suffix_of
from graphwright.errors import DataError, OptionError, meant
from graphwright.extract.extraction import ALSO_KNOWN_AS, Extraction, Relation
from graphwright.files import toml_text
from graphwright.graph.graph import CO_OCCURS
from graphwright.text.names import normal_form

FREE = (CO_OCCURS, ALSO_KNOWN_AS)  # relations that every schema allows
_BARE = re.compile("[A-Za-z0-9_-]+")  # a key of TOML without quotes
_RELATED = "related to"  # of a relation whose ends are not of the types that its name is for


@dataclass(frozen=True)
class EntityType(Checked):
    """A type of entities. `synonyms`: further names of the type; `examples`: names of entities of it."""

    name: str
    description: str = ""
    synonyms: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class RelationType(Checked):
    """A type of relations. `pairs`: types of head and tail that it may have, by default any."""

    name: str
    description: str = ""
    synonyms: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()


Type = TypeVar("Type", bound=EntityType | RelationType)


class _MisplacedError(OptionError):
    """A fault of a schema; `names`: of the sections and of the value that has it, in TOML."""

    def __init__(self, message: str, *names: str) -> None:
        super().__init__(message)
        self.names = names


@dataclass(frozen=True)
class Schema(Checked):
    """Types of entities and of relations; without types of one of them, these are not restricted.

    `strict`: entities without a type, and relations that are of no type or between the wrong types, are left out;
    otherwise they stay, without a type. A schema without types is false, and stands for none. Raises OptionError for a
    name that is empty or has two meanings, and for a pair of unknown types.

    >>> from graphwright.extract.extraction import Mention
    >>> schema = Schema((EntityType("company", synonyms=("firm",)),), strict=True)
    >>> found = Extraction((Mention("Acme", type="Firm"), Mention("1974", type="date")))
    >>> conforming = schema.conform(found)
    >>> [(m.name, m.type) for m in conforming.mentions], conforming.off_schema
    ([('Acme', 'company')], 1)
    """

    entities: tuple[EntityType, ...] = ()
    relations: tuple[RelationType, ...] = ()
    strict: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self._entity_types  # raises for two types of one name
        for relation in self._relation_types.values():
            for name in (name for pair in relation.pairs for name in pair):
                if normal_form(name) not in known:
                    names = [each.name for each in self.entities]
                    raise _MisplacedError(
                        f"a pair of the relation {relation.name!r} has the type {name!r}, which is no entity type; the "
                        f"types are {', '.join(names) or 'none'}.{meant(name, names)}",
                        *("relations", relation.name, "pairs"),
                    )

    def __bool__(self) -> bool:
        return bool(self.entities or self.relations)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read TOML, OWL or SHACL (extra `rdf`). Raises OptionError for a wrong value, DataError for no such file."""
        from graphwright.data.graph_files.rdf import RDF_FORMATS

        path = existing(path)
        try:
            if suffix_of(path) in RDF_FORMATS:
                from graphwright.extract.ontology import read_ontology

                schema = cls(*read_ontology(path))
            else:
                schema = cls.of_toml(path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read ({error}); name a file such as schema.toml.") from error
        except OptionError as error:
            raise OptionError(f"{path}: {error}") from None
        if not schema:
            raise OptionError(f"{path} has no types; add a section such as [entities.person].")
        return schema

    @classmethod
    def of_toml(cls, text: str) -> Self:
        """Return the schema of a text, or an empty one. Raises OptionError, with the line, for a wrong text."""
        try:
            tables = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise OptionError(f"it is not TOML: {error}.") from error
        try:
            _check_names(tables, ("entities", "relations", "strict"))
            entities = tuple(_types(EntityType, tables.get("entities", {}), "entities"))
            relations = tuple(_types(RelationType, tables.get("relations", {}), "relations"))
            return cls(entities, relations, tables.get("strict", False))
        except OptionError as error:
            names = error.names if isinstance(error, _MisplacedError) else ("strict",)
            raise OptionError(f"line {_line_of(names, text)}: {error}") from None

    def to_toml(self) -> str:
        """Return the schema as TOML, for `Schema.read`; fields that are empty are left out."""
        lines = ["strict = true", ""] if self.strict else []
        for section, types in (("entities", self.entities), ("relations", self.relations)):
            for kind in types:
                key = kind.name if _BARE.fullmatch(kind.name) else toml_text(kind.name)
                lines.append(f"[{section}.{key}]")
                lines += [f"{name} = {toml_text(value)}" for name, value in _filled(kind) if name != "name"]
                lines.append("")
        return "\n".join(lines)

    @cached_property
    def checksum(self) -> str:
        """Twelve hexadecimal digits that change with the schema."""
        return hashlib.blake2b(self.to_toml().encode(), digest_size=6).hexdigest()

    def marked(self, extractor: str) -> str:
        """Return the id of an extractor with the checksum of the schema, so that it differs from that of another."""
        return f"{extractor}+schema:{self.checksum}" if self else extractor

    def summary(self) -> dict[str, Any]:
        """Return the names of the types, and whether the schema is strict."""
        names = {section: [kind.name for kind in getattr(self, section)] for section in ("entities", "relations")}
        return {**names, "strict": self.strict}

    def lines(self, section: str) -> list[dict[str, Any]]:
        """Return the types of a section, entities or relations, as a prompt shows them: the fields that are filled."""
        return [dict(_filled(kind)) for kind in getattr(self, section)]

    @cached_property
    def _entity_types(self) -> dict[str, EntityType]:
        return _by_form(self.entities)

    @cached_property
    def _relation_types(self) -> dict[str, RelationType]:
        return _by_form(self.relations)

    def entity_type(self, name: str) -> str:
        """Return the type that has a name or a synonym, "" if none has."""
        kind = self._entity_types.get(normal_form(name))
        return "" if kind is None else kind.name

    @cached_property
    def _pairs(self) -> dict[str, set[tuple[str, str]]]:
        """The pairs of each relation type, under the names of their types."""
        return {
            kind.name: {(self.entity_type(head), self.entity_type(tail)) for head, tail in kind.pairs}
            for kind in self.relations
        }

    def allows(self, relation: str, head: str, tail: str, *, turned: bool = False) -> bool:
        """Return whether a relation may join two types, `turned` the other way; an untyped entity fits every type."""
        pairs = self._pairs[relation]
        fits = not pairs or any(head in ("", first) and tail in ("", last) for first, last in pairs)
        return fits or (turned and self.allows(relation, tail, head))

    def conform(self, extraction: Extraction, title: str = "") -> Extraction:
        """Return an extraction in which types and relations are those of the schema, under their names.

        A relation whose ends fit the other way round is turned. The entity of the title stays without a type too, for
        it is what a document is about. `Extraction.off_schema` counts what has no type or was left out.
        """
        mentions, off = extraction.mentions, 0
        if self.entities:
            typed = [mention._replace(type=self.entity_type(mention.type)) for mention in mentions]
            off = sum(not mention.type and mention.name != title for mention in typed)
            mentions = tuple(m for m in typed if m.type or m.name == title or not self.strict)
        types, relations = Extraction(mentions).types, list[Relation]()
        for relation in extraction.relations:
            if not self.strict or {relation.head, relation.tail} <= types.keys():
                fitted, fits = self._fitted(relation, types)
                off += not fits
                relations += [fitted] if fits or not self.strict else []
        return Extraction(mentions, tuple(relations), off)

    def _fitted(self, relation: Relation, types: Mapping[str, str]) -> tuple[Relation, bool]:
        """Return a relation under the name of its type, with the ends in its order, and whether it is of a type."""
        if not self.relations or relation.relation in FREE:
            return relation, True
        kind = self._relation_types.get(normal_form(relation.relation))
        if kind is None:
            return relation, False
        head, tail = types.get(relation.head, ""), types.get(relation.tail, "")
        if self.allows(kind.name, head, tail):
            return relation._replace(relation=kind.name), True
        if self.allows(kind.name, tail, head):
            return relation._replace(relation=kind.name, head=relation.tail, tail=relation.head), True
        return relation._replace(relation=_RELATED), False


def _line_of(names: Sequence[str], text: str) -> int:
    """Return the number of the line of TOML that sets a value, by the names of its sections and its own."""
    lines = text.split("\n")

    def is_set(end: int) -> bool:
        """Return whether the first lines, and those of a value that goes on after them, set it."""
        value: Any = {}
        for stop in range(end, len(lines) + 1):
            with suppress(ValueError):
                value = tomllib.loads("\n".join(lines[:stop]))
                break
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value is not None

    return bisect_left(range(len(lines)), True, key=is_set)


def _by_form(types: tuple[Type, ...]) -> dict[str, Type]:
    """Return types by the normal forms of their names and synonyms. Raises OptionError for a name of two types."""
    known: dict[str, Type] = {}
    for each in types:
        place = "entities" if isinstance(each, EntityType) else "relations", each.name
        for name in (each.name, *each.synonyms):
            form = normal_form(name)
            if not form:
                raise _MisplacedError(
                    f"a name or synonym of the type {each.name!r} has no letter; give it one.", *place
                )
            if known.setdefault(form, each) is not each:
                other = known[form].name
                raise _MisplacedError(f"{name!r} names two types, {other!r} and {each.name!r}; rename one.", *place)
    return known


def _types(kind: type[Type], table: Any, section: str) -> Iterator[Type]:
    names = tuple(field.name for field in fields(kind) if field.name != "name")
    for name, values in _checked_table(table, section).items():
        _check_names(_checked_table(values, section, name), names, section, name)
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
        if "pairs" in values:
            values["pairs"] = _pairs(values["pairs"], name)
        try:
            yield kind(name, **values)
        except OptionError as error:
            raise _MisplacedError(str(error), section, name) from None


def _checked_table(value: Any, *section: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        name, wanted = ".".join(section), "it must be a section, begun by a line such as [entities.person]."
        raise _MisplacedError(f"{name} is {value!r}; {wanted}", *section)
    return value


def _pairs(value: Any, relation: str) -> tuple[tuple[str, str], ...]:
    pairs = value if isinstance(value, tuple) else (value,)
    if any(not isinstance(p, list) or len(p) != 2 or not all(isinstance(n, str) for n in p) for p in pairs):
        raise _MisplacedError(
            f"pairs of the relation {relation!r} are {value!r}; give lists of a head and a tail type, such as "
            f'[["person", "company"]].',
            *("relations", relation, "pairs"),
        )
    return tuple((head, tail) for head, tail in pairs)


def _check_names(names: Mapping[str, Any], known: tuple[str, ...], *section: str) -> None:
    for name in names:
        if name not in known:
            where = f" in [{'.'.join(section)}]" if section else ""
            fault = f"{name!r}{where} is unknown; the names are {', '.join(known)}.{meant(name, known)}"
            raise _MisplacedError(fault, *section, name)


def _filled(kind: EntityType | RelationType) -> Iterator[tuple[str, Any]]:
    return ((field.name, value) for field in fields(kind) if (value := getattr(kind, field.name)))


NO_SCHEMA = Schema()  # the schema without types
