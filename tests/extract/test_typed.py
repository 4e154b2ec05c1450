"""Types of a schema without a language model: which entities and predicates get which."""

from __future__ import annotations

import pickle

from graphwright.extract import (
    EntityType,
    Excerpt,
    Extraction,
    LexicalExtractor,
    MentionExtractor,
    Precomputed,
    RelationType,
    Schema,
    TypedExtractor,
)
from graphwright.extract.extraction import Extractor
from graphwright.extract.llm import GenerativeExtractor
from graphwright.extract.typed import with_schema
from graphwright.graph.graph import CO_OCCURS
from graphwright.models.fake import ScriptedLLM

SCHEMA = Schema(
    (
        EntityType("person", "A human being."),
        EntityType("company", "A business that sells goods or services.", ("firm",)),
        EntityType("place", "A town or a country."),
    ),
    (RelationType("founded by", pairs=(("company", "person"),)), RelationType("works for", "Is employed by.")),
)
TEXT = (
    "Acme Ltd was founded by Ida Stone in Vienna in 1974. It sells pumps. Bob Miller is employed by Styria Metals. "
    "Carla Jones paints."
)
EXCERPT = Excerpt("d", "", TEXT)


def read(extractor: Extractor, schema: Schema, excerpt: Excerpt = EXCERPT) -> Extraction:
    (extraction,) = TypedExtractor(extractor, schema).extract([excerpt])
    assert isinstance(extraction, Extraction)
    return extraction


def test_typed_extractor_types_names_and_predicates() -> None:
    extraction = read(MentionExtractor(), SCHEMA)
    expected = {"Acme Ltd": "company", "Ida Stone": "person", "Vienna": "place", "Styria Metals": "company"}
    assert expected.items() <= extraction.types.items() and extraction.types["1974"] == ""
    relations = {relation[:3] for relation in extraction.relations}
    assert ("Acme Ltd", "founded by", "Ida Stone") in relations
    assert ("Bob Miller", "works for", "Styria Metals") in relations


def test_typed_extractor_of_rules_has_names_and_sentences_alone() -> None:
    extraction = read(LexicalExtractor(), SCHEMA)
    assert extraction.types["Acme Ltd"] == extraction.types["Styria Metals"] == "company"


def test_typed_extractor_strict_leaves_out_what_is_near_no_type() -> None:
    strict = Schema(SCHEMA.entities, SCHEMA.relations, strict=True)
    extraction, free = read(MentionExtractor(), strict), read(MentionExtractor(), SCHEMA)
    assert "1974" not in extraction.types and "1974" in free.types
    assert {r.relation for r in extraction.relations} <= {"founded by", "works for", CO_OCCURS}


def test_typed_extractor_of_dates_types_dates() -> None:
    dates = Schema((EntityType("date", "A day or a year."), EntityType("person", "A human being.")))
    assert read(MentionExtractor(), dates).types["1974"] == "date"


def test_typed_extractor_with_amount_as_example_types_amounts() -> None:
    kinds = (EntityType("price", "What is paid.", examples=("300 euros",)), EntityType("person", "A human being."))
    bought = Excerpt("d", "", "Ida Stone bought the mill for 4,500 euros.")
    assert read(MentionExtractor(), Schema(kinds), bought).types == {"Ida Stone": "person", "4,500 euros": "price"}
    unlike = Schema((EntityType("price", "What is paid."), kinds[1]))
    assert read(MentionExtractor(), unlike, bought).types["4,500 euros"] == ""


def test_typed_extractor_leaves_title_without_type_that_its_text_lacks() -> None:
    text = "Lease of Acme Ltd, signed by Ida Stone in Vienna."
    assert read(MentionExtractor(), SCHEMA, Excerpt("d", "c1", text)).types["c1"] == ""
    assert read(MentionExtractor(), SCHEMA, Excerpt("d", "Acme Ltd", text)).types["Acme Ltd"] == "company"


def test_typed_extractor_gives_what_its_extractor_gives() -> None:
    extractor = TypedExtractor(MentionExtractor(), SCHEMA)
    (extraction,), vectors = extractor.extract_encoded([EXCERPT], None)
    assert [m.name for m in extraction.mentions] == [m.name for m in MentionExtractor().extract([EXCERPT])[0].mentions]
    assert vectors.shape[0] == 1 and extractor.unsuitable("Graz") is None
    assert pickle.loads(pickle.dumps(extractor)) == extractor


def test_typed_extractor_without_text_finds_nothing() -> None:
    assert read(MentionExtractor(), SCHEMA, Excerpt("d", "", "")) == Extraction()
    assert TypedExtractor(MentionExtractor(), SCHEMA).extract([]) == []


def test_with_schema_id_names_schema_and_reaches_provisional_extractor() -> None:
    plain, other = MentionExtractor(), Schema(SCHEMA.entities)
    assert with_schema(plain, Schema()) is plain
    assert len({plain.id, with_schema(plain, SCHEMA).id, with_schema(plain, other).id}) == 3
    generative = GenerativeExtractor(ScriptedLLM([]))
    given = with_schema(generative, SCHEMA)
    assert isinstance(given, GenerativeExtractor) and given.id != generative.id
    assert given.provisional == TypedExtractor(LexicalExtractor(), SCHEMA)
    assert with_schema(Precomputed({}), SCHEMA).id.startswith("precomputed:")
