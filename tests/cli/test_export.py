"""Exporting as a user does it: real processes, files and streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest
from tests.toys import CORPUS

from graphwright import Index

RUN = "from graphwright.cli.app import main; main()"


def graphwright(*arguments: object, encoding: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-c", RUN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=environment, timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("export") / "index"
    index = Index.create(place)
    index.add([*CORPUS, {"id": "lodz", "title": "Łódź", "text": "Łódź lies in Poland & grew on cloth."}])
    index.close()
    return place


def test_the_whole_graph_goes_to_a_file_and_stdout_stays_empty(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "graph.graphml"
    done = graphwright("export", "--index", folder, "--to", path)
    assert done.returncode == 0 and done.stdout == b""
    found = nx.read_graphml(path, node_type=int, edge_key_type=int, force_multigraph=True)
    index = Index.open(folder)
    assert (len(found), found.number_of_edges()) == (len(index.graph), len(index.graph.edges))
    assert {data["name"] for _, data in found.nodes(data=True)} == set(index.graph.names)
    line = f"as graphml: {len(found)} nodes, {found.number_of_edges()} edges\n"
    assert done.stderr.decode() == f"wrote the whole graph to {path} {line}"
    index.close()


@pytest.mark.parametrize("form", ["graphml", "json"])
def test_stdout_gets_the_same_bytes_whatever_the_terminal_speaks(form: str, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / f"graph.{form}"
    assert graphwright("export", "--index", folder, "--to", path).returncode == 0
    done = graphwright("export", "--index", folder, "--to", "-", "--format", form, encoding="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout == path.read_bytes() and "Łódź".encode() in done.stdout
    assert b"to stdout as " in done.stderr


@pytest.mark.parametrize("method", ["ppr", "bm25"])
def test_a_question_exports_the_evidence_that_retrieval_finds(method: str, folder: Path, tmp_path: Path) -> None:
    question = "Which abbey did Ermengarde of Tours found?"
    path = tmp_path / "found.json"
    done = graphwright("export", "--index", folder, "--to", path, "--question", question, "--method", method, "-k", 2)
    assert done.returncode == 0 and b"wrote 2 pieces of evidence to " in done.stderr, done.stderr
    nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
    index = Index.open(folder)
    evidence = index.retrieve(question, method).evidence
    assert evidence is not None and evidence.scores is not None
    ranked = sorted((node for node in nodes if "rank" in node), key=lambda node: node["rank"])
    assert [node["id"] for node in ranked] == evidence.nodes[:2].tolist()
    assert [node["score"] for node in ranked] == pytest.approx(evidence.scores[:2].tolist())
    assert ranked[0]["document"] == "ermengarde" and len(nodes) < len(index.graph)
    index.close()


def test_an_existing_file_is_kept_unless_forced(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text("mine")
    kept = graphwright("export", "--index", folder, "--to", path)
    assert kept.returncode == 2 and b"exists already; nothing was written. Give --force" in kept.stderr
    assert path.read_text() == "mine"
    assert graphwright("export", "--index", folder, "--to", path, "--force").returncode == 0
    assert json.loads(path.read_text(encoding="utf-8"))["directed"] is True


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--index", "{index}", "--to", "{tmp}/graph.xml"], 2, "'graph.xml' has no known extension; choose a format: graphml, json"),
        (["--index", "{index}", "--to", "{tmp}/x.json", "--format", "dot"], 2, "there is no format 'dot'"),
        (["--index", "{index}", "--to", "-"], 2, "give --format"),
        (["--index", "{index}", "--to", "{tmp}/none/x.json"], 1, "cannot be written"),
        (["--index", "{index}", "--to", "{tmp}/x.json", "-q", "x", "-m", "pprr"], 2, "Did you mean 'ppr'"),
        (["--index", "{index}", "--to", "{tmp}/x.json", "-q", ""], 2, "The question is empty"),
        (["--index", "{tmp}/none", "--to", "{tmp}/x.json"], 1, "is not an index folder"),
        (["--index", "{index}"], 2, "--to"),
    ],
)
def test_bad_input_gets_one_message_and_leaves_nothing(
    arguments: list[str], code: int, message: str, folder: Path, tmp_path: Path
) -> None:
    done = graphwright("export", *(part.format(index=folder, tmp=tmp_path) for part in arguments))
    assert done.returncode == code, done.stderr
    assert message in done.stderr.decode() and b"Traceback" not in done.stderr and done.stdout == b""
    assert not list(tmp_path.iterdir())


def test_a_reader_that_leaves_early_is_no_traceback(folder: Path) -> None:
    command = [sys.executable, "-c", RUN, "export", "--index", str(folder), "--to", "-", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read().decode()
    assert process.returncode == 1 and "Traceback" not in said and "ignored" not in said
