"""Feedback on answers: what readers found helpful or wrong, right answers and passages, in the data folder.

An entry quotes documents, and lives only as long as they have this text. So nothing is kept of a document that was
removed, here or by another process.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphwright import Index
from graphwright.errors import GraphwrightError, OptionError, cut
from graphwright.serve.database import Database
from graphwright.serve.jobs.table import new_id, now

FEEDBACK_FILE = "feedback.sqlite"  # name of the file in the data folder
MAX_ENTRIES, MAX_CHARACTERS = 10_000, 50_000_000  # the most entries of an index, and characters of them

_log = logging.getLogger("graphwright.serve")
_TABLES = """CREATE TABLE IF NOT EXISTS feedback (
    id TEXT PRIMARY KEY, path TEXT NOT NULL, entry TEXT NOT NULL
) STRICT; CREATE INDEX IF NOT EXISTS feedback_path ON feedback (path); PRAGMA secure_delete = ON;"""


@dataclass(frozen=True)
class Quote:
    """Text of a document that an answer cites, or that holds the answer: then it is `right`."""

    document: str
    quote: str
    right: bool = True


@dataclass(frozen=True)
class Entry:
    """What somebody said of an answer.

    `verdict`: "helpful" or "wrong". `answer`: the text that was shown. `answers`: right answers, alternatives of each
    other. `by`: name of the key that it came with. `given`: the time, in ISO 8601.
    """

    question: str
    verdict: str
    answer: str = ""
    answers: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    comment: str = ""
    by: str = ""
    id: str = ""
    given: str = ""

    @property
    def right(self) -> tuple[Quote, ...]:
        """The quotes that hold the answer."""
        return tuple(quote for quote in self.quotes if quote.right)


class Feedback(Database):
    """The feedback on the answers of a server's indexes, safe for several threads and processes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FEEDBACK_FILE, _TABLES)

    def add(self, index: Index, entry: Entry) -> Entry:
        """Keep an entry; return it with id and time. Raises OptionError for a quote not in its document, or no room."""
        text, path = _texts(index), _key(index.path)
        for quote in entry.quotes:
            if quote.quote not in text(quote.document):
                raise OptionError(
                    f"{quote.document!r} has no text {cut(quote.quote, 80)!r}. Quote a document as a citation does."
                )
        kept = replace(entry, id=new_id(), given=now())
        record = json.dumps(asdict(kept))
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
            _log.warning("feedback on documents that are gone cannot be deleted: %s", error)

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
        return [_entry(json.loads(text)) for (text,) in rows]

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

    >>> wrong = Entry("What flows through Graz?", "wrong", answers=("Mur",), quotes=(Quote("a.md", "the Mur"),), id="7")
    >>> for question in question_set([Entry("Who?", "wrong"), wrong]): question["answers"], question["gold_ids"]
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


def _entry(record: dict[str, Any]) -> Entry:
    quotes = tuple(Quote(**quote) for quote in record["quotes"])
    return Entry(**{**record, "answers": tuple(record["answers"]), "quotes": quotes})


def _texts(index: Index) -> Callable[[str], str]:
    """Return the function that gives the text of a document, "" for one that the index does not have."""

    @lru_cache(maxsize=64)
    def text(document: str) -> str:
        try:
            return index.text(document)
        except OptionError:
            return ""

    return text
