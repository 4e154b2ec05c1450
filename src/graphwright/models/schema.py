"""Replies as instances of a pydantic model: how they are asked for, found in a text, and asked for once more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from graphwright.errors import OptionError, ReplyError
from graphwright.models.base import Completion

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["Heard", "Misfit", "Turns", "converse", "described", "fitting", "shown", "strict"]

_FAULTS = 8  # so many are shown to the model, as the first explain the others
_SHOWN = 200  # characters of a reply in an error


@dataclass(frozen=True, slots=True)
class Heard:
    """One reply as the server gave it: its text, its tokens, and why it ended ("length": it was cut off)."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish: str = ""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a text holds no instance of a schema."""

    reason: str


class Turns(Protocol):
    """Asks the model: the prompt alone, or the prompt, the reply that did not fit, and a request to correct it."""

    def __call__(self, heard: Heard | None, correction: str) -> Heard:
        """Return the reply. `heard` is None, and `correction` empty, the first time."""
        ...


def converse(ask: Turns, schema: type[Any] | None, name: str) -> Completion:
    """Ask once, and where the reply does not fit the schema, once more. `name` stands for the model in errors.

    >>> from pydantic import BaseModel
    >>> class Place(BaseModel):
    ...     name: str
    >>> replies = iter(["It is Graz.", '{"name": "Graz"}'])
    >>> converse(lambda heard, correction: Heard(next(replies)), Place, "m").value
    Place(name='Graz')
    """
    if schema is None:
        heard = ask(None, "")
        if not heard.text.strip():
            raise ReplyError(f"{name} replied without any text{_ending(heard)}. {_REMEDY}")
        return Completion(heard.text, None, heard.prompt_tokens, heard.completion_tokens)
    described(schema)  # refuses what is no schema before anything is paid for
    replies = [ask(None, "")]
    found = fitting(schema, replies[0].text)
    if isinstance(found, Misfit):
        replies.append(ask(replies[0], _correction(replies[0], found)))
        found = fitting(schema, replies[1].text)
    last = replies[-1]
    if isinstance(found, Misfit):
        raise ReplyError(
            f"{name} was asked for {schema.__name__} as JSON, and once more to correct it, but the reply does not fit"
            f"{_ending(last)}: {found.reason.replace(chr(10), '; ')}. It begins with {shown(last.text)}. {_REMEDY}"
        )
    read, written = sum(heard.prompt_tokens for heard in replies), sum(heard.completion_tokens for heard in replies)
    return Completion(last.text, found, read, written)


_REMEDY = (
    "If it was cut off, allow longer replies (max_tokens of Endpoint, or in settings.toml); else ask for less at once, "
    "or take another model."
)


def fitting(schema: type[Any], text: str) -> Any:
    """Return the first JSON object in a text that is an instance of the schema, as one; else a Misfit.

    Whatever stands around the object is passed over; thoughts in front of the reply proper come last.

    >>> from pydantic import BaseModel
    >>> class Place(BaseModel):
    ...     name: str
    >>> fitting(Place, 'Here it is: ```json {"name": "Graz"} ```')
    Place(name='Graz')
    >>> fitting(Place, '{"title": "Graz"}')
    Misfit(reason='name: Field required')
    """
    from pydantic import ValidationError

    misfit = None
    for found in _objects(text):
        try:
            return schema.model_validate_json(found)
        except ValidationError as exc:
            misfit = misfit or Misfit(_faults(exc))
    return misfit or Misfit("it holds no complete JSON object")


def _objects(text: str) -> Iterator[str]:
    """Yield each JSON object that stands in a text, but none inside another, even where the other one is broken.

    A part of a reply that was cut off may well fit a schema, and would then pass for the whole.
    """
    thoughts, _, rest = text.rpartition("</think>")
    decoder = json.JSONDecoder(strict=False)  # many models write a line break inside a string as it is
    for part in (rest, thoughts):
        at = 0
        while brace := _OBJECT_LIKE.search(part, at):
            try:
                found, at = decoder.raw_decode(part, brace.start())
                yield json.dumps(found)
            except (ValueError, RecursionError):
                at = _past(part, brace.start())


_OBJECT_LIKE = re.compile(r"\{\s*[\"'}]")
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[{}]', re.DOTALL)


def _past(text: str, at: int) -> int:
    """Return where a broken object that begins at a brace ends; the end of the text, where it does not."""
    depth = 0
    for part in _STRING_OR_BRACE.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(part[0], 0)
        if depth == 0:
            return part.end()
    return len(text)


def _faults(exc: ValidationError) -> str:
    faults = exc.errors(include_url=False, include_context=False, include_input=False)
    lines = [": ".join(filter(None, (".".join(map(str, fault["loc"])), fault["msg"]))) for fault in faults[:_FAULTS]]
    return "\n".join(lines) + (f"\nand {len(faults) - _FAULTS} more" if len(faults) > _FAULTS else "")


def _correction(heard: Heard, misfit: Misfit) -> str:
    cut = heard.finish == "length"
    return (
        "Your reply does not fit the JSON schema that was asked for:\n"
        + ("It was cut off because it was too long; write a shorter one.\n" if cut else "")
        + f"{misfit.reason}\nReply with the corrected JSON object only."
    )


def _ending(heard: Heard) -> str:
    return f" (it ended because of {heard.finish!r})" if heard.finish not in ("", "stop") else ""


def shown(text: str) -> str:
    """Return the beginning of a reply, fit for an error on one line."""
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + " ...")


def described(schema: type[Any]) -> str:
    """Return a pydantic model's JSON schema as compact text, in its order. Raises OptionError for anything else."""
    from pydantic import BaseModel

    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        raise OptionError(f"schema is {schema!r}; give a pydantic model, a class derived from pydantic.BaseModel.")
    return _described(schema)


@lru_cache(maxsize=64)
def _described(schema: type[Any]) -> str:
    return json.dumps(schema.model_json_schema(), ensure_ascii=False, separators=(",", ":"))


def strict(schema: type[Any]) -> dict[str, Any]:
    """Return the JSON schema in the form that servers enforce: all properties required, no others, no defaults.

    >>> from pydantic import BaseModel
    >>> class Place(BaseModel):
    ...     name: str = "?"
    >>> made = strict(Place)
    >>> made["required"], made["additionalProperties"], made["properties"]["name"]
    (['name'], False, {'title': 'Name', 'type': 'string'})
    """
    node = json.loads(described(schema))
    inner = node.pop("$defs", {})
    if "allOf" in node:
        node = node["allOf"][0]
    if "$ref" in node:  # a model that holds itself; servers want an object at the root
        node = inner[node["$ref"].rpartition("/")[2]]
    made: dict[str, Any] = _strict(node)
    return made | ({"$defs": _strict_part("$defs", inner)} if inner else {})


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(part) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:  # nothing may stand beside a reference
        return {"$ref": node["$ref"]}
    if len(node.get("allOf", ())) == 1:
        return _strict(node["allOf"][0])
    made = {_KEYWORDS.get(key, key): _strict_part(key, part) for key, part in node.items() if key not in _DROPPED}
    if "properties" in node:
        made["required"] = list(node["properties"])
        made["additionalProperties"] = False
    return made


_DROPPED = {"default", "discriminator"}
_KEYWORDS = {"oneOf": "anyOf"}
_VALUES = {"enum", "const", "examples"}


def _strict_part(key: str, part: Any) -> Any:
    if key in ("properties", "$defs"):  # a mapping by names, which may look like keywords
        return {name: _strict(inner) for name, inner in part.items()}
    return part if key in _VALUES else _strict(part)
