"""Edits by hand of an imported graph: a function of the import, the documents and the edits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Index
from graphwright.build.apply_edits import edited
from graphwright.build.imports.assembly import graph_of
from graphwright.build.merge import MergedChunks
from graphwright.data.graph_files.property_graphs import Edge, Node
from graphwright.errors import DataError
from graphwright.graph import Graph
from graphwright.models import HashEncoder
from graphwright.search import Filter
from graphwright.store import (
    AddEntity,
    AddStatement,
    Change,
    DeleteEntity,
    DeleteStatement,
    Edit,
    KeepApart,
    MergeEntities,
    RenameEntity,
    RetypeEntity,
    SplitEntity,
)
from graphwright.store.chunk_columns import ChunkColumns

NODES = [
    Node("1", "Iris Falk", "Iris Falk (person): a chemist"),
    Node("2", "I. Falk", "I. Falk (author)"),
    Node("3", "Norden Glas", "Norden Glas (company)", facts=(("type", "company"), ("founded", "1931"))),
    Node("4", "Graz", "Graz (town)", facts=(("type", "town"),)),
]
EDGES = [
    Edge("1", "works_for", "3", fields=(("since", "2019"), ("city", "Graz"))),
    Edge("2", "works_for", "3", fields=(("since", "2012"), ("until", "2015"))),
    Edge("3", "lies_in", "4", "Norden Glas lies in Graz since it was founded."),
    Edge("1", "knows", "2"),
    Edge("1", "lives_in", "4"),
    Edge("2", "lives_in", "4"),
]


def triples(graph: Graph) -> list[tuple[str, str, str]]:
    """Return the statements between entities, in order."""
    c = graph.columns
    edges = graph.edges[c.between_entities(graph.edges)]
    return sorted(graph.triple(edge) for edge in edges.tolist())


def index_of(folder: Path, graph: Any) -> Index:
    return Index.from_graph(folder, graph, encoder=HashEncoder(16), embed=("names", "triples"))


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return index_of(tmp_path / "graph", graph_of(NODES, EDGES))


def test_merge_joins_statements_texts_and_names_of_nodes(index: Index) -> None:
    index.edit(MergeEntities(["I. Falk"], "Iris Falk"))
    graph = index.graph
    assert (
        "I. Falk" not in graph.names and graph.text(graph.id("Iris Falk")) == "Iris Falk (person): a chemist (author)"
    )
    assert triples(graph).count(("Iris Falk", "lives_in", "Graz")) == 1 and "knows" not in graph.columns.relations
    assert index.query('"I. Falk".[works_for]').names == ("Norden Glas",)
    assert "Iris Falk works for Norden Glas (since 2012, until 2015)" in list(graph.columns.sentences or ())
    assert index.verify() == []


def test_rename_holds_in_texts_and_records_and_keeps_the_old_name_as_an_alias(index: Index) -> None:
    index.edit(RenameEntity("Norden Glas", "Nordglas"))
    graph = index.graph
    assert graph.text(graph.id("Nordglas")) == "Nordglas (company)"
    assert "Norden Glas" not in graph.names and index.query('"Norden Glas".[lies_in]').names == ("Graz",)
    assert sorted(graph.columns.sentences or ()) == [
        "I. Falk works for Nordglas (since 2012, until 2015)",
        "Iris Falk works for Nordglas (since 2019, city Graz)",
        "Norden Glas lies in Graz since it was founded.",  # a text of the file
    ]
    assert graph.columns.records is not None and "Nordglas" in graph.columns.records.texts
    assert "Norden Glas" not in graph.columns.records.texts and index.verify() == []


def test_retype_changes_the_statement_of_the_type_and_the_text(index: Index) -> None:
    index.edit(RetypeEntity("Graz", "city"), RetypeEntity("Norden Glas", ""), RetypeEntity("Iris Falk", "Company"))
    types = [triple for triple in triples(index.graph) if triple[1] == "type"]
    assert types == [("Graz", "type", "city"), ("Iris Falk", "type", "company")]
    texts = [index.graph.text(index.graph.id(name)) for name in ("Graz", "Norden Glas", "Iris Falk")]
    assert texts == ["Graz (city)", "Norden Glas", "Iris Falk (Company): a chemist"]
    assert index.verify() == []


def test_deleted_nodes_and_statements_leave_nothing(index: Index) -> None:
    before = triples(index.graph)
    index.edit(DeleteStatement("Iris Falk", "works_for", "Norden Glas"), DeleteEntity("Graz"))
    gone = ("Iris Falk", "works_for", "Norden Glas")
    assert triples(index.graph) == [triple for triple in before if "Graz" not in triple and triple != gone]
    records = index.graph.columns.records
    assert records is not None and len(records) == 1 and "2019" not in records.texts
    assert index.graph.columns.sentences is not None and len(index.graph.columns.sentences) == 1
    assert index.verify() == []
    index.edit(DeleteStatement("I. Falk", "works_for", "Norden Glas"))
    assert index.graph.columns.records is None and index.verify() == []


def test_undone_edits_leave_the_graph_as_it_was_imported(index: Index) -> None:
    before = index.graph.checksum
    made = index.edit(
        MergeEntities(["I. Falk"], "Iris Falk"), DeleteEntity("Graz"), AddStatement("Iris Falk", "owns", "Norden Glas")
    )
    assert ("Iris Falk", "owns", "Norden Glas") in triples(index.graph) and index.verify() == []
    index.undo(*(edit.id for edit in made))
    assert index.graph.checksum == before and index.graph.passages is None and index.verify() == []


def test_edits_hold_for_the_graph_and_for_documents_beside_it(index: Index) -> None:
    index.edit(
        RenameEntity("Norden Glas", "Nordglas"), MergeEntities(["Iris Falk"], "I. Falk"), RetypeEntity("Graz", "")
    )
    index.add([{"id": "a", "text": "Iris Falk left Norden Glas. Anton Hofer founded Norden Glas."}])
    stated = triples(index.graph)
    assert ("I. Falk", "left", "Nordglas") in stated and ("Nordglas", "founded", "1931") in stated
    assert index.graph.names[:].count("Nordglas") == 1 and index.verify() == []
    index.edit(
        MergeEntities(["Anton Hofer"], "Graz"),  # of the documents into the graph
        SplitEntity("Nordglas", ["a"], "Glas AG"),
        KeepApart("Glas AG", "Nordglas"),
        AddEntity("Linz", "city"),
        AddStatement("Linz", "twin of", "Graz"),
    )
    stated = triples(index.graph)
    assert {("Graz", "founded", "Glas AG"), ("I. Falk", "left", "Glas AG"), ("Linz", "twin of", "Graz")} <= set(stated)
    assert ("Nordglas", "lies_in", "Graz") in stated and index.verify() == []
    part = index.filtered(Filter(documents=("a",))).graph  # without the imported graph and what was added by hand
    assert triples(part) == [("Anton Hofer", "founded", "Glas AG"), ("Iris Falk", "left", "Glas AG")]


def test_order_of_import_edits_and_documents_does_not_matter(index: Index, tmp_path: Path) -> None:
    documents = [{"id": "a", "text": "Iris Falk left Norden Glas."}]
    edits = [
        Edit(change, "2026-01-01T00:00:00Z", str(at))
        for at, change in enumerate(
            (
                RenameEntity("Norden Glas", "Nordglas"),
                AddEntity("Linz"),
                DeleteStatement("Iris Falk", "left", "Nordglas"),
            )
        )
    ]
    index.edit(*edits, strict=False)
    index.add(documents)
    other = index_of(tmp_path / "other", graph_of(NODES, EDGES))
    other.add(documents)
    other.edit(*edits)
    assert other.graph.checksum == index.graph.checksum and not any(edit.idle for edit in index.edits())


def test_edit_at_a_date_applies_to_the_statements_that_hold_then(index: Index) -> None:
    index.edit(MergeEntities(["I. Falk"], "Iris Falk"), RenameEntity("Norden Glas", "Nordglas"))
    for date, since in (("2013", "2012"), ("2024", "2019")):
        graph = index.filtered(Filter(as_of=date)).graph
        held = [text for text in graph.columns.sentences or () if "works for" in text]
        assert (
            ("Iris Falk", "works_for", "Nordglas") in triples(graph) and f"(since {since}" in held[0] and len(held) == 1
        )


def test_node_is_named_by_its_id_where_several_have_its_name(tmp_path: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    rows = [
        f'<http://x/{at}> {label} "Springfield" .\n<http://x/{at}> <http://x/in> <http://x/S{at}> .' for at in (1, 2)
    ]
    (tmp_path / "towns.nt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    index = index_of(tmp_path / "towns", tmp_path / "towns.nt")
    with pytest.raises(DataError, match="has 2 entities 'Springfield'; make one of them") as error:
        index.edit(DeleteEntity("Springfield"))
    assert str(error.value).endswith("Nothing was changed.")
    index.edit(RenameEntity("http://x/2", "Springfield (Ohio)"))
    assert triples(index.graph) == [("Springfield", "in", "S1"), ("Springfield (Ohio)", "in", "S2")]
    index.edit(DeleteEntity("Springfield"))  # the other one
    assert triples(index.graph) == [("Springfield (Ohio)", "in", "S2")] and index.verify() == []
    index.undo(*(edit.id for edit in index.edits()))
    index.edit(MergeEntities(["Springfield"], "Springfield"))
    assert triples(index.graph) == [("Springfield", "in", "S1"), ("Springfield", "in", "S2")]
    assert len(index.graph.ids("Springfield")) == 1 and index.verify() == []


def test_new_name_may_be_a_shorter_form_of_another_node(tmp_path: Path) -> None:
    graph = Graph.from_triples([("Graz (painting)", "by", "Ida"), ("Gratz", "lies on", "Mur")])
    index = index_of(tmp_path / "towns", graph)
    (edit,) = index.edit(RetypeEntity("Graz", "picture"))  # by the shorter form
    assert ("Graz (painting)", "type", "picture") in triples(index.graph)
    index.undo(edit.id)
    index.edit(RenameEntity("Gratz", "Graz"))
    assert triples(index.graph) == [("Graz", "lies on", "Mur"), ("Graz (painting)", "by", "Ida")]
    assert index.verify() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (RenameEntity("Iris Fall", "Ida"), "there is no entity 'Iris Fall'. Did you mean 'Iris Falk'?"),
        (RenameEntity("Iris Falk", "Graz"), "there is an entity 'Graz' already; merge the two"),
        (MergeEntities(["Graz"], "the graz"), "are one entity already"),
        (DeleteStatement("Iris Falk", "owns", "Graz"), "there is no statement 'Iris Falk', 'owns', 'Graz'"),
        (SplitEntity("Graz", ["a"], "Graz (river)"), "there is no document 'a'"),
        (AddEntity("Graz"), "there is an entity 'Graz' already"),
        (AddStatement("Graz", "twin of", "Linz"), "there is no entity 'Linz'"),
    ],
)
def test_edit_of_what_is_not_in_the_graph_is_an_error_and_changes_nothing(
    index: Index, change: Change, message: str
) -> None:
    before = index.graph.checksum
    with pytest.raises(DataError) as error:
        index.edit(RetypeEntity("Graz", "city"), change)
    assert message in str(error.value) and str(error.value).endswith("Nothing was changed.")
    assert index.edits() == [] and index.graph.checksum == before


NAMES = ["Graz", "Mur", "Ida", "Linz", "Anton"]
names = st.sampled_from(NAMES)
stated = st.tuples(names, st.sampled_from(["knows", "lies on"]), names)
changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(MergeEntities, st.lists(names, min_size=1, max_size=2), names),
    st.builds(RenameEntity, names, names),
    st.builds(DeleteEntity, names),
    st.builds(lambda triple: DeleteStatement(*triple), stated),
)
Plain = list[tuple[str, str, str]]


def plain_edit(nodes: set[str], rows: Plain, change: Change) -> Plain:
    """Edit statements as one would write it down."""

    def to(new: str | None, *old: str) -> Plain:
        moved = {name: new for name in old}
        gone = nodes & set(old)
        nodes.difference_update(gone)
        nodes.update({new} if new and gone else set())
        both = [(moved.get(h, h), r, moved.get(t, t), h == t) for h, r, t in rows]
        return [(h, r, t) for h, r, t, is_loop in both if h and t and (h != t or is_loop)]

    if isinstance(change, MergeEntities):
        present = nodes & {*change.names, change.into}
        return to(change.into, *present) if len(present) > 1 else rows
    if isinstance(change, RenameEntity):
        return to(change.to, change.name, *(nodes & {change.to})) if change.name in nodes else rows
    if isinstance(change, DeleteEntity):
        return to(None, change.name) if change.name in nodes else rows
    assert isinstance(change, DeleteStatement)
    return [row for row in rows if row != (change.head, change.relation, change.tail)]


@given(st.lists(stated, min_size=1, max_size=6, unique=True), st.lists(changes, min_size=1, max_size=5))
def test_edits_of_columns_equal_edits_of_triples(rows: Plain, edits: list[Change]) -> None:
    graph = Graph.from_triples(rows)
    nodes, expected = set(graph.names), rows
    for change in edits:
        expected = plain_edit(nodes, expected, change)
    made = [Edit(change, f"2026-01-01T00:00:0{at}Z") for at, change in enumerate(edits)]
    columns = edited(MergedChunks(ChunkColumns.of([])), made, graph.columns).imported
    assert columns is not None
    assert triples(Graph(columns)) == sorted(set(expected)) and set(columns.names) == nodes
