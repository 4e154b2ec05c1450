"""Reader of the index of another system, which is detected from the files."""

from __future__ import annotations

from pathlib import Path

from graphwright.data.other_indexes.content import OtherIndex
from graphwright.data.other_indexes.graphrag import is_graphrag, read_graphrag
from graphwright.data.other_indexes.lightrag import is_lightrag, read_lightrag
from graphwright.errors import DataError


def read_other_index(folder: Path) -> OtherIndex:
    """Read the output folder of Microsoft GraphRAG or the working folder of LightRAG.

    Raises DataError for another folder, and for an incomplete or damaged one.
    """
    if is_graphrag(folder):
        return read_graphrag(folder)
    if is_lightrag(folder):
        return read_lightrag(folder)
    inside = sorted(part for part in folder.iterdir() if part.is_dir() and (is_graphrag(part) or is_lightrag(part)))
    hint = f" Did you mean {inside[0]}?" if inside else ""
    raise DataError(
        f"{folder} is a folder, but neither the output of GraphRAG (entities.parquet) nor the working folder of "
        f"LightRAG (kv_store_text_chunks.json).{hint} Give one of these, or files of triples; documents are added with "
        f"graphwright index."
    )
