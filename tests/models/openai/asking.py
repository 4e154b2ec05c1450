"""One call of a language model to a scripted server."""

import socket
from typing import Literal

from pydantic import BaseModel
from tests.faulty_server import Watch
from tests.llm_server import LLMServer

from graphwright.errors import ModelError
from graphwright.models.openai.llm import OpenAILLM

KEY = "sk-very-secret-0123456789"


class Place(BaseModel):
    name: str
    kind: Literal["city", "river"]
    near: list["Place"] = []


GRAZ = '{"name": "Graz", "kind": "city", "near": []}'


def ask(answers, *, on_text=None, schema=None, **options):
    """Return the completion or the error of one call to a server with these answers, and the server."""
    options.setdefault("clock", Watch().clock)
    with LLMServer(answers) as server:
        try:
            result = OpenAILLM("m", server.url, **options).complete(
                "Be short.", "Where?", schema=schema, on_text=on_text
            )
        except ModelError as exc:
            result = exc
    return result, server


def streaming(stream):
    """Return a receiver of text if the reply is to be streamed."""
    return [].append if stream else None


def unused_address():
    """Return the address of a port where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"
