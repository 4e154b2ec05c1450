"""A trained retriever from its file."""

from __future__ import annotations

from pathlib import Path

from graphwright.errors import DataError
from graphwright.index.vector_index import VectorIndex
from graphwright.learn.retrievers.checkpoint import Checkpoint, read_checkpoint
from graphwright.learn.retrievers.entity import EntityRetriever
from graphwright.learn.retrievers.path import PathRetriever
from graphwright.learn.retrievers.retriever import Retriever
from graphwright.learn.retrievers.triple import TripleRetriever
from graphwright.models.protocols import Encoder

__all__ = ["LEVELS", "load_retriever"]

LEVELS: dict[str, type[Retriever]] = {"triple": TripleRetriever, "entity": EntityRetriever, "path": PathRetriever}


def load_retriever(source: Path | str | Checkpoint, encoder: Encoder, names: VectorIndex | None = None) -> Retriever:
    """Return the retriever of a file, or of a checkpoint, for an index with this encoder and these vectors of names.

    Raises DataError where the file is none, and OptionError where it reads other vectors than the index has.
    """
    checkpoint = source if isinstance(source, Checkpoint) else read_checkpoint(source)
    level = LEVELS.get(checkpoint.level)
    if level is None:
        raise DataError(f"{checkpoint!r} is of level {checkpoint.level!r}; there are {', '.join(LEVELS)}.")
    return level(checkpoint, encoder, names)
