"""Engines apply a function to many items, in local processes or on a Ray cluster; and work that is repeated by time.

The function depends on its item alone. It may run anywhere, in any order, and twice, so results do not depend on the
number of workers, or on workers that die.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

from graphwright.errors import GraphwrightError, OptionError, check_installed

Item = TypeVar("Item")
Result = TypeVar("Result")
_MAX_DEATHS = 3  # worker deaths in a row without a new result


@contextmanager
def repeated(work: Callable[[], object], seconds: float, *, wait: bool = True) -> Iterator[None]:
    """Do some work every `seconds`, in a thread, until the block ends. `wait`: at the end, for work that has begun."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(seconds):
            work()

    thread = threading.Thread(target=repeat, name="graphwright-repeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        if wait:
            thread.join()


class EngineError(GraphwrightError):
    """The workers of an engine cannot be started or reached, or die again and again."""


class Engine(Protocol):
    """A pool of workers, used by one thread."""

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the result of each item, in order. Raises the errors of the function, and EngineError."""
        ...

    def close(self) -> None:
        """Stop the workers."""
        ...


class LocalEngine:
    """A pool of local processes. Processes that die are replaced, and their unfinished items are computed again."""

    def __init__(self, workers: int | None = None) -> None:
        """`workers`: number of processes, by default one for each processor."""
        self._workers = _checked(workers) or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the result of each item, in order. Raises the errors of the function, and EngineError."""
        results = dict[int, Result]()
        deaths = 0
        while len(results) < len(items):
            before = len(results)
            try:
                self._run(function, items, results)
            except BrokenProcessPool as error:
                self.close()
                deaths = 0 if len(results) > before else deaths + 1
                if deaths >= _MAX_DEATHS:
                    raise EngineError(
                        f"processes of the engine died {deaths} times in a row ({error}). Is the memory used up? Try "
                        f"fewer workers; finished work is stored, and the same command continues."
                    ) from error
        return [results[number] for number in range(len(items))]

    def _run(self, function: Callable[[Item], Result], items: Sequence[Item], results: dict[int, Result]) -> None:
        """Compute the missing results. Raises BrokenProcessPool if a process dies."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"))
        tasks = {n: self._pool.submit(function, item) for n, item in enumerate(items) if n not in results}
        broken: BrokenProcessPool | None = None
        try:
            for number, task in tasks.items():
                try:
                    results[number] = task.result()
                except BrokenProcessPool as error:
                    broken = error
        finally:
            for task in tasks.values():
                task.cancel()
        if broken is not None:
            raise broken

    def close(self) -> None:
        """Stop the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


class RayEngine:
    """A Ray cluster, or a local Ray. Tasks of nodes and workers that die are repeated."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        """Connect to the cluster at `address` (ray://HOST:10001, HOST:6379 or auto); by default start Ray locally.

        `workers`: maximum tasks at a time (default: the cluster's processors). Neither Ray's dashboard nor its usage
        statistics are on. Raises EngineError if Ray cannot be reached.
        """
        self._workers = _checked(workers)
        self._ray, self._owner = connected_ray(address, self._workers, "The engine ray")

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the result of each item, in order. Raises the errors of the function, and EngineError."""
        ray = self._ray
        task = ray.remote(num_cpus=1, max_retries=-1)(_call)
        limit = self._workers or max(2 * int(ray.cluster_resources().get("CPU", 1)), 1)
        running: dict[Any, int] = {}
        results = dict[int, Result]()
        waiting = iter(range(len(items)))
        with _errors("the work on Ray failed", ray.exceptions.RayError):
            shared = ray.put(function)
            while len(results) < len(items):
                while len(running) < limit and (number := next(waiting, None)) is not None:
                    running[task.remote(shared, items[number])] = number
                done, _ = ray.wait(list(running), num_returns=1)
                for reference in done:
                    results[running.pop(reference)] = ray.get(reference)
        return [results[number] for number in range(len(items))]

    def close(self) -> None:
        """Disconnect from Ray. If the engine has started Ray, stop it."""
        if self._owner:
            with suppress(Exception):
                self._ray.shutdown()


def connected_ray(address: str | None, cpus: int | None, user: str) -> tuple[Any, bool]:
    """Return the module ray, connected, and whether this has connected it; see `RayEngine` for the address.

    `cpus`: of a Ray that is started here. `user`: what needs it. Raises EngineError if it cannot be reached.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    check_installed("ray", "ray", f"{user}, here and on every node,")
    ray = importlib.import_module("ray")
    if ray.is_initialized():
        return ray, False
    started: dict[str, Any] = {} if address else {"include_dashboard": False, "num_cpus": cpus}
    with _errors(f"Ray cannot be reached at {address}" if address else "Ray cannot be started"):
        ray.init(address=address or "local", log_to_driver=False, logging_level="error", **started)
    return ray, True


def engine_of(name: str, address: str | None = None, workers: int | None = None) -> Engine:
    """Return an engine by name. Raises OptionError for an unknown name, or an address without the engine ray."""
    if name == "ray":
        return RayEngine(address, workers)
    if name != "local":
        raise OptionError(f"the engine is {name!r}; choose from local, ray.")
    if address is not None:
        raise OptionError(f"the address {address} is that of a Ray cluster; choose the engine ray.")
    return LocalEngine(workers)


def _checked(workers: int | None) -> int | None:
    if workers is not None and workers < 1:
        raise OptionError(f"workers is {workers}; it must be at least 1.")
    return workers


def _call(function: Callable[[Item], Result], item: Item) -> Result:
    return function(item)


@contextmanager
def _errors(failure: str, kind: type[Exception] = Exception) -> Iterator[None]:
    """Raise errors of Ray as EngineError. A GraphwrightError of the function is raised unchanged."""
    try:
        yield
    except kind as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, GraphwrightError):
            raise cause from None
        lines = str(error).strip().splitlines()
        raise EngineError(
            f"{failure} ({type(error).__name__}: {lines[-1] if lines else ''}). Finished work is stored, and the same "
            f"command continues."
        ) from error
