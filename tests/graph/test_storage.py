"""Graphs on disk: equal when opened, and errors that name damaged files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.shared import GRAPHS, corpus_index

from graphwright.errors import StoreError
from graphwright.graph import storage
from graphwright.graph.graph import Graph
from graphwright.graph.storage import block_file, load_array, load_graph, save_array, save_graph
from graphwright.search.facts import Facts


@pytest.mark.parametrize("name", [*sorted(GRAPHS), "corpus"])
def test_stored_graph_reopens_equal(name: str, tmp_path: Path) -> None:
    graph = corpus_index().graph if name == "corpus" else GRAPHS[name]
    save_graph(graph, tmp_path / "g")
    again = load_graph(tmp_path / "g")
    assert again.checksum == graph.checksum
    assert [again.triple(e) for e in range(len(again.edges))] == [graph.triple(e) for e in range(len(graph.edges))]
    assert [again.reading(v) for v in range(len(again))] == [graph.reading(v) for v in range(len(graph))]
    assert np.array_equal(again.adjacency.values, graph.adjacency.values)
    assert (again.passages is None) == (graph.passages is None)


def test_opened_arrays_are_plain_and_read_only(tmp_path: Path) -> None:
    save_graph(GRAPHS["club"], tmp_path / "g")
    adjacency = load_graph(tmp_path / "g").adjacency
    assert type(adjacency.values) is np.ndarray and not adjacency.values.flags.writeable
    assert adjacency.values.dtype == np.int32 and adjacency.indptr.dtype == np.int64


@pytest.mark.parametrize("file", ["heads.npy", "names.data.npy", "adjacency.indptr.npy", "graph.json"])
@pytest.mark.parametrize("harm", ["missing", "short", "empty"])
def test_damaged_array_raises_named_error(file: str, harm: str, tmp_path: Path) -> None:
    save_graph(GRAPHS["club"], tmp_path / "g")
    path = tmp_path / "g" / file
    content = path.read_bytes()
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(content[: len(content) // 2] if harm == "short" else b"")
    with pytest.raises(StoreError, match=str(tmp_path / "g")):
        load_graph(tmp_path / "g")


@pytest.mark.parametrize("of", ["array", "checksums"])
def test_damaged_header_raises_named_error(of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "IN_BLOCKS", 0)
    path = tmp_path / "a.npy"
    save_array(np.arange(9000), path)
    damaged = path if of == "array" else block_file(path)
    content = damaged.read_bytes()
    for at in range(128):
        damaged.write_bytes(content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :])
        with pytest.raises(StoreError, match=r"a\.npy is .*damaged"):
            np.asarray(load_array(path))


def test_other_format_raises(tmp_path: Path) -> None:
    save_graph(GRAPHS["line"], tmp_path / "g")
    path = tmp_path / "g" / "graph.json"
    path.write_text(path.read_text().replace('"format": 5', '"format": 99'))
    with pytest.raises(StoreError, match="format 99"):
        load_graph(tmp_path / "g")


RECORDS = Facts.of_rows([{"city": "Graz", "river": "Mur"}, {"city": "Wien"}], "cities").columns


def test_stored_records_reopen_equal(tmp_path: Path) -> None:
    save_graph(Graph(RECORDS), tmp_path / "g")
    again = load_graph(tmp_path / "g").columns
    assert again.records is not None and RECORDS.records is not None and again.checksum == RECORDS.checksum
    for old, new in zip(RECORDS.records.arrays(), again.records.arrays(), strict=True):
        assert np.array_equal(old, new)


@pytest.mark.parametrize("name", ["type", "record", "text", "form_text", "node"])
@pytest.mark.parametrize("harm", ["short", "outside"])
def test_damaged_records_raise_named_error(name: str, harm: str, tmp_path: Path) -> None:
    assert RECORDS.records is not None
    values = np.asarray(getattr(RECORDS.records, name))
    wrong = values[:-1] if harm == "short" else np.append(values[:-1], np.int32(99))
    records = replace(RECORDS.records, **{name: wrong.astype(np.int32)})
    save_graph(Graph(replace(RECORDS, records=records)), tmp_path / "g")
    with pytest.raises(StoreError, match="build the index again"):
        load_graph(tmp_path / "g")
