"""The train commands, from questions and a graph to an answer by the trained retriever."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.command import graphwright
from tests.llm_server import LLMServer, Say

NOUNS = ("Harbor", "Winter", "Moon", "Garden", "Road")
FILMS = [f"{first} {noun}" for first in ("Red", "Blue", "Lost", "Last", "Cold", "High", "Old", "Far") for noun in NOUNS]
PEOPLE = [f"{name} {family}" for name in ("Anna", "Bert", "Carl", "Dora") for family in ("Berg", "Cole", "Dahl")]
KINDS = {"who directed {}": "directed_by", "who wrote {}": "written_by", "when was {}": "release_year"}


def triples() -> list[tuple[str, str, str]]:
    """Films, each with a director, a writer, who is sometimes the same, and a year."""
    draw, made = np.random.default_rng(2), []
    for film in FILMS:
        director, writer = draw.permutation(PEOPLE)[:2].tolist()
        made += [(film, "directed_by", director), (film, "written_by", director if draw.random() < 0.2 else writer)]
        made += [(film, "release_year", f"{1990 + draw.integers(4)}")]
    return made


TRIPLES = triples()


def question(film: str, kind: str) -> dict[str, Any]:
    answers = [tail for head, relation, tail in TRIPLES if (head, relation) == (film, KINDS[kind])]
    return {"id": kind.format(film), "question": kind.format(film), "topic_entities": [film], "answers": answers}


ASKED = [question(film, kind) for film in FILMS for kind in KINDS]
LEARNED, HELD = ASKED[:-12], ASKED[-12:]


def write(path: Path, questions: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in questions), encoding="utf-8")
    return path


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of the films, and the questions to learn from."""
    folder = tmp_path_factory.mktemp("training")
    (folder / "kb.tsv").write_text("".join("\t".join(row) + "\n" for row in TRIPLES), encoding="utf-8")
    write(folder / "questions.jsonl", LEARNED)
    done = graphwright("import", folder / "kb.tsv", "--into", folder / "films")
    assert done.returncode == 0, done.stderr
    return folder


def train(place: Path, *arguments: object) -> Any:
    """Run a train command over that index, torch on one core."""
    if arguments[0] != "labels":
        pytest.importorskip("torch").set_num_threads(1)
    return graphwright("train", *arguments, "--index", place / "films")


@pytest.fixture(scope="module")
def labelled(place: Path) -> Path:
    """Labels of the questions, made by the command itself."""
    done = train(place, "labels", place / "questions.jsonl", "--into", place / "labels")
    assert done.returncode == 0, done.stderr
    assert "questions: 108\n" in done.stdout and "chosen, mean: 1.0" in done.stdout
    assert done.stderr.endswith(f"labels: {place / 'labels'}\n")
    return place / "labels"


@pytest.fixture(scope="module")
def trained(place: Path, labelled: Path) -> Path:
    """A path retriever, trained on these labels by the command itself."""
    into = place / "films.retriever"
    done = train(place, "path", "--labels", labelled, "--into", into)
    assert done.returncode == 0, done.stderr
    assert re.search(r"first path kept after epoch \d+ of \d+, which is kept: 100.0 %\n", done.stdout)
    assert f"retriever: {into}\n" in done.stdout
    return into


def ask(place: Path, question: str, *more: object) -> dict[str, Any]:
    done = graphwright("ask", question, "--index", place / "films", "--json", *more)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_trained_retriever_answers_unseen_questions(place: Path, trained: Path) -> None:
    for item in HELD:
        result = ask(place, item["question"], "--method", "reg", "--retriever", trained)
        assert result["answer"].splitlines() == item["answers"]
        # With the chain that leads there.
        (path,) = {tuple(citation["path"]) for citation in result["citations"]}
        assert path in TRIPLES and path[0] == item["topic_entities"][0]


def test_retrieve_ranks_by_trained_retriever(place: Path, trained: Path) -> None:
    question, method = HELD[0]["question"], ("--method", "reg", "--retriever", trained, "--json")
    done = graphwright("retrieve", question, "--index", place / "films", *method)
    result = json.loads(done.stdout)
    assert done.returncode == 0 and result["answer"] is None
    assert any(step["operator"].startswith("Decode(PathRetriever") for step in result["trace"])


def test_train_command_makes_retriever_from_questions(place: Path, tmp_path: Path) -> None:
    into = tmp_path / "r"
    few = ("--epochs", 2, "--patience", 1, "--limit", 12, "--seed", 5, "--length", 2, "--nodes", 50)
    done = train(place, "triple", place / "questions.jsonl", "--into", into, *few, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["questions"] == 12 and result["retriever"] == str(into) and result["about"]["schedule"]["seed"] == 5
    assert result["about"]["schedule"]["patience"] == 1
    assert {name: result["about"]["labels"][name] for name in ("length", "nodes")} == {"length": 2, "nodes": 50}
    # The labels stay beside it, to be read, mended and used again.
    assert {path.name for path in tmp_path.iterdir()} == {"r", "r.labels.jsonl"}
    ids = [row["id"] for row in written(tmp_path / "r.labels.jsonl")[1:]]
    assert len(set(ids)) == 12 and ids != [item["id"] for item in LEARNED[:12]]
    assert ask(place, HELD[0]["question"], "--method", "reg", "--retriever", into)["answer"]


@pytest.mark.parametrize("option", ["encoder", "cross_encoder"])
def test_model_for_method_without_one_is_refused(place: Path, option: str) -> None:
    wrong = graphwright("ask", "?", "--index", place / "films", "--method", f"vector({option}='minilm')")
    assert wrong.returncode == 2 and "vector has no option" in wrong.stderr


FIRST = LEARNED[0]
WHERE = f"bad.jsonl:1: question {FIRST['id']!r}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "bad.jsonl: no questions in it. Expected JSON lines with id and question."),
        ('{"id": 1', "bad.jsonl:1: not JSON"),
        (
            json.dumps(FIRST | {"topic_entities": ["Red Harbour"]}),
            f"{WHERE} has the entity 'Red Harbour' (nearest names",
        ),
        (json.dumps(FIRST | {"answers": ["Nobody"]}), f"{WHERE} has the answer 'Nobody' (nearest names"),
        (json.dumps(FIRST | {"answers": []}), f"{WHERE} has no answers; list them as answers"),
    ],
    ids=["empty", "no JSON", "unknown entity", "unknown answer", "no answers"],
)
@pytest.mark.parametrize("command", ["labels", "path"])
def test_bad_training_file_is_reported_with_line(
    place: Path, tmp_path: Path, command: str, content: str, message: str
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text(content, encoding="utf-8")
    done = train(place, command, bad, "--into", tmp_path / "out")
    assert done.returncode == 1 and done.stdout == "" and message in done.stderr
    assert done.stderr.startswith("graphwright: ") and done.stderr.count("graphwright: ") == 1
    assert "Traceback" not in done.stderr and list(tmp_path.iterdir()) == [bad]


def test_omitted_questions_are_reported(place: Path, tmp_path: Path) -> None:
    some = write(tmp_path / "some.jsonl", [LEARNED[0], LEARNED[1] | {"answers": ["Nobody"]}])
    assert train(place, "labels", some, "--into", tmp_path / "l").returncode == 1
    done = train(place, "labels", some, "--into", tmp_path / "l", "--max-unusable", 0.5)
    assert done.returncode == 0 and "questions: 1\n" in done.stdout
    assert f"left out. The first: {some}:2: question {LEARNED[1]['id']!r} has the answer 'Nobody'" in done.stderr


def chooses(asked: dict[str, Any]) -> Say:
    """A model that chooses the first path whose relation the question speaks of."""
    prompt = asked["messages"][-1]["content"].split("The question:")[-1]
    lines = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"path"')]
    relation = next(relation for kind, relation in KINDS.items() if kind.format("") in prompt)
    return Say(json.dumps({"paths": [row["path"] for row in lines if f"[{relation}]" in row["text"]][:1]}), (2_000, 10))


def test_training_by_model_stops_at_budget_and_continues(place: Path, tmp_path: Path) -> None:
    few, into = write(tmp_path / "few.jsonl", LEARNED[:6]), tmp_path / "l"
    with LLMServer(chooses) as server:
        llm = ("--refine", "llm", "--llm", "m", "--base-url", server.url, "--json")
        done = train(place, "labels", few, "--into", into, *llm, "--max-tokens", 12_000)
        paid = len(server.requests)
        assert done.returncode == 1 and "Raise max_tokens" in done.stderr and 0 < paid < 6
        assert len(written(into)) == 1 + paid
        done = train(place, "labels", few, "--into", into, *llm)
        assert done.returncode == 0 and json.loads(done.stdout)["chosen, mean"] == 1.0
        assert len(server.requests) == 6  # none is paid for twice
    selected = {row["id"]: row["kept"][0]["path"] for row in written(into)[1:]}
    relations = list(KINDS.values()) * 2
    assert selected == {
        item["id"]: f"{item['topic_entities'][0]} → [{relation}]"
        for item, relation in zip(LEARNED[:6], relations, strict=True)
    }


@pytest.mark.parametrize("method", [(), ("--method", "ppr")])
@pytest.mark.parametrize("command", ["ask", "retrieve"])
def test_retriever_of_other_method_is_refused(place: Path, command: str, method: tuple[str, ...]) -> None:
    done = graphwright(command, "who", "--index", place / "films", "--retriever", "x", *method)
    named = method[-1] if method else "not given"
    message = f"graphwright: --retriever is for --method reg; the method is {named}.\n"
    assert done.returncode == 2 and done.stderr == message


@pytest.mark.parametrize(
    ("file", "message"), [("none", "no such file. Train a retriever"), ("kb.tsv", "is not a trained retriever")]
)
def test_other_file_as_retriever_is_reported(place: Path, file: str, message: str) -> None:
    done = graphwright("ask", "who", "--index", place / "films", "--method", "reg", "--retriever", place / file)
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ("path", "questions.jsonl", "--index", "films"),
        ("path", "questions.jsonl", "--into", "r"),
        ("path", "--index", "films", "--into", "r"),
        ("path", "questions.jsonl", "--labels", "labels", "--index", "films", "--into", "r"),
        ("path", "questions.jsonl", "--index", "films", "--into", "r", "--refine", "best"),
        ("path", "questions.jsonl", "--index", "films", "--into", "r", "--refine", "llm"),
        ("triple", "questions.jsonl", "--index", "films", "--into", "r", "--epochs", "0"),
        ("triple", "questions.jsonl", "--index", "films", "--into", "r", "--limit", "0"),
        ("labels", "questions.jsonl", "--index", "films", "--into", "r", "--refine", "llm"),
        ("labels", "questions.jsonl", "--index", "films", "--into", "r", "--llm", "m"),
        ("labels", "questions.jsonl", "--index", "films", "--into", "r", "--max-unusable", "2"),
    ],
)
def test_wrong_training_options_leave_nothing(
    place: Path, wrong: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    if wrong[0] != "labels":
        pytest.importorskip("torch")
    monkeypatch.chdir(place)
    before = sorted(place.iterdir())
    done = graphwright("train", *wrong)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
    assert sorted(place.iterdir()) == before


def test_training_without_torch_is_refused_first(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    questions = place / "questions.jsonl"
    done = graphwright("train", "entity", questions, "--index", place / "films", "--into", tmp_path / "r")
    assert done.returncode == 1 and "pip install 'graphwright[train]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_labels_of_other_questions_are_refused(place: Path, tmp_path: Path) -> None:
    item, other = (
        write(tmp_path / name, [question | {"id": n} for n, question in enumerate(questions)])
        for name, questions in (("one.jsonl", LEARNED[:8]), ("other.jsonl", HELD[:8]))
    )
    few = ("--into", tmp_path / "r", "--epochs", 1)
    assert train(place, "path", item, *few).returncode == 0
    before = (tmp_path / "r.labels.jsonl").read_bytes()
    done = train(place, "path", other, *few)
    assert done.returncode == 2 and "r.labels.jsonl" in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "r.labels.jsonl").read_bytes() == before
