"""Schemas from ontologies: classes and object properties of RDFS and OWL (w3.org/TR/owl2-overview), SHACL shapes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from graphwright.data.graph_files.rdf import ALIASES, LABELS, OWL_NS, RDF, RDF_NS, iri_name
from graphwright.extract.schema import EntityType, RelationType
from graphwright.text.names import normal_form

_RDFS, _SKOS, _SHACL = (
    "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/ns/shacl#"
)  # fmt: skip
_DESCRIPTIONS = (
    f"{_RDFS}comment", f"{_SKOS}definition", "http://purl.org/dc/terms/description", f"{_SHACL}description"
)  # fmt: skip
_CLASSES = (f"{OWL_NS}Class", f"{_RDFS}Class")
_PROPERTIES = (f"{OWL_NS}ObjectProperty", f"{RDF_NS}Property")
_UNRESTRICTED = (f"{OWL_NS}Thing", f"{_RDFS}Resource")
_DATA = (f"{_RDFS}Literal", "http://www.w3.org/2001/XMLSchema#")  # ranges of values, which are no entities


def read_ontology(path: Path) -> tuple[tuple[EntityType, ...], tuple[RelationType, ...]]:
    """Return the types of entities and relations that an ontology declares, in its order.

    A class is named by its label, else by the end of its IRI; comments are descriptions, alternative labels synonyms
    and examples of SKOS examples. Pairs of a property are its domains and ranges, or the class and the value's class of
    a shape, with their subclasses. Properties of literals are left out. Raises DataError for no such file.
    """
    ontology = _Ontology()
    for quad in RDF(path).quads():
        ontology.add(quad.subject, quad.predicate.value, quad.object)
    return tuple(ontology.entities()), tuple(ontology.relations())


@dataclass
class _Ontology:
    """The statements of an ontology, by subject and predicate; nodes are IRIs, or blank nodes by their ids."""

    _objects: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    _literals: dict[tuple[str, str], list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    _subjects: dict[str, None] = field(default_factory=dict)

    def add(self, subject: Any, predicate: str, object: Any) -> None:
        head = str(getattr(subject, "value", subject))
        self._subjects.setdefault(head)
        if hasattr(object, "datatype"):
            self._literals[head, predicate].append((object.language or "", object.value))
        else:
            self._objects[head, predicate].append(str(getattr(object, "value", object)))

    def entities(self) -> Iterator[EntityType]:
        """Yield the classes that have an IRI."""
        nodes = self._classes
        synonyms = self._synonyms(nodes)
        for node in nodes:
            examples = tuple(self._texts(node, f"{_SKOS}example"))
            yield EntityType(self._name(node), self._description(node), synonyms[node], examples)

    def _synonyms(self, nodes: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the further names of nodes, without those that another one has."""
        nodes = list(nodes)
        taken, synonyms = {"", *(normal_form(self._name(node)) for node in nodes)}, dict[str, tuple[str, ...]]()
        for node in nodes:
            own = {normal_form(text): text for predicate in ALIASES for text in self._texts(node, predicate)}
            synonyms[node] = tuple(text for form, text in own.items() if form not in taken)
            taken |= own.keys()
        return synonyms

    @property
    def _classes(self) -> list[str]:
        declared = [node for node in self._subjects if self._is_a(node, _CLASSES)]
        shaped = [kind for pairs in self._shaped().values() for pair in pairs for kind in pair]
        return [kind for kind in dict.fromkeys([*declared, *shaped]) if "/" in kind and kind not in _UNRESTRICTED]

    def relations(self) -> Iterator[RelationType]:
        shaped, known = self._shaped(), set(self._classes)
        declared = [node for node in self._subjects if self._is_a(node, _PROPERTIES)]
        synonyms = self._synonyms(dict.fromkeys([*declared, *shaped]))
        for node in synonyms:
            domains, ranges = (self._union(node, f"{_RDFS}{end}") for end in ("domain", "range"))
            if any(end.startswith(_DATA) for end in ranges):
                continue
            stated = list(product(domains or known, ranges or known)) if domains or ranges else []
            pairs = [
                (self._name(first), self._name(last))
                for head, tail in [*stated, *shaped.get(node, ())]
                for first, last in product(self._below(head), self._below(tail))
                if first in known and last in known
            ]
            yield RelationType(self._name(node), self._description(node), synonyms[node], tuple(dict.fromkeys(pairs)))

    def _shaped(self) -> dict[str, list[tuple[str, str]]]:
        """Return the properties of shapes whose values have a class, with the classes that they join."""
        pairs: dict[str, list[tuple[str, str]]] = {}
        for shape in list(self._subjects):
            targets = self._objects.get((shape, f"{_SHACL}targetClass"), [])
            targets = targets or [shape] * self._is_a(shape, _CLASSES)  # a class that is its own shape
            for part in self._objects.get((shape, f"{_SHACL}property"), []):
                ends = list(product(targets, self._objects.get((part, f"{_SHACL}class"), [])))
                for path in self._objects.get((part, f"{_SHACL}path"), []) if ends else []:
                    pairs.setdefault(path, []).extend(ends)
        return pairs

    def _union(self, node: str, predicate: str) -> list[str]:
        """Return the classes that a predicate leads to, those of a union one by one; none for any thing."""
        found: list[str] = []
        for kind in self._objects.get((node, predicate), []):
            members = [m for at in self._objects.get((kind, f"{OWL_NS}unionOf"), []) for m in self._listed(at)]
            found += members or [kind]
        return [kind for kind in found if kind not in _UNRESTRICTED]

    def _listed(self, node: str) -> Iterator[str]:
        seen = set[str]()
        while node not in seen:
            seen.add(node)
            yield from self._objects.get((node, f"{RDF_NS}first"), [])
            node = next(iter(self._objects.get((node, f"{RDF_NS}rest"), [])), node)

    def _below(self, kind: str) -> list[str]:
        """Return a class and its subclasses."""
        found = [kind]
        for above in found:  # grows in the loop
            found += [below for below in self._subclasses.get(above, []) if below not in found]
        return found

    @cached_property
    def _subclasses(self) -> dict[str, list[str]]:
        below = defaultdict[str, list[str]](list)
        for (node, predicate), objects in self._objects.items():
            for above in objects if predicate == f"{_RDFS}subClassOf" else ():
                below[above].append(node)
        return below

    def _is_a(self, node: str, kinds: Iterable[str]) -> bool:
        return not set(kinds).isdisjoint(self._objects.get((node, f"{RDF_NS}type"), []))

    def _name(self, node: str) -> str:
        return next((text for predicate in LABELS for text in self._texts(node, predicate)), iri_name(node))

    def _description(self, node: str) -> str:
        found = (text for predicate in _DESCRIPTIONS for text in self._texts(node, predicate))
        return " ".join(next(found, "").split())

    def _texts(self, node: str, predicate: str) -> list[str]:
        """Return the literals of a predicate: those in English or without a language, else all."""
        literals = self._literals.get((node, predicate), [])
        return [text for tag, text in literals if tag.split("-")[0] in ("", "en")] or [text for _, text in literals]
