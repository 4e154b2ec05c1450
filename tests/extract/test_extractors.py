"""Extraction by the mention detector: whole names, one pass with the vectors, and the extractor of an index."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Index
from graphwright.build.document_sources import storable
from graphwright.data import read_documents
from graphwright.data.document import split
from graphwright.errors import OptionError
from graphwright.extract.extraction import Excerpt, Extraction, Extractor
from graphwright.extract.extractors import EXTRACTORS, MentionExtractor, extractor_of
from graphwright.extract.rules import LexicalExtractor
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.fake import HashEncoder
from graphwright.store.settings import Settings

GRAZ = "Ludwig Boltzmann taught at the University of Graz. Boltzmann left for Vienna on 5 May 1890."


def detected(text: str, title: str = "") -> Extraction:
    (extraction,) = MentionExtractor().extract([Excerpt("d", title, text)])
    return extraction


def names(text: str, title: str = "") -> list[str]:
    return [mention.name for mention in detected(text, title).mentions]


def test_detected_names_are_whole():
    assert names(GRAZ) == ["Ludwig Boltzmann", "University of Graz", "Vienna", "5 May 1890"]


def test_surname_stands_for_full_name():
    assert ("Ludwig Boltzmann", "left for", "Vienna") in [r[:3] for r in detected(GRAZ).relations]
    text = "Boltzmann left for Vienna."
    assert names(text, "Ludwig Boltzmann") == ["Ludwig Boltzmann", "Vienna"]
    assert [r[:3] for r in detected(text, "Ludwig Boltzmann").relations] == [("Ludwig Boltzmann", "left for", "Vienna")]


def test_name_of_column_is_no_part_of_name(tmp_path: Path) -> None:
    rows = ["Order slates | Jonas Weber | 2 December 2024", "Inform the school | Amira Haddad | 20 November 2024"]
    table = "\n".join(f"| {row} |" for row in ("Task | Who | Until", "--- | --- | ---", *rows))
    file = tmp_path / "minutes.md"
    file.write_text(f"# Minutes\n\nThe music school moves to Seestrasse 9 in February 2025.\n\n{table}\n")
    (document,) = read_documents([file], print)
    (extraction,) = MentionExtractor().extract([Excerpt.of("Minutes", chunk) for chunk in split(storable(document))])
    assert [mention.name for mention in extraction.mentions if "Task" in mention.name] == []
    assert "Jonas Weber" in [mention.name for mention in extraction.mentions]


def test_surname_of_two_people_is_not_resolved():
    assert "Bernoulli" in names("Jakob Bernoulli taught Johann Bernoulli. Later Bernoulli died in Basel.")


@pytest.mark.parametrize(
    ("text", "expected", "missing"),
    [
        ("He wrote the song “Yellow River” in 1970.", ["Yellow River", "1970"], []),
        ("He said “it was not my fault, I swear” to Anna Meyer.", ["Anna Meyer"], ["it was not my fault, I swear"]),
        ("The town of Graz had 1,500 people and 12 wells.", ["Graz", "1,500"], ["12"]),
        ("She spoke to Anna Meyer. Vienna was near.", ["Anna Meyer", "Vienna"], ["Anna Meyer. Vienna"]),
        ("He worked for Acme Steel Inc. until 1990.", ["1990"], ["Acme Steel Inc. until"]),
    ],
)
def test_dates_figures_and_titles_are_extracted(text, expected, missing):
    found = names(text)
    assert set(expected) <= set(found) and not set(missing) & set(found)


def test_text_with_few_names_is_joined_by_phrases():
    assert "wind farm" in names("a wind farm is a farm. the wind farm was built. it is big")


def test_script_without_capitals_uses_rules():
    text = "東京都は日本の首都。東京都の人口は多い。"
    assert detected(text) == LexicalExtractor().extract([Excerpt("d", "", text)])[0]
    assert MentionExtractor().unsuitable(text) == "a script without capital letters"
    assert MentionExtractor().unsuitable(GRAZ.lower()) is None


def test_texts_of_several_scripts_keep_order():
    texts = ["東京都は日本の首都。東京都の人口は多い。", GRAZ, "ملفات النظام وملفات المستخدم"]
    excerpts = [Excerpt(str(at), "", text) for at, text in enumerate(texts)]
    assert MentionExtractor().extract(excerpts) == [detected(text) for text in texts]


def test_script_without_capitals_yields_terms_and_phrases():
    found = names("LinuxカーネルはUnix系の「自由な核」です。カーネルはLinus Torvaldsが書いた。")
    assert {"Linux", "Unix", "カーネル", "自由な核", "Linus Torvalds"} <= set(found)


@given(st.text(max_size=300), st.text(max_size=20))
def test_spans_hold_names_and_relations_join_mentions(text, title):
    made = detected(text, title)
    named = {m.name for m in made.mentions}
    assert len(named) == len(made.mentions)
    for mention in made.mentions:
        assert text[mention.start : mention.end] == mention.name or mention.name == title.strip()
    for relation in made.relations:
        assert {relation.head, relation.tail} <= named and relation.head != relation.tail
        assert relation.text.removeprefix(f"{title.strip()}: ") in text


def test_extraction_does_not_depend_on_batch():
    excerpts = [
        Excerpt(str(n), title, text) for n, (title, text) in enumerate([("", GRAZ), ("Graz", "It is big."), ("", "")])
    ]
    together = MentionExtractor().extract(excerpts)
    assert together == [MentionExtractor().extract([excerpt])[0] for excerpt in excerpts]


def test_index_encodes_each_passage_once(tmp_path):
    documents = [{"id": str(n), "title": f"Note {n}", "text": f"{GRAZ} It was note {n}."} for n in range(5)]
    with Index(tmp_path / "index", settings=Settings(embed=("passages",))) as index:
        changes = index.add(documents)
        assert changes.usage.texts == len(documents)
        assert index.info()["extractors"] == {MentionExtractor().id: len(documents)}
        assert not index.verify()
    with Index(tmp_path / "other", extractor="rules") as other:
        other.add(documents)
        for node in range(len(documents)):
            left, right = (each.snapshot.passages.vectors[node] for each in (Index(tmp_path / "index"), other))
            assert abs(left - right).max() < 1e-3


def test_index_with_other_encoder_defaults_to_rules(tmp_path):
    with Index(tmp_path / "rules", encoder=HashEncoder()) as index:
        index.add([{"id": "a", "text": GRAZ}])
        assert index.info()["extractors"] == {LexicalExtractor().id: 1}
    with Index(tmp_path / "mentions", encoder=HashEncoder(), extractor="mentions") as index:
        index.add([{"id": "a", "text": GRAZ}])
        assert index.info()["extractors"] == {MentionExtractor().id: 1}
        assert not index.verify()


def test_extractors_are_selected_by_name():
    assert [extractor_of(name) for name in EXTRACTORS] == [MentionExtractor(), LexicalExtractor()]
    assert extractor_of(None, MiniLM(max_tokens=128)) == LexicalExtractor()
    with pytest.raises(OptionError, match=r"choose from mentions, rules. Did you mean 'rules'\?"):
        extractor_of("rule")


def test_entity_type_is_that_of_most_mentions(tmp_path):
    with Index(tmp_path / "index") as index:
        index.add([{"id": str(n), "text": GRAZ} for n in range(3)])
        graph = index.graph
        assert graph.text(graph.id("Ludwig Boltzmann")) == "Ludwig Boltzmann (person)"
        assert graph.text(graph.id("Vienna")) == "Vienna (place)"


@pytest.mark.parametrize("extractor", [MentionExtractor(), LexicalExtractor()], ids=["mentions", "rules"])
def test_boilerplate_and_stop_words_are_not_entities(extractor: MentionExtractor | LexicalExtractor) -> None:
    text = "SEE ALSO\n\nNote: The U.S. office of Debian is in Graz. Prev | Next | Up"
    [extraction] = extractor.extract([Excerpt("a", "changelog.Debian", text)])
    names = {mention.name for mention in extraction.mentions}
    assert {"Debian", "Graz"} <= names
    assert not names & {"changelog.Debian", "SEE ALSO", "Note", "The", "Prev", "Next", "Up"}
    assert all("changelog" not in relation.head for relation in extraction.relations)


FILES = {
    "notes.md": """# River Board

## Known Problems

Graz lies on the Mur. The gauge of Graz is old.

## Graz

| Delivery Date | Sent To |
|---|---|
| 2 May 2024 | Ludwig Boltzmann |
""",
    "towns.csv": "Gauge Station,River Name\nTorvik bridge,Sella\n",
    "towns.json": '{"Head Office": "Graz", "Site Manager": {"Full Name": "Jonas Weill"}}',
}


@pytest.mark.parametrize("extractor", [MentionExtractor(), LexicalExtractor()], ids=repr)
def test_heading_or_name_of_column_alone_is_no_name(tmp_path: Path, extractor: Extractor) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    found = dict[str, list[str]]()
    for document in map(storable, read_documents([tmp_path], lambda _: None)):
        excerpts = [Excerpt.of(document.title, chunk) for chunk in split(document)]
        for extraction in extractor.extract(excerpts):
            ends = {end for relation in extraction.relations for end in (relation.head, relation.tail)}
            assert ends <= {mention.name for mention in extraction.mentions}
            found.setdefault(document.id, []).extend(mention.name for mention in extraction.mentions)
    every = " ".join(name for names in found.values() for name in names)
    for label in ("Known", "Problems", "Delivery", "Sent", "Station", "River Name", "Office", "Manager", "Full Name"):
        assert label not in every, label
    assert {"Graz", "Mur", "Ludwig Boltzmann"} <= {*found["notes.md"]}, "a heading that the text names stays a name"
    assert "Jonas Weill" in " ".join(found["towns.json"]) and "Sella" in " ".join(found["towns.csv#2"])
