"""Building the indexes over a graph: words, limits on hubs, and the texts that are embedded."""

import numpy as np
from hypothesis import given as drawn
from hypothesis import strategies as st

from graphwright import Graph
from graphwright.build.build import build_from_graph, triple_words
from graphwright.graph.graph import WRITTEN
from graphwright.models import HashEncoder
from graphwright.text.words import words

names = st.sampled_from(["Graz", "the Mur", "Łódź's cafés", "U.S.", "of", "1944", "Ida_B."])


@drawn(st.lists(st.tuples(names, names, names), min_size=1, max_size=60))
def test_combined_word_counts_equal_counts_of_texts(triples):
    graph = Graph.from_triples(triples)
    result = [text.split() for text in triple_words(graph)]
    assert result == [words(graph.passage(node)) for node in range(len(graph))]


def test_hub_text_is_limited():
    graph = Graph.from_triples([("hub", "r", f"n{i}") for i in range(100)] + [("hub", "s", "hub")])
    assert graph.passage(0).count("hub r ") == WRITTEN
    assert len(triple_words(graph)[0].split()) == 3 * WRITTEN


def test_requested_texts_alone_are_embedded():
    graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Graz", "in", "Styria")])
    snapshot = build_from_graph(graph, HashEncoder(), embed=("triples",))
    assert set(snapshot.about["texts"]) == {"triples"} and snapshot.names is None
    assert snapshot.triples is not None and len(snapshot.triples.vectors) == 2
    assert len(snapshot.passages.vectors) == 0 and snapshot.words.nodes.tolist() == [0, 1, 2]
    named = build_from_graph(graph, HashEncoder())
    assert named.names is not None and np.array_equal(named.passages.vectors, named.names.vectors)
