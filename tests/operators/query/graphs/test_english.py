"""Whether a question is in English."""

import pytest

from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.query.graphs.english import english_probability


@pytest.mark.parametrize(
    ("question", "is_english"),
    [
        ("Which parish does Saint Brannoc's belong to?", True),
        ("oldest ferry", True),
        ("Who lent Otylia Wróbel the money?", True),
        ("Welcher Pfarrei gehört Saint Brannoc's an?", False),
        ("älteste Fähre", False),
        ("Qui a prêté l'argent à Otylia Wróbel ?", False),
        ("Która fabryka produkuje najwięcej?", False),
        ("哪个工厂最大？", False),
    ],
)
def test_english_probability_tells_english_from_other_languages(question: str, is_english: bool) -> None:
    assert (english_probability(MiniLM().encode([question])[0]) > 0.5) == is_english
