"""Encoders by name, as a command line or an index folder can write them."""

from __future__ import annotations

from graphwright.errors import OptionError
from graphwright.models.protocols import NamedEncoder

__all__ = ["EMBEDDED", "encoder_named"]

EMBEDDED = "minilm"
"""The name of the embedded encoder."""


def encoder_named(name: str) -> NamedEncoder:
    """Return `minilm`, the embedded encoder; `sbert:NAME`, one of Hugging Face; or `endpoint:MODEL[@URL]`, of a server.

    >>> encoder_named("endpoint:nomic-embed-text@http://localhost:11434/v1")
    EndpointEncoder('nomic-embed-text', base_url='http://localhost:11434/v1')
    """
    kind, _, rest = name.partition(":")
    if name == EMBEDDED:
        from graphwright.models.minilm import MiniLM

        return MiniLM()
    if kind == "sbert" and rest:
        from graphwright.models.sbert import SentenceTransformerEncoder

        return SentenceTransformerEncoder(rest)
    if kind == "endpoint" and rest:
        from graphwright.models.endpoint_encoder import EndpointEncoder

        model, at, url = rest.rpartition("@http")  # names of models may hold an @
        return EndpointEncoder(model, f"http{url}") if at else EndpointEncoder(rest)
    raise OptionError(f"there is no encoder of the kind {kind!r}; give {EMBEDDED}, sbert:NAME or endpoint:MODEL@URL.")
