"""Corpora with questions: our own format, BEIR, HippoRAG, any documents."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.data.question_sets.small_sets import ASKED, RIVERS, hotpot, musique, write, write_corpus

from graphwright.data.document import Skipped
from graphwright.data.question_sets.datasets import Dataset, read_dataset
from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.errors import DataError

QUERIES = [{"_id": "1", "text": "one"}, {"_id": "2", "text": "two"}, {"_id": "3", "text": "unjudged"}]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "rivers"
    write_corpus(folder / "corpus.jsonl")
    write(folder / "questions.jsonl", *ASKED)
    return folder


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "judged"
    write_corpus(folder / "corpus.jsonl")
    write(folder / "queries.jsonl", *QUERIES)
    write(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore", "1\tmur\t2", "2\tgraz\t1", "2\tdrava\t0")
    return folder


@pytest.fixture
def hippo(tmp_path: Path) -> Path:
    folder = tmp_path / "hippo"
    # White space differs between a corpus and the contexts, as it does in the real files.
    corpus = [{"title": title, "text": text.replace(". ", ".")} for title, text in RIVERS.values()]
    write(folder / "rivers_corpus.json", json.dumps(corpus))
    records = [hotpot(1, "mur", "graz", gold=("mur",)), musique("2hop__1_2", "drava", "osijek", gold=("drava",))]
    write(folder / "rivers.json", json.dumps(records))
    return folder


def documents(dataset: Dataset) -> dict[str, str]:
    skipped: list[Skipped] = []
    result = {document.id: document.title for document in dataset.documents(skipped.append)}
    assert skipped == []
    return result


def test_read_dataset_own_format_is_read(own: Path) -> None:
    dataset = read_dataset(own)
    assert (dataset.name, dataset.format, dataset.corpus) == ("rivers", "our own format", own / "corpus.jsonl")
    assert [(q.id, q.answers, q.gold, q.line) for q in dataset.questions] == [
        ("q1", ("Mur",), ("mur",), 1),
        ("q2", ("Legrad",), ("mur", "drava"), 2),
    ]
    assert documents(dataset) == {name: title for name, (title, _) in RIVERS.items()}
    assert dataset.triples is None and dataset.openie is None
    assert dataset.files == (own / "corpus.jsonl", own / "questions.jsonl")
    assert dataset.remarks == ("2 questions over 4 documents (our own format).",)
    assert read_dataset(str(own)) == dataset


def test_read_dataset_openie_and_links_beside_corpus_are_read(own: Path) -> None:
    openie = write(own / "openie.jsonl", {"id": "mur", "entities": [], "triples": []})
    links = write(own / "links.tsv", "mur\tgraz")
    dataset = read_dataset(own)
    assert dataset.openie == openie
    assert dataset.files == (own / "corpus.jsonl", openie, links, own / "questions.jsonl")
    assert next(dataset.documents(print)).links == ("graz",)


def test_read_dataset_packed_corpus_is_read(own: Path) -> None:
    packed = own / "corpus.jsonl.gz"
    packed.write_bytes(gzip.compress((own / "corpus.jsonl").read_bytes()))
    (own / "corpus.jsonl").unlink()
    dataset = read_dataset(own)
    assert dataset.corpus == packed and len(documents(dataset)) == 4


@pytest.mark.parametrize("given", ["corpus.jsonl", "questions.jsonl"])
def test_read_dataset_one_file_stands_for_its_folder(own: Path, given: str) -> None:
    assert read_dataset(own / given) == read_dataset(own)


def test_read_dataset_other_questions_are_chosen_by_name(own: Path) -> None:
    dev = write(own / "dev.jsonl", ASKED[1])
    for dataset in (
        read_dataset(own, "dev"),
        read_dataset(own, "dev.jsonl"),
        read_dataset(dev),
        read_dataset(own, dev),
    ):
        assert (dataset.name, [q.id for q in dataset.questions]) == ("rivers-dev", ["q2"])
        assert dataset.files[-1] == dev
    with pytest.raises(DataError, match=r"rivers: no questions named 'tset' are there, but corpus\.jsonl, dev\.j"):
        read_dataset(own, "tset")
    write(own / "dev.json", json.dumps(ASKED))
    with pytest.raises(DataError, match=r"questions 'dev' may be dev\.json, dev\.jsonl\. Give the whole name"):
        read_dataset(own, "dev")


def test_read_dataset_questions_elsewhere_are_read(own: Path, tmp_path: Path) -> None:
    mine = write(tmp_path / "mine.jsonl", ASKED[0])
    dataset = read_dataset(own, mine)
    assert (dataset.name, len(dataset.questions), dataset.files[-1]) == ("rivers-mine", 1, mine)
    assert read_dataset(own, str(mine)) == dataset
    carrying = write(tmp_path / "hotpot.json", json.dumps([hotpot(1, "mur", "graz", gold=("graz",))]))
    assert read_dataset(own, carrying).questions[0].gold == ("graz",)
    for absent in (tmp_path / "none.jsonl", str(tmp_path / "none.jsonl"), Path("none.jsonl")):
        with pytest.raises(DataError, match=r"no such file or folder: .*none"):
            read_dataset(own, absent)


def test_read_dataset_oddities_are_remarked(own: Path) -> None:
    more = [{"id": f"m{i}", "question": f"Who is {i}?", "answers": ["x"], "gold_ids": ["mur"]} for i in range(200)]
    odd = [ASKED[0] | {"id": "q3", "gold_ids": [], "answers": []}, ASKED[1] | {"id": "q4", "gold_ids": ["nowhere"]}]
    write(own / "questions.jsonl", *ASKED, *odd, *more)
    with (own / "corpus.jsonl").open("a") as file:
        file.write('\n{"id": "empty", "title": "", "text": " "}')
    assert read_dataset(own).remarks == (
        "204 questions over 4 documents (our own format).",
        "1 gold document not in the corpus, the first 'nowhere' of question 'q4'; they stay gold, and are never found.",
        f"1 skipped in reading the corpus, the first {own / 'corpus.jsonl'}:5: empty.",
        "1 of 204 questions without answers.",
        "1 of 204 questions without documents that hold the evidence (gold_ids).",
        "2 questions asked before in the same words: 'q3' (line 3) as 'q1' (line 1), and so on.",
    )


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([ASKED[0], ASKED[0]], r"questions\.jsonl:2: the id 'q1' was already used in line 1\. Give each"),
        (
            [ASKED[0] | {"gold_ids": ["p9"]}],
            r"questions\.jsonl: 1 of 1 gold ids are not .*'p9' \(question 'q1', line 1\)",
        ),
        ([], r"questions\.jsonl: no questions in it"),
    ],
)
def test_read_dataset_questions_that_do_not_fit_raise(own: Path, records: list[object], message: str) -> None:
    write(own / "questions.jsonl", *records)
    with pytest.raises(DataError, match=message):
        read_dataset(own)


def test_read_dataset_corpus_or_questions_alone_raise(own: Path) -> None:
    (own / "corpus.jsonl").rename(own / "texts.jsonl")
    with pytest.raises(
        DataError, match=r"no corpus; .* is there, but questions\.jsonl, texts\.jsonl\. .*questions\.jsonl itse"
    ):
        read_dataset(own)
    (own / "questions.jsonl").unlink()
    (own / "texts.jsonl").rename(own / "corpus.jsonl")
    with pytest.raises(
        DataError, match=r"no questions; neither questions\.jsonl nor queries\.jsonl is there.*questions=PATH"
    ):
        read_dataset(own)


def test_read_dataset_beir_is_read(beir: Path) -> None:
    dataset = read_dataset(beir)
    assert (dataset.name, dataset.format) == ("judged", "BEIR")
    assert [(q.id, q.gold) for q in dataset.questions] == [("1", ("mur",)), ("2", ("graz",))]
    assert dataset.files == (beir / "corpus.jsonl", beir / "qrels" / "test.tsv", beir / "queries.jsonl")
    assert dataset.remarks == (
        "2 questions over 4 documents (BEIR).",
        "1 question without judgements, left out.",
        "2 of 2 questions without answers.",
    )
    assert read_dataset(beir / "queries.jsonl") == dataset


def test_read_dataset_split_of_judgements_is_chosen_by_name(beir: Path) -> None:
    write(beir / "qrels" / "dev.tsv", "3\tosijek\t1")
    dataset = read_dataset(beir, "dev")
    assert (dataset.name, [q.gold for q in dataset.questions]) == ("judged-dev", [("osijek",)])


def test_read_dataset_questions_come_before_queries(beir: Path) -> None:
    write(beir / "questions.jsonl", *ASKED)
    dataset = read_dataset(beir)
    assert dataset.format == "our own format"
    assert dataset.remarks[1] == "queries.jsonl is there too, and was not read; for it give questions='queries'."
    assert read_dataset(beir, "queries").format == "BEIR" and read_dataset(beir, "questions").format == "our own format"


def test_read_dataset_hipporag_is_read(hippo: Path) -> None:
    dataset = read_dataset(hippo)
    assert (dataset.name, dataset.format, dataset.corpus) == ("hippo", "HippoRAG", hippo / "rivers_corpus.json")
    assert documents(dataset)[dataset.questions[0].gold[0]] == "Mur"
    assert documents(dataset)[dataset.questions[1].gold[0]] == "Drava"
    assert dataset.questions[1].type == "2hop" and dataset.questions[1].answers == ("Legrad", "at Legrad")
    assert dataset.files == (hippo / "rivers_corpus.json", hippo / "rivers.json")
    for given in ("rivers.json", "rivers_corpus.json"):
        assert read_dataset(hippo / given).questions == dataset.questions
        assert read_dataset(hippo / given).name == "rivers"
    with pytest.raises(DataError, match=r"no questions named 'cities' are there, but rivers\.json, rivers_corpus"):
        read_dataset(hippo, "cities")


def test_read_dataset_hipporag_unmarked_paragraphs_are_gold(hippo: Path) -> None:
    corpus = [{"idx": at, "title": title, "text": text} for at, (title, text) in enumerate(RIVERS.values())]
    write(hippo / "rivers_corpus.json", json.dumps([*corpus, corpus[2] | {"idx": 9}]))
    gold = [{"title": "Graz", "text": RIVERS["graz"][1]}]
    item = {"question": "Which city?", "possible_answers": '["Graz", "City of Graz"]', "paragraphs": gold}
    marked = [gold[0] | {"is_supporting": True}, {"title": "Mur", "text": RIVERS["mur"][1], "is_supporting": False}]
    two = {"question": "Which other?", "reference": ["Graz"], "contexts": marked}
    write(hippo / "rivers.json", json.dumps([item, two]))
    dataset = read_dataset(hippo)
    assert [(q.id, q.gold) for q in dataset.questions] == [("rivers-1", ("2",)), ("rivers-2", ("2",))]
    assert [q.answers for q in dataset.questions] == [("Graz", "City of Graz"), ("Graz",)]


def test_read_dataset_hipporag_one_of_several_sets_is_named(hippo: Path) -> None:
    write(hippo / "cities_corpus.json", json.dumps([{"title": "Graz", "text": RIVERS["graz"][1]}]))
    with pytest.raises(DataError, match=r"hippo: several sets, cities, rivers\. Name one, as questions='cities'"):
        read_dataset(hippo)
    dataset = read_dataset(hippo, "rivers")
    assert (dataset.name, len(dataset.questions)) == ("hippo-rivers", 2)
    with pytest.raises(DataError, match="no questions named 'river' are there"):
        read_dataset(hippo, "river")
    with pytest.raises(DataError, match=r"cities_corpus\.json: no questions; cities\.json is not beside it"):
        read_dataset(hippo / "cities_corpus.json")


def test_read_dataset_hipporag_titles_alone_raise(hippo: Path) -> None:
    write(hippo / "rivers_corpus.json", json.dumps({title: text.split(". ") for title, text in RIVERS.values()}))
    with pytest.raises(
        DataError, match=r"rivers_corpus\.json: .* no text, but Mur, Drava, Graz, Osijek\. Expected a list"
    ):
        read_dataset(hippo)


def test_read_dataset_hipporag_missing_evidence_raises(hippo: Path) -> None:
    write(hippo / "rivers_corpus.json", json.dumps([{"title": "Mur", "text": RIVERS["mur"][1]}]))
    with pytest.raises(
        DataError, match=r"rivers\.json: 1 of 2 gold ids .* 1 documents of the corpus: 'drava-\w+' \(question"
    ):
        read_dataset(hippo)


def test_read_dataset_questions_over_any_documents_are_read(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    for name, (_, text) in RIVERS.items():
        write(texts / f"{name}.md", text)
    write(texts / ".hidden" / "no.md", "no")
    asked = write(tmp_path / "mine.jsonl", ASKED[0] | {"gold_ids": ["mur.md"]})
    dataset = read_dataset(texts, asked)
    assert (dataset.name, dataset.format, dataset.corpus) == ("texts-mine", "documents", texts)
    assert set(documents(dataset)) == {f"{name}.md" for name in RIVERS}
    assert dataset.files == (*(texts / f"{name}.md" for name in sorted(RIVERS)), asked)
    item = read_dataset(texts / "mur.md", asked)
    assert item.corpus == texts / "mur.md" and len(documents(item)) == 1
    rows = write_corpus(tmp_path / "rows" / "texts.jsonl")
    asked = write(tmp_path / "rows.jsonl", ASKED[0])
    for given in (rows, rows.parent):
        assert read_dataset(given, asked).format == "documents"
    inside = write(texts / "deep" / "mine.jsonl", ASKED[0])
    with pytest.raises(DataError, match=r"mine\.jsonl is in .*texts, the folder of the documents\. Put it elsewhere"):
        read_dataset(texts, inside)


@pytest.mark.parametrize(
    ("name", "qrels"),
    [
        ("qrels.tsv", ["1\tmur\t2", "1\tdrava\t0", "2\tgraz\t1", ""]),
        ("qrels/dev.tsv", ["1 0 mur 2", "1 0 drava 0", "2 0 graz 1"]),
    ],
)
def test_read_dataset_judgements_of_other_forms_are_read(beir: Path, name: str, qrels: list[str]) -> None:
    (beir / "qrels" / "test.tsv").unlink()
    write(beir / name, *qrels)
    assert [*read_dataset(beir).questions] == [
        QuestionRecord("1", "one", gold=("mur",), metadata={"relevance": {"mur": 2, "drava": 0}}),
        QuestionRecord("2", "two", gold=("graz",), metadata={"relevance": {"graz": 1}}),
    ]


@pytest.mark.parametrize(
    ("lines", "split", "message"),
    [
        ({}, "", r"none of qrels/test\.tsv, qrels/dev\.tsv, .* is there"),
        ({"qrels/train.tsv": ["1\tmur\t1"]}, "dev", r"none of qrels/dev\.tsv is there\. There are judgements of train"),
        ({"qrels.tsv": ["1\tmur\t1", "9\tmur\t1"]}, "", r"1 of 2 judged questions are not in .*: 9"),
        ({"qrels.tsv": ["1\tmur\t1", "1\tmur\tgood"]}, "", r"qrels\.tsv:2: not a judgement: '1\\tmur\\tgood'"),
        ({"qrels.tsv": ["3\tosijk\t1"]}, "", r"qrels\.tsv: 1 of 1 gold ids are not among the 4 documents"),
    ],
)
def test_read_dataset_judgements_that_do_not_fit_raise(
    beir: Path, lines: dict[str, list[str]], split: str, message: str
) -> None:
    (beir / "qrels" / "test.tsv").unlink()
    for name, judgements in lines.items():
        write(beir / name, *judgements)
    with pytest.raises(DataError, match=message):
        read_dataset(beir, split)
