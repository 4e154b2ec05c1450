"""Extraction without a model: names in text, and triples computed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.records.openie import OpenieRecord
from graphwright.extract.extraction import Excerpt, Extraction, Extractor, Mention, Relation
from graphwright.extract.rules import LexicalExtractor, Precomputed

SNOW = (
    'In 1949 Hank Snow moved to Nashville, Tennessee. His single "Hello Love" was released on 5 April 1974.'
    " The University of Tennessee honoured Snow's work; snow fell."
)


def extract(text, title=""):
    return LexicalExtractor().extract([Excerpt("d", title, text)])[0]


def names(text, title=""):
    return [m.name for m in extract(text, title).mentions]


def test_rules_extractor_meets_protocol():
    assert isinstance(LexicalExtractor(), Extractor)
    assert LexicalExtractor() == eval(repr(LexicalExtractor()))


def test_rules_extract_names_dates_figures_and_quotes():
    assert names(SNOW, "Hank Snow (singer)") == [
        "Hank Snow (singer)",
        "1949 Hank Snow",
        "1949",
        "Hank Snow",
        "Nashville",
        "Tennessee",
        "Hello Love",
        "5 April 1974",
        "University of Tennessee",
        "University",
        "Snow",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He read Debt: The First 5,000 Years in Graz.", "5,000 Years"),
        ("A city department of Education.Boritzer wrote it.", "Education"),
        ("He met J. R. R. Tolkien in Oxford.", "J. R. R. Tolkien"),
        ("It was the Boeing B - 29 Superfortress that flew.", "Boeing B - 29 Superfortress"),
        ("Born on March 5, 1902 in Łódź.", "March 5, 1902"),
        ("Born on March 5, 1902 in Łódź.", "Łódź"),
        ("He wrote «Война и мир» in 1867.", "Война и мир"),
        ("The book ``War and Peace '' is long.", "War and Peace"),
        ("Она жила в Санкт-Петербурге.", "Санкт-Петербурге"),
    ],
)
def test_rules_extract_uncommon_spans(text, expected):
    assert expected in names(text)


def test_sentence_opener_is_not_name():
    assert names("Although it rained, they went. Cats sleep; most cats do. Graz is old.") == ["Graz"]


def test_rules_relations_stay_in_sentence():
    made = extract("Anna knew Bert. Clara knew Dora.", "Tale")
    result = {(r.head, r.relation, r.tail): r.text for r in made.relations}
    assert result == {
        ("Anna", "knew", "Bert"): "Anna knew Bert.",
        ("Tale", "co-occurs with", "Anna"): "Anna knew Bert.",
        ("Tale", "co-occurs with", "Bert"): "Anna knew Bert.",
        ("Clara", "knew", "Dora"): "Clara knew Dora.",
        ("Tale", "co-occurs with", "Clara"): "Clara knew Dora.",
        ("Tale", "co-occurs with", "Dora"): "Clara knew Dora.",
    }


def test_rules_relations_grow_with_names_not_pairs():
    sentence = "They met " + ", ".join(f"Name{i} Surname{i}" for i in range(200)) + "."
    assert len(extract(sentence, "List").relations) <= 2 * 200


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("the queen of england met the king of spain", "all lower case"),
        ("THE QUEEN OF ENGLAND MET THE KING OF SPAIN", "all upper case"),
        ("女王は東京で王に会った。", "a script without capital letters"),
        ("التقت الملكة بالملك في مدريد", "a script without capital letters"),
        ("रानी ने मैड्रिड में राजा से मुलाकात की", "a script without capital letters"),
        ("The queen met Philip in Madrid.", None),
        ("Η βασίλισσα συνάντησε τον Φίλιππο.", None),
        ("12 + 30 = 42", None),
        ("", None),
    ],
)
def test_uninformative_capitals_are_reported(text, reason):
    assert LexicalExtractor().unsuitable(text) == reason


@pytest.mark.parametrize(
    ("item", "other", "shared"),
    [
        ("the whale swam by. a whale is a mammal", "moby dick hunts a whale", "whale"),
        ("THE WHALE SWAM BY. A WHALE IS A MAMMAL", "MOBY DICK HUNTS A WHALE", "WHALE"),
        ("東京都は日本の首都。東京都の人口は多い。", "私は東京都に住む。東京都が好き。", "東京都"),
        ("كتاب جديد عن الفلسفة. كتاب الفلسفة", "تاريخ الفلسفة وعلم الفلسفة", "الفلسفة"),
        ("किताब नई है। यह किताब अच्छी है।", "मेरी किताब कहाँ है? किताब दो।", "किताब"),
    ],
)
def test_frequent_terms_link_chunks_without_names(item, other, shared):
    assert shared in names(item)
    assert shared in names(other)
    assert all(r.text in item for r in extract(item).relations)


def test_repeated_phrases_are_entities():
    text = "The wind farm stands in Iowa. Each wind farm has turbines; a farm is large."
    assert names(text) == ["Iowa", "wind farm"]


texts = st.text(alphabet=st.sampled_from(list("ABab .,;\"“”«»'’-–&19 of the東京कि\n")) | st.characters(), max_size=200)


@given(texts, st.text(max_size=20))
def test_rules_spans_hold_names_and_relations_join_mentions(text, title):
    made = extract(text, title)
    named = {m.name for m in made.mentions}
    assert len(named) == len(made.mentions)
    for mention in made.mentions:
        assert text[mention.start : mention.end] == mention.name or mention.name == title.strip()
    for relation in made.relations:
        assert {relation.head, relation.tail} <= named
        assert relation.head != relation.tail
        assert relation.text.removeprefix(f"{title.strip()}: ") in text


@given(st.lists(texts, max_size=4))
def test_rules_extraction_does_not_depend_on_batch(some):
    together = LexicalExtractor().extract([Excerpt("d", "T", text) for text in some])
    assert together == [extract(text, "T") for text in some]


GRAZ = OpenieRecord("graz", ("Styria", "Mur", "River Nowhere"), (("Graz", "lies on", "Mur"),))


@dataclass(frozen=True)
class Shouting:
    """Finds the first word of a text."""

    id: str = "shouting:1"

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction]:
        return [Extraction((Mention(e.text.split()[0].upper()),)) for e in excerpts]


def test_given_and_other_documents_keep_order() -> None:
    assert Precomputed.of([GRAZ]).extract([]) == []
    excerpts = [Excerpt("x", "", "one two"), Excerpt("graz", "", "The Mur."), Excerpt("y", "", "three")]
    result = Precomputed({"graz": GRAZ}, Shouting()).extract(excerpts)
    assert [c.mentions[0].name for c in result] == ["ONE", "Mur", "THREE"]


def test_mentions_follow_title_in_reading_order() -> None:
    text = "On the MUR, in styria."
    (made,) = Precomputed({"graz": GRAZ}, Shouting()).extract([Excerpt("graz", "Graz", text)])
    assert made.mentions == (
        Mention("Graz"),
        Mention("Mur", 7, 10),
        Mention("Styria", 15, 21),
        Mention("River Nowhere"),
    )
    assert made.relations == (Relation("Graz", "lies on", "Mur", "Graz lies on Mur"),)
    (again,) = Precomputed({"graz": GRAZ}, Shouting()).extract([Excerpt("graz", "Styria", text)])
    assert [m.name for m in again.mentions] == ["Styria", "Mur", "River Nowhere"]


def test_span_shifted_by_lower_casing_is_dropped() -> None:
    # One capital becomes two characters in lower case, so that places after it are off by one.
    record = OpenieRecord("d", ("Graz",))
    (made,) = Precomputed({"d": record}, Shouting()).extract([Excerpt("d", "", "İn Graz")])
    for mention in made.mentions:
        assert "İn Graz"[mention.start : mention.end] in ("", "Graz")


def test_extractor_id_changes_with_output_not_record_order() -> None:
    other = OpenieRecord("lyon", ("Lyon",))
    base = Precomputed.of([GRAZ, other])
    assert base.id == Precomputed.of([other, GRAZ]).id
    changed = [
        Precomputed.of([GRAZ]),
        Precomputed.of([replace(GRAZ, entities=("Mur",)), other]),
        Precomputed.of([replace(GRAZ, triples=()), other]),
        Precomputed(base.records, Shouting()),
    ]
    assert len({base.id, *(p.id for p in changed)}) == 5
