"""Conversations, and their last question rewritten to stand alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from graphwright.errors import ModelError, OptionError
from graphwright.generate import DEPENDENT, SOCIAL, Turn, follow_up_model, names_in
from graphwright.models import LLM, Cancellation, Usage
from graphwright.operators import Run
from graphwright.prompts.templates import data_line
from graphwright.search import Snapshot

SOURCES = "\n\nSources\n"
"""Heading of the list of sources below an answer."""
_MAX_MESSAGES = 8  # earlier messages in the prompt
_MAX_CHARACTERS = 2_000  # of each message
_MAX_TURNS = 3  # earlier turns of the user that a question may depend on
_MARKER = re.compile(r"\[\d+\]")
NOTHING_ASKED = "This asks nothing of the documents."
"""Reply to thanks, greetings and the like."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation; `role` is "user" or "assistant"."""

    role: str
    text: str


@dataclass(frozen=True)
class Asked:
    """A question that stands alone.

    `reply`: what is said in place of an answer, if nothing can be searched. `choices`: the names that the question may
    mean, of which the reply asks for one.
    """

    question: str
    reply: str = ""
    choices: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


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

    def standalone(self, snapshot: Snapshot, llm: LLM | None = None, cancel: Cancellation | None = None) -> Asked:
        """Rewrite the question to stand alone.

        A fitted model tells whether it asks something of the documents, and whether it needs the turns before it. A
        question that needs them is rewritten by the language model, or by the fitted one without it, or if it fails;
        where that finds that it may mean two things of the turns before, the reply asks which.
        """
        model, turn = follow_up_model(), self._turn(snapshot)
        kind = model.kind(turn, snapshot)
        if kind == SOCIAL:
            return Asked(self.question, NOTHING_ASKED)
        if not self.earlier:
            return Asked(self.question)
        run = Run(cancel=cancel)
        rewritten = None if llm is None else self._rewritten(llm, run)
        if rewritten is None and kind == DEPENDENT:
            if choices := model.choices(turn, snapshot):
                return Asked(self.question, f"Do you mean {' or '.join(choices)}?", choices, run.usage)
            rewritten = model.resolved(turn, snapshot)
        return Asked(rewritten or self.question, usage=run.usage)

    def _turn(self, snapshot: Snapshot) -> Turn:
        """Return the question with what it may depend on: the last turns of the user, and the last answer."""
        model, topic, before, answer = follow_up_model(), "", "", ""
        asked = [at for at, message in enumerate(self.earlier) if message.role == "user"]
        for at in asked[-_MAX_TURNS:]:
            text, following = self.earlier[at].text, self.earlier[at + 1 : at + 2]
            kind = model.kind(Turn(text, topic, before), snapshot)
            if kind == SOCIAL:
                continue
            topic, before = (topic, text) if kind == DEPENDENT and topic else (text, "")
            # Names of an answer count only if it has citations; otherwise they may be of unrelated entities.
            answer = next((m.text for m in following if m.role == "assistant" and _MARKER.search(m.text)), "")
        names = [name for text in (before, answer, topic) for name in names_in(_plain(text), snapshot)]
        return Turn(self.question, topic, before, tuple(dict.fromkeys(names)))

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


def _plain(text: str) -> str:
    """Return a text without the markers of citations, cut to a reasonable length."""
    return _MARKER.sub(" ", text)[:_MAX_CHARACTERS]
