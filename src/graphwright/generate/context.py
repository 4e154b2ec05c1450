"""Another context budget for a whole pipeline: the passages and tokens of evidence that it shows a language model."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

from graphwright.generate.answer import AnswerIfEnough
from graphwright.generate.path_prompts import ChainPrompt, PathPrompt
from graphwright.generate.prompts import HybridPrompt, PassagePrompt, ReportPrompt
from graphwright.operators.operator import Composite, Operator

_SHOWING = (AnswerIfEnough, ChainPrompt, HybridPrompt, PassagePrompt, PathPrompt, ReportPrompt)


def with_context(operator: Operator, passages: int | None = None, tokens: int | None = None) -> Operator:
    """Return a pipeline whose prompts show so many passages and tokens of evidence; None leaves what they have.

    >>> from graphwright import Keep
    >>> with_context(Keep() >> PassagePrompt(), passages=5, tokens=1_000)
    Keep() >> PassagePrompt(passages=5, tokens=1000)
    """
    given = {name: value for name, value in (("passages", passages), ("tokens", tokens)) if value is not None}
    return _changed(operator, given) if given else operator


def _changed(value: Any, given: dict[str, int]) -> Any:
    if isinstance(value, tuple):
        return tuple(_changed(part, given) for part in value)
    if isinstance(value, _SHOWING):
        return replace(value, **given)  # type: ignore[arg-type]
    if not isinstance(value, Composite):
        return value
    result = copy(value)
    for name, part in vars(value).items():
        object.__setattr__(result, name, _changed(part, given))
    return result
