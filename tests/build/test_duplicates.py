"""Suggested duplicates: reasons, their order, and pairs that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphwright import Index
from graphwright.errors import OptionError
from graphwright.models import HashEncoder
from graphwright.store import KeepApart, MergeEntities, RenameEntity, Settings

TEXTS = {
    "a": "Alma Brecht lives in Graz. Alma Brecht married Anton Hofer. Alma Brecht was born in Leoben.",
    "b": "Alma Brechtt lives in Graz. Alma Brechtt wrote to Anton Hofer.",
    "c": "Hotel Styria lies in Linz. Hotel Styrja lies in Wels.",
    "d": "Line 17 reaches Linz. Line 18 reaches Wels.",
}


@pytest.fixture
def index(tmp_path: Path) -> Index:
    settings = Settings(embed=("passages", "names"))
    index = Index.create(tmp_path / "index", encoder=HashEncoder(64), settings=settings, extractor="rules")
    index.add([{"id": id, "text": text} for id, text in TEXTS.items()])
    index.add([{"id": "e", "title": "Lilu (film)", "text": "It is a film."}, {"id": "f", "text": "Lilu sleeps."}])
    return index


def test_pairs_have_reasons_and_common_neighbours_come_first(index: Index) -> None:
    first, *others = index.suggest_duplicates()
    assert (first.first, first.second) == ("Alma Brecht", "Alma Brechtt") and 0.9 < first.score < 1
    assert "spelled alike (96%)" in first.reasons and "both are connected with Anton Hofer, Graz" in first.reasons
    pairs = {(pair.first, pair.second): pair for pair in others}
    assert ("Hotel Styria", "Hotel Styrja") in pairs
    assert any("Lilu is a shorter form of Lilu (film)" in pair.reasons for pair in others)
    assert not [pair for pair in pairs if "Line" in pair[0]]  # numbers differ
    assert [pair.score for pair in others] == sorted((pair.score for pair in others), reverse=True)
    assert index.suggest_duplicates(1) == [first]


def test_accepted_and_refused_pairs_are_not_suggested_again(index: Index) -> None:
    index.edit(MergeEntities(["Alma Brechtt"], "Alma Brecht"), KeepApart("Hotel Styria", "Hotel Styrja"))
    index.edit(RenameEntity("Hotel Styria", "Hotel Styrias"))
    listed = {name for pair in index.suggest_duplicates() for name in pair[:2]}
    assert not listed & {"Alma Brecht", "Alma Brechtt", "Hotel Styrias", "Hotel Styrja"}
    index.undo(*(edit.id for edit in index.edits()))
    assert {"Alma Brecht", "Hotel Styria"} <= {pair.first for pair in index.suggest_duplicates()}


@pytest.mark.parametrize("limit", [0, -1, 1.5, True])
def test_wrong_limit_is_an_error(index: Index, limit: int) -> None:
    with pytest.raises(OptionError, match="limit is"):
        index.suggest_duplicates(limit)
