"""Facts: what a name finds, what a relation leads to, and speed that does not depend on the size of the graph."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.graph.graph import Graph
from graphwright.search import relation_facts
from graphwright.search.facts import Facts
from graphwright.search.relation_facts import RelationFacts

RIVERS = Facts.of(
    Graph.from_triples(
        [
            ("Mur", "instance of", "river"),
            ("Drau", "instance of", "river"),
            ("Graz", "instance of", "city"),
            ("Mur", "flows through", "Graz"),
            ("Mur", "mouth", "Drau"),
            ("Mur", "length", "464 km"),
        ]
    )
)
ROWS = Facts.of_rows(
    [
        {"name": "Mid-Atlantic", "length": "2,000 m", "type": "region"},
        {"name": "South", "length": "3,500 m", "type": "region"},
        {"name": "mid atlantic", "length": " "},
    ],
    "areas",
)
triples = st.lists(st.tuples(*[st.sampled_from("abc")] * 2, st.sampled_from("abcd")), max_size=30)


def test_types_have_their_relations_and_things() -> None:
    assert RIVERS.types == ("river", "city")
    assert RIVERS.texts(RIVERS.of_type("river")) == ["Mur", "Drau"]
    assert RIVERS.columns_of("river") == ("instance of", "flows through", "mouth", "length")
    assert ROWS.columns_of("areas") == ("name", "length", "type")
    assert RIVERS.types_of(RIVERS.find("mur")) == {"river": 1}
    assert ROWS.types_of(ROWS.of_type("areas")) == {"areas": 3}


def test_find_ignores_spelling_of_values() -> None:
    assert ROWS.texts(ROWS.find("MID ATLANTIC")) == ["Mid-Atlantic", "mid atlantic"]
    assert ROWS.texts(ROWS.find("2,000 m")) == ["2,000 m"]
    assert len(ROWS.find("unknown")) == len(RIVERS.find("")) == 0


def test_near_finds_cells_types_and_relations_of_question() -> None:
    likenesses = ROWS.near("How long is the midatlantic area of 2,000 m?")
    best = {(like.kind, like.name) for like in likenesses[:5]}
    assert {("value", "2,000 m"), ("type", "areas"), ("value", "Mid-Atlantic")} <= best
    (only,) = ROWS.near("South", limit=1)
    assert only.score == 1.0 and only.words == (0,)
    assert ROWS.near("?!") == []


def test_near_finds_words_of_unspaced_script() -> None:
    facts = Facts.of_rows([{"城市": "北京", "人口": "2189万"}, {"城市": "上海", "人口": "2487万"}], "城市表")
    names = [like.name for like in facts.near("北京的人口是多少")]
    assert {"北京", "人口"} <= set(names) and "上海" not in names


@given(triples, st.sampled_from("abc"), st.booleans())
def test_matching_facts_of_large_relation_are_the_same(
    triples: list[tuple[str, str, str]], name: str, inverse: bool
) -> None:
    columns = Graph.from_triples(triples).columns
    plain = RelationFacts.of(columns, name)
    limit, relation_facts.LARGE = relation_facts.LARGE, -1
    try:
        large = RelationFacts.of(columns, name)
    finally:
        relation_facts.LARGE = limit
    for things in (np.arange(0), np.arange(len(columns.kinds)), np.arange(min(1, len(columns.kinds)))):
        expected = [at for at, end in enumerate(plain.objects if inverse else plain.subjects) if end in things]
        assert sorted(plain.matching(things, inverse).tolist()) == expected
        assert sorted(large.by_edges(things, inverse).tolist()) == expected


def test_relation_of_hundred_thousand_triples_is_found_fast() -> None:
    draw = random.Random(7)
    names = [f"Name {i}" for i in range(30_000)]
    facts = Facts.of(
        Graph.from_triples((draw.choice(names), draw.choice("abcde"), draw.choice(names)) for _ in range(100_000))
    )
    facts.columns.related  # noqa: B018  (stored in a snapshot)
    begin = time.perf_counter()
    facts.relation("a").matching(np.array([5]))
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    for thing in range(200):
        facts.relation("a").matching(np.array([thing]))
    assert first < 0.2 and (time.perf_counter() - begin) / 200 < 0.001


@pytest.mark.parametrize(
    ("name", "found"), [("C", ["C", "c"]), ("c++", ["C++"]), ("C#", ["C#"]), ("A+", ["A+"]), ("a", ["A"])]
)
def test_find_a_sign_at_the_end_of_a_name_makes_another(name: str, found: list[str]) -> None:
    names = ["C", "C++", "C#", "c", "A+", "A"]
    facts = Facts.of(Graph.from_triples([(str(at), "has", name) for at, name in enumerate(names)]))
    assert facts.texts(facts.find(name)) == found
