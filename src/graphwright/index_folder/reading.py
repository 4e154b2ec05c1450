"""Reading of an index: its snapshot, documents and texts, and facts about it."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from graphwright.errors import DataError, OptionError, StoreError, meant
from graphwright.extract.schema import Schema
from graphwright.graph.columns import Listed, Passages
from graphwright.graph.graph import Graph
from graphwright.index_folder.snapshot_reader import SnapshotReader
from graphwright.index_folder.suggestion import suggested_schema, written_schema
from graphwright.models.protocols import LLM, NamedEncoder
from graphwright.prompts.templates import Prompts
from graphwright.search.filter import Filter
from graphwright.search.name_index import MAX_NORMALISED
from graphwright.search.snapshot import Snapshot
from graphwright.search.versions import copied_documents
from graphwright.store.changes import read_progress
from graphwright.store.layout import IndexLayout
from graphwright.store.locks import is_written
from graphwright.store.settings import Settings
from graphwright.store.store import Store
from graphwright.text.characters import file_name
from graphwright.text.places import Places

GATE = "gate"  # name of the setting
_MAX_COMPARED = 5_000  # document ids that an unknown id is compared with


class IndexReading:
    """The reading half of `Index`."""

    path: Path
    _layout: IndexLayout
    _store: Store
    _encoder: NamedEncoder
    _reader: SnapshotReader
    _closed: bool

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot, or a newer one; without documents that an interrupted change removed or replaced."""
        self._check_open()
        return self._gated(self._reader.snapshot())

    def refresh(self, prepare: Callable[[Snapshot], object] = lambda snapshot: None) -> bool:
        """Open the newest snapshot, for follow=False, after `prepare` with it; return whether there was a newer one."""
        self._check_open()
        return self._reader.refresh(prepare)

    def filtered(self, filter: Filter | Mapping[str, Any]) -> Snapshot:
        """Return the snapshot of an index with only the documents that pass a filter.

        It has nothing of the others: no entity, relation, form of a name or description that only they state, and no
        count in document frequencies. It is built in memory at the first call, without encoding texts that have a
        vector. Raises DataError if no document passes.
        """
        return self._gated(self._reader.filtered(Filter.of(filter)))

    @property
    def gate(self) -> float:
        """What is added to the log odds that a question needs several passages (see `PassageScorer`), by default 0.

        `graphwright.evaluate.fit_gate` fits it to questions with right passages, and `set_gate` sets it.
        """
        return float(self._store.setting(GATE) or 0)

    def _gated(self, snapshot: Snapshot) -> Snapshot:
        with suppress(StoreError):  # questions are answered from the last snapshot, whatever the store has
            return snapshot if (gate := self.gate) == snapshot.gate else replace(snapshot, gate=gate)
        return snapshot

    @property
    def graph(self) -> Graph:
        """The graph of the current snapshot."""
        return self.snapshot.graph

    @property
    def documents(self) -> int:
        """The number of stored documents."""
        return self._store.counts()[0]

    @property
    def encoder(self) -> str:
        """The id of the encoder that the index was created with."""
        return self._store.setting("encoder") or ""

    @property
    def is_reencoded(self) -> bool:
        """Whether the index was rebuilt with another encoder since this object opened it; then it has to be opened."""
        return self.encoder != self._encoder.id

    @property
    def settings(self) -> Settings:
        """The settings of the conversion of documents to a graph."""
        return self._store.build_settings

    @property
    def extraction_schema(self) -> Schema:
        """The types that extraction looks for; without types if none were given."""
        return self._store.schema

    def suggest_schema(self, llm: LLM | None = None) -> Schema:
        """Return a schema to begin with: what is most frequent, or what `llm` writes from a sample of passages."""
        if llm is None:
            return suggested_schema(self.graph, self._store.columns())
        return written_schema(self._store.columns(), llm, self.prompts)

    @property
    def imported(self) -> dict[str, Any] | None:
        """Facts about the files that a graph was imported from; None for an index of documents."""
        about = self._store.setting("graph")
        return None if about is None else dict(json.loads(about))

    @property
    def takes_documents(self) -> bool:
        """Whether documents can be added; not to an imported graph of more than a million nodes."""
        return self._imported_nodes <= MAX_NORMALISED

    @property
    def prompts(self) -> Prompts:
        """The prompts of language models: those of the package, or files in the folder `prompts` of the index."""
        return self._layout.prompts

    def _first_documents(self) -> bool:
        """Return whether the index is an imported graph without documents. Raises StoreError if it takes none."""
        nodes = self._imported_nodes
        if not self.takes_documents:
            raise StoreError(
                f"{self.path} is an imported graph of {nodes:,} nodes; edits and documents can be added to one of at "
                f"most {MAX_NORMALISED:,}. Change its file and import it again, or index documents into a folder of "
                f"their own."
            )
        return nodes > 0

    @property
    def _imported_nodes(self) -> int:
        """The number of nodes of an imported graph to which no documents were added yet, else 0."""
        return 0 if self.imported is None or self._layout.imported.is_dir() else len(self.graph)

    @property
    def is_being_written(self) -> bool:
        """Whether some process is changing the index now."""
        return is_written(self._layout.path)

    @property
    def is_growing(self) -> bool:
        """Whether some process has stored documents, and is at work on those that cannot be searched yet."""
        return self.is_being_written and self.documents > len(self.list_documents())

    @property
    def progress(self) -> tuple[str, int, int] | None:
        """Progress of the process that changes the index: work, done, total; None if there is none or unknown."""
        if not self.is_being_written:
            return None
        record = read_progress(self._layout.progress)
        return None if record is None else record[1:]

    @property
    def is_current(self) -> bool:
        """Whether the snapshot contains all stored documents; false after indexing was interrupted."""
        return bool(self.snapshot.about.get("revision") == self._store.revision)

    def list_documents(self) -> list[Listed]:
        """Return the documents that can be searched, by id: title, characters, chunks. Empty for an imported graph.

        Numbers in ids count by their value: `#2` is before `#10`.
        """
        snapshot = self.snapshot
        passages = snapshot.graph.passages
        if passages is None:
            return []
        # The last ones are passages of an imported graph's nodes, or of what edits add.
        others = snapshot.about.get("graph passages", 0) + snapshot.about.get("added passages", 0)
        names = set(passages.documents[: len(passages.documents) - others])
        return [listed for listed in passages.listed() if listed.id in names]

    def metadata(self, document: str) -> dict[str, str]:
        """Return the metadata of a document, empty for an unknown one."""
        return self._store.metadata([file_name(document)]).get(file_name(document), {})

    def metadata_by_document(self, documents: Iterable[str] | None = None) -> dict[str, dict[str, str]]:
        """Return the metadata of these documents, or of all, by id; unknown ones are left out."""
        return self._store.metadata(None if documents is None else map(file_name, documents))

    def copies(self, documents: Iterable[str]) -> dict[str, str]:
        """Return those of the documents that are copies of others, also under other headers, with the original."""
        return dict(copied_documents(self.graph, documents))

    def text(self, document: str) -> str:
        """Return the text of a document as it was read, in whose characters citations are counted.

        White space outside of chunks is returned as line ends. Raises OptionError for an unknown document.
        """
        graph, passages, rows = self._rows(document)
        return passages.text(file_name(document), [graph.text(int(passages.nodes[row])) for row in rows])

    def places(self, document: str) -> Places | None:
        """Return the pages, cells or lines of a document's file, or None. Raises OptionError for an unknown one."""
        _, passages, rows = self._rows(document)
        return passages.places_of(rows[0])

    def _rows(self, document: str) -> tuple[Graph, Passages, list[int]]:
        """Return the rows of a document. Raises OptionError for an unknown one."""
        graph, document = self.graph, file_name(document) if isinstance(document, str) else document
        known = {} if graph.passages is None else graph.passages.rows_of_document
        if graph.passages is None or not isinstance(document, str) or document not in known:
            candidates = known if len(known) <= _MAX_COMPARED else ()
            raise OptionError(
                f"there is no document {document!r} among the {len(self.list_documents()):,} of {self.path}."
                f"{meant(document, candidates)} 'graphwright documents --index {self.path}' lists them."
            )
        return graph, graph.passages, known[document]

    def info(self) -> dict[str, Any]:
        """Return facts about the index: counts, encoder, extractors, settings, bytes on disk."""
        snapshot = self.snapshot
        documents, chunks = self._store.counts()
        return {
            "path": str(self.path),
            "documents": documents,
            "chunks": chunks,
            "nodes": len(snapshot.graph),
            "edges": len(snapshot.graph.edges),
            "embedded": snapshot.about["texts"],
            "encoder": self.encoder,
            "extractors": self._store.extractors(),
            "pending": self._store.pending(),
            "missing_values": int(self._store.setting("missing values") or 0),
            "folders": self._store.folders(),
            "edits": len(self._store.edits()),
            **({} if self.imported is None else {"imported": self.imported}),
            **({} if (source := self._store.setting("source")) is None else {"source": json.loads(source)}),
            "settings": asdict(self.settings),
            "gate": self.gate,
            "prompts": [name for name, _ in self.prompts.replaced],
            "schema": self.extraction_schema.summary(),
            "bytes": self._layout.bytes(),
            "current": self.is_current,
        }

    def matching(self, patterns: Iterable[str]) -> list[str]:
        """Return the ids that match patterns, in order: `notes/*.md`, a folder `notes/`, or an id itself.

        The name of a file whose rows or messages are documents, `box.mbox`, matches all of them, `box.mbox#*`.
        Raises DataError for a folder or a pattern with * or ? that no document matches.
        """
        stored, matching = self._store.metadata(), dict[str, None]()
        for pattern in checked_ids(patterns):
            if pattern in stored or not (pattern.endswith("/") or "*" in pattern or "?" in pattern):
                parts = [] if pattern in stored else sorted(id for id in stored if id.startswith(f"{pattern}#"))
                matching |= dict.fromkeys(parts) or {pattern: None}
                continue
            glob = f"{pattern}*" if pattern.endswith("/") else pattern
            matches = sorted(fnmatch.filter(stored, glob.replace("[", "[[]")))
            if not matches:
                raise DataError(f"{self.path} holds no document that matches {pattern!r}; nothing was changed.")
            matching |= dict.fromkeys(matches)
        return list(matching)

    def close(self) -> None:
        """Close the store and release the snapshot; `with Index(path) as index:` does it at the end of the block."""
        self._closed = True
        self._store.close()
        self._reader.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} was closed. Open the index again.")


def check_number(name: str, value: object) -> None:
    """Raise OptionError for anything but a whole number, at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise OptionError(f"{name} is {value!r}; it must be a whole number, at least 1.")


def checked_ids(ids: str | Iterable[str]) -> list[str]:
    """Return ids as a list, in the form of stored ids (see `file_name`). Raises OptionError for anything else."""
    listed = [ids] if isinstance(ids, str) or not isinstance(ids, Iterable) else list(ids)
    if wrong := [value for value in listed if not isinstance(value, str)]:
        raise OptionError(f"{wrong[0]!r} is not the id of a document. Give ids as strings.")
    return list(map(file_name, listed))
