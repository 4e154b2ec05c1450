"""An index of a knowledge graph: created atomically, and searched by every method."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.cli.command import graphwright

from graphwright import Graph, Index, start
from graphwright.build import build
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.methods.registry import METHODS
from graphwright.models import HashEncoder
from graphwright.search import name_index

FILMS = [
    ("Kismet", "directed_by", "William Dieterle"),
    ("Kismet", "starred_actors", "Marlene Dietrich"),
    ("Kismet", "release_year", "1944"),
    ("Juarez", "directed_by", "William Dieterle"),
    ("Juarez", "starred_actors", "Bette Davis"),
    ("Shanghai Express", "starred_actors", "Marlene Dietrich"),
    ("Shanghai Express", "directed_by", "Josef von Sternberg"),
]
NAMED = sorted(name for name, method in METHODS.items() if not method.required)


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("films")
    (folder / "kb.tsv").write_text("".join("\t".join(t) + "\n" for t in FILMS))
    embed = ("names", "triples", "passages")
    return Index.from_graph(folder / "index", folder / "kb.tsv", embed=embed, encoder=HashEncoder())


def test_imported_graph_equals_triples_and_reopens(films):
    again = Index.open(films.path, encoder=HashEncoder())
    assert again.graph.columns.checksum == Graph.from_triples(FILMS).columns.checksum
    assert again.graph.passages is None and again.documents == 0 and again.verify() == []
    info = again.info()
    assert info["imported"]["relations"] == 3 and info["imported"]["malformed"] == 0
    assert info["embedded"] == {"names": 8, "triples": 7, "passages": 8}
    assert isinstance(again.graph.columns.heads, np.ndarray) and not again.graph.columns.heads.flags.writeable


def test_import_leaves_no_scratch_files(films):
    assert not (films.path / "import").exists() and not list(films.path.parent.glob(".index*"))


@pytest.mark.parametrize("method", NAMED)
def test_every_method_runs_on_imported_graph(films, method):
    result = films.ask("Who directed Kismet?", method=method)
    assert result.answer is not None and result.answer.text
    for citation in result.answer.citations:
        node = films.graph.id(citation.chunk)
        text = films.graph.passage(node)
        assert citation.text in (text[citation.start : citation.end], films.graph.names[node])
    retrieved = films.retrieve("Who directed Kismet?", method=method)
    assert retrieved.answer is None and (retrieved.passages is not None or retrieved.evidence is not None)


@pytest.mark.parametrize("method", ["ppr", "bm25", "lego-1", "lego-12", "pathrag", "bubblerag", "hipporag2"])
def test_methods_run_without_vectors(tmp_path, method):
    index = Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), embed=(), encoder=HashEncoder())
    assert index.ask("Who directed Kismet?", method=method).answer is not None
    assert index.info()["embedded"] == {}


def test_default_encoder_without_vectors_ranks_by_words(tmp_path):
    index = Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), embed=())
    first = next(iter(index.retrieve("Who directed Kismet?", "multihop").passages))
    assert first.text.startswith("Kismet")


def test_question_naming_node_quotes_triple(films):
    answer = films.ask("Who directed Kismet?", method="bm25").answer
    assert answer.text.startswith("Kismet directed by William Dieterle. ") and "[1]" in answer.text
    assert answer.citations[0].text.startswith("Kismet directed by William Dieterle.")


def test_joined_relation_words_are_found(films):
    passages = films.retrieve("release year 1944", method="bm25").passages
    assert films.graph.names.take(passages.ids[:2]) == ["1944", "Kismet"] or "Kismet" in films.graph.names.take(
        passages.ids[:2]
    )


def test_file_ids_are_found_beside_names(tmp_path):
    (tmp_path / "kb.tsv").write_text("/m/1\t/r/1\t/m/2\n")
    (tmp_path / "names.tsv").write_text("/m/1\tGraz\n/m/2\tMur\n/r/1\tlies on\n")
    index = Index.from_graph(
        tmp_path / "index", tmp_path / "kb.tsv", names=[tmp_path / "names.tsv"], encoder=HashEncoder()
    )
    assert index.graph.triple(0) == ("Graz", "lies on", "Mur")
    for name in ("Graz", "/m/1"):
        assert index.ask(f'What does "{name}" lie on?', method="lego-1").answer.text == "Mur"


def test_large_graph_is_searched_by_exact_names(tmp_path, monkeypatch):
    monkeypatch.setattr(name_index, "MAX_NORMALISED", 3)
    monkeypatch.setattr(build, "MAX_NORMALISED", 3)
    monkeypatch.setattr(build, "MAX_NAMES_EMBEDDED", 3)
    monkeypatch.setattr(build, "MAX_TRIPLES_EMBEDDED", 3)
    monkeypatch.setattr(build, "MAX_TRIPLES_INDEXED", 3)
    index = Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), encoder=HashEncoder())
    assert not len(index.graph.columns.aliases) and index.info()["embedded"] == {}
    answers = index.ask("Who acted in Shanghai Express with others?", method="lego-1").answer.text.splitlines()
    assert answers[:2] == ["Marlene Dietrich", "Josef von Sternberg"]
    assert not index.ask("who acted in shanghai express?", method="lego-1").answer.found
    assert len(index.snapshot.words.nodes) == 0


def test_damaged_import_is_reported_with_remedy(tmp_path):
    index = Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), embed=(), encoder=HashEncoder())
    victim = next(index.path.glob("snapshot-0/graph/heads.npy"))
    victim.write_bytes(victim.read_bytes()[:-1] + b"\x01")
    result = index.verify(repair=True)
    assert len(result) == 1 and "heads.npy" in result[0].problem and "Import the graph again" in result[0].remedy


def test_invalid_import_creates_nothing(tmp_path):
    (tmp_path / "kb.tsv").write_text("a\tr\tb\n" + "broken\n" * 101)
    with pytest.raises(DataError, match="malformed"):
        Index.from_graph(tmp_path / "index", tmp_path / "kb.tsv", encoder=HashEncoder())
    with pytest.raises(OptionError, match="choose from"):
        Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), embed=["name"], encoder=HashEncoder())
    with pytest.raises(OptionError, match="at least one file"):
        Index.from_graph(tmp_path / "index", [], encoder=HashEncoder())
    assert [path.name for path in tmp_path.iterdir()] == ["kb.tsv"]


def test_import_into_index_folder_raises(films):
    with pytest.raises(StoreError, match="is an index already"):
        Index.from_graph(films.path, Graph.from_triples(FILMS), encoder=HashEncoder())


def test_command_imports_asks_and_reports_omissions(tmp_path):
    kb, index = tmp_path / "kb.tsv", tmp_path / "index"
    kb.write_text("".join("\t".join(t) + "\n" for t in FILMS) + "broken\n")
    done = graphwright("import", kb, "--into", index, "--embed", "none")
    assert done.returncode == 0, done.stderr
    assert "7 triples, 8 nodes, 3 relations" in done.stdout and "line 8: 'broken'" in done.stderr
    asked = graphwright("ask", "Who directed Kismet?", "--index", index, "--method", "lego-1", "--json")
    result = json.loads(asked.stdout)
    assert "William Dieterle" in result["answer"].splitlines()
    assert result["citations"][0]["path"][0] == "Kismet"
    given = graphwright("ask", "Who?", "--index", index, "--method", "lego-1", "--entity", "Juarez", "--json")
    assert json.loads(given.stdout)["answer"].splitlines()[:2] == ["William Dieterle", "Bette Davis"]
    unknown = graphwright("ask", "Who?", "--index", index, "--entity", "Juárez")
    assert unknown.returncode == 1 and "'Juarez'" in unknown.stderr and "Traceback" not in unknown.stderr
    for name, method in (("default", ()), ("graph", ("--method", "graph")), ("ppr", ("--method", "ppr"))):
        to = tmp_path / f"{name}.json"
        done = graphwright("export", "--index", index, "-q", "Who directed Kismet?", "--to", to, *method)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "default.json").read_bytes() == (tmp_path / "graph.json").read_bytes()
    assert (tmp_path / "default.json").read_bytes() != (tmp_path / "ppr.json").read_bytes()
    info = json.loads(graphwright("info", index, "--json").stdout)
    assert info["nodes"] == 8 and info["imported"]["malformed"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["absent.tsv"], 1, "is not there"),
        (["kb.docx"], 1, "no format of triples"),
        (["kb.tsv", "--columns", "1,2,8"], 1, "no column '8'"),
        (["kb.tsv", "--embed", "everything"], 2, "choose from passages, names, triples"),
        (["kb.tsv", "--max-malformed", "0"], 1, "line 2: 'broken'"),
        (["kb.tsv", "--encoder", "word2vec"], 2, "word2vec"),
    ],
)
def test_command_with_invalid_import_leaves_nothing(tmp_path, arguments, code, message):
    (tmp_path / "kb.tsv").write_text("a\tr\tb\nbroken\n")
    (tmp_path / "kb.docx").write_text("")
    file, *options = arguments
    done = graphwright("import", tmp_path / file, "--into", tmp_path / "index", *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr and "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kb.docx", "kb.tsv"]


def test_killed_import_is_cleaned_up(tmp_path):
    kb = tmp_path / "kb.tsv"
    with kb.open("w") as file:
        for i in range(600_000):
            file.write(f"name number {i}\tr\tname number {i * 7 % 600_000}\n")
    program = (
        "import sys; from graphwright import Index; from graphwright.models import HashEncoder; "
        "Index.from_graph(sys.argv[1], sys.argv[2], embed=(), encoder=HashEncoder())"
    )
    running = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "index"), str(kb)])
    until = time.monotonic() + 60
    while not list(tmp_path.glob(".index-*.new/import/dump.db*")) and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert not (tmp_path / "index").exists() and list(tmp_path.glob(".index-*.new"))
    index = Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), embed=(), encoder=HashEncoder())
    assert len(index.graph) == 8 and not list(tmp_path.glob(".index-*.new"))


def test_named_anchors_work_on_imported_graph(films):
    state = start("?", films.graph, entities=["Juarez"])
    assert films.method("lego-1")(state).answer.text


def test_info_lists_files_of_property_graph(tmp_path):
    path = tmp_path / "a.gml"
    path.write_text('graph [ node [ id 0 label "Graz" ] node [ id 1 label "Mur" ] edge [ source 0 target 1 ] ]')
    with Index.from_graph(tmp_path / "index", path, encoder=HashEncoder()) as index:
        assert index.info()["imported"]["files"] == [str(path)]
