"""Pipelines as text: expressions of operators, parsed without running any code."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from graphwright.errors import GraphwrightError, OptionError, cut, meant
from graphwright.graph.graph import Kind
from graphwright.index.inverted_index import SparseIndex
from graphwright.index.passage_vectors import dense_index
from graphwright.index.snapshot import INDEXES, Snapshot
from graphwright.index.vector_index import ChecksummedIndex, joined
from graphwright.learn.registry import load_retriever
from graphwright.operators.operator import Operator
from graphwright.operators.subgraph.views import entity_vectors

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
    >>> from graphwright.index import WordIndex
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


def literals(text: str, arguments: str) -> dict[str, Any]:
    """Return the options in `arguments`, the text between the brackets of a method, as in `restart=0.5, nodes=100`.

    `text`: the whole text, for messages. Raises OptionError for anything but names with plain values.
    """
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):  # "a=1)(b=2" are two calls
            raise ValueError
        names = [keyword.arg for keyword in call.keywords]
        if call.args or None in names or len(set(names)) < len(names):
            raise ValueError
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise OptionError(
            f"{cut(text, _MAX_SHOWN)!r}: options are written as name=value, each name once: ppr(restart=0.5, top_k=40)."
        ) from None


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
        made = self._attempt(node, lambda: function(*arguments, **keywords))
        return made.named(ast.unparse(node)) if isinstance(made, ChecksummedIndex) else made

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
        hint = meant(name, [*(public.keys() - {name, *_EXCLUDED}), *_FUNCTIONS, *self.names])
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
