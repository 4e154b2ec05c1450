"""Writing into an index: documents in, out, changed, read again; and the snapshot that shows it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from graphwright.data.chunking import split
from graphwright.data.document import Chunk, Document
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.index.build import Progress, Settings, build
from graphwright.index.changes import Changes, Source, documents_of, is_new, uncertain, unfit
from graphwright.index.extraction import DeferredExtractor, Excerpt, Extraction, ExtractionFailure, Extractor
from graphwright.index.layout import IndexLayout
from graphwright.index.locks import writer_lock
from graphwright.index.snapshot import Snapshot, damaged, open_snapshot
from graphwright.index.store import Read, Store, StoredChunk
from graphwright.models.cache import CachedEncoder
from graphwright.models.protocols import NamedEncoder

__all__ = ["Writer", "revision_of", "settings_of"]

_BATCH = 500  # documents that are held in memory at once
_READ = 64  # chunks that a deferred extractor reads between two commits
UNREAD = "not read yet"


@dataclass(frozen=True)
class Writer:
    """All that changes an index. One at a time, across processes; queries are not kept waiting.

    Each call changes the store in one transaction, all or nothing, and then makes the new snapshot current. A process
    that is killed between the two leaves a store that is ahead of its snapshot, and the next call goes on from there.
    """

    place: IndexLayout
    store: Store
    encoder: NamedEncoder
    extractor: Extractor

    def add(self, sources: Iterable[Source], progress: Progress | None) -> Changes:
        """Add documents, and replace those whose id is known and whose content changed."""
        made = Changes()
        with writer_lock(self.place.path):
            given = documents_of(sources, made, self.place.path)
            before = revision_of(self.store)
            with self.store.writing():
                self._take(given, made, progress)
                self._bump(made)
            self._finish(made, before, progress)
        return made

    def sync(self, folder: Path, progress: Progress | None) -> Changes:
        """Make the documents that came from a folder those that are in it now."""
        made, source = Changes(), str(folder.resolve())
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder, so there is nothing to keep in step with; nothing was changed.")
        with writer_lock(self.place.path):
            given = documents_of([folder], made, self.place.path)
            before = revision_of(self.store)
            with self.store.writing():
                self._refuse_nested(source)
                files = self._take(given, made, progress, source)
                now = {*made.added, *made.replaced, *made.unchanged}
                self.store.follow(now, source)
                gone = self.store.following(source) - now
                # What cannot be read may well be there: nothing is lost to a wrong permission.
                made.kept, made.unread = uncertain(gone, self.store.files(), made.skipped, folder)
                self.store.note_files(now, files)
                made.removed = sorted(gone.difference(made.kept))
                self.store.remove(made.removed)
                self._bump(made)
            self._finish(made, before, progress)
        return made

    def remove(self, ids: Iterable[str], progress: Progress | None = None) -> Changes:
        """Take documents away. Raises DataError for an unknown id."""
        made = Changes(removed=list(dict.fromkeys(ids)))
        with writer_lock(self.place.path):
            self._refuse_unknown(made.removed, "removed")
            with self.store.writing():
                self.store.remove(made.removed)
                self._bump(made)
            self._renew(made, progress)
            self._forget()
        return made

    def upgrade(self, ids: Sequence[str] | None, progress: Progress | None) -> Changes:
        """Read the chunks of documents again with this extractor, where another one read them."""
        made = Changes()
        with writer_lock(self.place.path):
            old = self.unlike(ids)
            with self.store.writing():
                for chunk in old:
                    self.store.revise(chunk, None, "", chunk.waiting or UNREAD)
            self._deepen(old, made, progress)
            self._renew(made, progress)
            self._forget()
            made.waiting = [(c.document, c.ordinal, c.waiting or "") for c in self.store.chunks(waiting=True)]
        return made

    def unlike(self, ids: Sequence[str] | None = None) -> list[StoredChunk]:
        """Return the chunks of these documents, or of all, that this extractor has not read."""
        self._refuse_unknown(ids or (), "read again")
        return [c for c in self.store.chunks(ids=ids) if c.waiting or c.extractor != self.extractor.id]

    def renew(self, progress: Progress | None = None) -> Changes:
        """Make the snapshot again from what is stored, taking nothing from the one that is there."""
        made = Changes()
        with writer_lock(self.place.path):
            self._publish(made, progress, trusting=False)
        return made

    def unseen(self, sources: Iterable[Source], made: Changes) -> list[Excerpt]:
        """Return the chunks that would have to be read if these documents were added; writes nothing."""
        seen, found = dict[str, bytes](), list[Excerpt]()
        given = documents_of(sources, made, self.place.path)
        while batch := list(islice(given, _BATCH)):
            known = self.store.hashes(document.id for document in batch)
            new = [d for d in batch if is_new(d, known, seen, made)]
            found += [Excerpt(d.id, d.title, c.text) for d, chunks in self._cut(new) for c in chunks]
        replaced = set(made.replaced)
        waiting = [c for c in self.store.chunks(waiting=True) if c.document not in replaced]
        return found + [Excerpt(c.document, c.title, c.text) for c in waiting]

    def _bump(self, made: Changes | None = None) -> None:
        """Count a change of the graph, so that the snapshot is known to be of the past; no change, no count.

        `made`: what changed. Replies that may quote what was taken away are noted, to be forgotten when all is done.
        """
        if made is not None and (made.removed or made.replaced):
            self.store.set("forget replies", "1")
        if made is None or made.added or made.removed or made.replaced:
            self.store.set("revision", str(revision_of(self.store) + 1))

    def _forget(self) -> None:
        """Delete the replies of language models where they may quote what was taken away; an earlier run's too."""
        if self.store.setting("forget replies") == "1":
            self.place.forget(self.place.replies)
            with self.store.writing():
                self.store.set("forget replies", "0")
        self.store.settle()

    def _refuse_unknown(self, ids: Iterable[str], what: str) -> None:
        asked = list(ids)
        known = self.store.hashes(asked)
        unknown = [i for i in asked if i not in known]
        if unknown:
            raise DataError(
                f"{self.place.path} holds no document {unknown[0]!r} ({len(unknown)} unknown); nothing was {what}."
            )

    def _refuse_nested(self, source: str) -> None:
        for other in self.store.sources():
            if other != source and (Path(source) in Path(other).parents or Path(other) in Path(source).parents):
                raise DataError(
                    f"{self.place.path} is kept in step with {other}, and {source} lies in it or around it: documents "
                    f"would be taken twice. Sync the outer one alone, or use two indexes; nothing was changed."
                )

    def _take(self, given: Iterator[Document], made: Changes, progress: Progress | None, source: str = "") -> set[str]:
        """Store what is given; return the ids of those that are a file of their own."""
        seen, files = dict[str, bytes](), set[str]()
        while batch := list(islice(given, _BATCH)):
            ids = [document.id for document in batch]
            files.update(document.id for document in batch if document.file)
            others = {i: other for i, other in self.store.followed(ids).items() if source and other != source}
            for taken, other in others.items():
                if Path(other).is_dir():
                    raise DataError(
                        f"document {taken!r} of {source} has the id of one that came from another folder ({other}); "
                        f"sync a folder that holds both, or use two indexes; nothing was changed."
                    )
                # The folder was moved: what came from it belongs to this one now.
                self.store.follow(self.store.following(other), source)
            known = self.store.hashes(ids)
            self._put([d for d in batch if is_new(d, known, seen, made)], made, progress, source)
        return files

    def _cut(self, documents: Sequence[Document]) -> Iterator[tuple[Document, list[Chunk]]]:
        settings = settings_of(self.store)
        count = getattr(self.encoder, "count_tokens", None)
        counter = {} if count is None else {"count_tokens": count}
        for document in documents:
            yield document, split(document, budget=settings.chunk_tokens, overlap=settings.overlap, **counter)

    def _put(self, documents: Sequence[Document], made: Changes, progress: Progress | None, source: str) -> None:
        if not documents:
            return
        deferred = isinstance(self.extractor, DeferredExtractor)
        extractor = self.extractor.meanwhile if isinstance(self.extractor, DeferredExtractor) else self.extractor
        cut = list(self._cut(documents))
        found = iter(_extracted(extractor, [Excerpt(d.id, d.title, c.text) for d, chunks in cut for c in chunks]))
        for document, chunks in cut:
            before = self.store.read(document.id, document.title) if deferred else {}
            read = []
            for chunk in chunks:
                one = _read(chunk, next(found), extractor.id, UNREAD if deferred else None)
                known = before.get(chunk.text)
                # What the model read and nobody changed is not read, and paid for, again.
                same = known is not None and known[1] == self.extractor.id
                read.append(Read(chunk, known[0], known[1]) if known is not None and same else one)
            self.store.put(document, read, source)
        made.unfit.update(unfit(extractor, documents))
        if progress is not None:
            done = len(made.added) + len(made.replaced)
            progress("read documents", done, done)

    def _finish(self, made: Changes, before: int, progress: Progress | None) -> None:
        """Show what was stored; then read deeper what waits, what earlier runs set aside too, and show that.

        `before`: the store's revision as this run found it. A snapshot of another one was left by a killed writer.
        """
        shown = self._renew(made, progress)
        made.resumed = shown is not None and shown != before
        if isinstance(self.extractor, DeferredExtractor):
            waiting = self.store.chunks(waiting=True)
            mine = [chunk for chunk in waiting if chunk.extractor == self.extractor.id]
            if mine:  # they were to be read by another model, and this one has read them
                with self.store.writing():
                    for chunk in mine:
                        self.store.revise(chunk, None, "", None)
            self._deepen([chunk for chunk in waiting if chunk.extractor != self.extractor.id], made, progress)
            self._renew(made, progress)
        self._forget()
        made.waiting = [(c.document, c.ordinal, c.waiting or "") for c in self.store.chunks(waiting=True)]

    def _deepen(self, chunks: Sequence[StoredChunk], made: Changes, progress: Progress | None) -> None:
        """Let the extractor read chunks, what it has not tried yet first; each batch is kept as soon as it is read."""
        chunks = sorted(chunks, key=lambda chunk: chunk.waiting != UNREAD)
        report = progress or (lambda what, done, total: None)
        for at in range(0, len(chunks), _READ):
            report("read deeper", at, len(chunks))
            results = self._revise(chunks[at : at + _READ])
            made.deepened += sum(not isinstance(result, ExtractionFailure) for result in results)
            if any(isinstance(result, ExtractionFailure) and result.closed for result in results):
                break  # the rest goes on waiting
        if chunks:
            report("read deeper", min(at + _READ, len(chunks)), len(chunks))

    def _revise(self, chunks: Sequence[StoredChunk]) -> Sequence[Extraction | ExtractionFailure]:
        """Read some chunks again and store what came of it."""
        results = _extracted(self.extractor, [Excerpt(c.document, c.title, c.text) for c in chunks])
        with self.store.writing():
            for chunk, result in zip(chunks, results, strict=True):
                if isinstance(result, ExtractionFailure):
                    self.store.revise(chunk, None, "", result.reason)
                else:
                    self.store.revise(chunk, result, self.extractor.id, None)
            if any(isinstance(result, Extraction) for result in results):
                self._bump()
        return results

    def _renew(self, made: Changes, progress: Progress | None) -> int | None:
        """Write a snapshot of the store as it is now and make it current, unless the current one is that.

        Return the revision that was shown until now, None where no sound snapshot was there.
        """
        shown = self._shown()
        revision: int | None = None if shown is None else shown.about.get("revision")
        del shown  # it would be held while it is replaced
        if revision == revision_of(self.store):
            self.place.clean()
            self.place.forget(self.place.vectors)
        else:
            self._publish(made, progress)
        return revision

    def _decayed(self) -> bool:
        """Whether the vectors of the current snapshot cannot be taken over as they stand."""
        try:
            return bool(damaged(self.place.path / self.place.current(), vectors=True))
        except StoreError:
            return True

    def _shown(self) -> Snapshot | None:
        """Return the current snapshot; None for a damaged one, which is to be made again."""
        try:
            return open_snapshot(self.place.path / self.place.current(), self.encoder)
        except StoreError:
            return None

    def _publish(self, made: Changes, progress: Progress | None, trusting: bool = True) -> None:
        revision = revision_of(self.store)
        # Vectors come from the last snapshot; new ones are kept while they are computed, as that may take hours.
        encoder = CachedEncoder(self.encoder, self.place.vectors)
        known = self._shown() if trusting and not self._decayed() else None
        begun = time.perf_counter()
        ledger = self.store.ledger()
        reading = time.perf_counter() - begun
        built = build(ledger, settings_of(self.store), encoder, progress, revision, known)
        del known  # it would be held while it is replaced
        self.place.publish(revision, built.write)
        self.place.forget(self.place.vectors)  # the snapshot has them now
        self.store.settle()
        made.seconds, made.texts = {"read": reading, **built.seconds}, dict(built.about["texts"])


def revision_of(store: Store) -> int:
    """Return how often the graph that the store describes has changed."""
    return int(store.setting("revision") or 0)


def settings_of(store: Store) -> Settings:
    """Return how documents become a graph here."""
    kept = json.loads(store.setting("settings") or "{}")
    return Settings(**{**kept, "embed": tuple(kept.get("embed", ("passages",)))})


def _extracted(extractor: Extractor, excerpts: Sequence[Excerpt]) -> Sequence[Extraction | ExtractionFailure]:
    found = extractor.extract(excerpts)
    if len(found) != len(excerpts):
        raise OptionError(
            f"{extractor.id} gave {len(found)} contributions for {len(excerpts)} chunks; an extractor gives one each."
        )
    return found


def _read(chunk: Chunk, found: Extraction | ExtractionFailure, extractor: str, waiting: str | None) -> Read:
    if isinstance(found, ExtractionFailure):
        return Read(chunk, Extraction(), extractor, found.reason)
    return Read(chunk, found, extractor, waiting)
