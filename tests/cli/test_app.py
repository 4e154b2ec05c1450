"""The command line: commands, options, exit codes and messages."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from io import BytesIO, TextIOWrapper
from pathlib import Path

import networkx as nx
import pytest
from tests.cli.command import PROGRAM, graphwright
from tests.shared import CORPUS
from typer.main import get_command

from graphwright import Graph, Index
from graphwright.cli import listing
from graphwright.cli.app import app
from graphwright.errors import OptionError
from graphwright.methods.registry import METHODS
from graphwright.store import Settings

QUESTION = "Which abbey did Ermengarde of Tours found?"

MARKDOWN = "# Graz\n\nGraz lies on the **Mur**.\n\n- It has a [tower](x.html).\n- It has a hill.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a folder of mixed files, with the embedded encoder."""
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


def test_version_equals_package_version() -> None:
    done = graphwright("--version")
    assert (done.returncode, done.stdout) == (0, f"graphwright {version('graphwright')}\n")


def test_command_help_starts_with_short_sentence() -> None:
    listing = graphwright("--help").stdout
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        first, *_ = (command.help or "").split("\n\n")
        assert first.endswith(".") and first in listing, name


def test_ask_prints_answer_citation_and_passages(folder: Path) -> None:
    done = graphwright("ask", QUESTION, "--index", folder)
    assert done.returncode == 0 and done.stderr == ""
    assert "She founded the abbey of Erstein in Alsace." in done.stdout
    assert "[1] ermengarde  Ermengarde of Tours  characters 0-98" in done.stdout


def test_json_output_has_contract_keys(folder: Path) -> None:
    answer = json.loads(graphwright("ask", QUESTION, "--index", folder, "--json", "-k", 2).stdout)
    keys = {"question", "method", "found", "answer", "short", "citations", "passages", "evidence", "usage", "trace"}
    assert keys <= set(answer) and answer["method"] == "multihop" and answer["found"] is True
    citation = answer["citations"][0]
    assert {"document", "chunk", "start", "end", "text", "path"} <= set(citation)
    text = next(row["text"] for row in CORPUS if row["id"] == citation["document"])
    assert text[citation["start"] : citation["end"]] == citation["text"]
    assert len(answer["passages"]) == 2
    assert set(answer["passages"][0]) == {"id", "document", "title", "text", "start", "end", "score"}
    assert answer["trace"][1]["operator"].startswith("LinkEntities(") and answer["trace"][1]["seconds"] > 0


def test_explain_shows_anchors_and_step_costs(folder: Path) -> None:
    done = graphwright("ask", "Who sang in Steyr?", "--index", folder, "--explain")
    for word in ("Anchors", "Steyr", "PersonalizedPageRank", "ScorePassages", "model ms", "total"):
        assert word in done.stdout
    _, rule, *steps = filter(str.strip, done.stdout.partition("Steps ")[2].splitlines()[1:])
    assert set(rule) <= set("─ ") and steps[-1].startswith(" total")
    assert all(step[1].isalpha() for step in steps)  # a line each, not wrapped in a pipe


@pytest.mark.parametrize("method", ["vector", "bm25", "hybrid", "ppr"])
def test_retrieve_prints_passages_without_answer(folder: Path, method: str) -> None:
    done = graphwright("retrieve", "Alma Brecht", "--index", folder, "--method", method, "--json")
    result = json.loads(done.stdout)
    assert result["answer"] is None and result["passages"][0]["document"] == "song.html"


def test_indexing_again_changes_nothing_and_remove_removes(tmp_path: Path) -> None:
    index = tmp_path / "index"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Anton lives in Gmunden.")
    (tmp_path / "docs" / "b.txt").write_text("Berta lives in Hallstatt.")
    assert graphwright("index", tmp_path / "docs", "--into", index).returncode == 0
    again = graphwright("index", tmp_path / "docs", "--into", index)
    assert "added" not in again.stdout and "2 unchanged" in again.stdout
    assert graphwright("remove", "a.txt", "--index", index).returncode == 0
    assert json.loads(graphwright("info", "--index", index, "--json").stdout)["documents"] == 1
    again = graphwright("remove", "a.txt", "--index", index)  # as after an interruption that came after the removal
    assert again.returncode == 0 and "an earlier run" in again.stderr
    missing = graphwright("remove", "c.txt", "--index", index)
    assert missing.returncode == 1 and "'c.txt'" in missing.stderr


@pytest.mark.parametrize(
    ("method", "step"),
    [
        ("pathrag(k=3)", "% 3"),
        ("bm25@offline", "WordSearch"),
    ],
)
def test_method_may_have_options(folder: Path, method: str, step: str) -> None:
    for command in ("ask", "retrieve"):
        done = graphwright(command, QUESTION, "--index", folder, "--method", method, "--explain")
        assert done.returncode == 0 and step in done.stdout, done.stderr
    reply = json.loads(graphwright("ask", QUESTION, "--index", folder, "--method", method, "--json").stdout)
    assert reply["method"] == method and reply["trace"]
    exported = graphwright("export", "--index", folder, "--to", "-", "--format", "json", "-q", QUESTION, "-m", method)
    assert exported.returncode == 0, exported.stderr


def test_command_options_reach_method(folder: Path) -> None:
    given = ("ask", QUESTION, "--index", folder, "--json", "--top-k", "2")
    reply = json.loads(graphwright(*given, "--method", "ppr(restart=0.3)").stdout)
    assert len(reply["passages"]) == 2 and any("restart=0.3" in step["operator"] for step in reply["trace"])
    one = json.loads(graphwright(*given, "--method", "ppr(restart=0.3)", "--document", "erstein").stdout)
    assert {passage["document"] for passage in one["passages"]} == {"erstein"}


def test_method_file_answers_and_is_named_after_file(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "nearest.py"
    path.write_text(
        "from graphwright import VectorSearch\n\n\ndef method(ix):\n    return VectorSearch(ix.passages) % 2\n",
        encoding="utf-8",
    )
    answer = json.loads(graphwright("ask", QUESTION, "--index", folder, "--method-file", path, "--json").stdout)
    assert answer["method"] == "nearest" and len(answer["passages"]) == 2 and answer["answer"]
    found = json.loads(graphwright("retrieve", QUESTION, "--index", folder, "--method-file", path, "--json").stdout)
    assert found["passages"] == answer["passages"] and found["answer"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--method", "pathrag(kk=3)"), "pathrag has no option 'kk'; it takes top_k, n, k"),
        (("--method", "pathrg(k=3)"), "There is no method 'pathrg'. Did you mean 'pathrag'?"),
        (("--method", "pathrag(order=HopFirst())"), "options are written as name=value"),
        (("--method", "ppr(top_k=3)", "--top-k", "2"), "top_k is given in --method ppr(top_k=3) and by --top-k"),
        (("--method-file", "mine.py", "--top-k", "2"), "--top-k: is for a method with a name; write it into mine.py"),
        (("--method-file", "mine.py", "--method", "ppr"), "--method ppr and --method-file mine.py are both given"),
        (("--method-file", "mine.py"), "mine.py cannot be run: FileNotFoundError"),
        (("--method", "open('/etc/passwd')"), "There is no method 'open'"),
        (("--method", "vector@llm"), "needs a language model"),
    ],
)
def test_unreadable_method_is_reported(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    done = graphwright("ask", QUESTION, "--index", folder, *arguments)
    assert done.returncode == 2 and says in done.stderr, done.stderr


def test_methods_and_info_are_listed(folder: Path) -> None:
    plain = graphwright("methods")
    assert all(name in plain.stdout for name in ("vector", "bm25", "hybrid", "ppr"))
    rows = json.loads(graphwright("methods", "--index", folder, "--json").stdout)
    assert "PersonalizedPageRank(restart=0.5)" in next(r["expression"] for r in rows if r["name"] == "ppr")
    info = json.loads(graphwright("info", folder, "--json").stdout)
    assert info["documents"] == 8 and info["encoder"].startswith("all-minilm-l6-v2")
    facts = dict(line.split(maxsplit=1) for line in graphwright("info", folder).stdout.splitlines())
    assert facts["documents"] == "8, in 8 chunks" and facts["vectors"].endswith("by all-minilm-l6-v2")


def test_methods_are_listed_in_groups() -> None:
    listed = sum(listing.GROUPS.values(), ())
    assert sorted(listed) == sorted(METHODS) and len(set(listed)) == len(listed)
    lines = graphwright("methods").stdout.splitlines()
    assert len([line for line in lines if line.split(" ")[0] in METHODS]) == len(METHODS)
    assert set(listing.GROUPS) <= set(lines)
    [vanilla] = [line for line in lines if line.startswith("vanilla ")]
    assert vanilla.endswith("(needs an LLM)")
    shown = graphwright("methods", "pathrag").stdout
    assert re.search(r"^n=40 +nodes of all keywords, N$", shown, re.M)
    assert re.search(r"^top_k=15 +passages in the result$", shown, re.M)
    assert "Did you mean 'bm25'" in graphwright("methods", "bm52").stderr


def test_missing_extra_marks_its_methods(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "find_spec", lambda module: None)
    done = graphwright("methods", "--index", folder)
    marked = [
        line.split(" ")[0] for line in done.stdout.splitlines() if "pip install 'graphwright[communities]'" in line
    ]
    assert done.returncode == 0 and marked == ["graphrag-local", "graphrag-global", "grag-m"]
    assert "lego-15" in done.stdout and "BeamSearch(" in done.stdout


def test_piped_output_is_unwrapped_without_passages(folder: Path) -> None:
    done = graphwright("ask", QUESTION, "--index", folder, "-k", 3, COLUMNS="30")
    answer, citations = done.stdout.split("\n\n")
    assert re.search(r"\[\d\]$", answer) and "\n" not in answer.partition(" [1]")[0]
    assert all(line.startswith(("[", "    ")) for line in citations.splitlines())
    rows = graphwright("retrieve", QUESTION, "--index", folder, "-k", 3, COLUMNS="30").stdout.splitlines()
    assert len(rows) == 3 and all(len(row.split("\t")) == 4 for row in rows)
    assert rows[0].split("\t")[1] == "ermengarde#0"


@pytest.mark.parametrize("columns", [80, 50])
def test_terminal_output_shows_answer_once_with_cost(folder: Path, columns: int) -> None:
    done = graphwright("ask", QUESTION, "--index", folder, "-k", 3, columns=columns)
    screen = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    lines = screen.splitlines()
    assert max(map(len, lines)) <= columns and [line for line in lines if line.startswith("1  ermengarde#0")]
    assert re.search(r"multihop, \d+\.\d s, no language model\n", done.stderr)
    assert " ".join(screen.split("\n1  ")[0].split()).count("She founded the abbey of Erstein") == 1


def test_default_index_comes_from_environment_or_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "project" / "notes" / "deep"
    deep.mkdir(parents=True)
    (deep / "a.txt").write_text("Anton lives in Gmunden.")
    monkeypatch.chdir(deep)
    for command in (["info"], ["ask", "x"], ["mcp"]):
        done = graphwright(*command)
        assert done.returncode == 2 and "--index DIR or GRAPHWRIGHT_INDEX" in done.stderr, done.stderr
    monkeypatch.chdir(tmp_path / "project")
    assert graphwright("index", "notes").returncode == 0
    assert (tmp_path / "project" / ".graphwright" / "index.sqlite").exists()
    monkeypatch.chdir(deep)
    assert json.loads(graphwright("info", "--json").stdout)["documents"] == 1
    assert graphwright("index", "a.txt").returncode == 0  # added to the one above
    assert json.loads(graphwright("info", "--json").stdout)["documents"] == 2 and not (deep / ".graphwright").exists()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHWRIGHT_INDEX", str(tmp_path / "project" / ".graphwright"))
    assert json.loads(graphwright("info", "--json").stdout)["documents"] == 2


def test_package_runs_as_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "graphwright", "--version"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == f"graphwright {version('graphwright')}\n"


def test_shell_completion_offers_commands_options_and_methods() -> None:
    method = [("graphwright ask --method bubb", "bubblerag"), ("graphwright methods bubb", "bubblerag")]
    for words, expected in (("graphwright as", "ask"), ("graphwright ask --inde", "--index"), *method):
        done = graphwright(_GRAPHWRIGHT_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))
        assert expected in done.stdout.split(), done


def test_misspelt_command_or_option_is_corrected() -> None:
    assert "Did you mean 'retrieve'" in graphwright("retreive", "x").stderr
    assert "--method" in graphwright("ask", "x", "--metod", "ppr").stderr


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
def test_bad_input_prints_one_message_and_leaves_nothing(
    arguments: list[str], code: int, message: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "noise.bin").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "broken.jsonl").write_text('{"id": "a", "text": "x"}\n' + "{broken\n" * 30)
    (tmp_path / "twice.jsonl").write_text('{"id": "same", "text": "x"}\n{"id": "same", "text": "y"}\n')
    (tmp_path / "ok.txt").write_text("Fine.")
    done = graphwright(*(part.format(index=folder, tmp=tmp_path) for part in arguments))
    assert done.returncode == code, done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "new").exists()


def test_errors_are_json_with_json_option(tmp_path: Path) -> None:
    done = graphwright("ask", "x", "--index", tmp_path / "none", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["error"] == "StoreError"
    assert done.stderr.startswith("graphwright: ") and "Traceback" not in done.stderr


def test_bug_is_reported_without_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Index, "open", lambda *_, **__: 1 / 0)
    done = graphwright("info", "x", GRAPHWRIGHT_TRACEBACK="")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "ZeroDivisionError" in done.stderr and "GRAPHWRIGHT_TRACEBACK=1" in done.stderr


# Documents, their text, and export


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("documents")
    (place / "docs").mkdir()
    (place / "docs" / "graz.md").write_text(MARKDOWN)
    long = "\n\n".join(f"Day {day}. The wind blew from the north.  It was cold; nobody went out." for day in range(40))
    (place / "docs" / "log.txt").write_text(long)
    with Index.create(place / "index", settings=Settings(chunk_tokens=40, overlap=15)) as index:
        index.sync(place / "docs")
    return place


def test_documents_are_listed_and_found_by_id_or_title(documents: Path) -> None:
    listed = graphwright("documents", "--index", documents / "index")
    assert [line.split("  ")[0] for line in listed.stdout.splitlines()] == ["graz.md", "log.txt"]
    assert listed.stdout.startswith("graz.md  Graz  (") and "1 chunk)" in listed.stdout
    assert graphwright("documents", "GRAZ", "--index", documents / "index").stdout.count("\n") == 1
    assert "contains 'Linz'" in graphwright("documents", "Linz", "--index", documents / "index").stderr
    [graz, log] = json.loads(graphwright("documents", "--index", documents / "index", "--json").stdout)
    assert graz["id"] == "graz.md" and graz["title"] == "Graz" and graz["chunks"] == 1 and log["chunks"] > 10


def test_documents_are_ordered_and_show_metadata(tmp_path: Path) -> None:
    rows = "".join(f"{number},The lamp {number} has {number} W.\n" for number in range(1, 12))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lamps.csv").write_text(f"lamp,text\n{rows}")
    (tmp_path / "docs" / "note.md").write_text(
        "---\ndate: 2024-02-01\ntags: [a, b]\n---\nIda founded the observatory.\n"
    )
    assert graphwright("index", tmp_path / "docs", "--into", tmp_path / "ix").returncode == 0
    listed = json.loads(graphwright("documents", "--index", tmp_path / "ix", "--json").stdout)
    assert [item["id"] for item in listed] == [*(f"lamps.csv#{row}" for row in range(2, 13)), "note.md"]
    assert listed[0]["metadata"] == {"lamp": "1"} and listed[-1]["metadata"]["date"] == "2024-02-01"
    shown = graphwright("show", "note.md", "--index", tmp_path / "ix")
    assert "date: 2024-02-01\n" in shown.stderr and shown.stdout == "Ida founded the observatory.\n"
    done = graphwright("ask", "Who?", "--index", tmp_path / "ix", "--where", "date=2024-02", "--json")
    assert {passage["document"] for passage in json.loads(done.stdout)["passages"]} == {"note.md"}
    assert graphwright("verify", tmp_path / "ix").stdout.startswith(f"{tmp_path / 'ix'}: no problems")


def test_shown_text_matches_citation_offsets(documents: Path) -> None:
    citations = 0
    with Index.open(documents / "index") as index:
        for method in ("ppr", "hybrid"):
            for question in ("What does Graz lie on?", "How was the wind on day 17?", "What has it?"):
                answer = index.ask(question, method).answer
                assert answer is not None
                citations += len(answer.citations)
                for cited in answer.citations:
                    assert index.text(cited.document)[cited.start : cited.end] == cited.text
                    span = ("--characters", f"{cited.start}-{cited.end}")
                    assert (
                        graphwright("show", cited.document, "--index", documents / "index", *span).stdout
                        == f"{cited.text}\n"
                    )
        assert citations > 3
        assert index.text("log.txt").split() == (documents / "docs" / "log.txt").read_text().split()
        assert [document.characters for document in index.list_documents()] == [
            len(index.text(name)) for name in ("graz.md", "log.txt")
        ]
    assert "Graz lies on the Mur." in graphwright("show", "graz.md", "--index", documents / "index").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Graz.md",), "there is no document 'Graz.md' among the 2 of .*Did you mean 'graz.md'.*documents --index"),
        (("graz.md", "--characters", "9"), "--characters is '9'; give START-END"),
        (("graz.md", "--characters", "9-3"), "--characters is '9-3'"),
    ],
)
def test_show_with_bad_arguments_prints_message(documents: Path, arguments: tuple[str, ...], message: str) -> None:
    done = graphwright("show", *arguments, "--index", documents / "index")
    assert done.returncode == 2 and not done.stdout
    assert re.search(message, " ".join(done.stderr.split()))


def test_imported_graph_has_no_documents(tmp_path: Path) -> None:
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


def test_export_writes_file_and_keeps_stdout_empty(corpus: Path, tmp_path: Path) -> None:
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
def test_export_to_stdout_ignores_terminal_encoding(form: str, corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / f"graph.{form}"
    assert graphwright("export", "--index", corpus, "--to", path).returncode == 0
    done = graphwright("export", "--index", corpus, "--to", "-", "--format", form, encoding="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout == path.read_text(encoding="utf-8") and "Łódź" in done.stdout
    assert "to stdout as " in done.stderr


@pytest.mark.parametrize("method", ["ppr", "bm25"])
def test_evidence_of_question_is_exported(method: str, corpus: Path, tmp_path: Path) -> None:
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


def test_export_replaces_file_only_with_force(corpus: Path, tmp_path: Path) -> None:
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
def test_export_with_bad_input_leaves_nothing(
    arguments: list[str], code: int, message: str, corpus: Path, tmp_path: Path
) -> None:
    done = graphwright("export", *(part.format(index=corpus, tmp=tmp_path) for part in arguments))
    assert done.returncode == code, done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr and done.stdout == ""
    assert not list(tmp_path.iterdir())


def test_closed_pipe_gives_no_traceback(corpus: Path) -> None:
    command = [*PROGRAM, "export", "--index", str(corpus), "--to", "-", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        message = process.stderr.read().decode()
    assert process.returncode == 1 and message == ""


# Sources besides files, removal by pattern, and filters by range


def test_stdin_is_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, text = tmp_path / "index", "# Graz\n\nGraz lies on the **Mur**.\n"
    for name in (("--name", "notes.md"), ()):
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text.encode())))
        assert "1 added" in graphwright("index", "-", "--into", index, *name).stdout
    first, second = json.loads(graphwright("documents", "--index", index, "--json").stdout)
    assert first["id"] == "notes.md" and first["title"] == "Graz" and second["id"].startswith("stdin-")


@pytest.fixture(scope="module")
def memos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("memos") / "index"
    with Index.create(place, settings=Settings(embed=("passages",))) as index:
        for year in range(2020, 2025):
            text = f"Memo about the Mur in {year}."
            index.add({"id": f"memos/{year}.txt", "text": text, "date": f"{year}-06-15", "pages": year - 2010})
    return place


@pytest.mark.parametrize(
    ("where", "years"),
    [
        (["date=2021..2022"], [2021, 2022]),
        (["date>=2022", "date<2024-06"], [2022, 2023]),
        (["pages>13"], [2024]),
        (["pages=10..11.5", "date>2020"], [2021]),
        (["date=2020-06-15"], [2020]),
    ],
)
def test_filters_accept_dates_numbers_and_ranges(memos: Path, where: list[str], years: list[int]) -> None:
    options = [part for condition in where for part in ("--where", condition)]
    found = json.loads(graphwright("retrieve", "Mur", "--index", memos, "-m", "bm25", "--json", *options).stdout)
    assert sorted(row["document"] for row in found["passages"]) == [f"memos/{year}.txt" for year in years]


def test_as_of_leaves_out_later_documents(memos: Path) -> None:
    done = graphwright("retrieve", "Mur", "--index", memos, "-m", "bm25", "--json", "--as-of", "2022")
    documents = {row["document"] for row in json.loads(done.stdout)["passages"]}
    assert documents == {f"memos/{year}.txt" for year in (2020, 2021, 2022)}
    refused = graphwright("ask", "Mur?", "--index", memos, "--as-of", "soon")
    assert refused.returncode != 0 and "as_of is 'soon'; give a date" in refused.stderr


def test_unreadable_filter_is_refused(memos: Path) -> None:
    unread = ("date>=soon", "date=2020..soon", "date=soon..2020")
    for where, message in (("date", "give NAME=VALUE"), *((each, "'soon' bounds nothing") for each in unread)):
        done = graphwright("retrieve", "Mur", "--index", memos, "--where", where)
        assert done.returncode == 2 and message in done.stderr and "--where" in done.stderr
    done = graphwright("retrieve", "Mur", "--index", memos, "--where", "dat=../2020")
    assert done.returncode == 1 and "no document with dat=../2020. Did you mean 'date'?" in done.stderr


def test_remove_accepts_folder_and_pattern(tmp_path: Path) -> None:
    with Index.create(tmp_path / "ix", settings=Settings(embed=("passages",))) as index:
        index.add([{"id": i, "text": f"Text of {i}."} for i in ("a/b.md", "a/c/d.md", "e.md", "f[1].md", "g.txt")])
    remove = ("remove", "--index", tmp_path / "ix")
    listed = graphwright(*remove, "*.md", "--dry-run")
    assert listed.stdout.split() == ["a/b.md", "a/c/d.md", "e.md", "f[1].md"] and "nothing was changed" in listed.stderr
    assert graphwright(*remove, "--folder", "a").stdout == "removed 2 documents\n"
    assert graphwright(*remove, "f[1]*").stdout == "removed 1 document\n"
    missing = graphwright(*remove, "x/")
    assert missing.returncode == 1 and "no document that matches 'x/'" in missing.stderr
    assert graphwright(*remove).returncode == 2


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.EMFILE, r"too many files open .* raise the limit"),
        (errno.ENOSPC, r"the disk is full .* Free some space"),
        (errno.ENOENT, r"No such file"),
    ],
)
def test_system_refusals_are_explained(number: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(number, os.strerror(number), "x")

    monkeypatch.setattr("graphwright.cli.listing.show_methods", refuse)
    done = graphwright("methods", "--json")
    assert done.returncode == 1 and re.search(message, done.stderr)
    assert re.search(message, json.loads(done.stdout)["message"])


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "graphwright: interrupted. "),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE), "app.py"), 1, "cannot be read: [Errno 24] Too many open"),
    ],
)
def test_main_failure_before_command_runs_ends_with_message(
    error: BaseException, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from graphwright import __main__
    from graphwright.cli import app

    def fail() -> None:
        raise error

    monkeypatch.setattr(app, "main", fail)
    with pytest.raises(SystemExit) as end:
        __main__.main()
    assert end.value.code == code and message in capsys.readouterr().err
