"""Every method by name, and how a name becomes a pipeline."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphwright.errors import NeedsError, OptionError
from graphwright.index.snapshot import Snapshot
from graphwright.methods import passages
from graphwright.methods.fastinsight import fastinsight
from graphwright.methods.hyde import hyde
from graphwright.methods.lego import INSTANCES, instance
from graphwright.methods.paths import pathrag, pathrag_lt
from graphwright.methods.reg import reg
from graphwright.methods.rerank import gar, rerank
from graphwright.retrieve.operator import Keep, Operator, Then

__all__ = ["METHODS", "Method", "pipeline", "retrieval_part"]


@dataclass(frozen=True)
class Method:
    """A named way to answer: `build` makes its pipeline over a snapshot; its arguments are the method's."""

    name: str
    build: Callable[..., Operator]

    def __call__(self, snapshot: Snapshot, **options: Any) -> Operator:
        """Return the pipeline over a snapshot."""
        return self.build(snapshot, **options)

    @property
    def about(self) -> str:
        """The first line of what it says about itself."""
        return (inspect.getdoc(self.build) or "").partition("\n")[0]

    @property
    def options(self) -> dict[str, Any]:
        """Its arguments and their defaults."""
        found = list(inspect.signature(self.build).parameters.values())[1:]
        return {p.name: p.default for p in found}


METHODS = {
    name: Method(name, build)
    for name, build in {
        "vector": passages.vector,
        "bm25": passages.bm25,
        "hybrid": passages.hybrid,
        "ppr": passages.ppr,
        "hyde": hyde,
        "rerank": rerank,
        "gar": gar,
        "fastinsight": fastinsight,
        "pathrag": pathrag,
        "pathrag-lt": pathrag_lt,
        "reg": reg,
        **{f"lego-{number}": instance(number) for number in INSTANCES},
    }.items()
}


def pipeline(name: str, snapshot: Snapshot, **options: Any) -> Operator:
    """Return the pipeline of a method. Raises OptionError for an unknown name or argument, with the nearest known."""
    method = METHODS.get(name)
    if method is None:
        near = difflib.get_close_matches(str(name), METHODS, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise OptionError(f"there is no method {name!r}; there are {', '.join(sorted(METHODS))}.{hint}")
    unknown = sorted(set(options) - set(method.options))
    if unknown:
        raise OptionError(f"{name} has no argument {unknown[0]!r}; it takes {', '.join(method.options) or 'none'}.")
    built = method.build(snapshot, **options)
    if built.needs:
        # A named method starts from a question alone, so what it needs besides is a fault in its wiring.
        raise NeedsError(f"method {name!r} needs {', '.join(built.needs)} from its start state: {built!r}")
    return built


def retrieval_part(operator: Operator) -> Operator:
    """Return the part of a pipeline before the first prompt or answer."""
    steps = operator.steps if isinstance(operator, Then) else (operator,)
    for at, step in enumerate(steps):
        if {"prompt", "answer"} & set(step.gives):
            steps = steps[:at]
            break
    return Then(steps) if steps else Keep()
