"""Content of an index that another system made, in one form for all systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from graphwright.errors import DataError


class SourceDocument(NamedTuple):
    """A document; its text is "" where the other system did not store it."""

    id: str
    title: str
    text: str


class TextUnit(NamedTuple):
    """A text that entities were extracted from; `document` is "" if it belongs to none."""

    id: str
    text: str
    document: str


class Entity(NamedTuple):
    """An entity, and the ids of the text units that name it."""

    name: str
    type: str
    description: str
    units: Sequence[str]


class Relationship(NamedTuple):
    """A relationship between two entities, given by name, and the ids of the text units that state it.

    `label`: "" where the other system extracted a description alone.
    """

    source: str
    target: str
    label: str
    description: str
    keywords: tuple[str, ...]
    units: Sequence[str]


class Community(NamedTuple):
    """The report on a community, and the names of its entities."""

    id: str
    level: str
    title: str
    report: str
    entities: Sequence[str]


@dataclass
class OtherIndex:
    """Documents, text units, entities, relationships and community reports; `system` is the source system's name.

    `remarks`: what is incomplete, with counts.
    """

    system: str
    documents: list[SourceDocument]
    units: list[TextUnit]
    entities: list[Entity]
    relationships: list[Relationship]
    communities: list[Community] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Leave out dangling references, and add remarks about them.

        Raises DataError for two documents or text units with the same id, and where nothing is left.
        """
        for kind, ids in (("documents", [d.id for d in self.documents]), ("text units", [u.id for u in self.units])):
            repeated = [i for i, count in Counter(ids).items() if count > 1]
            if repeated:
                raise DataError(
                    f"two {kind} have the id {repeated[0]!r} ({len(repeated)} such ids); nothing was imported. Make "
                    f"the index again with {self.system}."
                )
        documents = {document.id for document in self.documents}
        lost = sum(bool(unit.document) and unit.document not in documents for unit in self.units)
        self.units = [unit if unit.document in documents else unit._replace(document="") for unit in self.units]
        self._remark(lost, "text units name a document that is missing; each is a document of its own")
        self._leave_out_dangling({unit.id for unit in self.units})
        if not self.units or not self.entities:
            missing = "entity of a text unit" if self.units else "text unit"
            raise DataError(f"there is no {missing}; nothing was imported. Finish the index with {self.system} first.")

    def _leave_out_dangling(self, units: set[str]) -> None:
        before = self._references
        self.entities = [e._replace(units=[u for u in e.units if u in units]) for e in self.entities]
        self.relationships = [r._replace(units=[u for u in r.units if u in units]) for r in self.relationships]
        self._remark(before - self._references, "references to text units that are missing were left out")
        names = {entity.name for entity in self.entities}
        related = [r for r in self.relationships if r.source in names and r.target in names]
        self._remark(len(self.relationships) - len(related), "relationships name an entity that is missing; left out")
        self.relationships = [r for r in related if r.units]
        self._remark(len(related) - len(self.relationships), "relationships have no text unit; left out")
        mentioned = [entity for entity in self.entities if entity.units]
        self._remark(len(self.entities) - len(mentioned), "entities have no text unit; left out")
        self.entities = mentioned

    @property
    def _references(self) -> int:
        return sum(len(e.units) for e in self.entities) + sum(len(r.units) for r in self.relationships)

    def _remark(self, count: int, text: str) -> None:
        if count > 0:
            self.remarks.append(f"{count:,} {text}")
