"""Commands that read an index: documents, their text, and export."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import networkx as nx
import pytest
from tests.cli.command import PROGRAM, graphwright
from tests.toys import CORPUS

from graphwright import Graph, Index
from graphwright.errors import OptionError
from graphwright.index import Settings

MARKDOWN = "# Graz\n\nGraz lies on the **Mur**.\n\n- It has a [tower](x.html).\n- It has a hill.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("documents")
    (place / "docs").mkdir()
    (place / "docs" / "graz.md").write_text(MARKDOWN)
    long = "\n\n".join(f"Day {day}. The wind blew from the north.  It was cold; nobody went out." for day in range(40))
    (place / "docs" / "log.txt").write_text(long)
    with Index.create(place / "index", settings=Settings(chunk_tokens=40, overlap=15)) as index:
        index.sync(place / "docs")
    return place


def test_documents_are_listed_and_found_by_id_or_title(folder: Path) -> None:
    listed = graphwright("documents", "--index", folder / "index")
    assert [line.split("  ")[0] for line in listed.stdout.splitlines()] == ["graz.md", "log.txt"]
    assert listed.stdout.startswith("graz.md  Graz  (") and "1 chunk)" in listed.stdout
    assert graphwright("documents", "GRAZ", "--index", folder / "index").stdout.count("\n") == 1
    [graz, log] = json.loads(graphwright("documents", "--index", folder / "index", "--json").stdout)
    assert graz["id"] == "graz.md" and graz["title"] == "Graz" and graz["chunks"] == 1 and log["chunks"] > 10


def test_the_text_is_that_in_which_citations_count(folder: Path) -> None:
    citations = 0
    with Index.open(folder / "index") as index:
        for method in ("ppr", "hybrid"):
            for question in ("What does Graz lie on?", "How was the wind on day 17?", "What has it?"):
                answer = index.ask(question, method).answer
                assert answer is not None
                citations += len(answer.citations)
                for cited in answer.citations:
                    assert index.text(cited.document)[cited.start : cited.end] == cited.text
                    span = ("--characters", f"{cited.start}-{cited.end}")
                    assert (
                        graphwright("show", cited.document, "--index", folder / "index", *span).stdout
                        == f"{cited.text}\n"
                    )
        assert citations > 3
        assert index.text("log.txt").split() == (folder / "docs" / "log.txt").read_text().split()
        assert [document.characters for document in index.list_documents()] == [
            len(index.text(name)) for name in ("graz.md", "log.txt")
        ]
    assert "Graz lies on the Mur." in graphwright("show", "graz.md", "--index", folder / "index").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Graz.md",), "there is no document 'Graz.md' among the 2 of .*Did you mean 'graz.md'.*documents --index"),
        (("graz.md", "--characters", "9"), "--characters is '9'; give START-END"),
        (("graz.md", "--characters", "9-3"), "--characters is '9-3'"),
    ],
)
def test_bad_arguments_of_show_get_a_message(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = graphwright("show", *arguments, "--index", folder / "index")
    assert done.returncode == 2 and not done.stdout
    assert re.search(message, " ".join(done.stderr.split()))


def test_an_imported_graph_has_no_documents(tmp_path: Path) -> None:
    with Index.from_graph(tmp_path / "i", Graph.from_triples([("a", "r", "b")])) as index:
        assert index.list_documents() == []
        with pytest.raises(OptionError, match="no document 'a' among the 0"):
            index.text("a")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("export") / "index"
    with Index.create(place) as index:
        index.add([*CORPUS, {"id": "lodz", "title": "Łódź", "text": "Łódź lies in Poland & grew on cloth."}])
    return place


def test_the_whole_graph_goes_to_a_file_and_stdout_stays_empty(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "graph.graphml"
    done = graphwright("export", "--index", corpus, "--to", path)
    assert done.returncode == 0 and done.stdout == ""
    exported = nx.read_graphml(path, node_type=int, edge_key_type=int, force_multigraph=True)
    with Index.open(corpus) as index:
        assert (len(exported), exported.number_of_edges()) == (len(index.graph), len(index.graph.edges))
        assert {data["name"] for _, data in exported.nodes(data=True)} == set(index.graph.names)
    size = f"as graphml: {len(exported)} nodes, {exported.number_of_edges()} edges\n"
    assert done.stderr == f"wrote the whole graph to {path} {size}"


@pytest.mark.parametrize("form", ["graphml", "json"])
def test_stdout_gets_the_same_text_for_any_encoding_of_the_terminal(form: str, corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / f"graph.{form}"
    assert graphwright("export", "--index", corpus, "--to", path).returncode == 0
    done = graphwright("export", "--index", corpus, "--to", "-", "--format", form, encoding="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout == path.read_text(encoding="utf-8") and "Łódź" in done.stdout
    assert "to stdout as " in done.stderr


@pytest.mark.parametrize("method", ["ppr", "bm25"])
def test_the_evidence_for_a_question_is_exported(method: str, corpus: Path, tmp_path: Path) -> None:
    question = "Which abbey did Ermengarde of Tours found?"
    path = tmp_path / "evidence.json"
    done = graphwright("export", "--index", corpus, "--to", path, "--question", question, "--method", method, "-k", 2)
    assert done.returncode == 0 and "wrote 2 items of evidence to " in done.stderr, done.stderr
    nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
    with Index.open(corpus) as index:
        evidence = index.retrieve(question, method).evidence
        assert evidence is not None and evidence.scores is not None
        ranked = sorted((node for node in nodes if "rank" in node), key=lambda node: node["rank"])
        assert [node["id"] for node in ranked] == evidence.nodes[:2].tolist()
        assert [node["score"] for node in ranked] == pytest.approx(evidence.scores[:2].tolist())
        assert ranked[0]["document"] == "ermengarde" and len(nodes) < len(index.graph)


def test_an_existing_file_is_replaced_only_with_force(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text("mine")
    refused = graphwright("export", "--index", corpus, "--to", path)
    assert refused.returncode == 2 and "exists already; nothing was written. Give --force" in refused.stderr
    assert path.read_text() == "mine"
    assert graphwright("export", "--index", corpus, "--to", path, "--force").returncode == 0
    assert json.loads(path.read_text(encoding="utf-8"))["directed"] is True


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--index", "{index}", "--to", "{tmp}/graph.xml"], 2, "choose a format: graphml, json"),
        (["--index", "{index}", "--to", "{tmp}/x.json", "--format", "dot"], 2, "There is no format 'dot'"),
        (["--index", "{index}", "--to", "-"], 2, "add --format"),
        (["--index", "{index}", "--to", "{tmp}/none/x.json"], 1, "cannot be written"),
        (["--index", "{index}", "--to", "{tmp}/x.json", "-q", "x", "-m", "pprr"], 2, "Did you mean 'ppr'"),
        (["--index", "{index}", "--to", "{tmp}/x.json", "-q", ""], 2, "The question is empty"),
        (["--index", "{tmp}/none", "--to", "{tmp}/x.json"], 1, "is not an index folder"),
        (["--index", "{index}"], 2, "--to"),
    ],
)
def test_bad_input_gets_one_message_and_leaves_nothing(
    arguments: list[str], code: int, message: str, corpus: Path, tmp_path: Path
) -> None:
    done = graphwright("export", *(part.format(index=corpus, tmp=tmp_path) for part in arguments))
    assert done.returncode == code, done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr and done.stdout == ""
    assert not list(tmp_path.iterdir())


def test_a_closed_pipe_gives_no_traceback(corpus: Path) -> None:
    command = [*PROGRAM, "export", "--index", str(corpus), "--to", "-", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        message = process.stderr.read().decode()
    assert process.returncode == 1 and "Traceback" not in message and "ignored" not in message
