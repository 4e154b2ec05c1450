"""A data set to evaluate on, the paths it is read from, and the remarks on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from graphwright.data.decoding import existing, stem, suffix_of
from graphwright.data.document import Document, Skipped
from graphwright.data.documents import read_documents
from graphwright.data.questions import QuestionRecord, check_gold
from graphwright.data.records import SUFFIXES
from graphwright.errors import DataError

__all__ = ["Dataset", "Source", "Triple", "contents", "counted", "gold_remarks", "question_remarks"]

Triple = tuple[str, str, str]
"""Head, relation, tail, by name."""

_MAX_NAMES = 12  # in an error
_GENERIC = ("corpus", "kb", "kb_union", "questions", "queries")  # file names that do not name a data set
_SPLITS = ("train", "dev", "test", "validation")
_NO_DATA = ("readme", "license", "licence")


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions, and the documents or the graph that they are about.

    `format` names the format that was read. `corpus` is the file or folder of the documents, `pool` the documents
    made of the contexts of questions; `documents()` gives either. `triples` is None without a graph. `openie` and
    `links` are files of extractions and links that belong to the corpus; `files` are all files of the set. `remarks`
    are sentences about the data: first the counts, then the findings of the checks.
    """

    name: str
    format: str
    questions: tuple[QuestionRecord, ...] = field(repr=False)
    corpus: Path | None = None
    pool: tuple[Document, ...] | None = field(default=None, repr=False)
    triples: tuple[Triple, ...] | None = field(default=None, repr=False)
    openie: Path | None = None
    links: Path | None = None
    files: tuple[Path, ...] = ()
    remarks: tuple[str, ...] = ()

    def documents(self, skip: Callable[[Skipped], None]) -> Iterator[Document]:
        """Return an iterator over the documents; `skip` is called with each unreadable one (see `read_documents`)."""
        if self.pool is not None or self.corpus is None:
            return iter(self.pool or ())
        return read_documents([self.corpus], skip)


@dataclass(frozen=True)
class Source:
    """A folder or file of a data set, and the questions named with it.

    `questions` is a file of questions, in the same folder or elsewhere; `split` is a name that is not a file of the
    folder, such as that of a split.
    """

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

    def files(self) -> list[Path]:
        """Return the files of the folder that may hold records or questions, by name."""
        files = (path for path in sorted(self.folder.iterdir()) if path.is_file() and path.name[0] != ".")
        candidates = (path for path in files if suffix_of(path) in (*SUFFIXES, ".txt"))
        return [path for path in candidates if stem(path).lower() not in _NO_DATA]


def contents(folder: Path) -> str:
    """Return the first names in a folder, for an error message."""
    names = sorted(path.name + ("/" if path.is_dir() else "") for path in folder.iterdir() if path.name[0] != ".")
    more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more or "nothing"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "question"), counted(2400, "triple")
    ('1 question', '2,400 triples')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def question_remarks(questions: Sequence[QuestionRecord], *, gold: bool) -> Iterator[str]:
    """Yield remarks on questions without answers, without gold (if `gold` is expected), and asked twice."""
    total = counted(len(questions), "question")
    if bare := sum(not question.answers for question in questions):
        yield f"{bare:,} of {total} without answers."
    if gold and (bare := sum(not question.gold for question in questions)):
        yield f"{bare:,} of {total} without documents that hold the evidence (gold_ids)."
    first: dict[str, QuestionRecord] = {}
    pairs = [(question, first.setdefault(question.text, question)) for question in questions]
    repeats = [(question, earlier) for question, earlier in pairs if earlier is not question]
    if repeats:
        question, earlier = repeats[0]
        yield (
            f"{counted(len(repeats), 'question')} asked before in the same words: {question.id!r} "
            f"(line {question.line}) as {earlier.id!r} (line {earlier.line})"
            f"{', and so on' if len(repeats) > 1 else ''}."
        )


def gold_remarks(
    questions: Sequence[QuestionRecord], corpus: Collection[str], source: Path, remedy: str = ""
) -> Iterator[str]:
    """Yield a remark on gold documents that the corpus lacks. Raises DataError for too many (see `check_gold`)."""
    if missing := check_gold(questions, corpus, source, remedy):
        question, document = missing[0]
        yield (
            f"{counted(len(missing), 'gold document')} not in the corpus, the first {document!r} of question "
            f"{question!r}; they stay gold, and are never found."
        )
