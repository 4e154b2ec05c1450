"""Conversations, and their last question rewritten to stand alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from graphwright import Graph, start
from graphwright.errors import ModelError, OptionError
from graphwright.models import LLM, Cancellation, Usage
from graphwright.operators import LinkEntities, Run
from graphwright.prompts.templates import data_line

SOURCES = "\n\nSources\n"
"""Heading of the list of sources below an answer."""
_MAX_MESSAGES = 8  # earlier messages in the prompt
_MAX_CHARACTERS = 2_000  # of each message
_MAX_NAMES = 3  # of an earlier turn that are added to an offline question
_MARKER = re.compile(r"\[\d+\]")
_POINTS_BACK = re.compile(
    r"\b(?:he|she|it|they|him|her|his|hers|its|them|their|theirs|this|these|those)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Message:
    """One message of a conversation; `role` is "user" or "assistant"."""

    role: str
    text: str


@dataclass(frozen=True)
class Conversation:
    """A question and the messages before it, oldest first."""

    question: str
    earlier: tuple[Message, ...] = ()

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Conversation:
        """Return the conversation up to the last question of a user. Raises OptionError if there is none."""
        turns = [Message(m.role, m.text.partition(SOURCES)[0].strip()) for m in messages]
        turns = [message for message in turns if message.text and message.role in ("user", "assistant")]
        last = max((at for at, message in enumerate(turns) if message.role == "user"), default=None)
        if last is None:
            raise OptionError("messages has no text of a user; the last one is the question. Add one of role 'user'.")
        return cls(turns[last].text, tuple(turns[:last]))

    def standalone(self, graph: Graph, llm: LLM | None = None, cancel: Cancellation | None = None) -> tuple[str, Usage]:
        """Rewrite the question to stand alone; return it and the usage of the language model.

        Without a model, or if it fails, entity names of an earlier turn are appended to a question that names no
        entity or has a pronoun.
        """
        if not self.earlier:
            return self.question, Usage()
        run = Run(cancel=cancel)
        rewritten = None if llm is None else self._rewritten(llm, run)
        return rewritten or self._with_names(graph), run.usage

    def _rewritten(self, llm: LLM, run: Run) -> str | None:
        lines = [
            data_line({"role": message.role, "text": message.text[:_MAX_CHARACTERS]})
            for message in self.earlier[-_MAX_MESSAGES:]
        ]
        try:
            reply = run.reply(llm, "condense", conversation="\n".join(lines), question=data_line(self.question))
        except ModelError:
            if run.cancel is not None:
                run.cancel.check()
            return None  # the call for the answer will report the error
        return None if reply is None else reply.question.strip() or None

    def _with_names(self, graph: Graph) -> str:
        """Return the question, with the entity names of the last turn that has some, if it needs them."""
        if _names(self.question, graph) and not _POINTS_BACK.search(self.question):
            return self.question
        for at in range(len(self.earlier) - 1, -1, -1):
            if self.earlier[at].role != "user":
                continue
            # Names of an answer count only if it has citations; otherwise they may be of unrelated entities.
            answers = [
                m.text for m in self.earlier[at + 1 : at + 2] if m.role == "assistant" and _MARKER.search(m.text)
            ]
            names = [name for text in (self.earlier[at].text, *answers) for name in _names(text, graph)]
            new = [name for name in dict.fromkeys(names) if name.lower() not in self.question.lower()]
            if new:
                return f"{self.question} ({', '.join(new[:_MAX_NAMES])})"
        return self.question


def _names(text: str, graph: Graph) -> list[str]:
    """Return the names of entities in a text, as the text spells them."""
    plain = _MARKER.sub(" ", text)[:_MAX_CHARACTERS]
    if not plain.strip() or not len(graph):
        return []
    return [anchor.text for anchor in LinkEntities()(start(plain, graph)).anchors or ()]
