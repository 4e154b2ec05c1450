"""Questions over two linked documents: reproducible, needing both documents, copied from neither."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources.linked_questions import linked_pairs, needs_both, two_document_questions

from graphwright import Document
from graphwright.errors import DataError
from graphwright.text.words import words

SUBJECTS = [
    "glacier moraine meltwater icefield crevasse snowline",
    "violin varnish luthier spruce tuning bridge",
    "beehive pollen nectar swarm drone brood",
    "harbour crane container quay tug pilot",
    "bakery sourdough oven crust rye leaven",
    "telescope mirror galaxy redshift spectrum dome",
]


def papers(count: int = 24, seed: int = 0) -> list[Document]:
    """Documents of three sentences about one of six subjects each; each refers to the next one, some further ones."""
    rng, result = random.Random(seed), []
    for at in range(count):
        terms = SUBJECTS[at % 6].split()
        sentences = []
        for number in range(3):
            some = rng.sample(terms, 5 - number)
            sentences.append(
                f"In study {number} the {some[0]} and the {some[1]} of {' with '.join(some[2:])} were seen."
            )
        links = (f"p{(at + 1) % count}", *(f"p{rng.randrange(count)}" for _ in range(at % 3)))
        result.append(Document(f"p{at}", " ".join(sentences), f"{terms[0]} {terms[1]}", links=links))
    return result


@given(st.integers(2, 30), st.integers(0, 5), st.randoms(use_true_random=False))
def test_linked_pairs_any_order_of_documents_gives_each_link_once(count: int, seed: int, rng: random.Random) -> None:
    documents = papers(count)
    pairs = [(item.id, other.id) for item, other in linked_pairs(documents, seed)]
    shuffled = rng.sample(documents, count)
    assert [(item.id, other.id) for item, other in linked_pairs(shuffled, seed)] == pairs
    links = {(d.id, link) for d in documents for link in d.links if link != d.id}
    assert set(pairs) <= links and {frozenset(p) for p in pairs} == {frozenset(p) for p in links}
    assert len({frozenset(p) for p in pairs}) == len(pairs)


def test_two_document_questions_need_both_documents_and_copy_neither() -> None:
    documents = papers()
    known = {d.id: d for d in documents}
    questions = two_document_questions(documents, 8)
    assert len(questions) == 8 and [q.id for q in questions] == [f"two-{n}" for n in range(1, 9)]
    used = [name for q in questions for name in q.gold]
    assert len(set(used)) == len(used)
    for asked in questions:
        source, target = (known[name] for name in asked.gold)
        assert target.id in source.links and asked.text.endswith("?") and asked.type == "two documents"
        message = set(words(asked.text))
        item, other = (set(words(f"{d.title} {d.text}")) for d in (source, target))
        assert len(message & item - other) >= 2 and len(message & other - item) >= 2
        assert not message >= set(words(target.title))
        for document in (source, target):
            assert not any(sentence in asked.text for sentence in document.text.split(". "))


def test_two_document_questions_same_seed_gives_same_first_questions() -> None:
    documents = papers()
    eight = two_document_questions(documents, 8, seed=3)
    assert eight == two_document_questions(documents[::-1], 8, seed=3) != two_document_questions(documents, 8, seed=4)
    every = two_document_questions(documents, 1000, seed=3)
    assert every[:8] == eight and len(every) <= 12


HULL = Document(
    "hull", "Carbon hulls bend under heavy load. They are light and they were first used on rowing boats.", "Hulls"
)
BOAT = Document(
    "boat", "Racing boats in Oslo are built of new things that were described elsewhere last year.", links=("hull",)
)


@pytest.mark.parametrize(
    ("question", "fits"),
    [
        ("How heavy a load does the carbon of Oslo's racing boats take?", True),
        ("How heavy a load does carbon take?", False),
        ("Where are racing boats built of new things?", False),
        ("Do the carbon hulls of racing boats in Oslo bend under load?", False),  # names the target
        ("Do racing boats in Oslo, where carbon hull bend under heavy load, win?", False),
        ("Which boats in Oslo racing were first used on rowing boats and light carbon?", True),
        ("In Oslo racing of carbon: are built of new things that were described elsewhere, light load?", False),
        ("", False),
    ],
)
def test_needs_both_question_returns_whether_both_are_needed(question: str, fits: bool) -> None:
    assert needs_both(question, BOAT, HULL) is fits


def test_questions_without_links_raises() -> None:
    with pytest.raises(DataError, match="None of the 1 documents refers to another one"):
        two_document_questions([Document("a", "Text.")])
