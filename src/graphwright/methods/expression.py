"""Pipelines as text: the expressions that operators are written and shown as, read back without running any code."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from graphwright.errors import GraphwrightError, OptionError, meant
from graphwright.graph.graph import Kind
from graphwright.index.snapshot import Snapshot
from graphwright.operators.operator import Operator

__all__ = ["literals", "read_expression"]

_INDEX = ("passages", "names", "triples", "words", "graph", "encoder")
_PARTS = {"ix": _INDEX, "Kind": tuple(Kind.__members__)}
_FUNCTIONS = ("joined", "load_retriever")
_LEFT_OUT = ("Index",)
_SHOWN = 2_000  # characters of an expression in an error
_SYMBOLS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.RShift: operator.rshift,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
}


def read_expression(text: str, snapshot: Snapshot, **names: Any) -> Operator:
    """Return the pipeline that an expression stands for, over a snapshot.

    `text`: what one would write in Python: operators and models by their names, called with values, `>>`, `%` and `|`
    between them, and `ix` for the snapshot with its parts, as in `VectorSearch(ix.passages) % 10 >> Sources()`. Nothing
    else is there: no other names, attributes, or calls. `names`: further ones, such as `llm`. Raises OptionError with
    the place of what cannot be read.

    >>> from graphwright import Graph, HashEncoder, VectorIndex, WordIndex
    >>> graph, vectors = Graph.from_triples([("a", "r", "b")]), VectorIndex.from_array([[1.0], [2.0]])
    >>> ix = Snapshot(graph, vectors, WordIndex.of(["a", "b"], [0, 1]), None, None, HashEncoder(), {})
    >>> read_expression("VectorSearch(ix.passages) % 10 >> Sources()", ix)
    VectorSearch(VectorIndex(2 × 1, ...)) % 10 >> Sources()
    """
    try:
        found = _Reading(text.strip(), {"ix": snapshot, **names}).whole()
    except (MemoryError, RecursionError) as error:
        raise OptionError(f"{_cut(text)} is too deep to be read: {error}.") from None
    if not isinstance(found, Operator):
        raise OptionError(f"{text!r} gives {type(found).__name__}, and a method is an operator, such as Link() >> ....")
    return found


def literals(text: str, arguments: str) -> dict[str, Any]:
    """Return the options in `arguments`, the text between the brackets of a method, as in `restart=0.5, nodes=100`.

    Raises OptionError for what is not a name, an equals sign and a plain value; `text` is what stands around it.
    """
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):  # "a=1)(b=2" are two calls
            raise ValueError
        names = [word.arg for word in call.keywords]
        if call.args or None in names or len(set(names)) < len(names):
            raise ValueError
        return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise OptionError(
            f"{_cut(text)}: between the brackets are options of the method, each a name, = and a value, none of them "
            f"twice: ppr(restart=0.5, passages=40)."
        ) from None


class _Reading:
    """An expression being read."""

    def __init__(self, text: str, names: Mapping[str, Any]) -> None:
        self.text, self.names = text, names

    def whole(self) -> Any:
        """Return the value of all of it."""
        try:
            body = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError) as error:
            said = error.msg if isinstance(error, SyntaxError) else str(error)
            raise OptionError(f"{_cut(self.text)} is no expression of operators: {said}.") from None
        return self.of(body)

    def of(self, node: ast.expr) -> Any:
        """Return the value of a part of the expression."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Tuple() | ast.List():
                values = [self.of(one) for one in node.elts]
                return tuple(values) if isinstance(node, ast.Tuple) else values
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.BinOp() if type(node.op) in _SYMBOLS:
                left, right = self.of(node.left), self.of(node.right)
                if not isinstance(left, Operator):  # numbers and texts have a % too
                    raise self._error(node.left, f"{type(left).__name__} before >>, % or |, where an operator stands")
                return self._tried(node, lambda: _SYMBOLS[type(node.op)](left, right))
            case ast.Name():
                return self._named(node)
            case ast.Attribute(value=ast.Name(id="ix" | "Kind" as name)) if node.attr in _PARTS[name]:
                return Kind[node.attr] if name == "Kind" else self._part(node)
            case ast.Call(func=ast.Name()) if all(word.arg for word in node.keywords):
                return self._called(node)
        raise self._error(node, f"only operators and models, values, >>, %, | and ix.{{{', '.join(_INDEX)}}} are read")

    def _called(self, node: ast.Call) -> Any:
        made = self._named(node.func)
        given = [self.of(one) for one in node.args]
        more = {str(word.arg): self.of(word.value) for word in node.keywords}
        if len(more) < len(node.keywords):
            raise self._error(node, "an argument is given twice")
        return self._tried(node, lambda: made(*given, **more))

    def _named(self, node: ast.expr) -> Any:
        import graphwright

        name = node.id if isinstance(node, ast.Name) else ""
        if name in self.names:
            return self.names[name]
        known = [one for one in dir(graphwright) if one not in _LEFT_OUT]
        value = getattr(graphwright, name) if name in known else None
        if name in _FUNCTIONS or (isinstance(value, type) and not issubclass(value, BaseException)):
            return value
        hint = meant(name, [*(set(known) - {name}), *self.names])
        raise self._error(node, f"there is no {name!r} here", hint)

    def _part(self, node: ast.Attribute) -> Any:
        value = getattr(self.names["ix"], node.attr)
        if value is None:
            raise self._error(node, f"the index has no vectors of {node.attr}; have them embedded")
        return value

    def _tried(self, node: ast.expr, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except (GraphwrightError, RecursionError):
            raise
        except Exception as error:
            raise self._error(node, f"{type(error).__name__}: {error}") from error

    def _error(self, node: ast.expr, said: str, more: str = "") -> OptionError:
        part = ast.get_source_segment(self.text, node) or ""
        where = "" if part == self.text else f" of {_cut(self.text)}"
        line = re.split(r"\r\n?|\n", self.text)[node.lineno - 1]
        before = line.encode()[: node.col_offset].decode()  # ast counts bytes
        return OptionError(f"{_cut(part)}{where} (character {len(before) + 1}): {said}.{more}")


def _cut(text: str) -> str:
    """Return a text as it is shown, of a very long one the beginning."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …")
