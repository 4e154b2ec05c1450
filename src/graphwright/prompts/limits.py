"""Limits of the texts and lists in a language model's reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import core_schema


@dataclass(frozen=True)
class AtMost:
    """Limit the characters of a text or the items of a list in the JSON schema, which a server enforces by a grammar.

    A reply of another server that has more is not refused: a longer list is cut, and a longer text is read whole.

    >>> from pydantic import TypeAdapter
    >>> numbers = TypeAdapter(Annotated[list[int], AtMost(2)])
    >>> numbers.json_schema()["maxItems"], numbers.validate_python([3, 1, 2])
    (2, [3, 1])
    """

    limit: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return the schema that cuts a list."""
        return core_schema.no_info_before_validator_function(self._first, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Return the JSON schema with the limit."""
        made: dict[str, Any] = handler(schema)
        return made | {"maxItems" if made["type"] == "array" else "maxLength": self.limit}

    def _first(self, value: Any) -> Any:
        return value[: self.limit] if isinstance(value, list) else value


def at_most(items: int) -> Any:
    """Return a limit of a list that a server's grammar enforces; a longer list of another server is read whole."""
    return Field(json_schema_extra={"maxItems": items})


Name = Annotated[str, AtMost(80)]  # a name, a keyword, or another few words
Sentence = Annotated[str, AtMost(400)]  # one sentence or two
Paragraph = Annotated[str, AtMost(1_500)]  # several sentences
Number = Annotated[int, Field(json_schema_extra={"minimum": 0, "maximum": 9_999})]
"""Number of an element that a prompt lists."""
Numbers = Annotated[list[Number], AtMost(100)]  # numbers of elements that a prompt lists
Some = Annotated[list[Number], at_most(20)]  # numbers of a few elements
Names = Annotated[list[Name], AtMost(20)]  # a short list of names
