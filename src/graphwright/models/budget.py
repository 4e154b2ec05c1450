"""Prices and rates of language models, a budget for the cost of their calls, and a deadline for a question."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Condition
from typing import Annotated, Any

from graphwright.constraints import AtLeast, Checked, MoreThan
from graphwright.errors import BudgetError, ModelError, OptionError, ReplyCutError
from graphwright.models.protocols import (
    LLM,
    ByArguments,
    Cancel,
    Cancellation,
    Completion,
    OnText,
    Schema,
    Usage,
    has_argument,
)
from graphwright.models.structured import schema_text

_MAX_SECONDS = 86_400


class Deadline(Cancellation):
    """A cancellation so many seconds after its creation: a running request is cut, and no further one is sent.

    The error is a ReplyCutError, so that steps continue without the model. `cancel`: another one, which stays in force.

    >>> Deadline(60.0).pause(61.0)
    Traceback (most recent call last):
    ...
    graphwright.errors.ReplyCutError: The deadline of 60 seconds has passed. Set a longer one, or use a faster model.
    """

    def __init__(self, seconds: float, cancel: Cancel = None) -> None:
        """Start the timer. Raises OptionError for an invalid time."""
        if not isinstance(seconds, int | float) or not 0 < seconds <= _MAX_SECONDS:
            raise OptionError(
                f"deadline is {seconds!r}; it must be a number, more than 0 and at most {_MAX_SECONDS:,}."
            )
        super().__init__()
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._outer = cancel or Cancellation()

    def check(self, grace: float = 0.0) -> None:
        """Raise ModelError where the work was cancelled `grace` seconds ago, ReplyCutError after the deadline."""
        super().check(grace)
        self._outer.check(grace)
        if time.monotonic() >= self._end:
            raise self._passed()

    def pause(self, seconds: float) -> None:
        """Sleep. Raises ModelError as soon as the work is cancelled, ReplyCutError at once if the deadline is near."""
        until = time.monotonic() + seconds
        if until >= self._end:
            raise self._passed()
        while (left := until - time.monotonic()) > 0.0:
            super().pause(self.poll(left))
            self.check()

    def poll(self, timeout: float = 0.1) -> float:
        """Return the seconds until the next check."""
        return min(super().poll(timeout), max(self._end - time.monotonic(), 0.0))

    def _passed(self) -> ReplyCutError:
        return ReplyCutError(
            f"The deadline of {self._seconds:g} seconds has passed. Set a longer one, or use a faster model."
        )


_CORRECTION_TOKENS = 200  # of the request to correct a reply


def estimated_tokens(text: str) -> int:
    """Return an estimate of a text's tokens: a quarter per ASCII character, one per other character, rounded up."""
    ascii_characters = len(text.encode("ascii", "ignore"))
    return -(-ascii_characters // 4) + len(text) - ascii_characters


@dataclass(frozen=True)
class Prices(Checked):
    """Prices of a million tokens that a model reads (`prompt`) and writes (`completion`), in any currency."""

    prompt: Annotated[float, AtLeast(0)]
    completion: Annotated[float, AtLeast(0)]

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of these tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1_000_000


@dataclass(frozen=True)
class Rate(Checked):
    """Tokens a second that a server reads (`prompt`) and writes (`completion`), summed over concurrent requests."""

    prompt: Annotated[float, MoreThan(0)]
    completion: Annotated[float, MoreThan(0)]

    def hours(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the hours for these tokens, where reading and writing do not overlap."""
        return (prompt_tokens / self.prompt + completion_tokens / self.completion) / 3600


@dataclass
class _Ledger:
    """The usage so far, and the maximum that each running call may still use."""

    changed: Condition = field(default_factory=Condition)
    spent: Usage = field(default_factory=Usage)
    reservations: list[Usage] = field(default_factory=list)


@dataclass(frozen=True)
class BudgetedLLM(Checked, ByArguments):
    """A language model with a budget: a call that could exceed it is not started.

    `max_tokens`: prompt and reply tokens of all calls together; `max_cost`: money, by `prices` or those of the model.
    Each call first reserves its maximum: the prompt, the model's `max_tokens`, and with a schema a second reply to
    correct the first. A call that fits the budget alone, but not with those that run, waits for them. Wrap this in a
    CachedLLM: cached replies are free. Threads may share the object; each process counts separately.

    >>> from graphwright.models.fake import ScriptedLLM
    >>> llm = BudgetedLLM(ScriptedLLM(lambda system, user: "Graz."), max_tokens=20)
    >>> llm.complete("Answer.", "Where is the Uhrturm?").text, llm.spent.prompt_tokens
    ('Graz.', 5)
    >>> llm.complete("Answer.", "Where? " * 9)
    Traceback (most recent call last):
    ...
    graphwright.errors.BudgetError: The next call may take 18 tokens; 6 of 20 are spent. Raise max_tokens.
    """

    llm: LLM
    max_tokens: Annotated[int | None, AtLeast(0)] = None
    max_cost: Annotated[float | None, AtLeast(0)] = None
    prices: Prices | None = None
    _ledger: _Ledger = field(default_factory=_Ledger, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_cost is not None and self._rates is None:
            raise OptionError(
                f"BudgetedLLM: max_cost is {self.max_cost}, but the model has no prices. Give prices=Prices(prompt, "
                f"completion), each for a million tokens."
            )

    @property
    def id(self) -> str:
        """Name of the model: a budget changes no reply."""
        return self.llm.id

    def with_grammar(self, grammar: str) -> BudgetedLLM:
        """Return the model with every reply constrained by a grammar, under the same budget."""
        return self.sharing(llm=self.llm.with_grammar(grammar))  # type: ignore[attr-defined]

    @property
    def spent(self) -> Usage:
        """Usage of all calls that have ended."""
        with self._ledger.changed:
            return replace(self._ledger.spent)

    @property
    def _rates(self) -> Prices | None:
        return self.prices or getattr(_innermost(self.llm), "prices", None)

    def complete(
        self,
        system: str,
        user: str,
        *,
        schema: Schema = None,
        on_text: OnText = None,
        cancel: Cancel = None,
        images: Sequence[str] = (),
    ) -> Completion:
        """Answer one prompt as the model does. Raises BudgetError before a request that could exceed the budget."""
        call = _Call(self, cancel or Cancellation())
        complete = partial(self.llm.complete, images=images) if images else self.llm.complete  # type: ignore[call-arg]
        if has_argument(complete, "allow"):
            complete = partial(complete, usage=call.usage, allow=call.reserve)  # type: ignore[call-arg]
        else:
            call.reserve(*self._max_usage(system, user, schema))
        try:
            completion: Completion = complete(system, user, schema=schema, on_text=on_text, cancel=cancel)
            call.usage = completion.usage
            return completion
        except ModelError as error:
            call.usage = error.usage or call.usage
            raise
        finally:
            call.settle()

    def _max_usage(self, system: str, user: str, schema: Schema) -> tuple[int, int]:
        """Return the most tokens that a call is estimated to read and to write."""
        prompt = estimated_tokens(system) + estimated_tokens(user)
        model = _innermost(self.llm)
        reply = getattr(model, "longest", None) or getattr(model, "max_tokens", None) or 0
        if schema is None:
            return prompt, reply
        prompt += estimated_tokens(schema_text(schema))
        return 2 * prompt + reply + _CORRECTION_TOKENS, 2 * reply

    def _excess(self, usages: Iterable[Usage]) -> str:
        """Return the reason why these usages exceed the rest of the budget, "" where they fit."""
        spent, tokens, cost = self._ledger.spent, 0, 0.0
        for usage in usages:
            tokens += usage.prompt_tokens + usage.completion_tokens
            cost += usage.cost
        spent_tokens = spent.prompt_tokens + spent.completion_tokens
        if self.max_tokens is not None and spent_tokens + tokens > self.max_tokens:
            return (
                f"The next call may take {tokens:,} tokens; {spent_tokens:,} of {self.max_tokens:,} are spent. Raise "
                f"max_tokens."
            )
        if self.max_cost is not None and spent.cost + cost > self.max_cost:
            return (
                f"The next call may cost {cost:.6g}; {spent.cost:.6g} of {self.max_cost:.6g} are spent. Raise max_cost."
            )
        return ""


class _Call:
    """One call under a budget: its usage so far, and its reservation."""

    def __init__(self, llm: BudgetedLLM, cancel: Cancellation) -> None:
        self.usage = Usage()
        self._llm = llm
        self._ledger = llm._ledger
        self._cancel = cancel
        self._settled = Usage()  # the part of the usage that is in the ledger
        self._reservation: Usage | None = None

    def reserve(self, prompt: int, reply: int) -> None:
        """Reserve these tokens, waiting where needed. Raises BudgetError where they exceed the rest of the budget."""
        self.settle()  # a waiting call holds no reservation, so that no two calls wait for each other
        usage = Usage(prompt_tokens=prompt, completion_tokens=reply, cost=self._cost(prompt, reply))
        with self._ledger.changed:
            while self._llm._excess([usage, *self._ledger.reservations]):
                if excess := self._llm._excess([usage]):
                    raise BudgetError(excess)
                self._ledger.changed.wait(self._cancel.poll())
                self._cancel.check()
            self._ledger.reservations.append(usage)
            self._reservation = usage

    def settle(self) -> None:
        """Record the usage in the ledger, its cost by the budget's prices, and end the reservation."""
        tokens = self.usage.prompt_tokens, self.usage.completion_tokens
        usage = replace(self.usage, cost=self._cost(*tokens)) if self._llm._rates else replace(self.usage)
        with self._ledger.changed:
            if self._reservation is not None:
                self._ledger.reservations.remove(self._reservation)
                self._reservation = None
            self._ledger.spent.add(usage)
            self._ledger.spent.add(self._settled, -1)
            self._ledger.changed.notify_all()
        self._settled = usage

    def _cost(self, prompt: int, reply: int) -> float:
        return self._llm._rates.cost(prompt, reply) if self._llm._rates else 0.0


def _innermost(llm: Any) -> Any:
    """Return the model inside the wrappers; only it has the limits and prices."""
    while hasattr(llm, "llm"):
        llm = llm.llm
    return llm
