"""Answers computed by a query over facts, with citations of what they rest on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from graphwright.constraints import Between
from graphwright.generate.citations import citation
from graphwright.generate.citations import supported as with_markers
from graphwright.generate.readers import answered
from graphwright.graph.graph import Graph
from graphwright.graph.items import tree_item
from graphwright.graph.walks import step_names
from graphwright.operators.operator import IS_OPERATOR, Composite, Operator
from graphwright.operators.query.asked import SURE
from graphwright.operators.query.parse_query import records_of, walk_nodes
from graphwright.operators.query.result import QueryResult
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State
from graphwright.search.relation_index import shown_name

_LISTED = 50  # names in the text


@dataclass(frozen=True, repr=False)
class QueryAnswer(Composite):
    """Answer with the result of the state's query, or by other steps where the state has none.

    The text is the value, what was computed, in words, and citations of the rows or statements that it rests on, at
    most ten. If the probability of the query is below `sure`, the answer of the other steps follows.
    """

    otherwise: Annotated[Operator, IS_OPERATOR]
    sure: Annotated[float, Between(0, 1)] = SURE

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Set the answer."""
        asked = state.query
        if asked is None or asked.result is None:
            return self.otherwise.execute(state, run, k)
        if asked.probability >= self.sure:
            return self.traced(state, run, k, lambda child: answered(state, child, computed_answer(state)))
        after = self.otherwise.execute(state, replace(run, on_text=None), k)
        return answered(after.with_(answer=None), run, _joined(computed_answer(state), after.answer))


def computed_answer(state: State) -> Answer:
    """Return the result of the query of a state as an answer."""
    assert state.query is not None and state.query.result is not None
    asked, result = state.query, state.query.result
    citations = tuple(dict.fromkeys(_citations(state, result)))
    short = _short(state.graph, result)
    names = ", ".join(short[:_LISTED]) + (", …" if len(result.things) > _LISTED and result.is_set else "")
    cited = "".join(f"[{number}]" for number in range(1, len(citations) + 1))
    more = len(result.things) - len(result.support)
    text = f"{names} ({asked.words})"
    return Answer(f"{text} {cited}" + (f" and {more:,} more" if more > 0 else "") if cited else text, short, citations)


def _short(graph: Graph, result: QueryResult) -> tuple[str, ...]:
    """Return the names of the things that are found, or the value; "none" where there is none."""
    if result.is_empty:
        return ("none",)
    if result.is_set:
        nodes = len(graph.columns.kinds)
        named = zip(result.things.tolist(), result.names, strict=False)
        return tuple(dict.fromkeys(shown_name(graph, id) if id < nodes else name for id, name in named))
    if isinstance(result.value, bool):
        return ("yes" if result.value else "no",)
    return (f"{result.value} {result.unit}".strip(),)


def _citations(state: State, result: QueryResult) -> Iterator[Citation]:
    """Yield the citations of the first things of a result: the row of a record, the statement that leads to a name."""
    graph = state.graph
    for supported in result.support:
        edges = [fact for fact in supported.facts if fact < len(graph.columns.heads)]
        if edges:
            yield _of_edges(graph, edges, supported.thing)
        for record in records_of(graph.columns, supported):
            yield _of_record(state, record)


def _of_record(state: State, record: int) -> Citation:
    """Return the citation of a record in its passage; of one without characters of its own the first line."""
    graph, records = state.graph, state.graph.columns.records
    assert records is not None and graph.passages is not None
    node = int(records.chunk[record])
    passage = graph.passages.of(node)
    assert passage is not None
    start, end = (records.span[record] - passage.start).tolist()
    text = graph.passage(node)
    end = min(end, len(text)) if end > start else len(text.partition("\n")[0])
    return citation(state, node, max(start, 0), end)


def _of_edges(graph: Graph, edges: list[int], thing: int) -> Citation:
    """Return the citation of the last statement of a walk in a passage that has it; without passages its last name."""
    names = graph.columns.names
    end = thing if thing < len(names) else int(graph.ends(edges[-1:])[-1])
    path = step_names(graph, tree_item(graph, walk_nodes(graph, edges, end), edges).steps)
    for node in graph.chunks_of((), edges[-1:]).tolist() if graph.passages is not None else ():
        text, passage = graph.passage(node), graph.passages.of(node)
        quotes = (graph.edge_text(edges[-1]), " ".join(graph.triple(edges[-1])).replace("_", " "), names[end])
        quote = next((quote for quote in quotes if quote in text), "")
        if passage is not None and quote:
            start = passage.start + text.index(quote)
            return Citation(passage.document, passage.id, start, start + len(quote), quote, path)
    return Citation("", names[end], 0, len(names[end]), names[end], path)


def _joined(computed: Answer, other: Answer | None) -> Answer:
    """Return an answer followed by another, whose markers are numbered on."""
    if other is None or not other.found:
        return computed
    first = len(computed.citations) + 1
    text, _ = with_markers(other.text, range(first, first + len(other.citations)))
    return replace(
        other,
        text=f"{computed.text}\n{text}",
        short=(*computed.short, *other.short),
        citations=(*computed.citations, *other.citations),
    )
