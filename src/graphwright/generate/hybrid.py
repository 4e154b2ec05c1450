"""Triples and passages written for a language model: how things are connected, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graphwright.errors import OptionError
from graphwright.generate.prompt import PassagePrompt, fitting, passages_in, size_of
from graphwright.models.budget import estimated_tokens
from graphwright.operators.operator import Operator
from graphwright.operators.state import State
from graphwright.prompts import data_line, messages

__all__ = ["HybridPrompt"]

_LEAST = 4_000  # tokens, so that the first passage always has room
_CUT = 2_000  # characters that a first passage may always have
_TRIPLES = 0.25  # share of the room that triples may take while passages wait


@dataclass(frozen=True, repr=False)
class HybridPrompt(Operator):
    """The question, the evidence as triples and the passages as a prompt (BubbleRAG, section 3.6).

    Triples are the skeleton: one line of JSON for each edge between two names, in the order of the evidence, the same
    one once, with the numbers of the shown passages that state it. The best `passages` follow as in PassagePrompt, so
    that what is written can be quoted from them. `tokens`: room for the whole prompt, by estimate; triples take a
    quarter of it at most, or what passages leave. What does not fit whole is left out, but the first passage is cut.

    >>> from graphwright import Evidence, Graph, Ranking, start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "died in", "851")])
    >>> state = start("Who?", graph, evidence=Evidence.of_edges([0, 1])).with_(chunks=Ranking.of([1], [1.0]))
    >>> print("\\n".join(HybridPrompt()(state).prompt.splitlines()[-3:]))
    {"triple": ["Lothair II", "mother", "Ermengarde"]}
    {"triple": ["Ermengarde", "died in", "851"]}
    {"passage": 1, "title": "", "text": "Lothair II mother Ermengarde. Ermengarde died in 851."}
    """

    tokens: int = 8_000
    passages: int = 15
    needs = ("evidence",)
    gives = ("prompt",)

    def __post_init__(self) -> None:
        if self.tokens < _LEAST:
            raise OptionError(f"HybridPrompt(tokens={self.tokens!r}): room for the prompt, {_LEAST} or more.")
        if self.passages < 1:
            raise OptionError(f"HybridPrompt(passages={self.passages!r}): a number of passages, 1 or more.")

    def apply(self, state: State) -> State:
        """Write the prompt."""
        question = data_line({"question": state.question.text})
        room = self.tokens - estimated_tokens("\n\n".join(messages("bubblerag", question=question, lines="")))
        kept = fitting(_triples(state, {}), int(_TRIPLES * room))
        shown = self._passages(state, room - size_of(kept))
        # Once it is known which passages are shown, triples name them, and take the room that is left.
        triples = fitting(_triples(state, passages_in("\n".join(shown))), room - size_of(shown))
        prompt = messages("bubblerag", question=question, lines="\n".join((*triples, *shown)))
        return state.with_(prompt="\n\n".join(prompt))

    def _passages(self, state: State, room: int) -> list[str]:
        """Return the lines of passages that fit; a first one that is too long is cut to ever fewer characters."""
        lines: list[str] = []
        for characters in (4 * room, 2 * room, room, _CUT):
            lines = list(PassagePrompt(self.passages, max(characters, _CUT)).lines(state))
            if size_of(lines[:1]) <= room:
                break
        return fitting(lines, room)


def _triples(state: State, shown: Mapping[int, str]) -> Iterator[str]:
    """Yield the lines of the evidence's triples, each once, with the passages shown that state them."""
    graph = state.graph
    ids = [] if state.chunks is None else state.chunks.ids.tolist()
    numbers = {ids[number - 1]: number for number in shown}
    behind: dict[tuple[str, str, str], set[int]] = {}
    if state.evidence is not None:
        edges = state.evidence.edges
        for edge in dict.fromkeys(edges[graph.columns.between_entities(edges)].tolist()):
            behind.setdefault(graph.triple(edge), set()).update(graph.chunks_of((), [edge]).tolist())
    for triple, passages in behind.items():
        known = sorted(numbers[passage] for passage in passages & numbers.keys())
        yield data_line({"triple": triple} | ({"passages": known} if known else {}))
