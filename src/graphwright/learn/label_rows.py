"""Lines of a file of labels, checked when they are read."""

from __future__ import annotations

from pydantic import BaseModel, Field, FiniteFloat

from graphwright.learn.candidates import Candidate, Example
from graphwright.learn.labels import Label
from graphwright.learn.refine import LabelledPath


class _ChosenPath(BaseModel):
    """A chosen path in a line of the file."""

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

    def label(self) -> Label:
        """Return the label."""
        example = Example(self.id, self.question, self.entities, self.answers)
        paths = tuple(LabelledPath(Candidate(p.source, p.ways, p.pool), p.support, p.near) for p in self.kept)
        return Label(example, paths, self.paths, self.candidates)
