"""What is to be measured, and everything that can be found wrong with it before work starts."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

from graphwright.data.datasets import Dataset, read_dataset
from graphwright.data.document import Document, Skipped
from graphwright.data.graph_questions import Triple
from graphwright.data.openie import read_openie
from graphwright.data.questions import QuestionRecord
from graphwright.errors import DataError, OptionError
from graphwright.evaluate.entries import Builder, Entry, entries
from graphwright.evaluate.measures import Measure, chosen, usual
from graphwright.index.build import SPACES
from graphwright.index.extraction import Extractor
from graphwright.index.layout import IndexLayout
from graphwright.index.lexical import LexicalExtractor
from graphwright.index.precomputed import Precomputed
from graphwright.index.store import Store

__all__ = ["EXTRACTIONS", "Builder", "Experiment", "Subject"]


def _lexical(dataset: Dataset, skip: Callable[[Skipped], None]) -> Extractor:
    return LexicalExtractor()


def _openie(dataset: Dataset, skip: Callable[[Skipped], None]) -> Extractor:
    if dataset.openie is None:
        raise DataError(
            f"{dataset.name} has no openie.jsonl, which extraction 'openie' reads. "
            f"Put it beside the corpus, or use extraction 'lexical'."
        )
    return Precomputed.of(read_openie(dataset.openie, skip))


_KINDS = (
    ("questions", (str, Path), "the name or the path of a file"),
    ("limit", (int, NoneType), "a number of questions"),
    ("seed", (int,), "a whole number"),
    ("titles", (bool,), "true or false"),
    ("linked", (bool,), "true or false"),
    ("answered", (bool, NoneType), "true or false"),
)

EXTRACTIONS: Mapping[str, Callable[[Dataset, Callable[[Skipped], None]], Extractor]] = {
    "lexical": _lexical,
    "openie": _openie,
}
"""Where entities and triples come from, by name."""


@dataclass(frozen=True)
class Subject:
    """An experiment's data as it is used: what is searched, the questions asked, and what is measured of each.

    `over`: "documents" (with how they are extracted), "graph" (its triples), or "index", where there are questions only
    and an index is given. `answered`: whether methods answer, or only retrieve. `primary`: the metric that it is about.
    """

    name: str
    over: str
    documents: Sequence[Document]
    triples: Sequence[Triple]
    questions: Sequence[QuestionRecord]
    extractor: Extractor
    measures: Sequence[Measure]
    answered: bool
    unjudged: int
    skipped: Sequence[Skipped]
    remarks: Sequence[str]
    checksums: Mapping[str, str]

    @property
    def primary(self) -> str:
        """The name of the metric that a run is about: recall@5, else the first."""
        names = [measure.name for measure in self.measures]
        return "recall@5" if "recall@5" in names else names[0]


@dataclass(frozen=True)
class Experiment:
    """Which methods are asked which questions over which data.

    `data`: a folder or file with a corpus or a graph and questions, or with questions alone (see `read_dataset`).
    `methods`: names of the registry, expressions, or functions from a snapshot to an operator (see `entries`), and
    `sweep` the values of options that are varied. `extraction`: a name of `EXTRACTIONS`. `titles=False` empties the
    documents' titles. `embed`: what gets a vector; by default passages, or of a graph what `Index.from_graph` takes.
    `limit`: so many of the questions, drawn with `seed`, which also draws the resamples. `baseline`: the method that
    the others are tested against, by default the first. `questions`: which file of questions, where there are several.
    `metrics`: names of `MEASURES`, by default those that the data can bear. `answered`: whether methods answer; by
    default where that is all that can be measured. `linked`: have methods find what a question names even where its
    record says it. `index`: one that holds the same corpus or graph, or, where `data` is a file of questions alone,
    what they are asked of; without it a run makes its own.

    Raises OptionError where a name or a number cannot be used.
    """

    data: Path
    methods: Sequence[str | Builder | Entry]
    extraction: str = "lexical"
    titles: bool = True
    embed: Sequence[str] | None = None
    limit: int | None = None
    seed: int = 0
    baseline: str | None = None
    questions: str = ""
    metrics: Sequence[str] = ()
    answered: bool | None = None
    linked: bool = False
    sweep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    index: Path | None = None

    def __post_init__(self) -> None:
        for name, kinds, said in _KINDS:
            value = getattr(self, name)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise OptionError(f"{name} is {value!r}, and is {said}.")
        names = [entry.name for entry in self.entries()]
        if self.baseline is not None and self.baseline not in names:
            raise OptionError(
                f"the baseline {self.baseline!r} is not among the methods {', '.join(names)}; add it to them."
            )
        if self.extraction not in EXTRACTIONS:
            known = ", ".join(EXTRACTIONS)
            raise OptionError(f"there is no extraction {self.extraction!r}; there are {known}.")
        if self.embed is not None and not set(self.embed) <= set(SPACES):
            raise OptionError(f"embed is {self.embed}; choose from {SPACES}.")
        if self.limit is not None and self.limit < 1:
            raise OptionError(f"limit is {self.limit}; it is a number of questions, 1 or more.")
        if self.seed < 0:
            raise OptionError(f"seed is {self.seed}; it is a whole number, 0 or more.")
        chosen(self.metrics)

    def entries(self) -> tuple[Entry, ...]:
        """Return the methods that are compared, grids spread out, in order."""
        return entries(self.methods, self.sweep)

    def against(self) -> str:
        """Return the name of the method that the others are tested against."""
        return self.baseline or self.entries()[0].name

    def read(self) -> Subject:
        """Read and check the data. Raises DataError where something is missing or does not fit together."""
        dataset = read_dataset(self.data, self.questions, beside=self.index is None)
        skipped: list[Skipped] = []
        over = "graph" if dataset.triples is not None else "index" if dataset.corpus is None else "documents"
        documents = list(dataset.documents(skipped.append)) if over == "documents" else []
        extractor = EXTRACTIONS[self.extraction](dataset, skipped.append) if over == "documents" else LexicalExtractor()
        if over == "documents" and self.embed is not None and "passages" not in self.embed:
            raise OptionError(f"embed is {self.embed}; passages of documents are always among them.")
        judged, measures, answered = self._measured(dataset, over == "graph" or (over == "index" and self._graph()))
        files = [path for path in dataset.files if path != dataset.openie or self.extraction == "openie"]
        return Subject(
            dataset.name,
            over,
            documents if self.titles else [replace(document, title="") for document in documents],
            dataset.triples or (),
            self._sampled(judged),
            extractor,
            measures,
            answered,
            len(dataset.questions) - len(judged),
            skipped,
            dataset.remarks,
            {**_checksums(files), "questions": _questions_checksum(judged)},
        )

    def _graph(self) -> bool:
        """Whether the index is one of an imported graph, where answers are names."""
        if self.index is None or not IndexLayout(self.index).store.exists():
            return False
        with closing(Store(IndexLayout(self.index).store)) as store:
            return store.setting("graph") is not None

    def _measured(self, dataset: Dataset, graph: bool) -> tuple[Sequence[QuestionRecord], Sequence[Measure], bool]:
        """Return the questions that can be judged, by what, and whether they are answered."""
        gold = [question for question in dataset.questions if question.gold]
        answers = [question for question in dataset.questions if question.answers]
        wanted = tuple(measure.over("graph" if graph else "documents") for measure in chosen(self.metrics))
        asked = [measure.name for measure in wanted if measure.kind == "answer"]
        answered = (graph or not gold or bool(asked)) if self.answered is None else self.answered
        has = [*(["gold"] if gold else []), *(["answers"] if answers and answered else [])]
        measures = wanted or chosen(usual("graph" if graph else "documents", has))
        lacking = [m for m in measures if (m.needs == "gold" and not gold) or (m.needs == "answers" and not answers)]
        if lacking or not measures:
            what = f"{lacking[0].name} needs {lacking[0].needs}" if lacking else "nothing can be measured"
            raise DataError(
                f"{self.data}: {what}: of its {len(dataset.questions):,} questions {len(gold):,} name the documents "
                f"that hold their evidence (gold_ids) and {len(answers):,} have answers. "
                f"{'Over a graph answers are measured; give questions answers.' if graph else 'Give them one or both.'}"
            )
        if asked and not answered:
            raise OptionError(f"{asked[0]} is measured of answers, and answered=False has methods only retrieve.")
        return [q for q in dataset.questions if any(m.fits(q) for m in measures)], measures, answered

    def _sampled(self, questions: Sequence[QuestionRecord]) -> Sequence[QuestionRecord]:
        if self.limit is None or self.limit >= len(questions):
            return questions
        drawn = random.Random(self.seed).sample(range(len(questions)), self.limit)
        return [questions[i] for i in sorted(drawn)]


def _checksums(files: Sequence[Path]) -> dict[str, str]:
    """Return the checksum of each file by its name, with its folder's where two have the same."""
    names = [path.name for path in files]
    return {
        path.name if names.count(path.name) == 1 else f"{path.parent.name}/{path.name}": _checksum(path)
        for path in files
    }


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
        said = [question.id, question.text, question.type, *question.gold, *question.answers]
        digest.update(json.dumps([*said, *getattr(question, "entities", ())]).encode())
    return digest.hexdigest()
