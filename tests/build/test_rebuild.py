"""Rebuild in place: it equals a new index, keeps what is still valid, and is all or nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.faults.fork_server import ForkServer
from tests.faults.index_state import contents
from tests.shared import CORPUS

from graphwright import Document, Index
from graphwright.data.document import Heading, gaps, joined, split
from graphwright.extract import EntityType, Schema
from graphwright.extract.llm import GenerativeExtractor
from graphwright.models.fake import HashEncoder, ScriptedLLM
from graphwright.store import AddEntity, AddStatement, Change, DeleteEntity, RenameEntity, Settings, SplitEntity

REPORT = """# Rivers

The Mur rises in Salzburg. It flows through Graz and Maribor.

## Graz

Graz lies on the Mur. The city has a clock tower.  Its university was founded in 1585 by Archduke Charles II.


## Maribor

Maribor lies on the Drava. It is the second largest city of Slovenia.

## Old Maps

They are lost. """
ROWS = "Town Name,River Name\nGraz,Mur\nMaribor,Drava\nLinz,Danube\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "rivers.md").write_text(REPORT)
    (folder / "cities.csv").write_text(ROWS)
    (folder / "blank-lines.txt").write_text(
        "\n\n  Lothair II was a king.\tErmengarde was his mother.   \n\n\nShe died.\n\n"
    )
    return folder


def built(folder: Path, notes: Path, **settings: int) -> Index:
    index = Index.create(folder, encoder=HashEncoder(), settings=Settings(**settings))  # type: ignore[arg-type]
    index.sync(notes)
    index.add([*CORPUS, Document("whole", "It is one. It stays one. Graz is in it. " * 8, whole=True)])
    return index


@pytest.mark.parametrize("sizes", [{"chunk_tokens": 20, "overlap": 5}, {"chunk_tokens": 40, "overlap": 0}])
def test_rebuild_with_other_chunks_equals_new_index(tmp_path: Path, notes: Path, sizes: dict[str, int]) -> None:
    built(tmp_path / "ix", notes, chunk_tokens=30, overlap=8).close()
    for each in ({"chunk_tokens": 500, "overlap": 0}, sizes):
        changes = Index.rebuild(tmp_path / "ix", HashEncoder(), **each)
        assert changes.rebuilt and changes.extracted and not changes.pending
    with (
        Index.open(tmp_path / "ix", encoder=HashEncoder()) as index,
        built(tmp_path / "new", notes, **sizes) as new,
    ):
        assert index.snapshot.fingerprints == new.snapshot.fingerprints and index.settings == new.settings
        assert index.snapshot.graph.columns.checksum == new.snapshot.graph.columns.checksum
        assert not index.verify() and index.list_documents() == new.list_documents()
        assert index.sync(notes).unchanged and not index.sync(notes).replaced


@settings(max_examples=40, deadline=None)
@given(
    st.text(st.sampled_from("ab. \n\t\u2028é?!")),
    st.integers(1, 12),
    st.integers(0, 3),
    st.lists(st.integers(0, 60), max_size=3),
)
def test_text_is_joined_exactly_from_its_chunks(text: str, budget: int, overlap: int, starts: list[int]) -> None:
    headings = tuple(Heading(start, 1, "h") for start in sorted({*starts}) if start < len(text))
    chunks = split(Document("d", text, headings=headings), budget=budget, overlap=min(overlap, budget - 1))
    spaces = gaps(text, [(chunk.start, chunk.end) for chunk in chunks])
    assert not "".join(spaces).strip() or not chunks
    assert joined([(chunk.start, chunk.text) for chunk in chunks], spaces) == text


def reader(asked: list[str]) -> GenerativeExtractor:
    def reply(system: str, user: str) -> str:
        text = json.loads(user.splitlines()[-1])["text"]
        asked.append(text)
        return json.dumps({"entities": [{"name": word} for word in text.split()[:2]], "relations": []})

    return GenerativeExtractor(ScriptedLLM(reply), threads=1)


LONG = Document("long", "Graz lies on the Mur. Linz lies on the Danube. Maribor lies on the Drava river in Slovenia.")
SHORT = Document("short", "Vienna lies on the Danube.")


def test_extraction_of_unchanged_chunks_is_not_paid_again(tmp_path: Path) -> None:
    asked: list[str] = []
    sizes = {"chunk_tokens": 30, "overlap": 0}
    extractor = reader(asked)
    with Index.create(
        tmp_path / "ix",
        encoder=HashEncoder(),
        extractor=extractor,
        settings=Settings(**sizes),  # type: ignore[arg-type]
    ) as index:
        index.add([LONG, SHORT])
    asked.clear()
    sizes["chunk_tokens"] = 12
    paid = Index.chunks_to_rebuild(tmp_path / "ix", HashEncoder(), **sizes)
    assert len(paid) == 2 and {each.document for each in paid} == {"long"} and not asked
    changes = Index.rebuild(tmp_path / "ix", HashEncoder(), extractor=extractor, **sizes)
    assert [place[:2] for place in changes.pending] == [("long", 0), ("long", 1)] and not asked
    with Index.open(tmp_path / "ix", encoder=HashEncoder(), extractor=extractor) as index:
        assert index.ask("Where is Vienna?").answer is not None
        index.add([])
        assert sorted(asked) == sorted(each.text for each in paid) and not index.info()["pending"]
        with Index.create(tmp_path / "new", encoder=HashEncoder(), extractor=extractor, settings=index.settings) as new:
            new.add([LONG, SHORT])
            assert index.snapshot.fingerprints == new.snapshot.fingerprints


def test_readers_see_old_index_until_rebuild_is_complete(tmp_path: Path, notes: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    with built(tmp_path / "ix", notes) as index:
        before = index.info()["chunks"]

        def look(work: str, done: int, total: int) -> None:
            with Index.open(tmp_path / "ix", encoder=HashEncoder()) as other:
                seen.append((work, other.info()["chunks"], len(other.ask("Where is Graz?").answer.citations)))

        Index.rebuild(tmp_path / "ix", HashEncoder(), look, chunk_tokens=16, overlap=0)
        assert {"split documents", "build the graph"} <= {work for work, *_ in seen}
        assert {(chunks, citations > 0) for _, chunks, citations in seen} == {(before, True)}
        assert index.info()["chunks"] > before and index.ask("Where is Graz?").answer.citations


TRIPLES = "Graz\tlies on\tMur\nMaribor\tlies on\tDrava\nDrava\tflows into\tDanube\nErmengarde\tmother of\tLothair\n"


def imported(folder: Path, encoder: HashEncoder, embed: tuple[str, ...] = ("names", "triples")) -> Index:
    file = folder.with_name("rivers.tsv")
    file.write_text(TRIPLES)
    return Index.from_graph(folder, file, encoder=encoder, embed=embed)


@pytest.mark.parametrize("embed", [("names", "triples"), ("names",), ("passages", "triples")])
def test_rebuild_of_imported_graph_equals_import_by_other_encoder(tmp_path: Path, embed: tuple[str, ...]) -> None:
    imported(tmp_path / "ix", HashEncoder()).close()
    assert Index.rebuild(tmp_path / "ix", HashEncoder(96), embed=embed).rebuilt
    with (
        Index.open(tmp_path / "ix", encoder=HashEncoder(96)) as index,
        imported(tmp_path / "new", HashEncoder(96), embed) as new,
    ):
        assert contents(index) == contents(new) and index.verify() == [] and index.is_current
        assert index.ask("What lies on the Mur?").answer == new.ask("What lies on the Mur?").answer
        index.add(CORPUS)  # the first documents
        new.add(CORPUS)
        assert contents(index) == contents(new) and index.verify() == []


@pytest.mark.parametrize("changed", [{}, {"chunk_tokens": 16, "overlap": 0}, {"embed": ("passages", "names")}])
@pytest.mark.parametrize("dimension", [64, 96])
def test_rebuild_of_imported_graph_with_documents_equals_new_index(
    tmp_path: Path, notes: Path, changed: dict[str, Any], dimension: int
) -> None:
    with imported(tmp_path / "ix", HashEncoder(64)) as index:
        index.sync(notes)
        before = index.info()["chunks"]
    Index.rebuild(tmp_path / "ix", HashEncoder(dimension), **changed)
    imported(tmp_path / "new", HashEncoder(dimension)).close()
    Index.rebuild(tmp_path / "new", HashEncoder(dimension), **changed)
    with (
        Index.open(tmp_path / "ix", encoder=HashEncoder(dimension)) as index,
        Index.open(tmp_path / "new", encoder=HashEncoder(dimension)) as new,
    ):
        new.sync(notes)
        assert contents(index) == contents(new) and index.settings == new.settings and index.verify() == []
        assert (index.info()["chunks"] > before) == ("chunk_tokens" in changed)
        index.remove([document.id for document in index.list_documents() if not document.id.startswith("graph:")])
        assert index.graph.checksum == imported(tmp_path / "alone", HashEncoder(dimension)).graph.checksum


KILLED = """
import os
from graphwright.build import publication, rebuild
from graphwright.index_folder.index import Index
from graphwright.models.fake import HashEncoder
def die(*_): os._exit(9)
setattr({"layout": rebuild.IndexLayout, "division": rebuild._Division, "store": rebuild.Store}[owner], name, die)
Index.rebuild(folder, HashEncoder(dimension), **changed)
"""
SIZES = {"chunk_tokens": 16, "overlap": 0}


def killed(server: ForkServer, folder: Path, where: str, dimension: int, **changed: Any) -> None:
    """Rebuild an index in a process that dies where it calls a method."""
    owner, name = where.split(".")
    program = f"{owner=}; {name=}; {dimension=}; {changed=}\n{KILLED}"
    assert server.run("program", folder, program).code == 9


@pytest.mark.parametrize(
    ("where", "is_old"),
    [("store.put_chunks", True), ("layout.prepare", True), ("layout.switch", False), ("store.checkpoint", False)],
)
def test_killed_rebuild_leaves_one_whole_index(
    tmp_path: Path, notes: Path, fork_server: ForkServer, where: str, is_old: bool
) -> None:
    with built(tmp_path / "ix", notes) as index:
        before = index.info()["chunks"]
    killed(fork_server, tmp_path / "ix", where, 96, **SIZES)
    encoder = HashEncoder() if is_old else HashEncoder(96)
    with Index.open(tmp_path / "ix", encoder=encoder) as index:
        assert (index.info()["chunks"] == before) == is_old and index.is_current
        assert index.ask("Where is Graz?").answer.citations and not index.verify()
        index.add([Document("later", "Bruck lies on the Mur.")])
        assert not index.verify()
    assert len(list((tmp_path / "ix").glob("snapshot-*"))) == 1


@pytest.mark.parametrize(
    ("where", "is_old"),
    [("layout.replacing_imported", True), ("layout.prepare", True), ("layout.switch", False)],
)
@pytest.mark.parametrize("dimension", [64, 96])
def test_killed_rebuild_of_graph_with_documents_leaves_one_whole_index(
    tmp_path: Path, notes: Path, fork_server: ForkServer, where: str, is_old: bool, dimension: int
) -> None:
    with imported(tmp_path / "ix", HashEncoder(64)) as index:
        index.sync(notes)
    killed(fork_server, tmp_path / "ix", where, dimension, embed=("passages", "names"))
    encoder = HashEncoder(64) if is_old else HashEncoder(dimension)
    with Index.open(tmp_path / "ix", encoder=encoder) as index:
        assert index.verify() == [] and (index.settings.embed == ("names", "triples")) == is_old
        index.add([Document("later", "Bruck lies on the Mur.")])
        assert index.verify() == [] and "Danube" in index.graph.names
    killed(fork_server, tmp_path / "ix", "layout.prepare", 80)
    Index.rebuild(tmp_path / "ix", HashEncoder(96))  # without opening it first
    assert not (tmp_path / "ix" / "old-imported").exists()


def test_schema_and_edits_after_a_history_equal_those_of_a_new_index(tmp_path: Path, notes: Path) -> None:
    schema = Schema((EntityType("river", "Flowing water."), EntityType("person", "A human being.")))
    with Index.create(tmp_path / "ix", encoder=HashEncoder()) as index:
        index.sync(notes)
        edits: list[Change] = [RenameEntity("Maribor", "Marburg"), SplitEntity("Graz", ["rivers.md"], "Graz (city)")]
        edits += [AddEntity("Ida Stone", "guide"), AddStatement("Ida Stone", "knows", "Marburg")]
        wrong, *_ = index.edit(DeleteEntity("Slovenia"), *edits)
        index.reextract(schema=schema)
        (notes / "rivers.md").rename(notes / "mur.md")
        (notes / "more.txt").write_text("Ida Stone swam from Marburg to Graz.")
        index.sync(notes)
        index.undo(wrong.id)
    Index.rebuild(tmp_path / "ix", HashEncoder(), chunk_tokens=20, overlap=0)
    sizes = Settings(chunk_tokens=20, overlap=0)
    with (
        Index.open(tmp_path / "ix", encoder=HashEncoder()) as index,
        Index.create(tmp_path / "new", encoder=HashEncoder(), settings=sizes, schema=schema) as new,
    ):
        new.sync(notes)
        new.edit(*index.edits(), strict=False)
        assert {"Marburg", "Graz (city)", "Ida Stone", "Slovenia"} <= set(index.graph.names)
        assert contents(index) == contents(new) and index.verify() == new.verify() == []
