"""Values that a language model derives from the merged graph: summaries of descriptions, decisions about two names.

Each is stored under a checksum of the prompt and of all that the model reads, so that it depends on nothing else: not
on the order in which documents came, and not on what was derived before. Where a value is missing, the offline method
is used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Annotated

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError
from graphwright.extract.extraction import ExtractionFailure
from graphwright.extract.metered_calls import MeteredCalls
from graphwright.models.protocols import LLM, Usage
from graphwright.prompts.templates import checksum, messages


@dataclass(frozen=True)
class Task:
    """A value to be derived: the name of the prompt, and the lines of data that it is filled with."""

    prompt: str
    lines: str

    @cached_property
    def key(self) -> bytes:
        """Sixteen bytes that change with the prompt and the lines."""
        content = json.dumps([self.prompt, checksum(self.prompt), self.lines]).encode()
        return hashlib.blake2b(content, digest_size=16).digest()


@dataclass
class Derived:
    """Stored values by key, with the keys that a build used and those that it missed."""

    values: Mapping[bytes, str] = field(default_factory=dict)
    used: set[bytes] = field(default_factory=set)
    missing: dict[bytes, Task] = field(default_factory=dict)

    def get(self, task: Task) -> str | None:
        """Return the value of a task, None where it was not derived yet."""
        value = self.values.get(task.key)
        if value is None:
            self.missing[task.key] = task
        else:
            self.used.add(task.key)
        return value


@dataclass(frozen=True)
class Refiner(Checked):
    """Deriver of values by a language model, `threads` at a time.

    >>> from graphwright.models.fake import ScriptedLLM
    >>> task = Task("same_entity", "{}")
    >>> Refiner(ScriptedLLM(['{"reason": "One is short for the other.", "same": true}'])).answers([task], Usage())
    ['yes']
    """

    llm: LLM
    _: KW_ONLY
    threads: Annotated[int, AtLeast(1)] = 8

    def answers(self, tasks: Sequence[Task], usage: Usage) -> list[str | ExtractionFailure]:
        """Return the value or the failure of each task, in order, and add the model's work to `usage`."""
        return MeteredCalls(self.llm, usage).for_each(_answer, tasks, self.threads)


def _answer(task: Task, calls: MeteredCalls) -> str | ExtractionFailure:
    try:
        value: str = calls.complete(task.prompt, *messages(task.prompt, lines=task.lines)).value
    except ModelError as error:
        return calls.failure(error, " ".join(str(error).split()))
    return value if value else ExtractionFailure("the model replied with an empty text")
