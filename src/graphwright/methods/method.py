"""Method: a search, a context and an answer, with the budget of the context; and the help of its options."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import rshift
from pathlib import Path
from typing import Annotated

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import GraphwrightError, OptionError
from graphwright.generate.contexts import CONTEXT_PASSAGES, CONTEXT_TOKENS, MIN_TOKENS, limited
from graphwright.models.protocols import LLM, CrossEncoder
from graphwright.operators.operator import IS_OPERATOR, Keep, Operator, Then
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True)
class Help:
    """The help of an option, in the signature of a builder: `k: Annotated[int, Help("paths, K")] = 15`."""

    text: str


TopK = Annotated[int, Help("passages in the result")]
RequiredLLM = Annotated[LLM, Help("the language model that answers")]
OptionalLLM = Annotated[
    LLM | None, Help("the language model for the answer and for the LLM steps of the paper, by default none")
]
OptionalCrossEncoder = Annotated[CrossEncoder | None, Help("the cross-encoder, by default the embedded one")]
Blend = Annotated[
    float, Help("share of the reranker's score in the final score; the rest is the search's (1: the reranker alone)")
]
FirstSearch = Annotated[Operator | None, Help("the search, by default that of `hybrid`")]
Restart = Annotated[float, Help("restart probability of PageRank, 1 minus the damping factor")]
RankedNodes = Annotated[int, Help("nodes that PageRank ranks")]
SeedWeight = Annotated[float, Help("weight of passages as seeds, relative to entities")]
CommunityLevel = Annotated[int, Help("level of the communities, 0 for the widest")]
CorpusRelations = Annotated[
    tuple[str, ...],
    Help('relations that join passages in the corpus graph (see PassageGraph): ("refers to",) for references alone'),
]

LIMITS_HELP: Mapping[str, str] = {  # help of the options of every method that answers
    "context_passages": f"passages that a language model is shown, by default {CONTEXT_PASSAGES}",
    "context_tokens": f"the most tokens of these, by default {CONTEXT_TOKENS:,}",
    "confidence": "the least probability of a short or computed answer without a language model, from 0 to 1",
}

_NOTHING = Keep()


@dataclass(frozen=True, repr=False)
class Method(Checked):
    """A way to answer questions: an operator that searches, one that sets the context, and one that answers.

    `search` ends with passages, or with evidence over a graph without them; an answer in the search ends the method.
    `context` shows a language model at most `passages` passages and `tokens` tokens of evidence, which replace its own
    limits; Keep() without a language model. `answer`: Keep() for a method that answers in its search, or not at all.

    >>> from graphwright import ToPassages, VectorIndex, VectorSearch
    >>> from graphwright.generate import Generate, PassageContext
    >>> from graphwright.models import HashEncoder, ScriptedLLM
    >>> index = VectorIndex.from_array([[1.0], [2.0]], HashEncoder())
    >>> search = VectorSearch(index) % 1 >> ToPassages()
    >>> method = Method(search, PassageContext(), Generate(ScriptedLLM([])), passages=5)
    >>> method.pipeline.operators[-2]
    PassageContext(passages=5)
    """

    search: Annotated[Operator, IS_OPERATOR]
    context: Annotated[Operator, IS_OPERATOR] = _NOTHING
    answer: Annotated[Operator, IS_OPERATOR] = _NOTHING
    passages: Annotated[int, AtLeast(0)] = CONTEXT_PASSAGES
    tokens: Annotated[int, AtLeast(MIN_TOKENS)] = CONTEXT_TOKENS

    @cached_property
    def retrieval(self) -> Operator:
        """The search without its steps that set a context or an answer, which would end it early."""
        steps = self.search.steps if isinstance(self.search, Then) else (self.search,)
        return _joined(tuple(step for step in steps if not {"context", "answer"}.intersection(step.gives)))

    @cached_property
    def ending(self) -> Operator:
        """The part after the search: the context within the budget, and the answer."""
        return _joined((limited(self.context, self.passages, self.tokens), self.answer))

    @cached_property
    def pipeline(self) -> Operator:
        """The whole method as one operator."""
        return _joined((self.search, self.ending))

    def __call__(self, state: State, run: Run | None = None) -> State:
        """Answer the question of a state, in a new run unless given. Raises NeedsError for an unmet need."""
        return self.pipeline(state, run)

    def within(self, passages: int | None = None, tokens: int | None = None, confidence: float | None = None) -> Method:
        """Return this method with another budget, also inside its search; None keeps its own.

        `confidence`: the least probability of an answer that no language model writes, from 0 to 1.
        """
        given = {name: value for name, value in (("passages", passages), ("tokens", tokens)) if value is not None}
        search = limited(self.search, passages, tokens, confidence)
        return replace(self, search=search, answer=limited(self.answer, confidence=confidence), **given)  # type: ignore[arg-type]


Builder = Callable[..., Operator | Method]
"""A function from a snapshot to a method, or to an operator that is its search; it may take a language model, `llm`."""


def _joined(parts: tuple[Operator, ...]) -> Operator:
    changing = [part for part in parts if part != _NOTHING]
    return reduce(rshift, changing) if changing else _NOTHING


_NAME = "method"


def read_method_file(path: str | Path) -> Builder:
    """Return the function of a Python file that makes a method: `method`, or the only public one that it defines.

    The file is run. The function takes the snapshot of an index and returns an operator or a Method; it gets the name
    of the file. Raises OptionError for a file that cannot be run, or that defines no such function.
    """
    path = Path(path)
    try:
        names = runpy.run_path(str(path), run_name=path.stem)
    except GraphwrightError:
        raise
    except (Exception, SystemExit) as error:
        raise OptionError(f"{path} cannot be run: {type(error).__name__}: {error}. Mend the file.") from error
    functions = {
        name: value
        for name, value in names.items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", None) == path.stem
    }
    function = functions.get(_NAME) or (next(iter(functions.values())) if len(functions) == 1 else None)
    if function is None:
        names_defined = ", ".join(sorted(functions)) or "no function"
        raise OptionError(
            f"{path} has no function named {_NAME}: it defines {names_defined}. Write def {_NAME}(ix): return an "
            f"operator, such as VectorSearch(ix.passages) % 10 >> ToPassages()."
        )
    function.__name__ = path.stem
    return function  # type: ignore[no-any-return]
