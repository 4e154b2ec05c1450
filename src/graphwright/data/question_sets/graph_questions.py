"""Questions over graphs (MetaQA, PathQuestion, WebQSP, CWQ), and over a long text each (UltraDomain, SQuALITY)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphwright.data.decoding import existing, lines, stem, suffix_of
from graphwright.data.document import Document
from graphwright.data.formats.format import Extracted
from graphwright.data.formats.html import html_text
from graphwright.data.question_sets.multihop import Pool, converted_questions, pooled_dataset
from graphwright.data.question_sets.questions import (
    Dataset,
    QuestionRecord,
    Source,
    Triple,
    dataset_of,
    questions_of,
)
from graphwright.data.records.read import Record, Records, checked, read_records
from graphwright.errors import DataError, counted
from graphwright.text.characters import clean

_GRAPHS = ("kb.tsv", "kb_union.tsv", "kb.txt", "kb.tsv.gz")
ENTITIES = ("topic_entities", "q_entity", "entities")  # fields of a question's entities, the preferred one first
METAQA = re.compile(r"[^\t]*\[[^\]\t]+\][^\t]*\t")  # beginning of a line in MetaQA's own files of questions
_ENTITY = re.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True, slots=True)
class GraphQuestion(QuestionRecord):
    """A question over a knowledge graph: `entities` are the nodes that it names, `answers` the nodes that answer it.

    `hops` is the distance between them, None if unknown. `triples` is its own graph, if its record has one.
    """

    entities: tuple[str, ...] = ()
    hops: int | None = None
    triples: tuple[Triple, ...] = ()


def read_triples(path: Path | str) -> Iterator[Triple]:
    """Yield head, relation, tail of lines, by tabs, or `|` in `.txt`. Raises DataError for other than three parts."""
    path = existing(path)
    mark = "|" if suffix_of(path) == ".txt" else "\t"
    for number, line in enumerate(lines(path), start=1):
        if not line or line.isspace():
            continue
        parts = tuple(clean(part).strip() for part in line.split(mark))
        if len(parts) != 3 or not all(parts):
            marks = "tabs" if mark == "\t" else repr(mark)
            raise DataError(
                f"{path}:{number}: not a triple: {line[:60]!r}. Expected head, relation and tail, separated by {marks}."
            )
        yield parts


def read_graph_questions(path: Path | str) -> list[GraphQuestion]:
    """Read questions over a knowledge graph.

    JSON lines have `id`, `question`, `topic_entities` and `answers`, and may have `hops`; in RoG's format `q_entity`,
    `answer` (or `a_entity`), and `graph`, a list of triples. A `.txt` file is one of MetaQA's: a question with its
    entity in square brackets, a tab, and the answers, separated by `|`. A question may have no entities. Raises
    DataError with the line or the question that cannot be read.
    """
    path = existing(path)
    if suffix_of(path) == ".txt":
        return [_metaqa(path, number, line) for number, line in enumerate(lines(path), start=1) if line.strip()]
    records = questions_of(path, read_records(path, ("question",)))
    known: dict[Triple, Triple] = {}  # graphs overlap; each triple is in memory once
    return [_question(path, record, known) for record in records]


def _question(path: Path, record: QuestionRecord, known: dict[Triple, Triple]) -> GraphQuestion:
    """Return a question with the entities, hops and graph of its metadata."""
    metadata = dict(record.metadata)
    name = next((name for name in ENTITIES if metadata.get(name) is not None), "")
    where = f"{path}:{record.line}: question {record.id!r}"
    entities = _entity_names(metadata.pop(name, []), where, name)
    # In RoG's format `answer` are the answers, and `a_entity` those of them that are nodes of the graph.
    answers = record.answers or _entity_names(metadata.get("a_entity", []), where, "a_entity")
    hops = metadata.pop("hops", None)
    if hops is not None and (type(hops) is not int or hops < 0):
        raise DataError(f"{where}: hops is {hops!r}; it must be a whole number, at least 0.")
    triples = _triples(metadata.pop("graph", None) or [], where, known)
    fields = (record.id, record.text, answers, record.gold, record.type, metadata, record.line)
    return GraphQuestion(*fields, entities=entities, hops=hops, triples=triples)


def _metaqa(path: Path, number: int, line: str) -> GraphQuestion:
    text, _, answers = line.partition("\t")
    entities = tuple(clean(name).strip() for name in _ENTITY.findall(text))
    if not entities or not answers.strip():
        raise DataError(
            f"{path}:{number}: not a question of MetaQA: {line[:60]!r}. Expected a question with its entity in square "
            "brackets, a tab, and answers separated by |."
        )
    names = tuple(dict.fromkeys(clean(answer).strip() for answer in answers.split("|")))
    text = clean(_ENTITY.sub(r"\1", text)).strip()
    return GraphQuestion(f"{stem(path)}-{number}", text, names, line=number, entities=entities)


def _entity_names(value: object, where: str, field: str) -> tuple[str, ...]:
    names = checked(list[str], value if isinstance(value, list) else [value], where, field)
    return tuple(dict.fromkeys(clean(name).strip() for name in names))


def _triples(value: object, where: str, known: dict[Triple, Triple]) -> tuple[Triple, ...]:
    triples = []
    for row in checked(list[Triple], value, where, "graph"):
        triple = known.get(row)
        if triple is None:
            head, relation, tail = (clean(part).strip() for part in row)
            triple = known[row] = known.setdefault((head, relation, tail), (head, relation, tail))
        triples.append(triple)
    return tuple(triples)


def graph_file(source: Source) -> Path | None:
    """Return the triples in a folder, or the file of triples itself."""
    if source.path.is_dir():
        return source.first(*_GRAPHS)
    return source.path if source.path.name in _GRAPHS else None


def graph_and_questions(source: Source, graph: Path) -> Dataset:
    """Read triples with a file of questions, beside or elsewhere; entities it lacks are looked for in its words."""
    path = source.questions or _question_file(source)
    questions = read_graph_questions(path)
    return _dataset(source, "knowledge graph", tuple(read_triples(graph)), questions, (graph, path))


def questions_with_graphs(source: Source, _records: Records, name: str) -> Dataset:
    """Read questions in RoG's format, each with its own graph; the triples are the union of all."""
    questions = read_graph_questions(source.path)
    union = dict.fromkeys(triple for question in questions for triple in question.triples)
    if not union:
        raise DataError(f"{source.path}: no question has a graph. Expected RoG's format, or a folder with kb.tsv.")
    path = source.questions or source.path
    if path != source.path:
        questions = read_graph_questions(path)
    return _dataset(source, name, tuple(union), questions, tuple(dict.fromkeys((source.path, path))))


def _question_file(source: Source) -> Path:
    """Return the file of questions in a folder: `questions.*`, or the only file."""
    files = {stem(path): path for path in source.files() if path.name not in _GRAPHS and stem(path) != "kb"}
    names = ", ".join(sorted(files)) or "none"
    source.refuse_split()
    if "questions" in files or len(files) == 1:
        return files.get("questions") or next(iter(files.values()))
    raise DataError(
        f"{source.folder}: one file of questions is read, and there are {names}. Name one, as questions='NAME'."
    )


def _dataset(
    source: Source, name: str, triples: tuple[Triple, ...], questions: Sequence[GraphQuestion], files: tuple[Path, ...]
) -> Dataset:
    nodes = {name for head, _, tail in triples for name in (head, tail)}
    remarks = list[str]()
    if bare := sum(not question.entities for question in questions):
        counts = counted(bare, "question")
        remarks.append(f"{counts} without entities (topic_entities), which are looked for in the words.")
    for kind in ("entities", "answers"):
        remarks += _missing_nodes(files, kind, [(question, getattr(question, kind)) for question in questions], nodes)
    about = f"over {counted(len(triples), 'triple')}"
    return dataset_of(source, name, questions, about, remarks, triples=triples, files=files)


def _missing_nodes(
    files: Sequence[Path], kind: str, names: Sequence[tuple[GraphQuestion, tuple[str, ...]]], nodes: set[str]
) -> Iterator[str]:
    """Yield a remark on the names that are not nodes. Raises DataError if none of them is."""
    total = sum(len(group) for _, group in names)
    missing = [(question, name) for question, group in names for name in group if name not in nodes]
    if not missing:
        return
    question, name = missing[0]
    first = f"the first {name!r} of question {question.id!r} (line {question.line})"
    if len(missing) == total:
        raise DataError(
            f"{files[-1]}: none of its {total:,} {kind} is a node of the graph in {files[0]}; {first}. "
            "Read the graph that belongs to these questions, and name things as it does."
        )
    without = sum(nodes.isdisjoint(group) for _, group in names if group)
    yield (
        f"{len(missing):,} of {total:,} {kind} ({len(missing) / total:.1%}) are not nodes of the graph, {first}; "
        f"{counted(without, 'question')} with none that is."
    )


_EMPTY_LINE = re.compile(r"\n\s*\n")


@dataclass
class _Book:
    input: str
    context: str
    meta: dict[str, Any] | None = None


def ultradomain(source: Source, records: Records, name: str) -> Dataset:
    """Read questions that carry a whole text, often a book; a text with several questions is one document."""
    pool = Pool(limit=0)
    ids: dict[str, str] = {}  # of each text, even if its title differs the next time

    def questions(number: int, record: Record) -> Iterator[Record]:
        book = checked(_Book, record, f"{source.path}:{number}")
        if book.context not in ids:
            ids[book.context] = pool.add(str((book.meta or {}).get("title") or ""), book.context)
        metadata = {key: value for key, value in record.items() if key not in ("context", "input", "label", "_id")}
        yield metadata | {
            "id": record.get("_id") or f"{source.name}-{number}",
            "question": book.input,
            "gold_ids": [ids[book.context]],
            "type": record.get("label") or record.get("dataset"),
        }

    return pooled_dataset(source, name, converted_questions(source.path, records, questions), pool, [])


@dataclass
class _Response:
    response_text: str


@dataclass
class _StoryQuestion:
    question_text: str
    responses: list[_Response] = field(default_factory=list)


@dataclass
class _StoryMetadata:
    passage_id: str | int


@dataclass
class _Story:
    metadata: _StoryMetadata
    document: str
    questions: list[_StoryQuestion]


def squality(source: Source, records: Records, name: str) -> Dataset:
    """Read stories with questions. The answers are summaries written by people; gold is the story."""
    pool = Pool(limit=0)

    def questions(number: int, record: Record) -> Iterator[Record]:
        where = f"{source.path}:{number}"
        story = checked(_Story, record, where)
        identity = str(story.metadata.passage_id)
        if identity in pool.documents:
            raise DataError(f"{where}: the story {identity!r} came before. Repair or remove this line.")
        pool.documents[identity] = _story_document(identity, story.document)
        for number_in_story, question in enumerate(story.questions, 1):
            yield {
                "id": f"{identity}-{number_in_story}",
                "question": question.question_text,
                "answers": [response.response_text for response in question.responses],
                "gold_ids": [identity],
            }

    return pooled_dataset(source, name, converted_questions(source.path, records, questions), pool, [])


def _story_document(identity: str, story: str) -> Document:
    """Return a story with each paragraph in one line; some versions of the data set have HTML."""
    page = html_text(story) if "</p>" in story else Extracted(clean(story))
    paragraphs = (" ".join(part.split()) for part in _EMPTY_LINE.split(page.text))
    return Document(identity, "\n\n".join(paragraph for paragraph in paragraphs if paragraph), page.title)
