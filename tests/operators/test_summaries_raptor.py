"""The tree of summaries: its levels, its texts, and the search over leaves and summaries together."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from tests.operators.test_summaries import BreakingLLM
from tests.shared import corpus_index

from graphwright import Graph, VectorIndex, start
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.operators import SummaryTree, TreeSearch, WrittenSummaryTree
from graphwright.operators.run import Run
from graphwright.operators.summaries import Tree, central, lead
from graphwright.search.vector_index import normalised

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
QUESTION = "Which abbey did the mother of Lothair II found?"
ENCODER = HashEncoder()
WORDS = ["abbey", "bread", "dough", "founded", "graz", "king", "lothair", "mother", "mur", "queen", "river", "tours"]


def fresh() -> Graph:
    """The corpus's graph as a snapshot of its own, for which nothing was made yet."""
    return Graph(replace(GRAPH.columns))


def many(count: int = 90) -> tuple[Graph, VectorIndex]:
    """A graph whose nodes are texts of three words each."""
    texts = [" ".join(words) for words in itertools.islice(itertools.combinations(WORDS, 3), count)]
    graph = Graph.from_triples((a, "before", b) for a, b in itertools.pairwise(texts))
    return graph, VectorIndex.from_array(ENCODER.encode(texts), ENCODER)


def test_summary_tree_levels_cover_passages_and_shrink() -> None:
    graph, index = many()
    tree = SummaryTree(index, size=4).of(Run(), graph)
    covered = [0]
    for under in tree.under:
        assert len(under) and (np.diff(under) > 0).all()
        covered[-1] += len(under)
        if covered[-1] == len(tree.leaves):
            covered.append(0)
    assert covered[-1] == 0 and len(covered) > 3  # whole levels, and at least three
    assert len(tree.vectors) == len(tree.leaves) + len(tree.under) and len(tree.texts) == len(tree.under)
    assert np.linalg.norm(tree.vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert len(tree.under) < len(tree.leaves) / 2
    assert SummaryTree(index, size=4).of(Run(), graph) is tree is not SummaryTree(index, size=5).of(Run(), graph)


def test_tree_summary_is_most_central_of_cluster() -> None:
    graph, index = many()
    tree = SummaryTree(index, size=4, central=2).of(Run(), graph)
    leaves = normalised(index.vectors)
    count = next(n for n in range(1, len(tree.under) + 1) if sum(map(len, tree.under[:n])) == len(leaves))
    for at, under in enumerate(tree.under[:count]):
        best, vector = central(leaves[under], 2)
        assert tree.vectors[len(leaves) + at] == pytest.approx(vector, abs=1e-6)
        assert tree.texts[at] == "\n".join(lead(graph, int(v)) for v in under[best])


def test_tree_search_ranks_leaves_and_summaries_together() -> None:
    graph, index = many()
    for per_summary in (1, 3):
        step = TreeSearch(SummaryTree(index, size=4), per_summary)
        tree = step.tree.of(Run(), graph)
        evidence = step(start("the king and queen of tours", graph)).evidence
        assert evidence is not None
        assert [p for p, _ in evidence.identities()] == plainly(tree, "the king and queen of tours", per_summary)
        assert sorted(evidence.nodes.tolist()) == graph.nodes.tolist()  # every passage once
        assert max(len(nodes) for nodes, _ in evidence) == per_summary


def plainly(tree: Tree, question: str, per_summary: int) -> list[tuple[int, ...]]:
    """The collapsed tree, read off: all by cosine, each giving what it stands for that was not given before."""
    scores = tree.vectors @ ENCODER.encode([question])[0]
    used: set[int] = set()
    pieces = []
    for at in sorted(range(len(scores)), key=lambda i: (-scores[i], i)):
        under = [at] if at < len(tree.leaves) else tree.under[at - len(tree.leaves)].tolist()
        nearest = sorted(under, key=lambda i: (-scores[i], i))[:per_summary]
        new = sorted(set(nearest) - used)
        used.update(new)
        if new:
            pieces.append((-float(scores[at]), tuple(int(tree.leaves[i]) for i in new)))
    return [nodes for _, nodes in sorted(pieces)]


def test_tree_summaries_by_model_are_written_once_and_encoded() -> None:
    prompts, numbers = list[str](), itertools.count(1)

    def write(system: str, user: str) -> str:
        prompts.append(user)
        return json.dumps({"summary": f"Summary {next(numbers)} of Erstein."})

    graph = fresh()
    step = TreeSearch(WrittenSummaryTree(SNAPSHOT.passages, size=2, model=ScriptedLLM(write)))
    states = [step(start(question, graph)) for question in (QUESTION, "Who was king?")]
    tree = step.tree.of(Run(), graph)
    assert sorted(tree.texts) == sorted(f"Summary {n} of Erstein." for n in range(1, len(prompts) + 1))
    encoded = normalised(ENCODER.encode(tree.texts))
    assert tree.vectors[len(tree.leaves) :] == pytest.approx(encoded, abs=1e-6)
    assert [state.trace[-1].usage.calls for state in states][1] <= 1  # the question's vector, and no model
    assert states[0].trace[-1].usage.completion_tokens == 5 * len(prompts)
    assert states[0].trace[-1].notes == (f"{len(prompts)} summaries were made of 6 passages",)
    lines = [json.loads(line) for user in prompts for line in user.splitlines()]
    assert {frozenset(line) for line in lines} == {frozenset({"title", "text"}), frozenset({"summary"})}
    assert {line["title"] for line in lines if "title" in line} == {"Bread", *_titles()}


def _titles() -> list[str]:
    assert GRAPH.passages is not None
    return [GRAPH.passages.title_of(int(node)) for node in SNAPSHOT.passages.ids]


EMPTY = {"the model wrote no summary; the most central statements replace it"}
UNUSABLE = {"the model's reply did not fit the schema", "the step was done without a model"}


@pytest.mark.parametrize(("reply", "notes"), [('{"summary": ""}', EMPTY), ("nothing", UNUSABLE), ("{}", UNUSABLE)])
def test_tree_summary_with_invalid_reply_is_central_statements(reply: str, notes: set[str]) -> None:
    graph = fresh()
    llm = ScriptedLLM(lambda system, user: reply)
    state = TreeSearch(WrittenSummaryTree(SNAPSHOT.passages, size=3, model=llm))(start(QUESTION, graph))
    texts = WrittenSummaryTree(SNAPSHOT.passages, size=3, model=llm).of(Run(), graph).texts
    assert texts == SummaryTree(SNAPSHOT.passages, size=3).of(Run(), graph).texts
    assert set(state.trace[-1].notes[:-1]) == notes


def test_tree_of_few_passages_has_no_summary() -> None:
    assert SummaryTree(SNAPSHOT.passages, size=6).of(Run(), GRAPH).under == ()
    nothing = VectorIndex.from_array(np.empty((0, 64), np.float32), ENCODER)
    graph = Graph.from_triples([("a", "r", "b")])
    evidence = TreeSearch(SummaryTree(nothing))(start("?", graph)).evidence
    assert evidence is not None and len(evidence) == 0


def test_tree_of_equal_passages_terminates() -> None:
    graph = Graph.from_triples([(f"fox {i}", "r", f"fox {i + 1}") for i in range(0, 60, 2)])
    index = VectorIndex.from_array(np.ones((60, 4)), None)
    tree = SummaryTree(index, size=5).of(Run(), graph)
    assert len(tree.leaves) == 60 and np.isfinite(tree.vectors).all()


def test_tree_that_a_model_failed_to_write_is_not_kept() -> None:
    graph, index = many()
    model = BreakingLLM([json.dumps({"summary": "A river."})])
    state = start(QUESTION, graph)
    search, run = TreeSearch(WrittenSummaryTree(index, size=4, model=model)), Run()
    search(state, run)
    assert model.calls == 1, "a question asks a model that fails once"
    model.works = True
    search(state, Run())
    again = model.calls
    assert again > 1
    search(state, Run())
    assert model.calls == again
