"""Pipelines as text: expressions of operators, parsed without running any code."""

from __future__ import annotations

import ast
import inspect
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from graphwright.errors import GraphwrightError, OptionError, cut, meant
from graphwright.graph.graph import Kind
from graphwright.learn.registry import load_retriever
from graphwright.methods.registry import METHODS
from graphwright.operators.operator import Operator
from graphwright.operators.subgraph.views import entity_vectors
from graphwright.search.checksummed_index import ChecksummedIndex
from graphwright.search.passage_vectors import dense_index
from graphwright.search.snapshot import INDEXES, Snapshot
from graphwright.search.sparse_postings import SparseIndex
from graphwright.search.vector_index import joined

_INDEX = (*INDEXES, "graph", "encoder")
_ATTRIBUTES = {"ix": _INDEX, "Kind": tuple(Kind.__members__)}
_NAMESPACES = ("graphwright", *(f"graphwright.{name}" for name in ("operators", "generate", "models", "learn")))
_FUNCTIONS = {
    "joined": joined,
    "load_retriever": load_retriever,
    "dense_index": dense_index,
    "entity_vectors": entity_vectors,
    "sparse_index": SparseIndex.of,
}
_EXCLUDED = ("Index",)
_EXAMPLES = {
    "AnsweringReader": "MiniLMReader()",
    "CrossEncoder": "MiniLMCrossEncoder()",
    "Encoder": "ix.encoder",
    "Graph": "ix.graph",
    "Kind": "Kind.CHUNK",
    "LLM": "llm",
    "NamedEncoder": "ix.encoder",
    "Operator": "Keep()",
    "Predicate": "HasEvidence()",
    "Prizes": "Prizes(ix.passages)",
    "Reader": "MiniLMReader()",
    "Summaries": "Summaries(ix.passages)",
    "SparseIndex": "sparse_index(ix.graph, SentenceTransformerSparseEncoder('naver/splade-v3'))",
    "SummaryTree": "SummaryTree(ix.passages)",
    "VectorIndex": "ix.passages",
    "View": "StatementGraph()",
    "WordIndex": "ix.words",
    "int": "10",
    "float": "0.5",
}
"""An argument of each type, for errors about arguments."""
_MAX_SHOWN = 2_000  # characters of an expression in an error
_SYMBOLS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.RShift: operator.rshift,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
}


def read_expression(text: str, snapshot: Snapshot, **names: Any) -> Operator:
    """Return the pipeline that an expression describes, over a snapshot.

    `text`: the expression as in Python: operators and models by name, called with values, combined by `>>`, `%` and
    `|`, and `ix` for the snapshot with its parts, as in `VectorSearch(ix.passages) % 10 >> ToPassages()`. There are no
    other names, attributes or calls. `names`: further names, such as `llm`. Raises OptionError with the position of a
    part that cannot be read.

    >>> from graphwright import Graph, VectorIndex
    >>> from graphwright.search import WordIndex
    >>> from graphwright.models import HashEncoder
    >>> graph, vectors = Graph.from_triples([("a", "r", "b")]), VectorIndex.from_array([[1.0], [2.0]])
    >>> ix = Snapshot(graph, vectors, WordIndex.of(["a", "b"], [0, 1]), None, None, HashEncoder(), {})
    >>> read_expression("VectorSearch(ix.passages) % 10 >> ToPassages()", ix)
    VectorSearch(ix.passages) % 10 >> ToPassages()
    """
    try:
        value = _Parser(text.strip(), {"ix": snapshot, **names}).parse()
    except (MemoryError, RecursionError) as error:
        raise OptionError(f"{cut(text, _MAX_SHOWN)!r} is nested too deeply: {error}.") from None
    if not isinstance(value, Operator):
        raise OptionError(
            f"{text!r} is of type {type(value).__name__}. A method is an operator, such as LinkEntities() >> ...."
        )
    return value


class Expression(str):
    """An option of a method that is an expression, such as `HopFirst()`, made where the index is known.

    >>> Expression("KHop(2)"), read_options("pathrag(order=HopFirst())", "order=HopFirst()")
    (KHop(2), {'order': HopFirst()})
    """

    def value(self, option: str, snapshot: Snapshot | None, **names: Any) -> Any:
        """Return what it describes; `option`: its name, for errors. Arguments and errors as in `read_expression`."""
        try:
            return _Parser(str(self), {"ix": snapshot, **names}).parse()
        except (MemoryError, RecursionError) as error:
            raise OptionError(f"{option}: {cut(self, _MAX_SHOWN)!r} is nested too deeply: {error}.") from None
        except GraphwrightError as error:
            raise OptionError(f"{option}: {error}") from error

    def __repr__(self) -> str:
        return str(self)


def read_options(text: str, arguments: str) -> dict[str, Any]:
    """Return the options in `arguments`, the text between the brackets of a method, as in `restart=0.5, nodes=100`.

    Plain values are returned as they are, anything else as an Expression. `text`: the whole text, for messages. Raises
    OptionError for what is no option, and for an expression that can be read without an index and is wrong.
    """
    whole = f"f({arguments})"
    try:
        call = ast.parse(whole, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        call = None
    one = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args  # "a=1)(b=2" are two calls
    keywords = call.keywords if one and isinstance(call, ast.Call) else []
    options = {keyword.arg: keyword.value for keyword in keywords}
    if not one or None in options or len(options) < len(keywords):
        raise OptionError(
            f"{cut(text, _MAX_SHOWN)!r}: options are written as name=value, each name once: ppr(restart=0.5, top_k=40)."
        )
    return {str(name): _option(whole, str(name), value) for name, value in options.items()}


def _option(text: str, name: str, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        written = Expression(ast.get_source_segment(text, node) or "")
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    if not used & {"ix", "llm"}:
        written.value(name, None)
    return written


def _shown(value: object) -> str:
    return getattr(value, "__name__", repr(value))


class _Parser:
    """A parser of one expression, with the names that it may use."""

    def __init__(self, text: str, names: Mapping[str, Any]) -> None:
        self.text, self.names = text, names

    def parse(self) -> Any:
        """Return the value of the whole expression."""
        try:
            body = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise OptionError(f"{cut(self.text, _MAX_SHOWN)!r} is not an expression of operators: {reason}.") from None
        return self._value(body)

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Tuple() | ast.List():
                values = [self._value(item) for item in node.elts]
                return tuple(values) if isinstance(node, ast.Tuple) else values
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.BinOp() if type(node.op) in _SYMBOLS:
                left, right = self._value(node.left), self._value(node.right)
                if not isinstance(left, Operator):  # numbers and texts have a % too
                    raise self._error(node.left, f"{type(left).__name__} before >>, % or | is not an operator")
                return self._attempt(node, lambda: _SYMBOLS[type(node.op)](left, right))
            case ast.Name():
                return self._named(node)
            case ast.Attribute(value=ast.Name(id="ix" | "Kind" as name)) if node.attr in _ATTRIBUTES[name]:
                return Kind[node.attr] if name == "Kind" else self._part(node)
            case ast.Call(func=ast.Name()) if all(keyword.arg for keyword in node.keywords):
                return self._call(node)
        raise self._error(
            node, f"only operators and models, values, >>, %, | and ix.{{{', '.join(_INDEX)}}} may be used"
        )

    def _call(self, node: ast.Call) -> Any:
        function = self._named(node.func)
        arguments = [self._value(argument) for argument in node.args]
        keywords = {str(keyword.arg): self._value(keyword.value) for keyword in node.keywords}
        if len(keywords) < len(node.keywords):
            raise self._error(node, "an argument is given twice")
        self._check_arguments(node, function, arguments, keywords)
        made = self._attempt(node, lambda: function(*arguments, **keywords))
        return made.named(ast.unparse(node)) if isinstance(made, ChecksummedIndex) else made

    def _check_arguments(
        self, node: ast.Call, function: Any, arguments: list[Any], keywords: Mapping[str, Any]
    ) -> None:
        """Raise OptionError for arguments that a class or function does not take, with those that it takes."""
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):  # a value that is no function, or a class of C
            return
        try:
            signature.bind(*arguments, **keywords)
        except TypeError as error:
            name, parameters = ast.unparse(node.func), signature.parameters.values()
            taken = ", ".join(p.name if p.default is p.empty else f"{p.name}={_shown(p.default)}" for p in parameters)
            example = self._example(name, parameters)
            such = f", such as {example}" if example else ""
            raise self._error(node, f"{error}. It is written {name}({taken}){such}") from None

    def _example(self, name: str, parameters: Iterable[inspect.Parameter]) -> str:
        """Return a call with an example of each argument that is required, "" where there is none for one of them."""
        required = [p for p in parameters if p.default is p.empty]
        examples = [self._example_of(p) for p in required]
        return f"{name}({', '.join(examples)})" if all(examples) else ""

    def _example_of(self, parameter: inspect.Parameter) -> str:
        if parameter.name in INDEXES:
            return f"ix.{parameter.name}"
        kinds = re.findall(r"\w+", str(parameter.annotation))
        known = (kind for kind in kinds if kind in _EXAMPLES and (kind != "LLM" or "llm" in self.names))
        return _EXAMPLES.get(next(known, ""), "")

    def _named(self, node: ast.expr) -> Any:
        name = node.id if isinstance(node, ast.Name) else ""
        if name in self.names:
            return self.names[name]
        public = {name: module for module in map(import_module, _NAMESPACES) for name in dir(module)}
        value = getattr(public[name], name) if name in public and name not in _EXCLUDED else None
        if name in _FUNCTIONS:
            return _FUNCTIONS[name]
        if isinstance(value, type) and not issubclass(value, BaseException):
            return value
        if name == "llm":
            raise self._error(node, "no language model is given; name one, as --llm MODEL does on the command line")
        if name in METHODS:
            problem = f"{name} is a method, and no operator: give it alone, or the steps that its repr has"
            raise self._error(node, problem)
        hint = meant(name, [*(public.keys() - {name, *_EXCLUDED}), *_FUNCTIONS, *self.names, *METHODS])
        raise self._error(node, f"there is no {name!r} here", hint)

    def _part(self, node: ast.Attribute) -> Any:
        value = getattr(self.names["ix"], node.attr)
        if value is None:
            raise self._error(node, f"the index has no vectors of {node.attr}; embed them")
        return value

    def _attempt(self, node: ast.expr, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except (GraphwrightError, RecursionError):
            raise
        except Exception as error:
            raise self._error(node, f"{type(error).__name__}: {error}") from error

    def _error(self, node: ast.expr, problem: str, hint: str = "") -> OptionError:
        part = ast.get_source_segment(self.text, node) or ""
        context = "" if part == self.text else f" of {cut(self.text, _MAX_SHOWN)!r}"
        line = re.split(r"\r\n?|\n", self.text)[node.lineno - 1]
        before = line.encode()[: node.col_offset].decode()  # ast counts bytes
        return OptionError(f"{cut(part, _MAX_SHOWN)!r}{context} (character {len(before) + 1}): {problem}.{hint}")
