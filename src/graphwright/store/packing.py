"""Packing of stored chunks: one zstd frame each, with a dictionary for all of them, so that short texts pack well too.

The dictionary (`chunks.dictionary`, by `scripts/chunk_dictionary.py`) is a part of the format. It is not made of the
chunks of a store: it would keep parts of documents that were removed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import zstandard

_LEVEL = 9
DICTIONARY = Path(__file__).with_name("chunks.dictionary")


def packed(content: bytes) -> bytes:
    """Return bytes packed, with a checksum."""
    compressor = zstandard.ZstdCompressor(_LEVEL, _dictionary(), write_checksum=True, write_dict_id=False)
    result: bytes = compressor.compress(content)
    return result


def unpacked(contents: Iterable[bytes]) -> list[bytes]:
    """Return packed bytes as they were. Raises DatabaseError for some that are damaged."""
    decompressor = zstandard.ZstdDecompressor(_dictionary())
    try:
        return list(map(decompressor.decompress, contents))
    except (zstandard.ZstdError, TypeError, MemoryError) as error:  # damage may be of the type and the size, too
        raise sqlite3.DatabaseError(f"a chunk is damaged: {error}") from error


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    dictionary = zstandard.ZstdCompressionDict(DICTIONARY.read_bytes())
    dictionary.precompute_compress(_LEVEL)
    return dictionary
