"""Extraction by a spaCy pipeline that the test makes: names, clauses of a parse, and what is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from graphwright.errors import OptionError
from graphwright.extract.extraction import Excerpt, Extraction
from graphwright.extract.extractors import extractor_of
from graphwright.extract.spacy_extractor import SpacyExtractor
from graphwright.graph.graph import CO_OCCURS

TEXT = "Ida married Bert in Graz. She left Linz."
NAMES = [("PERSON", "Ida"), ("PERSON", "Bert"), ("GPE", "Graz"), ("GPE", "Linz")]
HEADS = [1, 1, 1, 1, 3, 1, 7, 7, 7, 7]
LABELS = ["nsubj", "ROOT", "dobj", "prep", "pobj", "punct", "nsubj", "ROOT", "dobj", "punct"]


def parse(document: Any) -> Any:
    """Stand in for a parser."""
    for token, head, label in zip(document, HEADS, LABELS, strict=True):
        token.head, token.dep_ = document[head], label
    return document


def extract(folder: Path, *, parsed: bool, title: str = "") -> Extraction:
    spacy = pytest.importorskip("spacy")
    spacy.Language.component("parse", func=parse)
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": label, "pattern": name} for label, name in NAMES])
    if parsed:
        pipeline.add_pipe("parse")
    pipeline.to_disk(folder)
    (extraction,) = SpacyExtractor(str(folder)).extract([Excerpt("d", title, TEXT)])
    return extraction


def test_spacy_names_are_pipeline_entities(tmp_path):
    found = extract(tmp_path / "plain", parsed=False, title="Ida").mentions
    assert [(m.name, m.type) for m in found] == [("Ida", ""), ("Bert", "person"), ("Graz", "gpe"), ("Linz", "gpe")]
    assert all(TEXT[m.start : m.end] == m.name for m in found[1:])


def test_verb_joins_subject_to_objects(tmp_path):
    relations = [r[:3] for r in extract(tmp_path / "parsed", parsed=True).relations]
    assert ("Ida", "married", "Bert") in relations and ("Ida", "married in", "Graz") in relations


def test_spacy_names_without_parse_join_by_rules(tmp_path):
    made = extract(tmp_path / "plain", parsed=False, title="Ida").relations
    assert ("Ida", "left", "Linz", "Ida: She left Linz.") in [r[:4] for r in made]
    assert ("Ida", CO_OCCURS, "Graz") in [r[:3] for r in made]


def test_spacy_id_names_pipeline_and_versions(tmp_path):
    extract(tmp_path / "plain", parsed=False)
    extractor = extractor_of(f"spacy:{tmp_path / 'plain'}")
    assert extractor.id.startswith(f"spacy:{tmp_path / 'plain'}:")


def test_missing_pipeline_raises_by_name():
    pytest.importorskip("spacy")
    with pytest.raises(OptionError, match="no pipeline 'en_no_such'"):
        _ = SpacyExtractor("en_no_such").id


def test_missing_spacy_raises_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(OptionError, match=r'needs spaCy. Install it: pip install "graphwright\[spacy\]"'):
        SpacyExtractor("en_missing").extract([Excerpt("d", "", TEXT)])
