"""The store of an index folder: documents, their chunks and the extractions of each chunk.

It is one SQLite file in WAL mode, so that readers never wait for a writer. Snapshots are made from it, at any time.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from graphwright.data.document import Chunk, Document, Heading, Labels, gaps, joined, labels_within
from graphwright.extract.extraction import Excerpt, Extraction
from graphwright.extract.schema import Schema
from graphwright.graph.columns import terminate
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.chunk_record import ChunkRecord, content_hash, id_digest, text_digest
from graphwright.store.edits import Edit
from graphwright.store.packing import unpacked
from graphwright.store.record_blobs import encoded_records, is_damaged
from graphwright.store.settings import Settings
from graphwright.store.store_file import StoreFile
from graphwright.store.tables import ROWS

_READ = "read "  # before the folder of documents that were read from it, and are not synced with it
_LISTED = "IN (SELECT value FROM json_each(?))"


class ExtractedChunk(NamedTuple):
    """A chunk with its extraction and the extractor's id. `pending`: why another extractor still has to read it."""

    chunk: Chunk
    extraction: Extraction
    extractor: str
    pending: str | None = None


class StoredChunk(NamedTuple):
    """A chunk of a stored document: its place in the store, its text, and its extractor."""

    number: int
    ordinal: int
    document: str
    title: str
    text: str
    heading: str
    labels: Labels
    extractor: str
    pending: str | None

    @property
    def excerpt(self) -> Excerpt:
        """The input of an extractor."""
        return Excerpt(self.document, self.title, self.text, self.heading, self.labels)


class StoredText(NamedTuple):
    """A document as it is split, without metadata, links, places and records; and its chunks as they are stored."""

    document: Document
    chunks: list[ExtractedChunk]


class Store(StoreFile):
    """The documents, chunks and extractions of an open index.sqlite."""

    @property
    def revision(self) -> int:
        """Number of changes of the stored graph."""
        return int(self.setting("revision") or 0)

    def withdrawn(self) -> dict[str, int]:
        """Return the revision that last removed or replaced each document, by `id_digest`, for older snapshots."""
        return dict(json.loads(self.setting("withdrawn") or "{}"))

    def withdraw(self, ids: Iterable[str], revision: int, published: int) -> None:
        """Record that a revision removed or replaced documents; delete the records of revisions up to `published`."""
        entries = {digest: by for digest, by in self.withdrawn().items() if by > published}
        entries |= {id_digest(document): revision for document in ids}
        self.set("withdrawn", json.dumps(entries))

    @property
    def build_settings(self) -> Settings:
        """The settings of the conversion of documents to a graph."""
        stored = json.loads(self.setting("settings") or "{}")
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in stored.items()}
        return Settings(**values)

    @property
    def schema(self) -> Schema:
        """The types that extraction looks for; without types if none were given."""
        return Schema.of_toml(self.setting("schema") or "")

    def derived(self) -> dict[bytes, str]:
        """Return the values that a language model derived from the merged graph, by key."""
        return dict(self._read("SELECT key, value FROM derived"))

    def put_derived(self, values: Mapping[bytes, str]) -> None:
        """Store derived values."""
        self._db.executemany("INSERT OR REPLACE INTO derived VALUES (?, ?)", values.items())

    def delete_derived(self, keys: Iterable[bytes]) -> None:
        """Delete the derived values of these keys."""
        self._db.executemany("DELETE FROM derived WHERE key = ?", [(key,) for key in keys])

    def edits(self) -> list[Edit]:
        """Return the edits by hand in the order in which they are applied."""
        return [Edit.of_dict(json.loads(row[0])) for row in self._read("SELECT edit FROM edits ORDER BY number")]

    def put_edits(self, edits: Iterable[Edit]) -> None:
        """Store edits behind the others; those that are stored stay where they are."""
        rows = ((edit.id, json.dumps(edit.to_dict())) for edit in edits)
        self._db.executemany("INSERT OR IGNORE INTO edits (id, edit) VALUES (?, ?)", rows)

    def follow_moved(self, moved: Mapping[str, str]) -> None:
        """Let the edits that name moved documents name them by their new ids; `moved`: these by the earlier ones."""
        for edit in self.edits():
            if (now := edit.following(moved)) != edit:
                row = (now.id, json.dumps(now.to_dict()), edit.id)
                self._db.execute("UPDATE edits SET id = ?, edit = ? WHERE id = ?", row)

    def remove_edits(self, ids: Iterable[str]) -> None:
        """Remove edits."""
        self._db.executemany("DELETE FROM edits WHERE id = ?", ((id,) for id in ids))

    def hashes(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the content hashes of these documents by id; those that are not stored are left out."""
        return dict(self._read(f"SELECT id, hash FROM documents WHERE id {_LISTED}", (json.dumps(list(ids)),)))

    def folders_of(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the folder that each of these documents is synced with, if any, by id."""
        query = f"SELECT id, folder FROM documents WHERE folder != '' AND folder NOT LIKE '{_READ}%' AND id {_LISTED}"
        return dict(self._read(query, (json.dumps(list(ids)),)))

    def documents_of(self, folder: str) -> frozenset[str]:
        """Return the ids of all documents that are synced with a folder, or were read from it."""
        query = "SELECT id FROM documents WHERE folder IN (?, ?)"
        return frozenset(row[0] for row in self._read(query, (folder, _READ + folder)))

    def file_documents(self) -> frozenset[str]:
        """Return the ids of the documents that are whole files, not rows of one."""
        return frozenset(row[0] for row in self._read("SELECT id FROM documents WHERE is_file"))

    def text_digests(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the digest of the texts of each of these documents, by id."""
        rows = self._chunks(
            "SELECT d.id, c.content FROM chunks c JOIN documents d ON d.number = c.document "
            f"WHERE d.id {_LISTED} ORDER BY d.id, c.ordinal",
            (json.dumps(list(ids)),),
        )
        return {id: text_digest(text for _, text, _ in part) for id, part in groupby(rows, lambda row: row[0])}

    def put(self, document: Document, chunks: Iterable[ExtractedChunk], folder: str = "") -> None:
        """Add a document, or replace the document with its id; `folder`: the folder that it is synced with."""
        metadata, links = json.dumps(dict(document.metadata)), terminate(sorted(set(document.links)))
        places = b"" if document.places is None else document.places.encoded()
        records, digest = encoded_records(document.records), content_hash(document)
        row = (document.id, document.title, digest, metadata, links, places, records, document.file, folder)
        self._db.execute(
            "INSERT INTO documents (id, title, hash, metadata, links, places, records, is_file, folder) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET title = excluded.title, hash = excluded.hash, links = excluded.links, "
            "metadata = excluded.metadata, places = excluded.places, records = excluded.records, "
            "is_file = excluded.is_file, folder = coalesce(nullif(excluded.folder, ''), folder)",
            row,
        )
        self.put_chunks(document, chunks)

    def put_chunks(self, document: Document, chunks: Iterable[ExtractedChunk]) -> None:
        """Replace the chunks of a stored document."""
        number = self._db.execute("SELECT number FROM documents WHERE id = ?", (document.id,)).fetchone()[0]
        self._db.execute("DELETE FROM chunks WHERE document = ?", (number,))
        spans = list[tuple[int, int]]()
        for chunk, extraction, extractor, pending in chunks:
            content = _content(Excerpt.of(document.title, chunk), extraction)
            row = (number, chunk.ordinal, chunk.start, chunk.end, chunk.heading, extractor, pending, content)
            self._db.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            spans.append((chunk.start, chunk.end))
        outline = json.dumps([document.whole, document.headings, gaps(document.text, spans), document.labels])
        self._db.execute("UPDATE documents SET outline = ? WHERE number = ?", (outline, number))

    def texts(self, ids: Iterable[str]) -> Iterator[StoredText]:
        """Yield the texts of documents exactly as they were added, with their chunks."""
        rows = self._chunks(
            "SELECT d.id, d.title, d.outline, c.start, c.heading, c.ordinal, c.extractor, c.pending, c.content "
            f"FROM documents d LEFT JOIN chunks c ON c.document = d.number WHERE d.id {_LISTED} "
            "ORDER BY d.id, c.ordinal",
            (json.dumps(list(ids)),),
        )
        for (id, title, outline), group in groupby(list(rows), lambda row: row[:3]):
            whole, headings, spaces, spans = json.loads(outline)
            labels = tuple((start, end) for start, end in spans)
            chunks = [_chunk(row, labels) for row in group if row[5] is not None]
            text = joined([(chunk.chunk.start, chunk.chunk.text) for chunk in chunks], spaces)
            parts = tuple(Heading(*heading) for heading in headings)
            document = Document(id, text, title, whole=whole, headings=parts, labels=labels)
            yield StoredText(document, chunks)

    def copy_part(self, source: Path, keep: Callable[[str], bool]) -> None:
        """Copy the documents of another store whose ids pass, with their extractions, and all its settings."""
        self._db.create_function("kept", 1, keep, deterministic=True)
        self._db.execute("ATTACH DATABASE ? AS source", (str(source),))
        with self.writing():
            self._db.execute("INSERT INTO documents SELECT * FROM source.documents WHERE kept(id)")
            own = "SELECT number FROM main.documents"
            self._db.execute(f"INSERT INTO chunks SELECT * FROM source.chunks WHERE document IN ({own})")
            for table in ("derived", "settings"):
                self._db.execute(f"INSERT OR REPLACE INTO {table} SELECT * FROM source.{table}")
        self._db.execute("DETACH DATABASE source")

    def set_folder(self, ids: Iterable[str], folder: str) -> None:
        """Record that documents are synced with a folder."""
        query = "UPDATE documents SET folder = ? WHERE id = ? AND folder != ?"
        self._db.executemany(query, ((folder, i, folder) for i in ids))

    def set_read(self, folders: Mapping[str, str]) -> None:
        """Record the folder that each document was read from, "" for none; those that are synced stay so."""
        query = f"UPDATE documents SET folder = ? WHERE id = ? AND (folder = '' OR folder LIKE '{_READ}%')"
        self._db.executemany(query, ((folder and _READ + folder, i) for i, folder in folders.items()))

    def set_files(self, ids: Iterable[str], files: Collection[str]) -> None:
        """Record which of these documents are whole files; needed where `put` had nothing to change."""
        query = "UPDATE documents SET is_file = ? WHERE id = ? AND is_file != ?"
        self._db.executemany(query, ((i in files, i, i in files) for i in ids))

    def remove(self, ids: Iterable[str]) -> None:
        """Remove documents with their chunks."""
        self._db.executemany("DELETE FROM documents WHERE id = ?", ((i,) for i in ids))

    def set_extraction(self, chunk: StoredChunk, extraction: Extraction, extractor: str) -> None:
        """Replace the extraction of a chunk, which is not pending any more."""
        query = "UPDATE chunks SET extractor = ?, pending = NULL, content = ? WHERE document = ? AND ordinal = ?"
        content = _content(chunk.excerpt, extraction)
        self._db.execute(query, (extractor, content, chunk.number, chunk.ordinal))

    def set_pending(self, chunk: StoredChunk, reason: str | None) -> None:
        """Record why a chunk is pending for another extractor; None if it is not."""
        query = "UPDATE chunks SET pending = ? WHERE document = ? AND ordinal = ?"
        self._db.execute(query, (reason, chunk.number, chunk.ordinal))

    def chunks(self, *, pending: bool = False, ids: Sequence[str] | None = None) -> list[StoredChunk]:
        """Return the chunks of all documents or of those in `ids`, or only the pending ones, in order."""
        conditions = ["true", *["c.pending IS NOT NULL"] * pending, *[f"d.id {_LISTED}"] * (ids is not None)]
        rows = self._chunks(
            "SELECT d.outline, c.start, c.document, c.ordinal, d.id, d.title, c.heading, c.extractor, c.pending, "
            "c.content FROM chunks c JOIN documents d ON d.number = c.document "
            f"WHERE {' AND '.join(conditions)} ORDER BY d.id, c.ordinal",
            () if ids is None else (json.dumps(list(ids)),),
        )
        chunks = []
        for outline, group in groupby(rows, lambda row: row[0]):
            labels = tuple((start, end) for start, end in json.loads(outline)[-1])
            for _, start, *place, heading, extractor, pending, text, _ in group:
                inside = labels_within(labels, start, start + len(text))
                chunks.append(StoredChunk._make((*place, text, heading, inside, extractor, pending)))
        return chunks

    def extractions(self, document: str, title: str | None = None) -> dict[str, tuple[Extraction, str]]:
        """Return extraction and extractor of a document's chunks not pending, by text; none with another title."""
        rows = self._chunks(
            "SELECT c.extractor, c.content FROM chunks c JOIN documents d ON d.number = c.document "
            "WHERE d.id = ? AND d.title = coalesce(?, d.title) AND c.pending IS NULL",
            (document, title),
        )
        return {text: (record.extraction(), extractor) for extractor, text, record in rows}

    def columns(self, ids: Iterable[str] | None = None) -> ChunkColumns:
        """Return the chunks of all documents, or of those in `ids`, as columns ordered by document id, consistently."""
        chosen = "" if ids is None else f"WHERE d.id {_LISTED} "
        values = () if ids is None else (json.dumps(list(ids)),)
        with self._reading():
            return ChunkColumns.of(self._db.execute(f"{ROWS} {chosen}ORDER BY d.id, c.ordinal", values))

    def metadata(self, ids: Iterable[str] | None = None) -> dict[str, dict[str, str]]:
        """Return the metadata of every document, or of those in `ids`, by id."""
        query = f"SELECT id, metadata FROM documents {'' if ids is None else f'WHERE id {_LISTED} '}ORDER BY id"
        rows = self._read(query, () if ids is None else (json.dumps(list(ids)),))
        return {document: json.loads(metadata) for document, metadata in rows}

    def counts(self) -> tuple[int, int]:
        """Return the numbers of documents and chunks."""
        (counts,) = self._read("SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)")
        return counts[0], counts[1]

    def extractors(self) -> dict[str, int]:
        """Return the number of chunks by extractor."""
        return dict(self._read("SELECT extractor, count(*) FROM chunks GROUP BY extractor ORDER BY 1"))

    def pending(self) -> dict[str, int]:
        """Return the number of pending chunks by reason."""
        query = "SELECT pending, count(*) FROM chunks WHERE pending IS NOT NULL GROUP BY pending ORDER BY 2 DESC, 1"
        return dict(self._read(query))

    def folders(self) -> dict[str, int]:
        """Return the number of documents that are synced with each folder."""
        chosen = f"folder NOT LIKE '{_READ}%' AND folder != ''"
        return dict(self._read(f"SELECT folder, count(*) FROM documents WHERE {chosen} GROUP BY folder"))

    def problems(self) -> list[str]:
        """Return the problems of the file, empty if it is sound."""
        try:
            problems = [str(row[0]) for row in self._db.execute("PRAGMA integrity_check") if row[0] != "ok"]
            for table, row, *_ in self._db.execute("PRAGMA foreign_key_check"):
                problems.append(f"row {row} of {table} refers to a missing row")
            for number, ordinal, content in self._db.execute("SELECT document, ordinal, content FROM chunks"):
                try:
                    unpacked([content])
                except sqlite3.DatabaseError:
                    problems.append(f"chunk {ordinal} of document number {number} is damaged")
            for document, records in self._db.execute("SELECT id, records FROM documents WHERE records != x''"):
                if is_damaged(records):
                    problems.append(f"the records of document {document!r} are damaged")
        except (sqlite3.DatabaseError, TypeError) as error:
            return [str(error)]
        return problems

    @contextmanager
    def consistent(self) -> Iterator[Store]:
        """Yield a view of the committed store that does not change inside the block, despite concurrent writes."""
        with closing(Store(self.path)) as view:
            view._db.execute("BEGIN")
            yield view


def _chunk(row: tuple[Any, ...], labels: Labels) -> ExtractedChunk:
    id, _, _, start, heading, ordinal, extractor, pending, text, record = row
    end = start + len(text)
    chunk = Chunk(id, ordinal, start, end, text, heading, labels_within(labels, start, end))
    return ExtractedChunk(chunk, record.extraction(), extractor, pending)


def _content(chunk: Excerpt, extraction: Extraction) -> bytes:
    return ChunkRecord.of(chunk.title, chunk.text, extraction).content(chunk.text)
