"""Relations of a sentence: predicates, co-occurrence, and the sentence with its subject."""

from __future__ import annotations

import pytest

from graphwright.extract.extraction import Mention
from graphwright.extract.rules import proposition, sentence_relations
from graphwright.graph.graph import CO_OCCURS


def mentions_in(text: str, *names: str) -> list[Mention]:
    return [Mention(name, text.index(name), text.index(name) + len(name)) for name in names]


def relations(topic: str, text: str, *names: str) -> list[tuple[str, str, str]]:
    return [r[:3] for r in sentence_relations(topic, mentions_in(text, *names), text, 0, len(text))]


@pytest.mark.parametrize(
    ("between", "predicate"),
    [
        ("married", "married"),
        ("was born in the", "was born in"),
        ("and later moved to", "later moved to"),
        ("in", "in"),
        ("and", CO_OCCURS),
        (", the son of", CO_OCCURS),
        ("(", CO_OCCURS),
        ("and the", CO_OCCURS),
        ("– a city of", CO_OCCURS),
        ("who, as everybody knew, had once lived not far from", CO_OCCURS),
        ("met Mr X in", CO_OCCURS),
    ],
)
def test_text_between_names_is_predicate_if_readable(between, predicate):
    assert relations("", f"Anna {between} Graz.", "Anna", "Graz") == [("Anna", predicate, "Graz")]


def test_leading_pronoun_stands_for_topic():
    assert relations("Lothair II", "He married Teutberga in 855.", "Teutberga", "855") == [
        ("Lothair II", "married", "Teutberga"),
        ("Teutberga", "in", "855"),
        ("Lothair II", CO_OCCURS, "855"),
    ]


def test_topic_joins_each_name_once():
    made = relations("Graz", "Graz and Linz, with Anna.", "Graz", "Linz", "Anna")
    assert made == [("Linz", CO_OCCURS, "Anna"), ("Graz", CO_OCCURS, "Linz"), ("Graz", CO_OCCURS, "Anna")]


@pytest.mark.parametrize(
    ("sentence", "names", "expected"),
    [
        ("He married Teutberga.", ["Teutberga"], "Lothair II: He married Teutberga."),
        ("He was a son of Lothair I.", ["Lothair I"], "Lothair II: He was a son of Lothair I."),
        ("The marriage failed.", [], "Lothair II: The marriage failed."),
        ("In 855, Teutberga fled.", ["855", "Teutberga"], "Lothair II: In 855, Teutberga fled."),
        ("Lothair died.", ["Lothair"], "Lothair died."),
        ("Teutberga fled.", ["Teutberga"], "Teutberga fled."),
        ("The Pope fled.", ["Pope"], "The Pope fled."),
    ],
)
def test_statement_names_its_subject(sentence, names, expected):
    assert proposition("Lothair II", mentions_in(sentence, *names), sentence, 0, len(sentence)) == expected


def test_sentence_of_untitled_text_is_unchanged():
    assert proposition("", [], "He fled.", 0, 8) == "He fled."
