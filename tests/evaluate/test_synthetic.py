"""Synthetic questions over two linked documents: reproducible, needing both documents, copied from neither."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Document
from graphwright.data.documents import read_documents
from graphwright.data.question_sets.datasets import read_dataset
from graphwright.data.question_sets.questions import QuestionRecord, read_questions, write_questions
from graphwright.errors import BudgetError, DataError, OptionError
from graphwright.evaluate.synthetic import TermWriter, linked_pairs, needs_both, two_document_questions
from graphwright.models import ScriptedLLM
from graphwright.text.words import words

SCRIPT = Path(__file__).parents[2] / "scripts" / "write_questions.py"
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
def test_pairs_are_links_each_once_whatever_the_order_of_documents(count: int, seed: int, rng: random.Random) -> None:
    documents = papers(count)
    pairs = [(item.id, other.id) for item, other in linked_pairs(documents, seed)]
    shuffled = rng.sample(documents, count)
    assert [(item.id, other.id) for item, other in linked_pairs(shuffled, seed)] == pairs
    links = {(d.id, link) for d in documents for link in d.links if link != d.id}
    assert set(pairs) <= links and {frozenset(p) for p in pairs} == {frozenset(p) for p in links}
    assert len({frozenset(p) for p in pairs}) == len(pairs)


def test_questions_need_both_documents_and_copy_neither() -> None:
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


def test_a_seed_draws_the_same_and_more_questions_begin_with_the_same() -> None:
    documents = papers()
    eight = two_document_questions(documents, 8, seed=3)
    assert eight == two_document_questions(documents[::-1], 8, seed=3) != two_document_questions(documents, 8, seed=4)
    every = two_document_questions(documents, 1000, seed=3)
    assert every[:8] == eight and len(every) <= 12


def test_words_come_from_the_most_central_sentence_as_they_stand_there() -> None:
    texts = {
        "a": "Nothing is said here. The Luthier cut spruce, and spruce tuning varnish dries slowly. See also pollen.",
        "b": "Rye ovens heat sourdough crusts.",
        "c": "A luthier and spruce tuning. Varnish of rye, an oven and a crust.",
        "d": "Sourdough heat dries.",
    }
    docs = {name: Document(name, text, "Rye") for name, text in texts.items()}
    write = TermWriter(list(docs.values()))
    made = write(docs["a"], docs["b"])
    assert made is not None and made[1] == ()
    # "pollen" and "cut" are in no other document; "Rye" is the title, and of the three heaviest "crusts" is not one.
    assert "Luthier spruce tuning varnish dries" in made[0] and "ovens heat sourdough?" in made[0]
    assert TermWriter(list(docs.values()))(docs["d"], docs["a"]) is not None
    assert TermWriter([docs["a"], docs["b"]])(docs["a"], docs["b"]) is None  # they share no word with any other


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
def test_what_passes_for_a_question_about_both(question: str, fits: bool) -> None:
    assert needs_both(question, BOAT, HULL) is fits


def test_a_sentence_may_not_be_copied() -> None:
    target = Document("t", "Rye keeps bread moist. Nobody knows why that is so.")
    assert not needs_both("If rye keeps bread moist, do the boats racing in Oslo?", BOAT, target)
    assert needs_both("If bread with rye is kept moist, do the boats racing in Oslo?", BOAT, target)


GOOD = {
    "question": "How heavy a load does the carbon of Oslo's racing boats take?",
    "answer": " one ton ",
    "from_first": "built of new things",
    "from_second": "bend under heavy load",
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"question": " "},
        {"question": "How heavy a load does carbon take?"},
        {"from_first": "carbon hulls bend"},
        {"from_second": "they sink at once"},
        {"from_second": ""},
    ],
)
def test_a_model_is_believed_where_it_quotes_both(wrong: dict[str, str]) -> None:
    documents = [BOAT, HULL]
    asked: list[str] = []

    def reply(system: str, user: str) -> str:
        asked.append(user)
        return json.dumps(GOOD)

    (made,) = two_document_questions(documents, llm=ScriptedLLM(reply))
    assert made == QuestionRecord("two-1", GOOD["question"], ("one ton",), ("boat", "hull"), "two documents")
    assert asked[0].index("Racing boats in Oslo") < asked[0].index('"title": "Hulls"')
    assert two_document_questions(documents, llm=ScriptedLLM([json.dumps(GOOD | wrong)])) == []


def test_a_reply_without_form_costs_its_pair_and_so_many_pairs_are_tried() -> None:
    replies: list[str] = []

    def bad(system: str, user: str) -> str:
        replies.append(user)
        return "no JSON at all"

    assert two_document_questions(papers(), 2, llm=ScriptedLLM(bad)) == []
    assert len(replies) == 12  # six pairs, each asked once more
    with pytest.raises(BudgetError):
        two_document_questions(papers(), 2, llm=Spent())


class Spent:
    id = "spent"

    def complete(self, system: str, user: str, **more: object) -> object:
        raise BudgetError("all is spent")


def test_without_links_or_with_no_number_it_is_an_error() -> None:
    with pytest.raises(DataError, match=r"None of the 2 documents refers to another.*links\.tsv"):
        two_document_questions([HULL, Document("x", "t", links=("gone",))])
    with pytest.raises(OptionError, match="count=0"):
        two_document_questions([BOAT, HULL], 0)


def test_questions_are_written_as_they_are_read(tmp_path: Path) -> None:
    given = [
        QuestionRecord("1", "Wo ist „Łódź“?", ("da",), ("a", "b"), "x", {"hops": 2}),
        QuestionRecord("2", "Why?", (), ("a",)),
    ]
    write_questions(tmp_path / "questions.jsonl", given)
    read = read_questions(tmp_path / "questions.jsonl")
    assert read == given and read[0].metadata == {"hops": 2}


def test_the_script_makes_a_set_that_can_be_evaluated(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    rows = [{"id": d.id, "title": d.title, "text": d.text} for d in papers()]
    (data / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (data / "links.tsv").write_text("".join(f"{d.id}\t{link}\n" for d in papers() for link in d.links))
    command = [sys.executable, str(SCRIPT), "--data", str(data), "--out", str(out), "--questions", "5", "--seed", "1"]
    message = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "5 questions of 5 wanted" in message
    dataset = read_dataset(out)
    documents = list(read_documents([dataset.corpus], print))
    assert list(dataset.questions) == two_document_questions(documents, 5, seed=1)
    assert out / "links.tsv" in dataset.files and {p.name for p in data.iterdir()} == {"corpus.jsonl", "links.tsv"}
