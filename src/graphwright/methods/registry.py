"""Registry of all methods by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from numbers import Integral, Real
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from graphwright.errors import NeedsError, OptionError, meant
from graphwright.methods.answering import method_with_search
from graphwright.methods.method import LIMITS_HELP, Builder, Help, Method
from graphwright.models.protocols import LLM
from graphwright.models.registry import cross_encoder_of, encoder_of, llm_of, reader_of
from graphwright.operators.operator import Operator
from graphwright.search.snapshot import Snapshot

_NUMBERS: Mapping[object, tuple[type, str]] = {int: (Integral, "a whole number"), float: (Real, "a number")}
"""Types of numeric options: the values that they accept, and their names in messages."""


@dataclass(frozen=True)
class Option:
    """An option of a method, as the signature of its builder declares it; `default` is None for a required one."""

    name: str
    type: object
    default: Any
    required: bool
    help: str

    def check(self, method: str, value: object) -> None:
        """Raise OptionError if the value of a numeric option is not a number."""
        accepted, kind = _NUMBERS.get(self.type, (object, ""))
        if not isinstance(value, accepted) or (kind and isinstance(value, bool)):
            raise OptionError(f"{method}: {self.name} is {value!r}; it must be {kind} (default: {self.default!r}).")


def declared_options(build: Callable[..., Method]) -> dict[str, Option]:
    """Return the options of a builder by name: its parameters after the first, with the Help of their annotations."""
    hints = get_type_hints(build, include_extras=True)
    options = {}
    for name, parameter in list(inspect.signature(build).parameters.items())[1:]:
        kind, *metadata = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        text = next((part.text for part in metadata if isinstance(part, Help)), "")
        required = parameter.default is parameter.empty
        options[name] = Option(name, kind, None if required else parameter.default, required, text)
    return options


def _judge_of(value: object) -> object:
    """Return the scoring model of a method of LEGO-GraphRAG: a cross-encoder by its name, or any model itself."""
    return cross_encoder_of(value) if isinstance(value, str) else value


MODELS: Mapping[str, Callable[[object], Any]] = {
    "llm": llm_of,
    "encoder": encoder_of,
    "cross_encoder": cross_encoder_of,
    "judge": _judge_of,
    "retrieval_llm": llm_of,
    "reader": reader_of,
}
"""Arguments of methods that are models, with the function that makes the model from its name."""


@dataclass(frozen=True)
class NamedMethod:
    """A method of the registry: `build` makes it over a snapshot; its options are the further arguments of `build`.

    `builder`: that function, or the module of methods in which it has the name of the method.
    """

    name: str
    builder: Callable[..., Method] | str

    def __call__(self, snapshot: Snapshot, **options: Any) -> Method:
        """Return the method over a snapshot. Raises OptionError for a missing option or a wrong number."""
        missing = [name for name in self.required if options.get(name) is None]
        if missing:
            raise OptionError(
                f"{self.name} needs a language model ({' and '.join(missing)}), which has no offline twin. Name one, "
                f"as --llm MODEL does on the command line."
            )
        for option in self._declared.values():
            option.check(self.name, options.get(option.name, option.default))
        limits = [options.pop(name, None) for name in LIMITS_HELP]
        return self.build(snapshot, **options).within(*limits)

    @property
    def about(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.build) or "").partition("\n")[0]

    @property
    def options(self) -> dict[str, Any]:
        """Its options with their defaults, None for a required one."""
        defaults = {name: option.default for name, option in self._declared.items()}
        return defaults | dict.fromkeys(LIMITS_HELP) if self._shows_passages else defaults

    @property
    def help(self) -> dict[str, str]:
        """The help of each option."""
        texts = {name: option.help for name, option in self._declared.items()}
        return {**texts, **LIMITS_HELP} if self._shows_passages else texts

    @property
    def required(self) -> tuple[str, ...]:
        """The options without a default, such as the language model of `vanilla`."""
        return tuple(name for name, option in self._declared.items() if option.required)

    @property
    def _shows_passages(self) -> bool:
        return "llm" in self._declared and "llm" not in self.required

    @cached_property
    def build(self) -> Callable[..., Method]:
        """The function that makes the method, imported when first used: a question needs few of the modules."""
        if not isinstance(self.builder, str):
            return self.builder
        module = import_module(f"graphwright.methods.{self.builder}")
        function: Callable[..., Method] = getattr(module, self.name.replace("-", "_"))
        return function

    @cached_property
    def _declared(self) -> dict[str, Option]:
        return declared_options(self.build)


_MODULES: tuple[tuple[str, str], ...] = (
    ("house", "vanilla cot vector bm25 hybrid multihop ppr"),
    ("papers.passages", "hyde ircot"),
    ("papers.pagerank", "hipporag hipporag2 proprag linearrag"),
    ("papers.paths", "clue-rag"),
    ("papers.communities", "lightrag-local lightrag-global lightrag-hybrid graphrag-local graphrag-global raptor"),
    ("papers.trees", "g-retriever"),
    ("house", "rerank multihop-rerank graph"),
    ("papers.passages", "gar fastinsight fastinsight-entities"),
    ("papers.trees", "bubblerag"),
    ("papers.paths", "pathrag pathrag-lt reg"),
    ("papers.lego", " ".join(f"lego-{number}" for number in range(1, 16))),
    ("papers.lego_systems", "rog gsr kelp tog grag-m gcr"),
)

METHODS = {name: NamedMethod(name, module) for module, names in _MODULES for name in names.split()}
GROUPS: Mapping[str, tuple[str, ...]] = {  # the methods in the order of lists, by heading
    "Recommended": ("multihop", "multihop-rerank", "graph"),
    "Other searches": ("vector", "bm25", "hybrid", "ppr", "rerank"),
    "Published, over documents": (
        *("bubblerag", "fastinsight", "fastinsight-entities", "pathrag", "pathrag-lt", "hipporag", "hipporag2"),
        *("proprag", "linearrag", "clue-rag", "lightrag-local", "lightrag-global", "lightrag-hybrid", "graphrag-local"),
        *("graphrag-global", "raptor", "g-retriever", "gar", "hyde", "ircot"),
    ),
    "Published, over knowledge graphs": ("reg", "rog", "gsr", "kelp", "tog", "grag-m", "gcr"),
    "Instances of LEGO-GraphRAG": tuple(name for name in METHODS if name.startswith("lego-")),
    "A language model alone": ("vanilla", "cot"),
}


def default_method(*, imported: bool) -> str:
    """Return the name of the method that is used if none is given: over documents, or over an imported graph."""
    return "graph" if imported else "multihop"


def method_named(name: str) -> NamedMethod:
    """Return a method. Raises OptionError for an unknown name, with the nearest known one."""
    method = METHODS.get(name)
    if method is None:
        raise OptionError(
            f"There is no method {name!r}.{meant(name, METHODS)} The methods are {', '.join(sorted(METHODS))}."
        )
    return method


def make_method(name: str, snapshot: Snapshot, **options: Any) -> Method:
    """Return a method over a snapshot; models among its options are given by name, as objects or as functions.

    Raises OptionError for an unknown name or option, with the known ones.
    """
    named = method_named(name)
    unknown = sorted(set(options) - set(named.options))
    if unknown:
        hint = meant(unknown[0], named.options)
        arguments = ", ".join(named.options) or "none"
        raise OptionError(f"{name} has no argument {unknown[0]!r}.{hint} Its arguments are: {arguments}.")
    models = {key: MODELS[key](options[key]) for key in MODELS if options.get(key) is not None}
    method = named(snapshot, **{**options, **models})
    if needs := method.pipeline.needs:
        # A named method starts from a question alone, so another need is a fault in its wiring.
        raise NeedsError(f"Method {name!r} needs {', '.join(needs)} from its start state: {method!r}.")
    return method


def method_of(
    method: str | Operator | Method | Builder, snapshot: Snapshot, llm: object = None, **options: Any
) -> Method:
    """Return a method over a snapshot, given its name, itself, an operator, or a function that returns either.

    `options`: those of a named method; `llm`: the language model of a named method, of a function with a parameter
    `llm`, and of the answer of an operator. Raises OptionError for anything else.
    """
    if isinstance(method, str):
        return make_method(method, snapshot, **({} if llm is None else {"llm": llm}), **options)
    if options:
        raise OptionError(f"{sorted(options)} are arguments of a named method; {method!r} takes none.")
    model = None if llm is None else llm_of(llm)
    built = method if isinstance(method, Operator | Method) else _built(method, snapshot, model)
    return built if isinstance(built, Method) else method_with_search(built, snapshot, model)


def _built(method: Builder, snapshot: Snapshot, llm: LLM | None) -> Operator | Method:
    """Return the operator or method of a function of a snapshot, with `llm` if it takes one, else raise OptionError."""
    if not callable(method):
        raise OptionError(
            f"{method!r} is not a method: give a name, an operator, or a function from a snapshot to one."
        )
    try:
        signature = inspect.signature(method)
        models = {"llm": llm} if "llm" in signature.parameters else {}
        signature.bind(snapshot, **models)
    except (TypeError, ValueError) as error:  # ValueError: a built-in function without a signature
        raise OptionError(f"{method!r} must take one argument, the snapshot: {error}.") from error
    built = method(snapshot, **models)
    if not isinstance(built, Operator | Method):
        raise OptionError(f"{method!r} returned {built!r}; a function given as a method must return an operator.")
    return built
