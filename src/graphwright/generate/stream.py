"""An answer handed over while it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Draft", "listener", "listening"]

Listener = Callable[[str], None]

_listener: ContextVar[Listener | None] = ContextVar("graphwright_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hand the text of answers to `listener` as it comes: inside the block, in this thread or task.

    The pieces put together are the answer as the model writes it, so a draft: its citations are checked and its
    markers numbered once it is whole, and what counts is the state's answer. Readers hand over theirs in one piece.

    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright import Answer, Graph, Ranking, SentenceReader, start
    >>> state = start("Is Graz in Austria?", Graph.from_triples([("Graz", "in", "Austria")]))
    >>> with listening(lambda text: print(text)):
    ...     state = Answer(SentenceReader(HashEncoder()))(state.with_(chunks=Ranking.of([0], [1])))
    Graz in Austria.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def listener() -> Listener | None:
    """Return who listens here, None where nobody does."""
    return _listener.get()


class Draft:
    """Finds the answer in a JSON reply that is still being written, and hands over what is new of it.

    What has been handed over is never taken back. Of a second reply, as a model gives after a first that did not fit,
    nothing is handed over before it is whole, and then only where it begins with the same.

    >>> draft = Draft(print)
    >>> for piece in ('{"found": true, "ans', 'wer": "In Gr', 'a', 'z, \\\\u00c', '4.", "citations": []}'):
    ...     draft.feed(piece)
    In Gr
    a
    z,
    Ä.
    """

    def __init__(self, listener: Listener) -> None:
        """Hand over to `listener`."""
        self._listener = listener
        self._reply = ""
        self._shown = ""

    def feed(self, piece: str) -> None:
        """Take the next piece of the reply."""
        self._reply += piece
        self.finish(_answer_in(self._reply))

    def finish(self, answer: str) -> None:
        """Hand over what of the answer so far has not been; nothing where something else has."""
        if answer.startswith(self._shown) and len(answer) > len(self._shown):
            new = answer[len(self._shown) :]
            self._shown = answer
            self._listener(new)


def _answer_in(reply: str) -> str:
    """Return the answer that an unfinished JSON reply holds so far, "" where it holds none, or says there is none."""
    from pydantic_core import from_json

    # Thoughts come before the reply proper, and a word or a fence may stand around its object.
    thoughts, _, rest = reply.rpartition("</think>")
    if not thoughts and rest.lstrip().startswith("<think>"):
        return ""
    reply = rest[max(rest.find("{"), 0) :]
    # Some servers part a character into two halves of a surrogate pair; the first waits for the second.
    half = "\ud800" <= reply[-1:] <= "\udbff"
    joined = reply[: -1 if half else None].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        value = from_json(joined, allow_partial="trailing-strings")
    except ValueError:
        return ""
    if not isinstance(value, dict) or value.get("found") is False:
        return ""
    answer = value.get("answer")
    return answer if isinstance(answer, str) else ""
