"""Sources of data sets, and the questions named with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.question_sets.small_sets import write

from graphwright.data.question_sets.questions import Source, contents
from graphwright.errors import DataError


@pytest.mark.parametrize(
    ("path", "asked", "name"),
    [
        ("", None, "set"),
        ("", "2hop_dev.jsonl", "set-2hop_dev"),
        ("", "questions.jsonl", "set"),
        ("corpus.jsonl.gz", None, "set"),
        ("dev.jsonl", None, "set-dev"),
        ("hotpot_dev.json", None, "hotpot_dev"),
        ("hotpot_dev.json", "mine.jsonl", "hotpot_dev-mine"),
        ("musique_corpus.json", "musique.json", "musique"),
    ],
)
def test_source_name_is_that_of_folder_file_and_questions(
    tmp_path: Path, path: str, asked: str | None, name: str
) -> None:
    folder = tmp_path / "set"
    given = write(folder / path, "") if path else write(folder / "corpus.jsonl", "").parent
    assert Source(given, None if asked is None else folder / asked).name == name


def test_source_of_questions_are_file_or_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = write(tmp_path / "set" / "dev.jsonl", ""), write(tmp_path / "mine.jsonl", "")
    monkeypatch.chdir(tmp_path)
    assert Source.of("set", "dev").questions == Path("set/dev.jsonl") and Source.of("set", here).has_questions_inside
    assert Source.of(here.parent, "mine.jsonl") == Source(here.parent, Path("mine.jsonl"))
    assert not Source.of("set", there).has_questions_inside
    assert Source.of("set", "test") == Source(Path("set"), split="test")
    assert Source.of("set") == Source.of("set", Path()) == Source(Path("set"))


def test_source_of_missing_path_raises(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        Source.of(tmp_path / "none")
    with pytest.raises(DataError, match="no such file or folder: sets/dev"):
        Source.of(tmp_path, "sets/dev")


def test_contents_long_list_is_cut(tmp_path: Path) -> None:
    for at in range(15):
        write(tmp_path / f"{at:02}.jsonl", "")
    write(tmp_path / ".hidden", "")
    (tmp_path / "00").mkdir()
    assert contents(tmp_path).startswith("00.jsonl, 00/, 01.jsonl") and contents(tmp_path).endswith(
        "06.jsonl and 8 more"
    )
