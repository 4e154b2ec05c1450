"""Failures of language models: those of one question, and their reasons in words, without a server's address."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from graphwright.errors import BudgetError, LLMResponseError, ModelError, ReplyCutError
from graphwright.models import LLM, Completion
from graphwright.models.openai.errors import HTTPStatusError, NotSent
from graphwright.models.protocols import Cancel, OnText, Schema
from graphwright.models.structured import plain_text
from graphwright.serve.logs import without_secrets

_QUOTED = re.compile(r"""(?:, but|:) (['"]).*\1""", re.DOTALL)


@dataclass(frozen=True, repr=False)
class WatchedLLM:
    """A language model that answers one question, and calls `report` with the reason of each failure.

    Not where the caller has gone. Steps go on without it, as after a reply that is cut short. `failure`: the error of
    the last call, if it failed.
    """

    llm: LLM
    report: Callable[[str], None] = field(compare=False)
    failure: list[ModelError] = field(default_factory=list, compare=False)

    def __repr__(self) -> str:
        return type(self.llm).__name__  # the trace, which readers see, names no address

    @property
    def id(self) -> str:
        """Name of the model."""
        return self.llm.id

    def with_grammar(self, grammar: str) -> WatchedLLM:
        """Return the model with every reply constrained to a grammar."""
        return WatchedLLM(self.llm.with_grammar(grammar), self.report, self.failure)  # type: ignore[attr-defined]

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt as the model does."""
        self.failure.clear()
        try:
            return self.llm.complete(system, user, schema=schema, on_text=on_text, cancel=cancel)
        except ModelError as error:
            if not _is_cancelled(cancel):
                self.report(reason_of(error))
                self.failure.append(error)
                if not isinstance(error, LLMResponseError):
                    cut = ReplyCutError(words_of(error) or _FAILED)
                    cut.usage = error.usage
                    raise cut from error
            raise

    @property
    def fallback(self) -> str | None:
        """The reason why the answer is not the model's, in words for a reader; None if it is."""
        is_text = any(isinstance(error, LLMResponseError) and plain_text(error.text) for error in self.failure)
        return None if is_text or not self.failure else words_of(self.failure[0]) or _FAILED

    @property
    def fallback_details(self) -> str | None:
        """The same for an admin, with the address and the message of the model's server."""
        return without_secrets(reason_of(self.failure[0])) if self.fallback else None


def _is_cancelled(cancel: Cancel) -> bool:
    """Return whether the caller has disconnected. A deadline that has passed is a failure of the model instead."""
    try:
        if cancel is not None:
            cancel.check()
    except ModelError as error:
        return not isinstance(error, ReplyCutError)
    return False


def reason_of(error: ModelError) -> str:
    """Return the reason of a failed call for the log, without the model's reply, which may quote documents.

    >>> reason_of(LLMResponseError("http://m did not send JSON, but 'Graz lies on'."))
    'http://m did not send JSON.'
    """
    return _QUOTED.sub("", str(error)) if isinstance(error, LLMResponseError | ReplyCutError) else str(error)


def words_of(error: BaseException) -> str:
    """Return why a language model failed, in words for a reader, without addresses; "" for any other error."""
    cause = error.__cause__ if isinstance(error.__cause__, HTTPStatusError | NotSent) else error
    words = next((words for kind, words in _WORDS if isinstance(cause, kind)), "")
    return _STATUS.get(getattr(cause, "status", 0), words)


_WORDS: tuple[tuple[type[ModelError], str], ...] = (
    (HTTPStatusError, "The language model failed at its provider."),
    (NotSent, "The language model cannot be reached."),
    (BudgetError, "The budget of the language model is spent."),
    (LLMResponseError, "The language model’s reply could not be read."),
    (ReplyCutError, "The language model’s reply took too long or broke off."),
)
_STATUS = dict.fromkeys((401, 403), "The language model refused this server’s key.")
_STATUS[429] = "The language model has too many requests at present."
_FAILED = "The language model failed."
