"""Questions to an index: retrieve, ask and stream, single and many, in threads and in an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.generate.conversation import USER, Conversation, Message, messages_of
from graphwright.generate.readers import answered
from graphwright.graph.graph import Graph
from graphwright.index_folder.reading import IndexReading, check_number
from graphwright.methods.method import Builder, Method
from graphwright.methods.registry import METHODS, default_method, method_of
from graphwright.models.budget import Deadline
from graphwright.models.protocols import LLM
from graphwright.models.registry import llm_of
from graphwright.operators.operator import Operator
from graphwright.operators.query.llm_parser import schema
from graphwright.operators.query.query import Query
from graphwright.operators.query.result import QueryResult, answer_of
from graphwright.operators.run import Run
from graphwright.operators.select import DistinctPassages
from graphwright.operators.state import Answer, Question, State, start
from graphwright.search.facts import Facts
from graphwright.search.filter import Filter
from graphwright.search.snapshot import Snapshot
from graphwright.search.versions import repeated_passages, versions_of
from graphwright.streaming import Event, OnEvent, answer_with_events, cancellable, stream, stream_async

GivenMethod = str | Operator | Method | Builder
Questions = Sequence[str | Question]
_MAX_METHODS = 64  # that are kept, of one snapshot
_MAX_COPIES = 50  # further passages that are ranked where some are copies
_SYNONYMS = {"k": "top_k", "limit": "top_k", "passages": "top_k", "model": "llm", "where": "filter", "within": "filter"}


class IndexAsking(IndexReading):
    """The half of an index that answers questions over its snapshot."""

    _methods: tuple[Graph | None, dict[Hashable, Method]] = (None, {})

    @property
    def default_method(self) -> str:
        """The name of the method that is used if none is given."""
        return _default(self.snapshot)

    def retrieve(
        self,
        question: str | Question,
        method: GivenMethod | None = None,
        *,
        top_k: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        run: Run | None = None,
        **options: Any,
    ) -> State:
        """Return the state with the evidence and passages of a method, without an answer.

        `method`: a name (`graphwright methods` lists them), a Method, an operator that searches, or a function from a
        snapshot to either; by default `multihop`, or `graph` if the index has an imported graph. `top_k`: number of
        passages. `filter`: the documents that are searched, without the others and without an imported graph; a date
        alone (`as_of`) keeps the statements of the graph that hold then. `run`: streams the answer, counts usage, and
        can be cancelled. `options`: further arguments of the method. Models (`llm`, `cross_encoder`, `reader`,
        `encoder`) are given as names, objects or functions.
        """
        snapshot, made = self._made(method, top_k=top_k, filter=filter, **options)
        return made.retrieval(start(question, snapshot.graph), self._prepared(run))

    def _prepared(self, run: Run | None = None, instruction: str = "") -> Run:
        """Return a run, by default a new one, with the prompts of the index and perhaps an instruction."""
        run = Run() if run is None else run
        return replace(run, prompts=self.prompts, instruction=instruction or run.instruction)

    def ask(
        self,
        question: str | Question,
        method: GivenMethod | None = None,
        *,
        history: Iterable[object] | None = None,
        instruction: str = "",
        run: Run | None = None,
        deadline: float | None = None,
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> State:
        """Return the state with an answer and its citations. Arguments as in `retrieve`.

        An operator that only searches is followed by the steps that answer offline in every method.

        `history`: the earlier turns of a conversation, oldest first: what `ask` returned, or pairs of texts, question
        and answer. The question is then a turn, `question.text` what it was taken to mean, and `question.turn` the turn
        if that is more. A turn that asks nothing of the documents, or may mean two things (`answer.choices`), is not
        searched. None: the question stands alone; []: it is the first turn.

        `instruction`: how a language model is to write the text of the answer, such as "for customers, in German, at
        most 80 words"; by default in the language of the question. It changes nothing in the citations, nor in an
        answer that no model writes, as a note in the trace then says.

        `deadline`: seconds for all calls of a language model; by default only each reply has a limit. At the deadline a
        running request is cancelled, and the remaining steps run without the model, as their notes state. `on_event`:
        called with each Event of the answer, as in `stream`.
        """
        run = self._prepared(run, instruction)
        run.incomplete = self.is_growing
        cancel = run.cancel
        if deadline is not None:
            run = replace(run, cancel=Deadline(deadline, cancel))
        snapshot, made = self._made(method, **options)
        if history is not None:
            llm = options.get("llm")
            turn = _TakeTurn(messages_of(history), self.snapshot, None if llm is None else llm_of(llm))
            made = replace(made, search=turn >> made.search)
        state = start(question, snapshot.graph)
        if on_event is None:
            return made(state, run)
        name = method if isinstance(method, str) else self.default_method if method is None else None
        return answer_with_events(made, state, run, on_event, name=name, top_k=options.get("top_k"), cancel=cancel)

    def query(self, query: str | Query, *, filter: Filter | Mapping[str, Any] | None = None) -> QueryResult:
        """Return what a query gives, exactly, over the statements of the graph and the records of the documents.

        `query`: a text (docs/queries.md has the notation) or a value. `filter`: as in `retrieve`. Raises OptionError
        for a text that is no query, and for an unknown relation, type or name.

        >>> import tempfile; from pathlib import Path
        >>> from graphwright.graph.graph import Graph; from graphwright.index_folder.index import Index
        >>> graph = Graph.from_triples([("Mur", "flows through", "Graz")])
        >>> index = Index.from_graph(Path(tempfile.mkdtemp()) / "rivers", graph)
        >>> index.query('"Graz".~[flows through]').names
        ('Mur',)
        """
        return answer_of(query, Facts.of((self.snapshot if filter is None else self.filtered(filter)).graph))

    def schema(self) -> dict[str, Any]:
        """Return the types and relations that a query may name, with their numbers, as JSON values."""
        return schema(Facts.of(self.snapshot.graph))

    def stream(self, question: str | Question, method: GivenMethod | None = None, **options: Any) -> Iterator[Event]:
        """Yield the events of an answer while it is made: steps, evidence, text, citations. Arguments as in `ask`.

        The text of `token` events is provisional; the last event, `done`, has the verified answer. Closing the
        generator cancels the answer.

        >>> import tempfile; from pathlib import Path
        >>> from graphwright.index_folder.index import Index; from graphwright.models.fake import HashEncoder
        >>> index = Index(Path(tempfile.mkdtemp()) / "cities", encoder=HashEncoder())
        >>> _ = index.add([{"id": "graz", "title": "Graz", "text": "Graz lies on the Mur in Styria."}])
        >>> events = list(index.stream("On which river does Graz lie?", "bm25"))
        >>> [event.kind for event in events if event.kind != "trace"]
        ['evidence', 'token', 'citation', 'usage', 'done']
        """
        return stream(lambda on_event, run: self.ask(question, method, run=run, on_event=on_event, **options))

    def stream_async(
        self, question: str | Question, method: GivenMethod | None = None, **options: Any
    ) -> AsyncIterator[Event]:
        """Yield the events of `stream` in an event loop, which is not blocked: `async for event in …`."""
        return stream_async(lambda on_event, run: self.ask(question, method, run=run, on_event=on_event, **options))

    async def ask_async(self, question: str | Question, method: GivenMethod | None = None, **options: Any) -> State:
        """Return the state of `ask` without blocking the event loop. If the task is cancelled, so is the answer."""
        return await cancellable(lambda run: self.ask(question, method, run=run, **options))

    def retrieve_many(
        self, questions: Questions, method: GivenMethod | None = None, *, threads: int = 2, **options: Any
    ) -> list[State]:
        """Return the states of `retrieve` for many questions, processed in threads; options as in `retrieve`."""
        snapshot, made = self._made(method, **options)
        return _many(questions, snapshot, made.retrieval, threads, self._prepared)

    def ask_many(
        self,
        questions: Questions,
        method: GivenMethod | None = None,
        *,
        threads: int = 2,
        deadline: float | None = None,
        instruction: str = "",
        **options: Any,
    ) -> list[State]:
        """Return the states of `ask` for many questions, processed in threads; options as in `ask`."""
        snapshot, made = self._made(method, **options)

        def run() -> Run:
            return self._prepared(Run(cancel=None if deadline is None else Deadline(deadline)), instruction)

        return _many(questions, snapshot, made.pipeline, threads, run)

    def close(self) -> None:
        super().close()
        self._methods = None, {}

    def method(self, method: GivenMethod | None = None, **options: Any) -> Method:
        """Return a method over the current snapshot."""
        return self._made(method, **options)[1]

    def _made(
        self,
        method: GivenMethod | None,
        *,
        top_k: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> tuple[Snapshot, Method]:
        """Return a snapshot, and a method over it."""
        if filter is not None and isinstance(method, Operator | Method):
            raise OptionError(
                f"{method!r} searches the indexes that it was built over, so filter={filter!r} would have no effect. "
                f"Give the method's name, or a function from a snapshot to an operator."
            )
        if top_k is not None:
            check_number("top_k", top_k)
        method_options = METHODS[method].options if isinstance(method, str) and method in METHODS else ()
        for name in options.keys() & _SYNONYMS.keys() - set(method_options):
            raise OptionError(f"{name!r} is not an option; did you mean {_SYNONYMS[name]!r}?")
        whole = self.snapshot
        snapshot = whole if filter is None else self.filtered(filter)
        options |= {} if top_k is None else {"top_k": top_k}
        made = self._over(snapshot, _default(whole) if method is None else method, options)
        date = None if filter is None else Filter.of(filter).as_of
        later = versions_of(snapshot.graph.columns).later_sections(date) if date else ()
        if later and "passages" in made.search.gives:
            made = replace(made, search=made.search >> _Without(later))
        return snapshot, made

    def _over(self, snapshot: Snapshot, method: GivenMethod, options: Mapping[str, Any]) -> Method:
        """Return a method over a snapshot; a named one with numbers alone for options is made once for a graph."""
        if not isinstance(method, str) or any(type(value) not in (int, float) for value in options.values()):
            return distinct(method, snapshot, **options)
        graph, methods = self._methods
        if graph is not snapshot.graph or len(methods) >= _MAX_METHODS:
            self._methods = snapshot.graph, (methods := {})
        key = method, snapshot.gate, *sorted((name, repr(value)) for name, value in options.items())
        if key not in methods:
            methods[key] = distinct(method, snapshot, **options)
        return methods[key]


def _default(snapshot: Snapshot) -> str:
    return default_method(imported=snapshot.graph.passages is None or snapshot.imported is not None)


@dataclass(frozen=True, repr=False)
class _TakeTurn(Operator):
    """Put a turn of a conversation into words that stand alone, for all steps after it.

    `Question.turn` keeps the turn as it was asked. A turn that asks nothing of the documents, or that may mean two
    things of the `earlier` messages, gets a reply in place of an answer, and nothing is searched.
    """

    earlier: tuple[Message, ...]
    snapshot: Snapshot
    llm: LLM | None = None

    def apply(self, state: State, run: Run) -> State:
        turn = state.question.text
        asked = Conversation.of((*self.earlier, Message(USER, turn))).standalone(self.snapshot, self.llm, run)
        if asked.reply:
            run.note("the turn may mean two things" if asked.choices else "the turn asks nothing of the documents")
            return answered(state, run, Answer(asked.reply, found=False, choices=asked.choices))
        if asked.question == turn.strip():
            return state
        run.note(f"the turn was taken to mean: {asked.question}")
        return state.with_(question=replace(state.question, text=asked.question, turn=turn))

    def __repr__(self) -> str:
        return f"TakeTurn(earlier={len(self.earlier)})"


@dataclass(frozen=True, repr=False)
class _Without(Operator):
    """Leave out passages."""

    nodes: tuple[int, ...]
    needs = gives = ("passages",)

    def apply(self, state: State, run: Run) -> State:
        assert state.passages is not None  # it needs them
        return state.with_(passages=state.passages.take(np.flatnonzero(~np.isin(state.passages.ids, self.nodes))))


def distinct(method: GivenMethod, snapshot: Snapshot, **options: Any) -> Method:
    """Return a method in whose ranking copies take one place; one with a `top_k` ranks more where there may be some."""
    copies = repeated_passages(snapshot.graph.columns)
    defaults = METHODS[method].options if isinstance(method, str) and method in METHODS else {}
    k = options.get("top_k", defaults.get("top_k"))
    if not copies or k is None or "top_k" not in defaults:
        return method_of(method, snapshot, **options)
    made = method_of(method, snapshot, **{**options, "top_k": k + min(copies, _MAX_COPIES)})
    return replace(made, search=made.search >> DistinctPassages(k))


def _many(
    questions: Questions, snapshot: Snapshot, operator: Operator, threads: int, run: Callable[[], Run]
) -> list[State]:
    if isinstance(questions, str) or not isinstance(questions, Iterable):
        raise OptionError(f"{questions!r} is not a list of questions. Give a list, or use ask or retrieve for one.")
    check_number("threads", threads)

    def state(question: str | Question) -> State:
        return operator(start(question, snapshot.graph), run())

    with ThreadPoolExecutor(max_workers=threads) as pool:
        return list(pool.map(state, questions))
