"""What extraction by a language model will cost, told before the first call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Protocol

from graphwright.errors import OptionError
from graphwright.index.contribution import Contribution, Excerpt
from graphwright.index.generative import asked, asked_again
from graphwright.models.budget import estimated_tokens

__all__ = ["Estimate", "estimate"]


class _Prices(Protocol):
    def cost(self, prompt_tokens: int, completion_tokens: int) -> float: ...


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many chunks there are, and the calls, tokens and money that it takes to read them.

    `cost` is in the currency of the prices, None where none were given.

    >>> print(Estimate(1_000, 1_000, 800_000, 700_000, 0.54))
    chunks: 1,000
    calls: 1,000
    prompt tokens: about 800,000
    completion tokens: about 700,000
    cost: about 0.54
    """

    chunks: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = None

    def lines(self) -> list[str]:
        """Return what people read, one figure to a line."""
        return [
            f"chunks: {self.chunks:,}",
            f"calls: {self.calls:,}",
            f"prompt tokens: about {self.prompt_tokens:,}",
            f"completion tokens: about {self.completion_tokens:,}",
            f"cost: {'not known without prices' if self.cost is None else f'about {self.cost:,.2f}'}",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def estimate(
    excerpts: Iterable[Excerpt],
    *,
    second_look: bool = False,
    count_tokens: Callable[[str], int] = estimated_tokens,
    reply: float = 3.5,
    prices: _Prices | None = None,
) -> Estimate:
    """Return what GenerativeExtractor would take to read these chunks, without a call.

    Prompts are counted as they will be sent, by `count_tokens`; what a server adds to a message, such as the schema, is
    not known here. `reply`: tokens of a reply for each token of the chunk's text. A sentence of 20 tokens that names
    one new entity and states one relation takes about 70 tokens of JSON, hence the default. A second look counts as
    much as a first one, and as having the whole first reply in its prompt; both are more than it takes. Replies that
    have to be mended are not in the figure, and those that a cache knows are not taken off it. `prices`: what gives the
    money for so many tokens, such as models.budget.Prices. Raises OptionError for a negative `reply`.

    >>> made = estimate([Excerpt("d1", "Graz", "It lies on the Mur.")], second_look=True)
    >>> made.chunks, made.calls, made.completion_tokens, made.cost
    (1, 2, 36, None)
    """
    if not reply >= 0:
        raise OptionError(f"estimate: reply is {reply} tokens for each token of a text; it cannot be below 0.")
    count = lru_cache(maxsize=8)(count_tokens)  # the rules are the same for every chunk
    looks = 2 if second_look else 1
    chunks = prompt = completion = 0
    for excerpt in excerpts:
        replied = ceil(reply * count(excerpt.text))
        prompt += sum(map(count, asked(excerpt)))
        if second_look:
            prompt += sum(map(count, asked_again(excerpt, Contribution()))) + replied
        completion += looks * replied
        chunks += 1
    cost = None if prices is None else prices.cost(prompt, completion)
    return Estimate(chunks, looks * chunks, prompt, completion, cost)
