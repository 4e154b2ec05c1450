"""Conversations: what a turn means by the turns before it, or what is said instead of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from graphwright.errors import ModelError, OptionError, ReplyCutError, cut
from graphwright.generate.follow_ups import COMPLETE, DEPENDENT, SOCIAL, Turn, follow_up_model, names_in
from graphwright.models.protocols import LLM
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line
from graphwright.search.snapshot import Snapshot
from graphwright.text.words import words

SOURCES = "\n\nSources\n"  # heading of the list of sources below an answer, which is no part of it
NOTHING_ASKED = "This asks nothing of the documents."  # reply to thanks, greetings and the like
_WHICH, _OR = "Do you mean {}?", " or "
USER, ASSISTANT = "user", "assistant"
_MAX_MESSAGES = 8  # earlier messages in the prompt
_MAX_CHARACTERS = 2_000  # of each message
_MAX_TURNS = 3  # earlier turns of the user that a question may depend on
_NUMBER = re.compile(r"\[\d+\]")


@dataclass(frozen=True)
class Message:
    """One message of a conversation; `role` is "user" or "assistant"."""

    role: str
    text: str


@dataclass(frozen=True)
class Asked:
    """A question that stands alone; or a `reply` in the place of an answer, which may ask for one of `choices`."""

    question: str
    reply: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conversation:
    """A question and the messages before it, oldest first."""

    question: str
    earlier: tuple[Message, ...] = ()

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Conversation:
        """Return the conversation up to the last question of a user. Raises OptionError if there is none."""
        turns = [Message(m.role, m.text.partition(SOURCES)[0].strip()) for m in messages]
        turns = [message for message in turns if message.text and message.role in (USER, ASSISTANT)]
        last = max((at for at, message in enumerate(turns) if message.role == USER), default=None)
        if last is None:
            raise OptionError("messages has no text of a user; the last one is the question. Add one of role 'user'.")
        return cls(turns[last].text, tuple(turns[:last]))

    def standalone(self, snapshot: Snapshot, llm: LLM | None = None, run: Run | None = None) -> Asked:
        """Rewrite the question to stand alone.

        A fitted model tells whether it asks something of the documents, and whether it needs the turns before it. A
        question that needs them is rewritten by the language model, or by the fitted one without it, or if it fails;
        where that finds that it may mean two things of the turns before, the reply asks which.
        """
        model, turn = follow_up_model(), self._turn(snapshot)
        kind = model.kind(turn, snapshot)
        chosen = _chosen(self.question, self.earlier, kind)
        if kind == SOCIAL and not chosen:
            return Asked(self.question, NOTHING_ASKED)
        if not self.earlier:
            return Asked(self.question)
        rewritten = None if llm is None else self._rewritten(llm, run or Run())
        rewritten = rewritten or chosen or model.replaced(turn, snapshot)
        if not rewritten and kind == DEPENDENT:
            if choices := model.choices(turn, snapshot):
                return Asked(self.question, _WHICH.format(_OR.join(choices)), choices)
            rewritten = model.resolved(turn, snapshot)
        return Asked(rewritten or self.question)

    def _turn(self, snapshot: Snapshot) -> Turn:
        """Return the question with what it may depend on: the last turns of the user, and the last answer."""
        model, topic, before, answer, older = follow_up_model(), "", "", "", list[str]()
        asked = [at for at, message in enumerate(self.earlier) if message.role == USER]
        for at in asked[-_MAX_TURNS:]:
            text, following = self.earlier[at].text, self.earlier[at + 1 : at + 2]
            kind = model.kind(Turn(text, topic, before), snapshot)
            chosen = _chosen(text, self.earlier[:at], kind)
            if kind == SOCIAL and not chosen:
                continue
            replaced = chosen or model.replaced(Turn(text, topic, before), snapshot)
            if replaced or kind != DEPENDENT:
                older = _names(f"{topic} {answer}", snapshot)
            topic, before = (topic, text) if kind == DEPENDENT and topic and not replaced else (replaced or text, "")
            # Names of an answer count only if it has citations; otherwise they may be of unrelated entities.
            answer = next((m.text for m in following if m.role == ASSISTANT and _NUMBER.search(m.text)), "")
        names = [name for text in (before, answer, topic) for name in _names(text, snapshot)]
        return Turn(self.question, topic, before, tuple(dict.fromkeys(names)), tuple(older))

    def _rewritten(self, llm: LLM, run: Run) -> str | None:
        lines = [
            data_line({"role": message.role, "text": message.text[:_MAX_CHARACTERS]})
            for message in self.earlier[-_MAX_MESSAGES:]
        ]
        try:
            reply = run.reply(llm, "condense", conversation="\n".join(lines), question=data_line(self.question))
        except ModelError:
            if run.cancel is not None:
                with suppress(ReplyCutError):  # after a deadline the fitted model goes on
                    run.cancel.check()
            return None  # the call for the answer will report the error
        return None if reply is None else reply.question.strip() or None


def messages_of(history: Iterable[object]) -> tuple[Message, ...]:
    """Return the messages of the earlier turns of a conversation, oldest first.

    Each turn is the state that `Index.ask` returned, or its JSON; a question with its answer, as two texts; a question
    alone; or a message, as `Message` or with `role` and `content`. Raises OptionError for anything else.
    """
    if isinstance(history, str | State | Mapping) or not isinstance(history, Iterable):
        raise OptionError(f"history is {cut(repr(history))}; give a list of earlier turns, oldest first.")
    return tuple(message for turn in history for message in _messages(turn) if message.text)


def _messages(turn: object) -> tuple[Message, ...]:
    """Return the question and the answer of a turn, or its one message."""
    if isinstance(turn, Message):
        return (turn,)
    if isinstance(turn, Mapping) and "role" in turn:
        return (Message(str(turn["role"]), str(turn.get("content") or "")),)
    pair: Any = (turn, "") if isinstance(turn, str) else turn
    if isinstance(turn, State):
        pair = turn.question.turn or turn.question.original, "" if turn.answer is None else turn.answer.text
    elif isinstance(turn, Mapping):
        pair = turn.get("turn") or turn.get("question"), turn.get("answer") or ""
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)):
        raise OptionError(
            f"history has {cut(repr(turn))}; give what Index.ask returned, or two texts: a question and its answer."
        )
    return Message(USER, pair[0]), Message(ASSISTANT, pair[1])


def _chosen(turn: str, earlier: Sequence[Message], kind: int) -> str:
    """Return the question that was asked back with the name that a turn chooses, "" if it does something else."""
    head, _, tail = _WHICH.partition("{}")
    if len(earlier) < 2 or not (earlier[-1].text.startswith(head) and earlier[-1].text.endswith(tail)):
        return ""
    own, names = set(words(turn)), earlier[-1].text.removeprefix(head).removesuffix(tail).split(_OR)
    said = [name for name in names if name.lower() in turn.lower()]
    said = said or [name for name in names if own and own <= set(words(name))]
    is_choice = len(said) == 1 and (kind != COMPLETE or own <= set(words(said[0])))
    return f"{earlier[-2].text} ({said[0]})" if is_choice else ""


def _names(text: str, snapshot: Snapshot) -> list[str]:
    """Return the names in a text, cut to a reasonable length, without markers of citations and other numbers."""
    names = names_in(_NUMBER.sub(" ", text)[:_MAX_CHARACTERS], snapshot)
    return [name for name in names if any(map(str.isalpha, name))]
