"""Models by name, object or function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from graphwright.errors import OptionError
from graphwright.models.functions import FunctionCrossEncoder, FunctionEncoder, FunctionLLM, FunctionReader
from graphwright.models.protocols import LLM, CrossEncoder, NamedEncoder, Reader

EMBEDDED = "minilm"
"""The name of the embedded models."""
_MULTILINGUAL = "multilingual"
_WITHOUT_NAME = (EMBEDDED, _MULTILINGUAL)
_FORMS = {name: name for name in _WITHOUT_NAME} | {
    "sbert": "sbert:NAME", "openai": "openai:MODEL@URL",
}  # fmt: skip
_Model = TypeVar("_Model")


@dataclass(frozen=True)
class _Kind(Generic[_Model]):
    """A kind of model: its name, its protocol with its attributes, and the classes for functions and for names.

    `arguments`: the argument lists that a function may have. The classes for names are in `graphwright.models`, and
    imported when they are needed.
    """

    name: str
    protocol: Any
    attributes: tuple[str, ...]
    function: Callable[[Callable[..., Any]], Any]
    classes: dict[str, str]
    arguments: tuple[tuple[str, ...], ...]

    def model(self, value: Any) -> _Model:
        """Return the model for a name, an object or a function. Raises OptionError for anything else."""
        if isinstance(value, type):
            raise OptionError(f"{value.__name__} is a class; give an object of it as the {self.name}.")
        if isinstance(value, str):
            return cast(_Model, self._named(value))
        if not isinstance(value, self.protocol):
            if not callable(value) or hasattr(value, self.attributes[-1]):
                missing = " and ".join(f"`{name}`" for name in self.attributes if not hasattr(value, name))
                raise OptionError(
                    f"{value!r} is no {self.name}: it lacks {missing}. Give a name, an object with "
                    f"{' and '.join(f'`{name}`' for name in self.attributes)}, or a function."
                )
            _check_signature(value, self.arguments, self.name)
            return cast(_Model, self.function(value))
        return cast(_Model, value)

    def _named(self, name: str) -> Any:
        kind, _, rest = name.partition(":")
        if kind not in self.classes or bool(rest) == (kind in _WITHOUT_NAME):
            forms = " or ".join(_FORMS[each] for each in self.classes)
            raise OptionError(f"There is no {self.name} {name!r}. Give {forms}.")
        arguments = [rest] if rest else []
        if kind == "openai":
            model, separator, url = rest.rpartition("@http")  # names of models may contain an @
            arguments = [model, f"http{url}"] if separator else [rest]
        return getattr(import_module("graphwright.models"), self.classes[kind])(*arguments)


_LLM = _Kind[LLM](
    "language model", LLM, ("id", "complete"), FunctionLLM, {"openai": "OpenAILLM"}, (("prompt",), ("system", "user"))
)
_ENCODER = _Kind[NamedEncoder](
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
_CROSS_ENCODER = _Kind[CrossEncoder](
    "cross-encoder",
    CrossEncoder,
    ("head", "latents"),
    FunctionCrossEncoder,
    {EMBEDDED: "MiniLMCrossEncoder", "sbert": "SentenceTransformerCrossEncoder"},
    (("query", "texts"),),
)
_READER = _Kind[Reader](
    "reader", Reader, ("read",), FunctionReader, {EMBEDDED: "MiniLMReader"}, (("question", "passages"),)
)


def _check_signature(function: Callable[..., Any], arguments: Sequence[Sequence[str]], kind: str) -> None:
    """Raise OptionError for a function that takes none of these argument lists; built-ins may have no signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    for names in arguments:
        try:
            signature.bind(*names)
            return
        except TypeError:
            continue
    forms = " or ".join(f"({', '.join(names)})" for names in arguments)
    raise OptionError(f"{function!r}{signature} cannot be called as the {kind}; it must take {forms}.")


def llm_of(value: object) -> LLM:
    """Return a language model, given its name, itself, or a function of one prompt or of system and user prompt.

    >>> llm_of("qwen3:8b@http://localhost:11434/v1")
    OpenAILLM('qwen3:8b', base_url='http://localhost:11434/v1')
    """
    if isinstance(value, str) and value:
        value = f"openai:{value.removeprefix('openai:')}"
    return _LLM.model(value)


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
