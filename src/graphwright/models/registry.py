"""Models by name, object or function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from graphwright.errors import ModelError, OptionError
from graphwright.models.budget import estimated_tokens
from graphwright.models.protocols import (
    LLM,
    Cancel,
    Completion,
    CrossEncoder,
    Floats,
    NamedEncoder,
    OnText,
    PassageText,
    Reader,
    Schema,
    Span,
)
from graphwright.models.structured import complete_by, schema_prompt

__all__ = [
    "EMBEDDED",
    "FunctionCrossEncoder",
    "FunctionEncoder",
    "FunctionLLM",
    "FunctionReader",
    "cross_encoder_of",
    "encoder_of",
    "llm_of",
    "reader_of",
]


@dataclass(frozen=True)
class _Function:
    """A model made of a function."""

    function: Callable[..., Any]

    @property
    def id(self) -> str:
        """Module and name of the function."""
        named = self.function if hasattr(self.function, "__qualname__") else type(self.function)
        return f"{named.__module__}.{named.__qualname__}"


@dataclass(frozen=True)
class FunctionLLM(_Function):
    """A language model made of a function of one prompt, or of a system and a user prompt, that returns a text.

    A schema is described in the prompt. Tokens are estimated.

    >>> FunctionLLM(lambda prompt: prompt.upper()).complete("Shout.", "two words").text
    'SHOUT.\\n\\nTWO WORDS'
    """

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt, as LLM.complete does."""
        if schema is not None:
            system = "\n\n".join(filter(None, (system, schema_prompt(schema))))
        return complete_by(self._reply, system, user, self.id, estimated_tokens, schema, on_text, cancel)

    def _reply(self, system: str, user: str) -> str:
        if _takes_two(self.function):
            text = self.function(system, user)
        else:
            text = self.function("\n\n".join(filter(None, (system, user))))
        if not isinstance(text, str):
            raise ModelError(f"The language model {self.id} returned {type(text).__name__}; it must return a text.")
        return text


@dataclass(frozen=True)
class FunctionEncoder(_Function):
    """An encoder made of a function that maps a list of texts to one vector each.

    >>> FunctionEncoder(lambda texts: [[len(text), 1.0] for text in texts]).encode(["a", "fox"]).tolist()
    [[1.0, 1.0], [3.0, 1.0]]
    """

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension)."""
        if not len(texts):
            return np.empty((0, 0), np.float32)
        return _rows(self.function(list(texts)), len(texts), 2, f"The encoder {self.id}")


@dataclass(frozen=True)
class FunctionCrossEncoder(_Function):
    """A cross-encoder made of a function that maps a query and a list of texts to one score per text.

    The latent is the score.

    >>> model = FunctionCrossEncoder(lambda query, texts: [text.count(query) for text in texts])
    >>> model.head(model.latents("fox", ["a fox", "a hen"])).tolist()
    [1.0, 0.0]
    """

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one score per text: float32, shape (len(texts), 1)."""
        if not len(texts):
            return np.empty((0, 1), np.float32)
        scores = _rows(self.function(query, list(texts)), len(texts), 1, f"The cross-encoder {self.id}")
        return scores[:, None]

    def head(self, latents: Floats) -> Floats:
        """Return the scores: float32, shape (n,)."""
        return latents[:, 0]


@dataclass(frozen=True)
class FunctionReader(_Function):
    """A reader made of a function that maps a question and a list of passages to spans, best first."""

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return spans, best first; none where the passages do not answer."""
        if not len(passages):
            return []
        spans = list(self.function(question, list(passages)))
        for span in spans:
            if not isinstance(span, Span) or not 0 <= span.passage < len(passages):
                raise ModelError(f"The reader {self.id} returned {span!r}; it must return spans of the passages.")
        return spans


def _takes_two(function: Callable[..., Any]) -> bool:
    """Return whether a function takes two positional arguments; not where it has no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    required = [
        p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(required) >= 2 or any(p.kind == p.VAR_POSITIONAL for p in parameters)


def _rows(values: ArrayLike, count: int, dimensions: int, model: str) -> Floats:
    """Return the values as float32. Raises ModelError for another shape than one row or number per text."""
    rows = np.asarray(values, np.float32)
    if rows.ndim != dimensions or len(rows) != count:
        per_text = "vector" if dimensions == 2 else "score"
        raise ModelError(
            f"{model} returned an array of shape {rows.shape} for {count} texts; return one {per_text} each."
        )
    return rows


EMBEDDED = "minilm"
"""The name of the embedded models."""
_FORMS = {EMBEDDED: EMBEDDED, "sbert": "sbert:NAME", "openai": "openai:MODEL@URL"}
_Model = TypeVar("_Model")


@dataclass(frozen=True)
class _Kind(Generic[_Model]):
    """A kind of model: its name, its protocol with its attributes, and the classes for functions and for names.

    The classes for names are in `graphwright.models`, which imports them when they are needed.
    """

    name: str
    protocol: Any
    attributes: tuple[str, ...]
    function: Callable[[Callable[..., Any]], Any]
    classes: dict[str, str]

    def model(self, value: Any) -> _Model:
        """Return the model for a name, an object or a function. Raises OptionError for anything else."""
        if isinstance(value, type):
            raise OptionError(f"{value.__name__} is a class; give an object of it as the {self.name}.")
        model: Any = value
        if isinstance(value, str):
            model = self._named(value)
        elif not isinstance(value, self.protocol):
            if not callable(value) or hasattr(value, self.attributes[-1]):
                missing = " and ".join(f"`{name}`" for name in self.attributes if not hasattr(value, name))
                raise OptionError(
                    f"{value!r} is no {self.name}: it lacks {missing}. Give a name, an object with "
                    f"{' and '.join(f'`{name}`' for name in self.attributes)}, or a function."
                )
            model = self.function(value)
        return cast(_Model, model)

    def _named(self, name: str) -> Any:
        kind, _, rest = name.partition(":")
        if kind not in self.classes or bool(rest) == (kind == EMBEDDED):
            forms = " or ".join(_FORMS[each] for each in self.classes)
            raise OptionError(f"There is no {self.name} {name!r}. Give {forms}.")
        arguments = [rest] if rest else []
        if kind == "openai":
            model, separator, url = rest.rpartition("@http")  # names of models may contain an @
            arguments = [model, f"http{url}"] if separator else [rest]
        return getattr(import_module("graphwright.models"), self.classes[kind])(*arguments)


_LLM = _Kind[LLM]("language model", LLM, ("id", "complete"), FunctionLLM, {"openai": "OpenAILLM"})
_ENCODER = _Kind[NamedEncoder](
    "encoder",
    NamedEncoder,
    ("id", "encode"),
    FunctionEncoder,
    {EMBEDDED: "MiniLM", "sbert": "SentenceTransformerEncoder", "openai": "OpenAIEncoder"},
)
_CROSS_ENCODER = _Kind[CrossEncoder](
    "cross-encoder",
    CrossEncoder,
    ("head", "latents"),
    FunctionCrossEncoder,
    {EMBEDDED: "MiniLMCrossEncoder", "sbert": "SentenceTransformerCrossEncoder"},
)
_READER = _Kind[Reader]("reader", Reader, ("read",), FunctionReader, {EMBEDDED: "MiniLMReader"})


def llm_of(value: object) -> LLM:
    """Return a language model, given its name, itself, or a function of one prompt or of system and user prompt.

    >>> llm_of("qwen3:8b@http://localhost:11434/v1")
    OpenAILLM('qwen3:8b', base_url='http://localhost:11434/v1')
    """
    return _LLM.model(f"openai:{value.removeprefix('openai:')}" if value and isinstance(value, str) else value)


def encoder_of(value: object) -> NamedEncoder:
    """Return an encoder, given its name, itself, or a function of a list of texts.

    >>> encoder_of("openai:nomic-embed-text@http://localhost:11434/v1")
    OpenAIEncoder('nomic-embed-text', base_url='http://localhost:11434/v1')
    """
    return _ENCODER.model(value)


def cross_encoder_of(value: object) -> CrossEncoder:
    """Return a cross-encoder, given its name, itself, or a function of a query and a list of texts.

    >>> cross_encoder_of("minilm")
    MiniLMCrossEncoder()
    """
    return _CROSS_ENCODER.model(value)


def reader_of(value: object) -> Reader:
    """Return a reader, given its name, itself, or a function of a question and a list of passages.

    >>> reader_of("minilm")
    MiniLMReader()
    """
    return _READER.model(value)
