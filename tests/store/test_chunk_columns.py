"""Columns of chunks: all extracted records, and only valid names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphwright.extract.extraction import Excerpt, Extraction, Mention, Relation
from graphwright.extract.rules import LexicalExtractor
from graphwright.store.chunk_record import ChunkRecord, topic_of
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


def test_chunk_topic_needs_letters() -> None:
    assert topic_of("?!", ["ab", "3rd of May", "Graz", "Mur"]) == "Graz"
    assert topic_of("", ["ab", "1974"]) == "" == topic_of("  ", [])


def test_searched_topics_have_several_words() -> None:
    def phrases(title: str) -> bytes:
        return ChunkRecord.of(title, "t", Extraction()).topic_phrases

    assert phrases("Iron Mountain (Styria)") == b"iron mountain styria\0iron mountain\0"
    assert phrases("Graz") == b"" and phrases("Of The") == b""
