"""Prompts that show passages to a language model: alone, with triples, or with reports about many of them."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeVar

from graphwright.constraints import AtLeast, Checked
from graphwright.generate.citations import best_passages, passage_text
from graphwright.kernels.ranking import top
from graphwright.models.budget import estimated_tokens
from graphwright.models.protocols import PassageText
from graphwright.operators.communities.communities import communities_of
from graphwright.operators.communities.summaries import Summaries, SummaryTree
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line, messages

Key = TypeVar("Key")

CONTEXT_PASSAGES = 15
"""Passages that a method shows to a language model unless asked otherwise: the same for all, so that they compare."""
CONTEXT_TOKENS = 3_000
"""Tokens of evidence that a method shows to a language model: passages, triples, paths, chains and reports together.

Counted by `estimated_tokens`, with the numbers, titles and signs around the texts, but without the instructions and the
question."""
MIN_TOKENS = 500

_MAX_TITLE = 200  # characters of a title
_PASSAGE = '{"passage": '
_TRIPLES = 0.25  # share of triples in a hybrid prompt before its passages are added
_REPORTS = 0.5  # of reports and relations
_MAX_RELATIONS = 30


@dataclass(frozen=True, repr=False)
class PassagePrompt(Operator):
    """Write a prompt of the question and the best passages, each one line of JSON.

    A line has the passage's number, which is its rank, its title and its text. Characters that could end the line or
    the text are escaped, so that no text can pass for another passage or for an instruction.
    `tokens`: room for all lines, estimated. A passage that does not fit is left out, but the first is cut.

    >>> from graphwright import Graph, start
    >>> from graphwright.graph import Ranking
    >>> state = start("Where?", Graph.from_triples([("Graz", "in", "Austria")])).with_(passages=Ranking.of([0], [1]))
    >>> print(PassagePrompt()(state).prompt.splitlines()[-1])
    {"passage": 1, "title": "", "text": "Graz in Austria."}
    """

    passages: Annotated[int, AtLeast(1)] = CONTEXT_PASSAGES
    tokens: Annotated[int, AtLeast(MIN_TOKENS)] = CONTEXT_TOKENS
    needs = ("passages",)
    gives = ("prompt",)

    def apply(self, state: State, run: Run) -> State:
        """Write the prompt."""
        lines = "\n".join(self.lines(state).values())
        question = data_line({"question": state.question.text})
        return state.with_(prompt=messages("answer", question=question, passages=lines)[1])

    def lines(self, state: State) -> dict[int, str]:
        """Return the passages' lines by number."""
        return passage_lines(state, self.passages, self.tokens)


def passage_lines(state: State, passages: int, tokens: int) -> dict[int, str]:
    """Return the lines of the best passages that fit into these tokens, by number; the first is cut to fit."""
    room, lines = Room(tokens), dict[int, str]()
    for number, node in enumerate(best_passages(state, passages), 1):
        passage = passage_text(state.graph, node)
        line = _line(passage, number)
        if number == 1 and line_size(line) > tokens:
            line = longest(partial(_line, passage, 1), len(passage.text), lambda cut: line_size(cut) <= tokens)
        lines |= room.fitting({number: line})
    return lines


def with_passages(
    state: State, passages: int, tokens: int, share: float, items: Callable[[Mapping[int, int], int], Iterable[str]]
) -> tuple[list[str], dict[int, str]]:
    """Return the lines of evidence and of passages that fit into these tokens together.

    `items`: the lines of evidence, best first, given the numbers of the shown passages by node, and the tokens that one
    line may take. They take at most a `share` before the passages are chosen; then they name the passages, and take
    the room that is left.
    """
    most = int(share * tokens)
    reserved = sum(map(line_size, Room(most).take(items({}, most))))
    shown = passage_lines(state, passages, tokens - reserved) if passages else {}
    left = tokens - sum(map(line_size, shown.values()))
    return Room(left).take(items(passage_numbers(state, shown), left)), shown


@dataclass(frozen=True, repr=False)
class HybridPrompt(Operator):
    """Write a prompt of the question, the evidence as triples, and the passages (BubbleRAG, section 3.6).

    There is one line of JSON for each triple between two names, in the order of the evidence, without repetitions, with
    the numbers of the shown passages that state it. The best `passages` follow as in PassagePrompt, to be quoted.
    `tokens`: room for all lines, estimated; triples take at most a quarter of it, and the room that passages leave.
    What does not fit is left out, but the first passage is cut.

    >>> from graphwright import Evidence, Graph, start
    >>> from graphwright.graph import Ranking
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "died in", "851")])
    >>> state = start("Who?", graph, evidence=Evidence.of_edges([0, 1])).with_(passages=Ranking.of([1], [1.0]))
    >>> print(*HybridPrompt()(state).prompt.splitlines()[-3:], sep=chr(10))
    {"triple": ["Lothair II", "mother", "Ermengarde"]}
    {"triple": ["Ermengarde", "died in", "851"]}
    {"passage": 1, "title": "", "text": "Lothair II mother Ermengarde. Ermengarde died in 851."}
    """

    passages: Annotated[int, AtLeast(1)] = CONTEXT_PASSAGES
    tokens: Annotated[int, AtLeast(MIN_TOKENS)] = CONTEXT_TOKENS
    needs = ("evidence",)
    gives = ("prompt",)

    def apply(self, state: State, run: Run) -> State:
        """Write the prompt."""

        def items(numbers: Mapping[int, int], tokens: int) -> Iterable[str]:
            return _triples(state, numbers)

        triples, passages = with_passages(state, self.passages, self.tokens, _TRIPLES, items)
        return state.with_(prompt=filled("bubblerag", state, lines=(*triples, *passages.values())))


@dataclass(frozen=True)
class CommunityReports(Checked):
    """Find the summaries of the communities that hold most of the evidence.

    `level`: the level of the communities; `limit`: the largest number of summaries.
    """

    summaries: Summaries
    level: Annotated[int, AtLeast(0)] = 2
    limit: Annotated[int, AtLeast(1)] = 3

    def __call__(self, state: State, run: Run) -> list[str]:
        """Return the summaries, best first."""
        communities = communities_of(state, self.summaries, self.level)[: self.limit]
        return self.summaries.texts(run, state.graph, self.level, communities)


@dataclass(frozen=True)
class TreeReports(Checked):
    """Find the summaries of a tree that are nearest to the question; `limit`: the largest number of summaries."""

    tree: SummaryTree
    limit: Annotated[int, AtLeast(1)] = 5

    def __call__(self, state: State, run: Run) -> list[str]:
        """Return the summaries, best first."""
        tree = self.tree.of(run, state.graph)
        scores = tree.vectors[len(tree.leaves) :] @ self.tree.passages.encode(state.question.text, run)
        return [tree.texts[at] for at in top(scores, self.limit).tolist()]


@dataclass(frozen=True, repr=False)
class ReportPrompt(Operator):
    """Write a prompt of the question, reports, relations of the evidence and the best passages, each a line of JSON.

    `reports`: a function that returns the texts of reports, best first, as `CommunityReports` or `TreeReports`. Quotes
    come from the passages. `tokens`: room for all lines, estimated; reports, then at most 30 distinct relations take
    half of it at most, and the room that passages leave. What does not fit is left out.
    """

    reports: Callable[[State, Run], list[str]]
    passages: Annotated[int, AtLeast(1)] = CONTEXT_PASSAGES
    tokens: Annotated[int, AtLeast(MIN_TOKENS)] = CONTEXT_TOKENS
    needs = ("passages",)
    gives = ("prompt",)

    def apply(self, state: State, run: Run) -> State:
        """Write the prompt."""
        reports = [data_line({"report": at, "text": text}) for at, text in enumerate(self.reports(state, run), 1)]
        edges = [] if state.evidence is None else state.evidence.edges.tolist()
        statements = list(dict.fromkeys(state.graph.edge_text(edge) for edge in edges))[:_MAX_RELATIONS]
        relations = [data_line({"relation": text}) for text in statements]
        lines = [*reports, *relations]
        shown, passages = with_passages(state, self.passages, self.tokens, _REPORTS, lambda numbers, tokens: lines)
        return state.with_(prompt=filled("reports", state, lines=(*shown, *passages.values())))


class Room:
    """The tokens that are left in a prompt, by estimate.

    >>> room = Room(8)
    >>> room.take(["a line of words", "a line that is much too long", "short"]), room.tokens
    (['a line of words', 'short'], 0)
    """

    def __init__(self, tokens: int) -> None:
        """Start with all tokens."""
        self.tokens = tokens

    def take(self, lines: Iterable[str]) -> list[str]:
        """Return the lines that fit, each tried in turn, and reduce the room."""
        return list(self.fitting(dict(enumerate(lines))).values())

    def fitting(self, lines: Mapping[Key, str]) -> dict[Key, str]:
        """Return the lines that fit, as `take` does, with their keys."""
        fitting = {}
        for key, line in lines.items():
            size = line_size(line)
            if size <= self.tokens:
                self.tokens -= size
                fitting[key] = line
        return fitting


def filled(name: str, state: State, **lines: Iterable[str]) -> str:
    """Return a prompt, both its parts, with the state's question and the lines for its other places."""
    values = {place: "\n".join(texts) for place, texts in lines.items()}
    return "\n\n".join(messages(name, question=data_line({"question": state.question.text}), **values))


def instructions() -> str:
    """Return the system part of the prompt for an answer."""
    return messages("answer", question="", passages="")[0]


def passages_in(prompt: str) -> dict[int, str]:
    """Return the texts of the passages that a prompt shows, by number; none if it has no such lines.

    >>> passages_in('Passages:\\n{"passage": 2, "title": "", "text": "Graz in Austria."}')
    {2: 'Graz in Austria.'}
    """
    lines = (json.loads(line) for line in prompt.split("\n") if line.startswith(_PASSAGE))
    return {passage["passage"]: passage["text"] for passage in lines}


def passage_numbers(state: State, numbers: Iterable[int]) -> dict[int, int]:
    """Return the numbers of the passages that are shown, by node."""
    ids = best_passages(state)
    return {ids[number - 1]: number for number in numbers}


def _line(passage: PassageText, number: int, characters: int | None = None) -> str:
    return data_line({"passage": number, "title": passage.title[:_MAX_TITLE], "text": passage.text[:characters]})


def longest(line: Callable[[int], str], length: int, fits: Callable[[str], bool]) -> str:
    """Return the longest line that fits, of those with 0 to `length` characters of a text."""
    too_long = bisect_right(range(length + 1), False, key=lambda characters: not fits(line(characters)))
    return line(max(too_long - 1, 0))


def line_size(line: str) -> int:
    """Return the estimated tokens of a line with its line end."""
    return estimated_tokens(line) + 1


def _triples(state: State, numbers: Mapping[int, int]) -> Iterator[str]:
    """Yield the lines of the evidence's triples, each once, with the numbers of the shown passages that state them.

    Of an edge without a predicate the line is the sentence that states it.
    """
    if state.evidence is None:
        return
    graph, edges = state.graph, state.evidence.edges
    sources: dict[tuple[str, str, str] | str, set[int]] = {}
    for edge in dict.fromkeys(edges[graph.columns.between_entities(edges)].tolist()):
        content = graph.edge_text(edge) if graph.co_occurs(edge) else graph.triple(edge)
        sources.setdefault(content, set()).update(graph.chunks_of((), [edge]).tolist())
    for content, passages in sources.items():
        shown = sorted(numbers[passage] for passage in passages & numbers.keys())
        kind = "statement" if isinstance(content, str) else "triple"
        yield data_line({kind: content} | ({"passages": shown} if shown else {}))
