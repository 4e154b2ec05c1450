import asyncio
import threading
from collections.abc import Callable

import pytest
from tests.serve.conftest import wait_until

from graphwright.errors import OptionError
from graphwright.models.protocols import Cancellation
from graphwright.serve.problems import ClientGoneError, OverloadedError, RequestTimeoutError
from graphwright.serve.workers import Workers


class Request:
    """A request whose client goes away when `gone` is set."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> dict[str, str]:
        await self.gone.wait()
        return {"type": "http.disconnect"}


def until_cancelled(cancel: Cancellation) -> None:
    cancel.pause(30)


def test_more_work_than_fits_is_refused_with_a_time_to_wait() -> None:
    async def run() -> None:
        workers, free = Workers(threads=1, queue=1), threading.Event()
        tasks = [asyncio.ensure_future(workers.run(lambda _: free.wait(10))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError, match="Try again in 1 seconds") as refused:
            await workers.run(lambda _: None)
        assert refused.value.headers == {"Retry-After": "1"}
        assert await workers.run(lambda _: "llm", llm=True) == "llm"
        free.set()
        assert await asyncio.gather(*tasks) == [True, True]
        assert workers.pending == 0

    asyncio.run(run())


def test_work_is_cancelled_when_its_client_goes_away() -> None:
    async def run() -> None:
        workers, request = Workers(threads=1), Request()
        task = asyncio.ensure_future(workers.run(until_cancelled, request))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        request.gone.set()
        with pytest.raises(ClientGoneError):
            await task
        assert await workers.run(lambda _: 1) == 1  # the only thread is free again

    asyncio.run(run())


def test_work_that_waits_for_a_thread_is_dropped_when_its_client_goes_away() -> None:
    async def run() -> None:
        workers, request, free = Workers(threads=1), Request(), threading.Event()
        done: list[int] = []
        first = asyncio.ensure_future(workers.run(lambda _: free.wait(10)))
        waiting = asyncio.ensure_future(workers.run(lambda _: done.append(1), request))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        request.gone.set()
        with pytest.raises(ClientGoneError):
            await waiting
        free.set()
        await first
        assert not done and workers.pending == 0

    asyncio.run(run())


def test_work_is_cancelled_after_the_time_limit_and_keeps_its_place_until_it_ends() -> None:
    async def run() -> None:
        workers, free = Workers(threads=1, queue=0, timeout=0.05), threading.Event()
        with pytest.raises(RequestTimeoutError, match=r"more than 0\.05 seconds"):
            await workers.run(lambda _: free.wait(10))
        with pytest.raises(OverloadedError):
            await workers.run(lambda _: None)
        free.set()
        wait_until(lambda: workers.pending == 0)

    asyncio.run(run())


def test_a_stream_yields_items_as_they_are_made() -> None:
    async def run() -> None:
        workers, more = Workers(), threading.Event()

        def work(send: Callable[[int], None], _: Cancellation) -> None:
            send(1)
            more.wait(10)
            send(2)
            raise OptionError("the end")

        stream = await workers.stream(work)
        assert await anext(stream) == 1
        more.set()
        assert await anext(stream) == 2
        with pytest.raises(OptionError, match="the end"):
            await anext(stream)

    asyncio.run(run())


def test_an_error_before_the_first_item_is_raised_where_the_stream_is_opened() -> None:
    def work(send: Callable[[int], None], _: Cancellation) -> None:
        raise OptionError("no such method")

    with pytest.raises(OptionError, match="no such method"):
        asyncio.run(Workers().stream(work))


def test_a_slow_stream_is_opened_without_its_first_item_and_ends_after_the_time_limit() -> None:
    async def run() -> None:
        workers = Workers(timeout=0.05)
        stream = await workers.stream(lambda send, cancel: until_cancelled(cancel), patience=0.01)
        with pytest.raises(RequestTimeoutError):
            await anext(stream)
        wait_until(lambda: workers.pending == 0)

    asyncio.run(run())


def test_closing_a_stream_cancels_its_work() -> None:
    async def run() -> None:
        workers = Workers()
        stream = await workers.stream(lambda send, cancel: until_cancelled(cancel), patience=0.01)
        stream.close()
        wait_until(lambda: workers.pending == 0)

    asyncio.run(run())
