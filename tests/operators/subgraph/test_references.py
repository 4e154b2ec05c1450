"""The graph of references between passages, compared with plain Python over triples, and an operator on it."""

from __future__ import annotations

import gc
import tempfile
import weakref
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from tests.shared import CORPUS, GRAPHS, corpus_index
from tests.toys import chunk_columns_of

from graphwright import Document, Evidence, Graph, Index, Induce, Keep, KHop, ToPassages, start
from graphwright.build.merge import MergedChunks
from graphwright.errors import NeedsError, OptionError
from graphwright.extract.extraction import Extraction, Mention
from graphwright.graph import Kind
from graphwright.models import HashEncoder
from graphwright.operators.control import OnGraph
from graphwright.operators.subgraph.views import RELATIONS, PassageGraph
from graphwright.store import Settings

GRAPH = corpus_index().snapshot.graph


def by_hand(graph: Graph, shared: int) -> set[tuple[int, int]]:
    """Pairs of passages that are joined, from the edges one by one."""
    mentions, about, alias = set(), set(), set()
    for e in graph.edges.tolist():
        head, relation, tail = int(graph.columns.heads[e]), graph.triple(e)[1], int(graph.columns.tails[e])
        {"mentions": mentions, "about": about, "alias": alias}.get(relation, set()).add((head, tail))
    alias |= {(b, a) for a, b in alias}
    result = set()
    for chunk, entity in mentions:
        for meant in {entity} | {b for a, b in alias if a == entity}:
            result |= {(chunk, other) for other, topic in about if topic == meant and other != chunk}
    for entity in range(len(graph)):
        namers = {chunk for chunk, named in mentions | about if named == entity}
        if len(namers) <= shared:
            result |= set(combinations(sorted(namers), 2))
    return {(min(pair), max(pair)) for pair in result}


def joined(graph: Graph) -> set[tuple[int, int]]:
    rows = graph.columns.adjacency
    return {(v, int(u)) for v in range(len(graph)) for u in rows.row(v) if v < u}


def linked_by_alias() -> Graph:
    """The second says only "Lilu", which is short for the title of the first, and shares nothing else with it."""
    docs = [
        ("a", "Lilu (mythology)", "Lilu (mythology) is a spirit.", Extraction((Mention("Lilu (mythology)"),))),
        ("b", "Ereshkigal", "Ereshkigal met Lilu.", Extraction((Mention("Lilu"), Mention("Ereshkigal")))),
        ("c", "Bread", "Bread is baked.", Extraction()),
    ]
    return MergedChunks(chunk_columns_of(docs)).graph(np.empty((0, 2), np.int64))


@pytest.mark.parametrize("shared", [0, 1, 2, 3, 5, 100])
@pytest.mark.parametrize("graph", [GRAPH, linked_by_alias()], ids=["corpus", "alias"])
def test_passage_graph_edges_equal_worked_example(graph: Graph, shared: int) -> None:
    linked = PassageGraph(shared)(graph)
    assert joined(linked) == by_hand(graph, shared)
    kinds = linked.columns.kinds[linked.ends(linked.edges)]
    relations = {linked.triple(int(e))[1] for e in linked.edges}
    assert (kinds == Kind.CHUNK).all() and relations <= {"names the topic of", "shares a name with"}


def test_passage_graph_joins_passages_by_mentions() -> None:
    passages = GRAPH.passages
    chunk = {passages.of(int(v)).document: int(v) for v in passages.nodes}  # type: ignore[union-attr]
    linked = PassageGraph(0)(GRAPH)
    refers = [(int(linked.columns.heads[e]), int(linked.columns.tails[e])) for e in linked.edges]
    assert (chunk["lothair"], chunk["teutberga"]) in refers and (chunk["teutberga"], chunk["lothair"]) in refers
    assert (chunk["lothair"], chunk["ermengarde"]) in refers and (chunk["ermengarde"], chunk["lothair"]) not in refers
    assert not {chunk["bread"], chunk["mur"]} & {v for pair in refers for v in pair}
    short = linked_by_alias()
    assert len(PassageGraph(0)(short).edges) == 1


def test_passage_graph_keeps_ids_names_and_texts() -> None:
    linked = PassageGraph()(GRAPH)
    assert len(linked) == len(GRAPH) and linked.names is GRAPH.names and linked.passages is GRAPH.passages
    node = int(GRAPH.passages.nodes[0])  # type: ignore[union-attr]
    assert linked.reading(node) == GRAPH.reading(node) and linked.chunks_of([node]).tolist() == [node]


def test_passage_graph_is_cached_with_snapshot() -> None:
    graph = linked_by_alias()
    assert PassageGraph()(graph) is PassageGraph()(graph) is not PassageGraph(2)(graph)
    made = weakref.ref(PassageGraph()(graph).columns)
    del graph
    gc.collect()
    assert made() is None


def test_passage_graph_of_part_is_part() -> None:
    some = GRAPH.passages.nodes[:3]  # type: ignore[union-attr]
    part = PassageGraph()(GRAPH.part(some))
    assert part.nodes.tolist() == some.tolist()
    assert PassageGraph()(GRAPHS["club"]) is GRAPHS["club"]


def test_on_graph_runs_step_on_passage_graph() -> None:
    passages = GRAPH.passages
    first = next(int(v) for v in passages.nodes if passages.of(int(v)).document == "lothair")  # type: ignore[union-attr]
    state = start("?", GRAPH, evidence=Evidence.of_nodes([first]))
    after = OnGraph(PassageGraph(0), KHop(1))(state)
    assert after.graph is GRAPH
    documents = {passages.of(int(v)).document for v in after.evidence.nodes}  # type: ignore[union-attr]
    assert documents == {"lothair", "teutberga", "ermengarde"} < {d["id"] for d in CORPUS}
    assert not {Kind(k) for k in GRAPH.columns.kinds[KHop(1)(state).evidence.nodes]} <= {Kind.CHUNK}  # type: ignore[union-attr]
    assert (OnGraph(PassageGraph(0), KHop(1)) % 2)(state).evidence.nodes.tolist() == after.evidence.nodes[:2].tolist()  # type: ignore[union-attr]
    assert OnGraph(PassageGraph(), Induce())(state).graph is GRAPH


def test_on_graph_wiring_equals_step_wiring() -> None:
    step = OnGraph(PassageGraph(3), KHop(1) >> ToPassages())
    assert step.needs == ("evidence|anchors",) and "passages" in step.gives
    assert repr(step) == "OnGraph(PassageGraph(shared=3), KHop(1) >> ToPassages())"
    assert OnGraph(PassageGraph(), Keep()).capped(3) == OnGraph(PassageGraph(), Keep())
    with pytest.raises(NeedsError, match="KHop"):
        step(start("?", GRAPH))
    with pytest.raises(OptionError, match="shared is -1"):
        OnGraph(PassageGraph(-1), Keep())


def cited() -> Graph:
    """Two chunks of "a", which refers to "c"; "c" has two as well and refers to "b", which names what "a" does."""
    with Index.create(Path(tempfile.mkdtemp()) / "i", encoder=HashEncoder(), settings=Settings(9, 0)) as index:
        index.add(
            [
                Document("a", "Graz lies on the Mur in Styria. It is an old town of some size.", "Graz", links=("c",)),
                Document("b", "Many rivers freeze in winter near Graz.", "Rivers"),
                Document(
                    "c", "Bread is baked from dough in most towns. Some of it is baked from rye.", "Bread", links=("b",)
                ),
            ]
        )
        return index.graph


def edges(graph: Graph, **options: object) -> dict[str, set[tuple[str, str]]]:
    result: dict[str, set[tuple[str, str]]] = {}
    linked = PassageGraph(**options)(graph)  # type: ignore[arg-type]
    for head, relation, tail in map(linked.triple, linked.edges.tolist()):
        result.setdefault(relation, set()).add((head, tail))
    return result


def test_passage_graph_sources_can_be_selected() -> None:
    graph = cited()
    refers = {("a#0", "c#0"), ("a#1", "c#0"), ("c#0", "b#0"), ("c#1", "b#0")}
    continues = {("a#1", "a#0"), ("c#1", "c#0")}
    result = edges(graph)
    assert result["refers to"] == refers and result["continues"] == continues
    assert ("b#0", "a#0") in result["names the topic of"] and result["shares a name with"]
    for some in combinations(RELATIONS, 2):
        assert edges(graph, relations=some) == {name: result[name] for name in some}
    assert edges(graph, relations=["continues"]) == {"continues": continues}
    assert edges(GRAPH, relations=("refers to",)) == {}
    # Of an entity in two chunks of the same document each is a neighbour of the other, once.
    rows = PassageGraph()(graph).columns.adjacency
    assert all(len(set(rows.row(v).tolist())) == len(rows.row(v)) for v in range(len(graph)))


def test_passage_graph_of_links_is_reference_network() -> None:
    graph = cited()
    chunk = {graph.names[int(v)]: int(v) for v in graph.passages.nodes}  # type: ignore[union-attr]
    state = start("?", graph, evidence=Evidence.of_nodes([chunk["a#1"]]))
    after = OnGraph(PassageGraph(relations=("refers to",)), KHop(1))(state)
    assert graph.names.take(after.evidence.nodes) == ["a#1", "c#0"]  # type: ignore[union-attr]
    capped = OnGraph(PassageGraph(3, ("refers to",)), Keep()).capped(2)
    assert capped == OnGraph(PassageGraph(3, ("refers to",)), Keep())
    for wrong in (("cites",), "refers to", ()):
        with pytest.raises(OptionError, match=r"relations is .* it must be a list of"):
            PassageGraph(relations=wrong)  # type: ignore[arg-type]
