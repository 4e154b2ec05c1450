"""The methods without retrieval: they require a language model, and say so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.shared import CORPUS, corpus_index

from graphwright.cli.app import main
from graphwright.errors import OptionError
from graphwright.evaluate import Experiment
from graphwright.evaluate.run import run
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import HashEncoder, ScriptedLLM

REPLY = '{"reasoning": "It was hers.", "found": true, "text": "Erstein Abbey"}'
QUESTION = "Which abbey did the mother of Lothair II found?"
ALONE = ["vanilla", "cot"]


def test_llm_only_methods_require_model() -> None:
    assert [name for name, method in METHODS.items() if method.required] == ALONE
    assert all(METHODS[name].required == ("llm",) and METHODS[name].options == {"llm": None} for name in ALONE)


@pytest.mark.parametrize("name", ALONE)
def test_llm_only_answer_has_no_citations(name: str) -> None:
    index, llm = corpus_index(), ScriptedLLM(lambda system, user: REPLY)
    state = index.ask(QUESTION, name, llm=llm)
    assert state.answer is not None and state.answer.text == "Erstein Abbey" and not state.answer.citations
    assert state.passages is None and state.trace[-1].notes == (("It was hers.",) if name == "cot" else ())
    result = index.retrieve(QUESTION, name, llm=llm)
    assert result.answer is None and result.passages is None


@pytest.mark.parametrize("name", ALONE)
def test_llm_only_without_model_raises_with_remedy(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    index = corpus_index()
    for build in (lambda: make_method(name, index.snapshot), lambda: METHODS[name](index.snapshot, llm=None)):
        with pytest.raises(OptionError, match=f"{name} needs a language model .*--llm MODEL"):
            build()


def test_command_without_model_prints_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "graz.txt").write_text("Graz lies on the Mur.", encoding="utf-8")
    with pytest.raises(SystemExit) as done:
        main(["index", str(tmp_path / "docs"), "--into", str(tmp_path / "index")])
    assert not done.value.code
    capsys.readouterr()
    with pytest.raises(SystemExit) as done:
        main(["ask", "Where is Graz?", "--index", str(tmp_path / "index"), "--method", "vanilla"])
    assert done.value.code == 2 and "vanilla needs a language model" in capsys.readouterr().err
    with pytest.raises(SystemExit) as done:
        main(["methods", "--index", str(tmp_path / "index"), "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert not done.value.code and rows["vanilla"]["expression"] == "" and rows["vector"]["expression"]


def test_experiment_with_llm_only_method_raises(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "corpus.jsonl").write_text("\n".join(json.dumps(document) for document in CORPUS), encoding="utf-8")
    question = {"id": "q", "question": QUESTION, "gold_ids": ["ermengarde"]}
    (data / "questions.jsonl").write_text(json.dumps(question), encoding="utf-8")
    with pytest.raises(OptionError, match="vanilla needs a language model"):
        run(Experiment(data, ("vanilla",)), tmp_path / "a", encoder=HashEncoder())

    def with_model(snapshot):
        return METHODS["vanilla"](snapshot, llm=ScriptedLLM([REPLY]))

    with pytest.raises(OptionError, match="ranks no passages"):
        run(Experiment(data, (with_model,)), tmp_path / "b", encoder=HashEncoder())
