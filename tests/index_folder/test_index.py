"""The index folder: add, replace, remove and ask; invalid input; no partial writes."""

from __future__ import annotations

import gc
import json
import os
import pickle
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared import CORPUS, FAMILY, corpus_index

from graphwright import Document, Filter, Graph, Index, KHop, ToPassages, VectorSearch, start
from graphwright.build.document_sources import possibly_present
from graphwright.data.document import Skipped
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.extract import LexicalExtractor
from graphwright.extract.extraction import Excerpt, Extraction, ExtractionFailure, Extractor, Mention
from graphwright.generate import PassageContext
from graphwright.methods.papers.paths import pathrag
from graphwright.models import HashEncoder
from graphwright.operators import LinkEntities
from graphwright.store import Settings

QUESTION = "Which abbey did the mother of Lothair II found?"
METHODS = ["vector", "bm25", "hybrid", "ppr"]
ALL = Settings(embed=("passages", "names", "triples"))


def make(path: Path, documents: object = CORPUS, settings: Settings = ALL) -> Index:
    index = Index.create(path, encoder=HashEncoder(), settings=settings)
    index.add(documents)  # type: ignore[arg-type]
    return index


def test_closed_index_raises_on_use(tmp_path):
    with make(tmp_path / "i") as index:
        assert index.ask(QUESTION).answer.citations
    asked = [
        lambda: index.ask(QUESTION),
        lambda: index.ask(QUESTION, "bm25"),
        lambda: index.graph,
        index.list_documents,
    ]
    for late in (*asked, lambda: index.add(CORPUS), index.info):
        with pytest.raises(StoreError, match=r"was closed.*Open the index again"):
            late()
    with Index.open(tmp_path / "i", encoder=HashEncoder()) as again:
        assert again.ask(QUESTION).answer.citations


def test_closed_index_reports_no_damage_and_pickles_as_path(tmp_path: Path) -> None:
    index = make(tmp_path / "index")
    index.close()
    with pytest.raises(StoreError, match="was closed"):
        index.verify()
    data = pickle.dumps(index)
    assert len(data) < 1_000
    with pickle.loads(data) as copy:
        assert (copy.path, copy.documents, copy.verify()) == (index.path.absolute(), len(CORPUS), [])


@pytest.mark.parametrize("wrong", [None, "a", 1.5, True, 0])
def test_invalid_thread_count_or_list_raises(wrong: Any) -> None:
    index = corpus_index()
    with pytest.raises(OptionError, match=f"threads is {wrong!r}"):
        index.ask_many(["Where?"], threads=wrong)
    with pytest.raises(OptionError, match="is not a list of questions"):
        index.retrieve_many(wrong)
    with pytest.raises(OptionError, match="is not the id of a document"):
        index.remove([wrong, 5])


@pytest.mark.parametrize("wrong", [None, 5, b"x", [None], {}, {"text": 5}, object()])
def test_invalid_document_raises_by_name(wrong: Any) -> None:
    with pytest.raises(OptionError, match="document"):
        corpus_index().add(wrong)


def content(index: Index) -> object:
    """All that a snapshot says, by value."""
    s = index.snapshot
    spaces = [
        None if x is None else (x.checksum, x.ids.tolist(), x.of(x.ids).tolist())
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


def test_index_opens_or_creates_and_reports_contents(tmp_path: Path) -> None:
    path = tmp_path / "i"
    with Index(path, encoder=HashEncoder(), settings=ALL) as index:
        index.add(CORPUS[:2])
        assert repr(index) == f"Index({str(path)!r}, 2 documents, 2 chunks)"
    assert repr(index) == f"Index({str(path)!r}, closed)"
    with Index(str(path), encoder=HashEncoder()) as again:
        assert again.documents == 2 and again.settings == ALL
    with pytest.raises(OptionError, match="was created with"):
        Index(path, encoder=HashEncoder(), settings=Settings(embed=("passages",)))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Anton lives in Gmunden.")
    with pytest.raises(StoreError, match="is not empty"):
        Index(tmp_path / "docs", encoder=HashEncoder())


def test_documents_need_no_id_and_path_string_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("Anton lives in Gmunden.")
    index = Index(tmp_path / "i", encoder=HashEncoder())
    (name,) = index.add("Graz lies on the Mur.").added
    assert name.startswith("text-") and index.text(name) == "Graz lies on the Mur."
    assert index.add("Graz lies on the Mur.").unchanged == [name]
    assert len(index.add(["Linz lies on the Danube.", {"text": "Wels.", "title": "W"}]).added) == 2
    assert index.add([{"id": 7, "text": "Steyr."}, Path("a.txt")]).added == ["7", "a.txt"]
    for document, message in [
        ("a.txt", "a file or folder has this name"),
        (3, "3 is not a document"),
        ({"id": "x"}, "has no 'text'"),
        ({"id": True, "text": "t"}, "must be a string that is not empty"),
        ({"text": ""}, "must be a string that is not empty"),
    ]:
        with pytest.raises(OptionError, match=message):
            index.add(document)  # type: ignore[arg-type]
    assert index.documents == 5


@pytest.mark.parametrize(
    "options, message",
    [
        ({"passages": 3}, "did you mean 'top_k'"),
        ({"topk": 3}, "Did you mean 'top_k'"),
        ({"within": "x"}, "did you mean 'filter'"),
        ({"depth": 3}, "multihop has no argument 'depth'"),
        ({"top_k": 0}, "top_k is 0; it must be a whole number, at least 1"),
        ({"filter": {"docs": ["a"]}}, "a mapping with as_of, documents, folder, metadata"),
        ({"llm": 5}, "5 is no language model"),
    ],
)
def test_misspelled_option_suggests_right_one(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        corpus_index().ask(QUESTION, **options)  # type: ignore[arg-type]


def test_method_option_reaches_method() -> None:
    index = corpus_index()
    assert index.method("pathrag", k=3) == pathrag(index.snapshot, k=3) != index.method("pathrag")
    with pytest.raises(OptionError, match="did you mean 'top_k'"):
        index.method("vector", k=3)


@pytest.mark.parametrize(
    "method, message",
    [
        (lambda: None, "must take one argument, the snapshot"),
        (dict, "must take one argument, the snapshot"),
        (lambda snapshot: 3, "returned 3; a function given as a method must return an operator"),
        (lambda snapshot: VectorSearch("passages"), "index is 'passages'; it must be a vector index"),
    ],
)
def test_function_returning_no_method_raises(method: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        corpus_index().ask(QUESTION, method)


def test_invalid_path_or_triples_raise() -> None:
    with pytest.raises(OptionError, match="None is not a path"):
        Index(None)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="is not a list of triples"):
        Graph.from_triples("kb.tsv")  # type: ignore[arg-type]


def test_passages_are_indexable() -> None:
    passages = corpus_index().retrieve(QUESTION, "vector").passages
    assert passages is not None and passages[0] == next(iter(passages)) and passages[-1] == list(passages)[-1]
    with pytest.raises(IndexError):
        passages[len(passages)]


def test_top_k_and_filter_limit_passages() -> None:
    index = corpus_index()
    assert len(index.retrieve(QUESTION, top_k=2).passages or ()) == 2
    passages = index.retrieve(QUESTION, "vector", filter={"documents": ["bread"]}).passages
    assert passages is not None and len(passages) == 1


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_verified_citations(method: str) -> None:
    state = corpus_index().ask(QUESTION, method)
    assert state.answer is not None and state.answer.citations
    text_of = {str(d["id"]): str(d["text"]) for d in CORPUS}
    for citation in state.answer.citations:
        assert text_of[citation.document][citation.start : citation.end] == citation.text
        assert citation.text in state.answer.text
        assert citation.chunk == f"{citation.document}#0"


def test_ppr_reaches_passage_without_shared_words() -> None:
    index = corpus_index()
    question = "What was destroyed that the daughter of Hugh of Tours founded?"
    state = index.ask(question, "ppr")
    assert state.passages is not None and state.answer is not None
    ids = [p.document for n in state.passages.ids if (p := index.graph.passages.of(int(n)))]  # type: ignore[union-attr]
    assert {"ermengarde", "erstein"} <= set(ids[:3])
    assert all(c.path == () or len(c.path) % 2 == 1 for c in state.answer.citations)


def test_question_without_entities_gets_honest_answer() -> None:
    state = corpus_index().ask("zzz qqq?", "bm25")
    assert state.answer is not None and not state.answer.found and not state.answer.citations
    assert state.passages is not None and len(state.passages) == 0


def test_adding_in_two_steps_equals_adding_at_once(tmp_path: Path) -> None:
    once = make(tmp_path / "once")
    twice = make(tmp_path / "twice", CORPUS[:3])
    twice.add(CORPUS[3:])
    assert same_content(once, twice)


def test_removal_equals_index_without_document(tmp_path: Path) -> None:
    index = make(tmp_path / "a")
    index.remove(["teutberga", "bread"])
    selected = [d for d in CORPUS if d["id"] not in ("teutberga", "bread")]
    assert same_content(index, make(tmp_path / "b", selected))
    with pytest.raises(DataError, match="holds no document 'bread'"):
        index.remove(["mur", "bread"])
    assert index.info()["documents"] == 4


def test_unchanged_documents_are_skipped_and_changed_replaced(tmp_path: Path) -> None:
    index = make(tmp_path / "a")
    before = (tmp_path / "a" / "CURRENT").read_text()
    assert index.add(CORPUS).unchanged == [d["id"] for d in CORPUS]
    assert (tmp_path / "a" / "CURRENT").read_text() == before
    changed = {**CORPUS[4], "text": "Bread was first baked in Erstein."}
    made = index.add([*CORPUS[:4], changed, CORPUS[5]])
    assert made.replaced == ["bread"] and len(made.unchanged) == 5
    assert same_content(index, make(tmp_path / "b", [*CORPUS[:4], changed, CORPUS[5]]))


def test_open_reads_created_index(tmp_path: Path) -> None:
    index = make(tmp_path / "a")
    again = Index.open(tmp_path / "a", encoder=HashEncoder())
    assert same_content(index, again) and again.settings == ALL
    assert again.info()["current"] and again.info()["embedded"]["passages"] == len(CORPUS)


def test_open_index_sees_changes_of_other(tmp_path: Path) -> None:
    reader = make(tmp_path / "a", CORPUS[:2])
    assert len(reader.snapshot.passages.ids) == 2
    Index.open(tmp_path / "a", encoder=HashEncoder()).add(CORPUS[2:])
    assert len(reader.snapshot.passages.ids) == len(CORPUS)


def test_create_in_used_folder_raises(tmp_path: Path) -> None:
    make(tmp_path / "a")
    with pytest.raises(StoreError, match="is an index already; open it with"):
        Index.create(tmp_path / "a", encoder=HashEncoder())
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not empty"):
        Index.create(tmp_path / "b", encoder=HashEncoder())
    with pytest.raises(StoreError, match=r"notes.txt is a file\. A new index needs"):
        Index.create(tmp_path / "b" / "notes.txt", encoder=HashEncoder())
    assert [p.name for p in (tmp_path / "b").iterdir()] == ["notes.txt"]
    with pytest.raises(OptionError, match="choose from"):
        Index.create(tmp_path / "c", encoder=HashEncoder(), settings=Settings(embed=("pages",)))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_open_with_other_encoder_or_folder_raises(tmp_path: Path) -> None:
    make(tmp_path / "a")
    with pytest.raises(StoreError, match=r"written with the encoder 'hash.*'.*32"):
        Index.open(tmp_path / "a", encoder=HashEncoder(32))
    with pytest.raises(StoreError, match="is not an index folder"):
        Index.open(tmp_path / "none", encoder=HashEncoder())
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"holds no index.sqlite.*--into .*empty$"):
        Index.open(tmp_path / "empty", encoder=HashEncoder())
    (tmp_path / "empty" / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"holds no index.sqlite.*--into NEW-FOLDER$"):
        Index.open(tmp_path / "empty", encoder=HashEncoder())
    with pytest.raises(StoreError, match=r"notes.txt is a file, and an index is a folder"):
        Index.open(tmp_path / "empty" / "notes.txt", encoder=HashEncoder())


def test_error_in_last_document_adds_none(tmp_path: Path) -> None:
    index = make(tmp_path / "a", CORPUS[:2])
    for bad, error in [
        ({"id": "x"}, OptionError),
        ({**CORPUS[2], "text": "other"}, DataError),
        (3, OptionError),
    ]:
        with pytest.raises(error):
            index.add([*CORPUS[2:], bad])
        assert index.info()["documents"] == 2 and index.info()["current"]


def test_build_error_keeps_snapshot_and_next_call_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = make(tmp_path / "a", CORPUS[:3])
    before = content(index)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("graphwright.build.publication.write_snapshot", fail)
        with pytest.raises(StoreError, match=r"No space left.*previous snapshot"):
            index.add(CORPUS[3:])
    assert str(content(index)) == str(before)
    assert not index.info()["current"]
    assert not list((tmp_path / "a").glob("*.draft"))
    resumed = index.add(CORPUS[3:])
    assert resumed.added == [] and resumed.resumed and not index.add([]).resumed
    assert same_content(index, make(tmp_path / "b"))


def test_invalid_question_or_part_raises(tmp_path: Path) -> None:
    index = make(tmp_path / "a", CORPUS[:1])
    with pytest.raises(OptionError, match="5 is not a question; give a text"):
        index.ask(5)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="filter is 'm'; give Filter"):
        index.ask(QUESTION, filter="m")  # type: ignore[arg-type]


def test_method_may_be_operator_or_function() -> None:
    index = corpus_index()
    search = VectorSearch(index.snapshot.passages) % 2
    assert len(index.retrieve(QUESTION, search).evidence or ()) == 2
    assert len(index.retrieve(QUESTION, lambda ix: VectorSearch(ix.passages) % 3).evidence or ()) == 3
    with pytest.raises(OptionError, match=r"no method 'pprr'.*Did you mean 'ppr'"):
        index.ask(QUESTION, "pprr")
    with pytest.raises(OptionError, match=r"vector has no argument 'depth'.*Its arguments are: top_k"):
        index.ask(QUESTION, "vector", depth=3)


def test_retrieving_method_is_followed_by_answer() -> None:
    index = corpus_index()
    own = index.ask(QUESTION, lambda ix: VectorSearch(ix.passages) % 3 >> ToPassages(limit=2))
    assert own.answer is not None and own.answer.citations and len(own.passages or ()) == 2
    searched = index.ask(QUESTION, VectorSearch(index.snapshot.passages) % 15)
    assert searched.answer == index.ask(QUESTION, "vector").answer == index.ask_many([QUESTION], "vector")[0].answer
    prompt = index.ask(QUESTION, lambda ix: VectorSearch(ix.passages) % 3 >> ToPassages() >> PassageContext())
    assert prompt.answer is None and prompt.context is not None


def test_path_method_on_graph_answers_with_target_names(tmp_path: Path) -> None:
    index = Index.from_graph(tmp_path / "kin", Graph.from_triples(FAMILY), encoder=HashEncoder())
    state = index.ask("Who is the mother of Lothair II?", lambda ix: LinkEntities(ix.names) >> KHop(1) % 5)
    assert state.answer is not None and "Ermengarde of Tours" in state.answer.short


def test_documents_of_all_kinds_have_valid_spans(tmp_path: Path) -> None:
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


@dataclass
class Shouting:
    """Reads every word in capitals as a name, slowly, and only as often as it may."""

    may: int = 1000
    seen: list[str] = field(default_factory=list)
    provisional: Extractor = field(default_factory=LexicalExtractor)
    id: str = "shouting:1"

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction | ExtractionFailure]:
        return [self._read(excerpt) for excerpt in excerpts]

    def _read(self, excerpt: Excerpt) -> Extraction | ExtractionFailure:
        if len(self.seen) >= self.may:
            return ExtractionFailure("no breath left")
        self.seen.append(excerpt.text)
        return Extraction(tuple(Mention(m[0], *m.span()) for m in re.finditer(r"[A-Z]{3,}", excerpt.text)))


NO = "no breath left"


def shouted(*names: str) -> list[dict[str, str]]:
    return [{"id": name, "text": f"Here {name.upper()} met Ermengarde."} for name in names]


def test_documents_of_several_extractors_coexist(tmp_path: Path) -> None:
    make(tmp_path / "a", shouted("anna")).close()
    reader = Shouting()
    index = Index.open(tmp_path / "a", encoder=HashEncoder(), extractor=reader)
    made = index.add(shouted("anna", "berta"))
    assert made.unchanged == ["anna"] and made.added == ["berta"] and made.extracted == 1
    assert index.info()["extractors"] == {"lexical:6": 1, "shouting:1": 1}
    assert [n for n in index.graph.names if "#" not in n] == ["ANNA", "BERTA", "Ermengarde"]
    index.reextract()
    assert index.info()["extractors"] == {"shouting:1": 2} and len(reader.seen) == 2
    assert [n for n in index.graph.names if "#" not in n] == ["ANNA", "BERTA"]
    index.reextract(["anna"])
    assert len(reader.seen) == 2 and index.verify() == []  # nothing was left to read


def test_failed_extraction_is_listed_and_retried_alone(tmp_path: Path) -> None:
    reader = Shouting(may=1)
    index = Index.create(tmp_path / "a", encoder=HashEncoder(), extractor=reader)
    seen: list[tuple[str, int, int]] = []
    made = index.add(shouted("anna", "berta", "clara"), progress=lambda *step: seen.append(step))
    assert (made.extracted, made.pending) == (1, [("berta", 0, NO), ("clara", 0, NO)]) and ("extract", 3, 3) in seen
    # What waits can be asked all the same, as the offline extractor read it.
    assert index.info()["pending"] == {"no breath left": 2} and index.info()["current"]
    assert "Ermengarde" in list(index.graph.names)
    reader.may = 2
    assert len(index.chunks_to_extract([])) == 2
    assert index.add([]).pending == [("clara", 0, NO)]
    reader.may = 1000
    assert index.add(shouted("clara")).pending == [] and len(reader.seen) == 3
    whole = Index.create(tmp_path / "b", encoder=HashEncoder(), extractor=Shouting())
    whole.add(shouted("anna", "berta", "clara"))
    assert same_content(index, whole)


def test_unchanged_chunks_of_replaced_document_are_reused(tmp_path: Path) -> None:
    parts = [f"Part {i} tells of ANNA and of day {i}. " * 12 for i in range(6)]
    reader = Shouting()
    settings = Settings(chunk_tokens=60, overlap=0)
    index = Index.create(tmp_path / "a", encoder=HashEncoder(), extractor=reader, settings=settings)
    index.add([{"id": "long", "text": "\n\n".join(parts)}])
    before = len(reader.seen)
    made = index.add([{"id": "long", "text": "\n\n".join([*parts, "At last came BERTA."])}])
    assert made.replaced == ["long"] and 0 < len(reader.seen) - before < before / 2
    fresh = Index.create(tmp_path / "b", encoder=HashEncoder(), extractor=Shouting(), settings=settings)
    fresh.add([{"id": "long", "text": "\n\n".join([*parts, "At last came BERTA."])}])
    assert same_content(index, fresh)


def test_unreadable_chunks_do_not_stop_others(tmp_path: Path) -> None:
    @dataclass
    class Choosy(Shouting):
        def _read(self, excerpt: Excerpt) -> Extraction | ExtractionFailure:
            return ExtractionFailure("illegible") if "BAD" in excerpt.text else super()._read(excerpt)

    names = [f"bad{i:03d}" for i in range(70)] + [f"good{i}" for i in range(5)]
    index = Index.create(tmp_path / "a", encoder=HashEncoder(), extractor=Choosy())
    made = index.add(shouted(*names))
    assert made.extracted == 5 and len(made.pending) == 70


def test_extracted_chunk_is_kept_after_failure_of_other(tmp_path: Path) -> None:
    reader = Shouting()
    index = Index.create(tmp_path / "a", encoder=HashEncoder(), extractor=reader)
    index.add(shouted("anna"))
    other = Index.open(tmp_path / "a", encoder=HashEncoder(), extractor=Shouting(may=0, id="other:1"))
    assert other.reextract().pending == [("anna", 0, NO)]
    assert index.add([]).pending == [] and len(reader.seen) == 1


def test_filtered_part_hides_uncommitted_documents(tmp_path: Path) -> None:
    index = make(tmp_path / "a", PRIVATE)
    within, seen = Filter(folder="open"), []

    def documents() -> Iterator[dict[str, str]]:
        yield from ({"id": f"open/{i}.md", "text": "The plan is Zanzibar."} for i in range(600))
        seen.append(list(index.filtered(within).graph.passages.documents))  # type: ignore[union-attr]
        raise KeyError

    with pytest.raises(KeyError):
        index.add(documents())
    assert seen == [["open/a.md", "open/b.md"]] == [list(index.filtered(within).graph.passages.documents)]  # type: ignore[union-attr]


def test_changed_file_kind_and_moved_folder_are_recognised(
    tmp_path: Path,
) -> None:
    index = make(tmp_path / "a", CORPUS[:1])
    folder = files(tmp_path / "docs", one="One.", two="Two.", three="Three.")
    index.sync(folder)
    (folder / "one.txt").write_bytes(bytes(range(256)) * 9)
    (folder / "two.txt").unlink()
    (folder / "photo.png").write_bytes(bytes(range(256)) * 9)  # always there, and never a document
    made = index.sync(folder)
    assert (made.retained, made.removed) == (["one.txt"], ["two.txt"])
    folder.rename(tmp_path / "moved")
    (tmp_path / "moved" / "one.txt").unlink()
    assert index.sync(tmp_path / "moved").removed == ["one.txt"] and index.info()["folders"] == {
        str(tmp_path / "moved"): 1
    }


def test_extractor_losing_chunks_raises_and_changes_nothing(tmp_path: Path) -> None:
    class Lossy(LexicalExtractor):
        def extract(self, excerpts: object) -> list[Extraction]:
            return []

    index = make(tmp_path / "a")
    with pytest.raises(OptionError, match="returned 0 results for 1 chunks"):
        Index.open(tmp_path / "a", encoder=HashEncoder(), extractor=Lossy()).add([{"id": "x", "text": "y"}])
    assert index.documents == len(CORPUS) and index.is_current


def files(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_sync_mirrors_folder(tmp_path: Path) -> None:
    index = make(tmp_path / "a", CORPUS[:1])
    folder = files(tmp_path / "docs", one="One is in Graz.", two="Two is in Linz.", three="Three.")
    assert sorted(index.sync(folder).added) == ["one.txt", "three.txt", "two.txt"]
    files(folder, two="Two went to Wels.", four="Four is new.")
    (folder / "one.txt").unlink()
    made = index.sync(folder)
    assert (made.added, made.replaced, made.removed) == (["four.txt"], ["two.txt"], ["one.txt"])
    assert made.unchanged == ["three.txt"]
    assert same_content(index, make(tmp_path / "b", [*CORPUS[:1], folder]))
    again = index.sync(folder)
    assert not (again.added or again.replaced or again.removed) and index.info()["folders"] == {str(folder): 3}


def test_sync_ignores_documents_of_other_origin(tmp_path: Path) -> None:
    index = make(tmp_path / "a", CORPUS[:1])
    index.sync(files(tmp_path / "docs", one="One."))
    with pytest.raises(DataError, match="the id of one from another source"):
        index.sync(files(tmp_path / "other", one="Another one."))
    with pytest.raises(DataError, match="lies in it or around it"):
        index.sync(tmp_path)
    with pytest.raises(DataError, match="is not a folder"):
        index.sync(tmp_path / "none")
    (tmp_path / "docs" / "one.txt").unlink()
    with pytest.raises(DataError, match="nothing to read"):  # an unmounted disk looks like this
        index.sync(tmp_path / "docs")
    assert index.documents == 2 and index.is_current


def test_id_in_decomposed_letters_is_that_of_the_document(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", encoder=HashEncoder())
    index.add([Document("Đà Nẵng.txt", "The bridge has six lanes.", metadata={"lang": "vi"})])
    given = unicodedata.normalize("NFD", "Đà Nẵng.txt")
    assert given != "Đà Nẵng.txt" and index.text(given) == "The bridge has six lanes."
    assert index.metadata_by_document([given])["Đà Nẵng.txt"]["lang"] == "vi"


def test_id_with_a_line_break_in_the_name_is_that_of_the_document(tmp_path: Path) -> None:
    files(tmp_path / "docs", **{"two\nlines": "The bridge has six lanes.", "other": "The lake is deep."})
    index = make(tmp_path / "index", [])
    index.sync(tmp_path / "docs")
    name = "two\nlines.txt"
    assert index.text(name) == "The bridge has six lanes." and index.matching([name]) == ["two%0Alines.txt"]
    asked = index.ask("How many lanes has the bridge?", filter=Filter(documents=[name]))
    assert asked.passages is not None and {p.document for p in asked.passages} == {"two%0Alines.txt"}


def test_sync_keeps_documents_of_unreadable_files(tmp_path: Path) -> None:
    index = make(tmp_path / "a", CORPUS[:1])
    folder = files(tmp_path / "docs", one="One.", two="Two.")
    (folder / "rows.jsonl").write_text('{"id": "r1", "text": "Row one."}\n{"id": "r2", "text": "Row two."}\n')
    index.sync(folder)
    (folder / "rows.jsonl").write_text('{"id": "r1", "text": "Row one."}\n{"id": "r2", "te\n')
    (folder / "one.txt").unlink()
    made = index.sync(folder)
    # A file of its own cannot have become a row of another one.
    assert (made.removed, made.retained, made.unreadable) == (["one.txt"], ["r2"], [f"{folder / 'rows.jsonl'}:2"])
    assert index.documents == 4
    (folder / "sub").mkdir()
    files(folder / "sub", two="Two.", three="Three.")
    index.sync(folder)
    for name in ("two", "three"):
        (folder / "sub" / f"{name}.txt").unlink()
    (folder / "two.txt").write_bytes(bytes(range(256)) * 9)
    (folder / "rows.jsonl").write_text('{"id": "r2", "text": "Row two."}\n')
    made = index.sync(folder)
    assert (made.removed, made.retained) == (["r1", "sub/three.txt", "sub/two.txt"], ["two.txt"])
    assert made.unreadable == [str(folder / "two.txt")]


def test_unreadable_file_is_known_by_id(tmp_path: Path) -> None:
    latin = os.fsdecode(b"caf\xe9.txt")  # half a surrogate pair, which no id holds
    (tmp_path / "notes:12").write_bytes(bytes(range(256)))
    (tmp_path / "rows.jsonl").touch()

    def selected(path: str, *gone: str) -> list[str]:
        own = [i for i in gone if not i.startswith("row")]
        return possibly_present(gone, own, [Skipped(str(tmp_path / path), "", True)], tmp_path)[0]

    assert selected(latin, "caf%E9.txt", "cafe.txt") == ["caf%E9.txt"]
    assert selected("notes:12", "notes", "notes:12") == ["notes:12"]
    assert selected("rows.jsonl:12", "notes", "row 1", "row 2") == ["row 1", "row 2"]
    # In a folder that may not be entered nobody can tell a file from a folder, which may hold rows.
    assert selected("shut/deep", "shut/deep/one.txt", "shut/deeper.txt", "row 1") == ["row 1", "shut/deep/one.txt"]
    assert selected("", "one.txt", "row 1") == ["one.txt", "row 1"]


@pytest.mark.skipif(sys.platform != "linux", reason="names have to be Unicode here")
def test_sync_keeps_unreadable_file_with_non_unicode_name(tmp_path: Path) -> None:
    index, folder = make(tmp_path / "a", CORPUS[:1]), files(tmp_path / "docs", one="One.")
    odd = folder / os.fsdecode(b"caf\xe9.txt")
    odd.write_text("Coffee.")
    assert sorted(index.sync(folder).added) == ["caf%E9.txt", "one.txt"]
    odd.write_bytes(bytes(range(256)) * 9)
    made = index.sync(folder)
    assert (made.removed, made.retained) == ([], ["caf%E9.txt"])


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is forbidden here")
def test_sync_keeps_documents_of_forbidden_folder(tmp_path: Path) -> None:
    index, folder = make(tmp_path / "a", CORPUS[:1]), files(tmp_path / "docs", one="One.")
    (folder / "shut" / "deep").mkdir(parents=True)
    files(folder / "shut", two="Two.")
    files(folder / "shut" / "deep", three="Three.")
    (folder / "shut" / "deep" / "rows.jsonl").write_text('{"id": "r1", "text": "Row one."}\n')
    index.sync(folder)
    for mode in (0o444, 0o000):
        (folder / "shut").chmod(mode)
        try:
            made = index.sync(folder)
        finally:
            (folder / "shut").chmod(0o755)
        assert (made.removed, made.retained) == ([], ["r1", "shut/deep/three.txt", "shut/two.txt"])


def test_row_replacing_file_is_row(tmp_path: Path) -> None:
    index, folder = make(tmp_path / "a", CORPUS[:1]), files(tmp_path / "docs", one="One.", two="Two.")
    index.sync(folder)
    assert index._store.file_documents() == {"one.txt", "two.txt"}
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "one.txt", "text": "A row."}\n')
    assert index.add(rows).replaced == ["one.txt"]
    assert index._store.file_documents() == {"two.txt"}
    index.sync(folder)
    assert index._store.file_documents() == {"one.txt", "two.txt"}


def test_only_closed_store_is_reported_closed(tmp_path: Path) -> None:
    index = make(tmp_path / "a", CORPUS[:1])
    with pytest.raises(StoreError, match=r"index\.sqlite cannot be read: .*binding"):
        index._store._read("SELECT ?, ?", (1,))
    index.close()
    with pytest.raises(StoreError, match="was closed"):
        index._store._read("SELECT 1")


def test_row_may_have_name_of_file(tmp_path: Path) -> None:
    index, folder = make(tmp_path / "a", CORPUS[:1]), files(tmp_path / "docs", one="One.", two="Two.")
    (folder / "rows.jsonl").write_text('{"id": "x.txt", "text": "A row."}\n{"id": "y.txt", "text": "A row too."}\n')
    index.sync(folder)
    (folder / "rows.jsonl").write_text('{"id": "x.txt", "text": "A row."}\n{"id": "y.tx\n')
    (folder / "two.txt").unlink()
    changes = index.sync(folder)
    assert (changes.removed, changes.retained) == (["two.txt"], ["y.txt"])


PRIVATE = [
    {"id": "open/a.md", "title": "Anna", "text": "Anna of Graz wrote a book.", "year": "2023"},
    {"id": "open/b.md", "title": "Book", "text": "The book tells of Berta.", "year": "2024"},
    {"id": "secret/c.md", "title": "Berta", "text": "Berta of Graz is the spy Zora. Anna (Spy) knew.", "year": "2024"},
]


@pytest.mark.parametrize("method", METHODS)
def test_filtered_part_equals_index_of_its_documents(method: str, tmp_path: Path) -> None:
    index, alone = make(tmp_path / "a", PRIVATE), make(tmp_path / "b", PRIVATE[:2])
    for within in (Filter(folder="open"), Filter(documents=["open/a.md", "open/b.md", "none"])):
        part = index.filtered(within)
        assert str(part.graph.names.take(range(len(part.graph)))) == str(list(alone.graph.names))
        assert part.graph.checksum == alone.graph.checksum and part.words == alone.snapshot.words
        assert part.passages.checksum == alone.snapshot.passages.checksum
        state = index.ask("Who is the spy in Graz?", method, filter=within)
        assert "Zora" not in str([state.graph.text(v) for v in state.graph.nodes]) + str(state.to_dict())
        assert state.answer == alone.ask("Who is the spy in Graz?", method).answer
    assert "Zora" in str(index.ask("Who is the spy in Graz?", method, filter={"metadata": {"year": 2024}}).to_dict())
    with pytest.raises(DataError, match="no document in the folder 'ope'"):
        index.ask("Who?", filter=Filter(folder="ope"))
    with pytest.raises(OptionError, match="would have no effect"):
        index.ask("Who?", index.method(method), filter=Filter(folder="open"))


def test_mapping_metadata_may_be_nested_or_flat(tmp_path: Path) -> None:
    nested = [{"id": row["id"], "text": row["text"], "metadata": {"year": row["year"]}} for row in PRIVATE[1:]]
    index = make(tmp_path / "a", [PRIVATE[0], *nested])
    assert [index.metadata(row["id"]) for row in PRIVATE] == [{"year": row["year"]} for row in PRIVATE]


def test_filtered_part_follows_index_without_encoding(tmp_path: Path) -> None:
    index = make(tmp_path / "a", PRIVATE)
    within = Filter(folder="open")
    assert index.filtered(within) is index.filtered(within)
    index.add([{"id": "open/d.md", "title": "Dora", "text": "Dora is new."}])
    assert "Dora" in list(index.filtered(within).graph.names)


def test_unused_snapshot_is_deleted(tmp_path: Path) -> None:
    index = make(tmp_path / "a", CORPUS[:2])
    reader = Index.open(tmp_path / "a", encoder=HashEncoder())
    old = reader.snapshot
    index.add(CORPUS[2:3])
    selected = sorted(p.name for p in (tmp_path / "a").glob("snapshot-*"))
    assert selected == ["snapshot-1", "snapshot-2"] and VectorSearch(old.passages)(start(QUESTION, old.graph)).evidence
    del old
    reader.close()
    gc.collect()
    index.add(CORPUS[3:4])
    assert [p.name for p in (tmp_path / "a").glob("snapshot-*")] == ["snapshot-3"]


def test_removed_text_is_in_no_file_of_folder(tmp_path: Path) -> None:
    index = make(tmp_path / "a", [*CORPUS, {"id": "gone", "title": "Xyzzy", "text": "Here lies Plughxy, a word."}])
    index.retrieve("Xyzzy")
    index.remove(["gone"])
    index.close()
    record = [file.read_bytes() for file in (tmp_path / "a").rglob("*") if file.is_file()]
    assert len(record) > 20 and not any(word in data for word in (b"yzzy", b"lughxy") for data in record)


def test_known_text_is_not_encoded_again(tmp_path: Path) -> None:
    index = make(tmp_path / "a", CORPUS[:3], Settings())
    assert index.remove([CORPUS[0]["id"]]).usage.texts == 0
    before = sum(index.info()["embedded"].values())
    encoded = index.add([{"id": "new", "text": "nothing but small words"}]).usage.texts
    assert 0 < encoded <= sum(index.info()["embedded"].values()) - before


def test_odd_documents_are_indexed(tmp_path: Path) -> None:
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
    result = index.retrieve("東京の人口は?", "bm25").passages
    assert result is not None and index.graph.passages.of(int(result.ids[0])).document == "東京"  # type: ignore[union-attr]


def test_empty_index_answers_not_found(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "a", encoder=HashEncoder())
    for method in METHODS:
        state = index.ask("Anything?", method)
        assert state.answer is not None and not state.answer.found
    assert len(index.graph) == 0


@pytest.mark.parametrize("harm", ["pointer", "gone", "vocabulary", "about"])
def test_indexing_again_repairs_snapshot(harm: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    whole = make(path)
    snapshot = path / (path / "CURRENT").read_text()
    if harm == "pointer":
        (path / "CURRENT").write_text("snapshot-99")
    elif harm == "gone":
        (path / "CURRENT").unlink()
    elif harm == "vocabulary":
        (snapshot / "words" / "words.npy").unlink()
    else:
        (snapshot / "about.json").write_text("{}")
    damaged = Index.open(path, encoder=HashEncoder())
    with pytest.raises(StoreError, match="again"):
        damaged.ask(QUESTION)
    damaged.add([])
    assert same_content(damaged, make(tmp_path / "b")) and whole.ask(QUESTION).answer is not None


def test_empty_folder_becomes_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    index = Index.create(".", encoder=HashEncoder())
    index.add(CORPUS)
    assert Index.open(tmp_path / "here", encoder=HashEncoder()).ask(QUESTION).answer is not None
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert len(Index.create(tmp_path / "link", encoder=HashEncoder()).graph) == 0
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"cannot be written|not empty"):
        Index.create(tmp_path / "file" / "below", encoder=HashEncoder())


def test_index_inside_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Anton lives in Gmunden.")
    make(tmp_path / "old")
    index = Index.create(tmp_path / "new", encoder=HashEncoder())
    made = index.add(tmp_path)
    assert made.added == ["a.txt"]
    assert [s.reason for s in made.skipped] == ["an index, not documents"]


def test_file_of_rows_names_its_rows(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder=HashEncoder()) as index:
        index.add(
            [Document(name, "Graz lies on the Mur.") for name in ("a.csv#3", "a.csv#2", "a.csvs", "b.csv", "b.csv#2")]
        )
        assert index.matching(["a.csv", "b.csv", "c.csv"]) == ["a.csv#2", "a.csv#3", "b.csv", "c.csv"]


class WideEncoder(HashEncoder):
    """Another encoder, with longer vectors."""

    def __init__(self) -> None:
        super().__init__(dimension=96)


def test_rebuild_with_other_encoder_and_settings_equals_new_index(tmp_path: Path) -> None:
    make(tmp_path / "i").close()
    Index.rebuild(tmp_path / "i", WideEncoder(), resolve=("aliases",), embed=("passages",))
    with (
        Index.open(tmp_path / "i", encoder=WideEncoder()) as index,
        Index.create(tmp_path / "new", encoder=WideEncoder(), settings=index.settings) as new,
    ):
        new.add(CORPUS)
        assert index.settings == Settings(embed=("passages",), resolve=("aliases",)) and not index.verify()
        assert index.snapshot.fingerprints == new.snapshot.fingerprints
        assert index.ask(QUESTION).answer == new.ask(QUESTION).answer
    with pytest.raises(StoreError, match="graphwright rebuild"):
        Index.open(tmp_path / "i", encoder=HashEncoder())


def test_rebuild_of_open_index_is_refused_to_its_old_encoder(tmp_path: Path) -> None:
    with make(tmp_path / "i") as index:
        Index.rebuild(tmp_path / "i", WideEncoder())
        with pytest.raises(StoreError, match="was encoded by"):
            index.ask(QUESTION)


def test_rebuild_with_impossible_sizes_or_without_its_encoder_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "i").close()
    with pytest.raises(OptionError, match="overlap must be less than chunk_tokens"):
        Index.rebuild(tmp_path / "i", HashEncoder(), chunk_tokens=30)
    with pytest.raises(OptionError, match="which has no name"):
        Index.rebuild(tmp_path / "i", overlap=0)
