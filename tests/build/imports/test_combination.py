"""Documents that are added to an imported graph, linked with it by entity names."""

import numpy as np
import pytest
from tests.cli.command import graphwright
from tests.test_imported import FILMS

from graphwright import Document, Graph, Index
from graphwright.build.imports.assembly import graph_of
from graphwright.build.imports.node_passages import PREFIX
from graphwright.data.graph_files.property_graphs import Edge, Node
from graphwright.data.records.record import Field, Record
from graphwright.errors import DataError, StoreError
from graphwright.graph.graph import ALIAS, Kind
from graphwright.models import HashEncoder
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.query import Compare, Everything, Follow, OfType, Step, Where
from graphwright.operators.select import cite_fact
from graphwright.search.facts import Facts
from graphwright.store.layout import IndexLayout

LIFE = {"id": "life", "text": "Marlene Dietrich was born in Berlin. She sang in Paris with Burt Bacharach."}
HOMES = {"id": "homes", "text": "William Dieterle died in Ottobrunn."}
METHODS = ["multihop", "bm25", "graph", "pathrag", "lego-1"]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    path = tmp_path_factory.mktemp("films") / "index"
    made = Index.from_graph(path, Graph.from_triples(FILMS), encoder=HashEncoder())
    made.add([LIFE, HOMES])
    return made


def names(index, node):
    graph = index.graph
    return {graph.names[int(other)] for other in graph.adjacency.row(node)}


def test_document_entity_is_graph_node_of_same_name(index):
    graph = index.graph
    (node,) = graph.ids("Marlene Dietrich").tolist()
    assert {"Kismet", "Shanghai Express", "life#0"} <= names(index, node)
    assert index.default_method == "graph" and index.documents == 2
    assert [listed.id for listed in index.list_documents()] == ["homes", "life"]


def test_graph_triples_keep_their_passages(index):
    graph = index.graph
    triples = [graph.triple(edge) for edge in graph.edges.tolist()]
    assert all(triple in triples for triple in FILMS)
    edge = triples.index(FILMS[0])
    chunks = [graph.passages.of(int(chunk)).document for chunk in graph.chunks_of(edges=[edge])]
    assert sorted(chunks) == [f"{PREFIX}Kismet", f"{PREFIX}William Dieterle"]
    assert (graph.columns.kinds[: len(graph.passages)] == Kind.CHUNK).all()
    assert (graph.columns.kinds[len(graph.passages) :] == Kind.ENTITY).all()


def test_node_passages_exclude_chunks_of_documents(index):
    graph, alone = index.graph, Graph.from_triples(FILMS)
    for name in alone.names:
        assert graph.text(graph.id(f"{PREFIX}{name}")) == alone.passage(alone.id(name))


def test_unpublished_change_is_completed_by_next(tmp_path, monkeypatch):
    made = Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), encoder=HashEncoder())
    with monkeypatch.context() as context:
        context.setattr(IndexLayout, "publish", lambda *_: (_ for _ in ()).throw(StoreError("full")))
        with pytest.raises(StoreError, match="full"):
            made.add([LIFE])
    again = Index.open(made.path, encoder=HashEncoder())
    assert again.graph.passages is None and not again.is_current
    again.add([HOMES])
    assert {listed.id for listed in again.list_documents()} == {"life", "homes"} and again.verify() == []


@pytest.mark.parametrize("method", METHODS)
def test_methods_find_graph_facts_and_documents(index, method):
    for question in ("Where was Marlene Dietrich born?", "Who directed Juarez?"):
        answer = index.ask(question, method).answer
        assert answer is not None and answer.text
        for citation in answer.citations:
            assert index.text(citation.document)[citation.start : citation.end] == citation.text
    found = {passage.document for passage in index.retrieve("Who directed Juarez?", method).passages or ()}
    assert not found or {f"{PREFIX}Juarez", f"{PREFIX}William Dieterle"} & found


def test_filter_searches_documents_only(index):
    part = index.filtered({"documents": ["homes"]}).graph
    assert "Kismet" not in set(part.names) and not part.ids("Marlene Dietrich").size
    with pytest.raises(DataError):
        index.filtered({"documents": [f"{PREFIX}Kismet"]})


def test_removing_documents_restores_imported_graph(tmp_path):
    made = Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), encoder=HashEncoder())
    before, about = made.graph.columns.checksum, made.snapshot.about
    vectors = np.array(made.snapshot.names.vectors)
    made.add([LIFE])
    assert made.verify() == [] and made.graph.columns.checksum != before
    made.remove(["life"])
    assert made.graph.columns.checksum == before and made.default_method == "graph" and made.verify() == []
    assert np.array_equal(made.snapshot.names.vectors, vectors) and made.snapshot.about["texts"] == about["texts"]
    assert not made.list_documents()


def test_combined_snapshot_is_equal_after_any_history(index, tmp_path):
    other = Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), encoder=HashEncoder())
    other.add([HOMES])
    other.add([{"id": "x", "text": "Bette Davis lived in Maine."}])
    other.add([LIFE])
    other.remove(["x"])
    assert other.graph.columns.checksum == index.graph.columns.checksum
    for space in ("passages", "names", "triples"):
        one, two = getattr(other.snapshot, space), getattr(index.snapshot, space)
        assert np.allclose(one.vectors[one.row_of[one.row_of >= 0]], two.vectors[two.row_of[two.row_of >= 0]])
    assert other.verify() == []


def posts() -> Graph:
    """A graph with the statements of who worked where, since when and by which contract."""
    nodes = [Node(name, name) for name in ("Ida", "Mur AG", "Anton", "Graz")]
    edges = [
        Edge("Ida", "works for", "Mur AG", fields=(("since", "2019"), ("office", "Graz"))),
        Edge("Anton", "works for", "Mur AG", fields=(("since", "2021"), ("office", "Wien"))),
        Edge("Mur AG", "lies in", "Graz"),
    ]
    return graph_of(nodes, edges)


STAFF = Document(
    "staff",
    "since 2021 Ida leads Wien",
    records=(Record("staff", (Field("since", "2021", 6, 10), Field("who", "Ida", 11, 14)), 0, 14),),
)


def test_statements_of_graph_stand_beside_records_of_documents(tmp_path):
    index = Index.from_graph(tmp_path / "index", posts(), encoder=HashEncoder())
    alone = Facts.of(index.graph)
    index.add([STAFF, LIFE])
    facts, passages = Facts.of(index.graph), index.graph.passages
    assert facts.types == ("staff", "statement") and facts.records.is_copy.tolist() == [False] * 3
    rows = [facts.row(thing) for thing in facts.of_type("statement").tolist()]
    assert rows == [alone.row(thing) for thing in alone.of_type("statement").tolist()]
    documents = [passages.documents[int(passages.document[chunk])] for chunk in facts.records.chunk]
    assert documents == ["staff", f"{PREFIX}Ida", f"{PREFIX}Anton"]
    assert facts.relation("who").objects.tolist() == facts.find("Ida").tolist() == index.graph.ids("Ida").tolist()
    since = Where(Everything(), Compare((Step("since"),), "=", "2021"))
    assert sorted(facts.row(thing).get("who", "statement") for thing in Execution(facts).result(since).tolist()) == [
        "Ida",
        "statement",
    ]
    there = Follow(Where(OfType("statement"), Compare((Step("office"),), "=", "Graz")), Step("subject"))
    assert facts.texts(Execution(facts).result(there)) == ["Ida"]
    assert index.verify() == []


@pytest.mark.parametrize("documents", [(), (STAFF, LIFE)])
def test_statement_is_cited_by_its_sentence(documents, tmp_path):
    index = Index.from_graph(tmp_path / "index", posts(), encoder=HashEncoder())
    index.add(documents)
    facts = Facts.of(index.graph)
    offices = facts.relation("office")
    cited = [cite_fact(index.graph, fact) for fact in offices.fact(np.arange(len(offices))).tolist()]
    assert [citation.text for citation in cited] == [
        "Ida works for Mur AG (since 2019, office Graz)",
        "Anton works for Mur AG (since 2021, office Wien)",
    ]
    assert cited[1].path == ("Anton", "office", "Wien")
    if documents:
        assert {index.text(c.document)[c.start : c.end] == c.text for c in cited} == {True}


def test_removing_documents_restores_statements_of_graph(tmp_path):
    index = Index.from_graph(tmp_path / "index", posts(), encoder=HashEncoder())
    before = index.graph.columns.records.arrays()
    index.add([STAFF])
    index.add([LIFE])
    index.remove(["staff"])
    assert Facts.of(index.graph).types == ("statement",)
    index.remove(["life"])
    assert all(map(np.array_equal, index.graph.columns.records.arrays(), before)) and index.verify() == []


def test_ambiguous_name_links_to_each_node(tmp_path):
    graph = graph_of(
        [Node("1", "Graz"), Node("2", "Graz"), Node("3", "Mur", "Mur (river)"), Node("4", "Styria (duchy)")],
        [Edge("1", "lies on", "3", "Graz lies on the Mur."), Edge("2", "part of", "4"), Edge("3", "mentions", "1")],
    )
    index = Index.from_graph(tmp_path / "index", graph, encoder=HashEncoder())
    index.add([{"id": "trip", "text": "In May we saw Graz. Then we rowed down the Mur."}])
    graph = index.graph
    aliases = [graph.triple(edge) for edge in graph.columns.edges_of(ALIAS).tolist()]
    assert aliases.count(("Graz", "alias", "Graz")) == 2 and len(graph.ids("Graz")) == 3
    assert len(graph.ids("Mur")) == 1 and graph.text(graph.id("Mur")) == "Mur (river)"
    assert {f"{PREFIX}Graz #0", f"{PREFIX}Graz #1"} <= set(graph.names)
    assert ("Mur", "mentions", "Graz") in [graph.triple(edge) for edge in graph.edges.tolist()]
    assert index.verify() == []


def test_damaged_imported_graph_is_named_and_snapshot_repaired(tmp_path):
    index = Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), encoder=HashEncoder())
    index.add([LIFE])
    victim = index.path / "CURRENT"
    current = index.path / victim.read_text()
    file = current / "graph" / "kinds.npy"
    data = file.read_bytes()
    file.unlink()
    file.write_bytes(data[:-1] + b"\x07")
    assert len(index.verify()) == 1 and index.verify(repair=True) == []
    kept = index.path / "imported" / "graph" / "heads.npy"
    kept.unlink()
    (problem,) = index.verify()
    assert "imported" in problem.problem and "Import the graph again" in problem.remedy


def test_graph_over_limit_raises(tmp_path, monkeypatch):
    monkeypatch.setattr("graphwright.index_folder.reading.MAX_NORMALISED", 3)
    index = Index.from_graph(tmp_path / "index", Graph.from_triples(FILMS), encoder=HashEncoder(), embed=())
    with pytest.raises(StoreError, match="at most 3"):
        index.add([LIFE])


def test_command_adds_document_to_graph(tmp_path):
    (tmp_path / "kb.tsv").write_text("".join("\t".join(t) + "\n" for t in FILMS))
    (tmp_path / "life.txt").write_text(LIFE["text"])
    index = tmp_path / "index"
    assert graphwright("import", tmp_path / "kb.tsv", "--into", index).returncode == 0
    done = graphwright("index", tmp_path / "life.txt", "--into", index)
    assert done.returncode == 0 and "1 added" in done.stdout, done.stderr
    asked = graphwright("ask", "Who directed Juarez?", "--index", index)
    assert asked.returncode == 0 and "William Dieterle" in asked.stdout, asked.stderr
