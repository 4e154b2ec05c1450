"""Graph databases, read through the driver of Neo4j from a server that speaks Bolt, and kept in step."""

import json
import random
import shlex
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests import graph_database_server as served
from tests.cli.command import graphwright
from tests.graph_database_server import DATABASE, PASSWORD, USER

from graphwright import Index
from graphwright.data import GraphDatabase
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.models.fake import HashEncoder
from graphwright.store import DeleteStatement, RenameEntity
from graphwright.store.layout import IndexLayout

if not served.is_installed():
    pytest.skip("the driver of Neo4j and ArcadeDB are not installed", allow_module_level=True)

ROOT = Path(__file__).parents[3]
RIVERS = """
CREATE (mur:River:Water {name: 'Mur', km: 453, kinds: ['alpine', 'regulated'], description: 'It rises in Salzburg.'}),
  (drava:River {name: 'Drava', measured: date('2020-05-01'), embedding: $vector}), (graz:City {name: 'Graz'}),
  (mur)-[:FLOWS_INTO {since: 1200}]->(drava), (graz)-[:LIES_ON]->(mur)
"""
MANY = "UNWIND range(1, $n) AS i CREATE (:Spring {name: 'spring ' + i})-[:NEAR]->(:Place {name: 'place ' + i})"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served.graph_database_server(tmp_path_factory.mktemp("server")) as address:
        yield address


class Rivers:
    """The database of the tests, with rivers in it."""

    def __init__(self, address: str, driver: Any) -> None:
        self.address, self._driver = address, driver
        self.source = GraphDatabase(address, DATABASE, USER)

    def run(self, cypher: str, **parameters: Any) -> list[Any]:
        rows: list[Any] = self._driver.execute_query(cypher, parameters, database_=DATABASE)[0]
        return rows

    def imported(self, folder: Path) -> Index:
        return Index.from_graph(folder, self.source, encoder=HashEncoder())


@pytest.fixture
def rivers(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rivers]:
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)
    with served.opened(server) as driver:
        rivers = Rivers(server, driver)
        rivers.run("MATCH (n) DETACH DELETE n")
        rivers.run(RIVERS, vector=[0.5] * 40)
        yield rivers


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("lock", "-shm")))
    return {str(path): path.read_bytes() for path in files}


def test_from_graph_database_has_labels_properties_and_relationships(rivers: Rivers, tmp_path: Path) -> None:
    index = rivers.imported(tmp_path / "index")
    graph = index.graph
    assert {graph.triple(edge) for edge in range(len(graph.edges))} == {
        ("Mur", "FLOWS_INTO", "Drava"), ("Graz", "LIES_ON", "Mur"),
        ("Mur", "type", "River"), ("Mur", "type", "Water"), ("Drava", "type", "River"), ("Graz", "type", "City"),
        ("Mur", "km", "453"), ("Mur", "kinds", "alpine"), ("Mur", "kinds", "regulated"),
        ("Drava", "measured", "2020-05-01"),
    }  # fmt: skip
    assert "Mur (River, Water): It rises in Salzburg." in graph.columns.texts
    assert index.query("count([River])").value == 2
    assert index.query('"Mur".FLOWS_INTO').names == ("Drava",)
    assert index.imported is not None
    assert index.imported["left_out"] == {"values of embedding, which are vectors or bytes": 1}
    assert PASSWORD not in json.dumps(index.info(), default=str)


def test_from_graph_database_names_nodes_by_an_attribute_of_their_label(rivers: Rivers, tmp_path: Path) -> None:
    rivers.run("MATCH (n) DETACH DELETE n")
    rivers.run("CREATE (:Book {isbn: '3-1', heading: 'Der Strom'})-[:CITES]->(:Book {isbn: '3-2', heading: 'Die Au'})")
    assert rivers.imported(tmp_path / "index").graph.triple(0) == ("Der Strom", "CITES", "Die Au")


def test_from_graph_database_keeps_texts_with_any_character(rivers: Rivers, tmp_path: Path) -> None:
    names = ["a\u2028b\x85c", "Müß \U0001f30a", 'tab\tand "quote"']
    for name in names:
        rivers.run("CREATE (:City {name: $name})", name=name)
    assert set(names) < set(rivers.imported(tmp_path / "index").graph.columns.names)


def test_from_graph_database_of_many_pages_is_complete(rivers: Rivers, tmp_path: Path) -> None:
    rivers.run(MANY, n=2_500)
    graph = rivers.imported(tmp_path / "index").graph
    assert sum(name.startswith(("spring ", "place ")) for name in graph.columns.names) == 5_000
    assert sum(graph.triple(edge)[1] == "NEAR" for edge in range(len(graph.edges))) == 2_500


def test_sync_graph_without_change_writes_nothing(rivers: Rivers, tmp_path: Path) -> None:
    index = rivers.imported(tmp_path / "index")
    before = content(tmp_path)
    changes = index.sync_graph()
    assert (bool(changes), changes.unchanged, changes.fetched) == (False, 5, 5)
    assert content(tmp_path) == before


def test_sync_graph_equals_a_fresh_import(rivers: Rivers, tmp_path: Path) -> None:
    index = rivers.imported(tmp_path / "index")
    rivers.run("MATCH (n {name: 'Mur'}) SET n.km = 464 CREATE (:City {name: 'Bruck'})-[:LIES_ON]->(n)")
    rivers.run("MATCH (n {name: 'Graz'}) DETACH DELETE n")
    reader = Index.open(tmp_path / "index", encoder=HashEncoder(), follow=False)
    assert reader.query('"Mur".km').names == ("453",)
    changes = index.sync_graph(rivers.source)
    assert (changes.added, changes.changed, changes.removed, changes.unchanged) == (2, 1, 2, 2)
    assert reader.query('"Mur".km').names == ("453",) and reader.refresh()
    assert reader.query('"Mur".km').names == ("464",)
    fresh = rivers.imported(tmp_path / "fresh")
    assert index.graph.checksum == fresh.graph.checksum
    assert index.snapshot.about["texts"] == fresh.snapshot.about["texts"]
    assert (index.verify(), index.is_current) == ([], True)
    files = {path: part for path, part in content(tmp_path / "index").items() if "snapshot-0" not in path}  # still read
    assert not any(b"Graz" in part for part in files.values())


def test_sync_graph_by_last_change_fetches_what_changed(rivers: Rivers, tmp_path: Path) -> None:
    rivers.run("MATCH (n) SET n.updated = datetime('2024-01-01T00:00:00Z')")
    rivers.run("MATCH (n {name: 'Graz'}) SET n.updated = datetime('2024-02-01T00:00:00.123456Z')")
    rivers.run("MATCH ()-[r]->() SET r.updated = datetime('2024-01-01T00:00:00Z')")
    index = rivers.imported(tmp_path / "index")
    assert index.sync_graph(changed_by="updated").fetched == 5
    assert index.sync_graph(changed_by="updated").fetched == 1  # Graz, which has the last change
    rivers.run("MATCH (n {name: 'Drava'}) SET n.km = 749, n.updated = datetime('2024-03-01T00:00:00+01:00')")
    rivers.run("CREATE (:City {name: 'Leoben', updated: datetime('2023-01-01T00:00:00Z')})")  # as it is copied
    rivers.run("MATCH (:City {name: 'Graz'})-[r]->() DELETE r")
    changes = index.sync_graph(changed_by="updated")
    assert (changes.added, changes.changed, changes.removed, changes.fetched) == (1, 1, 1, 3)
    assert index.graph.checksum == rivers.imported(tmp_path / "fresh").graph.checksum


def test_sync_graph_after_any_history_equals_a_fresh_import(rivers: Rivers, tmp_path: Path) -> None:
    steps = (
        "CREATE (:City {name: $name, updated: $now})",
        "MATCH (a:River), (b:City) WITH a, b LIMIT 1 CREATE (b)-[:LIES_ON {updated: $now}]->(a)",
        "MATCH (n) WITH n LIMIT 1 SET n.note = $name, n.updated = $now",
        "MATCH ()-[r]->() WITH r LIMIT 1 SET r.note = $name, r.updated = $now",
        "MATCH (n:City) WITH n LIMIT 1 DETACH DELETE n",
        "MATCH ()-[r]->() WITH r LIMIT 1 DELETE r",
    )
    index, choose = rivers.imported(tmp_path / "index"), random.Random(7)
    for sync in range(6):
        for step in range(choose.randrange(4)):
            rivers.run(choose.choice(steps), name=f"name {sync}.{step}", now=datetime.now(UTC))
        index.sync_graph(changed_by=choose.choice(["updated", "updated", None]))
        assert index.graph.checksum == rivers.imported(tmp_path / str(sync)).graph.checksum


def test_sync_graph_without_its_rows_reads_all_again(rivers: Rivers, tmp_path: Path) -> None:
    index = rivers.imported(tmp_path / "index")
    index.sync_graph(changed_by="km")
    IndexLayout(tmp_path / "index").rows.unlink()
    assert index.sync_graph(changed_by="km").fetched == 5
    assert not index.sync_graph(changed_by="km")


def test_sync_graph_that_cannot_publish_changes_nothing(
    rivers: Rivers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = rivers.imported(tmp_path / "index")
    rivers.run("CREATE (:City {name: 'Leoben'})")
    imported = index.imported
    with monkeypatch.context() as patched:
        patched.setattr(IndexLayout, "prepare", refuse)
        with pytest.raises(StoreError, match="disk is full"):
            index.sync_graph()
    assert (IndexLayout(tmp_path / "index").current(), index.imported) == ("snapshot-0", imported)
    assert index.sync_graph().added == 1


DOCUMENT = {"id": "mur", "title": "Mur", "text": "The Mur passes Graz and Bruck."}


def test_sync_graph_with_documents_equals_a_fresh_import(rivers: Rivers, tmp_path: Path) -> None:
    index = rivers.imported(tmp_path / "index")
    index.add([DOCUMENT])
    rivers.run("MATCH (n {name: 'Mur'}) SET n.km = 464 CREATE (:City {name: 'Bruck'})-[:LIES_ON]->(n)")
    assert index.sync_graph().added == 2
    fresh = rivers.imported(tmp_path / "fresh")
    fresh.add([DOCUMENT])
    assert index.graph.checksum == fresh.graph.checksum
    assert (index.verify(), index.is_current, index.documents) == ([], True, 1)
    assert not index.sync_graph()
    index.remove(["mur"])
    assert index.graph.checksum == rivers.imported(tmp_path / "alone").graph.checksum


def test_sync_graph_with_edits_applies_them_to_what_is_new(rivers: Rivers, tmp_path: Path) -> None:
    index = rivers.imported(tmp_path / "index")
    index.edit(RenameEntity("Mur", "Mura"), DeleteStatement("Graz", "LIES_ON", "Mura"))
    rivers.run("MATCH (n {name: 'Mur'}) SET n.km = 464 CREATE (:City {name: 'Bruck'})-[:LIES_ON]->(n)")
    assert index.sync_graph().added == 2
    stated = {index.graph.triple(edge) for edge in range(len(index.graph.edges))}
    assert {("Bruck", "LIES_ON", "Mura"), ("Mura", "km", "464")} < stated and ("Graz", "LIES_ON", "Mura") not in stated
    assert index.verify() == [] and not any(edit.idle for edit in index.edits())
    index.undo(*(edit.id for edit in index.edits()))
    assert index.graph.checksum == rivers.imported(tmp_path / "fresh").graph.checksum


def test_sync_graph_with_documents_that_fails_keeps_the_graph(
    rivers: Rivers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, layout = rivers.imported(tmp_path / "index"), IndexLayout(tmp_path / "index")
    index.add([DOCUMENT])
    before = content(layout.imported)
    rivers.run("CREATE (:City {name: 'Leoben'})")
    with monkeypatch.context() as patched:
        patched.setattr(IndexLayout, "prepare", refuse)
        with pytest.raises(StoreError, match="disk is full"):
            index.sync_graph()
    assert content(layout.imported) == before and not layout.replaced.exists()
    index.close()
    layout.imported.rename(layout.replaced)  # as a process leaves it that is killed between two renames
    with Index.open(tmp_path / "index", encoder=HashEncoder()) as again:
        assert content(layout.imported) == before
        assert again.sync_graph().added == 1
        assert again.verify() == []


def refuse(*_: object) -> None:
    raise StoreError("the disk is full")


def test_connection_that_breaks_changes_nothing(rivers: Rivers, tmp_path: Path) -> None:
    rivers.run(MANY, n=2_500)
    with Proxy(rivers.address) as proxy:
        proxy.left, source = 100_000, GraphDatabase(proxy.address, DATABASE, USER)
        with pytest.raises(DataError, match=r"cannot be read .*Check that the server runs there"):
            Index.from_graph(tmp_path / "index", source, encoder=HashEncoder())
        assert list(tmp_path.iterdir()) == []
        proxy.left = 1 << 60
        index = Index.from_graph(tmp_path / "index", source, encoder=HashEncoder())
        before, proxy.left = content(tmp_path), 100_000
        with pytest.raises(DataError, match="cannot be read"):
            index.sync_graph()
        assert content(tmp_path) == before


class Proxy:
    """A proxy of a server that breaks its connections when `left` bytes have come from the server."""

    def __init__(self, address: str) -> None:
        self._target, self.left = int(address.rpartition(":")[2]), 1 << 60
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"bolt://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> "Proxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", self._target))
                threading.Thread(target=self._copy, args=(client, server, 0), daemon=True).start()
                threading.Thread(target=self._copy, args=(server, client, 1), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, counted: int) -> None:
        with suppress(OSError), source, target:
            while self.left > 0 and (part := source.recv(4096)):
                target.sendall(part)
                self.left -= len(part) * counted
            for end in (source, target):
                end.shutdown(socket.SHUT_RDWR)


def test_database_that_refuses_says_why(rivers: Rivers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "index"
    with pytest.raises(DataError, match=r"\(nowhere\) refused a query"):
        Index.from_graph(folder, GraphDatabase(rivers.address, "nowhere", USER))
    with pytest.raises(DataError, match="cannot be read"):
        Index.from_graph(folder, GraphDatabase(f"bolt://127.0.0.1:{served.free_port()}"))
    rivers.run("MATCH (n) DETACH DELETE n")
    with pytest.raises(DataError, match="has no node"):
        rivers.imported(folder)
    monkeypatch.setenv("NEO4J_PASSWORD", "wrong")
    with pytest.raises(DataError, match=r"refused the user 'root'.*NEO4J_PASSWORD") as raised:
        rivers.imported(folder)
    assert "wrong" not in str(raised.value)
    monkeypatch.delenv("NEO4J_PASSWORD")
    with pytest.raises(OptionError, match="needs a password; set the variable NEO4J_PASSWORD"):
        rivers.imported(folder)
    assert not folder.exists()


def test_query_database_returns_rows_and_changes_nothing(rivers: Rivers, tmp_path: Path) -> None:
    index = rivers.imported(tmp_path / "index")
    found = index.query_database("MATCH (n:River) RETURN n.name AS name, n.measured AS day ORDER BY name")
    assert found.to_dict() == {
        "columns": ["name", "day"], "rows": [["Drava", "2020-05-01"], ["Mur", None]], "more": False,
    }  # fmt: skip
    assert index.query_database("UNWIND range(1, 1001) AS i RETURN i").more
    path = index.query_database("MATCH p = (:City)-->(:River) RETURN p").rows[0][0]
    assert [part["type"] for part in path] == ["node", "relationship", "node"]
    with pytest.raises(DataError, match="changes the database, which was undone"):
        index.query_database("CREATE (:City {name: 'Nowhere'})")
    assert not rivers.run("MATCH (n {name: 'Nowhere'}) RETURN n")
    with pytest.raises(DataError, match="refused a query"):
        index.query_database("MATCH (n RETURN n")


def test_sync_graph_of_another_source_raises(rivers: Rivers, tmp_path: Path) -> None:
    index = rivers.imported(tmp_path / "index")
    with pytest.raises(OptionError, match=r"was imported from .*, not from neo4j://elsewhere"):
        index.sync_graph(GraphDatabase("neo4j://elsewhere"))
    with pytest.raises(OptionError, match="was not imported from a graph database"):
        Index.create(tmp_path / "documents", encoder=HashEncoder()).sync_graph(rivers.source)


def test_commands_of_the_page_run(rivers: Rivers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEO4J_USERNAME", USER)
    section = (ROOT / "docs" / "graphs.md").read_text(encoding="utf-8").split("## Graph databases")[1].split("\n## ")[0]
    commands = [line.strip() for line in section.splitlines() if line.startswith("    graphwright ")]
    outputs = list[str]()
    for command in commands:
        done = graphwright(*shlex.split(command.replace("neo4j://localhost:7687", rivers.address))[1:])
        assert done.returncode == 0, done.stderr
        assert PASSWORD not in done.stdout + done.stderr
        outputs.append(done.stdout)
    imported, asked, synced, by_change, rows = outputs
    assert "2 relations" not in imported and "Drava" in asked
    assert "unchanged; nothing was written" in synced and "unchanged" in by_change
    assert rows.splitlines() == ["r.name\tr.km", "Drava\tnull", "Mur\t453"] or rows.splitlines()[1] == "Mur\t453"
    rivers.run("CREATE (:City {name: 'Leoben'})")
    done = graphwright("sync", rivers.address, "--into", "river-base", "--json")
    assert json.loads(done.stdout) == {"added": 1, "changed": 0, "removed": 0, "unchanged": 5, "fetched": 6}
