"""Any history of an index leads to the index of its last state, built at once from nothing."""

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
from tests.faults.contents import contents, litter
from tests.faults.nursery import ALL, Careful

from graphwright import Document, Index, start
from graphwright.errors import DataError
from graphwright.index import LexicalExtractor
from graphwright.index.snapshot import Snapshot
from graphwright.methods.registry import pipeline, retrieval_part
from graphwright.models import HashEncoder

ENCODER = HashEncoder(8)
QUESTION = "Where does the Mur flow, and who lives there?"
EXTRACTORS = {"lexical": LexicalExtractor(), "careful": Careful()}
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
documents = st.builds(Document, ids, texts, titles, st.just({}))


@dataclass(frozen=True)
class Held:
    """What is known of a document: its content, whose reading of it counts, and whether it waits for a better one."""

    document: Document
    reading: str
    waiting: bool = False
    followed: bool = False  # came from the folder

    def read_by(self, extractor: str) -> Held:
        """Return this document as an extractor leaves it."""
        aside = extractor == "careful" and "illegible" in self.document.text
        return Held(self.document, self.reading if aside else extractor, aside, self.followed)


def replies(snapshot: Snapshot) -> list[Any]:
    """What an index finds, to be compared later."""
    passages = retrieval_part(pipeline("ppr", snapshot))(start(QUESTION, snapshot.graph)).passages
    assert passages is not None and passages.scores is not None
    ranking = passages.ids.tolist(), passages.scores.tolist()
    return [ranking, snapshot.words.scores(QUESTION).tolist(), snapshot.graph.checksum]


class History(RuleBasedStateMachine):
    """An index, a folder that it is kept in step with, readers; and a dictionary that says what should be there."""

    def __init__(self) -> None:
        super().__init__()
        self.scratch = tempfile.TemporaryDirectory()
        self.place = Path(self.scratch.name)
        self.folder, self.docs = self.place / "index", self.place / "docs"
        self.docs.mkdir()
        self.held: dict[str, Held] = {}
        self.readers: list[tuple[str, Snapshot, list[Any]]] = []

    @initialize(extractor=st.sampled_from(sorted(EXTRACTORS)))
    def create(self, extractor: str) -> None:
        self.extractor = extractor
        self.index = Index.create(self.folder, encoder=ENCODER, extractor=EXTRACTORS[extractor], settings=ALL)

    def take(self, given: Iterable[Document], followed: bool) -> dict[str, str]:
        """Do to the dictionary what adding documents should do, and say what became of each."""
        became = {}
        for document in given:
            known = self.held.get(document.id)
            if known is not None and known.document == document:
                became[document.id] = "unchanged"
                self.held[document.id] = Held(document, known.reading, known.waiting, known.followed or followed)
                continue
            became[document.id] = "added" if known is None else "replaced"
            new = Held(document, "lexical", False, followed or (known is not None and known.followed))
            self.held[document.id] = new.read_by(self.extractor)
        return became

    def cleaned(self) -> None:
        """After each change there are the snapshot of today and those that are read, and no others."""
        there = {path.name for path in self.folder.glob("snapshot-*")}
        assert there == {self.current(), *(name for name, _, _ in self.readers)}

    def current(self) -> str:
        return (self.folder / "CURRENT").read_text()

    @rule(given=st.lists(documents, min_size=1, max_size=4, unique_by=lambda document: document.id))
    def add(self, given: list[Document]) -> None:
        made = self.index.add(given)
        became = self.take(given, False)
        for what in ("added", "replaced", "unchanged"):
            assert getattr(made, what) == [i for i, how in became.items() if how == what]
        self.cleaned()

    @precondition(lambda self: self.held)
    @rule()
    def add_what_is_there(self) -> None:
        before = self.current()
        made = self.index.add([held.document for held in self.held.values()])
        assert len(made.unchanged) == len(self.held) and self.current() == before
        self.cleaned()

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        gone = data.draw(st.lists(st.sampled_from(sorted(self.held)), min_size=1, max_size=2, unique=True))
        self.index.remove(gone)
        for document in gone:
            del self.held[document]
        with pytest.raises(DataError, match="holds no document"):
            self.index.remove([gone[0]])
        self.cleaned()

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
        given = [
            Document(path.relative_to(self.docs).as_posix(), path.read_text(encoding="utf-8"), path.stem, {})
            for path in files
        ]
        made = self.index.sync(self.docs)
        self.take(given, True)
        now = {document.id for document in given}
        gone = sorted(i for i, held in self.held.items() if held.followed and i not in now)
        assert made.removed == gone
        for document in gone:
            del self.held[document]
        assert self.index.info()["folders"] == {str(self.docs.resolve()): len(now)}
        self.cleaned()

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def reextract(self, data: st.DataObject) -> None:
        some = data.draw(st.none() | st.lists(st.sampled_from(sorted(self.held)), min_size=1, max_size=2, unique=True))
        self.index.reextract(some)
        for document in self.held if some is None else some:
            self.held[document] = self.held[document].read_by(self.extractor)
        self.cleaned()

    @rule(extractor=st.sampled_from(sorted(EXTRACTORS)))
    def close_and_open(self, extractor: str) -> None:
        self.index.close()
        self.extractor = extractor
        self.index = Index.open(self.folder, encoder=ENCODER, extractor=EXTRACTORS[extractor])

    @precondition(lambda self: len(self.readers) < 2)
    @rule()
    def begin_to_read(self) -> None:
        with Index.open(self.folder, encoder=ENCODER) as reader:
            snapshot = reader.snapshot
        self.readers.append((self.current(), snapshot, replies(snapshot)))

    @precondition(lambda self: self.readers)
    @rule()
    def end_to_read(self) -> None:
        del self.readers[0]

    @invariant()
    def the_index_holds_what_it_should(self) -> None:
        if not hasattr(self, "index"):
            return
        held = self.index.info()
        passages = self.index.graph.passages
        assert self.index.documents == held["documents"] == len(self.held) and held["current"]
        assert passages is not None and list(passages.documents) == sorted(self.held, key=str.encode)
        assert self.index.verify() == []

    @invariant()
    def a_reader_still_gets_the_answers_that_it_got(self) -> None:
        for name, snapshot, said in self.readers:
            assert (self.folder / name / "about.json").exists()
            assert replies(snapshot) == said

    def teardown(self) -> None:
        """Compare with an index that is built at once, in another order."""
        if hasattr(self, "index"):
            self.readers.clear()
            self.index.add([])
            assert contents(self.index) == self.anew()
            self.index.close()
            assert litter(self.folder) == []
        self.scratch.cleanup()

    def anew(self) -> dict[str, Any]:
        folder = self.place / "anew"
        Index.create(folder, encoder=ENCODER, settings=ALL).close()
        for name, extractor in EXTRACTORS.items():
            wanted = [
                held.document
                for held in reversed(self.held.values())
                if (held.waiting or held.reading == "careful") == (name == "careful")
            ]
            with Index.open(folder, encoder=ENCODER, extractor=extractor) as index:
                index.add(wanted)
        with Index.open(folder, encoder=ENCODER) as index:
            return contents(index)


def test_any_history_leads_to_the_index_of_its_last_state(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing is cut off here, so nothing has to be on the disk itself.
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
