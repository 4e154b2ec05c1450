"""Models as users give them: a name, an object, or a plain Python function.

A name is short enough for a command line or the settings of an index:

    minilm                     the embedded model (not for `llm`)
    sbert:NAME                 a model of Hugging Face, by sentence-transformers or transformers (not for `llm`)
    openai:MODEL[@URL]         a model of a server with the interface of OpenAI (for `llm` and `encoder`)
    MODEL[@URL]                the same, for `llm`
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from graphwright.errors import OptionError
from graphwright.models.protocols import LLM, CrossEncoder, NamedEncoder, Reader

__all__ = ["EMBEDDED", "cross_encoder_of", "encoder_of", "llm_of", "reader_of"]

EMBEDDED = "minilm"
"""The name of the embedded models."""


def llm_of(value: object) -> LLM:
    """Return a language model, given its name, itself, or a function of one prompt or of system and user prompt.

    >>> llm_of("qwen3:8b@http://localhost:11434/v1")
    OpenAILLM('qwen3:8b', base_url='http://localhost:11434/v1')
    """
    if isinstance(value, str) and value and not value.startswith("openai:"):
        value = f"openai:{value}"
    llm: LLM = _LLM.model(value)
    return llm


def encoder_of(value: object) -> NamedEncoder:
    """Return an encoder, given its name, itself, or a function of a list of texts.

    >>> encoder_of("openai:nomic-embed-text@http://localhost:11434/v1")
    OpenAIEncoder('nomic-embed-text', base_url='http://localhost:11434/v1')
    """
    encoder: NamedEncoder = _ENCODER.model(value)
    return encoder


def cross_encoder_of(value: object) -> CrossEncoder:
    """Return a cross-encoder, given its name, itself, or a function of a query and a list of texts.

    >>> cross_encoder_of("minilm")
    MiniLMCrossEncoder()
    """
    cross_encoder: CrossEncoder = _CROSS_ENCODER.model(value)
    return cross_encoder


def reader_of(value: object) -> Reader:
    """Return a reader, given its name, itself, or a function of a question and a list of passages.

    >>> reader_of("minilm")
    MiniLMReader()
    """
    reader: Reader = _READER.model(value)
    return reader


@dataclass(frozen=True)
class _Kind:
    """A kind of model: its name, its protocol, the attributes of that, and the classes of named ones and functions.

    A class is given by its module in `graphwright.models` and its name, and imported when it is needed.
    """

    name: str
    protocol: Any
    attributes: tuple[str, ...]
    function: str
    classes: dict[str, str]

    def model(self, value: Any) -> Any:
        """Return the model for a name, an object or a function. Raises OptionError for anything else."""
        if isinstance(value, type):
            raise OptionError(f"{value.__name__} is a class; give an object of it as the {self.name}.")
        if isinstance(value, str):
            return self._named(value)
        if isinstance(value, self.protocol):
            return value
        if callable(value) and not hasattr(value, self.attributes[-1]):
            return _imported(self.function)(value)
        missing = " and ".join(f"`{name}`" for name in self.attributes if not hasattr(value, name))
        raise OptionError(
            f"{value!r} is no {self.name}: it lacks {missing}. Give a name, an object with "
            f"{' and '.join(f'`{name}`' for name in self.attributes)}, or a function."
        )

    def _named(self, name: str) -> Any:
        kind, _, rest = name.partition(":")
        if kind not in self.classes or bool(rest) == (kind == EMBEDDED):
            forms = " or ".join(_FORMS[each] for each in self.classes)
            raise OptionError(f"There is no {self.name} {name!r}. Give {forms}.")
        arguments = [rest] if rest else []
        if kind == "openai":
            model, separator, url = rest.rpartition("@http")  # names of models may contain an @
            arguments = [model, f"http{url}"] if separator else [rest]
        return _imported(self.classes[kind])(*arguments)


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(f"graphwright.models.{module}"), name)


_FORMS = {EMBEDDED: EMBEDDED, "sbert": "sbert:NAME", "openai": "openai:MODEL@URL"}
_LLM = _Kind("language model", LLM, ("id", "complete"), "wrappers:FunctionLLM", {"openai": "openai.llm:OpenAILLM"})
_ENCODER = _Kind(
    "encoder",
    NamedEncoder,
    ("id", "encode"),
    "wrappers:FunctionEncoder",
    {
        EMBEDDED: "embedded.encoder:MiniLM",
        "sbert": "sentence_transformers.encoders:SentenceTransformerEncoder",
        "openai": "openai.encoder:OpenAIEncoder",
    },
)
_CROSS_ENCODER = _Kind(
    "cross-encoder",
    CrossEncoder,
    ("head", "latents"),
    "wrappers:FunctionCrossEncoder",
    {
        EMBEDDED: "embedded.cross_encoder:MiniLMCrossEncoder",
        "sbert": "sentence_transformers.cross_encoder:SentenceTransformerCrossEncoder",
    },
)
_READER = _Kind(
    "reader",
    Reader,
    ("read",),
    "wrappers:FunctionReader",
    {
        EMBEDDED: "embedded.reader:MiniLMReader",
        "sbert": "sentence_transformers.reader:TransformersReader",
    },
)
