"""Operators around one step: what they need and give is the step's, how they run it is their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphwright.retrieve.operator import Operator
from graphwright.retrieve.state import State

__all__ = ["Wrapper"]


@dataclass(frozen=True, repr=False)
class Wrapper(Operator):
    """An operator that runs a step in a way of its own, `run`."""

    step: Operator

    @abstractmethod
    def run(self, state: State, k: int | None = None) -> State:
        """Run the step, and keep the k best."""

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the step needs."""
        return self.step.needs

    @property
    def gives(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the step gives."""
        return self.step.gives

    def apply(self, state: State) -> State:
        """Run the step."""
        return self.run(state)

    def lacks(self, have: frozenset[str]) -> Iterator[tuple[int, int, Operator, str]]:
        """Yield what the step lacks."""
        return self.step.lacks(have)

    def after(self, have: frozenset[str]) -> frozenset[str]:
        """Return what is set after the step."""
        return self.step.after(have)

    def capped(self, cap: int) -> Operator:
        """Hand the cap on."""
        return replace(self, step=self.step.capped(cap))
