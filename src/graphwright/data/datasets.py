"""Folders that hold a corpus and the questions asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphwright.data.links import file_beside
from graphwright.data.questions import QuestionRecord, existing, read_beir, read_questions
from graphwright.errors import DataError

__all__ = ["Dataset", "read_dataset"]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set to evaluate on; `openie` and `links` are files of extractions and of links that came with it, if any."""

    name: str
    corpus: Path
    questions: tuple[QuestionRecord, ...]
    openie: Path | None = None
    links: Path | None = None


def read_dataset(folder: Path | str) -> Dataset:
    """Read the questions of a folder, and find its corpus and its extractions.

    The folder holds `corpus.jsonl` (or `.jsonl.gz`) and either `questions.jsonl` or, in BEIR's form,
    `queries.jsonl` with judgements; and it may hold `openie.jsonl` and `links.tsv`. Raises DataError naming what is
    missing.
    """
    folder = existing(folder)
    corpus = _first(folder, "corpus.jsonl", "corpus.jsonl.gz")
    if corpus is None:
        raise DataError(f"{folder}: no corpus; neither corpus.jsonl nor corpus.jsonl.gz is there.")
    asked = _first(folder, "questions.jsonl")
    if asked is None and _first(folder, "queries.jsonl") is None:
        raise DataError(f"{folder}: no questions; neither questions.jsonl nor queries.jsonl is there.")
    questions = read_questions(asked) if asked else read_beir(folder)
    return Dataset(folder.resolve().name, corpus, tuple(questions), _first(folder, "openie.jsonl"), file_beside(corpus))


def _first(folder: Path, *names: str) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
