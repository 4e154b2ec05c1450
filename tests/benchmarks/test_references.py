"""Documents whose references are known: what is written into them, and what is measured."""

from __future__ import annotations

import pytest
from published.references import LOOKALIKES, ORACLE, STYLES, Citing, measured, oracle, page, with_citations

from graphwright.data import Document
from graphwright.extract.references import CitedDocuments

SUBJECTS = ("Indexing", "Abstracting", "Cataloguing", "Circulation", "Acquisition", "Preservation", "Classification")
DOCUMENTS = [
    Document(
        f"cisi-{at}", f"Abstract number {at}.", f"{subject} in large libraries: a study of {subject.lower()} costs",
        {"authors": f"{subject}son, J.B.", "year": str(1950 + at)},
    )
    for at, subject in enumerate(SUBJECTS)
]  # fmt: skip


@pytest.fixture(scope="module")
def citing() -> Citing:
    return with_citations(DOCUMENTS)


def test_citations_are_written_in_every_style(citing: Citing) -> None:
    assert {style for of in citing.cited.values() for style in of.values()} == set(STYLES)
    assert {kind for kind, _ in citing.lookalikes.values()} == set(LOOKALIKES)
    for document in citing.documents:
        assert len(citing.cited[document.id]) == 3 and document.id not in citing.cited[document.id]
        assert all(f"This continues {written}." in document.text for written in citing.written[document.id])


def test_same_seed_writes_same_citations(citing: Citing) -> None:
    assert with_citations(DOCUMENTS) == citing and with_citations(DOCUMENTS, seed=1) != citing


@pytest.mark.parametrize("style", ["identifier", "title", "title in capitals", "author and year"])
def test_rules_recognise_plain_styles(style: str) -> None:
    written = STYLES[style](DOCUMENTS[2])
    assert CitedDocuments(DOCUMENTS).cited_in(f"See {written}.") == {"cisi-2"}


def test_oracle_reads_better_than_rules(citing: Citing) -> None:
    rules, read = measured(citing, None), measured(citing, oracle(citing))
    assert rules["citations"] == read["citations"] == 21
    assert (
        rules["recall by style"]["title with a misspelling"] == 0 < read["recall by style"]["title with a misspelling"]
    )
    assert rules["taken"]["words of a title in a sentence"] == 1 and not any(read["taken"].values())
    none = {"cisi": {"documents": 7, "links": 0}, "cora": {"documents": 1, "known": 2, "links": 0, "right": 0}}
    assert "| precision |" in page({"rules": rules, ORACLE: read, "without citations": none})
