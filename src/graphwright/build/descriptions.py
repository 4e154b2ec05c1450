"""Descriptions of one entity, from several passages, as one text: joined, summarised, or cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphwright.extract.llm import Derived, Task
from graphwright.models.budget import estimated_tokens
from graphwright.prompts.templates import data_line

_MAX_READ = 2_000  # tokens of descriptions that are summarised by one call


def description(name: str, parts: Sequence[str], max_tokens: int, derived: Derived) -> str:
    """Return the descriptions of an entity as one text.

    Up to `max_tokens` they are joined. Longer ones are replaced by a language model's summary, where `derived` has it;
    else the first that fit stay, at least one. Descriptions are summarised in their order, up to 2,000 tokens together,
    and several summaries are summarised again, so that a summary depends on nothing but the descriptions.

    >>> description("Mur", ["A river.", "It is long.", "It flows through Graz."], 6, Derived())
    'A river. It is long.'
    """
    if _size(parts) <= max_tokens:
        return " ".join(parts)
    return _summary(name, parts, max_tokens, derived) or _first_parts(parts, max_tokens)


def _summary(name: str, parts: Sequence[str], max_tokens: int, derived: Derived) -> str | None:
    """Return the summary of descriptions, None where a part of it was not derived yet."""
    batches = list(_batches(parts))
    lines = [[{"name": name}, *({"description": part} for part in batch)] for batch in batches]
    summaries = [derived.get(Task("describe", "\n".join(map(data_line, of_batch)))) for of_batch in lines]
    texts = [summary for summary in summaries if summary is not None]
    if len(texts) < len(batches):
        return None
    if len(texts) == 1 or len(texts) == len(parts) or _size(texts) <= max_tokens:
        return " ".join(texts)
    return _summary(name, texts, max_tokens, derived)


def _batches(parts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the parts in order, in groups that one call can read, each of at least one part."""
    batch: list[str] = []
    for part in parts:
        if batch and _size([*batch, part]) > _MAX_READ:
            yield batch
            batch = []
        batch.append(part)
    yield batch


def _first_parts(parts: Sequence[str], max_tokens: int) -> str:
    count = 1
    while count < len(parts) and _size(parts[: count + 1]) <= max_tokens:
        count += 1
    return " ".join(parts[:count])


def _size(parts: Sequence[str]) -> int:
    return estimated_tokens(" ".join(parts))
