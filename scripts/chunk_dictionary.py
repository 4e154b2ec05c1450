"""Train the dictionary that stored chunks are packed with (see `graphwright.store.packing`).

    python scripts/chunk_dictionary.py [--out src/graphwright/store/chunks.dictionary]

It is trained on the chunks of this project's own documentation: English text, with the fields of its records. A store
can be read only with the dictionary that it was written with, so that a new one needs a new `RECORD_VERSION`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import zstandard

from graphwright.data.document import Document, split
from graphwright.extract.extraction import Excerpt
from graphwright.extract.rules import LexicalExtractor
from graphwright.store.chunk_record import ChunkRecord
from graphwright.store.packing import DICTIONARY, unpacked

ROOT = Path(__file__).parents[1]
SIZE = 32_768  # bytes; twice as many save 0.5 % more


def main() -> None:
    """Train the dictionary and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=DICTIONARY)
    contents, extractor = list[bytes](), LexicalExtractor()
    for path in sorted((ROOT / "docs").glob("*.md")):
        chunks = split(Document(path.name, path.read_text(encoding="utf-8"), path.stem))
        extractions = extractor.extract([Excerpt.of(path.stem, chunk) for chunk in chunks])
        for chunk, extraction in zip(chunks, extractions, strict=True):
            contents.append(ChunkRecord.of(path.stem, chunk.text, extraction).content(chunk.text))
    parser.parse_args().out.write_bytes(zstandard.train_dictionary(SIZE, list(unpacked(contents))).as_bytes())


if __name__ == "__main__":
    main()
