"""Columns of chunks: all extracted records, and only valid names."""

from __future__ import annotations

import sqlite3
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.extract.extraction import Excerpt, Extraction, Mention, Relation
from graphwright.extract.rules import LexicalExtractor
from graphwright.graph.columns import terminate
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.chunk_record import ChunkRecord, topic_of
from graphwright.store.packing import unpacked
from graphwright.text.names import normal_form

text = st.text(max_size=12)
mentions = st.builds(Mention, text, st.integers(0, 9), st.integers(0, 9), text, text)
relations = st.builds(Relation, text, text, text, text, st.lists(st.sampled_from(["x", "y z"]), max_size=2).map(tuple))


def named(name: str) -> bool:
    return 2 <= len(normal_form(name.replace("\0", "\ufffd"))) <= 200


@given(text, text, st.lists(mentions, max_size=5).map(tuple), st.lists(relations, max_size=4).map(tuple))
def test_stored_extraction_omits_mentions_without_name(
    title: str, body: str, some: tuple[Mention, ...], links: tuple[Relation, ...]
) -> None:
    def clean(value: str) -> str:
        return value.replace("\0", "\ufffd")

    back = ChunkRecord.of(title, body, Extraction(some, links)).extraction()
    assert back.mentions == tuple(
        Mention(clean(m.name), m.start, m.end, clean(m.type), clean(m.description)) for m in some if named(m.name)
    )
    own = {"about", "mentions", "alias", "synonym"}
    assert back.relations == tuple(
        Relation(
            clean(r.head),
            clean(r.relation) + " (stated)" * (r.relation in own),
            clean(r.tail),
            clean(r.text),
            r.keywords,
        )
        for r in links
        if named(r.head) and named(r.tail) and normal_form(clean(r.head)) != normal_form(clean(r.tail))
    )
    # What is kept is what it is made of: making it again changes nothing.
    assert ChunkRecord.of(title, body, back).extraction() == back


def test_stored_extraction_of_real_text_round_trips() -> None:
    excerpt = Excerpt("d", "Hello Love", 'It is a 1974 single by Hank Snow. It was his "last" number one in the US.')
    (made,) = LexicalExtractor().extract([excerpt])
    assert ChunkRecord.of(excerpt.title, excerpt.text, made).extraction() == made


@given(text, text)
def test_content_of_chunk_round_trips(title: str, body: str) -> None:
    (made,) = LexicalExtractor().extract([Excerpt("d", title, body)])
    record = ChunkRecord.of(title, body, made)
    assert ChunkRecord.of_content(record.content(body)) == (body, record)


def columns_of(title: str, texts: list[str], records: list[ChunkRecord]) -> ChunkColumns:
    rows = [
        ("d", title, b"", b"", b"", at, 0, len(text), "", record.content(text))
        for at, (text, record) in enumerate(zip(texts, records, strict=True))
    ]
    return ChunkColumns.of(rows)


@pytest.mark.parametrize("ends", [[4, 4, 4], [4, 70_000, -1]], ids=["16 bits", "16 and 32 bits"])
def test_columns_have_fields_of_records(ends: list[int]) -> None:
    texts = ["Graz lies on the Mur.", "", "Linz\nand Steyr"]
    mentions = [(Mention("Graz", 0, end, "city"), Mention("graz"), Mention("Mur")) for end in ends]
    relations = (Relation("graz", "on", "Mur", "t"), Relation("Mur", "in", "GRAZ", "t"))
    records = [
        ChunkRecord.of("Hello Love", text, Extraction(m, relations)) for text, m in zip(texts, mentions, strict=True)
    ]
    columns = columns_of("Hello Love", texts, records)
    assert list(columns.text) == texts and columns.has_topic.tolist() == [True] * 3
    for name in ("forms", "surfaces", "types", "descriptions", "labels", "texts", "aliases", "topic_phrases"):
        values, indptr = columns.strings(name)
        joined = [terminate(values[a:b]) for a, b in pairwise(indptr.tolist())]
        assert joined == [getattr(record, name) for record in records]
    for name in ("surface_form", "mentions", "copy_keys"):
        values, indptr = columns.fields[name]
        parts = [values[a:b].tobytes() for a, b in pairwise(indptr.tolist())]
        assert parts == [getattr(record, name) for record in records]
    assert list(columns.strings("surfaces").values[:5]) == ["Hello Love", "Graz", "graz", "Mur", "GRAZ"]
    assert columns.numbers("counts").values.ravel().tolist() == [1, 1, 1, 1, 0] * 3
    assert list(columns.strings("forms").values[:3]) == ["hello love", "graz", "mur"]
    assert columns.numbers("relations", 4).values.tolist() == [[1, 0, 2, 0], [2, 1, 1, 0]] * 3
    assert list(columns.strings("name_words").values) == ["graz lies on the mur", "", "linz and steyr"]


def test_words_are_those_of_title_twice_and_text() -> None:
    texts = ["Graz lies on the Mur.", "Linz and Steyr"]
    columns = columns_of("Rivers", texts, [ChunkRecord.of("Rivers", text, Extraction()) for text in texts])
    assert list(columns.words(np.array([1]))) == ["river river linz steyr"]
    assert list(columns_of("", texts[1:], [ChunkRecord.of("", texts[1], Extraction())]).words(np.array([0]))) == [
        "linz steyr"
    ]


def test_damaged_content_is_an_error_at_any_byte() -> None:
    content = ChunkRecord.of("Graz", "Graz lies on the Mur.", Extraction((Mention("Graz", 0, 4),))).content("Graz lies")
    (whole,) = unpacked([content])
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        with pytest.raises(sqlite3.DatabaseError, match="a chunk is damaged"):
            unpacked([bytes(damaged)])
        with pytest.raises(sqlite3.DatabaseError, match="a chunk is damaged"):
            unpacked([content, content[:at]])
    assert unpacked([content, content]) == [whole, whole]


def test_chunk_topic_needs_letters() -> None:
    assert topic_of("?!", ["ab", "3rd of May", "Graz", "Mur"]) == "Graz"
    assert topic_of("", ["ab", "1974"]) == "" == topic_of("  ", [])


def test_searched_topics_have_several_words() -> None:
    def phrases(title: str) -> bytes:
        return ChunkRecord.of(title, "t", Extraction()).topic_phrases

    assert phrases("Iron Mountain (Styria)") == b"iron mountain styria\0iron mountain\0"
    assert phrases("Graz") == b"" and phrases("Of The") == b""


def test_ordered_columns_are_those_of_documents_in_order() -> None:
    def row(document: str, ordinal: int) -> tuple[object, ...]:
        text = f"Bertha {document} met Hugo {ordinal} in Graz."
        extraction = LexicalExtractor().extract([Excerpt("t", "t", text)])[0]
        content = ChunkRecord.of("t", text, extraction).content(text)
        first = (terminate(["b"]), b"", b"") if not ordinal else (b"", b"", b"")
        return document, f"title {document}", *first, ordinal, ordinal * 9, ordinal * 9 + 5, "", content

    empty = ("bb", "", b"", b"", b"", None, None, None, None, None)
    parts = {name: [row(name, n) for n in range(count)] for name, count in {"c": 2, "a": 3, "b": 1}.items()}
    columns, chunk = ChunkColumns.of([*parts["c"], *parts["a"], empty, *parts["b"]]).ordered()
    wanted = ChunkColumns.of([*parts["a"], *parts["b"], empty, *parts["c"]])
    assert chunk.tolist() == [2, 3, 4, 5, 0, 1]
    for name in ("ids", "document_titles", "links", "text", "headings"):
        assert list(getattr(columns, name)) == list(getattr(wanted, name)), name
    for name in ("chunk_counts", "ordinal", "start", "end", "has_topic"):
        assert getattr(columns, name).tolist() == getattr(wanted, name).tolist(), name
    for name, (values, indptr) in wanted.fields.items():
        assert (
            list(columns.fields[name].values) == list(values)
            and columns.fields[name].indptr.tolist() == indptr.tolist()
        )
