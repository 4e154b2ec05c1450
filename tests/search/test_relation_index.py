"""Relations by their words, their roles and their ends."""

from graphwright import Graph
from graphwright.search.name_index import name_index_of
from graphwright.search.relation_index import is_naming, relation_index_of, relation_phrase

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


def test_relation_ends_and_edges_show_role() -> None:
    index = relation_index_of(KIN.columns)
    by_phrase = {phrase: number for number, phrase in enumerate(index.phrases)}
    parent, married, directed = (by_phrase[name] for name in ("parent of", "married to", "directed by"))
    assert [index.is_homogeneous(r) for r in (parent, married, directed)] == [True, True, False]
    assert [index.is_symmetric(r) for r in (parent, married, directed)] == [False, True, False]
    assert [index.voice(r) for r in (parent, directed)] == ["of", "passive"]


def test_labels_and_aliases_name_their_node() -> None:
    index = name_index_of(KIN.columns)
    q1 = KIN.id("Q1")
    assert index.find("old bridge").tolist() == index.find("stone bridge").tolist() == [q1]
    assert index.find("udo").tolist() == [KIN.id("Udo")]
    assert not is_naming("named after") and is_naming("formerly named")
