"""The reply of a language model while it arrives: one JSON body, or a stream of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphwright.errors import LLMResponseError, ReplyCutError
from graphwright.models.budget import estimated_tokens
from graphwright.models.openai.errors import Endpoint, HiddenText, HTTPStatusError, IncompleteResponse, NotSent
from graphwright.models.openai.model import sendable, token_count
from graphwright.models.protocols import OnText

_MAX_FINISH = 40  # characters of the reason why a reply ended
_TIMED_OUT = {408, 504, 524}  # sent by a proxy, while the model behind it may have written


class IncomingReply:
    """A reply while it arrives, whole or as a stream whose text is passed to `on_text`.

    `finish`: the reason why it ended; `prompt_tokens`, `completion_tokens`: as the server counts them, 0 where it does
    not.
    """

    def __init__(self, endpoint: Endpoint, on_text: OnText) -> None:
        """Create an empty reply. `on_text`: None without streaming."""
        self._endpoint = endpoint
        self._on_text = on_text
        self._body = bytearray()  # all but the events of a stream
        self._hidden = HiddenText(endpoint.secret)
        self.text = ""
        self.finish = ""
        self.prompt_tokens = 0
        self.completion_tokens = 0

    @property
    def written(self) -> int:
        """Estimate of the tokens that the model wrote, even without a usable reply."""
        return estimated_tokens(self.text) or len(self._body) // 4

    def read(self, chunks: Iterator[bytes]) -> None:
        """Read to the end.

        Raises LLMResponseError where there is no reply or it is too long; IncompleteResponse or HTTPStatusError where
        it breaks off before any text was passed on, and ReplyCutError where it does so later, because a retry would
        pass on the text twice.
        """
        try:
            if self._on_text is None:
                for chunk in chunks:
                    self._body += chunk
                self._read_body()
            else:
                self._read_stream(chunks)
            self._add("", last=True)
        except (IncompleteResponse, HTTPStatusError) as error:
            if not self.text:
                raise
            cut = ReplyCutError(
                f"The reply broke off after {len(self.text):,} characters. They were passed on already, so the "
                f"request was not repeated. {error}"
            )
            cut.text = self.text
            raise cut from error

    def _read_body(self) -> None:
        body = bytes(self._body)
        if not self._take(body, "message"):
            raise LLMResponseError(f"{self._endpoint.url} sent no choices, but {self._endpoint.shown(body)}.")

    def _read_stream(self, chunks: Iterator[bytes]) -> None:
        """Read events until the end. A server that cannot stream sends one body."""
        events = 0
        try:
            for line in _lines(chunks):
                name, _, data = line.partition(b":")
                if name != b"data":
                    self._body += b"" if name in (b"", b"event", b"id", b"retry") else line + b"\n"
                    continue
                if data.strip() == b"[DONE]":
                    return
                events += 1
                self._take(data, "delta")
        except IncompleteResponse:
            if not self.finish:
                raise
        if self._body and not events:
            self._read_body()
        elif not self.finish:
            raise self._endpoint.incomplete("the stream ended early.")

    def _add(self, text: str, *, last: bool = False) -> None:
        """Add text without the key; its end is delayed while it may begin the key, unless it is the last part."""
        if text := self._hidden.add(text, last=last):
            self.text += text
            if self._on_text is not None:
                self._on_text(text)

    def _take(self, data: bytes, part: str) -> bool:
        """Add a body or an event; return whether it holds a choice."""
        value = self._endpoint.parsed(data)
        self.prompt_tokens = token_count(value, "prompt_tokens") or self.prompt_tokens
        self.completion_tokens = token_count(value, "completion_tokens") or self.completion_tokens
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return False
        self.finish = str(choice.get("finish_reason") or self.finish)[:_MAX_FINISH]
        if text := _text(choice.get(part)):
            self._add(text)
        return True


def is_charged(error: BaseException, reply: IncomingReply) -> bool:
    """Return whether a failed attempt may be charged for: not if it was refused or not sent."""
    if isinstance(error.__cause__, HTTPStatusError):
        error = error.__cause__
    if isinstance(error, HTTPStatusError):
        return reply.written > 0 or error.status in _TIMED_OUT
    return not isinstance(error, NotSent)


def _text(message: Any) -> str:
    """Return the text of a message: its content, a string or typed parts, or else its refusal."""
    if not isinstance(message, dict):
        return ""
    content = message.get("content") or message.get("refusal")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    return sendable(content) if isinstance(content, str) else ""  # lone surrogates cannot be stored either


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        if b"\n" in chunk:
            *lines, rest = rest.split(b"\n")
            yield from map(bytes, lines)
    yield bytes(rest)
