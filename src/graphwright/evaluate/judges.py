"""Judges of answers: a language model, or a class of your own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, Field, create_model, field_validator

from graphwright.errors import cut
from graphwright.models import LLM
from graphwright.operators import Run
from graphwright.prompts.limits import Sentence
from graphwright.prompts.templates import data_line, messages

DIMENSIONS: Mapping[str, str] = MappingProxyType(
    {
        "comprehensiveness": "How completely does the answer cover all parts of the question?",
        "diversity": "How varied are the points of view and the kinds of knowledge that the answer brings together?",
        "empowerment": "How well does the answer let its reader understand the matter and judge of it for themselves?",
        "logicality": "How sound is the reasoning: does each conclusion follow, without gaps or contradictions?",
        "coherence": "How well do the sentences of the answer connect and lead from one to the next?",
        "relevance": "How closely does the answer address the question, without irrelevant content?",
        "overall": "Which answer serves the person who asked better, all things considered?",
    }
)
"""Dimensions on which two answers are compared: three of GraphRAG and LightRAG, three more of
PathRAG, and the whole."""

_MAX_ANSWER = 8_000  # characters of an answer in a prompt
_MAX_REASON = 300  # characters of a reason
_VALUES = {"A": 1.0, "tie": 0.5, "B": 0.0}


@dataclass(frozen=True)
class Verdict:
    """A verdict and its reason. 1: right, or the first of two is better; 0: wrong, or the second is; 0.5: a tie."""

    value: float
    why: str = ""


@runtime_checkable
class Judge(Protocol):
    """A judge of answers, which calls models through a run.

    Raises LLMResponseError for a reply that cannot be read, and ModelError where there is no reply.
    """

    @property
    def id(self) -> str:
        """Name of the judge and of all options that change its verdicts."""
        ...

    def accuracy(self, question: str, accepted: Sequence[str], answer: str, run: Run) -> Verdict:
        """Return whether an answer is right, given the accepted ones; an empty one is wrong."""
        ...

    def compare(
        self, question: str, accepted: Sequence[str], first: str, second: str, dimensions: Mapping[str, str], run: Run
    ) -> dict[str, Verdict]:
        """Return which of two answers is better on each dimension; dimensions that it cannot judge are left out."""
        ...


class Grade(BaseModel):
    """Reply of a model about one answer."""

    why: Sentence
    right: bool


@dataclass(frozen=True)
class ModelJudge:
    """Judge answers by a language model.

    An empty answer is wrong, and loses to any other on every dimension; two equal answers tie: no call is made for
    these. A comparison does not show the accepted answers. Prompts have the first 8,000 characters of an answer.

    >>> from graphwright.models.fake import ScriptedLLM
    >>> judge = ModelJudge(ScriptedLLM(['{"why": "It is the same river.", "right": true}']))
    >>> judge.accuracy("Which river is Graz on?", ["Mur"], "On the river Mur.", Run())
    Verdict(value=1.0, why='It is the same river.')
    >>> judge.accuracy("Which river is Graz on?", ["Mur"], "", Run())
    Verdict(value=0.0, why='no answer was given')
    """

    llm: LLM

    @property
    def id(self) -> str:
        """Name of the model."""
        return self.llm.id

    def accuracy(self, question: str, accepted: Sequence[str], answer: str, run: Run) -> Verdict:
        """Return whether an answer is right."""
        if not answer:
            return Verdict(0.0, "no answer was given")
        prompt = messages(
            "judge_accuracy",
            question=data_line({"question": question}),
            accepted=data_line({"accepted": list(accepted)}),
            answer=data_line({"answer": answer[:_MAX_ANSWER]}),
        )
        grade = run.complete(self.llm, *prompt, schema=Grade).value
        return Verdict(float(grade.right), _short(grade.why))

    def compare(
        self, question: str, accepted: Sequence[str], first: str, second: str, dimensions: Mapping[str, str], run: Run
    ) -> dict[str, Verdict]:
        """Return which of two answers is better on each dimension."""
        if first == second:
            return dict.fromkeys(dimensions, Verdict(0.5, "the answers are equal"))
        if not first or not second:
            return dict.fromkeys(dimensions, Verdict(float(bool(first)), "the other gave no answer"))
        prompt = messages(
            "judge_pairwise",
            question=data_line({"question": question}),
            dimensions="\n".join(data_line({"dimension": name, "about": dimensions[name]}) for name in dimensions),
            first=data_line({"answer": first[:_MAX_ANSWER]}),
            second=data_line({"answer": second[:_MAX_ANSWER]}),
        )
        reply = run.complete(self.llm, *prompt, schema=_comparison(tuple(dimensions))).value
        verdicts = {item.dimension: Verdict(_VALUES[item.winner], _short(item.why)) for item in reply.verdicts}
        return {name: verdicts[name] for name in dimensions}


@lru_cache(maxsize=16)
def _comparison(dimensions: tuple[str, ...]) -> type[Any]:
    """Return the schema of a reply about two answers: one verdict for each of the dimensions, in any order."""

    def complete(verdicts: list[Any]) -> list[Any]:
        counts = Counter(item.dimension for item in verdicts)
        if wrong := [name for name in dimensions if counts[name] != 1]:
            raise ValueError(f"there must be exactly one verdict for each of {', '.join(wrong)}")
        return verdicts

    name: Any = Literal[dimensions]
    winner: Any = Literal[tuple(_VALUES)]
    verdict = create_model("DimensionVerdict", dimension=(name, ...), why=(Sentence, ...), winner=(winner, ...))
    validators: Any = {"complete": field_validator("verdicts")(complete)}
    most = Field(json_schema_extra={"maxItems": len(dimensions)})
    return create_model("Comparison", __validators__=validators, verdicts=(list[verdict], most))  # type: ignore[valid-type]


def _short(why: str) -> str:
    return cut(" ".join(why.split()), _MAX_REASON)
