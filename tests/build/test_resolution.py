"""Resolution of entities: which names are merged, which stay apart, and that the order of documents does not matter."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from tests.toys import chunk_columns_of

from graphwright.build.merge import MergedChunks
from graphwright.build.resolution import Candidate, acronyms, compatible, groups, numbers, resolve
from graphwright.errors import OptionError
from graphwright.extract.extraction import Extraction, Mention, Relation
from graphwright.extract.llm import Derived, Task
from graphwright.graph.graph import Kind
from graphwright.search.name_index import name_index_of
from graphwright.store.settings import Settings

NONE = np.empty((0, 2), np.int64)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("henry i", "henry ii"),
        ("2019", "2020"),
        ("2019 us open", "2020 us open"),
        ("apollo 11", "apollo 12"),
        ("graz", "university of graz"),
        ("austria", "australia"),
        ("iran", "iraq"),
        ("john smith", "jane smith"),
        ("j smith", "k smith"),
        ("j", "john"),
        ("louis v", "louis vincent"),
        ("american football league", "national football league"),
    ],
)
def test_different_names_are_incompatible(a: str, b: str) -> None:
    assert not compatible(a, b) and not compatible(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("j r tolkien", "john r tolkien"),
        ("smith john", "john smith"),
        ("lothair ii", "lothar ii"),
        ("university of graz", "graz university"),
        ("summer olympic games 1920", "summer olympics games 1920"),
        ("bank of the west", "bank west"),
    ],
)
def test_spellings_of_name_are_compatible(a: str, b: str) -> None:
    assert compatible(a, b) and compatible(b, a)


def test_roman_numerals_and_digits_count_as_numbers() -> None:
    assert numbers("world war ii") == ("ii",) and numbers("b 52") == ("52",) and numbers("graz mur") == ()


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("the Food and Agriculture Organization (FAO)", [("Food and Agriculture Organization", "FAO")]),
        ("NATO (North Atlantic Treaty Organization)", [("North Atlantic Treaty Organization", "NATO")]),
        ("the European Union (EU) and the UN (again)", [("European Union", "EU")]),
        ("He was born (in Graz) and Anna (1920) left (see A)", []),
        ("World Health Assembly (FIFA)", []),
    ],
)
def test_acronym_is_found_beside_expansion(text: str, pairs: list[tuple[str, str]]) -> None:
    assert list(acronyms(text)) == pairs


def test_third_name_does_not_join_incompatible_names() -> None:
    pairs = [
        Candidate.of("charles x france", "charles france", 2.0),
        Candidate.of("charles france", "charles v france", 2.0),
    ]
    assert groups(pairs) == []  # ambiguous
    titles = {"anna bergmann", "anna bergman"}
    chain = [Candidate.of("anna bergmann", "ana bergmann", 0.95), Candidate.of("anna bergman", "anna bergmann", 0.99)]
    assert groups(chain, titles=titles) == []  # two titles; ana/anna have under seven letters


def test_ambiguous_abbreviation_is_not_merged() -> None:
    near = [Candidate.of("j smith", "john smith", 0.95), Candidate.of("j smith", "james smith", 0.96)]
    assert groups(near) == []
    assert groups(near[:1]) == [frozenset({"j smith", "john smith"})]


def test_model_overrides_rules_both_ways() -> None:
    stated, unlike = Candidate.of("un", "united nations", 2.0), Candidate.of("big apple", "new york", 0.92)
    decisions = {stated[:2]: False, unlike[:2]: True}
    assert groups([stated, unlike], decide=lambda c: decisions[c[:2]]) == [frozenset({"big apple", "new york"})]
    assert groups([stated, unlike]) == [frozenset({"un", "united nations"})]  # without decisions


def test_candidate_order_does_not_matter() -> None:
    pairs = [
        Candidate.of("j smith", "john smith", 0.95),
        Candidate.of("john smith", "smith john", 0.97),
        Candidate.of("un", "united nations", 2.0),
        Candidate.of("unitednations", "un", 2.0),
    ]
    wanted = set(groups(pairs))
    assert wanted and all(set(groups(order)) == wanted for order in permutations(pairs))


DOCS = [
    (
        "a",
        "United Nations",
        "The United Nations (UN) sits in New York.",
        Extraction(
            (Mention("United Nations"), Mention("UN"), Mention("New York")),
            (
                Relation("UN", "sits in", "New York", "UN sits in New York."),
                Relation("UN", "is", "United Nations", "t"),
            ),
        ),
    ),
    ("b", "", "UN and NYC.", Extraction((Mention("UN"), Mention("NYC")), (Relation("UN", "in", "NYC", "UN in NYC."),))),
    (
        "c",
        "New York",
        "It is the Big Apple.",
        Extraction(
            (Mention("New York"),), (Relation("New York", "also known as", "NYC", "New York is also known as NYC."),)
        ),
    ),
]


def merged_with(docs: list[tuple[str, str, str, Extraction]], *by: str, derived: Derived | None = None) -> MergedChunks:
    columns, derived = chunk_columns_of(docs), derived or Derived()
    return MergedChunks(columns, resolve(MergedChunks(columns), None, by, 0.9, derived), derived)


def test_merged_entity_keeps_edges_and_forms() -> None:
    merged = merged_with(DOCS, "aliases")
    graph = merged.graph(NONE)
    assert merged.same == {"un": "united nations", "nyc": "new york"}
    assert sorted(graph.names[3:]) == ["New York", "UN"]  # the most frequent name of each
    triples = sorted(graph.triple(int(e)) for e in graph.edges)
    assert triples == [
        ("UN", "in", "New York"),
        ("UN", "sits in", "New York"),
        ("a#0", "about", "UN"),
        ("a#0", "mentions", "New York"),
        ("b#0", "about", "New York"),
        ("b#0", "mentions", "UN"),
        ("c#0", "about", "New York"),
    ]
    index = name_index_of(graph.columns)
    for form, name in (("un", "UN"), ("united nations", "UN"), ("nyc", "New York"), ("new york", "New York")):
        assert graph.names.take(index.find(form)) == [name]


def test_resolved_graph_depends_on_set_of_documents() -> None:
    def content(docs: list[tuple[str, str, str, Extraction]]) -> list[tuple[str, str, str]]:
        graph = merged_with(docs, "aliases").graph(NONE)
        return sorted(graph.triple(int(e)) for e in graph.edges)

    assert all(content(list(order)) == content(DOCS) for order in permutations(DOCS))
    without = content(DOCS[:2])
    assert ("b#0", "about", "NYC") in without  # the statement went with its document


def test_names_merge_only_on_request() -> None:
    graph = MergedChunks(chunk_columns_of(DOCS)).graph(NONE)
    assert sorted(graph.names[3:]) == ["NYC", "New York", "UN", "United Nations"]
    assert (graph.columns.kinds == Kind.ENTITY).sum() == 4


def test_rules_decide_where_model_has_not() -> None:
    derived = Derived()
    assert merged_with(DOCS, "aliases", "llm", derived=derived).same == {"un": "united nations", "nyc": "new york"}
    assert len(derived.missing) == 2 and all(task.prompt == "same_entity" for task in derived.missing.values())
    refused = Derived({key: "no" for key in derived.missing})
    assert merged_with(DOCS, "aliases", "llm", derived=refused).same == {}
    assert refused.used == set(derived.missing) and not refused.missing


def test_decision_key_changes_with_prompt_and_lines() -> None:
    keys = {Task("same_entity", "a").key, Task("same_entity", "b").key, Task("describe", "a").key}
    assert len(keys) == 3 and Task("describe", "a").key in keys


@pytest.mark.parametrize(
    ("resolve", "problem"),
    [
        (("names",), "choose from aliases, vectors, llm"),
        (("vectors",), "embed names too"),
        (("llm",), "others propose"),
    ],
)
def test_invalid_resolution_settings_raise(resolve: tuple[str, ...], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        Settings(resolve=resolve, embed=("passages",))
