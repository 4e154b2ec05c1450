"""Steps that several pipelines have in common, done once for all of them: how methods are compared in less time.

Two pipelines that begin alike are in the same state till they part, so a step is known by itself, its cut and the state
that it is given, wherever in a pipeline it stands. What a step gave is then given again, with the time and the work of
models that it took the first time: each pipeline's trace is what it would have been alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NamedTuple

from graphwright.models.base import Usage, spend
from graphwright.models.bills import Items, added, bill, itemised
from graphwright.operators.state import State, Step

__all__ = ["Shared", "shared", "sharing"]


class _Done(NamedTuple):
    given: State  # kept so that what the key names by its place in memory stays there
    after: State
    used: Items


class Shared:
    """What steps gave, for as long as one question is asked.

    A step is shared where it is equal to another and hashable, as frozen dataclasses over indexes and models are. What
    is worked out from a graph later, such as its adjacency, each pipeline works out for itself.
    """

    def __init__(self) -> None:
        self._done: dict[Hashable, _Done] = {}

    def once(self, operator: Any, state: State, k: int | None, work: Callable[[], State]) -> State:
        """Return what the work of a step gives, or gave before; the last step of its trace is this one."""
        try:
            key = operator, k, _key(state)
            known = self._done.get(key)
        except TypeError:  # something in it cannot be compared
            return work()
        if known is None:
            with itemised() as used:
                after = work()
            self._done[key] = _Done(state, after, used)
            return after
        within, step = known.after.trace[len(known.given.trace) : -1], _charged(known.after.trace[-1], known.used)
        spend(**vars(replace(step.usage, saved=step.seconds)))  # these seconds have what was saved before in them
        graph = known.after.graph
        graph = state.graph if graph is known.given.graph else graph.afresh()
        return known.after.with_(graph=graph, trace=(*state.trace, *within, step))


def _charged(step: Step, used: Items) -> Step:
    """Return a step as it is for the pipeline that runs, which may remember more or less than the one that did it."""
    due = bill()
    beyond = Usage() if due is None else due.taken(used)
    if beyond == Usage():
        return step
    return replace(step, seconds=step.seconds + beyond.saved, usage=added(step.usage, beyond))


_shared: ContextVar[Shared | None] = ContextVar("graphwright_shared", default=None)


def shared() -> Shared | None:
    """Return what pipelines share now, None where each is on its own."""
    return _shared.get()


@contextmanager
def sharing() -> Iterator[Shared]:
    """Do equal steps on equal states once inside the block, in this thread or task.

    >>> from graphwright import Graph, KHop, start
    >>> state = start("?", Graph.from_triples([("Graz", "on", "Mur")]), entities=["Graz"])
    >>> with sharing():
    ...     first, again = (KHop(1) % 5)(state), (KHop(1) % 5)(state)
    >>> first.evidence is again.evidence, first.trace[-1] is again.trace[-1]
    (True, True)
    """
    token = _shared.set(made := Shared())
    try:
        yield made
    finally:
        _shared.reset(token)


def _key(state: State) -> Hashable:
    """Return what a state is known by: the question and anchors as they are, all else by its place in memory."""
    held = id(state.evidence), id(state.chunks), id(state.answer)
    return state.question, state.anchors, state.graph.place, held, state.prompt
