"""Records of an index: joined with the entities of the texts, and only those of the documents that are asked."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from graphwright import Document, Index
from graphwright.data.records.record import Field, Record
from graphwright.errors import OptionError
from graphwright.graph.graph import Graph, Kind
from graphwright.models import HashEncoder
from graphwright.search.facts import Facts


def table(id: str, rows: list[tuple[str, str]]) -> Document:
    """A document whose lines are rows of a city and its river."""
    lines, records, at = list[str](), list[Record](), 0
    for city, river in rows:
        line = f"The city of {city} lies on the {river} river."
        fields = (Field("city", city, at + 12, at + 12 + len(city)), Field("river", river, at, at))
        records.append(Record("cities", fields, at, at + len(line)))
        lines.append(line)
        at += len(line) + 1
    return Document(id, "\n".join(lines), records=tuple(records))


DOCUMENTS = [
    table("b", [("Graz", "Mur"), ("Linz", "Danube")]),
    table("a", [("Wien", "Danube")]),
    Document("c", "Graz is a city. Anna Berger lives in Graz."),
    Document("empty", "  ", records=(Record("cities", (Field("city", "Nowhere"),), 0, 0),)),
]


def made(folder: Path) -> Index:
    index = Index.create(folder, encoder=HashEncoder(8))
    index.add(DOCUMENTS)
    return index


def cities(facts: Facts) -> list[str]:
    return facts.texts(facts.relation("city").object(np.arange(len(facts.relation("city")))))


def test_records_follow_documents_and_name_entities(tmp_path: Path) -> None:
    with made(tmp_path / "index") as index:
        graph = index.graph
        records, passages = graph.columns.records, graph.passages
        assert records is not None and passages is not None
        assert cities(Facts.of(graph)) == ["Wien", "Graz", "Linz"]  # of "a", then of "b"
        assert [passages.documents[int(passages.document[c])] for c in records.chunk] == ["a", "b", "b"]
        node = Facts.of(graph).find("graz")
        assert len(node) == 1 and graph.columns.kinds[node[0]] == Kind.ENTITY
        lines = Facts.of(graph).relation("city")
        assert lines.subject(lines.matching(node, True)).tolist() == [Facts.of(graph).first_record + 1]


def test_rows_of_copied_file_count_once(tmp_path: Path) -> None:
    folder, rows = tmp_path / "files", "boat,berth\nAurora,4\nKestrel,7\nAurora,4\n"
    for place in ("a", "b"):
        (folder / place).mkdir(parents=True)
    for name in ("a/boats.csv", "b/boats (1).csv"):
        (folder / name).write_text(rows)
    (folder / "b" / "ships.csv").write_text(rows + "Mistral,9\n")
    with Index.create(tmp_path / "index", encoder=HashEncoder(8)) as index:
        index.sync(folder)
        counts = [len(Facts.of(index.graph).of_type(name)) for name in ("boats", "boats (1)", "ships")]
        assert counts == [3, 0, 4]
        (folder / "a" / "boats.csv").unlink()
        index.sync(folder)
        assert [len(Facts.of(index.graph).of_type(name)) for name in ("boats", "boats (1)", "ships")] == [0, 3, 4]


def test_record_belongs_to_passage_of_its_beginning(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder=HashEncoder(8)) as index:
        index.add([table("a", [(f"Town{i}", f"River{i}") for i in range(200)])])
        records, passages = index.graph.columns.records, index.graph.passages
        assert records is not None and passages is not None and len(passages) > 5
        begin, end = passages.start[records.chunk], passages.end[records.chunk]
        assert (begin <= records.span[:, 0]).all() and (records.span[:, 0] < end).all()


def test_filter_and_removal_leave_records_of_other_documents(tmp_path: Path) -> None:
    with made(tmp_path / "index") as index:
        assert cities(Facts.of(index.filtered({"documents": ["a", "c"]}).graph)) == ["Wien"]
        index.remove(["a"])
        assert cities(Facts.of(index.graph)) == ["Graz", "Linz"]
        index.remove(["b", "empty"])
        assert index.graph.columns.records is None


def test_reopened_index_has_same_records(tmp_path: Path) -> None:
    with made(tmp_path / "index") as index:
        before = index.graph.columns.records
    with Index.open(tmp_path / "index", encoder=HashEncoder(8)) as index:
        after = index.graph.columns.records
        assert before is not None and after is not None
        for old, new in zip(before.arrays(), after.arrays(), strict=True):
            assert np.array_equal(old, new)
        assert index.verify() == []


def test_changed_record_replaces_document(tmp_path: Path) -> None:
    with made(tmp_path / "index") as index:
        same_text = Document("a", DOCUMENTS[1].text, records=(Record("towns", (Field("city", "Vienna"),), 0, 4),))
        assert index.add([same_text]).replaced == ["a"]
        assert cities(Facts.of(index.graph)) == ["Vienna", "Graz", "Linz"]


def test_cell_names_node_of_imported_graph(tmp_path: Path) -> None:
    graph = Graph.from_triples([("Wien", "capital of", "Austria"), ("Danube", "flows through", "Wien")])
    with Index.from_graph(tmp_path / "index", graph, encoder=HashEncoder(8)) as index:
        index.add([Document("d", "a row", records=(Record("cities", (Field("city", "wien"),), 0, 5),))])
        facts = Facts.of(index.graph)
        city, capital = facts.relation("city"), facts.relation("capital of")
        assert city.objects.tolist() == capital.subjects.tolist()
        assert facts.texts(city.objects) == ["Wien"]


@pytest.mark.parametrize(
    "record",
    [
        Record("cities", (Field("city", 5),), 0, 4),  # type: ignore[arg-type]
        Record("cities", (Field("city", "Graz", 0, 99),), 0, 4),
        Record("cities", (), 3, 2),
        ("cities", (), 0, 1),
    ],
)
def test_record_outside_text_or_of_other_type_is_refused(record: Record, tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder=HashEncoder(8)) as index:
        with pytest.raises(OptionError, match=r"a record of the document 'a' is .*cities.*; give Record"):
            index.add([Document("a", "Graz", records=(record,))])
        assert index.documents == 0


def test_verify_names_damaged_records(tmp_path: Path) -> None:
    made(tmp_path / "index").close()
    with sqlite3.connect(tmp_path / "index" / "index.sqlite") as db:
        stored = bytearray(db.execute("SELECT records FROM documents WHERE id = 'a'").fetchone()[0])
        stored[-9] ^= 1
        db.execute("UPDATE documents SET records = ? WHERE id = 'a'", (bytes(stored),))
    with Index.open(tmp_path / "index", encoder=HashEncoder(8)) as index:
        assert "the records of document 'a' are damaged" in index.verify()[0].problem
