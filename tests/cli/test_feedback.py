"""The feedback commands: questions for evaluate, and a ranking that is refit and undone."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import graphwright

from graphwright import Index
from graphwright.evaluate import GateFit
from graphwright.evaluate import gate as gates
from graphwright.serve.feedback import FEEDBACK_FILE, Feedback, FeedbackBody, Quote

RIVER = "On which river does Graz lie?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An index with feedback on it in the folder `data` beside it."""
    with Index.create(tmp_path / "index") as index, closing(Feedback(tmp_path / "data")) as feedback:
        index.add(
            [{"id": "graz.md", "text": "Graz lies on the Mur."}, {"id": "linz.md", "text": "Linz is in Austria."}]
        )
        feedback.add(index, FeedbackBody(question="Who?", verdict="wrong"), "Ida")
        quotes = (Quote(document="graz.md", quote="Graz lies on the Mur."),)
        said = FeedbackBody(question=RIVER, verdict="helpful", answer="Mur", answers=("Mur",), quotes=quotes)
        feedback.add(index, said, "Ida")
    return tmp_path / "index"


def test_export_prints_questions_that_evaluate_measures(folder: Path, tmp_path: Path) -> None:
    done = graphwright("feedback", "export", "--index", folder, "--data", tmp_path / "data")
    assert done.returncode == 0 and done.stderr == "1 question with a right answer or passage.\n"
    assert json.loads(done.stdout)["gold_ids"] == ["graz.md"]
    (tmp_path / "questions.jsonl").write_text(done.stdout, encoding="utf-8")
    paths = "--data", tmp_path / "questions.jsonl", "--index", folder, "--out", tmp_path / "run"
    measured = graphwright("evaluate", *paths, "--methods", "bm25", "--metrics", "recall@1", "--json")
    assert json.loads(measured.stdout)["methods"]["bm25"]["metrics"]["recall@1"]["mean"] == 1


def test_export_leaves_out_removed_documents(folder: Path, tmp_path: Path) -> None:
    assert graphwright("remove", "graz.md", "--index", folder).returncode == 0
    done = graphwright("feedback", "export", "--index", folder, "--data", tmp_path / "data")
    assert done.returncode == 1 and done.stdout == "" and "no feedback with a right answer" in done.stderr
    assert b"Graz" not in b"".join(file.read_bytes() for file in (tmp_path / "data").glob(f"{FEEDBACK_FILE}*"))


def test_export_without_data_folder_makes_none(folder: Path, tmp_path: Path) -> None:
    done = graphwright("feedback", "export", "--index", folder, "--data", tmp_path / "elsewhere")
    assert done.returncode == 1 and "--data DIR" in done.stderr
    assert not (tmp_path / "elsewhere").exists()


def test_refit_on_few_questions_changes_nothing(folder: Path, tmp_path: Path) -> None:
    done = graphwright("feedback", "refit", "--index", folder, "--data", tmp_path / "data")
    assert done.returncode == 1 and "1 question with right passages" in done.stderr
    assert "ranking" not in graphwright("info", folder).stdout


def test_refit_is_shown_and_undone(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "MIN_QUESTIONS", 1)
    monkeypatch.setattr(gates, "fitted", lambda quality: GateFit(2.0, len(quality), 0.5, 0.75, 0.01))
    done = graphwright("feedback", "refit", "--index", folder, "--data", tmp_path / "data")
    assert done.returncode == 0 and "gate +2" in done.stdout and "0.500 without it, and 0.750 with" in done.stdout
    assert "refit on feedback (gate +2)" in graphwright("info", folder).stdout
    undone = graphwright("feedback", "refit", "--index", folder, "--undo")
    assert undone.returncode == 0 and "refit on feedback" not in graphwright("info", folder).stdout
