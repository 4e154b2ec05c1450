"""Questions with their answers and evidence (gold), and the data sets that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphwright.data.decoding import existing, stem, suffix_of
from graphwright.data.document import Document, Skipped
from graphwright.data.documents import read_documents
from graphwright.data.records.read import SUFFIXES, Record, Records, field_names, first_field, first_value, read_records
from graphwright.errors import DataError, counted
from graphwright.text.characters import clean

_NAMES = {  # names of the fields of a question, the preferred one first
    "id": ("id", "_id"),
    "text": ("question", "query", "text"),
    "answers": ("answers", "answer"),
    "gold": ("gold_ids", "gold"),
    "type": ("type", "qtype"),
}

Triple = tuple[str, str, str]  # Head, relation, tail, by name

_MAX_NAMES = 8  # in an error
_GENERIC = ("corpus", "kb", "kb_union", "questions", "queries")  # file names that do not name a data set
_SPLITS = ("train", "dev", "test", "validation")
_NO_DATA = ("readme", "license", "licence")


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """A question; `answers` are alternatives, `gold` the ids of the documents that hold the evidence.

    `metadata` has the other fields of its record, as JSON. Questions with relevance judgements have their grades in
    `metadata["relevance"]`, document id to grade. `line`: the line of the file, 0 for none.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    type: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    line: int = field(default=0, compare=False)


def read_questions(path: Path | str) -> list[QuestionRecord]:
    """Read questions from JSON lines, a JSON array or Parquet, one record each.

    Fields: `id`, `question` (or `query`, `text`), and if known `answers` (or `answer`), `gold_ids`,
    `type`. Raises DataError with the line of a record that cannot be read or repeats an id.
    """
    path = existing(path)
    return list(questions_of(path, read_records(path, _NAMES["text"])))


def questions_of(path: Path, records: Records) -> Iterator[QuestionRecord]:
    """Yield questions in our own format. Raises DataError with the line for no record, a repeated id, or none."""
    first: dict[str, int] = {}
    for number, record in records:
        question = _question(record) if isinstance(record, dict) else record
        if isinstance(question, str):
            raise DataError(f"{path}:{number}: {question}. Repair or remove this line.")
        if question.id in first:
            raise DataError(
                f"{path}:{number}: the id {question.id!r} was already used in line {first[question.id]}. "
                "Give each question its own."
            )
        first[question.id] = number
        yield replace(question, line=number)
    if not first:
        raise DataError(f"{path}: no questions in it. Expected JSON lines with id and question.")


def _question(record: Record) -> QuestionRecord | str:
    """Return the question of a record in our own format, or the reason why it cannot be read."""
    values = {name: first_value(record, names) for name, names in _NAMES.items()}
    identity, text, kind = values["id"], values["text"], values["type"]
    if not isinstance(identity, str | int) or identity == "":
        return f"no id; it has {field_names(record)}"
    if not isinstance(text, str) or not text.strip():
        return f"question {identity!r} has no text; one of {', '.join(_NAMES['text'])} is read"
    used = {name: first_field(record, names) for name, names in _NAMES.items()}
    answers, gold = texts_of(values["answers"]), texts_of(values["gold"])
    if answers is None or gold is None:
        name = "answers" if answers is None else "gold"
        return f"question {identity!r}: {used[name]} is not a list of texts: {str(values[name])[:40]}"
    metadata = {key: value for key, value in record.items() if key not in used.values()}
    return QuestionRecord(
        str(identity), clean(text).strip(), answers, gold, kind if isinstance(kind, str) else "", metadata
    )


def texts_of(value: object) -> tuple[str, ...] | None:
    """Return a list of texts or numbers, or a single one, as distinct texts; None for any other value."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(item, str | int | float) for item in values):
        return None
    return tuple(dict.fromkeys(clean(str(item)) for item in values if item != ""))


def check_gold(
    questions: Iterable[QuestionRecord], corpus: Collection[str], source: Path | str = "", remedy: str = ""
) -> list[str]:
    """Return a remark on the gold documents that are not in the corpus, if there are some.

    Collections lack a few, such as judged documents without text. More than one in a hundred means that the
    questions belong to another corpus: raises DataError with `source`, the file of the questions, and the first ids.
    """
    total, missing = 0, []
    for question in questions:
        total += len(question.gold)
        missing += [(question, document) for document in question.gold if document not in corpus]
    if len(missing) * 100 > total:
        places = (
            f"{document!r} (question {question.id!r}{f', line {question.line}' if question.line else ''})"
            for question, document in missing
        )
        raise DataError(
            f"{source}{': ' if source else ''}{len(missing):,} of {total:,} gold ids are not among the {len(corpus):,} "
            f"documents of the corpus: {first_few(places)}. "
            f"{remedy or 'Read the corpus that belongs to these questions.'}"
        )
    return [
        f"{counted(len(missing), 'gold document')} not in the corpus, the first {document!r} of question "
        f"{question.id!r}; they stay gold, and are never found."
        for question, document in missing[:1]
    ]


def question_remarks(questions: Sequence[QuestionRecord], *, gold: bool) -> Iterator[str]:
    """Yield remarks on questions without answers, without gold (if `gold` is expected), and asked twice."""
    total = counted(len(questions), "question")
    if bare := sum(not question.answers for question in questions):
        yield f"{bare:,} of {total} without answers."
    if gold and (bare := sum(not question.gold for question in questions)):
        yield f"{bare:,} of {total} without documents that hold the evidence (gold_ids)."
    first: dict[str, QuestionRecord] = {}
    repeats = [(q, earlier) for q in questions if (earlier := first.setdefault(q.text, q)) is not q]
    for question, earlier in repeats[:1]:
        yield (
            f"{counted(len(repeats), 'question')} asked before in the same words: {question.id!r} "
            f"(line {question.line}) as {earlier.id!r} (line {earlier.line})"
            f"{', and so on' if len(repeats) > 1 else ''}."
        )


def dataset_of(
    source: Source, name: str, questions: Sequence[QuestionRecord], about: str, notes: Iterable[str], **more: Any
) -> Dataset:
    """Return the data set of a source in a format; `about`: what is asked; `more`: its corpus, graph and files."""
    counts = f"{counted(len(questions), 'question')} {about} ({name})."
    remarks = (counts, *notes, *question_remarks(questions, gold="corpus" in more))
    return Dataset(source.name, name, tuple(questions), remarks=remarks, **more)


def first_few(values: Iterable[str]) -> str:
    """Return the first values, and the number of the others."""
    ordered = list(values)
    more = f" and {len(ordered) - _MAX_NAMES:,} more" if len(ordered) > _MAX_NAMES else ""
    return ", ".join(ordered[:_MAX_NAMES]) + more


def contents(folder: Path) -> str:
    """Return the first names in a folder, for an error message."""
    names = (path.name + "/" * path.is_dir() for path in folder.iterdir() if path.name[0] != ".")
    return first_few(sorted(names)) or "nothing"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions, and the documents or the graph that they are about.

    `format` names the format that was read. `corpus` is the file or folder of the documents, `pool` the documents
    made of the contexts of questions; `documents()` gives either. `triples` is None without a graph. `openie` is the
    file of extractions that belongs to the corpus; `files` are all files of the set. `remarks` are sentences about the
    data: first the counts, then the findings of the checks.
    """

    name: str
    format: str
    questions: tuple[QuestionRecord, ...] = field(repr=False)
    corpus: Path | None = None
    pool: tuple[Document, ...] | None = field(default=None, repr=False)
    triples: tuple[Triple, ...] | None = field(default=None, repr=False)
    openie: Path | None = None
    files: tuple[Path, ...] = ()
    remarks: tuple[str, ...] = ()

    def documents(self, skip: Callable[[Skipped], None]) -> Iterator[Document]:
        """Return an iterator over the documents; `skip` is called with each unreadable one (see `read_documents`)."""
        if self.pool is not None or self.corpus is None:
            return iter(self.pool or ())
        return read_documents([self.corpus], skip)


@dataclass(frozen=True)
class Source:
    """A folder or file of a data set; `questions`: a file; `split`: a name that is no file there, as of a split."""

    path: Path
    questions: Path | None = None
    split: str = ""

    @classmethod
    def of(cls, path: Path | str, questions: Path | str = "") -> Source:
        """Find the questions named. Raises DataError for a path that does not exist, or a name of two files."""
        path = existing(path)
        if questions in ("", Path()):
            return cls(path)
        folder = cls(path)
        matches = [file for file in folder.files() if str(questions) in (stem(file), file.name)]
        if len(matches) > 1:
            names = ", ".join(file.name for file in matches)
            raise DataError(
                f"{folder.folder}: questions {str(questions)!r} may be {names}. Give the whole name of one."
            )
        if matches:
            return cls(path, matches[0])
        if Path(questions).is_file():
            return cls(path, Path(questions))
        if isinstance(questions, Path) or len(Path(questions).parts) > 1:
            existing(questions)
        return cls(path, split=str(questions))

    @property
    def folder(self) -> Path:
        """The folder itself, or the folder of the file."""
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def has_questions_inside(self) -> bool:
        """Whether the questions named are a file of the folder."""
        return self.questions is not None and self.questions.resolve().parent == self.folder.resolve()

    @property
    def name(self) -> str:
        """Name of the data set: that of the folder or file, and that of the questions if they were named."""
        folder, name = self.folder.resolve().name, stem(self.path)
        if self.path.is_dir() or name in _GENERIC:
            name = folder
        elif name in _SPLITS:
            name = f"{folder}-{name}"
        name = name.removesuffix("_corpus")
        suffix = stem(self.questions) if self.questions else self.split
        return name if suffix in ("", name, *_GENERIC) else f"{name}-{suffix}"

    def first(self, *names: str) -> Path | None:
        """Return the first of these files that is in the folder."""
        return next((self.folder / name for name in names if (self.folder / name).is_file()), None)

    def refuse_split(self) -> None:
        """Raise DataError where a split is named, for a format that has none."""
        if self.split:
            raise DataError(
                f"{self.folder}: no questions named {self.split!r} are there, but {contents(self.folder)}. Name a file "
                "that is there, or give the path of one."
            )

    def files(self) -> list[Path]:
        """Return the files of the folder that may hold records or questions, by name."""
        files = (path for path in sorted(self.folder.iterdir()) if path.is_file() and path.name[0] != ".")
        candidates = (path for path in files if suffix_of(path) in (*SUFFIXES, ".txt"))
        return [path for path in candidates if stem(path).lower() not in _NO_DATA]
