"""The language model that answers for all indexes of a server, and the check of its server."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from graphwright.errors import LLMResponseError, ModelError, ReplyCutError
from graphwright.models import LLM, Completion, LLMSettings
from graphwright.models.openai.model import OPENAI_URL
from graphwright.models.protocols import Cancel, OnText, Schema

_log = logging.getLogger("graphwright.serve")
_CONNECT_TIMEOUT = 5.0  # seconds of the check whether a server responds
_QUOTED = re.compile(r"""(?:, but|:) (['"]).*\1""", re.DOTALL)


class AnswerModel:
    """The language model in section [llm] of server.toml; without it every index answers offline.

    The `settings.toml` of an index chooses no model here: it may come from somebody else, and name any address.
    """

    def __init__(
        self, settings: LLMSettings | None = None, report: Callable[[str, str, ModelError], None] | None = None
    ) -> None:
        """`report`: called with the index, the model and the error of each failed call."""
        self.settings = settings
        self.llm: LLM | None = None if settings is None else settings.llm()
        self._report = report or (lambda index, model, error: None)

    @property
    def name(self) -> str | None:
        """The name of the model on its server."""
        return None if self.settings is None else self.settings.model

    def answering(self, index: str) -> LLM | None:
        """Return the language model that answers questions to an index and reports its failures."""
        name = self.name
        if self.llm is None or name is None:
            return None
        return WatchedLLM(self.llm, lambda error: self._report(index, name, error))

    def warn_if_unreachable(self) -> None:
        """Log a warning if the model's server does not respond."""
        if self.settings is not None and (reason := unreachable(self.settings)):
            _log.warning(
                "the language model %s cannot be reached: %s. Questions fail with 502 until it responds; with "
                '"offline": true they need no model.',
                *(self.settings.model, reason),
            )


@dataclass(frozen=True, repr=False)
class WatchedLLM:
    """A language model that calls `report` with the error of each failed call, unless the caller has disconnected."""

    llm: LLM
    report: Callable[[ModelError], None] = field(compare=False)

    def __repr__(self) -> str:
        return repr(self.llm)

    @property
    def id(self) -> str:
        """Name of the model."""
        return self.llm.id

    def with_grammar(self, grammar: str) -> WatchedLLM:
        """Return the model with every reply constrained to a grammar."""
        return WatchedLLM(self.llm.with_grammar(grammar), self.report)  # type: ignore[attr-defined]

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt as the model does."""
        try:
            return self.llm.complete(system, user, schema=schema, on_text=on_text, cancel=cancel)
        except ModelError as error:
            if not _is_cancelled(cancel):
                self.report(error)
            raise


def _is_cancelled(cancel: Cancel) -> bool:
    """Return whether the caller has disconnected. A deadline that has passed is a failure of the model instead."""
    try:
        if cancel is not None:
            cancel.check()
    except ReplyCutError:
        return False
    except ModelError:
        return True
    return False


def reason_of(error: ModelError) -> str:
    """Return the reason of a failed call for the log, without the model's reply, which may quote documents.

    >>> reason_of(LLMResponseError("http://m did not send JSON, but 'Graz lies on'."))
    'http://m did not send JSON.'
    """
    return _QUOTED.sub("", str(error)) if isinstance(error, LLMResponseError | ReplyCutError) else str(error)


def unreachable(settings: LLMSettings) -> str:
    """Return the reason why a language model's server cannot be reached; "" if it responds. No key is sent."""
    import httpx

    url = settings.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    try:
        httpx.get(f"{url.rstrip('/')}/models", timeout=_CONNECT_TIMEOUT)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return f"{url} does not answer ({error or type(error).__name__})"
    return ""
