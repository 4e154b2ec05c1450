"""Structured replies: JSON from a language model, validated by a pydantic model.

Broken JSON is not repaired: json-repair would complete a reply that was cut off, and half a list would count as whole.
The model is asked for a correction instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from graphwright.errors import LLMResponseError, ModelError, OptionError
from graphwright.models.protocols import Cancel, Completion, OnText, Schema, Usage

if TYPE_CHECKING:
    from pydantic import ValidationError

_CUT = "length"  # the finish reason of a reply that was cut off
_MAX_PROBLEMS = 8  # shown to the model; the first ones explain the others


@dataclass(frozen=True, slots=True)
class RawReply:
    """An unparsed reply: its text, and the reason why it ended ("length": it was cut off)."""

    text: str
    finish: str = ""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The reason why a text holds no instance of a schema."""

    reason: str


Ask = Callable[[RawReply | None, str], RawReply]  # calls the model: with (None, ""), or a reply and its correction


def complete_with(ask: Ask, schema: Schema, name: str, usage: Usage) -> Completion:
    """Call a model, and once more for a correction where the reply does not fit the schema.

    A reply that was cut off at the maximum length is not corrected: a model that repeats itself would do so again.

    `name`: of the model, for errors. `usage`: filled by `ask`, and part of the completion or the error. Raises
    LLMResponseError where the corrected reply does not fit either, and the errors of `ask`.
    """
    try:
        if schema is not None:
            schema_text(schema)  # refuses a wrong schema before anything is sent
        reply = first = ask(None, "")
        if schema is None:
            if not without_thoughts(reply.text).strip():
                raise LLMResponseError(f"{name} replied without any text{_ending(reply)}. {_REMEDY}")
            return Completion(without_thoughts(reply.text), None, usage)
        value = parse_reply(schema, reply.text)
        if isinstance(value, Mismatch) and reply.finish != _CUT:
            problem = f"Your reply does not fit the requested JSON schema:\n{value.reason}\n"
            reply = ask(reply, f"{problem}Reply with the corrected JSON object only.")
            value = parse_reply(schema, reply.text)
        if isinstance(value, Mismatch):
            corrected = "then to correct its reply, which still does not fit"
            tried = "but its reply does not fit" if reply is first else corrected
            problems = "; ".join(value.reason.splitlines())
            error = LLMResponseError(
                f"{name} was asked for {schema.__name__} as JSON, {tried}{_ending(reply)}: {problems}. {_REMEDY}"
            )
            error.text = reply.text if without_thoughts(reply.text).strip() else first.text
            raise error
    except ModelError as error:
        error.usage = usage
        raise
    return Completion(reply.text, value, usage)


def complete_by(
    reply: Callable[[str, str], str],
    system: str,
    user: str,
    name: str,
    count_tokens: Callable[[str], int],
    schema: Schema,
    on_text: OnText,
    cancel: Cancel,
) -> Completion:
    """Answer a prompt by a function of both prompts; a correction is appended. `on_text`: words one by one."""
    usage = Usage()

    def ask(previous: RawReply | None, correction: str) -> RawReply:
        if cancel is not None:
            cancel.check()
        prompt = user if previous is None else f"{user}\n\n{previous.text}\n\n{correction}"
        text = reply(system, prompt)
        if on_text is not None:
            for word in re.findall(r"^\s+|\S+\s*", text):
                on_text(word)
        tokens = count_tokens(system) + count_tokens(prompt)
        usage.add(Usage(calls=1, prompt_tokens=tokens, completion_tokens=count_tokens(text)))
        return RawReply(text)

    return complete_with(ask, schema, name, usage)


_REMEDY = (
    "If it was cut off, allow longer replies (max_tokens of OpenAILLM, or in settings.toml); else use smaller "
    "requests, or another model."
)


def parse_reply(schema: type[Any], text: str) -> Any:
    """Return the first JSON object in a text that is an instance of the schema, as that instance; else a Mismatch.

    Text around the object is ignored, and so are thoughts.

    >>> from pydantic import BaseModel
    >>> class Place(BaseModel):
    ...     name: str
    >>> parse_reply(Place, 'Here it is: ```json {"name": "Graz"} ```')
    Place(name='Graz')
    >>> parse_reply(Place, '{"title": "Graz"}')
    Mismatch(reason='name: Field required')
    """
    from pydantic import ValidationError

    mismatch = None
    for document in _objects(text):
        try:
            return schema.model_validate_json(document)
        except ValidationError as error:
            mismatch = mismatch or Mismatch(_problems(error))
    return mismatch or Mismatch("it holds no complete JSON object")


def _objects(text: str) -> Iterator[str]:
    """Yield each outermost JSON object of a text; one inside a broken one would count as the whole reply."""
    text = without_thoughts(text)
    decoder = json.JSONDecoder(strict=False)  # many models do not escape a line break inside a string
    position = 0
    while brace := _OBJECT_START.search(text, position):
        try:
            value, position = decoder.raw_decode(text, brace.start())
            yield json.dumps(value)
        except (ValueError, RecursionError):
            position = _end_of_broken(text, brace.start())


def without_thoughts(text: str) -> str:
    """Return a reply without the thoughts of a reasoning model, which end at `</think>`, or never.

    A reply that begins with an object has no thoughts; texts in the object may contain such tags.

    >>> without_thoughts("<think>It may be Lyon.</think> Graz."), without_thoughts("<think>It may be Lyon.")
    ('Graz.', '')
    """
    if text.lstrip().startswith("{") or not _TAG.search(text):
        return text
    return text.rpartition("</think>")[2].partition("<think>")[0].lstrip()


def plain_text(reply: str) -> str:
    """Return a reply in plain text, without thoughts; "" for one that holds JSON, whole or broken, or code or markup.

    >>> plain_text("Graz lies on the Mur."), plain_text('Here it is: {"found": true, "te')
    ('Graz lies on the Mur.', '')
    """
    text = without_thoughts(reply).strip()
    return "" if _CODE.match(text) or _OBJECT_START.search(text) else text


_OBJECT_START = re.compile(r"\{\s*[\"'}]")
_TAG = re.compile("</?think>")
_CODE = re.compile(r"```|[\[{]\s*[\[{\]}\"]|<[!?a-zA-Z]")
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}]', re.DOTALL)


def _end_of_broken(text: str, start: int) -> int:
    """Return the end of a broken object that begins at a brace; the end of the text, where it is not closed."""
    depth = 0
    for part in _STRING_OR_BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(part[0], 0)
        if depth == 0:
            return part.end()
    return len(text)


def _problems(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        ": ".join(filter(None, (".".join(map(str, problem["loc"])), problem["msg"])))
        for problem in problems[:_MAX_PROBLEMS]
    ]
    more = len(problems) - _MAX_PROBLEMS
    return "\n".join(lines) + (f"\nand {more} more" if more > 0 else "")


def _ending(reply: RawReply) -> str:
    return f" (it ended because of {reply.finish!r})" if reply.finish not in ("", "stop") else ""


def schema_prompt(schema: type[Any]) -> str:
    """Return the instruction that asks a model for a schema in its prompt."""
    return f"Reply with one JSON object that fits this JSON schema, and with nothing else:\n{schema_text(schema)}"


def schema_text(schema: type[Any]) -> str:
    """Return a pydantic model's JSON schema as compact text, in its order. Raises OptionError for anything else."""
    from pydantic import BaseModel

    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        raise OptionError(f"schema is {schema!r}; give a pydantic model, a class derived from pydantic.BaseModel.")
    return _schema_text(schema)


@lru_cache(maxsize=64)
def _schema_text(schema: type[Any]) -> str:
    return json.dumps(schema.model_json_schema(), ensure_ascii=False, separators=(",", ":"))


def strict_schema(schema: type[Any], *, limits: bool = True) -> dict[str, Any]:
    """Return a JSON schema as servers enforce it: all required, no others or defaults; `limits`: keep limits."""
    from pydantic.json_schema import GenerateJsonSchema

    class Strict(GenerateJsonSchema):
        def field_is_required(self, *_: Any, **__: Any) -> bool:
            return True

        def default_schema(self, schema: Any) -> Any:
            return self.generate_inner(schema["schema"])

        def tagged_union_schema(self, schema: Any) -> Any:  # oneOf by default, with a discriminator
            return {"anyOf": [self.generate_inner(choice) for choice in schema["choices"].values()]}

        def model_schema(self, schema: Any) -> Any:
            return super().model_schema(schema) | {"additionalProperties": False}

    result: dict[str, Any] = schema.model_json_schema(schema_generator=Strict)
    if "$ref" in result:  # a recursive model; servers require an object at the root
        result = result["$defs"][result["$ref"].rpartition("/")[2]] | result
        del result["$ref"]
    return result if limits else _unlimited(result)


def _unlimited(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_unlimited(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    limits = {"maxLength", "maxItems", "minItems", "maximum", "minimum"} if isinstance(schema.get("type"), str) else ()
    return {name: _unlimited(part) for name, part in schema.items() if name not in limits}
