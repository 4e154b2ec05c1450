"""Language models that report the calls that failed, and whether their servers can be reached at all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from graphwright.errors import LLMResponseError, ModelError, ReplyCutError
from graphwright.models.address import OPENAI_URL
from graphwright.models.protocols import LLM, Cancel, Completion, OnText, Schema
from graphwright.models.settings import LLMSettings

_PATIENCE = 5.0  # seconds for the first answer of a server
_QUOTED = re.compile(r"""(?:, but|:) (['"]).*\1""", re.DOTALL)


@dataclass(frozen=True, repr=False)
class WatchedLLM:
    """A language model that calls `report` with the error of each call that fails; not where its caller went away."""

    llm: LLM
    report: Callable[[ModelError], None] = field(compare=False)

    def __repr__(self) -> str:
        """Return that of the model: traces show it."""
        return repr(self.llm)

    @property
    def id(self) -> str:
        """Name of the model."""
        return self.llm.id

    def with_grammar(self, grammar: str) -> WatchedLLM:
        """Return the model with every reply held to a grammar."""
        return WatchedLLM(self.llm.with_grammar(grammar), self.report)  # type: ignore[attr-defined]

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt as the model does."""
        try:
            return self.llm.complete(system, user, schema=schema, on_text=on_text, cancel=cancel)
        except ModelError as error:
            if not _is_gone(cancel):
                self.report(error)
            raise


def _is_gone(cancel: Cancel) -> bool:
    """Return whether the caller went away; a deadline that has passed is the model's fault."""
    try:
        if cancel is not None:
            cancel.check()
    except ReplyCutError:
        return False
    except ModelError:
        return True
    return False


def reason_of(error: ModelError) -> str:
    """Return why a call failed, for the log: without what the model wrote, which quotes documents.

    >>> reason_of(LLMResponseError("http://m did not send JSON, but 'Graz lies on'."))
    'http://m did not send JSON.'
    """
    return _QUOTED.sub("", str(error)) if isinstance(error, LLMResponseError | ReplyCutError) else str(error)


def unreachable(settings: LLMSettings) -> str:
    """Return why the server of a language model cannot be reached; an empty text where it answers anything at all.

    No key is sent.
    """
    import httpx

    url = settings.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    try:
        httpx.get(f"{url.rstrip('/')}/models", timeout=_PATIENCE)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return f"{url} does not answer ({error or type(error).__name__})"
    return ""
