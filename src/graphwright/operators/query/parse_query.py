"""The steps that parse and execute the query of a question, and what follows from its probability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from graphwright.constraints import AtLeast, Between, Checked, Has
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Columns, Graph
from graphwright.graph.items import Item, tree_item
from graphwright.graph.walks import walk_text
from graphwright.operators.operator import Confident, Operator
from graphwright.operators.query import query as q
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.notation import notation
from graphwright.operators.query.parser import QueryParser, ScoredQuery, apportioned
from graphwright.operators.query.query import Compare, Count, Difference, Exists, Query, Where
from graphwright.operators.query.result import CERTAIN, LIKELY, SUPPORTED, SURE, AskedQuery, result_of
from graphwright.operators.query.support import Support, Supported
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.facts import Facts


@dataclass(frozen=True, repr=False)
class MostProbable(Checked):
    """Several parsers as one: the queries of all, the most probable first; none by default.

    >>> MostProbable()
    MostProbable()
    """

    parsers: tuple[QueryParser, ...] = ()

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        """Return the queries of all parsers."""
        return apportioned([query for parser in self.parsers for query in parser.parse(question, facts)])


@dataclass(frozen=True, repr=False)
class ParseQuery(Confident):
    """Set the query that a parser holds for the most probable; none if its probability is below `threshold`."""

    parser: Annotated[QueryParser, Has("a parser of questions, with parse", "parse")]
    threshold: Annotated[float, Between(0, 1)] = LIKELY
    gives = ("query",)

    def apply(self, state: State, run: Run) -> State:
        """Set the query, or leave the state unchanged."""
        queries = parsed(self.parser, state, run)
        if not queries:
            run.note("the question asks nothing that can be computed")
            return state
        best = queries[0]
        chance = f"has a probability of {best.probability:.2f}"
        if best.probability < self.threshold:
            run.note(f"the most probable query {chance}: {notation(best.query)}")
            return state
        run.note(f"the query {chance}")
        return state.with_(query=AskedQuery(best.query, best.probability))


def parsed(parser: QueryParser, state: State, run: Run) -> list[ScoredQuery]:
    """Return the queries that the question of a state may ask; parsed once in a run."""
    key = "queries", id(parser), state.graph.place, state.question.text
    return run.once(key, lambda: parser.parse(state.question.text, Facts.of(state.graph)))


@dataclass(frozen=True, repr=False)
class ExecuteQuery(Operator):
    """Execute the query of the state over all facts of its graph, and set its result; nothing without a query.

    A query that finds nothing is removed, unless its probability is at least `certain`: the answer is then that there
    is none. A "no" with something else that is recorded, such as another place of birth, finds something. A "no"
    without has to be SURE only: it is right as often as its probability says; empty sets hardly ever are. So has
    a "yes" to whether something is recorded at all ("Did Nora and her coach win?", where only the coach is known).
    """

    certain: Annotated[float, Between(0, 1)] = CERTAIN
    gives = ("query",)

    def apply(self, state: State, run: Run) -> State:
        """Set the result, or remove the query."""
        asked = state.query
        if asked is None:
            return state
        result = result_of(asked.query, Facts.of(state.graph))
        for note in result.notes:
            run.note(note)
        is_nothing = result.is_empty or not (result.support or isinstance(asked.query, Difference))
        is_weak = is_nothing or _is_whether_recorded(asked.query)
        if is_weak and asked.probability < self._least(asked.query, state.graph):
            run.note(f"{'nothing is found' if is_nothing else 'too little is asked'} for {asked.words}")
            return state.with_(query=None)
        return state.with_(query=replace(asked, result=result))

    def _least(self, query: Query, graph: Graph) -> float:
        """Return the least probability of a query that finds nothing."""
        return SURE if isinstance(query, Exists) or _is_none_of_recorded(query, graph) else self.certain


def _is_whether_recorded(query: Query) -> bool:
    """Return whether a query asks if steps from a name lead anywhere, and nothing of where they lead."""
    if not isinstance(query, Exists) or not isinstance(query.things, q.Follow):
        return False
    things: q.Things = query.things
    while isinstance(things, q.Follow):
        things = things.things
    return isinstance(things, q.Named)


def _is_none_of_recorded(query: Query, graph: Graph) -> bool:
    """Return whether a query counts things by values that all of them have."""
    execution, things = Execution(Facts.of(graph)), query.things if isinstance(query, Count) else None
    compared = False
    while isinstance(things, Where) and isinstance(things.condition, Compare) and things.condition.path:
        if len(execution.things(Where(things.things, q.Has(things.condition.path, negated=True)))):
            return False
        compared, things = True, things.things
    return compared and things is not None and len(execution.things(things)) > 0


@dataclass(frozen=True)
class IsComputed:
    """Holds if the state has a query with its result."""

    def __call__(self, state: State) -> bool:
        """Return whether there is a result."""
        return state.query is not None and state.query.result is not None


@dataclass(frozen=True, repr=False)
class QueryEvidence(Operator):
    """Set the evidence to what supports the result of the query, an item for each thing.

    An item is the walk along the statements that lead to the thing, or the passage that holds its record. `things`:
    maximum number of things.
    """

    things: Annotated[int, AtLeast(1)] = SUPPORTED
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Set the evidence."""
        queries = [state.query.query] if state.query is not None and IsComputed()(state) else []
        items = dict.fromkeys(item for query in queries for item in _supporting(state.graph, query, self.things))
        return state.with_(evidence=Evidence.of_items(items, render=walk_text))


@dataclass(frozen=True, repr=False)
class LikelyQueries(Operator):
    """Set the evidence to what supports the most probable queries of a parser, though none may be probable.

    Items are those of QueryEvidence, of the first ten things of each query, scored by its probability. `queries`:
    maximum number of queries.
    """

    parser: Annotated[QueryParser, Has("a parser of questions, with parse", "parse")]
    queries: Annotated[int, AtLeast(1)] = 10
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Set the evidence."""
        scores: dict[Item, float] = {}
        for query, _, probability in parsed(self.parser, state, run)[: self.queries]:
            for item in _supporting(state.graph, query, SUPPORTED):
                scores.setdefault(item, probability)
        return state.with_(evidence=Evidence.of_items(scores, list(scores.values()), render=walk_text))


def _supporting(graph: Graph, query: Query, things: int) -> Iterator[Item]:
    """Yield what supports the first things of a query: the walk to each as an item, and the passages of its records."""
    for supported in Support(Execution(Facts.of(graph))).of_first(query, things):
        edges = [fact for fact in supported.facts if fact < len(graph.columns.heads)]
        if edges:
            yield tree_item(graph, walk_nodes(graph, edges, supported.thing), edges)
        for record in records_of(graph.columns, supported):
            assert graph.columns.records is not None
            yield Item.node(int(graph.columns.records.chunk[record]))


def walk_nodes(graph: Graph, edges: list[int], thing: int) -> list[int]:
    """Return the nodes of edges: in the order of the walk along them to a thing, where they are one."""
    ends = graph.ends(edges).reshape(-1, 2).tolist()
    walk = [thing]
    for head, tail in reversed(ends):
        if walk[-1] in (head, tail):
            walk.append(head if walk[-1] == tail else tail)
    return walk[::-1] if len(walk) == len(edges) + 1 else list(dict.fromkeys(node for pair in ends for node in pair))


def records_of(columns: Columns, supported: Supported) -> list[int]:
    """Return the records that support a thing: itself, and those of its fields."""
    if columns.records is None:
        return []
    own, count = supported.thing - len(columns.kinds), len(columns.heads)
    records = [own] if 0 <= own < len(columns.records) else []
    records += [int(columns.records.record[fact - count]) for fact in supported.facts if fact >= count]
    return list(dict.fromkeys(records))
