"""Summaries of communities: the most central statements, or a text of a language model, written once."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.shared import CORPUS, GRAPHS, corpus_index

from graphwright import Graph, Index, VectorIndex
from graphwright.errors import ReplyCutError
from graphwright.models import Completion, HashEncoder, ScriptedLLM
from graphwright.models.protocols import Cancel, OnText, Schema
from graphwright.operators import Summaries, WrittenSummaries
from graphwright.operators.run import Run
from graphwright.operators.summaries import Gist, central, most_central
from graphwright.search.vector_index import normalised

pytest.importorskip("igraph")

SNAPSHOT = corpus_index().snapshot
assert SNAPSHOT.triples is not None


def fresh() -> Graph:
    """The corpus's graph as a snapshot of its own, for which nothing was made yet."""
    return Graph(replace(SNAPSHOT.graph.columns))


@dataclass(eq=False)
class BreakingLLM:
    """A language model whose replies break off until it `works`."""

    replies: list[str]
    works: bool = False
    calls: int = 0
    id: str = "breaking"

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        self.calls += 1
        if not self.works:
            raise ReplyCutError("The connection broke.")
        return ScriptedLLM(lambda system, user: self.replies[0]).complete(system, user, schema=schema)


def test_gist_is_most_central_statement() -> None:
    summaries, graph = Summaries(SNAPSHOT.passages, SNAPSHOT.triples, statements=2), SNAPSHOT.graph
    ids, gists, vectors = summaries.gists(graph, 0)
    groups = summaries.communities(graph)
    assert len(ids) == len(gists) == len(vectors) > 1
    for at, gist, vector in zip(ids.tolist(), gists, vectors, strict=True):
        members = set(groups.members.row(at).tolist())
        inside = [e for e in graph.edges.tolist() if set(graph.ends([e]).tolist()) <= members]
        stated = [e for e in inside if SNAPSHOT.triples.row_of[e] >= 0]  # type: ignore[index]
        assert stated and set(gist.edges.tolist()) <= set(stated) and not len(gist.passages)
        rows = sorted({int(SNAPSHOT.triples.row_of[e]) for e in stated})  # type: ignore[index]
        units = normalised(np.asarray(SNAPSHOT.triples.vectors[rows]))
        best = most_central(units, units @ units.mean(axis=0), 2)
        assert [rows.index(int(SNAPSHOT.triples.row_of[e])) for e in gist.edges] == best.tolist()  # type: ignore[index]
        assert vector == pytest.approx(normalised(units[best].mean(axis=0)), abs=1e-6)
        assert summaries.texts(Run(), graph, 0, [at]) == ["\n".join(graph.edge_text(int(e)) for e in gist.edges)]


def test_gist_without_statement_vectors_uses_passages() -> None:
    graph = SNAPSHOT.graph
    summaries = Summaries(SNAPSHOT.passages, statements=1)
    ids, gists, _ = summaries.gists(graph, 0)
    members = summaries.communities(graph).members
    for at, gist in zip(ids.tolist(), gists, strict=True):
        assert not len(gist.edges) and len(gist.passages) == 1
        assert set(gist.passages.tolist()) <= set(graph.chunks_of(members.row(at).astype(np.int64)).tolist())
    of = summaries.communities(graph).of_nodes(0)[graph.id("Erstein Abbey")]
    assert summaries.texts(Run(), graph, 0, [int(of)])[0].startswith(
        "Ermengarde of Tours: Ermengarde of Tours was the daughter"
    )


def test_gist_without_passages_uses_triples() -> None:
    graph, nothing = GRAPHS["family"], VectorIndex.from_array(np.empty((0, 64), np.float32), HashEncoder())
    triples = VectorIndex.from_array(
        HashEncoder().encode([graph.edge_text(int(e)) for e in graph.edges]), HashEncoder()
    )
    ids, gists, _ = Summaries(nothing, triples).gists(graph, 0)
    assert len(ids) and all(len(gist.edges) for gist in gists)
    _, gists, vectors = Summaries(nothing).gists(graph, 0)
    assert all(gist.text(graph) == "" for gist in gists) and not vectors.any()


def test_vector_of_empty_community_is_zero() -> None:
    best, vector = central(np.empty((0, 4), np.float32), 3)
    assert len(best) == 0 and vector.tolist() == [0, 0, 0, 0]
    assert Gist(best, best, vector).text(GRAPHS["line"]) == ""


def test_summary_asks_model_once_with_community() -> None:
    prompts, numbers = list[str](), itertools.count(1)

    def write(system: str, user: str) -> str:
        prompts.append(user)
        return json.dumps({"summary": f"Summary {next(numbers)}."})

    graph, llm = fresh(), ScriptedLLM(write)
    summaries = WrittenSummaries(SNAPSHOT.passages, SNAPSHOT.triples, model=llm)
    ids = summaries.communities(graph).at(0).tolist()
    first, again = Run(), Run()
    texts = summaries.texts(first, graph, 0, ids)
    assert sorted(texts) == sorted(f"Summary {n}." for n in range(1, len(ids) + 1))
    assert first.usage.calls == len(ids) and first.usage.completion_tokens == 3 * len(ids)
    assert summaries.texts(again, graph, 0, ids[::-1]) == texts[::-1]
    assert WrittenSummaries(SNAPSHOT.passages, SNAPSHOT.triples, model=llm).texts(again, graph, 0, ids) == texts
    assert again.usage.calls == 0
    lines = [json.loads(line) for line in "\n".join(prompts).splitlines()]
    assert {frozenset(line) for line in lines} == {
        frozenset({"entity"}),
        frozenset({"statement"}),
        frozenset({"title", "text"}),
    }
    assert {line["entity"] for line in lines if "entity" in line} >= {"Erstein Abbey", "Lothair II", "Graz"}


@pytest.mark.parametrize("reply", ['{"summary": "  "}', "no JSON at all", '{"summary": 7}', "{}"])
def test_summary_with_invalid_reply_is_gist(reply: str) -> None:
    graph = fresh()
    written = WrittenSummaries(SNAPSHOT.passages, SNAPSHOT.triples, model=ScriptedLLM(lambda system, user: reply))
    ids = written.communities(graph).at(1).tolist()
    plain = Summaries(SNAPSHOT.passages, SNAPSHOT.triples)
    assert written.texts(Run(), graph, 1, ids) == plain.texts(Run(), graph, 1, ids)


def test_paid_summaries_survive_error() -> None:
    calls: list[str] = []

    def write(system: str, user: str) -> str:
        calls.append(user)
        if len(calls) == 2:
            raise RuntimeError("the budget is spent")
        return '{"summary": "Written."}'

    graph = fresh()
    summaries = WrittenSummaries(SNAPSHOT.passages, SNAPSHOT.triples, model=ScriptedLLM(write))
    ids = summaries.communities(graph).at(0).tolist()
    with pytest.raises(RuntimeError, match="spent"):
        summaries.texts(Run(), graph, 0, ids)
    before, run = len(calls), Run(charged=set())
    assert summaries.texts(run, graph, 0, ids) == ["Written."] * len(ids)
    assert len(calls) <= before + len(ids) - (before - 1)
    assert run.usage.calls == len(ids)  # those of the failed run are charged here


def test_concurrent_summaries_are_paid_once() -> None:
    graph, calls, ready = fresh(), list[str](), threading.Barrier(4)

    def write(system: str, user: str) -> str:
        calls.append(user)
        return '{"summary": "Written."}'

    summaries = WrittenSummaries(SNAPSHOT.passages, SNAPSHOT.triples, model=ScriptedLLM(write))
    ids = summaries.communities(graph).at(0).tolist()

    def ask(_: int) -> list[str]:
        ready.wait()
        return summaries.texts(Run(), graph, 0, ids)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [["Written."] * len(ids)] * 4
    assert len(calls) == len(ids)


def test_removed_document_is_in_no_summary(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", encoder=HashEncoder())
    index.add(CORPUS)

    def summary_text() -> str:
        summaries, graph = Summaries(index.snapshot.passages), index.graph
        return "\n".join(summaries.texts(Run(), graph, 0, summaries.communities(graph).at(0).tolist()))

    assert "daughter of Hugh" in summary_text()
    index.remove(["ermengarde"])
    assert "Hugh" not in summary_text()
    index.close()


def test_each_pipeline_is_charged_for_its_summaries() -> None:
    llm = ScriptedLLM(lambda system, user: json.dumps({"summary": f"{len(user)} letters"}))
    summaries, graph = WrittenSummaries(SNAPSHOT.passages, SNAPSHOT.triples, model=llm), fresh()
    first, second = summaries.gists(graph, 0)[0].tolist()[:2]
    costs, charged = [], [set[Hashable](), set[Hashable]()]
    for pipeline, numbers in ((0, [first]), (0, [first]), (1, [first, second]), (0, [second]), (1, [second])):
        run = Run(charged=charged[pipeline])
        summaries.texts(run, graph, 0, numbers)
        costs.append((run.usage.calls, run.usage.prompt_tokens))
    item, again, both, other, none = costs
    assert (item[0], again, both[0], other[0], none) == (1, (0, 0), 2, 1, (0, 0))
    assert item[1] + other[1] == both[1] > 0


def test_summary_that_a_model_failed_to_write_is_not_kept() -> None:
    model, graph = BreakingLLM([json.dumps({"summary": "A river."})]), fresh()
    summaries = WrittenSummaries(SNAPSHOT.passages, SNAPSHOT.triples, model=model)
    ids = summaries.gists(graph, 0)[0].tolist()
    gists = [gist.text(graph) for gist in summaries.gists(graph, 0)[1]]
    assert len(ids) > 2 and summaries.texts(Run(), graph, 0, ids) == gists
    assert model.calls == 1, "a question asks a model that fails once"
    model.works = True
    assert summaries.texts(Run(), graph, 0, ids) == ["A river."] * len(ids)
    assert summaries.texts(Run(), graph, 0, ids) == ["A river."] * len(ids) and model.calls == 1 + len(ids)
