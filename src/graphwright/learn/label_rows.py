"""Lines of a file of labels, checked when they are read."""

from __future__ import annotations

from pydantic import BaseModel, Field, FiniteFloat


class _ChosenPath(BaseModel):
    source: int = Field(alias="from")
    ways: tuple[int, ...]
    pool: str
    support: FiniteFloat
    near: FiniteFloat


class LabelRow(BaseModel):
    """A line of the file."""

    id: str
    question: str
    entities: tuple[int, ...]
    answers: tuple[int, ...]
    paths: int
    candidates: int
    kept: tuple[_ChosenPath, ...]
