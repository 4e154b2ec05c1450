"""Test collections with a corpus of its own: our own format, BEIR, HippoRAG, and any documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from graphwright.data.decoding import lines, stem
from graphwright.data.document import Skipped
from graphwright.data.documents import read_documents
from graphwright.data.links import CORPUS, links_file
from graphwright.data.question_sets.multihop import passage_id, read_over
from graphwright.data.question_sets.questions import (
    Dataset,
    QuestionRecord,
    Source,
    check_gold,
    contents,
    dataset_of,
    first_few,
    read_questions,
)
from graphwright.data.records.delimited import TEXT_FIELDS
from graphwright.data.records.read import field_names, read_records
from graphwright.errors import DataError, counted

_QUESTIONS = ("questions.jsonl", "queries.jsonl")
_HIPPORAG = "_corpus.json"


@dataclass
class _Corpus:
    """The documents of a corpus, by id and by content."""

    path: Path
    skipped: list[Skipped] = field(default_factory=list)

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(document.id for document in read_documents([self.path], self.skipped.append))

    @cached_property
    def _by_content(self) -> dict[str, str]:
        ids: dict[str, str] = {}
        for document in read_documents([self.path], lambda _: None):
            ids.setdefault(passage_id(document.title, document.text), document.id)
        return ids

    def id_of(self, title: str, text: str) -> str:
        """Return the id of the first document with this title and text, else an id that no document has."""
        identity = passage_id(title, text)
        return self._by_content.get(identity, identity)

    def files(self) -> list[Path]:
        if self.path.is_file():
            return [self.path]
        files = (path for path in sorted(self.path.rglob("*")) if path.is_file())
        return [path for path in files if not any(part[0] == "." for part in path.relative_to(self.path).parts)]


def _over_corpus(source: Source, name: str, path: Path, questions: Path, *notes: str) -> Dataset:
    """Return the data set of a file of questions over a corpus; `notes` are further remarks."""
    corpus = _Corpus(path)
    records, remarks = read_over(questions, corpus.id_of)
    return _dataset(source, name, corpus, records, [questions], [*remarks, *notes])


def _dataset(
    source: Source,
    name: str,
    corpus: _Corpus,
    questions: Sequence[QuestionRecord],
    files: Sequence[Path],
    notes: list[str],
) -> Dataset:
    """Check and return the data set. `files` are those of the questions, first the file that names the gold."""
    links = links_file(corpus.path)
    openie = source.first("openie.jsonl") if corpus.path.name in CORPUS else None
    remarks = [*notes, *check_gold(questions, corpus.ids, files[0])]
    if corpus.skipped:
        first = f"{corpus.skipped[0].path}: {corpus.skipped[0].reason}"
        remarks.append(f"{len(corpus.skipped):,} skipped in reading the corpus, the first {first}.")
    about, read = f"over {counted(len(corpus.ids), 'document')}", filter(None, (*corpus.files(), openie, links, *files))
    return dataset_of(source, name, questions, about, remarks, corpus=corpus.path, openie=openie, files=tuple(read))


def corpus_file(source: Source) -> Path | None:
    """Return the `corpus.jsonl` of a folder, or that of the file, if it is the corpus or its questions."""
    if source.path.name in CORPUS and source.path.is_file():
        return source.path
    return source.first(*CORPUS) if source.path.is_dir() or source.path.name in _QUESTIONS else None


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
    return _over_corpus(source, "our own format", corpus, path, *[unread] * (queries is not None and path == questions))


def _beir(source: Source, corpus: Path, queries: Path | None) -> Dataset:
    """Read judged questions in order; `gold`: judged above 0; `metadata["relevance"]` has every grade."""
    if queries is None:
        source.refuse_split()
        raise DataError(
            f"{source.folder}: no questions; neither questions.jsonl nor queries.jsonl is there, but "
            f"{contents(source.folder)}. Put them there, or give the file (questions=PATH)."
        )
    qrels = _qrels_file(source.folder, source.split)
    judged, questions = _judgements(qrels), read_questions(queries)
    if missing := judged.keys() - {question.id for question in questions}:
        raise DataError(
            f"{qrels}: {len(missing):,} of {len(judged):,} judged questions are not in {queries}: "
            f"{first_few(sorted(missing))}. Both must come from the same set."
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
    unjudged = len(questions) - len(with_gold)
    notes = [f"{counted(unjudged, 'question')} without judgements, left out."] if unjudged else []
    return _dataset(source, "BEIR", _Corpus(corpus), with_gold, [qrels, queries], notes)


def _qrels_file(folder: Path, split: str) -> Path:
    """Return the judgements of a split: `qrels/<split>.tsv`; without one those of test, dev, train, or `qrels.tsv`."""
    names = [f"qrels/{name}.tsv" for name in ([split] if split else ("test", "dev", "train"))]
    names += [] if split else ["qrels.tsv"]
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        splits = ", ".join(sorted(path.stem for path in folder.glob("qrels/*.tsv")))
        raise DataError(
            f"{folder}: no relevance judgements; none of {', '.join(names)} is there."
            + (f" There are judgements of {splits}; name one of these." if splits else "")
        )
    return path


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    """Read `question, document, grade`, with or without a header, or TREC's four columns."""
    judged: dict[str, dict[str, int]] = {}
    for number, line in enumerate(lines(path), start=1):
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        if len(cells) in (3, 4) and re.fullmatch(r"-?\d{1,9}", cells[-1]):
            judged.setdefault(cells[0], {})[cells[-2]] = int(cells[-1])
        elif cells and number > 1:
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
    source.refuse_split()
    if len(sets) > 1 and source.path.is_dir() and _hipporag_set(source) != name:
        raise DataError(f"{source.folder}: several sets, {', '.join(sets)}. Name one, as questions={name!r}.")
    path = source.questions or corpus.with_name(f"{name}.json")
    if not path.is_file():
        raise DataError(f"{corpus}: no questions; {path.name} is not beside it. Give the file (questions=PATH).")
    _, first = next(read_records(corpus, TEXT_FIELDS), (0, ""))
    if isinstance(first, dict) and not any(name in first for name in TEXT_FIELDS):
        raise DataError(
            f"{corpus}: its first record has no text, but {field_names(first)}. Expected a list of title and text; to "
            f"pool the contexts of {path.name} instead, put it in a folder of its own."
        )
    return _over_corpus(source, "HippoRAG", corpus, path)


def document_questions(source: Source, path: Path) -> Dataset:
    """Read a file of questions over a file or folder of documents, in any format that can be indexed."""
    if source.path.is_dir() and path.resolve().is_relative_to(source.path.resolve()):
        raise DataError(
            f"{path} is in {source.path}, the folder of the documents. Put it elsewhere, or them in another."
        )
    return _over_corpus(source, "documents", source.path, path)
