"""Estimate of the calls, tokens, time and cost of extraction by a language model, without a call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import ceil
from typing import Any

from graphwright.extract.extraction import Excerpt, Extraction
from graphwright.extract.llm import KINDS, extraction_prompt, gleaning_prompt
from graphwright.models.budget import Prices, Rate, estimated_tokens


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls, tokens, hours and cost of an extraction.

    `hours`: None if no rate was given. `cost`: in the currency of the prices, None if none were given.
    """

    chunks: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    hours: float | None = None
    cost: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def estimate(
    excerpts: Iterable[Excerpt],
    *,
    extraction: str = "full",
    gleanings: int = 0,
    prices: Prices | None = None,
    rate: Rate | None = None,
) -> Estimate:
    """Estimate the calls, tokens, hours and cost of GenerativeExtractor for these chunks, without a call.

    Tokens of prompts are estimated by their characters, without additions of a server. A reply counts
    `ExtractionKind.reply_ratio` tokens per token of a chunk's text. Each gleaning counts as much as the first call,
    with all replies before it in its prompt. Corrected replies are not included, cached ones not subtracted.

    >>> estimated = estimate([Excerpt("d1", "Graz", "It lies on the Mur.")], gleanings=1)
    >>> estimated.chunks, estimated.calls, estimated.completion_tokens, estimated.cost
    (1, 2, 68, None)
    """
    kind, count = KINDS[extraction], lru_cache(maxsize=8)(estimated_tokens)  # the rules are the same for every chunk
    chunks = prompt = completion = 0
    for excerpt in excerpts:
        reply = ceil(kind.reply_ratio * count(excerpt.text))
        prompt += sum(map(count, extraction_prompt(excerpt, kind)))
        if gleanings:
            prompt += gleanings * sum(map(count, gleaning_prompt(excerpt, Extraction(), kind)))
            prompt += reply * gleanings * (gleanings + 1) // 2
        completion += (1 + gleanings) * reply
        chunks += 1
    hours = None if rate is None else rate.hours(prompt, completion)
    cost = None if prices is None else prices.cost(prompt, completion)
    return Estimate(chunks, (1 + gleanings) * chunks, prompt, completion, hours, cost)
