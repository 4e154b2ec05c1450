"""The index folder of commands that add documents. A new folder is deleted again if nothing is added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwright.errors import GraphwrightError, OptionError

if TYPE_CHECKING:
    from graphwright.extract import Extractor
    from graphwright.index_folder.index import Index


@contextmanager
def opened_index(
    into: Path, settings: Mapping[str, Any], encoder: str | None, extractor: Extractor | str | None
) -> Iterator[Index]:
    """Yield an index. Create it if it is missing; delete it again if nothing could be added."""
    from graphwright.store.locks import check_unwritten

    check_unwritten(into)  # first, because the imports below are slow while another process computes
    from graphwright.index_folder.index import Index
    from graphwright.store.settings import Settings

    created, keep_folder = not (into / "index.sqlite").exists(), into.is_dir()
    if created:
        Index.create(into, encoder=encoder, settings=Settings(**settings)).close()
    else:
        _check_unchanged(into, encoder, settings)
    try:
        yield Index.open(into, extractor=extractor)
    except BaseException:
        if created:
            with suppress(GraphwrightError, OSError):
                _delete_unused(into, keep_folder)
        raise


def _check_unchanged(into: Path, encoder: str | None, settings: Mapping[str, Any]) -> None:
    """Raise OptionError if an option differs from a setting that is fixed when an index is created."""
    from graphwright.index_folder.index import Index
    from graphwright.models.registry import encoder_of

    with Index.open(into) as index:
        stored = {**asdict(index.settings), "encoder": index.encoder}
    options = {**settings, **({} if encoder is None else {"encoder": encoder_of(encoder).id})}
    for name, value in options.items():
        if value != stored[name]:
            raise OptionError(
                f"{into} was created with --{name.replace('_', '-')} {_shown(stored[name])}, not {_shown(value)}. "
                f"Leave the option out, or index into a new folder."
            )


def _shown(value: Any) -> str:
    """Return the value of a setting in the form of the command line."""
    return (",".join(value) or "nothing") if isinstance(value, tuple | list) else str(value)


def _delete_unused(into: Path, keep_folder: bool) -> None:
    """Delete an index without documents, unless another process writes it, or it has cached replies of a model."""
    from graphwright.index_folder.index import Index
    from graphwright.store.folder_creation import delete_folder
    from graphwright.store.layout import IndexLayout
    from graphwright.store.locks import writer_lock

    with writer_lock(into):
        with Index.open(into) as index:
            documents = index.documents
        layout = IndexLayout(into)
        if not documents and not layout.replies.exists():
            delete_folder(layout, keep_folder)
