"""The command that lists and copies prompts, and the instruction of an answer, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import graphwright
from tests.cli.test_indexing import model
from tests.llm_server import LLMServer
from tests.shared import CORPUS

from graphwright import Index
from graphwright.models import HashEncoder
from graphwright.operators.run import NOT_FOLLOWED
from graphwright.prompts.templates import packaged, prompts_of_index

QUESTION = "Which abbey did Ermengarde found?"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prompts") / "ix"
    with Index.create(folder) as index:
        index.add(CORPUS)
    return folder


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(model) as running:
        yield running


def test_prompts_are_listed_and_copied(tmp_path: Path) -> None:
    listed = graphwright("prompts").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(prompts_of_index())
    done = graphwright("prompts", "--copy", tmp_path / "a" / "b", "answer", "extract")
    assert done.returncode == 0 and done.stdout.endswith("2 prompts\n")
    assert sorted(file.name for file in (tmp_path / "a" / "b").iterdir()) == ["answer.txt", "extract.txt"]
    assert (tmp_path / "a" / "b" / "answer.txt").read_text(encoding="utf-8") == packaged("answer")
    assert graphwright("prompts", "answer").stdout.strip() == packaged("answer").strip()
    (row,) = json.loads(graphwright("prompts", "answer", "--json").stdout)
    assert row["text"] == packaged("answer") and row["purpose"] and not row["replaced"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("anser",), "Did you mean 'answer'?"),
        (("--copy", "new", "refine"), "a prompt of evaluation or training"),
        (("--copy", "old"), "answer.txt exists; nothing was written"),
        (("--copy", "old/answer.txt", "extract"), "cannot be written"),
        (("--copy", "new", "--index", "old"), "leave out --index"),
    ],
)
def test_impossible_copies_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old").mkdir()
    Path("old/answer.txt").touch()
    failed = graphwright("prompts", *options)
    assert failed.returncode == 2 and message in failed.stderr, failed.stderr
    assert not Path("new").exists() and len(list(Path("old").iterdir())) == 1


def test_own_prompt_of_index_is_shown_and_checked(tmp_path: Path) -> None:
    Index.create(tmp_path / "ix", encoder=HashEncoder()).close()
    assert graphwright("prompts", "--copy", tmp_path / "ix" / "prompts", "answer").returncode == 0
    file = tmp_path / "ix" / "prompts" / "answer.txt"
    file.write_text(file.read_text(encoding="utf-8").replace("${passages}", ""), encoding="utf-8")
    failed = graphwright("ask", QUESTION, "--index", tmp_path / "ix")
    assert failed.returncode == 2 and f"{file} lacks the field ${{passages}}" in failed.stderr


def test_instruction_reaches_model_from_option_and_settings(made: Path, server: LLMServer) -> None:
    (made / "settings.toml").write_text(f'[llm]\nmodel = "m"\nbase_url = "{server.url}"\ninstruction = "in German"\n')
    try:
        for options, instruction in (((), "in German"), (("--instruction", "in verse"), "in verse")):
            done = graphwright("ask", QUESTION, "--index", made, *options)
            assert done.returncode == 0 and NOT_FOLLOWED not in done.stderr
            assert f'{{"instruction": "{instruction}"}}' in server.requests[-1].json["messages"][0]["content"]
    finally:
        (made / "settings.toml").unlink()


def test_instruction_offline_is_noted(made: Path) -> None:
    done = graphwright("ask", QUESTION, "--index", made, "--instruction", "in German")
    assert done.returncode == 0 and done.stderr.count(NOT_FOLLOWED) == 1
    assert done.stdout == graphwright("ask", QUESTION, "--index", made).stdout
