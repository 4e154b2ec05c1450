"""Merging extractions into one graph: merged entities, edges, and their passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.build.plain_merge import plain_merge
from tests.toys import chunk_columns_of

from graphwright.build.merge import MergedChunks
from graphwright.extract.extraction import Extraction, Mention, Relation
from graphwright.graph.graph import Graph, Kind
from graphwright.search.name_index import name_index_of

Triple = tuple[str, str, str]
Doc = tuple[str, str, Sequence[str], Sequence[Triple]]  # title, text, mentions, relations
NONE = np.empty((0, 2), np.int64)

DOCS: Mapping[str, Doc] = {
    "graz": (
        "Graz",
        "Graz lies on the Mur. The iron mountain is far.",
        ["Graz", "Mur"],
        [("Graz", "lies on", "Mur"), ("Graz", "in", "Styria")],
    ),
    "mountain": ("Iron Mountain", "It is a mine in styria.", ["Styria"], [("Iron Mountain", "in", "Styria")]),
    "lilu": ("Lilu (mythology)", "A demon, Lilu or LILU.", ["Lilu"], []),
    "note": ("", "In 1525 the Mur froze at Graz.", ["1525", "Mur", "Graz"], [("Mur", "froze at", "Graz")]),
}


def contributed(docs: Mapping[str, Doc]) -> list[tuple[str, str, str, Extraction]]:
    return [
        (
            name,
            title,
            text,
            Extraction(tuple(map(Mention, mentions)), tuple(Relation(*r, f"{' '.join(r)}.") for r in relations)),
        )
        for name, (title, text, mentions, relations) in docs.items()
    ]


def merged(docs: Mapping[str, Doc]) -> MergedChunks:
    return MergedChunks(chunk_columns_of(contributed(docs)))


def graph_of(docs: Mapping[str, Doc]) -> Graph:
    return merged(docs).graph(NONE)


def triples(graph: Graph) -> list[Triple]:
    return [graph.triple(int(e)) for e in graph.edges]


def message(graph: Graph) -> list[tuple[object, ...]]:
    """All edges by name, with the chunks they came from: what does not depend on numbers."""
    sources = [tuple(graph.names.take(graph.chunks_of(edges=[int(e)]))) for e in graph.edges]
    texts = [graph.edge_text(int(e)) for e in graph.edges]
    return sorted(zip(triples(graph), texts, sources, strict=True))


def test_merge_of_small_corpus_has_expected_edges() -> None:
    graph = graph_of(DOCS)
    assert graph.names.take(range(4)) == ["graz#0", "mountain#0", "lilu#0", "note#0"]
    assert graph.columns.kinds.tolist() == [Kind.CHUNK] * 4 + [Kind.ENTITY] * (len(graph) - 4)
    assert sorted(graph.names[4:]) == ["1525", "Graz", "Iron Mountain", "Lilu", "Lilu (mythology)", "Mur", "Styria"]
    assert sorted(triples(graph)) == sorted(
        [
            ("graz#0", "about", "Graz"),
            ("graz#0", "mentions", "Mur"),
            ("graz#0", "mentions", "Styria"),  # named by a relation only
            ("graz#0", "mentions", "Iron Mountain"),  # another chunk's topic, in lower case
            ("mountain#0", "about", "Iron Mountain"),
            ("mountain#0", "mentions", "Styria"),
            ("lilu#0", "about", "Lilu (mythology)"),
            ("lilu#0", "mentions", "Lilu"),
            ("note#0", "about", "Mur"),  # no title: the first name that is no number
            ("note#0", "mentions", "1525"),
            ("note#0", "mentions", "Graz"),
            ("Graz", "lies on", "Mur"),
            ("Graz", "in", "Styria"),
            ("Iron Mountain", "in", "Styria"),
            ("Mur", "froze at", "Graz"),
            ("Lilu", "alias", "Lilu (mythology)"),
        ]
    )


def test_merged_nodes_and_edges_know_their_chunks() -> None:
    graph = graph_of(DOCS)

    def chunks(name: str) -> list[str]:
        return graph.names.take(graph.chunks_of(graph.ids(name)))

    assert chunks("Mur") == ["graz#0", "note#0"] and chunks("Styria") == ["graz#0", "mountain#0"]
    assert chunks("Iron Mountain") == ["graz#0", "mountain#0"] and chunks("note#0") == ["note#0"]
    for edge in graph.edges.tolist():
        (head, relation, _), result = graph.triple(edge), graph.names.take(graph.chunks_of(edges=[edge]))
        if relation in ("about", "mentions"):
            assert result == [head]
        else:
            wanted = {"lies on": ["graz#0"], "froze at": ["note#0"], "alias": []}
            assert result == wanted.get(relation, ["graz#0"] if head == "Graz" else ["mountain#0"])
    stated = next(e for e in graph.edges.tolist() if graph.triple(e)[1] == "lies on")
    assert graph.edge_text(stated) == "Graz lies on Mur."
    passages = graph.passages
    assert passages is not None
    assert [(p.document, p.title) for n in range(4) if (p := passages.of(n))] == [(k, d[0]) for k, d in DOCS.items()]


def test_document_order_changes_numbers_only() -> None:
    wanted = message(graph_of(DOCS))
    for names in permutations(DOCS):
        assert message(graph_of({name: DOCS[name] for name in names})) == wanted


def test_entity_numbers_of_any_document_order_are_equal() -> None:
    graph = graph_of(DOCS)
    for names in permutations(DOCS):
        other = graph_of({name: DOCS[name] for name in names})
        assert list(other.names[len(DOCS) :]) == list(graph.names[len(DOCS) :])
        assert list(other.columns.relations) == list(graph.columns.relations)
        assert other.columns.aliases == graph.columns.aliases


def test_graph_without_document_equals_graph_never_having_it() -> None:
    for gone in DOCS:
        selected = {name: doc for name, doc in DOCS.items() if name != gone}
        graph = graph_of(selected)
        assert not [s for s in message(graph) if f"{gone}#0" in s[2]]
        # Nothing is left of names that only this document gave.
        for node in np.flatnonzero(graph.columns.kinds == Kind.ENTITY).tolist():
            assert len(graph.chunks_of([node])) or graph.columns.adjacency.row(node).size
    without = message(graph_of({name: doc for name, doc in DOCS.items() if name != "mountain"}))
    assert not [s for s in without if "Iron Mountain" in s[0]]  # the lower-case find went with the topic


def test_surface_forms_merge_under_most_frequent_name() -> None:
    docs: dict[str, Doc] = {
        "a": ("Paris", "t", ["The Café Flore", "Cafe Flore"], []),
        "b": ("Paris", "t", ["cafe flore", "Cafe Flore"], [("CAFÉ FLORE", "in", "Paris")]),
    }
    graph = graph_of(docs)
    assert list(graph.names[2:]) == ["Cafe Flore", "Paris"]
    assert sorted(triples(graph)) == [
        ("Cafe Flore", "in", "Paris"),
        ("a#0", "about", "Paris"),
        ("a#0", "mentions", "Cafe Flore"),
        ("b#0", "about", "Paris"),
        ("b#0", "mentions", "Cafe Flore"),
    ]


def test_empty_names_and_self_relations_are_dropped() -> None:
    docs: dict[str, Doc] = {
        "a": ("", "t", ["", "?!", "x", "Graz", "Graz"], [("", "r", "Graz"), ("Graz", "r", "GRAZ"), ("Graz", "r", "…")]),
        "b": ("Q", "t", [], []),
        "c": ("", "", [], []),
    }
    graph = graph_of(docs)
    assert triples(graph) == [("a#0", "about", "Graz")]
    assert len(graph) == 4 and len(graph_of({})) == 0


def test_repeated_relation_is_two_edges_with_one_text() -> None:
    twice: Doc = ("", "t", [], [("Graz", "in", "Styria"), ("Graz", "in", "Styria")])
    graph = graph_of({"a": twice, "b": twice})
    edges = graph.edges_between(graph.id("Graz"), graph.id("Styria"))
    assert len(edges) == 4 and graph.columns.sentences is not None and len(graph.columns.sentences) == 1
    assert [graph.names.take(graph.chunks_of(edges=[e])) for e in edges.tolist()] == [["a#0"]] * 2 + [["b#0"]] * 2


def test_alias_links_to_all_topics_up_to_limit() -> None:
    def lilus(count: int) -> Graph:
        return graph_of({f"d{i}": (f"Lilu ({kind})", "t", [], []) for i, kind in enumerate("abcdef"[:count])})

    graph = lilus(5)
    assert [t for t in triples(graph) if t[1] == "alias"] == [("lilu", "alias", f"Lilu ({k})") for k in "abcde"]
    result = name_index_of(graph.columns).find("lilu").tolist()
    assert graph.names.take(result) == ["lilu", *(f"Lilu ({k})" for k in "abcde")]
    assert not [t for t in triples(lilus(6)) if t[1] == "alias"]


def test_synonyms_join_entities_with_equal_numbers() -> None:
    made = merged(DOCS)
    names = list(made.names)
    graph = made.graph(np.array([[names.index("Graz"), names.index("Mur")]]))
    (edge,) = [e for e in graph.edges.tolist() if graph.triple(e)[1] == "synonym"]
    assert graph.triple(edge) == ("Graz", "synonym", "Mur") and not len(graph.chunks_of(edges=[edge]))


def test_alias_with_article_adds_no_entity() -> None:
    graph = graph_of({"a": ("The A-Team (series)", "t", [], [])})
    entities = np.flatnonzero(graph.columns.kinds == Kind.ENTITY).tolist()
    assert all(len(graph.columns.adjacency.row(node)) for node in entities)


NAMES = ["Graz", "graz", "GRAZ", "The Graz", "Mur", "Iron Mountain", "iron mountain", "Lilu (myth)", "Lilu (film)"]
NAMES += ["Lilu", "X", "", "1525", "Iron Mountain Lake", "McRae, Arkansas", "McRae", "of the", "Łódź", "Lodz", "a\0b"]
TEXTS = [
    "",
    "The iron mountain lake by Graz",
    "A demon of lodz, lilu",
    "of the mcrae arkansas",
    "IRON-MOUNTAIN lilu",
]
names, texts = st.sampled_from(NAMES), st.sampled_from(TEXTS)
contributions = st.builds(
    Extraction,
    st.lists(names.map(Mention), max_size=4).map(tuple),
    st.lists(st.builds(Relation, names, st.sampled_from(["r", "about", "alias"]), names, texts), max_size=3).map(tuple),
)


IDS = [f"d{at}" for at in range(10)]
linked = st.dictionaries(st.sampled_from(IDS), st.lists(st.sampled_from([*IDS, "", "x"]), max_size=6), max_size=8)


@given(st.lists(st.tuples(names, texts, contributions), max_size=8), linked)
def test_column_merge_equals_plain_merge(docs: list[tuple[str, str, Extraction]], links: dict[str, list[str]]) -> None:
    given = [(f"d{at}", *doc) for at, doc in enumerate(docs)]
    graph = MergedChunks(chunk_columns_of(given, links)).graph(NONE)
    assert plain_merge(given, links) == (
        list(graph.names),
        triples(graph),
        [graph.edge_text(e) for e in graph.edges.tolist()],
        [graph.chunks_of([node]).tolist() for node in graph.nodes.tolist()],
        [graph.chunks_of(edges=[edge]).tolist() for edge in graph.edges.tolist()],
        list(zip(graph.columns.aliases, graph.columns.alias_node.tolist(), strict=True)),
    )


def test_entity_description_is_read_with_name() -> None:
    def message(name: str, kind: str, description: str) -> Mention:
        return Mention(name, type=kind, description=description)

    docs = [
        ("a", "", "t", Extraction((message("Mur", "river", "Runs through Graz."), message("Graz", "city", "")))),
        (
            "b",
            "",
            "t",
            Extraction((message("MUR", "river", "Rises in Salzburg."), message("Mur", "body", "Runs through Graz."))),
        ),
        ("c", "", "t", Extraction((Mention("Mur"), Mention("Styria")))),
    ]
    graph = MergedChunks(chunk_columns_of(docs)).graph(NONE)
    texts = {graph.names[node]: graph.text(node) for node in range(3, len(graph))}
    assert texts == {
        "Mur": "Mur (river): Runs through Graz. Rises in Salzburg.",
        "Graz": "Graz (city)",
        "Styria": "Styria",
    }
    alone = MergedChunks(chunk_columns_of(docs[1:])).graph(NONE)
    assert alone.text(alone.id("Mur")) == "Mur (body): Rises in Salzburg. Runs through Graz."  # of equals the first


def test_edge_text_ends_with_keywords() -> None:
    relations = (
        Relation("Mur", "joins", "Drava", "They meet.", ("river", "mouth")),
        Relation("Mur", "in", "Graz", "It is."),
    )
    graph = MergedChunks(chunk_columns_of([("a", "", "t", Extraction((), relations))])).graph(NONE)
    assert [graph.edge_text(e) for e in graph.edges.tolist()[-2:]] == ["They meet. (river, mouth)", "It is."]


def test_descriptions_over_bound_are_dropped_whole() -> None:
    docs = [(f"d{i}", "", "t", Extraction((Mention("Mur", description=f"{i} " * 200),))) for i in range(9)]
    graph = MergedChunks(chunk_columns_of(docs)).graph(NONE)
    text = graph.text(graph.id("Mur"))
    assert text.startswith("Mur: 0 0") and 400 < len(text) < 1300 and "3 3" not in text
