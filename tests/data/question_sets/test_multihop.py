"""Questions with their passages: HotpotQA, 2WikiMultiHopQA, MuSiQue, UltraDomain, SQuALITY."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.data.question_sets.small_sets import ASKED, RIVERS, hotpot, musique, sentences, write

from graphwright.data.question_sets.datasets import Dataset, read_dataset
from graphwright.data.question_sets.multihop import Pool, has_contexts, joined, passage_id, read_over
from graphwright.data.records.rows import MAX_PASSAGE
from graphwright.errors import DataError

MUR, DRAVA, GRAZ = (passage_id(*RIVERS[name]) for name in ("mur", "drava", "graz"))


def contents(dataset: Dataset) -> dict[str, tuple[str, str]]:
    return {document.id: (document.title, document.text) for document in dataset.documents(print)}


def columns(record: dict[str, Any]) -> dict[str, Any]:
    """The shape that Hugging Face gives HotpotQA."""
    context, facts = record["context"], record["supporting_facts"]
    return {
        **{name: value for name, value in record.items() if name != "_id"},
        "id": record["_id"],
        "context": {"title": [title for title, _ in context], "sentences": [some for _, some in context]},
        "supporting_facts": {"title": [title for title, _ in facts], "sent_id": [at for _, at in facts]},
    }


HOTPOT = [hotpot(1, "mur", "drava", gold=("mur", "drava")), hotpot(2, "mur", "graz", gold=("graz",), answer="yes")]


def test_read_dataset_hotpotqa_contexts_are_pooled(tmp_path: Path) -> None:
    path = write(tmp_path / "hotpot_dev_distractor_v1.json", json.dumps(HOTPOT))
    dataset = read_dataset(path)
    assert (dataset.name, dataset.format, dataset.corpus) == ("hotpot_dev_distractor_v1", "HotpotQA", path)
    assert contents(dataset) == {MUR: RIVERS["mur"], DRAVA: RIVERS["drava"], GRAZ: RIVERS["graz"]}
    assert all(document.whole for document in dataset.documents(print))
    first, second = dataset.questions
    assert (first.id, first.gold, first.type, first.answers) == ("h1", (MUR, DRAVA), "bridge", ("Legrad",))
    assert first.metadata["level"] == "easy" and "context" not in first.metadata
    assert (second.gold, second.answers, second.line) == ((GRAZ,), ("yes",), 2)
    assert dataset.files == (path,)
    assert dataset.remarks == ("2 questions over 3 documents (HotpotQA).",)


def test_read_dataset_passage_ids_are_same_in_every_file(tmp_path: Path) -> None:
    whole = read_dataset(write(tmp_path / "a.jsonl", *HOTPOT))
    part = read_dataset(write(tmp_path / "b.jsonl", HOTPOT[1]))
    assert part.questions[0].gold == whole.questions[1].gold
    assert set(contents(part)) < set(contents(whole))


def test_read_dataset_hotpotqa_of_hugging_face_is_read(tmp_path: Path) -> None:
    expected = [(q.id, q.gold, q.answers) for q in read_dataset(write(tmp_path / "a.jsonl", *HOTPOT)).questions]
    records = [columns(record) for record in HOTPOT]
    lines = write(tmp_path / "b.jsonl", *records)
    rows = [
        record | {"context": [{"sentences": some, "title": title} for title, some in HOTPOT[at]["context"]]}
        for at, record in enumerate(records)
    ]
    with duckdb.connect() as db:
        db.execute(f"COPY (SELECT * FROM read_json('{lines}')) TO '{tmp_path / 'c.parquet'}' (FORMAT parquet)")
    for path in (lines, tmp_path / "c.parquet", write(tmp_path / "d.jsonl", *rows)):
        dataset = read_dataset(path)
        assert dataset.format == "HotpotQA" and len(contents(dataset)) == 3
        assert [(q.id, q.gold, q.answers) for q in dataset.questions] == expected


def test_read_dataset_2wikimultihopqa_sentences_get_spaces(tmp_path: Path) -> None:
    record = hotpot(1, "mur", "drava", gold=("mur",), evidences=[["Mur", "joins", "Drava"]], type="inference")
    record["context"] = [[title, [item.strip() for item in some]] for title, some in map(sentences, ("mur", "drava"))]
    dataset = read_dataset(write(tmp_path / "dev.json", json.dumps([record])))
    assert (dataset.name, dataset.format) == (f"{tmp_path.name}-dev", "2WikiMultiHopQA")
    assert contents(dataset) == {MUR: RIVERS["mur"], DRAVA: RIVERS["drava"]}
    assert dataset.questions[0].type == "inference"
    assert dataset.questions[0].metadata["evidences"] == [["Mur", "joins", "Drava"]]


def test_read_dataset_musique_is_read(tmp_path: Path) -> None:
    records = [
        musique("2hop__1_2", "mur", "drava", "graz", gold=("mur", "drava")),
        musique("3hop1__1_2_3", "mur", "osijek", gold=("mur", "osijek")),
        musique("3hop1__1_2_3", "graz", gold=(), answerable=False),  # the twin of a question has its id
        musique("other", "mur", gold=("mur",)),
    ]
    dataset = read_dataset(write(tmp_path / "musique_full_v1.0_dev.jsonl", *records))
    assert (dataset.name, dataset.format) == ("musique_full_v1", "MuSiQue")
    assert [(q.id, q.type, q.metadata["hops"]) for q in dataset.questions] == [
        ("2hop__1_2", "2hop", 2),
        ("3hop1__1_2_3", "3hop1", 2),
        ("other", "1hop", 1),
    ]
    assert dataset.questions[0].gold == (MUR, DRAVA)
    assert dataset.questions[0].answers == ("Legrad", "at Legrad")
    assert len(contents(dataset)) == 4
    assert dataset.remarks[1] == "1 question made to have no answer (answerable: false), left out."


def test_read_dataset_test_split_is_remarked(tmp_path: Path) -> None:
    hidden = musique("2hop__1_2", "mur", "graz", gold=())
    hidden["paragraphs"] = [
        {name: value for name, value in item.items() if name != "is_supporting"} for item in hidden["paragraphs"]
    ]
    for name in ("answer", "answer_aliases", "question_decomposition", "answerable"):
        del hidden[name]
    dataset = read_dataset(write(tmp_path / "musique_test.jsonl", hidden))
    assert dataset.questions[0].gold == () and len(contents(dataset)) == 2
    assert dataset.remarks[1:] == (
        "1 of 1 question without answers.",
        "1 of 1 question without documents that hold the evidence (gold_ids).",
    )


def test_read_dataset_contexts_without_text_are_remarked(tmp_path: Path) -> None:
    record = hotpot(1, "mur", gold=("mur",))
    record["context"] += [["Sava", []], ["", [" "]]]
    dataset = read_dataset(write(tmp_path / "h.jsonl", record))
    assert list(contents(dataset).values()) == [RIVERS["mur"], ("Sava", "Sava")]
    assert dataset.remarks[1] == "2 contexts without a text: a title only, or nothing."


def test_read_dataset_missing_evidence_raises(tmp_path: Path) -> None:
    path = write(tmp_path / "hotpot_fullwiki.jsonl", hotpot(1, "mur", gold=("mur", "graz")))
    message = (
        r"fullwiki\.jsonl: 1 of 2 gold ids .*'Graz \(not in the context\)' \(question 'h1', line 1\)\. .*distractor"
    )
    with pytest.raises(DataError, match=message):
        read_dataset(path)
    many = [hotpot(i, "mur", gold=("mur",)) for i in range(2, 200)]
    dataset = read_dataset(write(path, hotpot(1, "mur", gold=("mur", "graz")), *many))
    assert (
        "1 gold document not in the corpus, the first 'Graz (not in the context)' of question 'h1'"
        in dataset.remarks[1]
    )


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            hotpot(2, "mur", gold=("mur",), context=[["Mur", "text"]]),
            r"h\.jsonl:2: context\[0\]\[1\]: .* list, and it is 'text'",
        ),
        (
            hotpot(2, "mur", gold=("mur",), context={"title": ["Mur"]}),
            r"h\.jsonl:2: context\[0\]\[1\]: .* list, and it is 'N",
        ),
        (
            hotpot(2, "mur", gold=("mur",), context=["Mur"]),
            r"h\.jsonl:2: context\[0\]: .* tuple, and it is 'Mur'\. Repair or",
        ),
        (
            hotpot(2, "mur", gold=(), supporting_facts=[["Mur"]]),
            r"h\.jsonl:2: supporting_facts\[0\]\[1\]: Field required\. R",
        ),
        (hotpot(2, "mur", gold=(), answer={"a": 1}), r"h\.jsonl:2: answer is not a list of texts: {'a': 1}\. Repair"),
        (hotpot(2, "mur", gold=(), question=" "), r"h\.jsonl:2: question 'h2' has no text"),
        (hotpot(1, "mur", gold=()), r"h\.jsonl:2: the id 'h1' was already used in line 1"),
        (
            musique("m", "mur", gold=(), paragraphs=[{"title": 3}]),
            r"h\.jsonl:2: paragraphs\[0\]\.title: .*and it is '3'",
        ),
        ("[]", r"h\.jsonl:2: not a JSON object but list"),
    ],
)
def test_read_dataset_bad_record_is_named(tmp_path: Path, record: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_dataset(write(tmp_path / "h.jsonl", HOTPOT[0], record))


def test_read_dataset_other_questions_over_pool_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", *HOTPOT)
    mine = write(tmp_path / "mine" / "mine.jsonl", ASKED[0] | {"gold_ids": [GRAZ]})
    dataset = read_dataset(path, mine)
    assert (dataset.name, [q.id for q in dataset.questions], len(contents(dataset))) == ("h-mine", ["q1"], 3)
    assert dataset.files == (path, mine)
    again = write(tmp_path / "mine" / "m.jsonl", musique("2hop__1_2", "mur", "drava", gold=("drava",)))
    assert read_dataset(path, again).questions[0].gold == (DRAVA,)
    with pytest.raises(
        DataError, match=r"m\.jsonl: 1 of 1 gold ids .* Read the corpus that belongs to these questions"
    ):
        read_dataset(path, write(again, musique("2hop__1_2", "osijek", gold=("osijek",))))
    with pytest.raises(DataError, match=r"no questions named 'none' are there, but h\.jsonl, mine/"):
        read_dataset(path, "none")


BOOK = "The Mur rises in the Tauern.\n\nThen it flows east."
DOMAIN = {
    "input": "Where does the Mur rise?",
    "context": BOOK,
    "answers": ["in the Tauern"],
    "_id": "u1",
    "label": "rivers",
    "dataset": "ultra",
    "length": 12,
    "meta": {"title": "Rivers of Styria", "authors": "N. N."},
}


def test_read_dataset_ultradomain_texts_become_documents(tmp_path: Path) -> None:
    second = DOMAIN | {"_id": "u2", "input": "Where does it flow then?", "meta": None}
    third = {"input": "And the Drava?", "context": "Another book.", "answers": "Italy", "dataset": "ultra"}
    dataset = read_dataset(write(tmp_path / "mix.jsonl", DOMAIN, second, third))
    book = passage_id("Rivers of Styria", BOOK)
    assert contents(dataset) == {
        book: ("Rivers of Styria", BOOK),
        passage_id("", "Another book."): ("", "Another book."),
    }
    assert not any(document.whole for document in dataset.documents(print))
    assert dataset.format == "UltraDomain"
    assert [(q.id, q.type, q.gold) for q in dataset.questions[:2]] == [
        ("u1", "rivers", (book,)),
        ("u2", "rivers", (book,)),
    ]
    assert dataset.questions[0].answers == ("in the Tauern",)
    assert (
        dataset.questions[0].metadata["meta"]["authors"] == "N. N." and "context" not in dataset.questions[0].metadata
    )
    assert (dataset.questions[2].id, dataset.questions[2].type) == ("mix-3", "ultra")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": None}, r"mix\.jsonl:2: context: Input should be a valid string, and it is 'None'"),
        ({"input": "", "_id": "u2"}, r"mix\.jsonl:2: question 'u2' has no text"),
        ({}, r"mix\.jsonl:2: the id 'u1' was already used in line 1"),
    ],
)
def test_read_dataset_bad_record_of_ultradomain_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_dataset(write(tmp_path / "mix.jsonl", DOMAIN, DOMAIN | change))


def story(identity: str, *asked: str, document: str = "Once\n  there was\n\n\n a ship. ") -> dict[str, Any]:
    return {
        "metadata": {"passage_id": identity, "uid": "x", "license": "free"},
        "document": document,
        "questions": [
            {
                "question_text": text,
                "question_number": at,
                "responses": [{"worker_id": str(n), "response_text": f"Summary {n} of {text}"} for n in range(4)],
            }
            for at, text in enumerate(asked, 1)
        ],
    }


def test_read_dataset_squality_is_read(tmp_path: Path) -> None:
    page = "<!DOCTYPE html><html><title>Two</title><p>It sank.</p><p>All\nlived.</p></html>"
    records = [story("11", "What is the plot?", "Who sails?"), story("12", "What is the plot?", document=page)]
    dataset = read_dataset(write(tmp_path / "squality" / "train.jsonl", *records))
    assert (dataset.name, dataset.format) == ("squality-train", "SQuALITY")
    assert contents(dataset) == {"11": ("", "Once there was\n\na ship."), "12": ("Two", "It sank.\n\nAll lived.")}
    assert [(q.id, q.gold, q.line) for q in dataset.questions] == [
        ("11-1", ("11",), 1),
        ("11-2", ("11",), 1),
        ("12-1", ("12",), 2),
    ]
    assert len(dataset.questions[0].answers) == 4
    assert dataset.remarks[1] == "1 question asked before in the same words: '12-1' (line 2) as '11-1' (line 1)."


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (story("11", "Who?"), r"s\.jsonl:2: the story '11' came before"),
        (story("12", "Who?") | {"metadata": {}}, r"s\.jsonl:2: metadata\.passage_id: Field required\. Repair"),
        (story("12", "Who?") | {"questions": [{}]}, r"s\.jsonl:2: questions\[0\]\.question_text: Field required"),
        (story("12", " "), r"s\.jsonl:2: question '12-1' has no text"),
        ("{", r"s\.jsonl:2: not JSON"),
    ],
)
def test_read_dataset_bad_story_is_named(tmp_path: Path, record: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_dataset(write(tmp_path / "s.jsonl", story("11", "Who?"), record))


@pytest.mark.parametrize(
    ("record", "contents"),
    [
        (hotpot(1, "mur", gold=()), True),
        (musique("m", "mur", gold=()), True),
        ({"question": "who", "context": {"title": [], "sentences": []}}, True),
        ({"question": "who", "context": "a book"}, False),
        (ASKED[0] | {"context": []}, False),  # names its gold by id
        ({"input": "who", "context": []}, False),
    ],
)
def test_has_contexts_records_with_passages_are_true(record: dict[str, object], contents: bool) -> None:
    assert has_contexts(record) is contents


@pytest.mark.parametrize(
    ("sentences", "text"),
    [
        ([], ""),
        (["One.", " Two."], "One. Two."),
        (["One.", "Two.", "", "Three."], "One. Two. Three."),
        (["One. ", "Two."], "One. Two."),
        (["", "Two."], "Two."),
    ],
)
def test_joined_sentences_are_separated_by_space(sentences: list[str], text: str) -> None:
    assert joined(sentences) == text


def test_read_over_gold_is_evidence() -> None:
    shown: list[str] = []

    def refer(title: str, text: str) -> str:
        shown.append(text)
        return title.lower()

    records = [(3, hotpot(1, "mur", "graz", gold=("graz",))), (4, hotpot(2, "mur", "mur", gold=("mur",), _id=""))]
    (first, second), remarks = read_over(Path("h.json"), refer, iter(records))
    assert (first.gold, second.id, second.gold, remarks) == (("graz",), "h-4", ("mur",), [])
    assert [text.split()[0] for text in shown] == ["The", "A", "The", "The"]


@pytest.mark.parametrize("unmarked", [True, False])
def test_read_over_unmarked_paragraphs_are_gold_if_asked(unmarked: bool) -> None:
    record = musique("m", "mur", "graz", gold=("graz",))
    del record["paragraphs"][0]["is_supporting"]
    (question,), _ = read_over(Path("m.jsonl"), lambda title, _: title, iter([(1, record)]), unmarked=unmarked)
    assert question.gold == (("Mur", "Graz") if unmarked else ("Graz",))


def test_passage_id_depends_on_title_and_text() -> None:
    item = passage_id("Mur", "It flows.")
    assert item == passage_id("Mur", "It  flows.\n") and item.startswith("mur-")
    others = {
        passage_id("Mur", "It flowed."),
        passage_id("Mura", "It flows."),
        passage_id("MurIt", "flows."),
        passage_id("", ""),
    }
    assert item not in others and len(others) == 4


def test_passage_id_has_no_white_space() -> None:
    result = passage_id("Großer Fluß / 川 " * 20, "x")
    assert result.split() == [result] and result.startswith("großer-fluß-川-großer") and len(result) < 60


def test_pool_keeps_each_passage_once() -> None:
    pool = Pool()
    first = pool.add(" Mur\n(river)", "It flows.\r\nOn.")
    assert pool.add("Mur (river)", "It flows. On.") == first
    second = pool.add("Book", "x" * (MAX_PASSAGE + 1))
    assert list(pool.documents) == [first, second]
    assert (pool.documents[first].title, pool.documents[first].text) == ("Mur (river)", "It flows.\nOn.")
    assert pool.documents[first].whole and not pool.documents[second].whole


def test_pool_empty_passage_is_left_out() -> None:
    pool = Pool()
    assert pool.add("", " ") not in pool.documents
    assert pool.documents[pool.add("Mur", "")].text == "Mur"
    assert len(pool.empty) == 2
    assert passage_id("Mur", "") == passage_id("Mur", "Mur")  # as a corpus that was read has it
