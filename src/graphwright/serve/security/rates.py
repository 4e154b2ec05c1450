"""Rate limits: requests by key, and requests without a valid key by client address."""

from __future__ import annotations

import ipaddress
import time
from typing import Any

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.types import Scope

from graphwright.serve.problems import ServeError
from graphwright.serve.security.grants import Grant


class RateLimitError(ServeError):
    """Too many requests in a minute."""

    status, kind = 429, "rate-limit"


def client_address(scope: Scope) -> str:
    """Return the client's address; for IPv6 its /64 network, because a client can use many addresses of it."""
    host = (scope.get("client") or ("unknown",))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    if address.version == 6:
        mapped = address.ipv4_mapped
        return str(mapped or ipaddress.ip_network((address, 64), strict=False))
    return str(address)


class RateLimits:
    """Counts of requests in the past minute, by key and by address, in memory.

    `requests_per_minute`: limit for one key; None is no limit. `failures_per_minute`: limit for requests without a
    valid key from one address; it never affects requests with a valid key.
    """

    def __init__(self, requests_per_minute: int | None = None, failures_per_minute: int = 30) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._requests = None if requests_per_minute is None else RateLimitItemPerMinute(requests_per_minute)
        self._failures = RateLimitItemPerMinute(failures_per_minute)

    def count(self, grant: Grant) -> None:
        """Count a request with a key. Raises RateLimitError above the limit."""
        if (
            self._requests is not None
            and grant.key_id is not None
            and not self._limiter.hit(self._requests, "key", grant.key_id)
        ):
            raise self._error(self._requests, "requests with this key", "key", grant.key_id)

    def refuse(self, scope: Scope, error: ServeError) -> ServeError:
        """Count a request without a valid key; return `error`, or a RateLimitError above the limit."""
        address = client_address(scope)
        if self._limiter.hit(self._failures, "failure", address):
            return error
        return self._error(self._failures, "requests without a valid key, from this address,", "failure", address)

    def _error(self, item: Any, counted: str, *identifiers: str) -> RateLimitError:
        wait = max(1, round(self._limiter.get_window_stats(item, *identifiers).reset_time - time.time()))
        error = RateLimitError(f"More than {item.amount} {counted} came in a minute. Try again in {wait} seconds.")
        error.headers = {"Retry-After": str(wait)}
        return error
