"""The limits of a method: what a language model is shown, and the confidence from which an answer needs none."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace

from graphwright.models.budget import estimated_tokens
from graphwright.operators.operator import Composite, Confident, Operator

CONTEXT_PASSAGES = 15
"""Default number of passages that a method shows to a language model, the same for all, so that they compare."""
CONTEXT_TOKENS = 3_000
"""Default number of tokens of evidence: passages, triples, paths, chains and reports together.

Counted by `estimated_tokens`, with the numbers, titles and signs around the texts, but without the instructions and the
question."""
MIN_TOKENS = 500


class Budgeted(Operator):
    """An operator that shows a language model at most `passages` passages and `tokens` tokens, two of its fields."""


def limited(
    operator: Operator, passages: int | None = None, tokens: int | None = None, confidence: float | None = None
) -> Operator:
    """Return an operator with another budget and confidence, also inside composites; None keeps their own.

    >>> from graphwright import Keep; from graphwright.generate import PassageContext
    >>> limited(Keep() >> PassageContext(), passages=5, tokens=1_000)
    Keep() >> PassageContext(passages=5, tokens=1000)
    """
    if isinstance(operator, Composite):
        operator = operator.mapped(lambda part: limited(part, passages, tokens, confidence))
    values: dict[str, float | None] = {}
    if isinstance(operator, Budgeted):
        values |= {"passages": passages, "tokens": tokens}
    if isinstance(operator, Confident):
        values["threshold"] = confidence
    given = {name: value for name, value in values.items() if value is not None}
    return replace(operator, **given) if given else operator  # type: ignore[type-var]


class Room:
    """The tokens that are left in a context, by estimate.

    >>> room = Room(8)
    >>> room.take(["a line of words", "a line that is much too long", "short"]), room.tokens
    (['a line of words', 'short'], 0)
    """

    def __init__(self, tokens: int) -> None:
        """Start with all tokens."""
        self.tokens = tokens

    def fits(self, line: str) -> bool:
        """Return whether a line fits, and reduce the room if it does."""
        size = line_size(line)
        if size > self.tokens:
            return False
        self.tokens -= size
        return True

    def take(self, lines: Iterable[str]) -> list[str]:
        """Return the lines that fit, each tried in turn, and reduce the room."""
        return [line for line in lines if self.fits(line)]


def line_size(line: str) -> int:
    """Return the estimated tokens of a line with its line end."""
    return estimated_tokens(line) + 1


def longest(line: Callable[[int], str], length: int, fits: Callable[[str], bool]) -> str:
    """Return the longest line that fits, of those with 0 to `length` characters of a text."""
    return line(most_characters(line, length, fits))


def most_characters(line: Callable[[int], str], length: int, fits: Callable[[str], bool]) -> int:
    """Return the number of characters, 0 to `length`, of the longest line that fits."""
    return max(bisect_right(range(length + 1), False, key=lambda characters: not fits(line(characters))) - 1, 0)
