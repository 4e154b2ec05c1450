"""What a language model writes as an answer, with its citations checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from graphwright.generate.cite import citation
from graphwright.generate.prompt import instructions, passages_in
from graphwright.generate.quotes import Place, locate, renumbered
from graphwright.generate.stream import Draft
from graphwright.models.base import LLM
from graphwright.operators.operator import note
from graphwright.operators.state import Reply, State

__all__ = ["schema", "written"]


@cache
def schema() -> type[Any]:
    """Return what a reply must be, as a pydantic model: found, answer, and citations of a passage and a quote each."""
    from pydantic import create_model

    quoted = create_model("Quoted", passage=(int, ...), quote=(str, ...))
    return create_model("WrittenAnswer", found=(bool, ...), answer=(str, ...), citations=(list[quoted], ...))  # type: ignore[valid-type]


def written(model: LLM, state: State, passages: int, draft: Draft | None = None) -> Reply | None:
    """Return the model's answer to the state's prompt, with those citations that stand; None if it finds none.

    `passages`: how many of the best may be cited where the prompt does not number its own. `draft` is given the
    reply as it comes.
    """
    prompt = state.prompt or ""
    on_text = None if draft is None else draft.feed
    completion = model.complete(instructions(), prompt, schema=schema(), on_text=on_text)
    found, answer, quotes = _parts(completion.value, completion.text)
    if not found or not answer.strip():
        return None
    if draft is not None:
        draft.finish(answer)
    ids = [] if state.chunks is None else state.chunks.ids.tolist()
    shown = passages_in(prompt) or range(1, passages + 1)
    texts = {number: state.graph.passage(ids[number - 1]) for number in shown if 0 < number <= len(ids)}
    places, numbers = _checked(quotes, texts)
    cited = tuple(citation(state, ids[place.passage - 1], place.start, place.end) for place in places)
    if not cited:
        note("no citation could be checked")
    return Reply(renumbered(answer, numbers), cited)


def _parts(value: Any, text: str) -> tuple[bool, str, list[Any]]:
    """Return what a reply says; one without a value is its text, which cites nothing."""
    return (True, text, []) if value is None else (value.found, value.answer, value.citations)


def _checked(quotes: Iterable[Any], texts: Mapping[int, str]) -> tuple[list[Place], list[int | None]]:
    """Return the distinct places where quotes stand, and the number of each quote's place among them, from 1."""
    places: dict[Place, int] = {}
    numbers: list[int | None] = []
    for number, quoted in enumerate(quotes, 1):
        place = locate(quoted.quote, quoted.passage, texts)
        if place is None:
            note(f"citation {number} was dropped: {_short(quoted.quote)} stands in none of the passages")
        elif place.passage != quoted.passage:
            note(f"citation {number} stands in passage {place.passage}, not in {quoted.passage}")
        numbers.append(None if place is None else places.setdefault(place, len(places) + 1))
    return list(places), numbers


def _short(quote: str, longest: int = 80) -> str:
    return repr(quote if len(quote) <= longest else f"{quote[: longest - 1]}…")
