"""The evaluate command, with the embedded encoder, as the application registers it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.evaluate.small_run import write_set
from typer.testing import CliRunner

from graphwright.cli.experiments import evaluate
from graphwright.cli.options import Commands
from graphwright.errors import OptionError

app = Commands()
app.command()(evaluate)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    corpus = [{"id": "bread", "title": "Bread", "text": "Bread is baked from dough."},
              {"id": "mur", "title": "Mur", "text": "The Mur flows through Graz."}]  # fmt: skip
    asked = [{"id": "q1", "question": "What is baked from dough?", "gold_ids": ["bread"]},
             {"id": "q2", "question": "What flows through Graz?", "gold_ids": ["mur"]}]  # fmt: skip
    return write_set(tmp_path / "bread", corpus, asked)


def test_command_prints_table_then_json(data: Path, tmp_path: Path) -> None:
    arguments = ["--data", str(data), "--methods", "vector, bm25", "--out", str(tmp_path / "run")]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "| vector | 100.0 (100.0–100.0) |" in first.stdout
    assert str(tmp_path / "run") in first.stderr and str(tmp_path / "run") not in first.stdout
    again = CliRunner().invoke(app, [*arguments, "--json", "--baseline", "bm25"])
    summary = json.loads(again.stdout)
    assert summary["baseline"] == "bm25"
    assert summary["methods"]["vector"]["tokens"] > 0
    against = summary["methods"]["vector"]["against_baseline"]["recall@5"]
    assert against == {"difference": 0.0, "p": 1.0, "corrected": 1.0}


def test_command_passes_wrong_names_on(data: Path, tmp_path: Path) -> None:
    arguments = ["--data", str(data), "--methods", "vektor", "--out", str(tmp_path / "run")]
    with pytest.raises(OptionError, match="no method 'vektor'"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert not (tmp_path / "run").exists()
