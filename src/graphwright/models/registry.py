"""Models as users give them: a name, an object, or a plain Python function.

A name is short enough for a command line or the settings of an index:

    minilm                     the embedded model (not for `llm`)
    sbert:NAME                 a model of Hugging Face, by sentence-transformers or transformers (not for `llm`)
    openai:MODEL[@URL]         a model of a server with the interface of OpenAI (for `llm` and `encoder`)
    MODEL                      the same, for `llm`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphwright.errors import OptionError
from graphwright.models.protocols import LLM, CrossEncoder, Encoder, NamedEncoder, Reader

__all__ = ["EMBEDDED", "cross_encoder_of", "encoder_of", "llm_of", "reader_of"]

EMBEDDED = "minilm"
"""The name of the embedded models."""


def llm_of(value: object) -> LLM:
    """Return a language model, given its name, itself, or a function of one prompt or of system and user prompt.

    >>> llm_of("qwen3:8b@http://localhost:11434/v1")
    OpenAILLM('qwen3:8b', base_url='http://localhost:11434/v1')
    """
    if isinstance(value, str) and value:
        from graphwright.models.openai.llm import OpenAILLM

        return OpenAILLM(*_model_and_url(value.removeprefix("openai:")))
    if callable(value) and not hasattr(value, "complete"):
        from graphwright.models.wrappers import FunctionLLM

        return FunctionLLM(_function(value, "language model"))
    llm: LLM = _checked(value, LLM, "language model", ("id", "complete"))
    return llm


def encoder_of(value: object) -> NamedEncoder:
    """Return an encoder, given its name, itself, or a function of a list of texts.

    >>> encoder_of("openai:nomic-embed-text@http://localhost:11434/v1")
    OpenAIEncoder('nomic-embed-text', base_url='http://localhost:11434/v1')
    """
    if isinstance(value, str):
        return _encoder_named(value)
    if callable(value) and not isinstance(value, Encoder):
        from graphwright.models.wrappers import FunctionEncoder

        return FunctionEncoder(_function(value, "encoder"))
    encoder: NamedEncoder = _checked(value, NamedEncoder, "encoder", ("id", "encode"))
    return encoder


def _encoder_named(name: str) -> NamedEncoder:
    kind, _, rest = name.partition(":")
    if name == EMBEDDED:
        from graphwright.models.embedded.encoder import MiniLM

        return MiniLM()
    if kind == "sbert" and rest:
        from graphwright.models.sentence_transformers.encoders import SentenceTransformerEncoder

        return SentenceTransformerEncoder(rest)
    if kind == "openai" and rest:
        from graphwright.models.openai.encoder import OpenAIEncoder

        return OpenAIEncoder(*_model_and_url(rest))
    raise _unknown(name, "encoder", f"{EMBEDDED}, sbert:NAME or openai:MODEL[@URL]")


def cross_encoder_of(value: object) -> CrossEncoder:
    """Return a cross-encoder, given its name, itself, or a function of a query and a list of texts.

    >>> cross_encoder_of("minilm")
    MiniLMCrossEncoder()
    """
    if isinstance(value, str):
        return _cross_encoder_named(value)
    if callable(value) and not hasattr(value, "latents"):
        from graphwright.models.wrappers import FunctionCrossEncoder

        return FunctionCrossEncoder(_function(value, "cross-encoder"))
    cross_encoder: CrossEncoder = _checked(value, CrossEncoder, "cross-encoder", ("latents", "head"))
    return cross_encoder


def _cross_encoder_named(name: str) -> CrossEncoder:
    kind, _, rest = name.partition(":")
    if name == EMBEDDED:
        from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder

        return MiniLMCrossEncoder()
    if kind == "sbert" and rest:
        from graphwright.models.sentence_transformers.cross_encoder import SentenceTransformerCrossEncoder

        return SentenceTransformerCrossEncoder(rest)
    raise _unknown(name, "cross-encoder", f"{EMBEDDED} or sbert:NAME")


def reader_of(value: object) -> Reader:
    """Return a reader, given its name, itself, or a function of a question and a list of passages.

    >>> reader_of("minilm")
    MiniLMReader()
    """
    if isinstance(value, str):
        return _reader_named(value)
    if callable(value) and not hasattr(value, "read"):
        from graphwright.models.wrappers import FunctionReader

        return FunctionReader(_function(value, "reader"))
    reader: Reader = _checked(value, Reader, "reader", ("read",))
    return reader


def _reader_named(name: str) -> Reader:
    kind, _, rest = name.partition(":")
    if name == EMBEDDED:
        from graphwright.models.embedded.reader import MiniLMReader

        return MiniLMReader()
    if kind == "sbert" and rest:
        from graphwright.models.sentence_transformers.reader import TransformersReader

        return TransformersReader(rest)
    raise _unknown(name, "reader", f"{EMBEDDED} or sbert:NAME")


def _model_and_url(name: str) -> tuple[str, str | None]:
    model, separator, url = name.rpartition("@http")  # names of models may contain an @
    return (model, f"http{url}") if separator else (name, None)


def _unknown(name: str, kind: str, names: str) -> OptionError:
    return OptionError(f"There is no {kind} {name!r}. Give {names}.")


def _function(value: Callable[..., Any], kind: str) -> Callable[..., Any]:
    if isinstance(value, type):
        raise OptionError(f"{value.__name__} is a class; give an object of it as the {kind}: {value.__name__}(...).")
    return value


def _checked(value: Any, protocol: type[Any], kind: str, names: tuple[str, ...]) -> Any:
    """Return an object that has the methods of a protocol. Raises OptionError with the ones that it lacks."""
    if isinstance(value, type):
        _function(value, kind)
    if isinstance(value, protocol):
        return value
    missing = " and ".join(f"`{name}`" for name in names if not hasattr(value, name))
    raise OptionError(
        f"{value!r} is no {kind}: it lacks {missing}. Give a name, an object with "
        f"{' and '.join(f'`{name}`' for name in names)}, or a function."
    )
