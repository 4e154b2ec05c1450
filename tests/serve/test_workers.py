import asyncio
import threading
from collections.abc import Callable

import pytest
from tests.serve.conftest import wait_until

from graphwright.errors import OptionError
from graphwright.models.protocols import Cancellation
from graphwright.serve.problems import ClientGoneError, OverloadedError, RequestTimeoutError
from graphwright.serve.workers import ASKER, Lane, Workers


class Request:
    """A request whose client goes away when `gone` is set."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> dict[str, str]:
        await self.gone.wait()
        return {"type": "http.disconnect"}


def until_cancelled(cancel: Cancellation) -> None:
    cancel.pause(30)


def test_excess_work_is_refused_with_waiting_time() -> None:
    async def run() -> None:
        workers, free = Workers(threads=1, queue=1), threading.Event()
        tasks = [asyncio.ensure_future(workers.run(lambda _: free.wait(10))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError, match="Try again in 2 seconds") as refused:
            await workers.run(lambda _: None)
        assert refused.value.headers == {"Retry-After": "2"}
        assert await workers.run(lambda _: "llm", lane="llm") == "llm"
        free.set()
        assert await asyncio.gather(*tasks) == [True, True]
        assert workers.pending == 0

    asyncio.run(run())


def test_askers_take_turns_whoever_asks_most() -> None:
    async def run() -> list[str]:
        workers, free, order = Workers(threads=1), threading.Event(), list[str]()
        tasks = [asyncio.ensure_future(workers.run(lambda _: free.wait(10)))]
        for asker in ("much", "much", "much", "little", "much", "other", "little"):
            ASKER.set(asker)
            tasks.append(asyncio.ensure_future(workers.run(lambda _, asker=asker: order.append(asker))))  # type: ignore[misc]
        await asyncio.sleep(0.05)
        free.set()
        await asyncio.gather(*tasks)
        return order

    assert asyncio.run(run()) == ["much", "little", "other", "much", "little", "much", "much"]


def test_close_cancels_what_waits() -> None:
    async def run() -> None:
        workers, free = Workers(threads=1), threading.Event()
        tasks = [asyncio.ensure_future(workers.run(lambda _: free.wait(10))) for _ in range(2)]
        await asyncio.sleep(0.05)
        workers.close()
        free.set()
        first, second = await asyncio.gather(*tasks, return_exceptions=True)
        assert first is True and isinstance(second, asyncio.CancelledError)
        assert workers.pending == 0

    asyncio.run(run())


def test_work_is_cancelled_on_disconnect() -> None:
    async def run() -> None:
        workers, request = Workers(threads=1), Request()
        task = asyncio.ensure_future(workers.run(until_cancelled, request))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        request.gone.set()
        with pytest.raises(ClientGoneError):
            await task
        assert await workers.run(lambda _: 1) == 1  # the only thread is free again

    asyncio.run(run())


def test_queued_work_is_dropped_on_disconnect() -> None:
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


def test_timed_out_work_keeps_place_until_end() -> None:
    async def run() -> None:
        workers, free = Workers(threads=1, queue=0, timeout=0.05), threading.Event()
        with pytest.raises(RequestTimeoutError, match=r"more than 0\.05 seconds"):
            await workers.run(lambda _: free.wait(10))
        with pytest.raises(OverloadedError):
            await workers.run(lambda _: None)
        free.set()
        wait_until(lambda: workers.pending == 0)

    asyncio.run(run())


def test_stream_yields_items_as_made() -> None:
    async def run() -> None:
        workers, more = Workers(), threading.Event()

        def work(send: Callable[[int], None], _: Cancellation) -> None:
            send(1)
            more.wait(10)
            send(2)
            raise OptionError("the end")

        stream = await workers.stream(work, lane="answers")
        assert await anext(stream) == 1
        more.set()
        assert await anext(stream) == 2
        with pytest.raises(OptionError, match="the end"):
            await anext(stream)

    asyncio.run(run())


def test_error_before_first_item_is_raised_on_opening() -> None:
    def work(send: Callable[[int], None], _: Cancellation) -> None:
        raise OptionError("no such method")

    with pytest.raises(OptionError, match="no such method"):
        asyncio.run(Workers().stream(work, lane="answers"))


def test_slow_stream_opens_and_times_out() -> None:
    async def run() -> None:
        workers = Workers(timeout=0.05)
        stream = await workers.stream(lambda send, cancel: until_cancelled(cancel), lane="answers", patience=0.01)
        with pytest.raises(RequestTimeoutError):
            await anext(stream)
        wait_until(lambda: workers.pending == 0)

    asyncio.run(run())


def test_closing_stream_cancels_work() -> None:
    async def run() -> None:
        workers = Workers()
        stream = await workers.stream(lambda send, cancel: until_cancelled(cancel), lane="answers", patience=0.01)
        stream.close()
        wait_until(lambda: workers.pending == 0)

    asyncio.run(run())


def test_lane_that_is_full_delays_no_other() -> None:
    async def run() -> None:
        workers, free = Workers(threads=1, llm_threads=1, queue=0), threading.Event()
        lanes: tuple[Lane, ...] = ("llm", "answers", "embeddings", "retrieval")
        for number, lane in enumerate(lanes):
            task = asyncio.ensure_future(workers.run(lambda _: free.wait(10), lane=lane))
            await asyncio.sleep(0)
            for other in ("reads", *lanes[number + 1 :]):
                assert await workers.run(lambda _: 1, lane=other) == 1
            free.set()
            assert await task
            free.clear()

    asyncio.run(run())
