"""Contexts for a language model: passages alone, with triples, or with reports; and their limits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Annotated, TypeVar

from graphwright.constraints import AtLeast, Checked
from graphwright.generate.citations import passage_text
from graphwright.kernels.ranking import top
from graphwright.models.budget import estimated_tokens
from graphwright.operators.communities import communities_of
from graphwright.operators.operator import Composite, Confident, Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.summaries import Summaries, SummaryTree
from graphwright.prompts.templates import Context, ShownPassage, data_line

CONTEXT_PASSAGES = 15  # passages that each method shows to a language model by default, to be comparable
CONTEXT_TOKENS = 3_000  # of evidence by default, by `estimated_tokens`, without instructions and question
MIN_TOKENS = 500
T = TypeVar("T")


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


def fitting(items: Iterable[T], tokens: int, line: Callable[[T], str] = str) -> list[T]:
    """Return the items whose lines fit into these tokens together, each tried in turn."""
    taken = list[T]()
    for item in items:
        if (size := line_size(line(item))) <= tokens:
            tokens -= size
            taken.append(item)
    return taken


def line_size(line: str) -> int:
    """Return the estimated tokens of a line with its line end."""
    return estimated_tokens(line) + 1


def longest(made: Callable[[int], T], length: int, fits: Callable[[T], bool]) -> T:
    """Return the longest line that fits, of those made with 0 to `length` characters of a text."""
    return made(max(bisect_right(range(length + 1), False, key=lambda size: not fits(made(size))) - 1, 0))


_MAX_TITLE = 200  # characters of a title
_TRIPLES = 0.25  # share of triples in a hybrid context before its passages are added
_REPORTS = 0.5  # of reports and relations
_MAX_RELATIONS = 30


@dataclass(frozen=True, repr=False)
class PassageContext(Budgeted):
    """Show the question and the best passages, each one line of JSON: its number, which is its rank, title and text.

    Characters that could end the line or the text are escaped, so that no text can pass for another passage or for an
    instruction. `tokens`: the limit of all lines. A passage that does not fit is left out, but the first is cut.

    >>> from graphwright import Graph, start; from graphwright.graph import Ranking
    >>> state = start("Where?", Graph.from_triples([("Graz", "in", "Austria")])).with_(passages=Ranking.of([0], [1]))
    >>> PassageContext()(state).context.passages
    (ShownPassage(number=1, node=0, title='', text='Graz in Austria.'),)
    """

    passages: Annotated[int, AtLeast(1)] = CONTEXT_PASSAGES
    tokens: Annotated[int, AtLeast(MIN_TOKENS)] = CONTEXT_TOKENS
    needs = ("passages",)
    gives = ("context",)

    def apply(self, state: State, run: Run) -> State:
        shown = shown_passages(state, self.passages, self.tokens)
        return state.with_(context=Context(state.question.original, passages=shown))


def shown_passages(state: State, passages: int, tokens: int) -> tuple[ShownPassage, ...]:
    """Return the best passages whose lines fit into these tokens; the first is cut to fit."""
    shown = list[ShownPassage]()
    for number, node in enumerate(state.passage_nodes(passages).tolist(), 1):
        read = passage_text(state.graph, node)
        passage = ShownPassage(number, node, read.title[:_MAX_TITLE], read.text)
        if number == 1 and line_size(passage.line) > tokens:
            make = partial(_first_characters, passage)
            passage = longest(make, len(read.text), lambda cut: line_size(cut.line) <= tokens)
        shown.append(passage)
    return tuple(fitting(shown, tokens, attrgetter("line")))


def _first_characters(passage: ShownPassage, length: int) -> ShownPassage:
    return replace(passage, text=passage.text[:length])


def with_passages(
    state: State, passages: int, tokens: int, share: float, items: Callable[[Mapping[int, int], int], Iterable[str]]
) -> tuple[list[str], tuple[ShownPassage, ...]]:
    """Return the lines of evidence, and the passages, that fit into these tokens together.

    `items`: returns the lines, best first, given the numbers of the shown passages by node and the limit of a line. The
    lines first reserve at most a `share` of the tokens; then they name the passages, and take the tokens that are left.
    """
    most = int(share * tokens)
    reserved = sum(map(line_size, fitting(items({}, most), most)))
    shown = shown_passages(state, passages, tokens - reserved) if passages else ()
    left = tokens - sum(line_size(passage.line) for passage in shown)
    return fitting(items({passage.node: passage.number for passage in shown}, left), left), shown


@dataclass(frozen=True, repr=False)
class HybridContext(Budgeted):
    """Show the question, the evidence as triples, and the passages (BubbleRAG, section 3.6).

    There is one line of JSON for each triple between two names, in the order of the evidence, with the numbers of the
    shown passages that state it. The best `passages` follow as in PassageContext. `tokens`: the limit of all lines.
    Triples take at most a quarter of it, and the tokens that the passages leave.

    >>> from graphwright import Evidence, Graph, start; from graphwright.graph import Ranking
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "died in", "851")])
    >>> state = start("Who?", graph, evidence=Evidence.of_edges([0, 1])).with_(passages=Ranking.of([1], [1.0]))
    >>> context = HybridContext()(state).context
    >>> print(*context.before, context.passages[0].line, sep=chr(10))
    {"triple": ["Lothair II", "mother", "Ermengarde"]}
    {"triple": ["Ermengarde", "died in", "851"]}
    {"passage": 1, "title": "", "text": "Lothair II mother Ermengarde. Ermengarde died in 851."}
    """

    passages: Annotated[int, AtLeast(1)] = CONTEXT_PASSAGES
    tokens: Annotated[int, AtLeast(MIN_TOKENS)] = CONTEXT_TOKENS
    needs = ("evidence",)
    gives = ("context",)

    def apply(self, state: State, run: Run) -> State:
        def items(numbers: Mapping[int, int], tokens: int) -> Iterable[str]:
            return _triples(state, numbers)

        triples, shown = with_passages(state, self.passages, self.tokens, _TRIPLES, items)
        return state.with_(context=Context(state.question.original, "bubblerag", shown, tuple(triples)))


@dataclass(frozen=True)
class CommunityReports(Checked):
    """Find at most `limit` summaries: of the communities of a `level` that hold most of the evidence."""

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
class ReportContext(Budgeted):
    """Show the question, reports, relations of the evidence and the best passages, each a line of JSON.

    `reports`: returns the texts of reports, best first, as `CommunityReports` or `TreeReports`. `tokens`: the limit of
    all lines. Reports, then at most 30 relations take at most half of it, and the tokens that the passages leave.
    """

    reports: Callable[[State, Run], list[str]]
    passages: Annotated[int, AtLeast(1)] = CONTEXT_PASSAGES
    tokens: Annotated[int, AtLeast(MIN_TOKENS)] = CONTEXT_TOKENS
    needs = ("passages",)
    gives = ("context",)

    def apply(self, state: State, run: Run) -> State:
        reports = [data_line({"report": at, "text": text}) for at, text in enumerate(self.reports(state, run), 1)]
        edges = [] if state.evidence is None else state.evidence.edges.tolist()
        statements = list(dict.fromkeys(state.graph.edge_text(edge) for edge in edges))[:_MAX_RELATIONS]
        relations = [data_line({"relation": text}) for text in statements]
        lines = [*reports, *relations]
        fitting, shown = with_passages(state, self.passages, self.tokens, _REPORTS, lambda numbers, tokens: lines)
        return state.with_(context=Context(state.question.original, "reports", shown, tuple(fitting)))


def _triples(state: State, numbers: Mapping[int, int]) -> Iterator[str]:
    """Yield the lines of triples, or of sentences without a predicate, with the shown passages that state them."""
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
