"""Schemas from ontologies: OWL in Turtle and RDF/XML, and shapes of SHACL."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphwright.errors import DataError, OptionError
from graphwright.extract import EntityType, RelationType, Schema

pytest.importorskip("pyoxigraph")
PREFIXES = """
@prefix : <http://example.org/works#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
OWL = """
:Agent a owl:Class .
:Person a owl:Class ; rdfs:subClassOf :Agent ; rdfs:label "Person"@de, "person"@en ; rdfs:comment "A human  being." ;
    skos:altLabel "human" ; skos:example "Ida Stone" .
:Company a owl:Class ; rdfs:subClassOf :Agent .
:pays a owl:ObjectProperty ; rdfs:domain :Company ; rdfs:range :Agent .
:near a owl:ObjectProperty ; rdfs:domain owl:Thing .
:joins a owl:ObjectProperty ; rdfs:domain [ owl:unionOf ( :Person :Company ) ] ; rdfs:range :Company .
:age a owl:DatatypeProperty .
"""
SHAPES = """
:PersonShape a sh:NodeShape ; sh:targetClass :Person ;
    sh:property [ sh:path :employer ; sh:class :Company ], [ sh:path :age ; sh:datatype xsd:integer ] .
"""


def read(folder: Path, text: str, name: str = "types.ttl") -> Schema:
    (folder / name).write_text(text, encoding="utf-8")
    return Schema.read(folder / name)


def test_read_ontology_has_classes_and_properties(tmp_path: Path) -> None:
    schema = read(tmp_path, PREFIXES + OWL)
    person = EntityType("person", "A human being.", ("human",), ("Ida Stone",))
    assert schema.entities == (EntityType("Agent"), person, EntityType("Company"))
    pays, near, joins = schema.relations
    assert pays.pairs == (("Company", "Agent"), ("Company", "person"), ("Company", "Company"))
    assert near == RelationType("near") and joins.pairs == (("person", "Company"), ("Company", "Company"))


def test_read_ontology_of_shapes_has_classes_of_values(tmp_path: Path) -> None:
    schema = read(tmp_path, PREFIXES + SHAPES)
    assert [kind.name for kind in schema.entities] == ["Person", "Company"]
    assert schema.relations == (RelationType("employer", pairs=(("Person", "Company"),)),)


def test_read_ontology_of_rdf_xml_is_read(tmp_path: Path) -> None:
    text = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#">'
        '<owl:Class rdf:about="http://example.org/River"/></rdf:RDF>'
    )
    assert read(tmp_path, text, "types.owl").entities == (EntityType("River"),)


def test_read_ontology_synonym_of_two_classes_is_of_first(tmp_path: Path) -> None:
    twice = ':A a owl:Class ; skos:altLabel "it", "B" . :B a owl:Class ; skos:altLabel "it" .'
    assert [kind.synonyms for kind in read(tmp_path, PREFIXES + twice).entities] == [("it",), ()]
    with pytest.raises(OptionError, match=r"types\.ttl: 'a' names two types"):
        read(tmp_path, PREFIXES + ':A a owl:Class . :B a owl:Class ; rdfs:label "a" .')


def test_read_ontology_without_classes_or_of_wrong_text_raises(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no types"):
        read(tmp_path, PREFIXES)
    with pytest.raises(DataError, match="is not Turtle"):
        read(tmp_path, ":Person a")
