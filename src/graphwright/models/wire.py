"""What chat servers send: one JSON body, or a stream of events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from graphwright.errors import ModelError, ReplyError
from graphwright.models.budget import estimated_tokens
from graphwright.models.connection import Answer, parsed
from graphwright.models.failures import Broken, Refused
from graphwright.models.schema import Heard, shown

__all__ = ["Listener"]


class Listener:
    """Reads one reply, whole or streamed, and hands the text of a stream over as it comes.

    `prompt`: the tokens of the prompt by estimate, for servers that do not count. `most`: bytes of text after which
    a reply is taken to be endless. `on_text`: gets the pieces; None where the reply comes whole.
    """

    def __init__(self, prompt: int, most: int, on_text: Callable[[str], None] | None) -> None:
        self._prompt = prompt
        self._most = most
        self._on_text = on_text
        self._pieces: list[str] = []
        self._size = 0  # bytes of text
        self._read = 0  # bytes of whatever came
        self._finish = ""
        self._usage: Any = None

    @property
    def text(self) -> str:
        """What has come of the reply."""
        return "".join(self._pieces)

    @property
    def written(self) -> int:
        """Tokens that the model wrote by estimate, also where no reply came of it."""
        return self._read // 4 if self._on_text is None else estimated_tokens(self.text)

    def hear(self, answer: Answer) -> Heard:
        """Return the reply.

        Raises ReplyError where it is none or too long; Broken or Refused where it breaks off before any text was
        handed over, and ModelError where it does so later: it cannot be asked for again without repeating text.
        """
        try:
            if self._on_text is None:
                self._body(answer, b"".join(self._chunks(answer)))
            else:
                self._stream(answer)
        except (Broken, Refused) as exc:
            if not self._pieces:
                raise
            raise ModelError(
                f"The reply broke off after {len(self.text):,} characters, which were handed over already, so it was "
                f"not asked for again. {exc}"
            ) from exc
        prompt, written = (_count(self._usage, name) for name in ("prompt_tokens", "completion_tokens"))
        return Heard(
            self.text,
            self._prompt if prompt is None else prompt,
            estimated_tokens(self.text) if written is None else written,
            self._finish,
        )

    def _chunks(self, answer: Answer) -> Iterator[bytes]:
        for chunk in answer:
            self._read += len(chunk)
            yield chunk

    def _body(self, answer: Answer, body: bytes) -> None:
        data = parsed(answer, body)
        choice = _choice(answer, data)
        if choice is None:
            raise ReplyError(f"{answer.url} sent no choices, but {answer.beginning(body)}.")
        self._take(choice, "message", data)

    def _stream(self, answer: Answer) -> None:
        """Read events until the end. A server that cannot stream sends one body."""
        plain = bytearray()
        ended = False
        try:
            for event in _events(_lines(self._chunks(answer)), plain):
                if ended := event.strip() == "[DONE]":
                    break
                self._event(answer, event)
        except Broken:
            if not self._finish:
                raise
        if plain and not (ended or self._pieces or self._finish):
            self._body(answer, bytes(plain))
        elif not (ended or self._finish):
            raise answer.broken("the stream ended early")

    def _event(self, answer: Answer, event: str) -> None:
        data = parsed(answer, event.encode())
        choice = _choice(answer, data)
        self._take(choice or {}, "delta", data)

    def _take(self, choice: dict[str, Any], part: str, data: dict[str, Any]) -> None:
        self._usage = data.get("usage") or self._usage
        self._finish = str(choice.get("finish_reason") or self._finish)
        message = choice.get(part)
        text = _text(message) if isinstance(message, dict) else ""
        self._size += len(text.encode("utf-8", "replace"))
        if self._size > self._most:
            raise ReplyError(
                f"The reply went on past {self._most:,} bytes, more than max_tokens allows for, and was cut off. "
                f"It begins with {shown(self.text or text)}."
            )
        if text:
            self._pieces.append(text)
            if self._on_text is not None:
                self._on_text(text)


def _choice(answer: Answer, data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the first choice, None where there is none; raise the error that stands in its place."""
    error = data.get("error")
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        raise answer.refused(code if isinstance(code, int) and 400 <= code <= 599 else 500, json.dumps(data))
    choices = data.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return None


def _text(message: dict[str, Any]) -> str:
    """Return the text of a message: its content, a string or typed parts, or else why the model refuses."""
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
    """Yield the data of each event; what belongs to none is added to `plain`."""
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
    with suppress(ValueError, RecursionError):  # an event that the end cut off is none
        yield last if last.strip() == "[DONE]" else json.dumps(json.loads(last))
