"""Every method by name, and how a name becomes a pipeline."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from graphwright.errors import NeedsError, OptionError, meant
from graphwright.index.snapshot import Snapshot
from graphwright.methods import passages
from graphwright.methods.bubblerag import bubblerag
from graphwright.methods.fastinsight import fastinsight, fastinsight_entities
from graphwright.methods.graphrag import graphrag_global, graphrag_local
from graphwright.methods.gretriever import g_retriever
from graphwright.methods.hipporag import hipporag, hipporag2
from graphwright.methods.hyde import hyde
from graphwright.methods.ircot import ircot
from graphwright.methods.lego import INSTANCES, instance
from graphwright.methods.lightrag import lightrag_global, lightrag_hybrid, lightrag_local
from graphwright.methods.paths import pathrag, pathrag_lt
from graphwright.methods.raptor import raptor
from graphwright.methods.reg import reg
from graphwright.methods.rerank import gar, read_on, rerank
from graphwright.methods.systems import grag_m, gsr, kelp, rog, tog
from graphwright.methods.unaided import cot, vanilla
from graphwright.operators.operator import Keep, Operator, Then

__all__ = ["METHODS", "Method", "method_named", "pipeline", "retrieval_part"]


_NUMBERS: Mapping[str, tuple[type, str]] = {"int": (Integral, "a whole number"), "float": (Real, "a number")}
"""What an argument takes that is annotated so: its type, and how that is said."""


@dataclass(frozen=True)
class Method:
    """A named way to answer: `build` makes its pipeline over a snapshot; its arguments are the method's."""

    name: str
    build: Callable[..., Operator]

    def __call__(self, snapshot: Snapshot, **options: Any) -> Operator:
        """Return the pipeline over a snapshot.

        Raises OptionError where an argument that has no default is missing, or a number is none.
        """
        missing = [name for name in self.required if options.get(name) is None]
        if missing:
            raise OptionError(
                f"{self.name} needs {' and '.join(missing)}, which nothing stands for offline: give a language model, "
                f"as llm=Endpoint(...) or on the command line by --llm MODEL."
            )
        for argument in self._arguments:
            kind, said = _NUMBERS.get(str(argument.annotation), (object, ""))
            value = options.get(argument.name, argument.default)
            if not isinstance(value, kind) or (said and isinstance(value, bool)):
                raise OptionError(
                    f"{self.name}: {argument.name} is {value!r}, and takes {said}; by default {argument.default!r}."
                )
        return self.build(snapshot, **options)

    @property
    def about(self) -> str:
        """The first line of what it says about itself."""
        return (inspect.getdoc(self.build) or "").partition("\n")[0]

    @property
    def options(self) -> dict[str, Any]:
        """Its arguments and their defaults, None for one that is required."""
        return {p.name: None if p.default is p.empty else p.default for p in self._arguments}

    @property
    def required(self) -> tuple[str, ...]:
        """The arguments that it cannot do without, such as the language model of a method that is nothing else."""
        return tuple(p.name for p in self._arguments if p.default is p.empty)

    @property
    def _arguments(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.build).parameters.values())[1:]


METHODS = {
    name: Method(name, build)
    for name, build in {
        "vanilla": vanilla,
        "cot": cot,
        "naive": passages.vector,
        "vector": passages.vector,
        "bm25": passages.bm25,
        "hybrid": passages.hybrid,
        "ppr": passages.ppr,
        "hyde": hyde,
        "ircot": ircot,
        "hipporag": hipporag,
        "hipporag2": hipporag2,
        "lightrag-local": lightrag_local,
        "lightrag-global": lightrag_global,
        "lightrag-hybrid": lightrag_hybrid,
        "graphrag-local": graphrag_local,
        "graphrag-global": graphrag_global,
        "raptor": raptor,
        "g-retriever": g_retriever,
        "rerank": rerank,
        "read-on": read_on,
        "gar": gar,
        "fastinsight": fastinsight,
        "fastinsight-entities": fastinsight_entities,
        "bubblerag": bubblerag,
        "pathrag": pathrag,
        "pathrag-lt": pathrag_lt,
        "reg": reg,
        **{f"lego-{number}": instance(number) for number in INSTANCES},
        "rog": rog,
        "gsr": gsr,
        "kelp": kelp,
        "tog": tog,
        "grag-m": grag_m,
    }.items()
}


def method_named(name: str) -> Method:
    """Return a method. Raises OptionError for a name that is not known, with the nearest that is."""
    method = METHODS.get(name)
    if method is None:
        raise OptionError(f"there is no method {name!r}.{meant(name, METHODS)} There are {', '.join(sorted(METHODS))}.")
    return method


def pipeline(name: str, snapshot: Snapshot, **options: Any) -> Operator:
    """Return the pipeline of a method. Raises OptionError for an unknown name or argument, with the nearest known."""
    method = method_named(name)
    unknown = sorted(set(options) - set(method.options))
    if unknown:
        raise OptionError(f"{name} has no argument {unknown[0]!r}; it takes {', '.join(method.options) or 'none'}.")
    built = method(snapshot, **options)
    if built.needs:
        # A named method starts from a question alone, so what it needs besides is a fault in its wiring.
        raise NeedsError(f"method {name!r} needs {', '.join(built.needs)} from its start state: {built!r}")
    return built


def retrieval_part(operator: Operator) -> Operator:
    """Return a pipeline without the steps that give a prompt or an answer, wherever they stand."""
    steps = operator.steps if isinstance(operator, Then) else (operator,)
    kept = tuple(step for step in steps if not {"prompt", "answer"} & set(step.gives))
    return Then(kept) if kept else Keep()
