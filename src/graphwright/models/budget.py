"""What a language model's calls cost, and a limit on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from threading import Condition
from typing import Any

from graphwright.errors import BudgetError, OptionError
from graphwright.models.base import metered
from graphwright.models.protocols import Completion, LLM, Usage
from graphwright.models.schema import described
from graphwright.models.stopping import check, look

__all__ = ["BudgetedLLM", "Prices", "allow", "estimated_tokens"]

_AMENDS = 200  # tokens that ask for a corrected reply


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has: a quarter for each ASCII character, one for each other, rounded up.

    >>> estimated_tokens("four words, one dot."), estimated_tokens("東京")
    (5, 2)
    """
    ascii_characters = len(text.encode("ascii", "ignore"))
    return -(-ascii_characters // 4) + len(text) - ascii_characters


@dataclass(frozen=True)
class Prices:
    """Money for a million tokens that a model reads (`prompt`) and writes (`completion`), in any one currency.

    >>> Prices(0.15, 0.60).cost(2_000, 500)
    0.0006
    """

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        if not (0 <= self.prompt < float("inf") and 0 <= self.completion < float("inf")):
            raise OptionError(f"{self!r}: a price is a number from 0, for a million tokens.")

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the money for so many tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1_000_000


@dataclass(slots=True, eq=False)
class _Reserved:
    """What a call may take at most."""

    tokens: int
    cost: float


@dataclass
class _Ledger:
    """What was spent, and what the calls under way have reserved."""

    changed: Condition = field(default_factory=Condition)
    spent: Usage = field(default_factory=Usage)
    under_way: list[_Reserved] = field(default_factory=list)


@dataclass(frozen=True)
class BudgetedLLM:
    """A language model that stops before it could spend more than was allowed.

    `max_tokens`: read and written together, over all calls; `max_cost`: money by `prices`, or by those of the model.
    Each call first reserves the most that it is estimated to take: the prompt, the model's own `max_tokens` for the
    reply, and where there is a schema also the second reply that may be asked for. A model that sends requests asks
    before each (see `allow`): one more than was reserved for, after an answer that broke off or came too late, is
    reserved for alone. What fits what is unspent but not what calls under way have reserved waits for them, so a budget
    ends at the same place with any number of threads. Wrap this in a CachedLLM, not the other way round: then a stored
    reply needs no budget. Threads may share the object; each process that it is sent to counts on its own.

    >>> from graphwright.models.fake import ScriptedLLM
    >>> llm = BudgetedLLM(ScriptedLLM(lambda system, user: "Graz."), max_tokens=20)
    >>> llm.complete("Answer.", "Where is the Uhrturm?").text, llm.spent.prompt_tokens
    ('Graz.', 5)
    >>> llm.complete("Answer.", "Where? " * 9)
    Traceback (most recent call last):
    ...
    graphwright.errors.BudgetError: The next call may take 18 tokens; 6 of 20 are spent. Allow for more with max_tokens.
    """

    llm: LLM
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None
    _ledger: _Ledger = field(default_factory=_Ledger, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if (self.max_tokens is not None and self.max_tokens < 0) or (
            self.max_cost is not None and not self.max_cost >= 0
        ):
            raise OptionError(
                f"BudgetedLLM: max_tokens is {self.max_tokens} and max_cost {self.max_cost}; give numbers from 0."
            )
        if self.max_cost is not None and self._rates is None:
            raise OptionError(
                f"BudgetedLLM: max_cost is {self.max_cost}, but there are no prices to count by. Give "
                f"prices=Prices(prompt, completion), each for a million tokens."
            )

    def __reduce__(self) -> tuple[type[BudgetedLLM], tuple[LLM, int | None, float | None, Prices | None]]:
        return BudgetedLLM, (self.llm, self.max_tokens, self.max_cost, self.prices)

    @property
    def id(self) -> str:
        """Name of the model: a budget changes no reply."""
        return self.llm.id

    @property
    def spent(self) -> Usage:
        """What all calls that have ended took."""
        with self._ledger.changed:
            return replace(self._ledger.spent)

    @property
    def _rates(self) -> Prices | None:
        return self.prices or getattr(_model(self.llm), "prices", None)

    def complete(
        self,
        system: str,
        user: str,
        *,
        schema: type[Any] | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Answer one prompt as the model does. Raises BudgetError before anything is sent that may take too much."""
        with metered() as usage:
            call = _Call(self, usage)
            call.reserve(*self._most(system, user, schema))
            try:
                with _asked(call):
                    completion = self.llm.complete(system, user, schema=schema, on_text=on_text)
                call.completion = completion
            finally:
                call.settle()
        return completion

    def _most(self, system: str, user: str, schema: type[Any] | None) -> tuple[int, int]:
        """Return the most tokens that a call is estimated to read and to write."""
        prompt = estimated_tokens(system) + estimated_tokens(user)
        reply = getattr(_model(self.llm), "max_tokens", None) or 0
        if schema is None:
            return prompt, reply
        prompt += estimated_tokens(described(schema))
        return 2 * prompt + reply + _AMENDS, 2 * reply

    def _reserve(self, tokens: int, cost: float) -> _Reserved:
        ledger, asked = self._ledger, _Reserved(tokens, cost)
        with ledger.changed:
            while not self._fits([asked, *ledger.under_way]):
                if not self._fits([asked]):
                    raise BudgetError(self._complaint(asked))
                ledger.changed.wait(look())
                check()
            ledger.under_way.append(asked)
        return asked

    def _settle(self, reserved: _Reserved | None, taken: Usage) -> None:
        with self._ledger.changed:
            if reserved is not None:
                self._ledger.under_way.remove(reserved)
            for name, amount in vars(taken).items():
                setattr(self._ledger.spent, name, getattr(self._ledger.spent, name) + amount)
            self._ledger.changed.notify_all()

    def _fits(self, calls: list[_Reserved]) -> bool:
        spent = self._ledger.spent
        tokens = spent.prompt_tokens + spent.completion_tokens + sum(call.tokens for call in calls)
        cost = spent.cost + sum(call.cost for call in calls)
        return (self.max_tokens is None or tokens <= self.max_tokens) and (
            self.max_cost is None or cost <= self.max_cost
        )

    def _complaint(self, asked: _Reserved) -> str:
        spent = self._ledger.spent
        used = spent.prompt_tokens + spent.completion_tokens
        if self.max_tokens is not None and used + asked.tokens > self.max_tokens:
            return (
                f"The next call may take {asked.tokens:,} tokens; {used:,} of {self.max_tokens:,} are spent. "
                f"Allow for more with max_tokens."
            )
        return (
            f"The next call may cost {asked.cost:.6g}; {spent.cost:.6g} of {self.max_cost:.6g} are spent. "
            f"Allow for more with max_cost."
        )


class _Call:
    """One call under a budget: what is reserved for it, and what it took."""

    def __init__(self, llm: BudgetedLLM, usage: Usage) -> None:
        self.completion: Completion | None = None
        self._llm = llm
        self._usage = usage
        self._rates = llm._rates
        self._settled = Usage()  # what of it the ledger has
        self._reserved: _Reserved | None = None

    def reserve(self, prompt: int, reply: int) -> None:
        """Wait until so many tokens can be reserved; BudgetError where they cannot."""
        self._reserved = self._llm._reserve(prompt + reply, self._cost(prompt, reply))

    def covers(self, prompt: int, reply: int) -> bool:
        """Whether so many tokens more are within what is reserved."""
        taken, reserved = self._taken(), self._reserved
        return reserved is not None and (
            taken.prompt_tokens + taken.completion_tokens + prompt + reply <= reserved.tokens
            and taken.cost + self._cost(prompt, reply) <= reserved.cost
        )

    def settle(self) -> None:
        """Enter what was taken, and give back what was reserved beyond that."""
        taken, reserved = self._taken(), self._reserved
        self._reserved = None
        self._llm._settle(reserved, taken)
        for name, amount in vars(taken).items():
            setattr(self._settled, name, getattr(self._settled, name) + amount)

    def _cost(self, prompt: int, reply: int) -> float:
        return self._rates.cost(prompt, reply) if self._rates else 0.0

    def _taken(self) -> Usage:
        """Return what the call took that the ledger does not have yet."""
        whole, settled = vars(_taken(self._usage, self.completion, self._rates)), vars(self._settled)
        return Usage(**{name: amount - settled[name] for name, amount in whole.items()})


_calls: ContextVar[tuple[_Call, ...]] = ContextVar("graphwright_calls", default=())


@contextmanager
def _asked(call: _Call) -> Iterator[None]:
    """Ask a call's budget, inside the block, before each request."""
    token = _calls.set((*_calls.get(), call))
    try:
        yield
    finally:
        _calls.reset(token)


def allow(prompt: int, reply: int) -> None:
    """Ask the budgets that hold here for one request of so many tokens; a model calls this before it sends each.

    Raises BudgetError where it is more than what is left. Nothing happens where there is no budget. A call that waits
    for others keeps nothing reserved meanwhile, so that no two wait for each other.

    >>> from graphwright.models.base import spend
    >>> class Twice:
    ...     id = "sends every request twice"
    ...     def complete(self, system, user, **options):
    ...         for _ in range(2):
    ...             allow(9, 0)
    ...             spend(prompt_tokens=9)
    >>> BudgetedLLM(Twice(), max_tokens=15).complete("", "40 letters" * 4)
    Traceback (most recent call last):
    ...
    graphwright.errors.BudgetError: The next call may take 9 tokens; 9 of 15 are spent. Allow for more with max_tokens.
    """
    calls = _calls.get()
    if not all(call.covers(prompt, reply) for call in calls):
        for call in calls:
            call.settle()
        for call in calls:
            call.reserve(prompt, reply)


def _model(llm: Any) -> Any:
    """Return the model inside the wrappers, as only that knows its limits and prices."""
    while hasattr(llm, "llm"):
        llm = llm.llm
    return llm


def _taken(usage: Usage, completion: Completion | None, rates: Prices | None) -> Usage:
    """Return what a call took: as metered, as far as the model reports to meters, else as the completion says."""
    prompt, reply = usage.prompt_tokens, usage.completion_tokens
    if completion is not None:
        prompt, reply = max(prompt, completion.prompt_tokens), max(reply, completion.completion_tokens)
    cost = rates.cost(prompt, reply) if rates else usage.cost
    return replace(usage, prompt_tokens=prompt, completion_tokens=reply, cost=cost)
