"""Feedback on answers: what readers found helpful or wrong, right answers and passages, in the data folder.

An entry quotes documents, and lives only as long as they have this text. So nothing is kept of a document that was
removed, here or by another process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from graphwright import Index
from graphwright.errors import GraphwrightError, OptionError, cut
from graphwright.serve.database import Database
from graphwright.serve.jobs.table import new_id, now
from graphwright.serve.logs import log
from graphwright.serve.schemas.answers import Body, Question

FEEDBACK_FILE = "feedback.sqlite"  # name of the file in the data folder
MAX_ENTRIES, MAX_CHARACTERS = 10_000, 50_000_000  # the most entries of an index, and characters of them

_TABLES = """CREATE TABLE IF NOT EXISTS feedback (
    id TEXT PRIMARY KEY, path TEXT NOT NULL, entry TEXT NOT NULL
) STRICT; CREATE INDEX IF NOT EXISTS feedback_path ON feedback (path); PRAGMA secure_delete = ON;"""


class Quote(Body):
    """Text of a document that the answer cites, or that holds the right answer."""

    document: Annotated[str, Field(min_length=1, max_length=1_000, description="The document's id.")]
    quote: Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S", description="Its text, unchanged.")]
    right: Annotated[bool, Field(description="Whether it holds the answer.")] = True


class FeedbackBody(Body):
    """What a reader says of an answer."""

    question: Question
    verdict: Literal["helpful", "wrong"]
    answer: Annotated[str, Field(max_length=20_000, description="The text of the answer that was shown.")] = ""
    answers: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")], ...],
        Field(max_length=10, description="Right answers, alternatives of each other.", examples=[["Mur"]]),
    ] = ()
    quotes: Annotated[
        tuple[Quote, ...],
        Field(max_length=50, description="What the answer cites, and what holds the right answer.", examples=[[]]),
    ] = ()
    comment: Annotated[str, Field(max_length=2_000)] = ""


class Entry(FeedbackBody):
    """Feedback that is kept."""

    id: str
    given: Annotated[str, Field(description="When it was given.")]
    by: Annotated[str, Field(description="Name of the key that it came with.")]

    @property
    def right(self) -> tuple[Quote, ...]:
        """The quotes that hold the answer."""
        return tuple(quote for quote in self.quotes if quote.right)


class Feedback(Database):
    """The feedback on the answers of a server's indexes, safe for several threads and processes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FEEDBACK_FILE, _TABLES)

    def add(self, index: Index, said: FeedbackBody, by: str) -> Entry:
        """Keep feedback; return it with id and time. Raises OptionError for a quote not in its document, or no room."""
        text, path = _texts(index), _key(index.path)
        for quote in said.quotes:
            if quote.quote not in text(quote.document):
                raise OptionError(
                    f"{quote.document!r} has no text {cut(quote.quote, 80)!r}. Quote a document as a citation does."
                )
        kept = Entry(**said.model_dump(), id=new_id(), given=now(), by=by)
        record = json.dumps(kept.model_dump())
        with self.lock:
            query = "SELECT count(*), coalesce(sum(length(entry)), 0) FROM feedback WHERE path = ?"
            [(count, characters)] = self.execute(query, path)
            if count >= MAX_ENTRIES or characters + len(record) > MAX_CHARACTERS:
                raise OptionError(f"The index has {count:,} entries of feedback, and no room for more. Delete some.")
            self.execute("INSERT INTO feedback VALUES (?, ?, ?)", kept.id, path, record)
        return kept

    def entries(self, index: Index) -> list[Entry]:
        """Return the entries of an index, the oldest first."""
        self.sweep(index)
        return self._entries(index.path)

    def delete(self, index: Index, id: str) -> bool:
        """Delete an entry; return whether there was one."""
        return self._delete(index.path, [id])

    def sweep(self, index: Index) -> None:
        """Delete the entries that quote text that an index does not have any more. Logs a failure."""
        try:
            text = _texts(index)
            stale = [e.id for e in self._entries(index.path) if any(q.quote not in text(q.document) for q in e.quotes)]
            self._delete(index.path, stale)
        except GraphwrightError as error:
            log.warning("feedback on documents that are gone cannot be deleted: %s", error)

    def sweep_all(self, indexes: Iterable[Index]) -> None:
        """Sweep indexes, and delete the entries of folders that are gone."""
        for index in indexes:
            self.sweep(index)
        for (path,) in self.execute("SELECT DISTINCT path FROM feedback"):
            if not Path(path).exists() and Path(path).parent.is_dir():
                self.forget(Path(path))

    def forget(self, index: Path) -> None:
        """Delete the entries of an index."""
        self._delete(index, [entry.id for entry in self._entries(index)])

    def _entries(self, index: Path) -> list[Entry]:
        rows = self.execute("SELECT entry FROM feedback WHERE path = ? ORDER BY rowid", _key(index))
        return [Entry.model_validate_json(text) for (text,) in rows]

    def _delete(self, index: Path, ids: list[str]) -> bool:
        """Delete entries of an index; return whether there were any."""
        query = "DELETE FROM feedback WHERE path = ? AND id IN (SELECT value FROM json_each(?)) RETURNING id"
        deleted = bool(ids) and bool(self.execute(query, _key(index), json.dumps(ids)))
        if deleted:
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the log has what was deleted
        return deleted


def question_set(entries: Iterable[Entry]) -> Iterator[dict[str, Any]]:
    """Yield the questions that have a right answer or passage, as `graphwright evaluate` reads them.

    `gold_ids` are the documents of the right passages. Of several entries about a question the last one counts.

    >>> facts = {"question": "What flows through Graz?", "verdict": "wrong", "id": "7", "given": "", "by": "Ida"}
    >>> right = Entry(**facts, answers=("Mur",), quotes=(Quote(document="a.md", quote="the Mur"),))
    >>> for question in question_set([Entry(**facts), right]): question["answers"], question["gold_ids"]
    (['Mur'], ['a.md'])
    """
    usable = [entry for entry in entries if entry.answers or entry.right]
    for entry in {" ".join(entry.question.casefold().split()): entry for entry in usable}.values():
        yield {
            "id": entry.id,
            "question": entry.question,
            "answers": list(entry.answers),
            "gold_ids": list(dict.fromkeys(quote.document for quote in entry.right)),
            "verdict": entry.verdict,
            "passages": [{"document": quote.document, "quote": quote.quote} for quote in entry.right],
        }


def _key(index: Path) -> str:
    return str(index.resolve())


def _texts(index: Index) -> Callable[[str], str]:
    """Return the function that gives the text of a document, "" for one that the index does not have."""

    @lru_cache(maxsize=64)
    def text(document: str) -> str:
        try:
            return index.text(document)
        except OptionError:
            return ""

    return text
