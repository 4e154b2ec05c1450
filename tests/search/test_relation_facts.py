"""Names of relations in words, and those that lead to names."""

from graphwright import Graph
from graphwright.search.name_index import name_index_of
from graphwright.search.relation_facts import is_naming, relation_phrase, shown_name

KIN = Graph.from_triples(
    [
        ("Ida", "parentOf", "Udo"),
        ("Udo", "parentOf", "Eva"),
        ("Ida", "married to", "Otto"),
        ("Otto", "married to", "Ida"),
        ("Heat", "directed_by", "Mann"),
        ("Q1", "skos:altLabel", "The Old Bridge"),
        ("Q1", "label", "Stone Bridge"),
    ]
)


def test_relation_names_are_split_into_words() -> None:
    names = [
        "directed_by",
        "birthPlace",
        "http://schema.org/birthPlace",
        "/people/person/place_of_birth",
        "skos:altLabel",
    ]
    assert list(map(relation_phrase, names)) == [
        "directed by", "birth place", "birth place", "place of birth", "alt label",
    ]  # fmt: skip


def test_labels_and_aliases_name_their_node() -> None:
    index = name_index_of(KIN.columns)
    q1 = KIN.id("Q1")
    assert index.find("old bridge").tolist() == index.find("stone bridge").tolist() == [q1]
    assert index.find("udo").tolist() == [KIN.id("Udo")]
    assert not is_naming("named after") and is_naming("formerly named")


def test_shown_name_of_labelled_node_is_its_label() -> None:
    assert [shown_name(KIN, KIN.id(name)) for name in ("Q1", "Ida")] == ["Stone Bridge", "Ida"]
