"""The week in the docs, command by command, against a language model that the test starts."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.command import graphwright
from tests.cli.test_indexing import model
from tests.models.llm_server import LLMServer
from tests.toys import CORPUS

WEEK = (Path(__file__).parents[1] / "docs" / "week.md").read_text(encoding="utf-8")
ADDRESS = "http://localhost:11434/v1"


def week() -> dict[str, tuple[list[str], str]]:
    """The commands of each day, and the settings file that it shows, if it does."""
    days = {}
    for part in WEEK.split("\n## ")[1:-1]:
        commands = [line for block in re.findall(r"```sh\n(.*?)```", part, re.S) for line in block.splitlines() if line]
        days[part.partition(":")[0]] = commands, "".join(re.findall(r"```toml\n(.*?)```", part, re.S))
    return days


def test_every_command_of_the_week_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notes = tmp_path / "notes"
    notes.mkdir()
    for row in CORPUS:
        (notes / f"{row['id']}.txt").write_text(f"{row['title']}\n\n{row['text']}", encoding="utf-8")
    output: dict[str, list[str]] = {}
    with LLMServer(model) as server:
        for day, (commands, settings) in week().items():
            output[day] = []
            for command in commands:
                if settings and "ask" in command:
                    Path("my-index/settings.toml").write_text(settings.replace(ADDRESS, server.url), encoding="utf-8")
                name, *arguments = shlex.split(command.replace(ADDRESS, server.url))
                assert name == "graphwright"
                done = graphwright(*arguments)
                # The scripted model follows no schema but its own, and the doctor says so.
                assert done.returncode == 0 or (arguments[0] == "doctor" and "schema" in done.stdout), done.stderr
                output[day].append(done.stdout)
            if day == "Monday":
                (notes / f"{CORPUS[1]['id']}.txt").write_text("Changed.", encoding="utf-8")
                (notes / "new.txt").write_text("Something new.", encoding="utf-8")
                (notes / f"{CORPUS[-1]['id']}.txt").unlink()
    assert list(output) == ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    assert f"{len(CORPUS)} added" in output["Monday"][0] and "Erstein" in output["Monday"][1]
    assert f"1 added, 1 replaced, {len(CORPUS) - 2} unchanged, 1 removed" in output["Tuesday"][0]
    assert (
        f"chunks: {len(CORPUS)}\n" in output["Wednesday"][0]
        and f"{len(CORPUS)} chunks read by the model" in output["Wednesday"][2]
    )
    assert "It was founded [1]" in output["Wednesday"][-2] and "It was founded" not in output["Wednesday"][-1]
    assert "Erstein" in output["Thursday"][0] and Path("graph.graphml").stat().st_size > 1000
    assert "removed 1 document" in output["Friday"][0]
    assert all("no problems" in text for text in output["Saturday"])
    assert json.loads(graphwright("info", "my-index", "--json").stdout)["documents"] == len(CORPUS) - 1
