"""Answers computed by a query over facts, with citations of what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import Between
from graphwright.data.records.record import CLAUSE, DOCUMENT, MAIL, MESSAGE
from graphwright.generate.citations import overlap, without_markers
from graphwright.generate.citations import supported as with_markers
from graphwright.generate.readers import answered, texts_read
from graphwright.graph.graph import Graph
from graphwright.models.protocols import Encoder, Reader
from graphwright.operators.operator import IS_OPERATOR, Composite, Confident, Operator
from graphwright.operators.query.graphs.scorer import english_probability
from graphwright.operators.query.parse_query import IsComputed, parsed
from graphwright.operators.query.parser import QueryParser
from graphwright.operators.query.query import Exists
from graphwright.operators.query.result import LIKELY, SURE, AskedQuery, QueryResult, result_of
from graphwright.operators.query.tables.reading import looks_up
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State
from graphwright.search.facts import Facts
from graphwright.search.relation_facts import shown_name
from graphwright.text.values import value_of

NOT_RECORDED = "The graph does not say."
NOT_ENGLISH = "Without a language model, questions over graphs are understood in English only."
_LISTED = 50  # names in the text
_POSSIBLE = 0.3  # least probability of a query over a graph whose result is named as possible
_POSSIBLE_OF_RECORDS = 0.2  # of one over records of documents, beside the nearest text
_READ = 8  # passages
_PRIOR = 0.1  # probability that a value is right for which neither a query nor a span speaks


@dataclass(frozen=True, repr=False)
class QueryAnswer(Composite, Confident):
    """Answer with the result of the state's query, or by other steps where the state has none.

    The text is the value, what was computed, in words, and citations of what it rests on. If the probability of the
    query is below `threshold`, the other steps answer, too. From 0.5 its result is the answer where they agree: they
    quote first from what the query takes, or find the same. It is so with a lower probability where the best span of
    `reader` in the passages is the result, and both together are probable enough. Else their answer comes first, and
    the value is named as possible after it. Of a query that is not set in the state, the most probable one of
    `parser`, it is so only where they find nothing.
    """

    otherwise: Annotated[Operator, IS_OPERATOR]
    threshold: Annotated[float, Between(0, 1)] = SURE
    parser: QueryParser | None = None
    reader: Reader | None = None

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        asked = state.query if IsComputed()(state) else None
        if asked is not None and asked.probability >= self.threshold:
            return self.traced(state, run, k, lambda child: answered(state, child, computed_answer(state)))
        likeliest = asked or (most_probable(self.parser, state, run, _POSSIBLE_OF_RECORDS) if self.parser else None)
        if likeliest is None:
            return self.otherwise.execute(state, run, k)
        after = self.otherwise.execute(state, replace(run, on_text=None), k)
        if after.answer is None:
            return after
        computed, other = computed_answer(state.with_(query=likeliest)), after.answer
        chance = self._together(after, run, computed, likeliest.probability)
        if chance >= self.threshold or (asked and _agree(state.graph, asked, computed, other)):
            run.note(f"with the passages the query has a probability of {chance:.2f}: {likeliest.notation}")
            after, other = after.with_(query=likeliest), computed
        elif asked or not other.found:
            other = _with_possible(other, _possible(computed, likeliest.probability))
        return answered(after.with_(answer=None), run, other)

    def _together(self, state: State, run: Run, computed: Answer, probability: float) -> float:
        """Return the probability of a query after the passages were read: higher where the best span is its result.

        Both are taken as independent, by Bayes' rule. The prior was fitted on questions over mails, chats, tables and
        office files: 0.08, and 0.03 to 0.12 with one source left out.
        """
        _, texts = texts_read(state, run, _READ) if self.reader and state.passages is not None else ([], [])
        spans = run.read(self.reader, state.question.text, texts) if self.reader and texts else []
        if not spans or computed.short != (spans[0].answer(texts),):
            return probability
        right = probability * spans[0].score / _PRIOR
        return right / (right + (1 - probability) * (1 - spans[0].score) / (1 - _PRIOR))


@dataclass(frozen=True, repr=False)
class NotRecorded(Operator):
    """Answer that the graph does not say what is asked; the text names the best item of the evidence.

    With `parser` it names instead what the most probable query finds, if its probability is at least 0.3. With
    `encoder`, the embedded one, it says so where a question is in another language than the parser reads.

    >>> from graphwright import Evidence, start
    >>> graph = Graph.from_triples([("gimp", "license", "GPL")])
    >>> NotRecorded()(start("What does gimp cost?", graph, evidence=Evidence.of_edges([0]))).answer.text
    'The graph does not say. The nearest that it records is: gimp license GPL'
    """

    gives = ("answer",)
    encoder: Encoder | None = None
    parser: QueryParser | None = None

    def apply(self, state: State, run: Run) -> State:
        nearest = state.items.top(1).texts(state.graph)
        possible = most_probable(self.parser, state, run, _POSSIBLE) if self.parser else None
        shown = _possible(computed_answer(state.with_(query=possible)), possible.probability).text if possible else ""
        parts = [f"The graph may say: {without_markers(shown)}" if possible else NOT_RECORDED]
        if nearest and not possible:
            parts.append(f"The nearest that it records is: {nearest[0]}")
        if self.encoder and english_probability(self.encoder.encode([state.question.text])[0]) < LIKELY:
            parts.insert(1, NOT_ENGLISH)
        return answered(state, run, Answer(" ".join(parts), found=False))


def most_probable(parser: QueryParser, state: State, run: Run, least: float) -> AskedQuery | None:
    """Return the most probable query of a question with what it finds, if its probability is at least `least`.

    A "yes" or "no" shows nothing by which it could be checked, and is left out.
    """
    for query, _, probability in parsed(parser, state, run)[:1]:
        if probability >= least and not isinstance(query, Exists):
            result = result_of(query, Facts.of(state.graph))
            return None if result.is_empty else AskedQuery(query, probability, result)
    return None


def _possible(computed: Answer, probability: float) -> Answer:
    return replace(computed, text=f"{computed.text}. This reading has a probability of {probability:.2f}.")


def _agree(graph: Graph, asked: AskedQuery, computed: Answer, other: Answer) -> bool:
    """Return whether passages answer from what a computed answer takes, or with the same.

    No row by itself answers what all rows of a table decide: the nearest text is then of the same table.
    """
    first = other.citations[:1]
    quoted = any(overlap(own, cited) for own in computed.citations for cited in first)
    is_same = other.found and (quoted or not set(computed.short).isdisjoint(other.short))
    return is_same or bool(not looks_up(asked.query) and _types(graph, first) & _types(graph, computed.citations))


def computed_answer(state: State) -> Answer:
    """Return the result of the query of a state as an answer."""
    assert state.query is not None and state.query.result is not None
    asked, result = state.query, state.query.result
    short, more = _short(state.graph, result), len(result.things) - len(result.support)
    shown = short
    if result.newest:
        shown = tuple(f"{name} ({date})" if date else name for name, date in _named(state.graph, result))
    names = ", ".join(shown[:_LISTED]) + (", …" if result.is_set and len(result.things) > _LISTED else "")
    cited = "".join(f"[{number}]" for number in range(1, len(result.citations) + 1))
    parts = (names, f"({asked.words})", cited, f"and {more:,} more" if cited and more > 0 else "", *result.notes)
    return Answer(" ".join(filter(None, parts)), short, result.citations, headline=names)


def _named(graph: Graph, result: QueryResult) -> list[tuple[str, str]]:
    """Return the names of the things that are found with the dates of their statements, the newest first."""
    nodes, dates = len(graph.columns.kinds), result.dates or [""] * len(result.names)
    shown = [shown_name(graph, id) if id < nodes else "" for id in result.things[: len(result.names)].tolist()]
    named = [(name or other, date) for name, other, date in zip(shown, result.names, dates, strict=True)]
    return list(dict.fromkeys([named[at] for at in result.newest] or named))


def _short(graph: Graph, result: QueryResult) -> tuple[str, ...]:
    """Return the names of the things that are found, or the value; "none" where there is none."""
    if result.is_empty:
        return ("none",)
    if result.is_set:
        return tuple(dict.fromkeys(_in_unit(name, result.unit) for name, _ in _named(graph, result)))
    if isinstance(result.value, bool):
        return ("yes" if result.value else "no",)
    return (f"{result.value} {result.unit}".strip(),)


def _in_unit(name: str, unit: str) -> str:
    """Return the text of a number with a unit, unless it has one, and any other text as it is."""
    value = value_of(name) if unit else None
    return f"{name} {unit}" if value is not None and value.kind == "number" and not value.unit else name


def _types(graph: Graph, citations: Sequence[Citation]) -> set[str]:
    """Return the types of the rows and objects in the cited documents: of records that are no texts."""
    passages, records = graph.passages, graph.columns.records
    if passages is None or not records:
        return set()
    cited = {citation.document for citation in citations}
    numbers = [number for number, document in enumerate(passages.documents) if document in cited]
    nodes = passages.nodes[np.isin(passages.document, numbers)]
    return {kind for kind, *_ in records.fields_of(nodes)} - {CLAUSE, DOCUMENT, MAIL, MESSAGE}


def _with_possible(other: Answer, possible: Answer) -> Answer:
    """Return an answer with what may be meant and its citations after it."""
    first = len(other.citations) + 1
    text, _ = with_markers(possible.text, range(first, first + len(possible.citations)))
    return replace(
        other, text=f"{other.text}\nThe records may say: {text}", citations=other.citations + possible.citations
    )
