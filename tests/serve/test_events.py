import asyncio
from collections.abc import AsyncIterator

import pytest

from graphwright.serve.events import EventStream, LineStream, event, with_pings


@pytest.mark.parametrize("ping", [EventStream.ping, LineStream.ping])
def test_slow_stream_is_kept_open(ping: bytes) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield event("a", 1)
        await asyncio.sleep(0.05)
        yield event("b", 2)

    async def run() -> list[bytes]:
        return [chunk async for chunk in with_pings(slow(), 0.01, ping)]

    first, *pings, last = asyncio.run(run())
    assert (first, last) == (event("a", 1), event("b", 2))
    assert len(pings) >= 2 and set(pings) == {ping} and ping in (b": ping\n\n", b" ")


def test_source_error_is_raised() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"a"
        raise ValueError("broken")

    async def run() -> None:
        async for _ in with_pings(broken(), 1):
            pass

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(run())


def test_event_data_has_no_line_end() -> None:
    assert event("token", {"text": "a\n\nb\r\u2028"}).count(b"\n") == 3
