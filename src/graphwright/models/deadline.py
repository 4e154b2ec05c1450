"""A deadline for all language model calls of one question."""

from __future__ import annotations

import time

from graphwright.errors import OptionError, ReplyCutError
from graphwright.models.protocols import Cancel, Cancellation

_MAX_SECONDS = 86_400


class Deadline(Cancellation):
    """A cancellation after a time limit: a running request is cut, and no further one is sent.

    Time counts from the creation of the object. The error is a ReplyCutError, so that steps continue without the model.
    `cancel`: another cancellation, which stays in force.

    >>> deadline = Deadline(60.0)
    >>> deadline.check()
    >>> deadline.pause(61.0)
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
        """Return the seconds that a wait of at most `timeout` seconds may take before the next check."""
        return min(super().poll(timeout), max(self._end - time.monotonic(), 0.0))

    def _passed(self) -> ReplyCutError:
        return ReplyCutError(
            f"The deadline of {self._seconds:g} seconds has passed. Set a longer one, or use a faster model."
        )
