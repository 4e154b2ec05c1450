"""Edits by hand: each kind changes the graph as it says, in order, for any set of documents."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.toys import chunk_columns_of

from graphwright import Document, Index
from graphwright.build.apply_edits import PREFIX, edited
from graphwright.build.document_sources import Source
from graphwright.build.merge import MergedChunks
from graphwright.build.publication import Publication
from graphwright.data.records.record import Field, Record
from graphwright.errors import DataError
from graphwright.extract import EntityType, Schema
from graphwright.extract.extraction import Extraction, Mention, Relation
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
    Settings,
    SplitEntity,
)

MAYOR = Field("mayor", "John Smith", 7, 17)
DOCUMENTS: list[Source] = [
    {"id": "a", "title": "Graz", "text": "Graz lies on the Mur. Alma Brecht lives in Graz."},
    {"id": "b", "title": "Notes", "text": "Gratz is a town. A. Brecht visited Gratz. Anton Hofer married Alma Brecht."},
    {"id": "c", "text": "John Smith painted Graz. John Smith was born in Leoben."},
    {"id": "d", "title": "John Smith", "text": "John Smith governed Styria. He died in Vienna."},
    Document("e", "Mayor: John Smith", "Towns", records=(Record("towns", (MAYOR,), 0, 17),)),
]


def index_of(folder: Path, **settings: Any) -> Index:
    index = Index.create(folder, encoder=HashEncoder(16), settings=Settings(embed=("passages", "names"), **settings))
    index.add(DOCUMENTS)
    return index


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return index_of(tmp_path / "index")


def triples(graph: Graph) -> set[tuple[str, str, str]]:
    return {graph.triple(edge) for edge in graph.edges.tolist()}


def documents_of(graph: Graph, name: str) -> set[str]:
    return {passage.partition("#")[0] for passage in graph.names.take(graph.chunks_of(graph.ids(name)))}


def test_merge_gives_statements_and_passages_of_one_to_the_other(index: Index) -> None:
    index.edit(MergeEntities(["Gratz"], "Graz"))
    assert "Gratz" not in index.graph.names and documents_of(index.graph, "Graz") == {"a", "b", "c"}
    assert ("A. Brecht", "visited", "Graz") in triples(index.graph)
    assert index.query('"Gratz".~[visited]').names == ("A. Brecht",)  # found by the other name, too
    assert index.verify() == []


def test_rename_keeps_the_old_name_as_an_alias(index: Index) -> None:
    index.edit(RenameEntity("graz", "Graz an der Mur"))
    assert "Graz" not in index.graph.names and documents_of(index.graph, "Graz an der Mur") == {"a", "c"}
    assert index.query('"Graz".[lies on]').names == ("Mur",)
    index.edit(RenameEntity("Alma Brecht", "ALMA BRECHT"))
    assert "ALMA BRECHT" in index.graph.names


def test_retype_writes_the_type_without_a_typing_extractor(index: Index) -> None:
    index.edit(RetypeEntity("Graz", "city"), RenameEntity("Graz", "Graz City"))
    assert index.graph.text(index.graph.id("Graz City")) == "Graz City (city)"
    index.edit(RetypeEntity("Graz City", ""))
    assert index.graph.text(index.graph.id("Graz City")) == "Graz City"


def test_delete_leaves_no_mention_statement_or_text_of_a_relation(index: Index) -> None:
    before = triples(index.graph)
    index.edit(DeleteEntity("Leoben"), DeleteEntity("Graz"))
    assert triples(index.graph) == {triple for triple in before if not {"Leoben", "Graz"} & set(triple)}
    assert "John Smith was born in Leoben." not in (index.graph.columns.sentences or ())
    assert "Graz" not in index.graph.names and "lies on" not in index.graph.columns.relations
    assert index.verify() == []


def test_split_gives_mentions_in_some_documents_to_another_entity(index: Index) -> None:
    index.edit(SplitEntity("John Smith", ["d", "e"], "John Smith (governor)"))
    graph = index.graph
    assert documents_of(graph, "John Smith (governor)") == {"d", "e"} and documents_of(graph, "John Smith") == {"c"}
    assert ("John Smith (governor)", "governed", "Styria") in triples(graph)
    assert ("John Smith", "painted", "Graz") in triples(graph)
    assert graph.columns.records is not None  # the cell of the table means the other, too
    nodes = graph.names.take(node for node in graph.columns.records.node.tolist() if node >= 0)
    assert "John Smith (governor)" in nodes and "John Smith" not in nodes
    index.edit(SplitEntity("John Smith", ["c"], "Anton Hofer"))
    assert ("Anton Hofer", "painted", "Graz") in triples(index.graph)
    assert index.verify() == []


def test_split_of_removed_document_says_that_there_is_none(index: Index) -> None:
    index.edit(SplitEntity("Graz", ["c"], "Graz (painting)"))
    index.remove(["c"])
    (edit,) = index.edits()
    assert edit.idle == "there is no document 'c'."


def test_split_takes_a_topic_that_only_the_text_holds(index: Index) -> None:
    index.add(
        [{"id": "f", "title": "Iron Mountain", "text": "A mine."}, {"id": "g", "text": "the iron mountain froze."}]
    )
    assert documents_of(index.graph, "Iron Mountain") == {"f", "g"}
    index.edit(
        SplitEntity("Iron Mountain", ["g"], "Iron Mountain (lake)"), RetypeEntity("Iron Mountain (lake)", "lake")
    )
    assert documents_of(index.graph, "Iron Mountain") == {"f"}
    assert documents_of(index.graph, "Iron Mountain (lake)") == {"g"} and index.verify() == []
    index.edit(RenameEntity("Iron Mountain (lake)", "Lake"), RenameEntity("Iron Mountain", "Erzberg"))
    assert (documents_of(index.graph, "Lake"), documents_of(index.graph, "Erzberg")) == ({"g"}, {"f"})
    index.edit(DeleteEntity("Lake"))
    assert "Lake" not in index.graph.names and documents_of(index.graph, "Erzberg") == {"f"}


def test_deleted_statement_stays_away_from_documents_added_later(index: Index) -> None:
    index.edit(DeleteStatement("Alma Brecht", "lives in", "Graz"))
    index.add([{"id": "f", "text": "Alma Brecht lives in Graz. Alma Brecht lives in Linz."}])
    stated = triples(index.graph)
    assert ("Alma Brecht", "lives in", "Linz") in stated and ("Alma Brecht", "lives in", "Graz") not in stated
    index.undo(index.edits()[0].id)
    assert ("Alma Brecht", "lives in", "Graz") in triples(index.graph)


def test_additions_are_cited_as_added_by_hand_and_are_no_documents(index: Index) -> None:
    index.edit(
        AddEntity("Keplerbrücke", "bridge", "A bridge over the river."),
        AddStatement("Keplerbrücke", "crosses", "Mur", "The Keplerbrücke crosses the Mur."),
        who="Ida",
    )
    answer = index.ask("What does the Keplerbrücke cross?", "bm25").answer
    assert answer is not None and answer.citations
    texts = {index.text(citation.document): citation.document for citation in answer.citations}
    assert texts["The Keplerbrücke crosses the Mur."].startswith(PREFIX)
    passage = next(p for p in index.retrieve("Keplerbrücke", "bm25").passages or () if p.id.startswith(PREFIX))
    assert passage.title.startswith("Added by hand by Ida on 20")
    assert [item.id for item in index.list_documents()] == list("abcde") == sorted(index.metadata_by_document())
    assert not [name for name in index.filtered(Filter(documents=("a",))).graph.names if "Kepler" in name]
    index.edit(DeleteStatement("Keplerbrücke", "crosses", "Mur"))
    assert "crosses" not in index.graph.columns.relations and index.verify() == []


def test_filter_hides_names_that_edits_have_from_other_documents(index: Index) -> None:
    index.add([{"id": "f", "title": "Falcon", "text": "Falcon is secret."}])
    index.edit(
        MergeEntities(["Alma Brecht", "A. Brecht"], "Falcon"),
        SplitEntity("Gratz", ["b"], "John Smith"),
        RenameEntity("Anton Hofer", "Anton Huber"),  # a name that no document has
        AddStatement("Falcon", "is", "Anton Huber"),
    )
    assert "Falcon" in index.graph.names and ("Falcon", "visited", "John Smith") in triples(index.graph)
    part = index.filtered(Filter(documents=("b",))).graph
    assert ("Anton Huber", "married", "Alma Brecht") in triples(part) and (
        "Alma Brecht",
        "visited",
        "Gratz",
    ) in triples(part)
    assert not {"Falcon", "A. Brecht", "John Smith"} & set(part.names)
    assert not {"falcon", "john smith"} & set(part.columns.aliases)
    both = index.filtered(Filter(documents=("b", "f"))).graph
    assert ("Falcon", "visited", "Gratz") in triples(both) and "is" not in both.columns.relations


def test_filter_by_date_alone_shows_what_was_added_by_hand(index: Index) -> None:
    index.add([{"id": "f", "text": "Ida lives in Linz.", "metadata": {"date": "2030-01-01"}}])
    index.edit(
        AddEntity("Keplerbrücke"), AddStatement("Keplerbrücke", "crosses", "Mur"), AddStatement("Linz", "of", "Mur")
    )
    stated = triples(index.filtered(Filter(as_of="2026")).graph)
    assert ("Keplerbrücke", "crosses", "Mur") in stated and ("Linz", "of", "Mur") not in stated


def test_keep_apart_overrules_resolution_and_a_merge_by_hand_overrules_both(tmp_path: Path) -> None:
    index = index_of(tmp_path / "index", resolve=("aliases",))
    index.add([{"id": "f", "text": "The European Space Agency (ESA) met in Graz. ESA met in Leoben."}])
    names = {"ESA", "European Space Agency"}
    assert len(names & set(index.graph.names)) == 1
    index.edit(RetypeEntity("ESA", "body"), RetypeEntity("European Space Agency", "agency"))  # one, by either name
    index.edit(KeepApart("ESA", "European Space Agency"))
    assert names <= set(index.graph.names)
    index.edit(MergeEntities(["ESA"], "European Space Agency"))
    assert "ESA" not in index.graph.names and index.verify() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (MergeEntities(["Gratz"], "Grazz"), "there is no entity 'Grazz'. Did you mean 'Graz'?"),
        (MergeEntities(["Graz"], "GRAZ"), "'Graz' and 'GRAZ' are one entity already"),
        (RenameEntity("Graz", "Gratz"), "there is an entity 'Gratz' already; merge the two"),
        (RenameEntity("Graz", "Graz"), "is named 'Graz' already"),
        (RetypeEntity("Linz", "city"), "there is no entity 'Linz'"),
        (DeleteEntity("?"), "'?' is not a name"),
        (SplitEntity("Graz", ["z"], "Graz 2"), "there is no document 'z'. Nothing was changed."),
        (SplitEntity("Graz", ["a", "z"], "Graz (river)"), "there is no document 'z'"),
        (SplitEntity("Graz", ["a"], "the graz"), "choose another name"),
        (KeepApart("Graz", "graz"), "are one entity"),
        (DeleteStatement("Graz", "lies in", "Mur"), "there is no statement 'Graz', 'lies in', 'Mur'"),
        (AddEntity("Graz"), "there is an entity 'Graz' already"),
        (AddStatement("Graz", "twin of", "Zagreb"), "there is no entity 'Zagreb'"),
        (AddStatement("Graz", "twin of", "GRAZ"), "a statement is about two"),
    ],
)
def test_edit_of_what_is_not_there_is_an_error_and_changes_nothing(index: Index, change: Change, message: str) -> None:
    before = index.graph.checksum
    with pytest.raises(DataError) as error:
        index.edit(RetypeEntity("Mur", "river"), change)
    assert message in str(error.value) and str(error.value).endswith("Nothing was changed.")
    assert index.edits() == [] and index.graph.checksum == before


def test_edit_whose_entity_vanishes_stays_and_says_so(index: Index) -> None:
    index.edit(RenameEntity("Styria", "Steiermark"), MergeEntities(["Alma Brecht", "A. Brecht"], "Anton Hofer"))
    index.remove(["d", "a"])
    idle = [edit.idle for edit in index.edits()]
    assert idle == ["there is no entity 'Styria'.", ""]
    index.add(DOCUMENTS)
    assert "Steiermark" in index.graph.names and not any(edit.idle for edit in index.edits())


def test_undo_of_an_edit_leaves_those_after_it(index: Index) -> None:
    before = index.graph.checksum
    rename, retype = index.edit(RenameEntity("Graz", "Graz City"), RetypeEntity("Graz City", "city"))
    index.undo(rename.id)
    assert index.edits()[0].idle == "there is no entity 'Graz City'."
    index.undo(retype.id)
    assert index.graph.checksum == before and index.edits() == []
    with pytest.raises(DataError, match="has no edit"):
        index.undo(rename.id)


def test_edits_of_another_index_are_taken_once_with_their_authors(index: Index, tmp_path: Path) -> None:
    index.edit(MergeEntities(["Gratz"], "Graz"), who="Ida", why="a typo")
    other = index_of(tmp_path / "other")
    other.edit(*index.edits())
    assert other.edits() == index.edits() and other.graph.checksum == index.graph.checksum
    current = (other.path / "CURRENT").read_text()
    other.edit(*index.edits())
    assert (other.path / "CURRENT").read_text() == current and len(other.edits()) == 1


def test_edit_that_was_interrupted_is_published_by_the_next_try(index: Index) -> None:
    with mock.patch.object(Publication, "_publish", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        index.edit(RenameEntity("Graz", "Graz City"))
    assert "Graz City" not in index.graph.names and not index.is_current
    index.edit(*index.edits())
    assert "Graz City" in index.graph.names and index.is_current and len(index.edits()) == 1


def test_edits_in_a_batch_are_published_together(index: Index) -> None:
    with index.batch():
        index.add([{"id": "f", "text": "Ida Berger lives in Linz."}])
        index.edit(RenameEntity("Ida Berger", "Ida Huber"))
        assert "Ida Huber" not in index.graph.names
    assert ("Ida Huber", "lives in", "Linz") in triples(index.graph) and index.verify() == []


def test_edits_in_a_batch_build_the_graph_once(index: Index) -> None:
    with mock.patch.object(Publication, "_build", autospec=True, side_effect=Publication._build) as build:
        with index.batch():
            index.edit(RenameEntity("Graz", "Graz City"))
            index.edit(RetypeEntity("Graz City", "city"), DeleteEntity("Leoben"))
            index.edit(RetypeEntity("Lins", "city"), strict=False)
        assert build.call_count == 1
    assert index.graph.text(index.graph.id("Graz City")) == "Graz City (city)" and "Leoben" not in index.graph.names
    with index.batch():
        index.edit(RenameEntity("Graz City", "Graz"))
        with pytest.raises(DataError, match=r"there is no entity 'Graz City'.*Nothing was changed"):
            index.edit(DeleteEntity("Mur"), DeleteEntity("Graz City"))
    assert {"Graz", "Mur"} <= set(index.graph.names) and len(index.edits()) == 5 and index.verify() == []


@pytest.mark.parametrize("batch", [False, True])
def test_undone_addition_is_hidden_until_it_is_published(index: Index, batch: bool) -> None:
    made = index.edit(AddEntity("Linz", "city", "A secret."), RenameEntity("Graz", "Graz City"))
    index.ask("What is Linz?", "bm25")
    killed = mock.patch.object(Publication, "refresh", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt), index.batch() if batch else nullcontext():
        index.undo(*(edit.id for edit in made))
    assert "Linz" not in index.graph.names and "Graz" in index.graph.names and not index.is_current
    index.add([])
    assert "Linz" not in index.graph.names and index.is_current and index.verify() == []


NAMES = ["Graz", "Mur", "Ida", "Linz", "Anton"]
names, documents = st.sampled_from(NAMES), st.sampled_from(["d0", "d1", "d2"])
stated = st.tuples(names, st.sampled_from(["knows", "lies on"]), names)
extractions = st.tuples(st.lists(names, max_size=3), st.lists(stated, max_size=3))
changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(MergeEntities, st.lists(names, min_size=1, max_size=2), names),
    st.builds(RenameEntity, names, names),
    st.builds(DeleteEntity, names),
    st.builds(SplitEntity, names, st.lists(documents, min_size=1, max_size=2), names),
    st.builds(lambda triple: DeleteStatement(*triple), stated),
)
Plain = dict[str, tuple[list[str], list[tuple[str, str, str]]]]


def exists(docs: Plain, name: str) -> bool:
    return any(name in named for named, _ in docs.values())


def replace(docs: Plain, old: set[str], new: str | None, where: set[str]) -> None:
    """Write another name in documents, or leave out names with their statements."""
    to = {name: new or "" for name in old}
    for id in where & docs.keys():
        named, triples = docs[id]
        triples = [(to.get(head, head), relation, to.get(tail, tail)) for head, relation, tail in triples]
        named = [name for name in (to.get(name, name) for name in named) if name]
        docs[id] = named, [t for t in triples if t[0] != t[2] and t[0] and t[2]]


def plain_edit(docs: Plain, change: Change) -> bool:
    """Edit names and statements as one would write it down; return whether the edit names what is there."""
    everywhere = set(docs)
    if isinstance(change, MergeEntities):
        present = {name for name in change.entities if exists(docs, name)}
        replace(docs, present if len(present) > 1 else set(), change.into, everywhere)
        return present == set(change.entities) and len(present) > 1
    if isinstance(change, RenameEntity):
        done = exists(docs, change.name) and not exists(docs, change.to)
        replace(docs, {change.name}, change.to, everywhere)
        return done
    if isinstance(change, DeleteEntity):
        done = exists(docs, change.name)
        replace(docs, {change.name}, None, everywhere)
        return done
    if isinstance(change, SplitEntity):
        moved = any(change.name in docs[id][0] for id in change.documents if id in docs) and change.name != change.to
        replace(docs, {change.name}, change.to, set(change.documents) if moved else set())
        return moved and set(change.documents) <= everywhere
    assert isinstance(change, DeleteStatement)
    wrong = (change.head, change.relation, change.tail)
    done = any(wrong in triples for _, triples in docs.values())
    docs |= {id: (named, [triple for triple in triples if triple != wrong]) for id, (named, triples) in docs.items()}
    return done


def merged_of(docs: Plain) -> MergedChunks:
    return MergedChunks(
        chunk_columns_of(
            (id, "", "t", Extraction(tuple(map(Mention, named)), tuple(Relation(*t, " ".join(t)) for t in triples)))
            for id, (named, triples) in docs.items()
        )
    )


def contents(merged: MergedChunks) -> list[tuple[Any, ...]]:
    graph = merged.graph(np.empty((0, 2), np.int64))
    listed = [graph.triple(edge) for edge in graph.edges.tolist()]
    return sorted((head, "mentions" if label == "about" else label, tail) for head, label, tail in listed)


@given(st.lists(extractions, max_size=3), st.lists(changes, max_size=6))
@example([([], [("Graz", "knows", "Mur")])] * 2, [SplitEntity("Graz", ("d0",), "Mur")])
@example([([], [("Graz", "knows", "Mur")])], [RenameEntity("Graz", "Mur"), DeleteStatement("Mur", "knows", "Mur")])
def test_edits_of_columns_equal_edits_of_extractions(given: list[Any], edits: list[Change]) -> None:
    docs: Plain = {
        f"d{at}": (
            list(dict.fromkeys([*named, *(end for h, _, t in triples if h != t for end in (h, t))])),
            [triple for triple in triples if triple[0] != triple[2]],
        )
        for at, (named, triples) in enumerate(given)
    }
    before, made = merged_of(docs), [Edit(change, str(at)) for at, change in enumerate(edits)]
    result = edited(before, made)
    idle = {edit.id for edit in made if not plain_edit(docs, edit.change)}
    assert contents(result.merged) == contents(merged_of(docs)) and set(result.idle) == idle
    graph = result.merged.graph(np.empty((0, 2), np.int64))
    assert {name for name in graph.names if "#" not in name} <= set(NAMES)  # none is named as its normal form


def test_added_entity_keeps_type_and_description_where_a_later_document_names_it(index: Index) -> None:
    index.edit(AddEntity("Erika Novak", "notary", "She works in Graz."))
    index.add([{"id": "f", "text": "Erika Novak met Anton Hofer."}])
    (edit,) = index.edits()
    graph = index.graph
    assert graph.text(graph.id("Erika Novak")) == "Erika Novak (notary): She works in Graz."
    assert documents_of(graph, "Erika Novak") == {"f", PREFIX + edit.id}
    assert edit.idle.startswith("there is an entity 'Erika Novak' already") and index.verify() == []


def test_types_of_edits_are_those_of_the_schema_by_name_and_synonym(tmp_path: Path) -> None:
    schema = Schema((EntityType("town", synonyms=("city",)),))
    with Index.create(tmp_path / "index", encoder=HashEncoder(16), schema=schema) as index:
        index.add(DOCUMENTS)
        index.edit(RetypeEntity("Graz", "City"), AddEntity("Linz", "Town"), AddEntity("Enns", "river"))
        graph = index.graph
        texts = [graph.text(graph.id(name)) for name in ("Graz", "Linz", "Enns")]
        assert texts == ["Graz (town)", "Linz (town)", "Enns (river)"]


def test_rename_holds_where_a_later_document_has_the_new_name(index: Index) -> None:
    index.edit(RenameEntity("Anton Hofer", "Anton Berger"))
    index.add([{"id": "f", "text": "Anton Berger was born in Linz."}])
    graph = index.graph
    assert documents_of(graph, "Anton Berger") == {"b", "f"}
    assert "Anton Hofer" not in graph.names and index.verify() == []
    assert index.edits()[0].idle.startswith("there is an entity 'Anton Berger' already")


def test_split_follows_a_renamed_file(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("John Smith painted Graz.", encoding="utf-8")
    (folder / "b.txt").write_text("John Smith governed Styria.", encoding="utf-8")
    with Index.create(tmp_path / "index", encoder=HashEncoder(16)) as index:
        index.sync(folder)
        index.edit(SplitEntity("John Smith", ["b.txt"], "John Smith (governor)"))
        (folder / "b.txt").rename(folder / "c.txt")
        assert index.sync(folder).moved == [("b.txt", "c.txt")]
        assert documents_of(index.graph, "John Smith (governor)") == {"c.txt"} and index.verify() == []
        (edit,) = index.edits()
        index.undo(edit.id)
        assert documents_of(index.graph, "John Smith") == {"a.txt", "c.txt"}
