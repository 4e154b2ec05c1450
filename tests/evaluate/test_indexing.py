"""The index of a run: built from exactly the same corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluate.small_run import write_set

from graphwright.errors import OptionError
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.indexing import build_index, check_index
from graphwright.models import HashEncoder

ENCODER = HashEncoder(16)


def data(folder: Path, links: str) -> Experiment:
    rows = [{"id": i, "text": f"Text of {i}."} for i in "abc"]
    write_set(folder, rows, [{"id": 1, "question": "Which?", "gold_ids": ["a", "b"]}])
    if links:
        (folder / "links.tsv").write_text(links)
    return Experiment(folder, ("vector",))


def test_changed_links_are_another_corpus(tmp_path: Path) -> None:
    experiment = data(tmp_path / "data", "a\tb\nb\tgone\nc\tc\n")
    subject = experiment.read()
    assert set(subject.checksums) == {"corpus.jsonl", "questions.jsonl", "links.tsv", "questions"}
    folder = tmp_path / "index"
    build_index(folder, experiment, subject, ENCODER, None)
    check_index(folder, experiment, subject, ENCODER)
    for links in (("b", "c"), ()):
        documents = [replace(d, links=links) if d.id == "a" else d for d in subject.documents]
        with pytest.raises(OptionError, match="document 'a' has another title, text, metadata or links"):
            check_index(folder, experiment, replace(subject, documents=documents), ENCODER)


def test_corpus_without_links_has_no_checksum(tmp_path: Path) -> None:
    assert set(data(tmp_path / "data", "").read().checksums) == {"corpus.jsonl", "questions.jsonl", "questions"}
