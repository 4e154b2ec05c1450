"""Calls of a language model by several threads, with usage counts; they stop once all further calls would fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

from graphwright.errors import BudgetError, LLMResponseError, ModelError
from graphwright.extract.extraction import ExtractionFailure
from graphwright.models.protocols import LLM, Cancellation, Usage

_MAX_UNANSWERED = 3  # calls in a row without a reply, after which the model counts as unreachable
Item = TypeVar("Item")
Result = TypeVar("Result")


class MeteredCalls:
    """Calls for one batch of work, shared by its threads; `ended`: the reason why further calls would fail, or ""."""

    def __init__(self, llm: LLM, usage: Usage) -> None:
        self.cancel = Cancellation()
        self.ended = ""
        self._llm = llm
        self._usage = usage
        self._lock = Lock()
        self._unanswered = 0  # calls in a row without a reply

    def for_each(
        self, work: Callable[[Item, MeteredCalls], Result], items: Sequence[Item], threads: int
    ) -> list[Result]:
        """Return the result of the work on each item, done in threads; an error or an interrupt ends all calls."""
        pool = ThreadPoolExecutor(threads, thread_name_prefix="extract")
        with self.cancel:
            try:
                tasks = [pool.submit(work, item, self) for item in items]
                return [task.result() for task in tasks]
            finally:
                self.ended = self.ended or "the extraction was ended"
                pool.shutdown(wait=False, cancel_futures=True)

    def failure(self, error: ModelError, reason: str) -> ExtractionFailure:
        """Return the failure of one item; a reply that does not fit the schema does not affect the others."""
        return ExtractionFailure(reason, bool(self.ended) and not isinstance(error, LLMResponseError))

    def complete(self, prompt: str, system: str, user: str) -> Any:
        """Return the model's reply as an instance of the prompt's schema. Raises ModelError if there is none."""
        from graphwright.prompts.replies import REPLIES  # commands that extract nothing need not load pydantic

        if self.ended:
            raise ModelError(self.ended)
        try:
            completion = self._llm.complete(system, user, schema=REPLIES[prompt], cancel=self.cancel)
        except ModelError as error:
            with self._lock:
                self._usage.add(error.usage or Usage())
                answered = isinstance(error, BudgetError | LLMResponseError)
                self._unanswered = 0 if answered else self._unanswered + 1
                if isinstance(error, BudgetError):
                    self.ended = f"the budget is exhausted: {error}"
                    raise ModelError(self.ended) from error
                if self._unanswered >= _MAX_UNANSWERED:
                    self.ended = f"{_MAX_UNANSWERED} calls in a row got no reply, the last: {error}"
            raise
        with self._lock:
            self._usage.add(completion.usage)
            self._unanswered = 0
        return completion.value
