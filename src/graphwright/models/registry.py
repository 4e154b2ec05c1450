"""Models by name, object or function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphwright.errors import GraphwrightError, ModelError, OptionError
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


@dataclass(frozen=True)
class _Function:
    function: Callable[..., Any]

    @property
    def id(self) -> str:
        """Module and name of the function."""
        named = self.function if hasattr(self.function, "__qualname__") else type(self.function)
        return f"{named.__module__}.{named.__qualname__}"

    def _call(self, kind: str, *arguments: Any) -> Any:
        """Return the function's result. Raises ModelError where it fails or returns a coroutine."""
        try:
            result = self.function(*arguments)
        except GraphwrightError:
            raise
        except Exception as error:
            raise ModelError(f"The {kind} {self.id} failed: {type(error).__name__}: {error}. Correct it.") from error
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise ModelError(f"The {kind} {self.id} is asynchronous; give a function that returns its result.")
        return result


@dataclass(frozen=True)
class FunctionLLM(_Function):
    """A language model made of a function of one prompt, or of system and user prompt; tokens are estimated."""

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt, as LLM.complete does."""
        if schema is not None:
            system = "\n\n".join(filter(None, (system, schema_prompt(schema))))
        return complete_by(self._reply, system, user, self.id, estimated_tokens, schema, on_text, cancel)

    def _reply(self, system: str, user: str) -> str:
        prompts = (system, user) if _takes_two(self.function) else ("\n\n".join(filter(None, (system, user))),)
        text = self._call("language model", *prompts)
        if not isinstance(text, str):
            raise ModelError(f"The language model {self.id} returned {_shown(text)}; it must return a text.")
        return text


@dataclass(frozen=True)
class FunctionEncoder(_Function):
    """An encoder made of a function that maps a list of texts to one vector each, all of one length."""

    _widths: set[int] = field(default_factory=set, init=False, repr=False, compare=False)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension)."""
        if not len(texts):
            return np.empty((0, 0), np.float32)
        rows = _rows(self._call("encoder", list(texts)), len(texts), 2, f"The encoder {self.id}")
        self._widths.add(rows.shape[1])
        if len(self._widths) > 1 or not rows.shape[1]:
            raise ModelError(
                f"The encoder {self.id} returned vectors of {' and '.join(map(str, sorted(self._widths)))} numbers; "
                f"return vectors of one length."
            )
        return rows


@dataclass(frozen=True)
class FunctionCrossEncoder(_Function):
    """A cross-encoder made of a function that maps a query and a list of texts to one score per text, the latent."""

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one score per text: float32, shape (len(texts), 1)."""
        if not len(texts):
            return np.empty((0, 1), np.float32)
        scores = _rows(self._call("cross-encoder", query, list(texts)), len(texts), 1, f"The cross-encoder {self.id}")
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
        spans = self._call("reader", question, list(passages))
        if not isinstance(spans, Iterable) or isinstance(spans, str):
            raise ModelError(f"The reader {self.id} returned {_shown(spans)}; it must return a list of Span.")
        listed = list(spans)
        for span in listed:
            if not isinstance(span, Span) or not 0 <= span.passage < len(passages):
                raise ModelError(f"The reader {self.id} returned {span!r}; it must return spans of the passages.")
            if not 0 <= span.start <= span.end <= len(passages[span.passage].text):
                raise ModelError(
                    f"The reader {self.id} returned {span!r}, but the text of this passage has "
                    f"{len(passages[span.passage].text):,} characters. Count in `text`, without the title."
                )
        return listed


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text[:60]}{'...' if len(text) > 60 else ''}"


def _takes_two(function: Callable[..., Any]) -> bool:
    """Return whether a function takes two positional arguments; False without a signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    required = [
        p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(required) >= 2 or any(p.kind == p.VAR_POSITIONAL for p in parameters)


def _rows(values: ArrayLike, count: int, dimensions: int, model: str) -> Floats:
    """Return the values as float32. Raises ModelError unless they are finite, one row or number per text."""
    try:
        with np.errstate(over="ignore"):
            rows = np.asarray(values, np.float32)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{model} returned {_shown(values)}, which is no array of numbers: {error}.") from error
    if not np.isfinite(rows).all():
        raise ModelError(f"{model} returned numbers that are not finite in float32 (nan or inf).")
    if rows.ndim != dimensions or len(rows) != count:
        per_text = "vector" if dimensions == 2 else "score"
        raise ModelError(
            f"{model} returned an array of shape {rows.shape} for {count} texts; return one {per_text} each."
        )
    return rows


EMBEDDED = "minilm"  # the name of the embedded models
_MULTILINGUAL = "multilingual"
_WITHOUT_NAME = (EMBEDDED, _MULTILINGUAL)
_FORMS = {"sbert": "sbert:NAME", "openai": "openai:MODEL@URL"}


@dataclass(frozen=True)
class _Kind:
    """A kind of model: its name, its protocol with its attributes, and the classes for functions and for names.

    `arguments`: the argument lists that a function may have. The classes for names are in `graphwright.models`.
    """

    name: str
    protocol: Any
    attributes: tuple[str, ...]
    function: Callable[[Callable[..., Any]], Any]
    classes: dict[str, str]
    arguments: tuple[tuple[str, ...], ...]

    def model(self, value: Any) -> Any:
        """Return the model for a name, an object or a function. Raises OptionError for anything else."""
        if isinstance(value, type):
            raise OptionError(f"{value.__name__} is a class; give an object of it as the {self.name}.")
        if isinstance(value, str):
            return self._named(value)
        if not isinstance(value, self.protocol):
            if not callable(value) or hasattr(value, self.attributes[-1]):
                missing = " and ".join(f"`{name}`" for name in self.attributes if not hasattr(value, name))
                raise OptionError(
                    f"{value!r} is no {self.name}: it lacks {missing}. Give a name, an object with "
                    f"{' and '.join(f'`{name}`' for name in self.attributes)}, or a function."
                )
            if not any(_accepts(value, names) for names in self.arguments):
                forms = " or ".join(f"({', '.join(names)})" for names in self.arguments)
                shown = f"{value!r}{inspect.signature(value)}"
                raise OptionError(f"{shown} cannot be called as the {self.name}; it must take {forms}.")
            return self.function(value)
        return value

    def _named(self, name: str) -> Any:
        kind, _, rest = name.partition(":")
        if kind not in self.classes or bool(rest) == (kind in _WITHOUT_NAME):
            forms = " or ".join(_FORMS.get(each, each) for each in self.classes)
            raise OptionError(f"There is no {self.name} {name!r}. Give {forms}.")
        arguments = [rest] if rest else []
        if kind == "openai":
            model, separator, url = rest.rpartition("@http")  # names of models may contain an @
            arguments = [model, f"http{url}"] if separator else [rest]
        return getattr(import_module("graphwright.models"), self.classes[kind])(*arguments)


_LLM = _Kind(
    "language model", LLM, ("id", "complete"), FunctionLLM, {"openai": "OpenAILLM"}, (("prompt",), ("system", "user"))
)
_ENCODER = _Kind(
    "encoder",
    NamedEncoder,
    ("id", "encode"),
    FunctionEncoder,
    {
        EMBEDDED: "MiniLM",
        _MULTILINGUAL: "MultilingualEncoder",
        "sbert": "SentenceTransformerEncoder",
        "openai": "OpenAIEncoder",
    },
    (("texts",),),
)
_CROSS_ENCODER = _Kind(
    "cross-encoder",
    CrossEncoder,
    ("head", "latents"),
    FunctionCrossEncoder,
    {EMBEDDED: "MiniLMCrossEncoder", "sbert": "SentenceTransformerCrossEncoder"},
    (("query", "texts"),),
)
_READER = _Kind("reader", Reader, ("read",), FunctionReader, {EMBEDDED: "MiniLMReader"}, (("question", "passages"),))


def _accepts(function: Callable[..., Any], arguments: Sequence[str]) -> bool:
    """Return whether a function takes these arguments; True for a built-in one without a signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def llm_of(value: object) -> LLM:
    """Return a language model, given its name, itself, or a function of one prompt or of system and user prompt.

    >>> llm_of("qwen3:8b@http://localhost:11434/v1")
    OpenAILLM('qwen3:8b', base_url='http://localhost:11434/v1')
    """
    if isinstance(value, str) and value:
        value = f"openai:{value.removeprefix('openai:')}"
    return _LLM.model(value)  # type: ignore[no-any-return]


def encoder_of(value: object) -> NamedEncoder:
    """Return an encoder, given its name, itself, or a function of a list of texts.

    >>> encoder_of("openai:nomic-embed-text@http://localhost:11434/v1")
    OpenAIEncoder('nomic-embed-text', base_url='http://localhost:11434/v1')
    """
    return _ENCODER.model(value)  # type: ignore[no-any-return]


def cross_encoder_of(value: object) -> CrossEncoder:
    """Return a cross-encoder, given its name, itself, or a function of a query and a list of texts."""
    return _CROSS_ENCODER.model(value)  # type: ignore[no-any-return]


def reader_of(value: object) -> Reader:
    """Return a reader, given its name, itself, or a function of a question and a list of passages."""
    return _READER.model(value)  # type: ignore[no-any-return]
