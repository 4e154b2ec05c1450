"""Names in lower case, inflected, misspelt or cut short."""

import pytest

from graphwright import Graph, start
from graphwright.operators import LinkEntities

ANIMALS = Graph.from_triples(
    [
        ("Eurasian lynx", "eats", "roe deer"),
        ("European badger", "habitat", "forest"),
        ("pine marten", "habitat", "forest"),
        ("Ursula von der Leyen", "office", "President"),
        ("Eurasian lynx", "type", "mammal"),
    ]
)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What does the lynx eat?", ["Eurasian lynx"]),
        ("where do badgers live", ["European badger"]),
        ("where do pine martens live", ["pine marten"]),
        ("where does the eurasain lynx live", ["Eurasian lynx"]),
        ("which office has ursula van der leyen", ["Ursula von der Leyen"]),
        ("Which mammal eats roe deer?", ["roe deer"]),
        ("What is the habitat?", []),
    ],
)
def test_ordinary_words_are_not_linked(question: str, names: list[str]) -> None:
    anchors = LinkEntities(ordinary=True)(start(question, ANIMALS)).anchors or ()
    assert [ANIMALS.names[int(node)] for anchor in anchors for node in anchor.nodes] == names
