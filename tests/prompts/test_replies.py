"""The limits of replies: one that keeps them ends by itself before the longest reply that a model is allowed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.structured import strict_schema
from graphwright.prompts.replies import REPLIES

CHARACTERS = 3  # of a token; English has more than four
UNLIMITED = ("extract",)  # its descriptions of all that a passage names may take more


def longest(schema: dict[str, Any], parts: dict[str, Any]) -> int:
    """Return the characters of the longest JSON that follows a schema, written with a space after each separator."""
    if "$ref" in schema:
        return longest(parts[schema["$ref"].rpartition("/")[2]], parts)
    if "anyOf" in schema:
        return max(longest(choice, parts) for choice in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return 2 + max(map(len, schema.get("enum", [schema.get("const")])))
    match schema["type"]:
        case "object":
            return 2 + sum(len(name) + 6 + longest(part, parts) for name, part in schema["properties"].items())
        case "array":
            return 2 + schema["maxItems"] * (2 + longest(schema["items"], parts))
        case "string":
            return 2 + int(schema["maxLength"])
        case "integer":
            return len(str(schema["maximum"]))
        case "boolean":
            return len("false")
    assert schema["type"] == "number"
    return 40


def longest_reply(name: str) -> int:
    schema = strict_schema(REPLIES[name])
    return longest(schema, schema.get("$defs", {}))


@pytest.mark.parametrize("name", [name for name in REPLIES if name not in UNLIMITED])
def test_longest_valid_reply_fits_token_limit(name: str) -> None:
    assert longest_reply(name) <= CHARACTERS * OpenAILLM("m", "http://localhost:1/v1").max_tokens


def test_token_limit_is_reached_by_whole_reply() -> None:
    made = {
        "reasoning": "r" * 400,
        "found": False,
        "text": "t" * 1_200,
        "answers": ["a" * 80] * 12,
        "citations": [{"passage": 9_999, "quote": "q" * 200}] * 8,
    }
    text = json.dumps(made)
    REPLIES["answer"].model_validate_json(text)
    assert len(text) <= longest_reply("answer") <= len(text) + 100


def test_longer_reply_without_grammar_is_read() -> None:
    quotes = [{"passage": 1, "quote": "q" * 400}] * 12
    made = REPLIES["answer"].model_validate({"found": True, "text": "t" * 3_000, "citations": quotes})
    assert len(made.text) == 3_000 and len(made.citations) == 12 and len(made.citations[0].quote) == 400
