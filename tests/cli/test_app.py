"""The command line as a user meets it: real processes, streams and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.cli.called import called
from tests.toys import CORPUS

RUN = "from graphwright.cli.app import main; main()"


def graphwright(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, in a narrow plain terminal."""
    environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    command = [sys.executable, "-c", RUN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index made by the command itself, of a folder of mixed files, with the embedded encoder."""
    place = tmp_path_factory.mktemp("cli")
    docs = place / "docs"
    docs.mkdir()
    (docs / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CORPUS), encoding="utf-8")
    (docs / "steyr.md").write_text("# Steyr\n\nSteyr lies on the Enns.\n", encoding="utf-8")
    (docs / "song.html").write_text("<title>Song</title><p>Alma Brecht sang in Steyr.", encoding="utf-8")
    (docs / "noise.bin").write_bytes(bytes(range(256)) * 20)
    done = graphwright("index", docs, "--into", place / "index")
    assert done.returncode == 0, done.stderr
    assert "8 added" in done.stdout and "1 skipped" in done.stdout
    assert "noise.bin" in done.stderr
    return place / "index"


def test_the_version_is_that_of_the_package() -> None:
    done = called("--version")
    assert (done.returncode, done.stdout) == (0, f"graphwright {version('graphwright')}\n")


def test_ask_prints_an_answer_with_citation_path_and_passages(folder: Path) -> None:
    done = graphwright("ask", "Which abbey did Ermengarde of Tours found?", "--index", folder)
    assert done.returncode == 0 and done.stderr == ""
    assert "She founded the abbey of Erstein in Alsace." in done.stdout
    assert "[1] ermengarde  Ermengarde of Tours  characters 55-98" in done.stdout
    assert "path: Ermengarde of Tours" in done.stdout


def test_json_has_the_keys_that_programs_read(folder: Path) -> None:
    done = graphwright("ask", "Which abbey did Ermengarde of Tours found?", "--index", folder, "--json", "-k", 2)
    found = json.loads(done.stdout)
    assert {"question", "answer", "citations", "passages", "evidence", "trace"} <= set(found)
    citation = found["citations"][0]
    assert set(citation) == {"document", "chunk", "start", "end", "text", "path"}
    text = next(row["text"] for row in CORPUS if row["id"] == citation["document"])
    assert text[citation["start"] : citation["end"]] == citation["text"]
    assert len(found["passages"]) == 2 and {"id", "document", "score"} <= set(found["passages"][0])
    assert found["trace"][0]["operator"] == "Link()" and found["trace"][0]["seconds"] > 0


def test_explain_shows_what_was_linked_and_what_each_step_cost(folder: Path) -> None:
    done = graphwright("ask", "Who sang in Steyr?", "--index", folder, "--explain")
    for word in ("What the question names", "Steyr", "PersonalizedPageRank", "Pairs", "model ms", "in all"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize("method", ["vector", "bm25", "hybrid", "ppr"])
def test_retrieve_ranks_passages_without_answering(folder: Path, method: str) -> None:
    done = graphwright("retrieve", "Alma Brecht", "--index", folder, "--method", method, "--json")
    found = json.loads(done.stdout)
    assert found["answer"] is None and found["passages"][0]["document"] == "song.html"


def test_indexing_again_changes_nothing_and_remove_takes_away(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "index"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Anton lives in Gmunden.")
    (tmp_path / "docs" / "b.txt").write_text("Berta lives in Hallstatt.")
    assert graphwright("index", tmp_path / "docs", "--into", copy).returncode == 0
    again = graphwright("index", tmp_path / "docs", "--into", copy)
    assert "0 added" in again.stdout and "2 unchanged" in again.stdout
    assert graphwright("remove", "a.txt", "--index", copy).returncode == 0
    assert json.loads(graphwright("info", "--index", copy, "--json").stdout)["documents"] == 1
    gone = graphwright("remove", "a.txt", "--index", copy)
    assert gone.returncode == 1 and "holds no document 'a.txt'" in gone.stderr


def test_methods_and_info_are_listed(folder: Path) -> None:
    plain = graphwright("methods")
    assert all(name in plain.stdout for name in ("vector", "bm25", "hybrid", "ppr"))
    rows = json.loads(graphwright("methods", "--index", folder, "--json").stdout)
    assert "PersonalizedPageRank(restart=0.5)" in next(r["expression"] for r in rows if r["name"] == "ppr")
    held = json.loads(graphwright("info", folder, "--json").stdout)
    assert held["documents"] == 8 and held["encoder"].startswith("all-minilm-l6-v2")
    assert "documents  8" in graphwright("info", folder).stdout


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["ask", "", "--index", "{index}"], 2, "The question is empty"),
        (["ask", "x", "--index", "{tmp}/none"], 1, "is not an index folder"),
        (["ask", "x", "--index", "{index}", "--method", "pprr"], 2, "Did you mean 'ppr'"),
        (["ask", "x", "--index", "{index}", "--method", "BubbleRAG"], 2, "Did you mean 'bubblerag'"),
        (["retrieve", "x", "--index", "{index}", "--method", "vanilla"], 2, "graphwright ask"),
        (["index", "{tmp}/none", "--into", "{tmp}/new"], 1, "does not exist; nothing was indexed"),
        (["index", "{tmp}/empty", "--into", "{tmp}/new"], 1, "empty"),
        (["index", "{tmp}/binary", "--into", "{tmp}/new"], 1, "noise.bin"),
        (["index", "{tmp}/broken.jsonl", "--into", "{tmp}/new"], 1, "broken.jsonl"),
        (["index", "{tmp}/twice.jsonl", "--into", "{tmp}/new"], 1, "same"),
        (["index", "{tmp}/ok.txt", "--into", "{tmp}/new", "--embed", "pages"], 2, "choose from"),
        (["evaluate", "--data", "{tmp}/empty", "--methods", "ppr", "--out", "{tmp}/run"], 1, "empty"),
        (["frobnicate"], 2, "No such command"),
        (["ask", "x"], 2, "--index"),
    ],
)
def test_bad_input_gets_one_message_and_leaves_nothing(
    arguments: list[str], code: int, message: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "noise.bin").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "broken.jsonl").write_text('{"id": "a", "text": "x"}\n' + "{broken\n" * 30)
    (tmp_path / "twice.jsonl").write_text('{"id": "same", "text": "x"}\n{"id": "same", "text": "y"}\n')
    (tmp_path / "ok.txt").write_text("Fine.")
    filled = [part.format(index=folder, tmp=tmp_path) for part in arguments]
    done = graphwright(*filled)
    assert done.returncode == code, done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "new").exists()


def test_errors_are_json_too_when_json_is_asked_for(tmp_path: Path) -> None:
    done = graphwright("ask", "x", "--index", tmp_path / "none", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["error"] == "StoreError"


def test_demo_indexes_asks_and_shows(tmp_path: Path) -> None:
    done = graphwright("demo", "--folder", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert "200 passages" in done.stdout and "path: " in done.stdout and "offline" in done.stderr
    again = graphwright("ask", "Who was the wife of Louis Armstrong?", "--index", tmp_path / "demo")
    assert "Louis Armstrong" in again.stdout
