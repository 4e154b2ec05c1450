"""The name index compared with plain dictionaries and edit distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, corpus_index

from graphwright import Graph
from graphwright.graph.columns import TextColumn
from graphwright.search.name_index import NameIndex, name_index_of
from graphwright.text.names import normal_form

FORMS = st.lists(st.sampled_from(["a", "ab", "b", "é", "東"]), min_size=1, max_size=4).map(" ".join)


def lexicon(pairs: list[tuple[str, int]]) -> NameIndex:
    ordered = sorted(set(pairs), key=lambda pair: (pair[0].encode(), pair[1]))
    return NameIndex(TextColumn.of(f for f, _ in ordered), np.array([n for _, n in ordered], np.int64))


def indel(a: str, b: str) -> float:
    """1 minus insertions and deletions over the letters of both, by the textbook table."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], last if x == y else 1 + min(row[j], row[j - 1])
    return 1 - row[-1] / max(len(a) + len(b), 1)


@given(st.lists(st.tuples(FORMS, st.integers(0, 5))), st.lists(st.sampled_from(["a", "ab", "b", "é", "東"])))
def test_find_and_longest_equal_dictionary(pairs: list[tuple[str, int]], words: list[str]) -> None:
    made, known = lexicon(pairs), {f: sorted({n for g, n in pairs if g == f}) for f, _ in pairs}
    forms = [" ".join(words[: i + 1]) for i in range(len(words))]
    for form in forms:
        assert made.find(form).tolist() == known.get(form, [])
    best = max((i for i, form in enumerate(forms) if form in known), default=-1)
    at, nodes = made.longest(forms, GRAPHS["club"])
    assert (at, nodes.tolist()) == (best, known[forms[best]] if best >= 0 else [])


@given(st.lists(st.text("abc", min_size=3, max_size=8), min_size=1, max_size=8), st.text("abc", min_size=3, max_size=8))
def test_near_returns_most_similar_form_with_same_prefix(forms: list[str], sought: str) -> None:
    made = lexicon([(form, at) for at, form in enumerate(forms)])
    nodes, result = made.near(sought, 0.6)
    best = max((indel(sought, form) for form in forms if form[:2] == sought[:2]), default=0.0)
    assert result == pytest.approx(best if best >= 0.6 else 0.0)
    assert all(indel(sought, forms[node]) == pytest.approx(best) for node in nodes.tolist())
    assert len(nodes) > 0 or best < 0.6


@pytest.mark.parametrize(
    ("sought", "expected"),
    [
        ("bergn opera", "bergen opera"),
        ("bergenopera", "bergen opera"),
        ("berlin opera", ""),  # another name, not a misspelt one
        ("opera no 3", ""),
        ("opeera no 2", "opera no 2"),
    ],
)
def test_near_with_a_word_that_is_unlike_its_counterpart_finds_nothing(sought: str, expected: str) -> None:
    forms = ["bergen opera", "bergamo choir", "opera no 2"]
    nodes, _ = lexicon([(form, at) for at, form in enumerate(forms)]).near(sought, 0.8)
    assert [forms[node] for node in nodes.tolist()] == ([expected] if expected else [])


def test_graph_without_lexicon_builds_one_once() -> None:
    graph = Graph.from_triples([("Lilu (mythology)", "is", "Lilu (film)"), ("McRae, Arkansas", "r", "Graz")])
    made = name_index_of(graph.columns)
    assert name_index_of(graph.columns) is made
    assert [made.find(f).tolist() for f in ("lilu", "mcrae", "graz", "arkansas")] == [[0, 1], [2], [3], []]
    own = Graph.from_triples([("Lilu", "r", "Lilu (film)")])  # a name of its own needs no alias
    assert name_index_of(own.columns).find("lilu").tolist() == [0]


def test_entities_are_found_by_name_and_chunks_are_not() -> None:
    for graph in (corpus_index().graph, GRAPHS["family"]):
        made = name_index_of(graph.columns)
        for node in graph.nodes.tolist():
            chunk = graph.passages is not None and graph.passages.row(node) >= 0
            assert (node in made.find(normal_form(graph.names[node]))) != chunk
