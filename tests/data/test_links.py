"""References between documents become edges between passages, in any order of adding documents."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.toys import chunk_columns_of

from graphwright import Document, Graph, Index
from graphwright.build.merge import MergedChunks
from graphwright.errors import OptionError, StoreError
from graphwright.extract.extraction import Extraction, Relation
from graphwright.models import HashEncoder
from graphwright.search.filter import Filter
from graphwright.store import Settings
from graphwright.store.chunk_record import content_hash
from graphwright.store.store import Store

SHORT = Settings(chunk_tokens=8, overlap=0)
ENCODER = HashEncoder(16)


def document(name: str, sentences: int, *links: str) -> Document:
    text = " ".join(f"{name.upper()} says thing number {at} of them." for at in range(sentences))
    return Document(name, text, links=links)


def index_of(folder: Path, *documents: Document) -> Index:
    index = Index.create(folder, encoder=ENCODER, settings=SHORT)
    index.add(documents)
    return index


def refers(graph: Graph) -> list[tuple[str, str]]:
    return [(t[0], t[2]) for t in map(graph.triple, graph.edges.tolist()) if t[1] == "refers to"]


def by_hand(documents: Sequence[Document], chunks: Mapping[str, int]) -> list[tuple[str, str]]:
    """Every chunk of a document to the first one of each that it refers to, in order."""
    there = {d.id for d in documents if chunks[d.id]}
    return [
        (f"{d.id}#{at}", f"{link}#0")
        for d in sorted(documents, key=lambda d: d.id.encode())
        for at in range(chunks[d.id])
        for link in sorted(set(d.links) & there - {d.id}, key=str.encode)
    ]


def test_chunk_refers_to_first_chunk_of_linked_document(tmp_path: Path) -> None:
    given = [document("b", 3, "c", "a", "c", "b", "never there"), document("a", 2), document("c", 1, "b")]
    with index_of(tmp_path / "i", *given) as index:
        graph = index.graph
        wanted = [(f"b#{at}", other) for at in range(3) for other in ("a#0", "c#0")] + [("c#0", "b#0")]
        assert refers(graph) == wanted
        edges = [e for e in graph.edges.tolist() if graph.triple(e)[1] == "refers to"]
        assert edges == list(range(len(graph.edges) - len(wanted), len(graph.edges)))
        assert [graph.names.take(graph.chunks_of(edges=[e])) for e in edges] == [[source] for source, _ in wanted]
        assert graph.edge_text(edges[0]) == "b#0 refers to a#0"
        heads, tails = graph.columns.references
        assert list(zip(graph.names.take(heads), graph.names.take(tails), strict=True)) == wanted
        assert index.verify() == []


def test_changed_links_change_document(tmp_path: Path) -> None:
    with index_of(tmp_path / "i", document("a", 1, "b", "c"), document("b", 1), document("c", 1)) as index:
        assert index.add([document("a", 1, "c", "b", "c")]).unchanged == ["a"]
        assert index.add([document("a", 1, "c")]).replaced == ["a"] and refers(index.graph) == [("a#0", "c#0")]
        index.remove(["c"])
        assert refers(index.graph) == []
        index.add([document("c", 2)])  # it is there again, and so is what referred to it
        assert refers(index.graph) == [("a#0", "c#0")]
        index.remove(["a"])
        assert refers(index.graph) == [] and index.verify() == []


def test_documents_without_links_add_no_relation(tmp_path: Path) -> None:
    with index_of(tmp_path / "i", document("a", 2, "elsewhere"), document("b", 1)) as index:
        assert "refers to" not in list(index.graph.columns.relations) and index.graph.columns.references[0].size == 0
    hashes = {content_hash(Document("a", "t", links=links)) for links in [(), ("b",), ("b", "c"), ("b c",), ("c", "b")]}
    assert len(hashes) == 4


def test_links_of_mappings_and_documents_are_read(tmp_path: Path) -> None:
    with index_of(tmp_path / "i", document("b", 1)) as index:
        index.add(
            [{"id": "a", "text": "A text.", "links": "b; c", "year": 2024}, {"id": "c", "text": "C.", "links": []}]
        )
        assert refers(index.graph) == [("a#0", "b#0"), ("a#0", "c#0")]
        assert len(index.filtered(Filter(metadata={"year": 2024})).graph.passages.documents) == 1
        for wrong in ("b", (1,)):
            with pytest.raises(OptionError, match="links of the document 'x'"):
                index.add([Document("x", "t", links=wrong)])  # type: ignore[arg-type]


def test_entity_relation_is_not_link(tmp_path: Path) -> None:
    made = Extraction((), (Relation("Acts", "refers to", "Luke", "Acts refers to Luke."),))
    docs = [("a", "", "Acts refers to Luke.", made), ("b", "", "t", Extraction())]
    graph = MergedChunks(chunk_columns_of(docs, {"a": ["b"]})).graph(np.empty((0, 2), np.int64))
    assert sorted(refers(graph)) == [("Acts", "Luke"), ("a#0", "b#0")]
    assert [c.tolist() for c in graph.columns.references] == [[0], [1]]


def test_index_of_later_version_is_not_written(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    index_of(folder, document("a", 1, "b"), document("b", 1)).close()
    with closing(Store(folder / "index.sqlite")) as store:
        with closing(sqlite3.connect(folder / "index.sqlite")) as db:
            db.execute("PRAGMA user_version = 99")
        with pytest.raises(StoreError, match=r"schema 99; this version writes schema 13"), store.writing():
            pass
        assert len(store.columns().references[0]) == 1


IDS = "abcde"
given_documents = st.builds(
    lambda name, sentences, links: (
        document(name, sentences, *links) if sentences else Document(name, " ", links=tuple(links))
    ),
    st.sampled_from(IDS),
    st.integers(0, 3),
    st.lists(st.sampled_from([*IDS, "x"]), max_size=4),
)
changes = st.lists(
    st.one_of(
        st.lists(given_documents, min_size=1, max_size=3, unique_by=lambda d: d.id),
        st.sets(st.sampled_from(IDS), min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module")
def places() -> Iterator[Iterator[Path]]:
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)  # nothing is cut off here
        yield (Path(place) / str(number) for number in itertools.count())


@settings(max_examples=15, deadline=None)
@given(changes, st.sets(st.sampled_from(IDS), min_size=1))
def test_link_edges_are_equal_after_any_history(
    places: Iterator[Path], history: list[list[Document] | set[str]], some: set[str]
) -> None:
    folder, anew = next(places), next(places)
    record: dict[str, Document] = {}
    with Index.create(folder, encoder=ENCODER, settings=SHORT) as index:
        for change in history:
            if isinstance(change, set):
                index.remove(sorted(change & record.keys()))
                record = {name: d for name, d in record.items() if name not in change}
            else:
                index.add(change)
                record |= {d.id: d for d in change}
        passages = index.graph.passages
        assert passages is not None
        of = passages.documents.take(passages.document)
        chunks = {name: of.count(name) for name in record}
        assert refers(index.graph) == by_hand(list(record.values()), chunks)
        with index_of(anew, *reversed(record.values())) as other:
            assert other.graph.checksum == index.graph.checksum
        if seen := [d for name, d in record.items() if name in some]:
            part = index.filtered(Filter(documents=[d.id for d in seen])).graph
            assert refers(part) == by_hand(seen, chunks)
    shutil.rmtree(folder)
    shutil.rmtree(anew)
