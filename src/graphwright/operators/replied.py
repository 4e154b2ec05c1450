"""What a language model replies to a prompt, or that its offline twin has to take its place."""

from __future__ import annotations

from typing import Any

from graphwright.errors import OptionError, ReplyError
from graphwright.models.base import LLM
from graphwright.operators.operator import Operator, note
from graphwright.prompts import messages

__all__ = ["check_model", "replied"]


def replied(model: LLM, prompt: str, schema: type[Any], **values: str) -> Any | None:
    """Return a model's reply to a prompt as an instance of the schema, None with a note where it is none."""
    try:
        return model.complete(*messages(prompt, **values), schema=schema).value
    except ReplyError:
        note("the model's reply was not what was asked for; the step was done without a model")
        return None


def check_model(operator: Operator, model: LLM | None) -> None:
    """Raise OptionError for something that is neither a language model nor None."""
    if model is not None and not isinstance(model, LLM):
        name = type(operator).__name__
        raise OptionError(f"{name}(model={model!r}): give a language model, or None to do without one.")
