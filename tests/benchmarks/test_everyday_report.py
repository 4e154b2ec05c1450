from __future__ import annotations

from argparse import ArgumentParser, Namespace

import pytest
from questions.report import add_arguments, ask_all, of_half, page, results, summary
from questions.score import Question, half_of

from graphwright import Index
from graphwright.errors import ModelError


def question(number: int, kind: str = "fact", accept: tuple[tuple[str, ...], ...] = (("Mur",),)) -> Question:
    identity = f"graz-{number:02}"
    evidence = ({"document": "graz", "text": "lies on the Mur"},) if accept else ()
    return Question(
        identity, "graz", half_of(identity), kind, "", f"On which river does Graz lie? ({number})",
        accept, (), False, evidence, 40, "It says the Mur.",
    )  # fmt: skip


def options(*words: str) -> Namespace:
    parser = ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(words)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    made = Index(tmp_path_factory.mktemp("everyday") / "index")
    made.add([{"id": "graz", "title": "Graz", "text": "Graz lies on the Mur. Its clock tower was built in 1560."}])
    return made


def test_open_half_is_default_and_halves_partition() -> None:
    questions = [question(number) for number in range(20)]
    halves = [of_half(questions, half) for half in ("open", "closed")]
    assert options().half == "open" and all(halves)
    assert sorted(item.id for half in halves for item in half) == [item.id for item in of_half(questions, "both")]


def test_answers_are_scored_and_shown(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = ask_all(index, [question(1)], options("--method", "bm25", "--show"))
    assert row["verdict"] == "good" and row["found"]
    assert capsys.readouterr().out.startswith("good    graz-01  On which river does Graz lie? (1)\n        answer: ")


def test_failing_question_is_unanswered_and_others_continue(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = index.ask

    def failing(text: str, *args: object, **more: object) -> object:
        if "(1)" in text:
            raise ModelError("the server is away")
        return ask(text)

    monkeypatch.setattr(index, "ask", failing)
    first, second = ask_all(index, [question(1), question(2)], options())
    assert (first["verdict"], first["error"]) == ("missed", "ModelError: the server is away")
    assert second["verdict"] == "good"
    unanswerable = ask_all(index, [question(1, "unanswerable", ())], options())
    assert unanswerable[0]["verdict"] == "missed"  # a failure recognises nothing


def test_page_shows_percentages_by_group(index: Index) -> None:
    fields = {"source": "graz", "half": "open", "variant": "", "found": True, "short": [], "text": ""}
    kinds_and_verdicts = [("fact", "good"), ("fact", "wrong"), ("unanswerable", "good"), ("unanswerable", "wrong")]
    rows = [
        {"id": str(at), **fields, "kind": kind, "verdict": mark} for at, (kind, mark) in enumerate(kinds_and_verdicts)
    ]
    counts = summary(rows)
    assert counts["answerable"] == {"questions": 2, "good": 1, "half": 0, "useless": 0, "missed": 0, "wrong": 1}
    assert "| kind fact | 2 | 50 | 0 | 0 | 0 | 50 |" in page(counts)
    assert "Unanswerable questions recognised: 50 %." in page(counts)
    assert "none asked" in page(summary(rows[:2]))
    stored = results(rows, index.default_method, options())
    assert stored["method"] == index.default_method and all("text" not in row for row in stored["verdicts"])
