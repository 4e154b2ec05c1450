"""Edits by hand of an index: make, list and undo them; suggestions of duplicates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphwright.errors import OptionError
from graphwright.index_folder.reading import check_number
from graphwright.index_folder.writing import IndexWriting
from graphwright.store.changes import Progress
from graphwright.store.edits import Change, Edit

if TYPE_CHECKING:
    from graphwright.build.duplicates import Duplicate


class IndexEditing(IndexWriting):
    """The half of `Index` for edits by hand."""

    def edit(
        self,
        *changes: Change | Edit,
        who: str = "",
        why: str = "",
        strict: bool = True,
        progress: Progress | None = None,
    ) -> list[Edit]:
        """Change the graph by hand, all or nothing, and publish the new snapshot; return the edits.

        Edits are kept beside the documents and applied in order whenever the graph is built, so they hold for documents
        that are added, synced or extracted again later. `who`, `why`: kept with the time. An `Edit`, as of another
        index, keeps its own, and is left as it is where this index has it. `strict`: raise DataError for a change that
        names what is not there; else it is kept and takes effect once that is there. Raises StoreError for an imported
        graph of more than a million nodes.

        >>> import tempfile; from pathlib import Path
        >>> from graphwright import Index; from graphwright.models.fake import HashEncoder
        >>> from graphwright.store import RenameEntity
        >>> index = Index(Path(tempfile.mkdtemp()) / "cities", encoder=HashEncoder())
        >>> _ = index.add([{"id": "graz", "title": "Gratz", "text": "Gratz lies on the Mur."}])
        >>> edit = index.edit(RenameEntity("Gratz", "Graz"), who="Ida", why="a typo")[0]
        >>> "Graz" in index.graph.names, [edit.change for edit in index.edits()]
        (True, [RenameEntity(name='Gratz', to='Graz')])
        >>> index.undo(edit.id); "Graz" in index.graph.names
        False
        """
        edits = Edit.made(changes, who, why)
        with self._write(progress) as writer:
            writer.edit(edits, strict=strict)
        ids = {edit.id for edit in edits}
        return [edit for edit in self.edits() if edit.id in ids]

    def edits(self) -> list[Edit]:
        """Return the edits in the order in which they are applied; `Edit.idle` says why one changes nothing now."""
        idle = self.snapshot.about.get("idle edits", {})
        return [replace(edit, idle=idle.get(edit.id, "")) for edit in self._store.edits()]

    def undo(self, *ids: str, progress: Progress | None = None) -> None:
        """Remove edits; the graph is then as if they were never made. Raises DataError for an unknown id."""
        if not ids or not all(isinstance(id, str) for id in ids):
            raise OptionError(f"undo needs the ids of edits, as `edits` returns them, not {ids!r}.")
        with self._write(progress) as writer:
            writer.edit((), removed=list(dict.fromkeys(ids)))

    def suggest_duplicates(self, limit: int = 20) -> list[Duplicate]:
        """Return pairs of entities that may be one, the likeliest first, with the reasons.

        To accept one, `edit(MergeEntities([pair.second], pair.first))`; to refuse it,
        `edit(KeepApart(pair.first, pair.second))`, after which it is not suggested again.
        """
        check_number("limit", limit)
        from graphwright.build.duplicates import duplicates

        return duplicates(self.snapshot, self._store.edits(), limit)
