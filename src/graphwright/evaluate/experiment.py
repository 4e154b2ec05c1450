"""What is to be measured, and everything that can be found wrong with it before work starts."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from graphwright.data.base import Document, Skipped
from graphwright.data.datasets import Dataset, read_dataset
from graphwright.data.documents import read_documents
from graphwright.data.openie import read_openie
from graphwright.data.questions import QuestionRecord, check_gold
from graphwright.errors import DataError, OptionError
from graphwright.index.build import SPACES
from graphwright.index.contribution import Extractor
from graphwright.index.lexical import LexicalExtractor
from graphwright.index.openie import Precomputed
from graphwright.index.snapshot import Snapshot
from graphwright.methods.registry import METHODS
from graphwright.retrieve.operator import Operator

__all__ = ["EXTRACTIONS", "Builder", "Experiment", "Subject"]

Builder = Callable[[Snapshot], Operator]


def _lexical(dataset: Dataset, skip: Callable[[Skipped], None]) -> Extractor:
    return LexicalExtractor()


def _openie(dataset: Dataset, skip: Callable[[Skipped], None]) -> Extractor:
    if dataset.openie is None:
        raise DataError(
            f"{dataset.corpus.parent} has no openie.jsonl, which extraction 'openie' reads. "
            f"Put it there, or use extraction 'lexical'."
        )
    return Precomputed.of(read_openie(dataset.openie, skip))


EXTRACTIONS: Mapping[str, Callable[[Dataset, Callable[[Skipped], None]], Extractor]] = {
    "lexical": _lexical,
    "openie": _openie,
}
"""Where entities and triples come from, by name."""


@dataclass(frozen=True)
class Subject:
    """An experiment's data as it is used: documents, how they are extracted, and the questions asked."""

    name: str
    documents: Sequence[Document]
    questions: Sequence[QuestionRecord]
    extractor: Extractor
    unjudged: int
    skipped: Sequence[Skipped]
    checksums: Mapping[str, str]


@dataclass(frozen=True)
class Experiment:
    """Which methods are asked which questions over which corpus.

    `data`: a folder with a corpus and questions (see `read_dataset`). `methods`: names of the registry, or
    functions from a snapshot to an operator, known by their own name. `extraction`: a name of `EXTRACTIONS`.
    `titles=False` empties the documents' titles. `embed`: what gets a vector. `limit`: so many of the
    questions, drawn with `seed`, which also draws the resamples. `baseline`: the method that the others are
    tested against, by default the first.

    Raises OptionError where a name or a number cannot be used.
    """

    data: Path
    methods: tuple[str | Builder, ...]
    extraction: str = "lexical"
    titles: bool = True
    embed: tuple[str, ...] = ("passages",)
    limit: int | None = None
    seed: int = 0
    baseline: str | None = None

    def __post_init__(self) -> None:
        named = self.named()
        if len(named) != len(self.methods) or not named:
            given = ", ".join(map(_name, self.methods)) or "none"
            raise OptionError(f"the methods are {given}; give one or more, each under its own name.")
        if self.baseline is not None and self.baseline not in named:
            raise OptionError(
                f"the baseline {self.baseline!r} is not among the methods {', '.join(named)}; add it to them."
            )
        if self.extraction not in EXTRACTIONS:
            known = ", ".join(EXTRACTIONS)
            raise OptionError(f"there is no extraction {self.extraction!r}; there are {known}.")
        if not set(self.embed) <= set(SPACES) or "passages" not in self.embed:
            raise OptionError(f"embed is {self.embed}; choose from {SPACES}, passages always among them.")
        if self.limit is not None and self.limit < 1:
            raise OptionError(f"limit is {self.limit}; it is a number of questions, 1 or more.")

    def named(self) -> dict[str, str | Builder]:
        """Return the methods by name, in order."""
        return {_name(method): method for method in self.methods}

    def against(self) -> str:
        """Return the name of the method that the others are tested against."""
        return self.baseline or next(iter(self.named()))

    def read(self) -> Subject:
        """Read and check the data. Raises DataError where something is missing or does not fit together."""
        dataset = read_dataset(self.data)
        skipped: list[Skipped] = []
        extractor = EXTRACTIONS[self.extraction](dataset, skipped.append)
        documents = list(read_documents([dataset.corpus], skipped.append))
        check_gold(dataset.questions, {document.id for document in documents})
        judged = [question for question in dataset.questions if question.gold]
        if not judged:
            raise DataError(
                f"{self.data}: none of its {len(dataset.questions)} questions names the documents that hold "
                f"its evidence (gold_ids), so that nothing can be measured."
            )
        checksums = {"corpus": _checksum(dataset.corpus), "questions": _questions_checksum(judged)}
        if dataset.links is not None:
            checksums["links"] = _checksum(dataset.links)
        if self.extraction == "openie" and dataset.openie is not None:
            checksums["openie"] = _checksum(dataset.openie)
        return Subject(
            dataset.name,
            documents if self.titles else [replace(document, title="") for document in documents],
            self._sampled(judged),
            extractor,
            len(dataset.questions) - len(judged),
            skipped,
            checksums,
        )

    def _sampled(self, questions: Sequence[QuestionRecord]) -> Sequence[QuestionRecord]:
        if self.limit is None or self.limit >= len(questions):
            return questions
        chosen = random.Random(self.seed).sample(range(len(questions)), self.limit)
        return [questions[i] for i in sorted(chosen)]


def _name(method: str | Builder) -> str:
    """Return a method's name. Raises OptionError for one that the registry does not know."""
    if isinstance(method, str):
        if method not in METHODS:
            raise OptionError(f"there is no method {method!r}; there are {', '.join(sorted(METHODS))}.")
        return method
    name = getattr(method, "__name__", None)
    if not callable(method) or name is None:
        raise OptionError(
            f"{method!r} is no method here: give a name, or a function from a snapshot to an operator, which "
            f"a run builds over an index that it opens."
        )
    return str(name)


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(partial(file.read, 1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _questions_checksum(questions: Sequence[QuestionRecord]) -> str:
    """Return a checksum of all that a result depends on, whatever file it stood in."""
    digest = hashlib.sha256()
    for question in questions:
        digest.update(json.dumps([question.id, question.text, question.type, *question.gold]).encode())
    return digest.hexdigest()
