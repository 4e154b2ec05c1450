"""Exported graphs are equal when networkx reads them, whatever their names contain."""

from __future__ import annotations

import json
import math
import os
import tracemalloc
import xml.etree.ElementTree as ElementTree
from io import StringIO
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, corpus_index

from graphwright import Evidence, Graph
from graphwright.errors import DataError, OptionError
from graphwright.graph.columns import Passages, TextColumn
from graphwright.graph.export import FORMATS, Part, export, format_of, write
from graphwright.graph.graph import Columns, Kind
from graphwright.kernels.csr import Csr

NETWORKX = ("graphml", "json")  # the formats that networkx reads
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)  # surrogates and control characters too


def read(path: Path) -> nx.MultiDiGraph:
    """Read an export as its module says; a list in a string becomes a list again."""
    if path.suffix == ".graphml":
        result = nx.read_graphml(path, node_type=int, edge_key_type=int, force_multigraph=True)
        for _, _, data in result.edges(data=True):
            if "chunks" in data:
                data["chunks"] = json.loads(data["chunks"])
        return result
    return nx.node_link_graph(json.loads(path.read_text(encoding="utf-8")), edges="edges")


def record(result: nx.MultiDiGraph) -> tuple[dict[int, Any], dict[int, Any]]:
    """All nodes and edges with their attributes, edges by their keys."""
    edges = {key: (a, b, data) for a, b, key, data in result.edges(keys=True, data=True)}
    assert len(edges) == result.number_of_edges()
    return dict(result.nodes(data=True)), edges


def clean(text: str, form: str) -> str:
    """What a format can hold of a text, character by character."""
    forbidden = [*range(0xD800, 0xE000)]
    if form == "graphml":
        forbidden += [*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF]
    return "".join("\ufffd" if ord(c) in set(forbidden) else c for c in text)


@pytest.mark.parametrize("form", NETWORKX)
@pytest.mark.parametrize("name", GRAPHS)
def test_export_of_toy_graph_round_trips_parallel_edges_and_loops(name: str, form: str, tmp_path: Path) -> None:
    graph = GRAPHS[name]
    path = tmp_path / f"toy.{form}"
    assert export(graph, path) == (len(graph), len(graph.edges))
    nodes, edges = record(read(path))
    assert nodes == {i: {"name": graph.names[i], "kind": "entity"} for i in range(len(graph))}
    assert {key: (graph.names[a], data["relation"], graph.names[b]) for key, (a, b, data) in edges.items()} == {
        e: graph.triple(e) for e in range(len(graph.edges))
    }


def test_export_forms_of_index_agree_and_name_source(tmp_path: Path) -> None:
    graph = corpus_index().graph
    for form in NETWORKX:
        export(graph, tmp_path / f"corpus.{form}")
    nodes, edges = record(read(tmp_path / "corpus.json"))
    assert (nodes, edges) == record(read(tmp_path / "corpus.graphml"))
    assert graph.passages is not None
    for node, data in nodes.items():
        passage = graph.passages.of(node)
        assert data["name"] == graph.names[node] and data.get("text", data["name"]) == graph.text(node)
        assert data["kind"] == ("entity" if passage is None else "chunk")
        if passage is not None:
            assert (passage.document, passage.title, passage.start, passage.end) == tuple(
                data[name] for name in ("document", "title", "start", "end")
            )
    chunks = {e: [graph.names[c] for c in graph.chunks_of(edges=[e])] for e in edges}
    assert {e: sorted(data.get("chunks", [])) for e, (_, _, data) in edges.items()} == {
        e: sorted(names) for e, names in chunks.items()
    }
    assert any(chunks.values())
    assert all(data.get("text", " ".join(graph.triple(e))) == graph.edge_text(e) for e, (*_, data) in edges.items())


@pytest.mark.parametrize("form", NETWORKX)
@given(triples=st.lists(st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT), max_size=6))
def test_export_with_any_names_stays_readable(form: str, triples: list[tuple[str, str, str]]) -> None:
    graph, file = Graph.from_triples(triples), StringIO(newline="")
    write(graph, file, form)
    text = file.getvalue()
    text.encode("utf-8")
    if form == "json":
        result = json.loads(text)
        names = [node["name"] for node in result["nodes"]]
        relations = [edge["relation"] for edge in result["edges"]]
    else:
        root = ElementTree.fromstring(text)
        names = [data.text or "" for data in root.iter() if data.get("key") == "node_name"]
        relations = [data.text or "" for data in root.iter() if data.get("key") == "edge_relation"]
    assert names == [clean(name, form) for name in graph.names]
    assert relations == [clean(relation, form) for _, relation, _ in triples]


def full() -> Graph:
    """Two chunks of a document with a hostile name, an entity with a text, and an edge that both chunks state."""
    names = TextColumn.of(["Graz", 'a"]\n<b>\0#0', 'a"]\n<b>\0#1', ""])
    item = Csr(np.array([0, 2, 2]), np.array([1, 2], np.int32))
    return Graph(
        Columns(
            names=names,
            heads=np.array([0, 0], np.int32),
            tails=np.array([3, 3], np.int32),
            relation=np.zeros(2, np.int32),
            relations=TextColumn.of(["in"]),
            kinds=np.array([Kind.ENTITY, Kind.CHUNK, Kind.CHUNK, Kind.DOCUMENT], np.uint8),
            texts=TextColumn.of(["A city.", "Graz lies\r\nin Styria. ", " ", ""]),
            edge_text=np.array([0, -1], np.int32),
            sentences=TextColumn.of(["Graz lies\r\nin Styria."]),
            edge_chunks=item,
            passages=Passages(
                nodes=np.array([1, 2]),
                document=np.array([0, 0], np.int32),
                title=np.array([0, 0], np.int32),
                start=np.array([0, 2**40]),
                end=np.array([21, 2**40 + 1]),
                names=names,
                documents=TextColumn.of(["d"]),
                titles=TextColumn.of([""]),
                places=TextColumn.of([""]),
                copy_keys=np.zeros((2, 2), np.int32),
            ),
        )
    )


@pytest.mark.parametrize("form", NETWORKX)
def test_export_places_each_attribute_and_omits_empty_ones(form: str, tmp_path: Path) -> None:
    export(full(), tmp_path / f"full.{form}")
    nodes, edges = record(read(tmp_path / f"full.{form}"))
    hostile = clean('a"]\n<b>\0', form)
    assert nodes == {
        0: {"name": "Graz", "kind": "entity", "text": "A city."},
        1: {
            "name": f"{hostile}#0",
            "kind": "chunk",
            "text": "Graz lies\r\nin Styria. ",
            "document": "d",
            "start": 0,
            "end": 21,
        },
        2: {
            "name": f"{hostile}#1",
            "kind": "chunk",
            "text": " ",
            "document": "d",
            "start": 2**40,
            "end": 2**40 + 1,
        },
        3: {"name": "", "kind": "document"},
    }
    # A name inside the list is escaped by JSON first, so that nothing of it is lost in XML either.
    chunks = ['a"]\n<b>\0#0', 'a"]\n<b>\0#1']
    assert edges == {
        0: (0, 3, {"relation": "in", "text": "Graz lies\r\nin Styria.", "chunks": chunks}),
        1: (0, 3, {"relation": "in"}),
    }


@pytest.mark.parametrize("form", NETWORKX)
def test_export_of_part_keeps_snapshot_ids(form: str, tmp_path: Path) -> None:
    graph = GRAPHS["family"]
    part = graph.part([1, 2, 3])
    assert export(part, tmp_path / f"part.{form}") == (3, len(part.edges))
    nodes, edges = record(read(tmp_path / f"part.{form}"))
    assert sorted(nodes) == [1, 2, 3] and sorted(edges) == part.edges.tolist()


@pytest.mark.parametrize("form", NETWORKX)
def test_export_of_evidence_has_rank_and_score(form: str, tmp_path: Path) -> None:
    graph = GRAPHS["line"]
    # A path a-b-c, then the triple c-d, which brings its ends along, then b alone.
    evidence = Evidence.of_trees(graph, [([0, 1, 2], [0, 1]), ([], [2]), ([1], [])], [0.9, 0.5, 0.1])
    assert export(graph, tmp_path / f"found.{form}", evidence=evidence) == (4, 3)
    nodes, edges = record(read(tmp_path / f"found.{form}"))
    assert {i: (data["rank"], data["score"]) for i, data in nodes.items()} == {
        0: (1, 0.9),
        1: (1, 0.9),
        2: (1, 0.9),
        3: (2, 0.5),
    }
    assert {e: (data["rank"], data["score"]) for e, (*_, data) in edges.items()} == {
        0: (1, 0.9),
        1: (1, 0.9),
        2: (2, 0.5),
    }


def test_export_of_reordered_items_keeps_best_score() -> None:
    evidence = Evidence.of_nodes([0, 1], [2.0, 1.0]).take([1, 0, 0])
    twice = Evidence.of_nodes([0, 0], [2.0, 1.0]).take([1, 0])
    for result, best in ((evidence, {0: (2, 2.0), 1: (1, 1.0)}), (twice, {0: (1, 2.0)})):
        file = StringIO()
        write(GRAPHS["line"], file, "json", result)
        rows = json.loads(file.getvalue())["nodes"]
        assert {row["id"]: (row["rank"], row["score"]) for row in rows} == best


def test_export_of_nodes_adds_edges_between_them() -> None:
    file = StringIO()
    written = write(GRAPHS["apart"], file, "json", Evidence.of_nodes([0, 1, 3]))
    result = json.loads(file.getvalue())
    assert written == (3, 2)
    assert [(e["relation"], "rank" in e) for e in result["edges"]] == [("r", False), ("t", False)]
    assert all("score" not in node and node["rank"] for node in result["nodes"])


def test_export_of_passages_joins_them_by_mentions() -> None:
    graph = corpus_index().graph
    assert graph.passages is not None
    chosen = [int(graph.passages.nodes[graph.passages.rows_of_document[name][0]]) for name in ("ermengarde", "erstein")]
    file = StringIO()
    write(graph, file, "json", Evidence.of_nodes(chosen))
    result = json.loads(file.getvalue())
    names = {node["name"]: node for node in result["nodes"]}
    assert sorted(node["id"] for node in result["nodes"] if "rank" in node) == sorted(chosen)
    assert not any("rank" in edge for edge in result["edges"])
    alsace = names["Alsace"]["id"]
    assert {edge["source"] for edge in result["edges"] if edge["target"] == alsace} >= set(chosen)
    assert "Graz" not in names


@pytest.mark.parametrize("form", NETWORKX)
def test_export_omits_infinite_scores_and_accepts_empty_evidence(form: str, tmp_path: Path) -> None:
    export(GRAPHS["line"], tmp_path / f"x.{form}", evidence=Evidence.of_nodes([0, 1], [math.inf, 0.1 + 0.2]))
    nodes, _ = record(read(tmp_path / f"x.{form}"))
    assert "score" not in nodes[0] and nodes[1]["score"] == 0.1 + 0.2
    assert export(GRAPHS["line"], tmp_path / f"x.{form}", evidence=Evidence.of_nodes([])) == (0, 0)
    assert record(read(tmp_path / f"x.{form}")) == ({}, {})
    assert export(Graph.from_triples([]), tmp_path / f"x.{form}") == (0, 0)


def test_export_of_foreign_evidence_raises_and_keeps_file(tmp_path: Path) -> None:
    path = tmp_path / "family.json"
    path.write_text("before")
    with pytest.raises(OptionError, match="holds node 99, but the graph has 5 nodes"):
        export(GRAPHS["line"], path, evidence=Evidence.of_nodes([99]))
    with pytest.raises(OptionError, match="holds edge 4, but the graph has 4 edges"):
        export(GRAPHS["line"], path, evidence=Evidence.of_edges([4]))
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["family.json"]


def test_export_failure_keeps_previous_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(part: Part, file: Any) -> None:
        file.write("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(FORMATS, "json", broken)
    path = tmp_path / "family.json"
    path.write_text("before")
    with pytest.raises(DataError, match=r"cannot be written.*No space left"):
        export(GRAPHS["line"], path)
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["family.json"]


def test_export_keeps_links_and_special_files(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("before")
    (tmp_path / "link.json").symlink_to("real.json")
    export(GRAPHS["line"], tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink() and json.loads((tmp_path / "real.json").read_text())["nodes"]
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(OptionError, match="is not a regular file"):
        export(GRAPHS["line"], tmp_path / "pipe.json")
    with pytest.raises(DataError, match="cannot be written"):
        export(GRAPHS["line"], tmp_path / "none" / "family.json")


def test_export_form_follows_file_name() -> None:
    assert format_of(Path("FAMILY.GRAPHML")) == "graphml"
    with pytest.raises(OptionError, match=r"'family\.xml' has no known extension; choose a format: graphml, json"):
        format_of(Path("family.xml"))
    with pytest.raises(OptionError, match="no format 'gexf'"):
        format_of(Path("family.json"), "gexf")


@pytest.mark.parametrize("form", NETWORKX)
def test_export_memory_is_constant_in_graph_size(form: str) -> None:
    graph = Graph.from_triples((f"node {i % 100}", f"a long relation {'x' * 200}", "hub") for i in range(20_000))
    with open(os.devnull, "w", encoding="utf-8") as file:
        tracemalloc.start()
        try:
            write(graph, file, form)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 1_000_000  # the document has more than 4 MB, and the ids of the edges take 160 kB
