"""Schemas: their files, what they refuse, and what they make of an extraction."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.errors import DataError, OptionError
from graphwright.extract import EntityType, Extraction, Mention, Relation, RelationType, Schema
from graphwright.graph.graph import CO_OCCURS
from graphwright.text.names import normal_form

WORKS = Schema(
    (EntityType("person", "A human being."), EntityType("company", synonyms=("firm",), examples=("Acme Ltd",))),
    (RelationType("works for", pairs=(("person", "company"),)), RelationType("knows")),
)


def strict(schema: Schema) -> Schema:
    return Schema(schema.entities, schema.relations, strict=True)


def found(*relations: tuple[str, str, str]) -> Extraction:
    mentions = (Mention("Ida", type="Person"), Mention("Acme", type="firm"), Mention("1974", type="date"))
    return Extraction(mentions, tuple(Relation(*relation, "t") for relation in relations))


def test_conform_keeps_types_under_their_names_and_counts_others() -> None:
    conforming = WORKS.conform(found())
    assert [(m.name, m.type) for m in conforming.mentions] == [("Ida", "person"), ("Acme", "company"), ("1974", "")]
    assert conforming.off_schema == 1


def test_conform_strict_leaves_out_untyped_entities_with_their_relations() -> None:
    conforming = strict(WORKS).conform(found(("Ida", "knows", "Acme"), ("Ida", "knows", "1974")))
    assert [m.name for m in conforming.mentions] == ["Ida", "Acme"]
    assert [relation[:3] for relation in conforming.relations] == [("Ida", "knows", "Acme")]


def test_conform_strict_keeps_entity_of_title() -> None:
    assert [m.name for m in strict(WORKS).conform(found(), "1974").mentions] == ["Ida", "Acme", "1974"]


def test_conform_turns_relation_whose_ends_fit_the_other_way_round() -> None:
    (relation,) = WORKS.conform(found(("Acme", "Works for", "Ida"))).relations
    assert relation[:3] == ("Ida", "works for", "Acme")


@pytest.mark.parametrize(
    ("relation", "label"), [(("Ida", "works for", "Ida"), "related to"), (("Ida", "paid", "Acme"), "paid")]
)
def test_conform_relation_that_does_not_fit_is_untyped_or_left_out(relation: tuple[str, str, str], label: str) -> None:
    kept, left_out = WORKS.conform(found(relation)), strict(WORKS).conform(found(relation))
    assert [each.relation for each in kept.relations] == [label] and not left_out.relations
    assert kept.off_schema == left_out.off_schema == 2  # the date is the other


def test_conform_keeps_names_that_only_co_occur() -> None:
    assert strict(WORKS).conform(found(("Ida", CO_OCCURS, "Acme"))).relations


def test_conform_without_types_of_one_kind_leaves_it_free() -> None:
    relations = Schema(relations=(RelationType("knows"),), strict=True).conform(found(("Ida", "knows", "1974")))
    assert relations.mentions == found().mentions and relations.relations
    assert Schema(WORKS.entities, strict=True).conform(found(("Ida", "paid", "Acme"))).relations


NAMES = st.text(min_size=1, max_size=8).filter(normal_form)
TYPES = st.builds(EntityType, NAMES, st.text(max_size=20), st.just(()), st.lists(st.text(max_size=8)).map(tuple))


@given(st.lists(TYPES, min_size=1, max_size=4, unique_by=lambda kind: normal_form(kind.name)), st.booleans())
def test_schema_toml_comes_back(types: list[EntityType], is_strict: bool) -> None:
    relations = (RelationType("joins", pairs=((types[0].name, types[-1].name),)),)
    schema = Schema(tuple(types), relations, is_strict)
    assert Schema.of_toml(schema.to_toml()) == schema


def test_schema_checksum_changes_with_any_field() -> None:
    others = [Schema(WORKS.entities), strict(WORKS), Schema((EntityType("person"),), ())]
    assert len({WORKS.checksum, *(other.checksum for other in others)}) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[entities.person", "not TOML"),
        ("", "no types"),
        ("entity = 1", "'entity' is unknown; the names are entities, relations, strict. Did you mean 'entities'?"),
        ("entities = 3", "entities is 3; it must be a section"),
        ("[entities]\nperson = 1", "entities.person is 1"),
        ('[entities.person]\nsynonym = ["human"]', r"'synonym' in \[entities.person\] is unknown.*'synonyms'"),
        ('[entities.person]\nsynonyms = "human"', "synonyms is 'human'; it must be a list of texts"),
        ("[entities.person]\n\n[entities.cat]\ndescription = 3", "line 3: .*description is 3; it must be text"),
        ("[entities.person]\n[entities.Person]", "'Person' names two types, 'person' and 'Person'"),
        ('[entities.person]\n[entities.man]\nsynonyms = ["The person"]', "names two types"),
        ('[entities."?!"]', "has no letter"),
        ('[relations.knows]\npairs = [["person", "cat"]]', "type 'person', which is no entity type; .* none"),
        ('[entities.person]\n[relations.knows]\npairs = ["person", "person"]', "give lists of a head and a tail"),
        ('[entities.cat]\n[relations."sees"]\n# two\npairs = [\n["cat", "cat"],\n["cat", "dog"]]', "line 4: .*'dog'"),
        ('\nstrict = "yes"\n[entities.person]', "line 2: .*strict is 'yes'; it must be true or false"),
    ],
)
def test_schema_of_wrong_file_names_file_and_place(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match=message) as caught:
        Schema.read(tmp_path / "schema.toml")
    assert str(caught.value).startswith(str(tmp_path / "schema.toml"))


def test_schema_of_missing_file_or_folder_raises(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(DataError):
            Schema.read(path)
