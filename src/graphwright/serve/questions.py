"""Queries to the indexes of a server, with replies in the JSON of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphwright import Event, Index, State
from graphwright.errors import OptionError
from graphwright.generate import Reply
from graphwright.methods.registry import method_named
from graphwright.models import LLM, Cancellation
from graphwright.operators import Run
from graphwright.serve.server import Library


@dataclass(frozen=True)
class Query:
    """A question to an index. `llm`: None for an offline answer; `deadline`: seconds until it continues without it."""

    question: str
    method: str | None = None
    top_k: int | None = None
    filter: Mapping[str, Any] | None = None
    llm: LLM | None = None
    deadline: float | None = None
    report: Callable[[Mapping[str, Any]], None] = lambda reply: None

    def retrieve(self, index: Index, cancel: Cancellation | None = None) -> dict[str, Any]:
        """Return passages and evidence. Raises OptionError for a method that only asks a language model."""
        name, options = replace(self, llm=None)._method(index)
        if method_named(name).required:
            raise OptionError(f"{name} asks a language model only, and retrieves nothing. Ask it, or name another one.")
        return self._reported(index.retrieve(self.question, name, run=_run(cancel), **options), name)

    def ask(
        self, index: Index, cancel: Cancellation | None = None, on_event: Callable[[Event], None] | None = None
    ) -> dict[str, Any]:
        """Return the answer with its citations; `on_event` is called with each event."""
        name, options = self._method(index)
        run = _run(cancel) if on_event is None else Run(cancel=cancel)
        return self._reported(index.ask(self.question, name, run=run, on_event=on_event, **options), name)

    def reply(
        self,
        index: Index,
        text: str,
        cancel: Cancellation | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> dict[str, Any]:
        """Return a text that is no answer, in the form of one; nothing is searched."""
        run = _run(cancel) if on_event is None else Run(cancel=cancel)
        state = index.ask(self.question, Reply(text), run=run, on_event=on_event)
        return self._reported(state, self._method(index)[0])

    def _reported(self, state: State, method: str) -> dict[str, Any]:
        reply = state.to_dict(method=method, top_k=self.top_k)
        self.report(reply)
        return reply

    def waits_for_llm(self, index: Index) -> bool:
        """Return whether an answer to this query asks a language model."""
        return "llm" in self._method(index)[1]

    def _method(self, index: Index) -> tuple[str, dict[str, Any]]:
        """Return the method's name and its options. Raises OptionError for an unknown one."""
        name = self.method or index.default_method
        options: dict[str, Any] = {"top_k": self.top_k, "filter": self.filter}
        if self.llm is not None and "llm" in method_named(name).options:
            options |= {"llm": self.llm, "deadline": self.deadline}
        return name, {option: value for option, value in options.items() if value is not None}


def query_to(
    library: Library,
    index: str,
    question: str,
    method: str | None = None,
    top_k: int | None = None,
    filter: Mapping[str, Any] | None = None,
    *,
    offline: bool = False,
) -> Query:
    """Return a query, with the language model unless `offline`. Raises OptionError for too long a question."""
    limit = library.settings.max_question
    if len(question) > limit:
        raise OptionError(f"The question has {len(question):,} characters; this server takes {limit:,}.")
    llm = None if offline else library.models.answering(index)
    report = library.reporter(index)
    return Query(question, method, top_k, filter, llm, library.settings.deadline, report)


def _run(cancel: Cancellation | None) -> Run:
    """Return a run that ends after the step in which it is cancelled."""
    return Run() if cancel is None else Run(cancel=cancel, on_step=lambda _: cancel.check())
