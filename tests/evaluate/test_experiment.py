"""Experiments as files: reading, writing, and equality after a round trip."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluate.small_run import write_set

from graphwright import ToPassages, VectorSearch
from graphwright.errors import DataError, OptionError
from graphwright.evaluate import Experiment
from graphwright.evaluate.entries import ComparedMethod
from graphwright.evaluate.experiment import read_plan, write_plan
from graphwright.evaluate.run import run
from graphwright.models import HashEncoder, OverlapCrossEncoder

SAID = """
data = "rivers"
limit = 2
baseline = "a b"
titles = false
metrics = ["recall@2", "mrr@10"]
[methods]
"a b" = "vector"
wide = "ppr(top_k=7, restart=0.3)"
own = "vector(top_k=2)"
"""


@pytest.fixture
def rivers(tmp_path: Path) -> Path:
    rows = [{"id": i, "text": f"The river {i} flows through town {i}."} for i in "abcd"]
    asked = [{"id": i, "question": f"What flows through town {i}?", "gold_ids": [i]} for i in "abc"]
    return write_set(tmp_path / "rivers", rows, asked)


def test_experiment_file_covers_all_fields(rivers: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(SAID, encoding="utf-8")
    result = read_plan(tmp_path / "plan.toml")
    assert result.data.resolve() == rivers.resolve() and (result.limit, result.titles) == (2, False)
    names = [entry.name for entry in result.entries()]
    assert names == ["a b", "wide", "own"] and result.against() == "a b"
    assert result.entries()[1].options == {"top_k": 7, "restart": 0.3}


def test_command_line_overrides_experiment_file(rivers: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(SAID, encoding="utf-8")
    result = read_plan(tmp_path / "plan.toml", limit=1, methods=("bm25",), baseline=None, data="elsewhere")
    assert result.limit == 1 and [entry.name for entry in result.entries()] == ["bm25"]
    assert result.data == Path("elsewhere")


def test_run_can_be_repeated_from_its_file(rivers: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(SAID, encoding="utf-8")
    first = run(read_plan(tmp_path / "plan.toml"), tmp_path / "one", encoder=HashEncoder())
    again = read_plan(tmp_path / "one" / "experiment.toml")
    second = run(again, tmp_path / "two", encoder=HashEncoder())
    selected = ("metrics", "options", "expression", "against_baseline", "tokens")
    for name, of in first["methods"].items():
        assert {part: second["methods"][name][part] for part in selected} == {part: of[part] for part in selected}


def test_experiment_file_round_trips(tmp_path: Path) -> None:
    odd = [
        ComparedMethod(name, "bm25")
        for name in ('odd "name"\n= x', "𝒜 😀", "del \x7f nul \x00", "C:\\new", "[a]\nb = 'c' #")
    ]
    methods = ["vector", "b = ppr(restart=0.5)", "lego-1(pruning='a  b\\n\x7f')", *odd]
    before = Experiment(tmp_path, methods, embed=("passages", "names"), linked=True, answered=False)
    write_plan(tmp_path / "plan.toml", before)
    after = read_plan(tmp_path / "plan.toml")
    assert after.entries() == before.entries()
    assert (list(after.embed or ()), after.linked, after.answered) == (["passages", "names"], True, False)


def test_empty_embedding_is_written(tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.toml", Experiment(tmp_path, ["bm25"], embed=()))
    assert read_plan(tmp_path / "plan.toml").embed == []


def test_relative_question_path_is_resolved(rivers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "mine.jsonl").write_text((rivers / "questions.jsonl").read_text())
    (tmp_path / "plan.toml").write_text('data = "rivers"\nmethods = ["bm25"]\nquestions = "others/mine.jsonl"')
    assert len(read_plan(tmp_path / "plan.toml").read().questions) == 3
    monkeypatch.chdir(tmp_path / "others")
    write_plan(tmp_path / "again.toml", Experiment(rivers, ["bm25"], questions="mine.jsonl"))
    write_plan(tmp_path / "usual.toml", Experiment(rivers, ["bm25"], questions="questions"))
    monkeypatch.chdir(rivers)
    assert read_plan(tmp_path / "again.toml").read().name == "rivers-mine"
    assert read_plan(tmp_path / "usual.toml").questions == "questions"


def test_objects_are_omitted_with_remark(tmp_path: Path) -> None:
    methods = ["rerank", ComparedMethod("mine", "rerank", {"cross_encoder": OverlapCrossEncoder()})]
    write_plan(tmp_path / "plan.toml", Experiment(tmp_path, methods))
    message = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    assert "# mine is made with objects" in message
    assert [entry.name for entry in read_plan(tmp_path / "plan.toml").entries()] == ["rerank"]


def test_function_is_omitted_with_remark(tmp_path: Path) -> None:
    def mine(ix):  # type: ignore[no-untyped-def]
        return VectorSearch(ix.passages) >> ToPassages()

    write_plan(tmp_path / "plan.toml", Experiment(tmp_path, ["vector", mine, ComparedMethod("a\nb = 3", mine)]))
    assert "# mine is a function" in (tmp_path / "plan.toml").read_text(encoding="utf-8")
    assert [entry.name for entry in read_plan(tmp_path / "plan.toml").entries()] == ["vector"]


@pytest.mark.parametrize(
    ("message", "error", "says"),
    [
        ("data = ", DataError, "is not a TOML file"),
        ('data = "x"', DataError, "has no methods"),
        ('methods = ["bm25"]', DataError, "has no data"),
        ('data = "x"\nmethods = ["bm25"]\nlimits = 3', DataError, "the key 'limits'; an experiment has"),
        ('data = 3\nmethods = ["bm25"]', DataError, "data is 3; it must be a text"),
        ('data = "x"\n[methods]\na = 3', OptionError, "3 is not a method"),
        ('data = "x"\n[methods]\na = {method = "bm25", option = {}}', OptionError, "is not a method"),
        ('data = "x"\nmethods = ["bm25"]\nlimit = "5"', OptionError, "limit is '5'; it must be a whole number"),
        ('data = "x"\nmethods = ["bm25"]\nseed = 2020-01-01', OptionError, "seed is .*; it must be a whole number"),
        ('data = "x"\nmethods = ["bm25"]\ntitles = "no"', OptionError, "titles is 'no'; it must be one of True, False"),
        ('data = "x"\nmethods = "bm25"', OptionError, "give a list of methods"),
    ],
)
def test_unreadable_experiment_is_named(tmp_path: Path, message: str, error: type[Exception], says: str) -> None:
    (tmp_path / "plan.toml").write_text(message, encoding="utf-8")
    with pytest.raises(error, match=says):
        read_plan(tmp_path / "plan.toml")
    with pytest.raises(DataError, match="no such file"):
        read_plan(tmp_path / "missing.toml")
