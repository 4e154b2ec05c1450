"""Data sets to evaluate on, in any supported format, detected from the files. docs/evaluate.md describes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from graphwright.data.decoding import lines, suffix_of
from graphwright.data.question_sets.collections import (
    corpus_file,
    corpus_questions,
    document_questions,
    hipporag,
    hipporag_corpus,
)
from graphwright.data.question_sets.graph_questions import (
    ENTITIES,
    METAQA,
    graph_and_questions,
    graph_file,
    questions_with_graphs,
    read_graph_questions,
    squality,
    ultradomain,
)
from graphwright.data.question_sets.multihop import QUESTION_FIELDS, has_contexts, multihop
from graphwright.data.question_sets.questions import (
    Dataset,
    QuestionRecord,
    Source,
    contents,
    dataset_of,
    first_few,
    questions_of,
)
from graphwright.data.records.read import SUFFIXES, Record, Records, field_names, read_records
from graphwright.errors import DataError


@dataclass(frozen=True)
class FolderFormat:
    """A format of several files; `main_file` returns the file that identifies it, None if it is absent."""

    name: str
    files: str
    main_file: Callable[[Source], Path | None]
    read: Callable[[Source, Path], Dataset]


@dataclass(frozen=True)
class FileFormat:
    """A format of one file, detected from its first record."""

    name: str
    files: str
    fits: Callable[[Record], bool]
    read: Callable[[Source, Records, str], Dataset]


def _is_question(record: Record) -> bool:
    """Return whether a record is a question in our own format; a record of only a `text` may be a document."""
    return any(isinstance(record.get(name), str) for name in ("question", "query"))


def _has_graph(record: Record) -> bool:
    return _is_question(record) and record.get("graph") is not None


def _questions_alone(source: Source, records: Records, name: str) -> Dataset:
    """Read questions without a corpus, for an existing index.

    Over a graph if the first names entities, or as MetaQA's. Raises DataError if other questions are named too.
    """
    if source.questions is not None:
        raise DataError(
            f"{source.path} holds questions and no corpus, and {source.questions} holds others. Give one of the two."
        )
    questions: list[QuestionRecord] = []
    if suffix_of(source.path) != ".txt":
        questions += questions_of(source.path, records)
    if not questions or any(name in questions[0].metadata for name in ENTITIES):
        questions = [*read_graph_questions(source.path)]
    return dataset_of(source, name, questions, "and no corpus", (), files=(source.path,))


FOLDER_FORMATS = (  # formats of several files, in the order in which they are tried
    FolderFormat(
        "our own format, BEIR", "corpus.jsonl with questions.jsonl or queries.jsonl", corpus_file, corpus_questions
    ),
    FolderFormat("HippoRAG", "<set>_corpus.json with <set>.json", hipporag_corpus, hipporag),
    FolderFormat("MetaQA, PathQuestion", "kb.tsv or kb.txt with files of questions", graph_file, graph_and_questions),
)

FILE_FORMATS = (  # formats of one file, in the order in which they are tried
    FileFormat("RoG", "WebQSP, CWQ, GrailQA: questions with graph", _has_graph, questions_with_graphs),
    FileFormat("MuSiQue", "questions with paragraphs", lambda r: has_contexts(r) and "context" not in r, multihop),
    FileFormat("2WikiMultiHopQA", "questions with evidences", lambda r: has_contexts(r) and "evidences" in r, multihop),
    FileFormat("HotpotQA", "questions with context and supporting_facts", has_contexts, multihop),
    FileFormat(
        "UltraDomain", "input with context", lambda r: isinstance(r.get("context"), str) and "input" in r, ultradomain
    ),
    FileFormat("SQuALITY", "document with questions", lambda r: {"document", "questions"} <= r.keys(), squality),
    FileFormat("questions alone", "id and question, for an existing index", _is_question, _questions_alone),
)


def read_dataset(path: Path | str, questions: Path | str = "", *, beside: bool = True) -> Dataset:
    """Read and check a data set in any of `FOLDER_FORMATS` and `FILE_FORMATS`.

    `questions` is the name of a file of questions in the folder, up to its first dot; or a split of BEIR's judgements;
    or the path of any other file of questions over this corpus or graph, which may then also be a folder or file of
    documents of any kind that can be indexed. With `beside`, a file of questions is about the corpus or graph in its
    folder; without, it stands alone. Raises DataError with file, line and remedy for files that are missing, cannot be
    read, or do not belong together. Lesser findings are in the `remarks` of the data set.
    """
    try:
        source = Source.of(path, questions)
        if source.path.is_dir():
            return _read_folder(source)
        return (None if beside else _read_alone(source)) or _read_file(source)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}.") from error


def _read_folder(source: Source) -> Dataset:
    if dataset := _from_folder(source):
        return dataset
    questions = source.first("questions.jsonl", "queries.jsonl")
    if questions is not None and source.questions in (None, questions):
        raise DataError(
            f"{source.path}: no corpus; neither corpus.jsonl nor corpus.jsonl.gz is there, but "
            f"{contents(source.path)}. "
            f"Put one there; or move {questions.name} elsewhere and name it (questions=PATH), to ask it over the "
            f"documents of this folder; or give {questions} itself, to ask an existing index."
        )
    if source.has_questions_inside and source.questions is not None:
        return _read_file(Source(source.questions))
    files = [path for path in source.files() if suffix_of(path) in SUFFIXES]
    source.refuse_split()
    if len(files) == 1 and _format_of(files[0])[0] is not None:
        return _read_file(replace(source, path=files[0]))
    if source.questions is not None:
        return document_questions(source, source.questions)
    if len(files) > 1:
        names = first_few(path.name for path in files)
        raise _unknown(f"{source.path} holds several files: {names}. Give one of them, or name it (questions='NAME')")
    raise _unknown(f"{source.path}: nothing to evaluate on. It holds {contents(source.path)}")


def _read_alone(source: Source) -> Dataset | None:
    """Read a file of questions by itself; None for any other file."""
    format_, records = _format_of(source.path)
    if source.questions is not None or format_ is None or format_.read is not _questions_alone:
        return None
    return _questions_alone(source, records, format_.name)


def _from_folder(source: Source) -> Dataset | None:
    """Read the first of `FOLDER_FORMATS` that is in the folder, with a remark on each other format."""
    matches = [(format_, file) for format_ in FOLDER_FORMATS if (file := format_.main_file(source))]
    if not matches:
        return None
    (format_, file), *others = matches
    dataset = format_.read(source, file)
    more = (f"{path} is there too ({other.name}); to read it, give that file." for other, path in others)
    return replace(dataset, remarks=(*dataset.remarks, *more))


def _read_file(source: Source) -> Dataset:
    if dataset := _from_folder(source):
        return dataset
    format_, records = _format_of(source.path)
    if format_ is None:
        if source.questions is not None:
            return document_questions(source, source.questions)
        raise _unknown(f"{source.path}: nothing to evaluate on. {_first_record(source.path, records)}")
    if format_.read is _questions_alone and source == Source(source.path):
        # Questions about the corpus or the graph beside them.
        dataset = _from_folder(Source(source.folder, source.path))
        if dataset is not None:
            return dataset
    source.refuse_split()
    return format_.read(source, records, format_.name)


def _format_of(path: Path) -> tuple[FileFormat | None, Records]:
    """Return the format of a file by its first record, and all its records."""
    if suffix_of(path) == ".txt":
        first = next((line for line in lines(path) if line.strip()), "")
        return (FILE_FORMATS[-1] if METAQA.match(first) else None), iter(())
    if suffix_of(path) not in SUFFIXES:
        return None, iter(())
    records = read_records(path, QUESTION_FIELDS)
    number, record = next(records, (0, "empty"))
    fitting = () if isinstance(record, str) else (format_ for format_ in FILE_FORMATS if format_.fits(record))
    return next(iter(fitting), None), chain([(number, record)], records)


def _first_record(path: Path, records: Records) -> str:
    """Return a sentence on the first record of a file."""
    number, record = next(records, (0, f"a file of {suffix_of(path) or 'no suffix'}"))
    if not number:
        return f"It is {record}"
    return f"Its first record (line {number}) {record if isinstance(record, str) else f'has {field_names(record)}'}"


def _unknown(problem: str) -> DataError:
    formats = "".join(f"\n  {format_.name}: {format_.files}" for format_ in (*FOLDER_FORMATS, *FILE_FORMATS))
    return DataError(
        f"{problem}. Read are:{formats}\n  any documents, with the path of a file of questions (questions=PATH)"
    )
