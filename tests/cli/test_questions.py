"""Questions that begin with a dash, and misspelt options beside questions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from graphwright.cli.app import app

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def parsed(name: str, *words: str) -> dict[str, object]:
    given: dict[str, object] = COMMANDS[name].make_context(name, list(words)).params
    return given


@pytest.mark.parametrize("name", ["ask", "retrieve"])
@pytest.mark.parametrize("question", ["-Xmx", "-Xmx what is it?", "--no-verify", "-m means what?", "-1"])
def test_question_with_a_dash_is_asked_wherever_it_stands(name: str, question: str, tmp_path: Path) -> None:
    index = str(tmp_path)
    for words in ((question, "--index", index), ("--index", index, "-k", "5", question), ("--json", "-k5", question)):
        given = parsed(name, *words, *(() if "--index" in words else ("--index", index)))
        assert given["question"] == question
    assert given["top_k"] == 5 and given["as_json"]
    assert parsed(name, "--index", index, "--", question)["question"] == question


def test_value_with_a_dash_stays_the_value_of_its_option(tmp_path: Path) -> None:
    given = parsed("ask", "--where", "-x = 3", "--where=kind = memo", "Who?", "--index", str(tmp_path))
    assert given["question"] == "Who?" and given["where"] == ["-x = 3", "kind = memo"]


@pytest.mark.parametrize("words", [("Who?", "--offlin"), ("--ofline",), ("--jsn", "Who?"), ("-x", "-y")])
def test_misspelt_option_is_an_error(words: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(Exception, match="No such option"):
        parsed("ask", *words, "--index", str(tmp_path))


def test_text_paths_and_missing_options_are_read_without_pydantic(tmp_path: Path) -> None:
    code = (
        "import sys; from graphwright.cli.app import _parser; group = _parser(); "
        "group.make_context('graphwright', ['--help'], resilient_parsing=True); "
        f"given = group.commands['ask'].make_context('ask', ['Wér?', '--index', {str(tmp_path)!r}]).params; "
        "print(repr((given['question'], given['index'], given['top_k'], given['where'])), 'pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-X", "utf8", "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == f"{('Wér?', tmp_path, None, ())!r} False"
