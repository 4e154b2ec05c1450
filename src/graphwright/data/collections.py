"""Test collections with a corpus of its own: our own format, BEIR, HippoRAG, and any documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from graphwright.data.dataset import Dataset, Source, contents, counted, gold_remarks, question_remarks
from graphwright.data.decoding import lines, stem
from graphwright.data.document import Skipped
from graphwright.data.documents import read_documents
from graphwright.data.links import links_file
from graphwright.data.multihop import passage_id, read_over
from graphwright.data.questions import QuestionRecord, first_few, read_questions
from graphwright.data.records import TEXT_FIELDS, field_names, read_records
from graphwright.errors import DataError

__all__ = ["corpus_file", "corpus_questions", "document_questions", "hipporag", "hipporag_corpus"]

_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")
_QUESTIONS = ("questions.jsonl", "queries.jsonl")
_HIPPORAG = "_corpus.json"


@dataclass
class _Corpus:
    """The documents of a corpus, by id and by content."""

    path: Path
    skipped: list[Skipped] = field(default_factory=list)
    repeats: int = 0

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(document.id for document in read_documents([self.path], self.skipped.append))

    @cached_property
    def _by_content(self) -> dict[str, str]:
        ids: dict[str, str] = {}
        for document in read_documents([self.path], lambda _: None):
            self.repeats += ids.setdefault(passage_id(document.title, document.text), document.id) != document.id
        return ids

    def id_of(self, title: str, text: str) -> str:
        """Return the id of the first document with this title and text, else an id that no document has."""
        identity = passage_id(title, text)
        return self._by_content.get(identity, identity)

    def questions_of(self, source: Source, name: str, path: Path, *more: str) -> Dataset:
        """Return the data set of the questions in a file; `more` are further remarks."""
        questions, remarks = read_over(path, self.id_of)
        return self.dataset(source, name, questions, [path], [*remarks, *more])

    def dataset(
        self, source: Source, name: str, questions: Sequence[QuestionRecord], files: Sequence[Path], remarks: list[str]
    ) -> Dataset:
        """Check and return the data set. `files` are those of the questions, first the one that names the gold."""
        links = links_file(self.path)
        openie = source.first("openie.jsonl") if self.path.name in _CORPUS else None
        counts = f"{counted(len(questions), 'question')} over {counted(len(self.ids), 'document')} ({name})."
        missing = gold_remarks(questions, self.ids, files[0])
        if self.repeats:
            repeats = f"{counted(self.repeats, 'document')} the same as an earlier one; gold is the first."
            remarks = [*remarks, repeats]
        checks = [counts, *remarks, *missing]
        if self.skipped:
            first = f"{self.skipped[0].path}: {self.skipped[0].reason}"
            checks.append(f"{len(self.skipped):,} skipped in reading the corpus, the first {first}.")
        return Dataset(
            source.name,
            name,
            tuple(questions),
            self.path,
            openie=openie,
            links=links,
            files=tuple(filter(None, (*_files(self.path), openie, links, *files))),
            remarks=(*checks, *question_remarks(questions, gold=True)),
        )


def _files(corpus: Path) -> list[Path]:
    if corpus.is_file():
        return [corpus]
    files = (path for path in sorted(corpus.rglob("*")) if path.is_file())
    return [path for path in files if not any(part[0] == "." for part in path.relative_to(corpus).parts)]


def corpus_file(source: Source) -> Path | None:
    """Return the `corpus.jsonl` of a folder, or that of the file, if it is the corpus or its questions."""
    if source.path.name in _CORPUS and source.path.is_file():
        return source.path
    return source.first(*_CORPUS) if source.path.is_dir() or source.path.name in _QUESTIONS else None


def corpus_questions(source: Source, corpus: Path) -> Dataset:
    """Read `corpus.jsonl` with `questions.jsonl` (our own format), or with `queries.jsonl` and judgements (BEIR).

    The questions of the source may be any other file, its split one of BEIR's. Raises DataError without questions.
    """
    questions, queries = (source.first(name) for name in _QUESTIONS)
    named = source.path if source.path.name in _QUESTIONS else None
    path = source.questions or named or (None if source.split else questions)
    if path is None or path == queries:
        return _beir(source, corpus, queries)
    unread = "queries.jsonl is there too, and was not read; for it give questions='queries'."
    remarks = [unread] if queries is not None and path == questions else []
    return _Corpus(corpus).questions_of(source, "our own format", path, *remarks)


def _beir(source: Source, corpus: Path, queries: Path | None) -> Dataset:
    if queries is None:
        reason = f"none named {source.split!r}" if source.split else "neither questions.jsonl nor queries.jsonl"
        raise DataError(
            f"{source.folder}: no questions; {reason} is there, but {contents(source.folder)}. Put them there, or give "
            "the file (questions=PATH)."
        )
    qrels = _qrels_file(source.folder, source.split)
    questions, unjudged = _judged_questions(queries, qrels)
    remarks = [f"{counted(unjudged, 'question')} without judgements, left out."] if unjudged else []
    return _Corpus(corpus).dataset(source, "BEIR", questions, [qrels, queries], remarks)


def _judged_questions(queries: Path, qrels: Path) -> tuple[list[QuestionRecord], int]:
    """Return the questions with judgements, in the order of `queries.jsonl`, and the number of those without.

    `gold` are the documents judged above 0; `metadata["relevance"]` has every grade.
    """
    judged = _judgements(qrels)
    questions = read_questions(queries)
    if missing := judged.keys() - {question.id for question in questions}:
        raise DataError(
            f"{qrels}: {len(missing):,} of {len(judged):,} judged questions are not in {queries}: "
            f"{first_few(missing)}. Both must come from the same set."
        )
    with_gold = [
        replace(
            question,
            gold=tuple(document for document, grade in judged[question.id].items() if grade > 0),
            metadata={**question.metadata, "relevance": judged[question.id]},
        )
        for question in questions
        if question.id in judged
    ]
    return with_gold, len(questions) - len(with_gold)


def _qrels_file(folder: Path, split: str = "") -> Path:
    """Return the judgements of a split: `qrels/<split>.tsv`; without one those of test, dev, train, or `qrels.tsv`."""
    names = [f"qrels/{split}.tsv"] if split else [*(f"qrels/{name}.tsv" for name in ("test", "dev", "train"))]
    names += [] if split else ["qrels.tsv"]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    splits = ", ".join(sorted(path.stem for path in folder.glob("qrels/*.tsv")))
    raise DataError(
        f"{folder}: no relevance judgements; none of {', '.join(names)} is there."
        + (f" There are judgements of {splits}; name one of these." if splits else "")
    )


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    """Read `question, document, grade`, with or without a header, or TREC's four columns."""
    judged: dict[str, dict[str, int]] = {}
    for number, line in enumerate(lines(path), start=1):
        cells = line.split("\t") if "\t" in line else line.split()
        if not cells:
            continue
        grade = cells[-1].strip()
        if len(cells) in (3, 4) and grade.lstrip("-").isdecimal():
            judged.setdefault(cells[0].strip(), {})[cells[-2].strip()] = int(grade)
        elif number > 1:
            raise DataError(
                f"{path}:{number}: not a judgement: {line[:60]!r}. Expected question, document and a whole "
                "number, separated by tabs."
            )
    if not judged:
        raise DataError(f"{path}: no judgements in it. Expected question, document and grade on each line.")
    return judged


def hipporag_corpus(source: Source) -> Path | None:
    """Return the corpus in HippoRAG's format that the source is or belongs to, or the first one of a folder."""
    if source.path.name.endswith(_HIPPORAG):
        return source.path
    if corpus := source.first(f"{_hipporag_set(source)}{_HIPPORAG}"):
        return corpus
    return next(iter(_hipporag_corpora(source)), None) if source.path.is_dir() else None


def _hipporag_set(source: Source) -> str:
    """Return the name of the set: that of the questions in the folder, else that of the path."""
    return stem(source.questions if source.has_questions_inside and source.questions else source.path)


def _hipporag_corpora(source: Source) -> list[Path]:
    return [path for path in source.files() if path.name.endswith(_HIPPORAG)]


def hipporag(source: Source, corpus: Path) -> Dataset:
    """Read `<set>_corpus.json` with the questions in `<set>.json`, which carry their passages.

    The passages that are evidence are looked up in the corpus by title and text, ignoring white space. Raises
    DataError if there are several sets and none is named, or no questions.
    """
    name = corpus.name.removesuffix(_HIPPORAG)
    sets = [path.name.removesuffix(_HIPPORAG) for path in _hipporag_corpora(source)]
    if source.split or (len(sets) > 1 and source.path.is_dir() and _hipporag_set(source) != name):
        problem = f"no set {source.split!r}, but" if source.split else "several sets,"
        raise DataError(f"{source.folder}: {problem} {', '.join(sets)}. Name one, as questions={name!r}.")
    path = source.questions or corpus.with_name(f"{name}.json")
    if not path.is_file():
        raise DataError(f"{corpus}: no questions; {path.name} is not beside it. Give the file (questions=PATH).")
    _, first = next(read_records(corpus, TEXT_FIELDS), (0, ""))
    if isinstance(first, dict) and not any(name in first for name in TEXT_FIELDS):
        raise DataError(
            f"{corpus}: its first record has no text, but {field_names(first)}. Expected a list of title and text; to "
            f"pool the contexts of {path.name} instead, put it in a folder of its own."
        )
    return _Corpus(corpus).questions_of(source, "HippoRAG", path)


def document_questions(source: Source, path: Path) -> Dataset:
    """Read a file of questions over a file or folder of documents, in any format that can be indexed."""
    if source.path.is_dir() and path.resolve().is_relative_to(source.path.resolve()):
        raise DataError(
            f"{path} is in {source.path}, the folder of the documents. Put it elsewhere, or them in another."
        )
    return _Corpus(source.path).questions_of(source, "documents", path)
