"""A language model alone: what it answers without being shown anything."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from graphwright.errors import OptionError
from graphwright.generate.stream import Draft, listener
from graphwright.models.base import LLM
from graphwright.operators.operator import Operator, note
from graphwright.operators.state import Reply, State
from graphwright.prompts import data_line, messages

__all__ = ["Unaided"]

_UNKNOWN = "The language model knows no answer."


@dataclass(frozen=True, repr=False)
class Unaided(Operator):
    """Set the answer that a language model gives from what it knows; it cites nothing.

    `reasoning`: it writes down its thoughts before the answer (chain of thought); the trace has them.

    >>> from graphwright import Graph, ScriptedLLM, start
    >>> model = ScriptedLLM(['{"found": true, "answer": "On the Mur."}'])
    >>> Unaided(model)(start("Where is Graz?", Graph.from_triples([]))).answer
    Reply(text='On the Mur.', citations=(), found=True)
    """

    model: LLM
    reasoning: bool = False
    gives = ("answer",)

    def __post_init__(self) -> None:
        if not isinstance(self.model, LLM):
            raise OptionError(f"Unaided({self.model!r}): a language model is needed, with complete.")

    def apply(self, state: State) -> State:
        """Ask, and set the answer."""
        heard = listener()
        draft = None if heard is None else Draft(heard)
        prompt = "chain_of_thought" if self.reasoning else "vanilla"
        asked = messages(prompt, question=data_line({"question": state.question.text}))
        on_text = None if draft is None else draft.feed
        said = self.model.complete(*asked, schema=_schema(self.reasoning), on_text=on_text).value
        for thought in said.thoughts if self.reasoning else ():
            note(thought)
        found = said.found and bool(said.answer.strip())
        reply = Reply(said.answer.strip() if found else _UNKNOWN, found=found)
        if draft is not None:
            draft.finish(reply.text)
        return state.with_(answer=reply)


@cache
def _schema(reasoning: bool) -> type[Any]:
    """Return what a reply must be, as a pydantic model."""
    from pydantic import create_model

    if reasoning:
        return create_model("ReasonedAnswer", thoughts=(list[str], ...), found=(bool, ...), answer=(str, ...))
    return create_model("PlainAnswer", found=(bool, ...), answer=(str, ...))
