"""Any history of changes leads to the index that is built at once from the last documents."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.faults.fork_server import ALL, SlowExtractor
from tests.faults.index_state import contents, leftovers

from graphwright import Document, Index, start
from graphwright.build import apply_edits
from graphwright.build.imports.assembly import graph_of
from graphwright.build.imports.node_passages import PREFIX
from graphwright.data.file_documents import with_records
from graphwright.data.graph_files.property_graphs import Edge, Node
from graphwright.data.records.record import Field, Record
from graphwright.errors import DataError
from graphwright.extract import EntityType, LexicalExtractor, RelationType, Schema
from graphwright.extract.schema import NO_SCHEMA
from graphwright.methods.registry import make_method
from graphwright.models import HashEncoder
from graphwright.search.snapshot import Snapshot
from graphwright.store import (
    AddEntity,
    AddStatement,
    Change,
    DeleteEntity,
    DeleteStatement,
    KeepApart,
    MergeEntities,
    RenameEntity,
    RetypeEntity,
    SplitEntity,
)

ENCODER = HashEncoder(8)
QUESTION = "Where does the Mur flow, and who lives there?"
PLACES = (EntityType("city", "A city or a town.", examples=("Graz",)), EntityType("river", "Flowing water."))
PAIRED = (RelationType("lies on", pairs=(("city", "river"),)), RelationType("married"))
SCHEMAS = [NO_SCHEMA, Schema(PLACES, PAIRED), Schema(PLACES, strict=True)]
EXTRACTORS = {"lexical": LexicalExtractor(), "slow": SlowExtractor()}
SENTENCES = [
    "The Mur flows through Graz and Leoben.",
    "Alma Brecht lives in Graz.",
    "Anton Hofer of Leoben married Alma Brecht in 1931.",
    "The Abbey of Admont owns a library in Styria.",
    "A. Hofer's letters are illegible.",
    "nothing here begins with a capital letter.",
    "東京は日本の首都です。",
]
ids = st.sampled_from(["a", "b", "c", "Łódź", "0.txt", "1.txt"])
names = st.sampled_from(["0.txt", "1.txt", "2.txt", "more/0.txt"])
texts = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3).map(" ".join)
titles = st.sampled_from(["", "Mur", "Alma Brecht"])
cells = st.sampled_from(["Graz", "Alma Brecht", "the Mur", "12 km", "May 2024", " ", "nobody known"])
fields = st.builds(Field, st.sampled_from(["city", "length"]), cells, st.just(0), st.just(4))
records = st.lists(
    st.builds(
        Record,
        st.sampled_from(["rivers", "mail"]),
        st.lists(fields, max_size=3).map(tuple),
        st.integers(0, 9),
        st.integers(9, 11),
    ),
    max_size=3,
).map(tuple)
POSTS = [
    Edge("Anton", "works for", "Mur AG", fields=(("since", "May 2024"), ("city", "Graz"))),
    Edge("Anton", "works for", "Mur AG", fields=(("since", "2012"),)),
    Edge("Alma Brecht", "owns", "Mur AG", "Alma Brecht owns the Mur AG.", fields=(("length", "12 km"),)),
    Edge("Mur AG", "lies in", "Graz"),
]
GRAPH = graph_of([Node(name, name) for name in ("Anton", "Mur AG", "Alma Brecht", "Graz")], POSTS)
entities = st.sampled_from(
    ["Graz", "Mur", "Alma Brecht", "Anton Hofer", "A. Hofer", "Leoben", "Mur AG", "Anton", "Graz (city)"]
)
edits: st.SearchStrategy[Change] = st.one_of(
    st.builds(MergeEntities, st.lists(entities, min_size=1, max_size=2), entities),
    st.builds(RenameEntity, entities, entities),
    st.builds(RetypeEntity, entities, st.sampled_from(["", "city"])),
    st.builds(DeleteEntity, entities),
    st.builds(SplitEntity, entities, st.lists(ids, min_size=1, max_size=2), entities),
    st.builds(KeepApart, entities, entities),
    st.builds(DeleteStatement, entities, st.sampled_from(["lives in", "married", "works for"]), entities),
    st.builds(AddEntity, entities, st.sampled_from(["", "river"])),
    st.builds(AddStatement, entities, st.sampled_from(["lives in", "founded"]), entities),
)
documents = st.builds(Document, ids, texts, titles, st.just({}), records=records)


@dataclass(frozen=True)
class Expected:
    """Expected state of a document: content, extractor whose extraction counts, and whether another is pending."""

    document: Document
    extractor: str
    pending: bool = False
    followed: bool = False  # came from the folder

    def read_by(self, extractor: str) -> Expected:
        """Return the expected state after an extractor has read it."""
        fails = extractor == "slow" and "illegible" in self.document.text
        return Expected(self.document, self.extractor if fails else extractor, fails, self.followed)


def create(folder: Path, imported: bool, schema: Schema = NO_SCHEMA) -> None:
    """Create an index, empty or of an imported graph with statements."""
    if imported:
        Index.from_graph(folder, GRAPH, encoder=ENCODER, embed=ALL.embed).close()
    else:
        Index.create(folder, encoder=ENCODER, settings=ALL, schema=schema).close()


def results(snapshot: Snapshot) -> list[Any]:
    """Return results of an index, to compare them later."""
    passages = make_method("ppr", snapshot).search(start(QUESTION, snapshot.graph)).passages
    assert passages is not None and passages.scores is not None
    ranking = passages.ids.tolist(), passages.scores.tolist()
    return [ranking, snapshot.words.scores(QUESTION).tolist(), snapshot.graph.checksum]


class History(RuleBasedStateMachine):
    """An index, the folder that it is synchronised with, its readers, and a dictionary of its expected documents."""

    def __init__(self) -> None:
        super().__init__()
        self.scratch = tempfile.TemporaryDirectory()
        self.place = Path(self.scratch.name)
        self.folder, self.docs = self.place / "index", self.place / "docs"
        self.docs.mkdir()
        self.expected: dict[str, Expected] = {}
        self.readers: list[tuple[str, Snapshot, list[Any]]] = []

    @initialize(extractor=st.sampled_from(sorted(EXTRACTORS)), imported=st.booleans(), schema=st.sampled_from(SCHEMAS))
    def create(self, extractor: str, imported: bool, schema: Schema) -> None:
        self.imported, self.schema = imported, NO_SCHEMA if imported else schema
        create(self.folder, imported, schema)
        self.open(extractor)

    def open(self, extractor: str) -> None:
        self.extractor = extractor
        self.index = Index.open(self.folder, encoder=ENCODER, extractor=EXTRACTORS[extractor])

    def expect(self, added: Iterable[Document], followed: bool) -> dict[str, str]:
        """Update the expected documents as `add` should, and return what `add` should report of each."""
        changes = {}
        for document in added:
            known = self.expected.get(document.id)
            if known is not None and known.document == document:
                changes[document.id] = "unchanged"
                self.expected[document.id] = Expected(
                    document, known.extractor, known.pending, known.followed or followed
                )
                continue
            changes[document.id] = "added" if known is None else "replaced"
            new = Expected(document, "lexical", False, followed or (known is not None and known.followed))
            self.expected[document.id] = new.read_by(self.extractor)
        return changes

    def check_snapshots(self) -> None:
        """Check that the snapshots are the current one and those of the readers."""
        there = {path.name for path in self.folder.glob("snapshot-*")}
        assert there == {self.current(), *(name for name, _, _ in self.readers)}

    def current(self) -> str:
        return (self.folder / "CURRENT").read_text()

    @rule(added=st.lists(documents, min_size=1, max_size=4, unique_by=lambda document: document.id))
    def add(self, added: list[Document]) -> None:
        result = self.index.add(added)
        changes = self.expect(added, False)
        for change in ("added", "replaced", "unchanged"):
            assert getattr(result, change) == [i for i, value in changes.items() if value == change]
        self.check_snapshots()

    @precondition(lambda self: self.expected)
    @rule()
    def add_unchanged(self) -> None:
        before = self.current()
        result = self.index.add([entry.document for entry in self.expected.values()])
        assert len(result.unchanged) == len(self.expected) and self.current() == before
        self.check_snapshots()

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        removed = data.draw(st.lists(st.sampled_from(sorted(self.expected)), min_size=1, max_size=2, unique=True))
        self.index.remove(removed)
        for document in removed:
            del self.expected[document]
        with pytest.raises(DataError, match="holds no document"):
            self.index.remove([removed[0]])
        self.check_snapshots()

    @rule(name=names, text=texts)
    def write_file(self, name: str, text: str) -> None:
        (self.docs / name).parent.mkdir(exist_ok=True)
        (self.docs / name).write_text(text, encoding="utf-8")

    @rule(name=names)
    def delete_file(self, name: str) -> None:
        (self.docs / name).unlink(missing_ok=True)

    @rule(old=names, new=names)
    def rename_file(self, old: str, new: str) -> None:
        if (self.docs / old).exists():
            (self.docs / new).parent.mkdir(exist_ok=True)
            os.replace(self.docs / old, self.docs / new)

    @rule()
    def sync(self) -> None:
        files = [path for path in sorted(self.docs.rglob("*")) if path.is_file()]
        if not files:
            with pytest.raises(DataError, match="nothing to read"):
                self.index.sync(self.docs)
            return
        added = [
            with_records(
                Document(path.relative_to(self.docs).as_posix(), path.read_text("utf-8"), path.stem, file=True)
            )
            for path in files
        ]
        result = self.index.sync(self.docs)
        self.expect(added, True)
        now = {document.id for document in added}
        removed = sorted(i for i, entry in self.expected.items() if entry.followed and i not in now)
        assert result.removed == removed
        for document in removed:
            del self.expected[document]
        assert self.index.info()["folders"] == {str(self.docs.resolve()): len(now)}
        self.check_snapshots()

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def reextract(self, data: st.DataObject) -> None:
        some = data.draw(
            st.none() | st.lists(st.sampled_from(sorted(self.expected)), min_size=1, max_size=2, unique=True)
        )
        self.index.reextract(some)
        for document in self.expected if some is None else some:
            self.expected[document] = self.expected[document].read_by(self.extractor)
        self.check_snapshots()

    @precondition(lambda self: not self.imported)
    @rule(schema=st.sampled_from(SCHEMAS))
    def replace_schema(self, schema: Schema) -> None:
        self.index.reextract(schema=schema)
        self.schema = schema
        for document, entry in self.expected.items():
            self.expected[document] = entry.read_by(self.extractor)
        self.check_snapshots()

    @rule(changes=st.lists(edits, min_size=1, max_size=4), lenient=st.booleans())
    def edit(self, changes: list[Change], lenient: bool) -> None:
        before, revision = self.index.edits(), self.current()
        if lenient:
            self.index.edit(*changes, who="Ida", strict=False)
            return
        try:
            made = self.index.edit(*changes)
        except DataError:
            assert self.index.edits() == before and self.current() == revision
        else:
            assert not [edit.idle for edit in made if edit.idle]
        self.check_snapshots()

    @precondition(lambda self: self.index.edits())
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        edits = self.index.edits()  # whose ids depend on the time
        undone = edits[data.draw(st.integers(0, len(edits) - 1))].id
        self.index.undo(undone)
        assert undone not in [edit.id for edit in self.index.edits()]
        self.check_snapshots()

    @rule(extractor=st.sampled_from(sorted(EXTRACTORS)))
    def close_and_open(self, extractor: str) -> None:
        self.index.close()
        self.open(extractor)

    @precondition(lambda self: len(self.readers) < 2)
    @rule()
    def open_reader(self) -> None:
        with Index.open(self.folder, encoder=ENCODER) as reader:
            snapshot = reader.snapshot
        self.readers.append((self.current(), snapshot, results(snapshot)))

    @precondition(lambda self: self.readers)
    @rule()
    def close_reader(self) -> None:
        del self.readers[0]

    @invariant()
    def the_index_has_the_expected_documents(self) -> None:
        if not hasattr(self, "index"):
            return
        info = self.index.info()
        passages = self.index.graph.passages
        assert self.index.documents == info["documents"] == len(self.expected) and info["current"]
        listed = (
            []
            if passages is None
            else [id for id in passages.documents if not id.startswith((PREFIX, apply_edits.PREFIX))]
        )
        assert listed == sorted(self.expected, key=str.encode)
        assert self.index.verify() == []

    @invariant()
    def readers_get_the_same_results_as_before(self) -> None:
        for name, snapshot, before in self.readers:
            assert (self.folder / name / "about.json").exists()
            assert results(snapshot) == before

    def teardown(self) -> None:
        """Compare with an index that is built at once, in reverse order."""
        if hasattr(self, "index"):
            self.readers.clear()
            self.index.add([])
            assert contents(self.index) == self.rebuilt()
            self.index.close()
            assert set(leftovers(self.folder)) <= ({"imported"} if self.imported else set())
        self.scratch.cleanup()

    def rebuilt(self) -> dict[str, Any]:
        folder = self.place / "rebuilt"
        create(folder, self.imported, self.schema)
        for name, extractor in EXTRACTORS.items():
            documents_read = [
                entry.document
                for entry in reversed(self.expected.values())
                if (entry.pending or entry.extractor == "slow") == (name == "slow")
            ]
            with Index.open(folder, encoder=ENCODER, extractor=extractor) as index:
                index.add(documents_read)
        with Index.open(folder, encoder=ENCODER) as index:
            if edits := self.index.edits():
                index.edit(*edits, strict=False)
        with Index.open(folder, encoder=ENCODER) as index:
            return contents(index)


@pytest.mark.slow
def test_index_after_any_history_equals_rebuilt_index(monkeypatch: pytest.MonkeyPatch) -> None:
    # No power is lost here, so fsync is not needed.
    monkeypatch.setattr(os, "fsync", lambda file: None)
    run_state_machine_as_test(
        History,
        settings=settings(
            max_examples=20,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
