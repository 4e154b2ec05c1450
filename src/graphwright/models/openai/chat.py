"""Chat completions as servers send them: one JSON body, or a stream of events.

The events are parsed here: the client drops a body that is no stream, and ends without an error where a stream is cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from graphwright.errors import LLMResponseError, ModelError
from graphwright.models.budget import estimated_tokens
from graphwright.models.openai.client import Response, parsed_json
from graphwright.models.openai.failures import HTTPStatusError, IncompleteResponse
from graphwright.models.structured import RawReply, beginning

__all__ = ["ChatParser"]


class ChatParser:
    """A parser of one reply, whole or streamed, that hands the text of a stream to `on_text` as it arrives.

    `prompt_estimate`: tokens of the prompt, for servers that do not count. `max_bytes`: bytes of text above which a
    reply is taken to be endless. `on_text`: None where the reply comes whole.
    """

    def __init__(self, prompt_estimate: int, max_bytes: int, on_text: Callable[[str], None] | None) -> None:
        """Start with nothing read."""
        self._prompt_estimate = prompt_estimate
        self._max_bytes = max_bytes
        self._on_text = on_text
        self._pieces: list[str] = []
        self._text_bytes = 0
        self._body_bytes = 0
        self._finish = ""
        self._usage: Any = None

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    @property
    def written(self) -> int:
        """Estimate of the tokens that the model wrote, also where no reply came of it."""
        return self._body_bytes // 4 if self._on_text is None else estimated_tokens(self.text)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt, by the server's count or by estimate."""
        count = _count(self._usage, "prompt_tokens")
        return self._prompt_estimate if count is None else count

    @property
    def completion_tokens(self) -> int:
        """Tokens of the reply, by the server's count or by estimate."""
        count = _count(self._usage, "completion_tokens")
        return estimated_tokens(self.text) if count is None else count

    def parse(self, response: Response) -> RawReply:
        """Return the reply.

        Raises LLMResponseError where there is none or it is too long; IncompleteResponse or HTTPStatusError where it
        breaks off before any text was handed over, and ModelError where it does so later: a repetition would hand over
        text twice.
        """
        try:
            if self._on_text is None:
                self._parse_body(response, b"".join(self._counted(response)))
            else:
                self._parse_stream(response)
        except (IncompleteResponse, HTTPStatusError) as error:
            if not self._pieces:
                raise
            raise ModelError(
                f"The reply broke off after {len(self.text):,} characters, which were handed over already, so it was "
                f"not asked for again. {error}"
            ) from error
        return RawReply(self.text, self._finish)

    def _counted(self, response: Response) -> Iterator[bytes]:
        for chunk in response:
            self._body_bytes += len(chunk)
            yield chunk

    def _parse_body(self, response: Response, body: bytes) -> None:
        data = parsed_json(response, body)
        choice = _choice(response, data)
        if choice is None:
            raise LLMResponseError(f"{response.url} sent no choices, but {response.beginning(body)}.")
        self._take(choice, "message", data)

    def _parse_stream(self, response: Response) -> None:
        """Read events until the end. A server that cannot stream sends one body."""
        plain = bytearray()
        done = False
        try:
            for event in _events(_lines(self._counted(response)), plain):
                if done := event.strip() == "[DONE]":
                    break
                data = parsed_json(response, event.encode())
                self._take(_choice(response, data) or {}, "delta", data)
        except IncompleteResponse:
            if not self._finish:
                raise
        if plain and not (done or self._pieces or self._finish):
            self._parse_body(response, bytes(plain))
        elif not (done or self._finish):
            raise response.incomplete("the stream ended early")

    def _take(self, choice: dict[str, Any], part: str, data: dict[str, Any]) -> None:
        self._usage = data.get("usage") or self._usage
        self._finish = str(choice.get("finish_reason") or self._finish)
        message = choice.get(part)
        text = _text(message) if isinstance(message, dict) else ""
        self._text_bytes += len(text.encode("utf-8", "replace"))
        if self._text_bytes > self._max_bytes:
            raise LLMResponseError(
                f"The reply exceeded {self._max_bytes:,} bytes, more than max_tokens allows, and was cut off. It "
                f"begins with {beginning(self.text or text)}."
            )
        if text:
            self._pieces.append(text)
            if self._on_text is not None:
                self._on_text(text)


def _choice(response: Response, data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the first choice, None where there is none. Raises HTTPStatusError for an error in its place."""
    error = data.get("error")
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        raise response.status_error(code if isinstance(code, int) and 400 <= code <= 599 else 500, json.dumps(data))
    choices = data.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return None


def _text(message: dict[str, Any]) -> str:
    """Return the text of a message: its content, a string or typed parts, or else its refusal."""
    content = message.get("content") or message.get("refusal")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _count(usage: Any, name: str) -> int | None:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and count >= 0 else None


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        if b"\n" in chunk:
            *lines, rest = rest.split(b"\n")
            yield from (line.decode("utf-8", "replace").removesuffix("\r") for line in lines)
    if rest:
        yield rest.decode("utf-8", "replace")


def _events(lines: Iterator[str], plain: bytearray) -> Iterator[str]:
    """Yield the data of each event; lines that belong to no event are added to `plain`."""
    data: list[str] = []
    for line in lines:
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
        elif name not in ("", "event", "id", "retry"):
            plain += line.encode() + b"\n"
    last = "\n".join(data)
    with suppress(ValueError, RecursionError):  # the end cut this event off
        yield last if last.strip() == "[DONE]" else json.dumps(json.loads(last))
