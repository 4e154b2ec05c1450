"""The index folder: add, replace, remove, ask; refusals; nothing half-written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.toys import CORPUS, corpus_index

from graphwright import (
    DataError,
    Document,
    HashEncoder,
    Index,
    LexicalExtractor,
    OptionError,
    Settings,
    StoreError,
    VectorSearch,
)
from graphwright.retrieve.state import State

QUESTION = "Which abbey did the mother of Lothair II found?"
METHODS = ["vector", "bm25", "hybrid", "ppr"]
ALL = Settings(embed=("passages", "names", "triples"))


def make(path: Path, documents: object = CORPUS, settings: Settings = ALL) -> Index:
    index = Index.create(path, encoder=HashEncoder(), settings=settings)
    index.add(documents)  # type: ignore[arg-type]
    return index


def content(index: Index) -> object:
    """All that a snapshot says, by value."""
    s = index.snapshot
    spaces = [
        None if x is None else (x.vectors.tolist(), None if x.row_of is None else x.row_of.tolist())
        for x in (s.passages, s.names, s.triples)
    ]
    g = s.graph
    return (
        g.checksum,
        [g.reading(v) for v in range(len(g))],
        g.columns.node_chunks,
        list(g.columns.aliases),
        spaces,
        s.words.checksum,
    )


def same_content(a: Index, b: Index) -> bool:
    return bool(np.all([str(x) == str(y) for x, y in zip(content(a), content(b), strict=True)]))  # type: ignore[call-overload]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_with_citations_that_hold(method: str) -> None:
    state = corpus_index().ask(QUESTION, method)
    assert state.answer is not None and state.answer.found
    text_of = {str(d["id"]): str(d["text"]) for d in CORPUS}
    for citation in state.answer.citations:
        assert text_of[citation.document][citation.start : citation.end] == citation.text
        assert citation.text in state.answer.text
        assert citation.chunk == f"{citation.document}#0"


@pytest.mark.parametrize("method", METHODS)
def test_retrieve_stops_before_the_answer(method: str) -> None:
    state = corpus_index().retrieve(QUESTION, method)
    assert state.answer is None and state.chunks is not None and len(state.chunks)


def test_ppr_reaches_a_passage_that_shares_no_word_with_the_question() -> None:
    index = corpus_index()
    question = "What was destroyed that the daughter of Hugh of Tours founded?"
    state = index.ask(question, "ppr")
    assert state.chunks is not None and state.answer is not None
    ids = [p.document for n in state.chunks.ids if (p := index.graph.passages.of(int(n)))]  # type: ignore[union-attr]
    assert {"ermengarde", "erstein"} <= set(ids[:3])
    paths = [c.path for c in state.answer.citations if c.path]
    assert paths and all(len(path) % 2 == 1 for path in paths)


def test_a_question_that_names_nothing_is_answered_honestly() -> None:
    state = corpus_index().ask("zzz qqq?", "bm25")
    assert state.answer is not None and not state.answer.found and not state.answer.citations
    assert state.chunks is not None and len(state.chunks) == 0


def test_adding_in_two_steps_equals_adding_at_once(tmp_path: Path) -> None:
    once = make(tmp_path / "once")
    twice = make(tmp_path / "twice", CORPUS[:3])
    twice.add(CORPUS[3:])
    assert same_content(once, twice)


def test_removing_leaves_the_index_that_was_never_given_it(tmp_path: Path) -> None:
    index = make(tmp_path / "a")
    index.remove(["teutberga", "bread"])
    kept = [d for d in CORPUS if d["id"] not in ("teutberga", "bread")]
    assert same_content(index, make(tmp_path / "b", kept))
    with pytest.raises(DataError, match="holds no document 'bread'"):
        index.remove(["mur", "bread"])
    assert index.info()["documents"] == 4


def test_what_did_not_change_is_left_alone_and_what_did_is_replaced(tmp_path: Path) -> None:
    index = make(tmp_path / "a")
    before = (tmp_path / "a" / "CURRENT").read_text()
    assert index.add(CORPUS).unchanged == [d["id"] for d in CORPUS]
    assert (tmp_path / "a" / "CURRENT").read_text() == before
    changed = {**CORPUS[4], "text": "Bread was first baked in Erstein."}
    made = index.add([*CORPUS[:4], changed, CORPUS[5]])
    assert made.replaced == ["bread"] and len(made.unchanged) == 5
    assert same_content(index, make(tmp_path / "b", [*CORPUS[:4], changed, CORPUS[5]]))


def test_open_finds_what_create_left(tmp_path: Path) -> None:
    index = make(tmp_path / "a")
    again = Index.open(tmp_path / "a", encoder=HashEncoder())
    assert same_content(index, again) and again.settings == ALL
    assert again.info()["current"] and again.info()["embedded"]["passages"] == len(CORPUS)


def test_an_open_index_sees_what_another_adds(tmp_path: Path) -> None:
    reader = make(tmp_path / "a", CORPUS[:2])
    assert len(reader.snapshot.passages.ids) == 2
    Index.open(tmp_path / "a", encoder=HashEncoder()).add(CORPUS[2:])
    assert len(reader.snapshot.passages.ids) == len(CORPUS)


def test_create_refuses_a_folder_that_holds_something(tmp_path: Path) -> None:
    make(tmp_path / "a")
    with pytest.raises(StoreError, match="is an index already; open it"):
        Index.create(tmp_path / "a", encoder=HashEncoder())
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not empty"):
        Index.create(tmp_path / "b", encoder=HashEncoder())
    assert [p.name for p in (tmp_path / "b").iterdir()] == ["notes.txt"]
    with pytest.raises(OptionError, match="choose from"):
        Index.create(tmp_path / "c", encoder=HashEncoder(), settings=Settings(embed=("pages",)))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_open_refuses_another_encoder_a_missing_folder_and_another_version(tmp_path: Path) -> None:
    make(tmp_path / "a")
    with pytest.raises(StoreError, match=r"written with the encoder 'hash.*'.*32"):
        Index.open(tmp_path / "a", encoder=HashEncoder(32))
    with pytest.raises(StoreError, match="is not an index folder"):
        Index.open(tmp_path / "none", encoder=HashEncoder())
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"holds no index.sqlite"):
        Index.open(tmp_path / "empty", encoder=HashEncoder())
    import sqlite3

    with sqlite3.connect(tmp_path / "a" / "index.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="has schema 99"):
        Index.open(tmp_path / "a", encoder=HashEncoder())


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    make(tmp_path / "a").close()
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "index.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match="cannot be read as an index"):
        Index.open(tmp_path / "a", encoder=HashEncoder())


@pytest.mark.parametrize("file", ["about.json", "passages.npy", "graph/heads.npy", "words/nodes.npy"])
def test_a_damaged_snapshot_is_named(file: str, tmp_path: Path) -> None:
    make(tmp_path / "a").close()
    name = (tmp_path / "a" / "CURRENT").read_text()
    path = tmp_path / "a" / name / file
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(StoreError, match="again"):
        Index.open(tmp_path / "a", encoder=HashEncoder()).ask(QUESTION)


def test_an_error_in_the_last_document_leaves_none_of_the_first(tmp_path: Path) -> None:
    index = make(tmp_path / "a", CORPUS[:2])
    for bad, error in [
        ({"id": "x"}, OptionError),
        ({**CORPUS[2], "text": "other"}, DataError),
        (3, OptionError),
    ]:
        with pytest.raises(error):
            index.add([*CORPUS[2:], bad])
        assert index.info()["documents"] == 2 and index.info()["current"]


def test_an_error_while_building_leaves_the_old_snapshot_and_the_next_call_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make(tmp_path / "a", CORPUS[:3])
    before = content(index)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("graphwright.index.build.write_snapshot", fail)
        with pytest.raises(StoreError, match=r"No space left.*as it was before"):
            index.add(CORPUS[3:])
    assert str(content(index)) == str(before)
    assert not index.info()["current"]
    assert not list((tmp_path / "a").glob("*.draft"))
    assert index.add([]).added == []
    assert same_content(index, make(tmp_path / "b"))


HOLD = """
import sys, time
from pathlib import Path
from graphwright.index.lock import writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_writer_is_told_and_a_reader_is_not_kept_waiting(tmp_path: Path) -> None:
    index = make(tmp_path / "a")
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "a")], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match="another process"):
            index.add([{"id": "new", "text": "New text."}])
        assert index.ask(QUESTION).answer is not None
        writer.kill()
    # The lock fell with the process that held it.
    assert index.add([{"id": "new", "text": "New text."}]).added == ["new"]


def test_many_questions_over_threads_give_what_one_by_one_gives() -> None:
    index = corpus_index()
    questions = [QUESTION, "Where does the Mur rise?", "Who married Teutberga?"] * 4

    def shown(states: list[State]) -> list[object]:
        return [(s.question.text, s.chunks.ids.tolist()) for s in states if s.chunks is not None]

    assert shown(index.retrieve_many(questions, threads=3)) == shown([index.retrieve(q) for q in questions])
    assert [s.answer for s in index.ask_many(questions, "hybrid")] == [index.ask(q, "hybrid").answer for q in questions]


def test_a_method_may_be_an_operator_or_a_function() -> None:
    index = corpus_index()
    search = VectorSearch(index.snapshot.passages) % 2
    assert len(index.retrieve(QUESTION, search).evidence or ()) == 2
    assert len(index.retrieve(QUESTION, lambda ix: VectorSearch(ix.passages) % 3).evidence or ()) == 3
    with pytest.raises(OptionError, match=r"no method 'pprr'.*Did you mean 'ppr'"):
        index.ask(QUESTION, "pprr")
    with pytest.raises(OptionError, match="vector has no argument 'depth'; it takes passages"):
        index.ask(QUESTION, "vector", depth=3)


def test_documents_of_all_kinds_and_spans_of_long_ones(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    story = "\n\n".join(
        f"Chapter {i}. Alma Brecht walked to Steyr on day {i}. The road was long and it rained." for i in range(60)
    )
    (folder / "story.txt").write_text(story, encoding="utf-8")
    (folder / "rows.jsonl").write_text(
        json.dumps({"id": "r1", "title": "Steyr", "text": "Steyr lies on the Enns."}) + "\n"
    )
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\x01\xff\xfe")
    index = Index.create(tmp_path / "i", encoder=HashEncoder(), settings=Settings(chunk_tokens=64, overlap=16))
    made = index.add(folder)
    assert sorted(made.added) == ["r1", "story.txt"]
    assert [s.path for s in made.skipped] == ["picture.png"] or made.skipped[0].path.endswith("picture.png")
    passages = index.graph.passages
    assert passages is not None and len(passages) > 10
    for row in range(len(passages)):
        passage = passages.of(row)
        assert passage is not None
        if passage.document == "story.txt":
            assert story[passage.start : passage.end] == index.graph.text(row)
    state = index.ask("On which day 37 did Alma Brecht walk?")
    assert state.answer is not None
    assert all(story[c.start : c.end] == c.text for c in state.answer.citations if c.document == "story.txt")


def test_an_extractor_of_another_kind_is_refused_when_adding(tmp_path: Path) -> None:
    class Other:
        id = "other:1"

        def extract(self, excerpts: object) -> list[object]:
            return []

    make(tmp_path / "a")
    with pytest.raises(StoreError, match="written with the extractor"):
        Index.open(tmp_path / "a", encoder=HashEncoder(), extractor=Other()).add([{"id": "x", "text": "y"}])  # type: ignore[arg-type]
    assert LexicalExtractor().id


def test_odd_documents_do_no_harm(tmp_path: Path) -> None:
    odd = [
        Document("surrogate", "half \ud83d pair in Graz. And more."),
        Document("blank", "   \n "),
        Document("crlf", "First line.\r\nGraz is here.\r\n"),
        Document("東京", "東京は日本の首都です。人口は約1400万人です。"),
        Document("lower", "all of this is in lower case. nothing has a capital. bread and water."),
    ]
    index = make(tmp_path / "a", odd, Settings())
    assert index.info()["documents"] == 5
    state = index.ask("Where is Graz?")
    assert state.answer is not None
    for c in state.answer.citations:
        assert next(d.text for d in odd if d.id == c.document)[c.start : c.end].replace("\ud83d", "\ufffd") == c.text
    found = index.retrieve("東京の人口は?", "bm25").chunks
    assert found is not None and index.graph.passages.of(int(found.ids[0])).document == "東京"  # type: ignore[union-attr]


def test_an_empty_index_answers_that_it_has_nothing(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "a", encoder=HashEncoder())
    for method in METHODS:
        state = index.ask("Anything?", method)
        assert state.answer is not None and not state.answer.found
    assert len(index.graph) == 0


def test_an_index_that_cannot_be_written_can_be_asked_and_says_so_when_written(tmp_path: Path) -> None:
    make(tmp_path / "a").close()
    make(tmp_path / "b").close()
    everything = [tmp_path / "a", *(tmp_path / "a").rglob("*")]
    code = """
import os, sys
from graphwright import HashEncoder, Index, StoreError
if os.getuid() == 0:
    # Root may write anything. All that is imported late is imported before it steps down.
    Index.open(sys.argv[2], encoder=HashEncoder()).ask("Who married Teutberga?")
    os.setuid(65534)
index = Index.open(sys.argv[1], encoder=HashEncoder())
print(index.ask("Who married Teutberga?").answer.found)
try:
    index.add([{"id": "x", "text": "y"}])
except StoreError as error:
    print("StoreError", error)
"""
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    tmp_path.chmod(0o755)
    try:
        command = [sys.executable, "-c", code, str(tmp_path / "a"), str(tmp_path / "b")]
        done = subprocess.run(command, capture_output=True, text=True)
    finally:
        for path in everything:
            path.chmod(0o755)
    assert done.stdout.startswith("True\nStoreError"), done.stderr
    assert "read-only" in done.stdout


@pytest.mark.parametrize("harm", ["pointer", "gone", "vocabulary", "about"])
def test_indexing_again_repairs_a_damaged_snapshot(harm: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    whole = make(path)
    snapshot = path / (path / "CURRENT").read_text()
    if harm == "pointer":
        (path / "CURRENT").write_text("snapshot-99")
    elif harm == "gone":
        (path / "CURRENT").unlink()
    elif harm == "vocabulary":
        (snapshot / "words" / "vocab.index.json").unlink()
    else:
        (snapshot / "about.json").write_text("{}")
    damaged = Index.open(path, encoder=HashEncoder())
    with pytest.raises(StoreError, match="again"):
        damaged.ask(QUESTION)
    damaged.add([])
    assert same_content(damaged, make(tmp_path / "b")) and whole.ask(QUESTION).answer is not None


def test_an_index_may_be_made_in_an_empty_folder_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    index = Index.create(".", encoder=HashEncoder())
    index.add(CORPUS)
    assert Index.open(tmp_path / "here", encoder=HashEncoder()).ask(QUESTION).answer is not None
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert len(Index.create(tmp_path / "link", encoder=HashEncoder()).graph) == 0
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"cannot be made|not empty"):
        Index.create(tmp_path / "file" / "below", encoder=HashEncoder())


def test_an_index_inside_the_folder_is_not_read_as_documents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Anton lives in Gmunden.")
    make(tmp_path / "old")
    index = Index.create(tmp_path / "new", encoder=HashEncoder())
    made = index.add(tmp_path)
    assert made.added == ["a.txt"]
    assert [s.reason for s in made.skipped] == ["an index, not documents"]
