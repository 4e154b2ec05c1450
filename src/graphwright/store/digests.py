"""Digests of documents, ids and chunks, by which changes and damage are noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from graphwright.data.document import Document


def content_hash(document: Document) -> bytes:
    """Return sixteen bytes that change with any content of the document."""
    digest = hashlib.blake2b(digest_size=16)
    metadata, links = json.dumps(dict(document.metadata), sort_keys=True), json.dumps(sorted(set(document.links)))
    parts = [document.title, document.text, metadata, str(document.whole), links]
    parts += [json.dumps(part) for part in (document.headings, document.records) if part]
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    for data in encoded if document.places is None else (*encoded, document.places.encoded()):
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def id_digest(document: str) -> str:
    """Return a digest of the id of a document, from which the id cannot be read."""
    return hashlib.blake2b(document.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def text_digest(chunks: Iterable[bytes]) -> bytes:
    """Return sixteen bytes that change with the texts of a document's chunks."""
    digest = hashlib.blake2b(digest_size=16)
    for text in chunks:
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.digest()


def chunk_digest(text: bytes, record: Sequence[bytes | int]) -> bytes:
    """Return sixteen bytes that change with the text or record of a chunk, so that damage is detected."""
    digest = hashlib.blake2b(text, digest_size=16)
    for part in record:
        digest.update(b"%d:" % part if isinstance(part, int) else b"%d:%b" % (len(part), part))
    return digest.digest()
