"""Passages written for a language model: as data, each on a line of its own."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graphwright.errors import OptionError
from graphwright.generate.cite import title_of
from graphwright.graph.graph import Graph
from graphwright.models.budget import estimated_tokens
from graphwright.operators.operator import Operator
from graphwright.operators.state import State
from graphwright.prompts import data_line, messages

__all__ = ["PassagePrompt", "fitting", "instructions", "passages_in", "size_of"]

_TITLE = 200  # characters of a title that are shown
_LEAST = 2_000  # so that the first passage always has room for its title
_PASSAGE = '{"passage": '


@dataclass(frozen=True, repr=False)
class PassagePrompt(Operator):
    """The question and the best passages as a prompt, in which each passage is one line of JSON.

    A line has the passage's number, which is its rank, its title and its text; all that could end the line or the
    text is escaped, so no text can pass for another passage, or for something that is said to the model.
    `characters`: room for all lines. A passage that does not fit whole is left out, but the first is cut.

    >>> from graphwright import Graph, Ranking, start
    >>> state = start("Where?", Graph.from_triples([("Graz", "in", "Austria")])).with_(chunks=Ranking.of([0], [1]))
    >>> print(PassagePrompt()(state).prompt.splitlines()[-1])
    {"passage": 1, "title": "", "text": "Graz in Austria."}
    """

    passages: int = 8
    characters: int = 24_000
    needs = ("chunks",)
    gives = ("prompt",)

    def __post_init__(self) -> None:
        if self.passages < 1:
            raise OptionError(f"PassagePrompt(passages={self.passages!r}): a number of passages, 1 or more.")
        if self.characters < _LEAST:
            raise OptionError(f"PassagePrompt(characters={self.characters!r}): room for passages, {_LEAST} or more.")

    def apply(self, state: State) -> State:
        """Write the prompt."""
        lines = "\n".join(self.lines(state))
        question = data_line({"question": state.question.text})
        return state.with_(prompt=messages("answer", question=question, passages=lines)[1])

    def lines(self, state: State) -> Iterator[str]:
        """Yield the passages' lines."""
        nodes = [] if state.chunks is None else state.chunks.ids[: self.passages].tolist()
        room = self.characters
        for number, node in enumerate(nodes, 1):
            line = _passage(state.graph, node, number)
            if len(line) > room and number == 1:
                line = _first(state.graph, node, room)
            if len(line) <= room:
                room -= len(line) + 1
                yield line


def instructions() -> str:
    """Return what a language model is told before it is given a prompt: the system part."""
    return messages("answer", question="", passages="")[0]


def passages_in(prompt: str) -> dict[int, str]:
    """Return the texts that a prompt shows, by the passage's number; none where it has no such lines.

    >>> passages_in('Passages:\\n{"passage": 2, "title": "", "text": "Graz in Austria."}')
    {2: 'Graz in Austria.'}
    """
    shown = (json.loads(line) for line in prompt.split("\n") if line.startswith(_PASSAGE))
    return {passage["passage"]: passage["text"] for passage in shown}


def fitting(lines: Iterable[str], room: int) -> list[str]:
    """Return the lines that still fit into so many tokens, by estimate, each in its turn.

    >>> fitting(["a line of words", "a line that is much too long", "short"], 8)
    ['a line of words', 'short']
    """
    kept = []
    for line in lines:
        if (size := size_of([line])) <= room:
            room -= size
            kept.append(line)
    return kept


def size_of(lines: Iterable[str]) -> int:
    """Return about how many tokens lines take, each with its end."""
    return sum(estimated_tokens(line) + 1 for line in lines)


def _passage(graph: Graph, node: int, number: int, longest: int | None = None) -> str:
    return data_line(
        {"passage": number, "title": title_of(graph, node)[:_TITLE], "text": graph.passage(node)[:longest]}
    )


def _first(graph: Graph, node: int, room: int) -> str:
    """Return the first passage with as much of its text as there is room for; how much escapes take is tried out."""
    fits = bisect_right(range(len(graph.passage(node)) + 1), room, key=lambda n: len(_passage(graph, node, 1, n)))
    return _passage(graph, node, 1, fits - 1)
