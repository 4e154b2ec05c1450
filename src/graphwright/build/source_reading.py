"""Documents of a connector's source: only files whose tag has changed are fetched; the index keeps the tags.

A sync of a source ends as one of a folder does: what is new is added, what is gone removed. Where a file cannot be
fetched or read its documents stay, and a source that fails as a whole changes nothing. Files that no list names are
found by links, nearest first; the index keeps the links too, as an unchanged page is not sent.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from graphwright import __version__
from graphwright.build.document_sources import storable
from graphwright.data.connectors import Connector, Fetched, SourceFile
from graphwright.data.decoding import unpacked
from graphwright.data.document import Document, Skipped
from graphwright.data.file_documents import NEEDS, Allowance, FileReader
from graphwright.data.folders import ReadOptions, chooser
from graphwright.data.formats.format import MAX_BYTES, File
from graphwright.errors import DataError, GraphwrightError, counted
from graphwright.store.changes import Changes
from graphwright.store.store import Store
from graphwright.text.characters import file_name

_MAX_FAILURES = 10  # files one after another that cannot be fetched; then the source counts as failed
_SAVE_SECONDS = 60.0  # between two times that the tags are stored
_MAX_LINKED = 5_000  # files of a source that are found by links
_MAX_DEPTH = 25  # links from the first file to one


@dataclass(frozen=True)
class _Known:
    """What the index has of a file: the version, "" if it has to be read again, the ids of its documents, its links."""

    tag: str = ""
    ids: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


class SourceReading:
    """One reading of a source for a sync. `unchanged`: the ids of the documents that were not read again."""

    def __init__(
        self, connector: Connector, store: Store, changes: Changes, options: ReadOptions, *, whole: bool = False
    ) -> None:
        """Take a source and the store of the index. `whole`: read all files, as if the index knew no tags."""
        self._connector, self._store, self._changes, self._options = connector, store, changes, options
        self._setting = f"source {connector.address}"
        # Another reader may find other documents in the same file.
        self._reader = " ".join((__version__, *options.text_columns, f"id {options.id_column}"))
        self._is_chosen = chooser(options)
        self._files = self._stored(whole)
        self._owners = {id: name for name, known in self._files.items() for id in known.ids}
        self._unread = set[str]()  # files that could not be fetched or not be read whole
        self._failed, self._saved = list[Skipped](), time.monotonic()
        self.unchanged = set[str]()

    def documents(self, report: Callable[[str, int, int], None]) -> Iterator[Document]:
        """Yield the documents of the files that have changed.

        `report`: called before each file with the name of the work, the files done and all. Raises DataError if the
        source cannot be listed, if many files in a row cannot be fetched, and if it has no document at all.
        """
        listed = self._listed()
        walk = self._walk(listed) if any(file.leads for file in listed.values()) else listed.values()
        for number, file in enumerate(walk):
            report("fetch files", number, len(listed))
            yield from self._file(file)
        report("fetch files", len(listed), len(listed))
        self._files = {name: known for name, known in self._files.items() if name in listed}
        if not any(known.ids for known in self._files.values()):
            reasons = "; ".join(f"{item.path}: {item.reason}" for item in self._changes.skipped[:5])
            raise DataError(
                f"nothing to read in {self._connector.address}: {reasons or 'it has no files'}. Nothing was changed."
            )

    def _walk(self, found: dict[str, SourceFile]) -> Iterator[SourceFile]:
        """Yield the files that links lead to from the first ones, to which they are added, nearest first.

        Then those that the index knows from before, as links to them may be missing only for a time. A file that is
        new is left out beyond a number of files, or of links from the first one.
        """
        depths, known, left_out = dict.fromkeys(found, 0), set(self._files), dict[str, None]()
        queue, room = deque(found.values()), _MAX_LINKED - len(known.union(found))
        while queue:
            yield (file := queue.popleft())
            depth = depths[name := file_name(file.name)] + 1
            for link in self._files.get(name, _Known()).links:
                if (linked := file_name(link)) in found or not self._is_chosen(_path(linked)):
                    continue
                if linked not in known:
                    if depth > _MAX_DEPTH or room <= 0:
                        left_out[linked] = None
                        continue
                    room -= 1
                found[linked], depths[linked] = SourceFile(link), depth
                queue.append(found[linked])
            if not queue:
                others = [name for name in sorted(known.difference(found)) if self._files[name].ids]
                others = [name for name in others if self._is_chosen(_path(name))]
                found |= {name: SourceFile(name) for name in others}
                depths |= dict.fromkeys(others, _MAX_DEPTH)
                queue += map(found.__getitem__, others)
        if left_out:
            self._changes.skipped.append(
                Skipped(
                    self._connector.address,
                    f"{counted(len(left_out), 'further file')} that links lead to, such as {next(iter(left_out))}: a "
                    f"sync follows {_MAX_DEPTH} links in a row, and takes {_MAX_LINKED:,} files. Sync parts of the "
                    f"source, or leave out some by --exclude",
                )
            )

    def possibly_present(self, missing: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return those of the missing documents that files may contain which could not be read, and these files."""
        kept = dict[str, str]()
        for id in missing:
            inside = (name for name in self._unread if id.startswith((f"{name}/", f"{name}#")))
            if (name := self._owners.get(id, next(inside, ""))) in self._unread:
                kept[id] = name
        return sorted(kept), sorted(set(kept.values()))

    def save_sometimes(self) -> None:
        """Store the tags of what was read, once a minute, so that a sync that is killed does not fetch it again."""
        if time.monotonic() > self._saved + _SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Store the tags of what was read."""
        files = {name: (known.tag, *known.ids) for name, known in self._files.items()}
        targets = list(dict.fromkeys(link for known in self._files.values() for link in known.links))
        number = {target: at for at, target in enumerate(targets)}  # as many pages have the same links
        links = {name: [number[link] for link in known.links] for name, known in self._files.items() if known.links}
        stored = {"reader": self._reader, "files": files, "targets": targets, "links": links}
        self._store.set(self._setting, json.dumps(stored, ensure_ascii=False))
        self._saved = time.monotonic()

    def _stored(self, whole: bool) -> dict[str, _Known]:
        """Return what the index has of each file; a document that was removed from it is to be read again."""
        stored = json.loads(self._store.setting(self._setting) or "{}")
        same = stored.get("reader") == self._reader and not whole
        present = self._store.documents_of(self._connector.address)
        files, targets, links = {}, stored.get("targets", ()), stored.get("links", {})
        for name, (tag, *ids) in stored.get("files", {}).items():
            found = tuple(targets[number] for number in links.get(name, ()))
            files[name] = _Known(tag if same and present.issuperset(ids) else "", tuple(ids), found)
        return files

    def _listed(self) -> dict[str, SourceFile]:
        """Return the files of the source by the names of their documents, without those that the options leave out."""
        try:
            files = {file_name(file.name): file for file in self._connector.list()}
        except GraphwrightError:
            raise
        except Exception as error:  # of a connector of another package
            raise DataError(
                f"{self._connector.address} cannot be listed ({type(error).__name__}: {error}); nothing was changed."
            ) from error
        return {name: file for name, file in files.items() if self._is_chosen(_path(name))}

    def _file(self, file: SourceFile) -> Iterator[Document]:
        """Yield the documents of a file, unless it is unchanged."""
        name = file_name(file.name)
        known = self._files.get(name, _Known())
        fetched = None if known.tag and known.tag == file.tag else self._fetched(file, known.tag)
        if fetched is None:
            self.unchanged.update(known.ids)
            self._changes.unchanged += known.ids
        elif isinstance(fetched, Skipped):
            self._skip(name, fetched, known)
        else:
            links = tuple(fetched.links)
            if isinstance(fetched.file, File):
                yield from self._read(name, fetched.file, fetched.tag or file.tag, replace(known, links=links))
            else:
                self._skip(name, fetched.file, replace(known, links=links))
                self._files.setdefault(name, _Known(links=links))

    def _skip(self, name: str, skipped: Skipped | None, known: _Known) -> None:
        """Note that a file was not read; forget it unless it may have documents."""
        self._changes.skipped += [] if skipped is None else [skipped]
        self._files.pop(name, None)
        if skipped is not None and skipped.unread:
            self._unread.add(name)
            self._files[name] = replace(known, tag="")

    def _fetched(self, file: SourceFile, tag: str) -> Fetched | Skipped | None:
        """Fetch a file; an error becomes Skipped, unless many came one after another."""
        try:
            fetched = self._connector.fetch(file.name, tag)
        except Exception as error:  # of the network, or of a connector of another package
            kind = "" if isinstance(error, GraphwrightError) else f"{type(error).__name__}: "
            self._failed.append(Skipped(file.name, f"{kind}{error}".removesuffix("."), True))
            if len(self._failed) < _MAX_FAILURES:
                return self._failed[-1]
            raise DataError(
                f"{_MAX_FAILURES} files of {self._connector.address} one after another cannot be fetched; nothing was "
                f"changed. The last: {self._failed[-1].reason}. Try again later."
            ) from error
        self._failed.clear()
        if fetched is None and not tag:
            return Skipped(file.name, "the connector fetched nothing", True)
        return fetched

    def _read(self, name: str, file: File, tag: str, known: _Known) -> Iterator[Document]:
        ids, again = list[str](), False
        for item in _items(name, file, self._options):
            if isinstance(item, Skipped):
                self._changes.skipped.append(item)
                again |= item.reason.startswith(NEEDS)
                if item.unread:
                    self._unread.add(name)
                continue
            document = storable(item)
            if self._owners.get(document.id, name) != name:
                document = replace(document, id=f"{name}#{document.id}")  # the id of a row in another file
            self._owners[document.id] = name
            ids.append(document.id)
            yield document
        if name in self._unread:
            ids += known.ids
        self._files[name] = replace(known, tag="" if again else tag, ids=tuple(dict.fromkeys(ids)))


def _items(name: str, file: File, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Read a file; one that is packed by gzip is unpacked."""
    try:
        if file.name.lower().endswith(".gz"):
            file = replace(file, name=file.name[:-3], content=unpacked(file.data(), MAX_BYTES + 1), path=None)
        yield from FileReader(name, Allowance(), options).read_content(file, name)
    except DataError as error:
        yield Skipped(name, str(error).removesuffix("."), True)


def _path(name: str) -> str:
    """Return the path of a file below its host or bucket, by which patterns choose it.

    >>> _path("https://example.org/a/b.html"), _path("inbox/1@example.org")
    ('a/b.html', 'inbox/1@example.org')
    """
    return name.partition("://")[2].partition("/")[2] if "://" in name else name
