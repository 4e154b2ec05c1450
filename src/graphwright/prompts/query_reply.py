"""The reply of a language model that writes a query: a list of steps, each on the results of earlier ones.

Sets of things are numbered by the steps that make them, 1 for the first; the last step is the query. A list has a
limit, which nested objects of any depth would not have.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

from graphwright.prompts.limits import AtMost, Name, Number, Sentence, at_most

SetNumber = Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": 99})]  # number of an earlier step
Relation = Annotated[str, AtMost(60)]  # a relation or column; with "~" before it, walked from objects to subjects
Relations = Annotated[list[Relation], at_most(3)]  # a path of relations, one after the other
Comparison = Literal["=", "!=", ">", ">=", "<", "<=", "contains"]


class _SetStep(BaseModel):
    do: str
    of: SetNumber


class _PathStep(_SetStep):
    path: Relations


class NamedStep(BaseModel):
    """The things of a name."""

    do: Literal["named"]
    name: Name


class TypeStep(BaseModel):
    """All things of a type."""

    do: Literal["type"]
    type: Name


class EverythingStep(BaseModel):
    """All things."""

    do: Literal["everything"]


class FollowStep(_PathStep):
    """The things that relations lead to, one after the other.

    `repeated`: each relation is taken once or more, as to all ancestors. `at`: by statements that hold at this date.
    """

    do: Literal["follow"]
    repeated: bool = False
    at: Name = ""


class WhereStep(_PathStep):
    """The things with a value at the end of a path that compares so with a text, a number or a date."""

    do: Literal["where"]
    compares: Comparison
    value: Name


class WhereInStep(_PathStep):
    """The things with something at the end of a path that is in another set, or ("!=") with nothing that is."""

    do: Literal["where in"]
    compares: Literal["=", "!="]
    other: SetNumber


class FieldsStep(_PathStep):
    """The things with a value at the end of a path that compares so with one at the end of another path."""

    do: Literal["where both"]
    compares: Literal["=", "!=", ">", ">=", "<", "<="]
    with_path: Relations


class HasStep(_PathStep):
    """The things with something at the end of a path; `negated`: with nothing there."""

    do: Literal["has"]
    negated: bool = False


class CountedStep(_PathStep):
    """The things with so many things at the end of a path."""

    do: Literal["where count"]
    compares: Literal["=", "!=", ">", ">=", "<", "<="]
    number: Number


class PairStep(_SetStep):
    """The things in both sets, in one of them, or in the first without the second."""

    do: Literal["both", "either", "except"]
    other: SetNumber


class ExtremeStep(_PathStep):
    """The `count` things with the largest or smallest value at the end of a path; no path: the last or first rows.

    `is_rank`: only those with the `count`-th largest. `by_number`: by the number of values.
    """

    do: Literal["largest", "smallest"]
    count: SetNumber = 1
    is_rank: bool = False
    by_number: bool = False


class FrequentStep(_SetStep):
    """Of the things that a relation leads to, those that most or fewest of the set lead to."""

    do: Literal["most frequent", "least frequent"]
    relation: Relation


class NeighbourStep(_SetStep):
    """The row after each row, or before it."""

    do: Literal["next row", "previous row"]


class CountStep(_SetStep):
    """The number of things, or whether there are any, or none."""

    do: Literal["count", "exists", "none"]


class AggregateStep(_PathStep):
    """The sum, mean, smallest or largest of the values at the end of a path."""

    do: Literal["sum", "mean", "min", "max"]


class DifferenceStep(_SetStep):
    """The difference of two values."""

    do: Literal["difference"]
    other: SetNumber


QueryStep: TypeAlias = (
    NamedStep
    | TypeStep
    | EverythingStep
    | FollowStep
    | WhereStep
    | WhereInStep
    | FieldsStep
    | HasStep
    | CountedStep
    | PairStep
    | ExtremeStep
    | FrequentStep
    | NeighbourStep
    | CountStep
    | AggregateStep
    | DifferenceStep
)


class QueryReply(BaseModel):
    """Whether what is asked can be computed from the facts, and the query as steps (`query`)."""

    reasoning: Sentence = ""
    computable: bool
    steps: Annotated[list[Annotated[QueryStep, Field(discriminator="do")]], at_most(12)] = []
