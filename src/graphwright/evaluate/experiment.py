"""Describe an experiment, check it before any work, and store it in a TOML file."""

from __future__ import annotations

import hashlib
import json
import random
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

from graphwright.constraints import AtLeast, Between, Checked, OneOf
from graphwright.data import Dataset, Document, QuestionRecord, Skipped, read_dataset, read_openie
from graphwright.data.decoding import existing
from graphwright.data.question_sets.questions import Source, Triple
from graphwright.errors import DataError, OptionError
from graphwright.evaluate.entries import ComparedMethod, entries, entry_of
from graphwright.evaluate.measures import Measure, default_metrics, select_measures
from graphwright.extract import EXTRACTORS, Extractor, MentionExtractor, Precomputed, extractor_of
from graphwright.files import toml_text, write_text
from graphwright.methods.method import Builder
from graphwright.store import SPACES, IndexLayout, Store


@dataclass(frozen=True)
class Subject:
    """The data that an experiment measures on: documents or triples, questions, and metrics.

    `over`: "documents" (with their extractor), "graph" (its triples), or "index", where an index is given and the data
    are questions only. `answered`: whether methods answer, or only retrieve. `unjudged`: questions without any metric.
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
        """Name of the primary metric: recall@5 if measured, else the first."""
        names = [measure.name for measure in self.measures]
        return "recall@5" if "recall@5" in names else names[0]


@dataclass(frozen=True)
class Experiment(Checked):
    """Methods to compare, and the data and settings of the comparison.

    `data`: a folder or file with a corpus or a graph and questions, or with questions alone (see `read_dataset`).
    `methods`: names of the registry, or functions from a snapshot to an operator or a Method (see `entries`).
    `extraction`: the source of entities and triples: mentions, rules, or openie (openie.jsonl of the data).
    `titles=False` drops the documents' titles. `embed`: texts that get a vector; by default those of `Settings`, over a
    graph those of `Index.from_graph`. `limit`: number of questions to draw with `seed`, which also seeds the
    resampling. `baseline`: the method that others are tested against (default: the first). `questions`: name or path of
    the question file, where there are several. `metrics`: names of `MEASURES`, or a `Measure` (default: all that the
    data supports).
    `answered`: whether methods answer (default: where only answers can be measured). `linked`: link entities instead of
    using the gold ones. `index`: an existing index of the same corpus or graph, or the one to ask if `data` has
    questions only; without it a run builds its own. `confidence`: the least probability of a short or computed answer
    without a language model (default: 0.5).

    Raises OptionError for a name or a value that cannot be used.
    """

    data: Path
    methods: Sequence[str | Builder | ComparedMethod]
    extraction: Annotated[str, OneOf(*EXTRACTORS, "openie")] = "mentions"
    titles: Annotated[bool, OneOf(True, False)] = True
    embed: Sequence[str] | None = None
    limit: Annotated[int | None, AtLeast(1)] = None
    seed: Annotated[int, AtLeast(0)] = 0
    baseline: str | None = None
    questions: str | Path = ""
    metrics: Sequence[str | Measure] = ()
    answered: Annotated[bool | None, OneOf(True, False)] = None
    linked: Annotated[bool, OneOf(True, False)] = False
    index: str | Path | None = None
    confidence: Annotated[float | None, Between(0, 1)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.questions, str | Path):
            raise OptionError(f"questions is {self.questions!r}; it must be the name or the path of a file.")
        names = [entry.name for entry in self.entries()]
        if self.baseline is not None and self.baseline not in names:
            raise OptionError(
                f"The baseline {self.baseline!r} is not among the methods {', '.join(names)}; add it to them."
            )
        if self.embed is not None and not set(self.embed) <= set(SPACES):
            raise OptionError(f"embed is {self.embed}; choose from {SPACES}.")
        select_measures(self.metrics)

    def entries(self) -> tuple[ComparedMethod, ...]:
        """Return the methods to compare, with the confidence of those that name none."""
        listed, common = entries(self.methods), {"confidence": self.confidence}
        if self.confidence is None:
            return listed
        return tuple(
            replace(entry, options=common | dict(entry.options)) if "confidence" in (entry.takes or ()) else entry
            for entry in listed
        )

    def against(self) -> str:
        """Return the name of the baseline."""
        return self.baseline or self.entries()[0].name

    def read(self) -> Subject:
        """Read and check the data. Raises DataError for data that are missing or do not fit together."""
        dataset = read_dataset(self.data, self.questions, beside=self.index is None)
        skipped: list[Skipped] = []
        over = "graph" if dataset.triples is not None else "index" if dataset.corpus is None else "documents"
        documents = list(dataset.documents(skipped.append)) if over == "documents" else []
        extractor: Extractor = MentionExtractor()
        if self.extraction != "openie":
            extractor = extractor_of(self.extraction)
        elif over == "documents":
            if dataset.openie is None:
                raise DataError(
                    f"{dataset.name} has no openie.jsonl, which extraction 'openie' reads. "
                    f"Put it beside the corpus, or use extraction 'mentions'."
                )
            extractor = Precomputed.of(read_openie(dataset.openie, skipped.append))
        if over == "documents" and self.embed is not None and "passages" not in self.embed:
            raise OptionError(f"embed is {self.embed}; over documents it must include passages.")
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
        """Return whether the index holds an imported graph, over which answers are names."""
        if self.index is None or not IndexLayout(Path(self.index)).store.exists():
            return False
        with closing(Store(IndexLayout(Path(self.index)).store)) as store:
            return store.setting("graph") is not None

    def _measured(self, dataset: Dataset, graph: bool) -> tuple[Sequence[QuestionRecord], Sequence[Measure], bool]:
        """Return the questions that can be measured, the metrics, and whether methods answer."""
        over = "graph" if graph else "documents"
        gold = [question for question in dataset.questions if question.gold]
        answers = [question for question in dataset.questions if question.answers]
        selected = tuple(measure.over(over) for measure in select_measures(self.metrics))
        answer_metrics = [measure.name for measure in selected if measure.kind == "answer"]
        answered = (graph or not gold or bool(answer_metrics)) if self.answered is None else self.answered
        has = [*(["gold"] if gold else []), *(["answers"] if answers and answered else [])]
        measures = selected or select_measures(default_metrics(over, has))
        unmet = [m for m in measures if (m.needs == "gold" and not gold) or (m.needs == "answers" and not answers)]
        if unmet or not measures:
            problem = f"{unmet[0].name} needs {unmet[0].needs}" if unmet else "nothing can be measured"
            raise DataError(
                f"{self.data}: {problem}: of its {len(dataset.questions):,} questions {len(gold):,} name the documents "
                f"that hold their evidence (gold_ids) and {len(answers):,} have answers. "
                f"{'Over a graph answers are measured; give questions answers.' if graph else 'Give them one or both.'}"
            )
        if answer_metrics and not answered:
            raise OptionError(
                f"{answer_metrics[0]} is a metric of answers, but answered=False makes methods only retrieve."
            )
        return [q for q in dataset.questions if any(m.fits(q) for m in measures)], measures, answered

    def _sampled(self, questions: Sequence[QuestionRecord]) -> Sequence[QuestionRecord]:
        if self.limit is None or self.limit >= len(questions):
            return questions
        drawn = random.Random(self.seed).sample(range(len(questions)), self.limit)
        return [questions[i] for i in sorted(drawn)]


def _checksums(files: Sequence[Path]) -> dict[str, str]:
    """Return the checksum of each file by its name; files of one name have their folder's name too."""
    names = [path.name for path in files]
    checksums = {}
    for path in files:
        name = path.name if names.count(path.name) == 1 else f"{path.parent.name}/{path.name}"
        with path.open("rb") as file:
            checksums[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return checksums


def _questions_checksum(questions: Sequence[QuestionRecord]) -> str:
    """Return a checksum of all parts of the questions that a result depends on."""
    digest = hashlib.sha256()
    for question in questions:
        parts = [question.id, question.text, question.type, *question.gold, *question.answers]
        digest.update(json.dumps([*parts, *getattr(question, "entities", ())]).encode())
    return digest.hexdigest()


def read_plan(path: Path | str, **overrides: Any) -> Experiment:
    """Return the experiment that a TOML file describes; `overrides` replace its keys, the arguments of Experiment.

    `data`, `index`, and a path in `questions` are relative to the file. `methods` is a list, or a table of labels with
    methods. Raises DataError for a file that cannot be read, and OptionError as Experiment does.
    """
    path = existing(path)
    try:
        plan = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is not a TOML file: {error}.") from None
    known = [field.name for field in fields(Experiment)]
    unknown = sorted(plan.keys() - set(known))
    if unknown:
        raise DataError(f"{path} has the key {unknown[0]!r}; an experiment has {', '.join(known)}.")
    missing = [name for name in ("data", "methods") if name not in plan | overrides]
    if missing:
        raise DataError(f"{path} has no {' or '.join(missing)}; add the data and the methods to compare.")
    arguments = {name: _argument(path, name, value) for name, value in plan.items() if name not in overrides}
    overrides |= {name: Path(overrides[name]) for name in ("data", "index") if overrides.get(name) is not None}
    try:
        return Experiment(**arguments | overrides)
    except TypeError as error:
        raise DataError(f"{path}: {error}.") from None


def _argument(path: Path, name: str, value: Any) -> Any:
    """Return an argument of Experiment from the value in a file."""
    if name in ("data", "index"):
        if not isinstance(value, str):
            raise DataError(f"{path}: {name} is {value!r}; it must be a text.")
        return path.parent / value
    if name == "questions" and isinstance(value, str) and len(Path(value).parts) > 1:
        return str(path.parent / value)
    if name == "methods" and isinstance(value, Mapping):
        return [entry_of(method, label) for label, method in value.items()]
    return value


def write_plan(path: Path, experiment: Experiment) -> None:
    """Write an experiment for `read_plan`, with absolute paths, and comments for functions and objects as options."""
    separate = ("data", "methods", "index")
    values: dict[str, object] = {"data": str(Path(experiment.data).resolve())}
    values["index"] = None if experiment.index is None else str(Path(experiment.index).resolve())
    values |= {f.name: getattr(experiment, f.name) for f in fields(Experiment) if f.name not in separate}
    own = [metric.name for metric in experiment.metrics if isinstance(metric, Measure)]
    named = [metric for metric in experiment.metrics if isinstance(metric, str)]
    values |= {"metrics": named or None, "questions": _questions_path(experiment)}
    lines = [f"{name} = {toml_text(value)}" for name, value in values.items() if value not in (None, "")]
    lines += [f"# the metric {toml_text(name)[1:-1]} is a function, and not written here" for name in own]
    for entry in (methods := entries(experiment.methods)):
        if not entry.source:
            kind = "is made with objects" if isinstance(entry.method, str) else "is a function"
            lines.append(f"# {toml_text(entry.name)[1:-1]} {kind}, and not written here")
    lines += ["", "[methods]", *(f"{toml_text(e.name)} = {toml_text(e.source)}" for e in methods if e.source)]
    write_text(path, "\n".join(lines) + "\n")


def _questions_path(experiment: Experiment) -> str:
    """Return `questions` for the plan: an absolute path for a file outside of the data."""
    source = Source.of(experiment.data, experiment.questions) if experiment.questions else None
    outside = source is not None and source.questions is not None and not source.has_questions_inside
    return str(Path(experiment.questions).resolve()) if outside else str(experiment.questions)
