"""Streaming of an answer while a language model writes it."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Draft"]


class Draft:
    """Extract the `text` of an answer from a JSON reply that is still being written, and pass on each new part.

    Text that was passed on is never taken back. Of a second reply, which a model gives where the first did not fit its
    schema, nothing is passed on before it is complete, and then only if it begins with the same text.

    >>> draft = Draft(print)
    >>> for piece in ('{"found": true, "te', 'xt": "In Gr', 'a', 'z, \\\\u00c', '4.", "citations": []}'):
    ...     draft.feed(piece)
    In Gr
    a
    z,
    Ä.
    """

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        """Pass text on to `on_text`; None discards it."""
        self._on_text = on_text
        self._reply = ""
        self._sent = ""

    @property
    def listener(self) -> Callable[[str], None] | None:
        """The function to give to a language model as its `on_text`; None where nobody listens."""
        return None if self._on_text is None else self.feed

    def feed(self, piece: str) -> None:
        """Take the next piece of the reply."""
        self._reply += piece
        self.finish(_text_in(self._reply))

    def finish(self, text: str) -> None:
        """Pass on the rest of the complete text; nothing if other text was passed on before."""
        if self._on_text is not None and text.startswith(self._sent) and len(text) > len(self._sent):
            rest = text[len(self._sent) :]
            self._sent = text
            self._on_text(rest)


def _text_in(reply: str) -> str:
    """Return the answer's text so far in an unfinished JSON reply, "" where there is none or `found` is false."""
    from pydantic_core import from_json

    # Thoughts precede the reply proper, and a word or a code fence may surround its object.
    thoughts, _, rest = reply.rpartition("</think>")
    if not thoughts and rest.lstrip().startswith("<think>"):
        return ""
    reply = rest[max(rest.find("{"), 0) :]
    # Some servers split a character into the two halves of a surrogate pair; the first half waits for the second.
    half = "\ud800" <= reply[-1:] <= "\udbff"
    joined = reply[: -1 if half else None].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        value = from_json(joined, allow_partial="trailing-strings")
    except ValueError:
        return ""
    if not isinstance(value, dict) or value.get("found") is False:
        return ""
    text = value.get("text")
    return text if isinstance(text, str) else ""
