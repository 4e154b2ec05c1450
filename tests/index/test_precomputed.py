"""Given extractions: looked up by document, others extracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphwright.data.records import OpenieRecord
from graphwright.index.extraction import Excerpt, Extraction, Mention, Relation
from graphwright.index.precomputed import Precomputed

GRAZ = OpenieRecord("graz", ("Styria", "Mur", "River Nowhere"), (("Graz", "lies on", "Mur"),))


@dataclass(frozen=True)
class Shouting:
    """Finds the first word of a text."""

    id: str = "shouting:1"

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction]:
        return [Extraction((Mention(e.text.split()[0].upper()),)) for e in excerpts]


def test_given_and_other_documents_keep_their_order() -> None:
    assert Precomputed.of([GRAZ]).extract([]) == []
    excerpts = [Excerpt("x", "", "one two"), Excerpt("graz", "", "The Mur."), Excerpt("y", "", "three")]
    found = Precomputed({"graz": GRAZ}, Shouting()).extract(excerpts)
    assert [c.mentions[0].name for c in found] == ["ONE", "Mur", "THREE"]


def test_mentions_stand_in_reading_order_after_the_title_with_exact_spans() -> None:
    text = "On the MUR, in styria."
    (made,) = Precomputed({"graz": GRAZ}, Shouting()).extract([Excerpt("graz", "Graz", text)])
    assert made.mentions == (
        Mention("Graz"),
        Mention("Mur", 7, 10),
        Mention("Styria", 15, 21),
        Mention("River Nowhere"),
    )
    assert made.relations == (Relation("Graz", "lies on", "Mur", "Graz lies on Mur"),)
    (again,) = Precomputed({"graz": GRAZ}, Shouting()).extract([Excerpt("graz", "Styria", text)])
    assert [m.name for m in again.mentions] == ["Styria", "Mur", "River Nowhere"]


def test_a_span_that_lower_casing_shifts_is_not_given() -> None:
    # One capital becomes two characters in lower case, so that places after it are off by one.
    record = OpenieRecord("d", ("Graz",))
    (made,) = Precomputed({"d": record}, Shouting()).extract([Excerpt("d", "", "İn Graz")])
    for mention in made.mentions:
        assert "İn Graz"[mention.start : mention.end] in ("", "Graz")


def test_the_id_changes_with_what_would_be_given_and_not_with_the_order_of_records() -> None:
    other = OpenieRecord("lyon", ("Lyon",))
    base = Precomputed.of([GRAZ, other])
    assert base.id == Precomputed.of([other, GRAZ]).id
    changed = [
        Precomputed.of([GRAZ]),
        Precomputed.of([replace(GRAZ, entities=("Mur",)), other]),
        Precomputed.of([replace(GRAZ, triples=()), other]),
        Precomputed(base.records, Shouting()),
    ]
    assert len({base.id, *(p.id for p in changed)}) == 5
