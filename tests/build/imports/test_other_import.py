"""Indexes of Microsoft GraphRAG and LightRAG become indexes of ours, without asking a language model."""

import json
import shutil

import pytest
from tests.cli.command import graphwright
from tests.data.other_indexes.folders import (
    DOCUMENTS,
    ENTITIES,
    GRAZ,
    PRAGUE,
    REPORT,
    graphrag_folder,
    lightrag_folder,
    write_parquet,
)

from graphwright import Index
from graphwright.build.imports.other_import import documents_of, read_other_index
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.graph.graph import CO_OCCURS
from graphwright.models import HashEncoder

METHODS = ["multihop", "hybrid", "ppr", "graphrag-local", "graphrag-global", "lightrag-hybrid", "pathrag", "bubblerag"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("others")
    return {
        "graphrag": graphrag_folder(folder / "project" / "output"),
        "lightrag": lightrag_folder(folder / "rag"),
        "lightrag-vectors": lightrag_folder(folder / "vectors", graph=False),
    }


@pytest.fixture(scope="module")
def indexes(folders, tmp_path_factory):
    into = tmp_path_factory.mktemp("indexes")
    made = {name: Index.from_graph(into / name, folder, encoder=HashEncoder()) for name, folder in folders.items()}
    yield made
    for index in made.values():
        index.close()


SYSTEMS = ["graphrag", "lightrag", "lightrag-vectors"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_imported_documents_keep_ids_and_texts(indexes, system):
    index = indexes[system]
    assert {listed.id for listed in index.list_documents()} == {"graz.txt", "prague.txt"}
    assert index.text("graz.txt") == GRAZ and index.text("prague.txt") == PRAGUE
    assert index.imported is None and index.default_method == "multihop" and index.verify() == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_imported_entities_keep_names_types_and_descriptions(indexes, system):
    graph = indexes[system].graph
    for name, kind, description, _ in ENTITIES:
        spelled = name.upper() if (system, name) == ("graphrag", "Rudolphine Tables") else name  # not in the text
        shown = spelled if system == "lightrag-vectors" else f"{spelled} ({kind})"
        assert graph.text(graph.id(spelled)) == f"{shown}: {description}"


@pytest.mark.parametrize("system", SYSTEMS)
def test_imported_relationships_keep_descriptions_and_passage(indexes, system):
    graph = indexes[system].graph
    edge = graph.edges_between(graph.id("Johannes Kepler"), graph.id("Tycho Brahe"))[0]
    keywords = "" if system == "graphrag" else " (work)"
    assert graph.edge_text(int(edge)) == f"Kepler worked with Brahe in Prague.{keywords}"
    assert graph.triple(int(edge))[1] == "linked to" != CO_OCCURS
    (chunk,) = graph.chunks_of(edges=[int(edge)])
    assert graph.passages.of(int(chunk)).document == "prague.txt"


def test_imported_claim_becomes_typed_relationship(indexes):
    graph = indexes["graphrag"].graph
    triples = [graph.triple(e) for e in graph.edges_between(graph.id("Johannes Kepler"), graph.id("Graz")).tolist()]
    assert ("Johannes Kepler", "moved to", "Graz") in triples


def test_imported_mentions_agree_between_systems(folders):
    found = [documents_of(read_other_index(folders[name])) for name in ("graphrag", "lightrag")]
    for graphrag, lightrag in zip(*found, strict=True):
        assert graphrag.document == lightrag.document
        assert [part[:2] for part in graphrag.parts] == [part[:2] for part in lightrag.parts]
        start, end = graphrag.parts[-1][:2]
        assert graphrag.document.text[start:end] in {GRAZ[start:end], PRAGUE}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_on_imported_index(indexes, method):
    answer = indexes["graphrag"].ask("With whom did Kepler work?", method=method).answer
    assert answer is not None and answer.text
    for citation in answer.citations:
        assert citation.text in dict(DOCUMENTS.values())[citation.document]


def test_imported_index_accepts_changes(folders, tmp_path):
    index = Index.from_graph(tmp_path / "index", folders["lightrag"], encoder=HashEncoder())
    index.add([{"id": "mars", "text": "Tycho Brahe observed Mars from Hven."}])
    assert index.documents == 3
    kepler, hven = index.graph.id("Johannes Kepler"), index.graph.id("Hven")
    assert index.graph.edges_between(kepler, index.graph.id("Tycho Brahe")).size and hven >= 0
    index.remove(["mars", "prague.txt"])
    assert [listed.id for listed in index.list_documents()] == ["graz.txt"]
    assert index.verify() == [] and index.info()["extractors"] == {"LightRAG": 1}


def test_imported_reports_become_documents_on_request(folders, tmp_path, indexes):
    index = Index.from_graph(tmp_path / "index", folders["graphrag"], reports=True, encoder=HashEncoder())
    assert index.text("community-report/0") == REPORT
    assert index.metadata("community-report/0") == {"kind": "community report", "level": "0"}
    found = index.retrieve("orbit of Mars", "bm25", filter={"metadata": {"kind": "community report"}}).passages
    assert [passage.document for passage in found] == ["community-report/0"]
    (remark,) = indexes["graphrag"].info()["source"]["remarks"]
    assert remark == "1 community reports were left out; reports=True adds them"
    with pytest.raises(OptionError, match="Microsoft GraphRAG"):
        Index.from_graph(tmp_path / "other", tmp_path / "kb.tsv", reports=True)


def test_command_imports_project_and_answers(folders, tmp_path):
    done = graphwright("import", folders["graphrag"].parent, "--into", tmp_path / "index", "--reports")
    assert done.returncode == 0, done.stderr
    assert "3 documents of Microsoft GraphRAG, 3 chunks" in done.stdout
    asked = graphwright("ask", "Where did Kepler teach?", "--index", tmp_path / "index", "--method", "ppr", "--json")
    assert json.loads(asked.stdout)["citations"][0]["document"] in ("graz.txt", "prague.txt", "community-report/0")
    refused = graphwright("import", folders["lightrag"], "--into", tmp_path / "new", "--columns", "1,2,3")
    assert refused.returncode == 2 and "--columns" in refused.stderr and not (tmp_path / "new").exists()


def copied(folders, name, tmp_path):
    return shutil.copytree(folders[name], tmp_path / "copy")


def test_foreign_text_units_replace_their_document(folders, tmp_path):
    folder = copied(folders, "lightrag", tmp_path)
    chunks = json.loads((folder / "kv_store_text_chunks.json").read_text())
    chunks["unit-3"]["content"] = "prague.txt#####" + chunks["unit-3"]["content"]
    (folder / "kv_store_text_chunks.json").write_text(json.dumps(chunks))
    other = read_other_index(folder)
    texts = {imported.document.id: imported.document.text for imported in documents_of(other)}
    assert texts == {"graz.txt": GRAZ, "prague.txt": "prague.txt#####" + PRAGUE}
    assert other.remarks == ["1 documents do not hold their text units; their text is that of the units"]


def test_split_character_does_not_hide_text_unit(folders, tmp_path):
    folder = copied(folders, "lightrag", tmp_path)
    chunks = json.loads((folder / "kv_store_text_chunks.json").read_text())
    chunks["unit-2"]["content"] = "\ufffd" + chunks["unit-2"]["content"] + "\ufffd"
    (folder / "kv_store_text_chunks.json").write_text(json.dumps(chunks))
    other = read_other_index(folder)
    assert documents_of(other)[0].document.text == GRAZ and not other.remarks


def test_dangling_ids_are_counted(folders, tmp_path):
    folder = copied(folders, "graphrag", tmp_path)
    columns = {"id": "VARCHAR", "title": "VARCHAR", "type": "VARCHAR", "description": "VARCHAR"}
    rows = [("e", "GRAZ", None, None, ["unit-1", "gone"]), ("f", "NOWHERE", "GEO", "?", ["gone"])]
    write_parquet(folder / "entities.parquet", {**columns, "text_unit_ids": "VARCHAR[]"}, rows)
    (folder / "documents.parquet").unlink()
    write_parquet(folder / "documents.parquet", {"id": "VARCHAR", "title": "VARCHAR", "text": "VARCHAR"}, [])
    other = read_other_index(folder)
    assert other.remarks == [
        "3 text units name a document that is missing; each is a document of its own",
        "2 references to text units that are missing were left out",
        "4 relationships name an entity that is missing; left out",
        "1 entities have no text unit; left out",
    ]
    assert [imported.document.id for imported in documents_of(other)] == [f"text-unit/unit-{n}" for n in (1, 2, 3)]


def drop_column(folder):
    (folder / "entities.parquet").unlink()
    write_parquet(folder / "entities.parquet", {"id": "VARCHAR", "name": "VARCHAR"}, [("e", "GRAZ")])


def cut(name):
    def change(folder):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 2])

    return change


def rename(name, to):
    return lambda folder: (folder / name).rename(folder / to)


@pytest.mark.parametrize(
    ("system", "damage", "message"),
    [
        ("graphrag", drop_column, "no column 'title'; it has id, name"),
        ("graphrag", cut("relationships.parquet"), "relationships.parquet: not a readable Parquet file"),
        ("graphrag", rename("text_units.parquet", "x"), "text_units.parquet is missing"),
        ("graphrag", rename("entities.parquet", "create_final_entities.parquet"), "of GraphRAG 1 or before"),
        ("lightrag", cut("kv_store_text_chunks.json"), "not readable JSON"),
        ("lightrag", cut("graph_chunk_entity_relation.graphml"), "read to its end"),
        ("lightrag", rename("kv_store_text_chunks.json", "x"), "neither the output of GraphRAG"),
        ("lightrag-vectors", rename("vdb_entities.json", "x"), "keeps its graph elsewhere"),
        ("lightrag", lambda folder: (folder / "kv_store_full_docs.json").write_text("[]"), "no storage of LightRAG"),
    ],
)
def test_damaged_project_raises_and_creates_nothing(folders, tmp_path, system, damage, message):
    folder = copied(folders, system, tmp_path)
    damage(folder)
    with pytest.raises(DataError, match=message):
        Index.from_graph(tmp_path / "index", folder, encoder=HashEncoder())
    assert not (tmp_path / "index").exists()


def test_parent_folder_is_not_imported(folders, tmp_path):
    with pytest.raises(DataError, match=r"Did you mean .*project"):
        Index.from_graph(tmp_path / "index", folders["lightrag"].parent, encoder=HashEncoder())
    with pytest.raises(OptionError, match="names and max_malformed"):
        Index.from_graph(tmp_path / "index", folders["lightrag"], max_malformed=3, encoder=HashEncoder())


def test_import_into_used_folder_raises(indexes, folders):
    with pytest.raises(StoreError, match="is an index already"):
        Index.from_graph(indexes["lightrag"].path, folders["lightrag"], encoder=HashEncoder())
